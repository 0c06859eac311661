"""The step of the lake wing: compare, write the batch, commit it with ranges and checkpoint.

The protocol defines the order (docs/design/protocol.md#rule-15): first new files that no commit names, then one
transaction by compare-and-set that names them. Only `PollStep.run` implements this order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from qbcd.common import hooks
from qbcd.errors import GuardTripped, TornRead, UnsupportedType
from qbcd.model import BatchHeader
from qbcd.sites.checkpoint import new_header
from qbcd.sites.guards import check_pass, confirm, counted_now
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows
from qbcd.sites.lake.notes import LeafNote
from qbcd.sites.lake.poll import ParquetPoll, TablePoll, TimedPoll, checkpoint_entries
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import NewSegment
from qbcd.sites.lake.replica.schema import batch_fields
from qbcd.sites.refusals import untravelled_error
from qbcd.state import StoredRange


@dataclass(frozen=True)
class WrittenBatch:
    """A batch that is written and that no commit names yet.

    Attributes:
        counts: Number of events by op; empty if nothing changed.
    """

    part: FileSet
    counts: dict[str, int]

    @property
    def net(self) -> int:
        """Number of rows by which the replica grows."""
        return self.counts.get("c", 0) - self.counts.get("d", 0)

    @property
    def events(self) -> int:
        """Number of events."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class RangeChanges:
    """Ranges that a commit changes.

    Attributes:
        kept: Ranges that stay in their segment, with new counts and checksums.
        segment: A new segment and its ranges.
    """

    kept: Sequence[StoredRange] = ()
    segment: NewSegment | None = None


AnyPoll = TypeVar("AnyPoll", bound=TimedPoll)


class StagedComparison(ABC, Generic[AnyPoll]):
    """Fetched rows that are to be compared with the replica.

    Args:
        poll: The poll; its snapshot may be closed.
        fetched: Files of the rows; those that do not become a segment are discarded with the step.
    """

    def __init__(self, poll: AnyPoll, *fetched: FileSet) -> None:
        self.poll, self.fetched = poll, fetched

    @abstractmethod
    def write(self) -> WrittenBatch:
        """Compare with the replica and write the batch; raises if the guards refuse it."""

    @abstractmethod
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        """Return the ranges that change with the batch; files of a new segment are written by then."""


class PollStep(StagedComparison[AnyPoll]):
    """One step of a poll with fetched rows: compare them with the replica and commit changes."""

    @abstractmethod
    def checkpoint(self, found: WrittenBatch) -> dict[str, Any]:
        """Return the checkpoint after the batch; called before the commit uses up a confirmation."""

    def run(self, entries: Mapping[str, Any]) -> BatchHeader | None:
        """Do the step; the row in `poll.leased` has advanced when it returns.

        Args:
            entries: Further entries of the next checkpoint.

        Returns:
            The header of the batch, or None if nothing changed.
        """
        poll = self.poll
        try:
            hooks.reach("after_fetch")
            found = self.write()
            advanced = self.checkpoint(found) | dict(entries)
            header = new_batch(poll, found, epoch=poll.leased.row.epoch, ts_ms=poll.ts_ms)
            hooks.reach("after_stage")
            changes = self.ranges(found)
        except BaseException:
            poll.context.files.discard(*self.fetched)
            raise
        try:  # the commit may have made fetched files a segment, even if its answer does not arrive
            commit_step(poll, header, advanced, changes)
        finally:
            segment = changes.segment.segment if changes.segment else None
            poll.context.files.discard(*(part for part in self.fetched if part != segment))
        return header


def renewed_entries(poll: TablePoll, found: WrittenBatch) -> dict[str, Any]:
    """Return the checkpoint entries that each step renews, after the batch."""
    return checkpoint_entries(poll, poll.snapshot, poll.leased.checkpoint.rows + found.net)


