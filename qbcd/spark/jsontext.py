"""JSON text of rows by Spark's own expressions: exact, without a Python function per row.

Spark's `to_json` escapes names and texts, writes floats so that reading gives the same value (NaN and the infinities as
strings), and bytes as base64. An array travels as a JSON fragment, which `to_json` would treat as a text. So an object
is composed of runs of plain columns and the fragments between them.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.model import Travel
from qbcd.model.wire import json_text
from qbcd.spark.sql_literals import structure, text, when

Field = tuple[str, Travel, str]  # name, how it travels, value as Spark's SQL

# Legal inside a JSON text, but line ends for consumers that split by Unicode's rules.
_LINE_ENDS = ("\u0085", "\u2028", "\u2029")


def plain_object(columns: Sequence[tuple[str, str]]) -> str:
    """Return a JSON object of at least one column; none may contain an array of a source."""
    return f"to_json({structure(list(columns))}, map('ignoreNullFields', 'false'))"


def members(columns: Sequence[tuple[str, str]]) -> str:
    """Return ``"name":value,...`` of at least one plain column; NULL is ``null``."""
    whole = plain_object(columns)
    return f"substring({whole}, 2, length({whole}) - 2)"


def json_object(fields: Sequence[Field]) -> str:
    """Return a JSON object of wire values, in the order given; never NULL."""
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
        parts.append(member(json_text(name), value))
    if run:
        parts.append(members(run))
    return joined(parts)


def member(name: str, value: str) -> str:
    """Return ``name:value`` of a name and a value that are JSON already; NULL as ``null``."""
    return f"concat({text(name + ':')}, coalesce({value}, 'null'))"


def joined(parts: Sequence[str]) -> str:
    """Return a JSON object of its members."""
    return f"concat('{{', concat_ws({', '.join([text(','), *parts])}), '}}')"


def one_line(column: str) -> str:
    """Return a column's JSON text without characters that a consumer could read as a line end."""
    escaped = column
    for character in _LINE_ENDS:
        escaped = f"replace({escaped}, {text(character)}, {text(_escaped(character))})"
    # A text of one-byte characters has none of them; this check is faster than three searches.
    return when((f"length({column}) = octet_length({column})", column), otherwise=escaped)


def _escaped(character: str) -> str:
    return f"\\u{ord(character):04x}"
