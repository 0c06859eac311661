"""Schemas of the files in the workdir, as Spark's DDL text.

They follow from the plan and are never inferred.

Values are in wire form (`qbcd.model.Travel`): booleans, integers, floats and binaries keep their type, others are text.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.model import Column, StreamPlan
from qbcd.model.wire import Fields, wire_type
from qbcd.sites.event_schema import event_fields

__all__ = ["IDENTITY", "UNTRAVELLED", "Fields", "batch_fields", "ddl", "mark_fields", "row_fields"]

IDENTITY = ("range_id", "key_id")
UNTRAVELLED = "untravelled"  # column of a stage for typed sinks: positions of values that no such sink can hold


def mark_fields(plan: StreamPlan) -> list[tuple[str, str]]:
    """Return (name, type) of range, key identity and digest of a row."""
    return [("range_id", "bigint"), ("key_id", "binary"), ("digest", plan.digest_type)]


def row_fields(
    plan: StreamPlan,
    columns: Sequence[Column] | None = None,
    *,
    typed: bool = False,
    extra: Sequence[tuple[str, str]] = (),
) -> list[tuple[str, str]]:
    """Return (name, type) of each field of a row of stage or replica.

    Args:
        columns: The columns whose values the row has; default: all captured ones.
        typed: The stage names values that no typed sink can hold.
        extra: Further fields of a stage.
    """
    kept = plan.captured if columns is None else columns
    values = [(f"c{i}", wire_type(c.travel)) for i, c in enumerate(kept)]
    untravelled = [(UNTRAVELLED, "string")] if typed else []
    return [*mark_fields(plan), *values, *untravelled, *extra]


def batch_fields(plan: StreamPlan) -> list[tuple[str, str]]:
    """Return (name, type) of each field of a batch row: the event, and the replica's fields."""
    return [*event_fields([c.travel for c in plan.captured]), *mark_fields(plan), ("batch_seq", "bigint")]


def ddl(fields: Fields) -> str:
    """Return the fields as Spark's DDL text of a schema."""
    return ", ".join(f"{name} {kind}" for name, kind in fields)
