"""Columns of dumps, by the Arrow types of their values."""

from __future__ import annotations

import pyarrow as pa

from qbcd.model import Column, Travel, TravelKind

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
VALUE_TYPES: dict[TravelKind, str] = {  # in `types` of a format
    "boolean": "boolean",
    "int16": "integer",
    "int32": "integer",
    "int64": "integer",
    "float64": "double",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
}


def column_of(field: pa.Field) -> Column | None:
    """Return the column of a field; None for a type that cannot be captured (lists, structs, maps, intervals)."""
    kind = field.type
    if pa.types.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= 38:
        name = f"decimal({kind.precision},{kind.scale})"
        return Column(field.name, name, "decimal", True, "", "typed", Travel("decimal", kind.precision, kind.scale))
    found = _KINDS.get(kind)
    return None if found is None else Column(field.name, found[0], found[0], True, "", "typed", Travel(found[1]))


def value_type(travel: Travel) -> str:
    """Return the type of the configuration for values of a column; empty if texts have no such type."""
    if travel.kind == "decimal":
        return f"decimal({travel.precision},{travel.scale})"
    return VALUE_TYPES.get(travel.kind, "")


def arrow_of(travel: Travel) -> pa.DataType:
    """Return the Arrow type of the values of a column."""
    return pa.decimal128(travel.precision, travel.scale) if travel.kind == "decimal" else _TYPES[travel.kind]
