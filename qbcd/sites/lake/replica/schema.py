"""Schemas of the files in the workdir, as Spark's DDL text.

They follow from the plan and are never inferred.

Values are in wire form (`qbcd.model.Travel`): booleans, integers, floats and binaries keep their type, others are text.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.model import Travel
from qbcd.model.wire import Fields, wire_type
from qbcd.sites.event_schema import event_fields

__all__ = ["IDENTITY", "UNTRAVELLED", "Fields", "batch_fields", "ddl", "row_fields"]

IDENTITY = ("range_id", "key_id")
UNTRAVELLED = "untravelled"  # column of a stage for typed sinks: positions of values that no such sink can hold


def row_fields(
    travels: Sequence[Travel], *, typed: bool = False, extra: Sequence[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """Return (name, type) of each field of a row of stage or replica.

    Args:
        travels: Wire forms of the columns whose values the row has.
        typed: The stage names values that no typed sink can hold.
        extra: Further fields of a stage.
    """
    values = [(f"c{i}", wire_type(t)) for i, t in enumerate(travels)]
    untravelled = [(UNTRAVELLED, "string")] if typed else []
    return [("range_id", "bigint"), ("key_id", "binary"), ("digest", "bigint"), *values, *untravelled, *extra]


def batch_fields(travels: Sequence[Travel]) -> list[tuple[str, str]]:
    """Return (name, type) of each field of a batch row: the event, and the replica's fields."""
    replica = [("range_id", "bigint"), ("key_id", "binary"), ("digest", "bigint"), ("batch_seq", "bigint")]
    return [*event_fields(travels), *replica]


def ddl(fields: Fields) -> str:
    """Return the fields as Spark's DDL text of a schema."""
    return ", ".join(f"{name} {kind}" for name, kind in fields)
