"""DuckDB's spelling of events; values are canonical SQL.

JSON text is byte for byte as Spark writes it.

Functions of JSON are never NULL.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.event_sql.base import FORMS, EventForm, EventSql, Field, event_fields, ordinal_of
from qbcd.model import BatchHeader, Travel
from qbcd.model.wire import json_text, typed_name
from qbcd.sql.render import literal

CONCAT = "QBCD_CONCAT"  # many texts at once, and NULL adds nothing; `a || b || ..` would copy the text for each part
_TYPES = {"date": "DATE", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ", "string": "VARCHAR"}
# Java's texts of floats have an exponent outside these limits.
_PLAIN_FROM, _PLAIN_BELOW = "1e-3", "1e7"
# 32-bit floats below have less than the usual precision: six digits, which always suffice to read a shorter text.
_SUBNORMAL, _FLOAT_DIGITS = "1.1754944e-38", 6


def canonical_type(travel: Travel) -> str:
    """Return the type of values of a column, except arrays, in canonical SQL."""
    return _TYPES.get(travel.kind) or _TYPES.get(typed_name(travel)) or typed_name(travel).upper()


def _fitting(travel: Travel, text: str) -> str:
    if travel.kind == "binary":
        return f"FROM_BASE64({text})"
    cast = f"TRY_CAST({text} AS {canonical_type(travel)})"
    form = FORMS.get(travel.kind)
    return f"CASE WHEN REGEXP_FULL_MATCH({text}, {literal(form)}) THEN {cast} END" if form else cast


DUCKDB = EventSql(
    literal=literal,
    fitting=_fitting,
    plain="{value}",
    texts="CASE WHEN CASE WHEN JSON_VALID({value}) THEN JSON_TYPE({value}) = 'ARRAY' ELSE FALSE END "
    "THEN FROM_JSON({value}, '[\"VARCHAR\"]') END",
    each="LIST_TRANSFORM({values}, item -> {item})",
    some="LEN(LIST_FILTER({values}, item -> {condition})) > 0",
    error="ERROR({message} || SUBSTRING({value}, 1, 100))",
    byte_length="STRLEN({text})",
    matched="QBCD_MATCHED({value}, {pattern})",
    split="STRING_SPLIT({value}, {separator})",
    parts="CAST([{values}] AS TEXT[])",
    joined="COALESCE(ARRAY_TO_STRING({values}, {separator}), '')",
    bound="LIST_EXTRACT(LIST_TRANSFORM([{value}], {name} -> {result}), 1)",
    pair="[{one}, {other}]",
    item="LIST_EXTRACT({values}, {place})",
    numbered="LIST_TRANSFORM(RANGE(1, LEN(t) + 1), "
    "i -> CAST(i - LIST_POSITION(t, LIST_EXTRACT(t, i)) AS TEXT) || ':' || LIST_EXTRACT(t, i))",
    minus="LIST_FILTER({values}, item -> NOT LIST_CONTAINS({others}, item))",
    unnumbered="LIST_TRANSFORM({values}, item -> SUBSTRING(item, STRPOS(item, ':') + 1))",
    quoted="LIST_TRANSFORM({values}, item -> CAST(JSON_QUOTE(item) AS VARCHAR))",
    members=lambda members: f"ARRAY_TO_STRING(LIST_FILTER([{', '.join(members)}], m -> NOT m IS NULL), ',')",
)


def event_id_of(header: BatchHeader) -> str:
    """Return the text that names an event forever."""
    return f"event_prefix || CAST({ordinal_of(header)} AS VARCHAR)"


def line_of(header: BatchHeader) -> str:
    """Return an event as JSON.

    The rows have `event_prefix`, `event_source` and `event_ms` too.
    """
    form = EventForm(
        image=object_of,
        text=_quoted,
        changed=_names_of([name for name, _ in header.columns], "changed"),
        source="event_source",
        event_id=event_id_of(header),
        ts_ms="CAST(event_ms AS VARCHAR)",
        absent="'null'",
        no_key="'null'",
        elements=f"COALESCE({DUCKDB.elements(header)}, 'null')",
        added=lambda name, travel, value: f"COALESCE({value}, 'null')",
    )
    return _joined([(json_text(name), value) for name, value in event_fields(header, form)])


def object_of(fields: Sequence[Field]) -> str:
    """Return a JSON object of wire values, in the order given."""
    return _joined([(json_text(name), _json(travel, value)) for name, travel, value in fields])


def _joined(members: Sequence[tuple[str, str]]) -> str:
    """Return a JSON object of names that are JSON already, and values that are SQL of JSON."""
    parts: list[str] = []
    for i, (name, value) in enumerate(members):
        parts += [literal(f"{',' if i else '{'}{name}:"), value]
    return f"{CONCAT}({', '.join(parts)}, '}}')" if parts else "'{}'"


def _names_of(names: Sequence[str], places: str) -> str:
    """Return a JSON array of some of the names; NULL is ``null``.

    They are chosen by a text of places from 0: ``0,3``.
    """
    named = listed([json_text(name) for name in names], places)
    return (
        f"CASE WHEN {places} IS NULL THEN 'null' WHEN {places} = '' THEN '[]' "
        f"ELSE '[' || ARRAY_TO_STRING({named}, ',') || ']' END"
    )


def listed(texts: Sequence[str], places: str) -> str:
    """Return the list of those texts whose places from 0 are named."""
    known = f"[{', '.join(map(literal, texts))}]"
    return f"LIST_TRANSFORM(STRING_SPLIT({places}, ','), place -> LIST_EXTRACT({known}, CAST(place AS INT) + 1))"


def _json(travel: Travel, value: str) -> str:
    """Return the JSON of a wire value; a 32-bit float as made by :func:`shortest`."""
    if travel.kind in ("float32", "float64"):
        return _float(value)
    return f"COALESCE({_known(travel, value)}, 'null')"


def _quoted(value: str) -> str:
    """Return the JSON of a text; NULL is ``null``."""
    return f"COALESCE(CAST(JSON_QUOTE({value}) AS VARCHAR), 'null')"


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
