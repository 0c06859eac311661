"""DataFrames of rows that come from the source, in the snapshot of a poll."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.model import Statement
from qbcd.sites.event_schema import casts
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.replica.schema import Fields, ddl
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.spark.source import source_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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


def cast_to(rows: DataFrame, fields: Fields) -> DataFrame:
    """Return `rows` with these fields."""
    return rows.selectExpr(*casts(fields))


def in_one_task(rows: DataFrame) -> DataFrame:
    """Return `rows` for one task, which also reads them."""
    return rows.coalesce(1)


def for_one_join(rows: DataFrame) -> DataFrame:
    """Return `rows` for one task that joins them in memory, while all readers work at the same time."""
    return rows.repartition(1).hint("shuffle_hash")


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all `frames` (at least one); each keeps its tasks."""
    return reduce(lambda one, other: one.unionByName(other), frames)


def no_rows(spark: SparkSession, fields: Fields) -> DataFrame:
    """Return no rows, with these fields."""
    return spark.createDataFrame([], ddl(fields))
