"""JDBC reads as DataFrames, in the snapshot of a poll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.model import Statement
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.spark.source import source_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def jdbc_frame(
    context: LakeContext, snapshot: Snapshot, statements: Sequence[Statement], *, at_once: int = 1
) -> DataFrame:
    """Return the rows of `statements`, which have no placeholders, as one read to be evaluated once."""
    connector = context.source.connector
    pins = (
        connector.sessions.pins()
        if snapshot.name is None
        else connector.require(SupportsSnapshots).snapshot_pins(snapshot.name)
    )
    sql = [s.sql for s in statements]
    return source_rows(context.spark.get(), context.source, context.stream, sql, init=pins, at_once=at_once)
