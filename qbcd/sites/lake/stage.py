"""JDBC reads of rows of ranges, into a stage that is read as often as needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.model import KeyRange, Statement
from qbcd.ranges import partition
from qbcd.sites.lake.checksums import rows_at_once
from qbcd.sites.lake.engines.spark import diff
from qbcd.sites.lake.engines.spark.observed import RowChecksum
from qbcd.sites.lake.poll import LakePoll, TablePoll
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import travels_of
from qbcd.sites.lake.replica.schema import Fields, row_fields
from qbcd.sites.refusals import key_error, untravelled_error
from qbcd.spark.source import source_rows
from qbcd.state import StoredRange
from qbcd.strategies import Query
from qbcd.wording import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def range_frame(poll: TablePoll, asked: Sequence[KeyRange], query: Query, connections: int = 0) -> DataFrame:
    """Return the rows of `query` over `asked` as one JDBC read, to be evaluated once.

    Each range is of one state.

    Each reader has its own statements over its own ranges. With a condition on range ids instead, some databases would
    read all ranges for each reader.

    Args:
        poll: The poll.
        asked: The ranges.
        query: Makes the statement over some ranges.
        connections: Number of readers, if not that of the settings.
    """
    readers = partition.readers(asked, connections or poll.settings.connections)
    statements = poll.strategy.partitioning.shared(query, asked, readers, rows_at_once(poll.strategy))
    return frame(poll, statements, at_once=readers)


def frame(poll: TablePoll, statements: Sequence[Statement], *, at_once: int = 1) -> DataFrame:
    """Return the rows of `statements`, without placeholders, as one JDBC read in the snapshot."""
    context, name = poll.context, poll.snapshot.name
    connector = context.source.connector
    pins = connector.sessions.pins() if name is None else connector.require(SupportsSnapshots).snapshot_pins(name)
    sql = [s.sql for s in statements]
    return source_rows(context.spark.get(), context.source, context.stream, sql, init=pins, at_once=at_once)


def images_frame(poll: TablePoll, asked: Sequence[KeyRange]) -> DataFrame:
    """Return the rows of `asked` with digest and values, as `range_frame` does."""
    return range_frame(poll, asked, lambda some, part: poll.strategy.images(some, part, typed=poll.settings.typed))


def fetch_rows(
    poll: TablePoll, asked: Sequence[KeyRange], checksum: RowChecksum | None = None, kind: str = "fetch"
) -> FileSet:
    """Read `asked` once into the stage, as files of `kind`.

    `checksum` is computed in the same pass.
    """
    context, strategy = poll.context, poll.strategy
    context.progress(
        f"fetching about {counted(sum(r.asked[0] for r in asked), 'row')} of {counted(len(asked), 'range')}"
    )
    rows = diff.identified(images_frame(poll, asked), strategy.plan)
    rows = checksum.observe(rows) if checksum else rows
    fields = row_fields(travels_of(strategy.plan), typed=poll.settings.typed, extra=strategy.extra)
    return write_stage(poll, rows, fields, kind)


def write_stage(poll: LakePoll, rows: DataFrame, fields: Fields, kind: str = "fetch") -> FileSet:
    """Evaluate `rows`, which come from the source, once into files of `kind`."""
    return poll.context.files.write(rows, fields, kind, poll.leased, source=poll.context.source)


def staged_rows(poll: LakePoll, fetched: FileSet) -> DataFrame:
    """Return the rows that `fetch_rows` has read."""
    strategy, typed = poll.strategy, poll.settings.typed
    return poll.context.replica.part_rows(strategy.plan.captured, fetched, typed=typed, extra=strategy.extra)


def replica_rows(poll: LakePoll, asked: Sequence[StoredRange], *, alone: bool = False) -> DataFrame:
    """Return the replica's rows in `asked` ranges, for one task if they are few or `alone`.

    Raises:
        LeaseLost: The lease is lost, for instance while Spark started: another poller may have removed the files.
    """
    context = poll.context
    poll.leased.keeper.check()
    with context.reading() as conn:
        return context.replica.rows(conn, poll.plan, poll.strategy.stored_columns, asked, alone=alone)


def stored_fields(poll: LakePoll) -> Fields:
    """Return the fields of a segment of the replica."""
    return row_fields([c.travel for c in poll.strategy.stored_columns])


def segment_for(poll: LakePoll, fetched: FileSet, stage: DataFrame) -> FileSet:
    """Return a segment with the rows of a stage: itself, or files with the replica's columns."""
    if poll.strategy.keeps == "rows":
        return fetched
    return poll.context.files.write(stage, stored_fields(poll), "segment", poll.leased)


def check_values(poll: LakePoll, stage: DataFrame) -> None:
    """Refuse duplicate keys, and values that no typed sink can hold.

    Raises:
        UnsafeKey: A key occurs twice.
        UnsupportedType: A typed sink could never hold a value.
    """
    if not poll.plan.key_is_proven and diff.has_duplicates(stage):
        raise key_error(poll.plan)
    if poll.settings.typed:
        positions = diff.untravelled(stage)
        if positions:
            raise untravelled_error(poll.plan, poll.settings, positions)
