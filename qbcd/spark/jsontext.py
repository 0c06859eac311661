"""JSON text of rows, built by Spark's own expressions: exact, without a Python function per row.

Spark's `to_json` escapes names and texts, writes floats so that they read back as they are (NaN and the infinities as
strings) and bytes as base64. An array travels as a JSON fragment already, which `to_json` would take for a text, so an
object is put together from runs of plain columns and the fragments between them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from qbcd.model import Travel
from qbcd.spark.sql_literals import structure, text, when

Field = tuple[str, Travel, str]  # name, how it travels, value as Spark's SQL

# Legal inside a JSON text, yet line ends to consumers that split by Unicode's rules.
_LINE_ENDS = ("\u0085", "\u2028", "\u2029")


def plain_object(columns: Sequence[tuple[str, str]]) -> str:
    """A JSON object of columns, and of structs of such, none of which is an array that travels; at least one."""
    return f"to_json({structure(list(columns))}, map('ignoreNullFields', 'false'))"


def members(columns: Sequence[tuple[str, str]]) -> str:
    """``"name":value,...`` of plain columns: every name present, NULL as ``null``; at least one column."""
    whole = plain_object(columns)
    return f"substring({whole}, 2, length({whole}) - 2)"


def json_object(fields: Sequence[Field]) -> str:
    """A JSON object of wire values, in the order given; never NULL."""
    if fields and all(travel.kind != "array" for _, travel, _ in fields):
        return plain_object([(name, value) for name, _, value in fields])
    parts: list[str] = []
    run: list[tuple[str, str]] = []
    for name, travel, value in fields:
        if travel.kind != "array":
            run.append((name, value))
            continue
        if run:
            parts.append(members(run))
            run = []
        parts.append(member(json.dumps(name, ensure_ascii=False), value))
    if run:
        parts.append(members(run))
    return joined(parts)


def member(name: str, value: str) -> str:
    """``name:value`` of a name and a value that are JSON already; NULL as ``null``."""
    return f"concat({text(name + ':')}, coalesce({value}, 'null'))"


def joined(parts: Sequence[str]) -> str:
    """A JSON object of its members."""
    return f"concat('{{', concat_ws({', '.join([text(','), *parts])}), '}}')"


def one_line(column: str) -> str:
    """JSON text of a column, in which no character can be taken for the end of a line."""
    escaped = column
    for character in _LINE_ENDS:
        escaped = f"replace({escaped}, {text(character)}, {text(_escaped(character))})"
    # Of characters of one byte each, which is seen sooner than three searches end, there are none of them.
    return when((f"length({column}) = octet_length({column})", column), otherwise=escaped)


def _escaped(character: str) -> str:
    return f"\\u{ord(character):04x}"
