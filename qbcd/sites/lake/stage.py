"""JDBC reads of rows of ranges, into a stage that is read as often as needed."""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.common.wording import counted
from qbcd.model import KeyRange, Statement
from qbcd.model.value_limits import words_of_text
from qbcd.ranges import partition
from qbcd.sites.lake.checksums import rows_at_once
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import RowChecksum, Rows
from qbcd.sites.lake.poll import LakePoll, TablePoll
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.schema import UNTRAVELLED, Fields, row_fields
from qbcd.sites.refusals import FoundValue, key_error, key_shown, untravelled_error
from qbcd.state import StoredRange
from qbcd.strategies import Query


def range_frame(poll: TablePoll, asked: Sequence[KeyRange], query: Query, fields: Fields, connections: int = 0) -> Rows:
    """Return the rows of `query` over `asked`, to be evaluated once.

    Each range is of one state.

    Each reader has its own statements over its own ranges. With a condition on range ids instead, some databases would
    read all ranges for each reader.

    Args:
        query: Makes the statement over some ranges.
        connections: Number of readers, if not that of the settings.
    """
    readers = partition.readers(asked, connections or poll.settings.connections)
    statements = poll.strategy.partitioning.shared(query, asked, readers, rows_at_once(poll.strategy))
    return frame(poll, statements, fields, at_once=readers)


def frame(poll: TablePoll, statements: Sequence[Statement], fields: Fields, *, at_once: int = 1) -> Rows:
    """Return the rows of `statements`, without placeholders, read in the snapshot."""
    context = poll.context
    from qbcd.local.source import SourceReads

    reads = SourceReads(context.source, context.stream, statements, poll.snapshot.name, at_once)
    return poll.engine.fetch(reads, fields)


def stage_fields(poll: LakePoll) -> Fields:
    """Return the fields of a stage of whole rows."""
    return row_fields(poll.strategy.plan, typed=poll.settings.typed, extra=poll.strategy.extra)


def images_frame(poll: TablePoll, asked: Sequence[KeyRange]) -> Rows:
    """Return the rows of `asked` with digest and values, as `range_frame` does."""
    plan, fields = poll.strategy.plan, stage_fields(poll)
    if plan.counted or not plan.key:  # their identity is added
        fields = [field for field in fields if field[0] != "key_id"]
    query = poll.strategy.images
    rows = range_frame(poll, asked, lambda some, part: query(some, part, typed=poll.settings.typed), fields)
    return algebra.identified(rows, plan)


def fetch_rows(
    poll: TablePoll, asked: Sequence[KeyRange], checksum: RowChecksum | None = None, kind: str = "fetch"
) -> FileSet:
    """Read `asked` once into the stage, as files of `kind`.

    `checksum` is computed in the same pass.
    """
    poll.context.progress(
        f"fetching about {counted(sum(r.asked[0] for r in asked), 'row')} of {counted(len(asked), 'range')}"
    )
    rows = images_frame(poll, asked)
    rows = checksum.observe(rows) if checksum else rows
    return write_stage(poll, rows, stage_fields(poll), kind)


def read_ranges(
    poll: TablePoll, asked: Sequence[KeyRange], checksum: RowChecksum | None = None, kind: str = "fetch"
) -> FileSet:
    """Read all rows of `asked` once into the stage, with the reader of the poll if it has one."""
    return (poll.reader or fetch_rows)(poll, asked, checksum, kind)


def write_stage(poll: LakePoll, rows: Rows, fields: Fields, kind: str = "fetch") -> FileSet:
    """Evaluate `rows`, which come from the source, once into files of `kind`."""
    return poll.context.files.write(poll.engine, rows, fields, kind, poll.leased, source=poll.context.source)


def staged_rows(poll: LakePoll, fetched: FileSet) -> Rows:
    """Return the rows that `fetch_rows` has read."""
    return poll.context.files.read(poll.engine, stage_fields(poll), fetched)


def replica_rows(poll: LakePoll, asked: Sequence[StoredRange], *, alone: bool = False) -> Rows:
    """Return the replica's rows in `asked` ranges, for one task if they are few or `alone`.

    Raises:
        LeaseLost: The lease is lost, for instance while Spark started: another poller may have removed the files.
    """
    context = poll.context
    poll.leased.keeper.check()
    with context.reading() as conn:
        return context.replica.rows(conn, poll.engine, poll.plan, poll.strategy.stored_columns, asked, alone=alone)


def stored_fields(poll: LakePoll) -> Fields:
    """Return the fields of a segment of the replica."""
    return row_fields(poll.plan, poll.strategy.stored_columns)


def stable_values(poll: LakePoll) -> list[int]:
    """Return the positions of the captured columns that have stable texts.

    Such a text stays equal while its value is unchanged.
    """
    expressions = poll.context.source.connector.expressions
    return [i for i, c in enumerate(poll.plan.captured) if expressions.has_stable_text(c)]


def segment_for(poll: LakePoll, fetched: FileSet, stage: Rows) -> FileSet:
    """Return a segment with the rows of a stage: itself, or files with the replica's columns."""
    if poll.strategy.keeps == "rows":
        return fetched
    return poll.context.files.write(poll.engine, stage, stored_fields(poll), "segment", poll.leased)


def stage_sums(poll: TablePoll, rows: Rows) -> dict[int, tuple[int, int | None]]:
    """Return by range_id (rows, sum of the digests that make a range's checksum)."""
    return algebra.sums(poll.engine, rows, poll.strategy.summed, wide=poll.plan.wide)


def check_values(poll: LakePoll, stage: Rows, checksum: RowChecksum | None = None) -> None:
    """Refuse duplicate keys, and values that no typed sink can hold.

    Args:
        checksum: That of the rows, if it was computed while they were written; then they are not read again.

    Raises:
        UnsafeKey: A key occurs twice.
        UnsupportedType: A typed sink could never hold a value.
    """
    if not poll.plan.key_is_proven and algebra.has_duplicates(poll.engine, stage):
        raise key_error(poll.plan)
    if poll.settings.typed:
        found = algebra.untravelled(poll.engine, stage) if checksum is None else checksum.untravelled()
        positions = poll.settings.judged(found, len(poll.plan.key))
        if positions:
            raise untravelled_error(poll.plan, poll.settings, positions, _found(poll, stage, positions[0]))


def _found(poll: LakePoll, stage: Rows, position: int) -> FoundValue | None:
    """Return a value of the column that no typed sink can hold, from one row.

    Return None if there are no words for it.
    """
    keys = len(poll.plan.key)
    columns = [f"c{i}" for i in (*range(keys), position)]
    row = algebra.one_row(poll.engine, stage, columns, f"CONCAT(',', {UNTRAVELLED}) LIKE '%,{position:d},%'")
    words = words_of_text(poll.plan.captured[position].travel, str(row[-1])) if row else ""
    return FoundValue(position, words, key_shown(poll.plan, row[:keys])) if row and words else None
