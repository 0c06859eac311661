"""JDBC reads of the rows of ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qbcd.catalog.source import Source
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.ranges import partition
from qbcd.sites.lake import diff
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.observed import RowChecksum
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import travels_of
from qbcd.sites.lake.replica.schema import row_fields
from qbcd.sites.refusals import key_error, untravelled_error
from qbcd.sites.values import LeasedStream, Settings
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
    pins = (
        connector.sessions.pins()
        if snapshot.name is None
        else connector.require(SupportsSnapshots).snapshot_pins(snapshot.name)
    )
    return source_rows(spark, source, stream, [s.sql for s in statements], init=pins, at_once=at_once)


def fetch_rows(
    context: LakeContext,
    strategy: IdRcs,
    snapshot: Snapshot,
    asked: Sequence[KeyRange],
    settings: Settings,
    held: LeasedStream,
    totals: RowChecksum | None = None,
    kind: str = "fetch",
) -> FileSet:
    """Reads `asked` once into the stage, a part of `kind`; `totals` are taken on the way."""
    context.progress(f"fetching about {sum(r.asked[0] for r in asked):,} rows of {len(asked):,} ranges")
    frame = range_frame(
        context.source,
        context.spark.get(),
        strategy,
        snapshot,
        asked,
        lambda some, part: strategy.images(some, part, typed=settings.typed),
        settings.connections,
    )
    frame = diff.identified(frame, strategy.plan)
    frame = totals.observe(frame) if totals else frame
    fields = row_fields(travels_of(strategy.plan), typed=settings.typed, extra=strategy.extra)
    return context.files.write(frame, fields, kind, held, source=context.source)


def staged_rows(context: LakeContext, strategy: IdRcs, fetched: FileSet, settings: Settings) -> DataFrame:
    """The rows of a fetch."""
    return context.replica.part_rows(strategy.plan.captured, fetched, typed=settings.typed, extra=strategy.extra)


def segment_for(
    context: LakeContext, strategy: IdRcs, fetched: FileSet, stage: DataFrame, held: LeasedStream
) -> FileSet:
    """A segment of the rows of a stage: the stage itself, or what the replica keeps of it."""
    if strategy.keeps == "rows":
        return fetched
    return context.files.write(stage, row_fields([c.travel for c in strategy.stored_columns]), "segment", held)


def check_values(stage: DataFrame, plan: StreamPlan, settings: Settings) -> None:
    """Refuses keys that stand twice, and values that a typed sink could never take."""
    if not plan.key_is_proven and diff.has_duplicates(stage):
        raise key_error(plan)
    if settings.typed:
        positions = diff.untravelled(stage)
        if positions:
            raise untravelled_error(plan, settings, positions)
