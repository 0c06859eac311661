"""JSON text of values in DuckDB, byte for byte as Spark writes it (`qbcd.spark.jsontext`).

All functions return canonical SQL that is never NULL.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.local.query import CONCAT
from qbcd.model import Travel
from qbcd.model.wire import json_text
from qbcd.sql.render import literal

Field = tuple[str, Travel, str]  # name, form of its values, value as canonical SQL

# Legal inside a JSON text, but line ends for consumers that split by Unicode's rules.
_LINE_ENDS = ("\u0085", "\u2028", "\u2029")
# Java's texts of floats have an exponent outside these limits.
_PLAIN_FROM, _PLAIN_BELOW = "1e-3", "1e7"
# 32-bit floats below have less than the usual precision: six digits, which always suffice to read a shorter text.
_SUBNORMAL, _FLOAT_DIGITS = "1.1754944e-38", 6


def json_object(fields: Sequence[Field]) -> str:
    """Return a JSON object of wire values, in the order given."""
    return joined([(json_text(name), json_value(travel, value)) for name, travel, value in fields])


def joined(members: Sequence[tuple[str, str]]) -> str:
    """Return a JSON object of names that are JSON already, and values that are SQL of JSON."""
    parts: list[str] = []
    for i, (name, value) in enumerate(members):
        parts += [literal(f"{',' if i else '{'}{name}:"), value]
    return f"{CONCAT}({', '.join(parts)}, '}}')" if parts else "'{}'"


def names_of(names: Sequence[str], places: str) -> str:
    """Return a JSON array of some of the names, by a text of places from 0: ``0,3``; NULL is ``null``."""
    named = listed([json_text(name) for name in names], places)
    return (
        f"CASE WHEN {places} IS NULL THEN 'null' WHEN {places} = '' THEN '[]' "
        f"ELSE '[' || ARRAY_TO_STRING({named}, ',') || ']' END"
    )


def listed(texts: Sequence[str], places: str) -> str:
    """Return the list of those texts whose places from 0 are named."""
    known = f"[{', '.join(map(literal, texts))}]"
    return f"LIST_TRANSFORM(STRING_SPLIT({places}, ','), place -> LIST_EXTRACT({known}, CAST(place AS INT) + 1))"


def json_value(travel: Travel, value: str) -> str:
    """Return the JSON of a wire value; a 32-bit float as made by :func:`shortest`."""
    if travel.kind in ("float32", "float64"):
        return _float(value)
    return f"COALESCE({_known(travel, value)}, 'null')"


def quoted(value: str) -> str:
    """Return the JSON of a text; NULL is ``null``."""
    return f"COALESCE(CAST(JSON_QUOTE({value}) AS VARCHAR), 'null')"


def one_line(column: str) -> str:
    """Return a column's JSON text without characters that a consumer could read as a line end."""
    escaped = column
    for character in _LINE_ENDS:
        escaped = f"REPLACE({escaped}, {literal(character)}, {literal(_escaped(character))})"
    # A text of one-byte characters has none of them.
    return f"CASE WHEN LENGTH({column}) = STRLEN({column}) THEN {column} ELSE {escaped} END"


def shortest(value: str) -> str:
    """Return a 32-bit float as the double with the shortest digits that read as it.

    DuckDB's own text of such a float has more digits than necessary if two texts are equally near.
    """
    size = f"ABS({value})"
    cases = [
        f"WHEN {f'{size} < {_SUBNORMAL} AND ' if digits < _FLOAT_DIGITS else ''}{_reads(value, digits)} "
        f"THEN {_rounded(value, digits)}"
        for digits in range(2, 9)
    ]
    return f"CASE {' '.join(cases)} ELSE {_rounded(value, 9)} END"


def _rounded(value: str, digits: int) -> str:
    return f"CAST(FORMAT('{{:.{digits - 1}e}}', {value}) AS DOUBLE)"


def _reads(value: str, digits: int) -> str:
    return f"CAST(FORMAT('{{:.{digits - 1}e}}', {value}) AS FLOAT) = {value}"


def _known(travel: Travel, value: str) -> str:
    """Return the JSON of a value; NULL is NULL."""
    if travel.kind in ("boolean", "int16", "int32", "int64", "uint64"):
        return f"CAST({value} AS VARCHAR)"
    if travel.kind == "binary":
        return f"'\"' || TO_BASE64({value}) || '\"'"
    return value if travel.kind == "array" else f"CAST(JSON_QUOTE({value}) AS VARCHAR)"


def _float(value: str) -> str:
    plain = f"{value} = 0 OR (ABS({value}) >= {_PLAIN_FROM} AND ABS({value}) < {_PLAIN_BELOW})"
    return (
        f"CASE WHEN {value} IS NULL THEN 'null' WHEN ISNAN({value}) THEN '\"NaN\"' "
        f"WHEN ISINF({value}) THEN CASE WHEN {value} > 0 THEN '\"Infinity\"' ELSE '\"-Infinity\"' END "
        f"WHEN {plain} THEN CAST({value} AS VARCHAR) "
        f"ELSE CASE WHEN {value} < 0 THEN '-' ELSE '' END || {_scientific(f'ABS({value})')} END"
    )


def _scientific(value: str) -> str:
    """Return a positive float as Java writes it with an exponent: ``1.0E-5``, ``1.2345678E7``.

    DuckDB writes the same digits, as ``1e-05``, ``0.00012`` or ``12345678.0``. Only a single digit may be another one
    in Java, which then takes the nearest two digits: ``4.9E-324``, not ``5e-324``.
    """
    two = f"FORMAT('{{:.1e}}', {value})"
    whole, part = "SPLIT_PART(t, '.', 1)", "SPLIT_PART(t, '.', 2)"
    large = _shifted(f"RTRIM({whole} || {part}, '0')", f"LENGTH({whole}) - 1")
    digits = f"LTRIM({part}, '0')"
    small = _shifted(digits, f"LENGTH({digits}) - LENGTH({part}) - 1")
    cases = (
        f"CASE WHEN CONTAINS(t, 'e') AND CONTAINS(t, '.') THEN {_with_exponent('t')} "
        f"WHEN CONTAINS(t, 'e') THEN {_with_exponent(two)} WHEN {value} >= 1 THEN {large} ELSE {small} END"
    )
    return f"LIST_EXTRACT(LIST_TRANSFORM([CAST({value} AS VARCHAR)], t -> {cases}), 1)"


def _with_exponent(text: str) -> str:
    return f"SPLIT_PART({text}, 'e', 1) || 'E' || CAST(CAST(SPLIT_PART({text}, 'e', 2) AS INT) AS VARCHAR)"


def _shifted(digits: str, exponent: str) -> str:
    rest = f"CASE WHEN LENGTH({digits}) > 1 THEN SUBSTRING({digits}, 2) ELSE '0' END"
    return f"SUBSTRING({digits}, 1, 1) || '.' || {rest} || 'E' || CAST({exponent} AS VARCHAR)"


def _escaped(character: str) -> str:
    return f"\\u{ord(character):04x}"
