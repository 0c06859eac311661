"""Columns of dumps, by the Arrow types of their values."""

from __future__ import annotations

import json

import pyarrow as pa

from qbcd.files.values import arrow_type
from qbcd.model import Column, Travel, TravelKind, travel_from_json

_KINDS: dict[pa.DataType, tuple[str, TravelKind]] = {
    pa.bool_(): ("boolean", "boolean"),
    pa.int16(): ("smallint", "int16"),
    pa.int32(): ("int", "int32"),
    pa.int64(): ("integer", "int64"),
    pa.uint64(): ("unsigned integer", "uint64"),
    pa.float32(): ("float", "float32"),
    pa.float64(): ("double", "float64"),
    pa.string(): ("text", "text"),
    pa.binary(): ("binary", "binary"),
    pa.date32(): ("date", "date"),
    pa.time64("us"): ("time", "time"),
    pa.timestamp("us"): ("timestamp", "timestamp"),
    pa.timestamp("us", tz="UTC"): ("timestamptz", "timestamptz"),
}
_TYPES: dict[TravelKind, pa.DataType] = {kind: arrow for arrow, (_, kind) in _KINDS.items()}
_VALUE_TYPES: dict[TravelKind, str] = {  # in `types` of a format
    "boolean": "boolean",
    "int16": "integer",
    "int32": "integer",
    "int64": "integer",
    "uint64": "uint64",
    "float32": "float32",
    "float64": "double",
    "binary": "binary",
    "date": "date",
    "time": "time",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
}
_TEXTS: dict[str, TravelKind] = {"date": "date", "time": "time", "timestamp": "timestamp", "timestamptz": "timestamptz"}
# metadata of a field: the type and the form of texts; facts of other values
_TYPE, _TRAVEL, _FACT = b"qbcd.type", b"qbcd.travel", b"qbcd.fact"
# facts: all values are NULL; timestamps of unknown zone, in Spark and Hive UTC; objects and arrays are compact JSON
EMPTY, INT96, JSON = "empty", "int96", "json"


def text_field(name: str, sql_type: str, travel: Travel) -> pa.Field:
    """Return the field of a column whose values are texts in the form in which they travel."""
    form = json.dumps(travel.to_json())
    return pa.field(name, pa.string(), metadata={_TYPE: sql_type.encode(), _TRAVEL: form.encode()})


def field_of(name: str, kind: str) -> pa.Field:
    """Return the field of a column that is read as a type of the configuration."""
    if kind in _TEXTS:
        return text_field(name, kind, Travel(_TEXTS[kind]))
    if kind.startswith("decimal("):
        precision, scale = map(int, kind[len("decimal(") : -1].split(","))
        return text_field(name, kind, Travel("decimal", precision, scale))
    return pa.field(name, arrow_type(kind))


def json_field(name: str, kind: str) -> pa.Field:
    """Return the field of a column of JSON that is read as a type of the configuration."""
    found = field_of(name, kind)
    return found.with_metadata({_FACT: JSON.encode()}) if kind == "text" else found


def null_field(name: str) -> pa.Field:
    """Return the field of a column that has no value."""
    return pa.field(name, pa.string(), metadata={_FACT: EMPTY.encode()})


def int96_field(name: str) -> pa.Field:
    """Return the field of timestamps of Parquet's type INT96."""
    return pa.field(name, pa.timestamp("us"), metadata={_FACT: INT96.encode()})


def column_of(field: pa.Field) -> Column | None:
    """Return the column of a field; None for a type that cannot be captured."""
    kind, known = field.type, field.metadata or {}
    facts = ((known[_FACT].decode(), "yes"),) if _FACT in known else ()
    if _TRAVEL in known:
        return _column(field.name, known[_TYPE].decode(), travel_from_json(json.loads(known[_TRAVEL])), facts)
    if pa.types.is_decimal128(kind) and 0 <= kind.scale <= kind.precision:
        name = f"decimal({kind.precision},{kind.scale})"
        return _column(field.name, name, Travel("decimal", kind.precision, kind.scale), facts)
    found = _KINDS.get(kind)
    return None if found is None else _column(field.name, found[0], Travel(found[1]), facts)


def _column(name: str, sql_type: str, travel: Travel, facts: tuple[tuple[str, str], ...]) -> Column:
    base = "decimal" if travel.kind == "decimal" else sql_type
    return Column(name, sql_type, base, True, "", "typed", travel, facts=facts)


def value_type(travel: Travel) -> str:
    """Return the type of the configuration for values of a column.

    Empty if texts have no such type.
    """
    if travel.kind == "decimal":
        return f"decimal({travel.precision},{travel.scale})"
    return _VALUE_TYPES.get(travel.kind, "")


def arrow_of(travel: Travel) -> pa.DataType:
    """Return the Arrow type of the values of a column."""
    return pa.decimal128(travel.precision, travel.scale) if travel.kind == "decimal" else _TYPES[travel.kind]