def write_batch(
    poll: TablePoll, changes: Rows, rows: int, check: Callable[[FileSet], None] | None = None
) -> WrittenBatch:
    """Write the changes among about `rows` rows as a batch, and check the guards.

    Args:
        changes: The changes; evaluated once, unless they are many.
        rows: Approximate number of compared rows.
        check: Checks rows that were compared while they came from the source, once they are written; gets the files.

    Raises:
        GuardTripped: The batch deletes too many rows; it is removed.
        TornRead: `check` raised it; the batch is removed.
        UnsupportedType: A typed sink cannot hold an old value, or `check` raised it for a new one.
    """
    found = written_changes(poll, changes, rows)
    # Without a key an update is a delete and an insert: only rows without a successor are deleted.
    deletes = max(0, -found.net) if poll.plan.counted else found.counts.get("d", 0)
    try:
        if check:
            check(found.part)
        check_pass(
            poll,
            poll.due.state,
            deletes=deletes,
            after=poll.leased.checkpoint.rows + found.net,
            left=lambda: counted_now(poll.context, poll.strategy.partitioning.row_count()),
        )
    except (GuardTripped, TornRead, UnsupportedType):
        poll.context.files.discard(found.part)
        raise
    return found


def write_with_growth(poll: TablePoll, changes: Rows, rows: int) -> tuple[WrittenBatch, dict[int, tuple[int, int]]]:
    """Write `changes` as `write_batch` does.

    Also return by range the growth in rows and checksum.
    """
    with poll.engine.kept(changes) as kept:
        found = write_batch(poll, kept, rows)
        return found, algebra.growth(poll.engine, kept) if found.counts else {}


def written_changes(poll: ParquetPoll, changes: Rows, rows: int) -> WrittenBatch:
    """Number the changes, pair key changes if the user wants that, write and count them."""
    row, plan, settings, files = poll.leased.row, poll.plan, poll.settings, poll.context.files
    engine, seq = poll.engine, row.last_batch_seq + 1
    counts = engine.event_counts({i: c.travel for i, c in enumerate(plan.captured)} if settings.judges_old else {})
    with engine.numbered(changes, seq, rows) as batch:
        if settings.config.key_change == "pair":
            batch = algebra.paired(batch, keys=len(plan.key), width=len(plan.captured), epoch=row.epoch, seq=seq)
        fields = batch_fields(plan)
        part = files.write(engine, counts.observe(batch), fields, "batch", poll.leased, source=poll.context.source)
    if positions := settings.judged(counts.unfit(), len(plan.key)):
        from qbcd.sites.lake.sink_values import first_text

        found = first_text(files.paths(part), plan, f"b_{positions[0]}")
        files.discard(part)
        raise untravelled_error(plan, settings, positions, found)
    refuse_unsupported(poll, part)
    return WrittenBatch(part, counts.read())


def refuse_unsupported(poll: ParquetPoll, part: FileSet) -> None:
    """Refuse a written batch with values that a sink cannot hold, and remove it.

    Raises:
        UnsupportedType: Names column, key, value and remedy.
    """
    files = poll.context.files
    from qbcd.sites.lake.sink_values import unsupported_in

    if (refused := unsupported_in(files.paths(part), poll.plan, poll.settings)) is not None:
        files.discard(part)
        raise refused


def new_batch(poll: ParquetPoll, found: WrittenBatch, *, epoch: int, ts_ms: int) -> BatchHeader | None:
    """Return the header of `found` as the next batch; None if it is empty, and remove its files."""
    if not found.counts:
        poll.context.files.discard(found.part)
        return None
    consistency = poll.strategy.consistency
    header = new_header(poll, epoch=epoch, ts_ms=ts_ms, counts=found.counts, consistency=consistency)
    return replace(header, location=found.part.as_location(), before=poll.strategy.keeps == "rows")


def commit_step(
    poll: ParquetPoll, header: BatchHeader | None, checkpoint: Mapping[str, Any], changes: RangeChanges = RangeChanges()
) -> None:
    """Commit batch, ranges and checkpoint by compare-and-set.

    The row in `poll.leased` has advanced when it returns.

    Args:
        header: The batch, if there is one.
        checkpoint: The next checkpoint.
    """
    context, leased, new = poll.context, poll.leased, changes.segment
    folded = header.seq if header else leased.row.last_batch_seq
    leaves_before = LeafNote.from_checkpoint(leased.row.checkpoint).part
    hooks.reach("before_commit")
    with context.writing() as conn:
        row = leased.row
        context.store.update_ranges(conn, context.stream, changes.kept)
        if new:
            row = context.replica.add_segment(conn, row, new, folded)
        confirm(poll, conn)
        row = context.commit(conn, row, leased, header, dict(checkpoint))
    leased.row = row
    same_leaves = LeafNote.from_checkpoint(row.checkpoint).part == leaves_before
    context.swept = context.swept and not new and same_leaves  # otherwise some files are no longer named
    hooks.reach("after_commit")
