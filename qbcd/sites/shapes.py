"""Schemas of what stands in the workdir, as Spark's DDL text: known from the plan, never inferred from files.

Values are in wire form (`qbcd.model.Travel`): what is no boolean, integer, float or binary is text.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.model import Travel

IDENTITY = ("range_id", "key_id")
UNTRAVELLED = "untravelled"  # column of a stage for typed sinks: positions of values that none takes
_WIRE = {
    "boolean": "boolean",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint64": "decimal(20,0)",
    "float32": "float",
    "float64": "double",
    "binary": "binary",
}


def wire_type(travel: Travel) -> str:
    """Spark's type of a value on the wire."""
    return _WIRE.get(travel.kind, "string")


def row_fields(
    travels: Sequence[Travel], *, typed: bool = False, extra: Sequence[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """(name, type) of a row of stage or replica.

    Args:
        travels: Of the columns whose values it has.
        typed: The stage names what no typed sink can take.
        extra: What else a stage has.
    """
    values = [(f"c{i}", wire_type(t)) for i, t in enumerate(travels)]
    untravelled = [(UNTRAVELLED, "string")] if typed else []
    return [("range_id", "bigint"), ("key_id", "binary"), ("digest", "bigint"), *values, *untravelled, *extra]


def event_fields(travels: Sequence[Travel]) -> list[tuple[str, str]]:
    """(name, type) of a staged event; both sites stage alike."""
    images = [(f"{side}_{i}", wire_type(t)) for side in ("b", "a") for i, t in enumerate(travels)]
    about = [
        ("op", "string"),
        ("reason", "string"),
        ("pair_id", "string"),
        ("ordinal", "bigint"),
        ("changed", "string"),
    ]
    return [*about, *images]


def batch_fields(travels: Sequence[Travel]) -> list[tuple[str, str]]:
    """(name, type) of a row of a batch: the staged event, and what the replica needs of it."""
    replica = [("range_id", "bigint"), ("key_id", "binary"), ("digest", "bigint"), ("batch_seq", "bigint")]
    return [*event_fields(travels), *replica]


def ddl(fields: Sequence[tuple[str, str]]) -> str:
    """Fields as Spark's DDL text of a schema."""
    return ", ".join(f"{name} {kind}" for name, kind in fields)


def casts(fields: Sequence[tuple[str, str]]) -> list[str]:
    """Expressions that give a frame exactly these fields."""
    return [f"CAST({name} AS {kind}) AS {name}" for name, kind in fields]
