"""Schemas of what stands in the workdir, as Spark's DDL text: known from the plan, never inferred from files.

Values are in wire form (`qbcd.model.Travel`): what is no boolean, integer, float or binary is text.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.model import Travel
from qbcd.sites.event_schema import event_fields, wire_type

IDENTITY = ("range_id", "key_id")
UNTRAVELLED = "untravelled"  # column of a stage for typed sinks: positions of values that none takes


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


def batch_fields(travels: Sequence[Travel]) -> list[tuple[str, str]]:
    """(name, type) of a row of a batch: the staged event, and what the replica needs of it."""
    replica = [("range_id", "bigint"), ("key_id", "binary"), ("digest", "bigint"), ("batch_seq", "bigint")]
    return [*event_fields(travels), *replica]


def ddl(fields: Sequence[tuple[str, str]]) -> str:
    """Fields as Spark's DDL text of a schema."""
    return ", ".join(f"{name} {kind}" for name, kind in fields)
