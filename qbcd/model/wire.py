"""Types of values in wire form, by the names that Spark has for them."""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.model.columns import Travel

Fields = Sequence[tuple[str, str]]  # (name, type)

PLAIN_TYPES = {
    "boolean": "boolean",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint64": "decimal(20,0)",
    "float32": "float",
    "float64": "double",
    "text": "string",
    "time": "string",
    "binary": "binary",
}


def wire_type(travel: Travel) -> str:
    """Return the type of a value in wire form; what is not among :data:`PLAIN_TYPES` travels as text."""
    return PLAIN_TYPES.get(travel.kind, "string")
