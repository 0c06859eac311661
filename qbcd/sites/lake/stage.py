"""JDBC reads of the rows of ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qbcd.catalog.source import Source
from qbcd.model import KeyRange, Statement
from qbcd.ranges import partition
from qbcd.spark.source import source_rows
from qbcd.strategies import IdRcs, Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
from qbcd.sites.lake.checksums import rows_at_once
from qbcd.sites.lake.snapshot import Snapshot


def range_frame(
    source: Source,
    spark: SparkSession,
    strategy: IdRcs,
    snapshot: Snapshot,
    asked: Sequence[KeyRange],
    query: Query,
    connections: int,
) -> DataFrame:
    """What `query` gives of `asked` as one JDBC read, to be evaluated once; each range is of one state.

    Every reader has statements of its own, over its ranges alone: a condition on the ranges' ids would not keep every
    database from reading them all for each reader.
    """
    readers = partition.readers(asked, connections)
    statements = strategy.partitioning.shared(query, asked, readers, rows_at_once(strategy))
    return frame(source, spark, strategy.plan.stream, snapshot, statements, at_once=readers)


def frame(
    source: Source,
    spark: SparkSession,
    stream: str,
    snapshot: Snapshot,
    statements: Sequence[Statement],
    *,
    at_once: int = 1,
) -> DataFrame:
    """The rows of `statements`, which have no placeholders, as one JDBC read in the snapshot."""
    connector = source.connector
    pins = connector.session_pins() if snapshot.name is None else connector.snapshot_pins(snapshot.name)
    return source_rows(spark, source, stream, [s.sql for s in statements], init=pins, at_once=at_once)
