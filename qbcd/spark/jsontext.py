"""JSON text of rows, built by Spark's own expressions: exact, without a Python function per row.

Spark's `to_json` escapes names and texts, writes floats so that they read back as they are (NaN and the infinities as
strings) and bytes as base64. An array travels as a JSON fragment already, which `to_json` would take for a text, so an
object is put together from runs of plain columns and the fragments between them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as fn

from qbcd.model import Travel

Field = tuple[str, Travel, Column]

# Legal inside a JSON text, yet line ends to consumers that split by Unicode's rules.
_LINE_ENDS = ("\u0085", "\u2028", "\u2029")


def members(columns: Sequence[tuple[str, Column]]) -> Column:
    """``"name":value,...`` of plain columns: every name present, NULL as ``null``; at least one column."""
    text = fn.to_json(fn.struct(*[value.alias(name) for name, value in columns]), {"ignoreNullFields": "false"})
    return fn.substring(text, fn.lit(2), fn.length(text) - 2)


def json_object(fields: Sequence[Field]) -> Column:
    """A JSON object of wire values, in the order given; never NULL."""
    parts: list[Column] = []
    run: list[tuple[str, Column]] = []
    for name, travel, value in fields:
        if travel.kind != "array":
            run.append((name, value))
            continue
        if run:
            parts.append(members(run))
            run = []
        parts.append(fn.concat(fn.lit(json.dumps(name, ensure_ascii=False) + ":"), fn.coalesce(value, fn.lit("null"))))
    if run:
        parts.append(members(run))
    return fn.concat(fn.lit("{"), fn.concat_ws(",", *parts), fn.lit("}"))


def one_line(text: Column) -> Column:
    """JSON text in which no character can be taken for the end of a line."""
    for character in _LINE_ENDS:
        text = fn.replace(text, fn.lit(character), fn.lit(f"\\u{ord(character):04x}"))
    return text
