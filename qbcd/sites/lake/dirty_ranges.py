"""Search for dirty ranges: their checksum in the source differs from the replica's."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from qbcd.common import hooks
from qbcd.common.wording import counted
from qbcd.ranges import partition
from qbcd.sites.guards import check_pass, counted_now
from qbcd.sites.lake.checksums import checksums
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.fetch import leaf_checksums
from qbcd.sites.lake.fetch.base import PlanPath
from qbcd.sites.lake.fetch_plan import FetchPlan
from qbcd.sites.lake.poll import TablePoll
from qbcd.sites.lake.range_sizes import build_ranges
from qbcd.sites.lake.replica.schema import row_fields
from qbcd.sites.lake.stage import range_frame, replica_rows, write_stage
from qbcd.state import StoredRange

FEW_EMPTY = 2  # asking for one empty range costs less than asking which are excluded


class EveryRow(PlanPath):
    """Read all rows under new ranges, after digests or columns changed.

    Bounds may be out of order then.
    """

    name = "every_row"
    is_optional = False

    @override
    def is_applicable(self, poll: TablePoll, plan: FetchPlan) -> bool:
        return poll.snapshot.reads_all

    @override
    def narrow(self, poll: TablePoll, plan: FetchPlan) -> FetchPlan | None:
        rows, known = poll.leased.checkpoint.rows, tuple(poll.due.due)
        new = tuple(build_ranges(poll, poll.leased.row.next_range_id, rows))
        return FetchPlan(new, known, new, known, rows)


class RowDigests(PlanPath):
    """Compare the digest of each row with the replica's.

    It serves an audit of a replica without values.
    """

    name = "row_digests"
    is_optional = False

    @override
    def is_applicable(self, poll: TablePoll, plan: FetchPlan) -> bool:
        return poll.snapshot.audits == "digests"

    @override
    def narrow(self, poll: TablePoll, plan: FetchPlan) -> FetchPlan | None:
        dirty, rows = tuple(ranges_of_other_digests(poll)), sum(r.rows for r in poll.due.known)
        return FetchPlan(dirty, (), (), dirty, rows)


def ranges_of_other_digests(poll: TablePoll) -> list[StoredRange]:
    """Return the ranges that have a row whose digest differs from the replica's.

    A row that only one side has differs too. Sums of digests are not compared: changes may cancel in them. Rows move
    among ranges of pages, so these are compared as a whole.
    """
    context, known = poll.context, poll.due.known
    context.progress(f"comparing the digests of about {counted(sum(r.rows for r in known), 'row')}")
    fields = row_fields(poll.plan, ())
    with poll.on_engine(sum(r.rows for r in known)) as work:
        read = write_stage(work, range_frame(work, known, poll.strategy.row_digests, fields), fields)
        try:
            found = context.files.read(work.engine, fields, read)
            ids = algebra.differing_ranges(work.engine, replica_rows(work, known), found)
        finally:
            context.files.discard(read)
    return [r for r in known if r.range_id in ids or (ids and poll.strategy.partitioning.paged)]


class RangeChecksums(PlanPath):
    """Compare the checksums of all due ranges."""

    name = "range_checksums"
    is_optional = False

    @override
    def is_applicable(self, poll: TablePoll, plan: FetchPlan) -> bool:
        return True

    @override
    def narrow(self, poll: TablePoll, plan: FetchPlan) -> FetchPlan | None:
        known = without_excluded(poll, poll.due.due)
        poll.context.progress(f"checksums of {counted(len(known), 'range')}")
        texts: dict[int, str] | None = {} if leaf_checksums.are_asked_of_all(poll) else None
        now = checksums(poll, known, texts)
        hooks.reach("after_checksums")
        dirty, scanned = partition.differing(known, now), sum(r.rows for r in now)
        old = [one for one, _ in partition.pairs(known, dirty)]
        _check_lost(poll, old, dirty, scanned)
        found = leaf_checksums.range_leaves(now, texts) if texts else {}
        return FetchPlan(tuple(dirty), (), (), tuple(old), scanned, found)


def without_excluded(poll: TablePoll, due: Sequence[StoredRange]) -> Sequence[StoredRange]:
    """Return the ranges of `due` without excluded ones that have no rows of the replica.

    Excluded ranges are those of a restriction that was changed, or rows that left it for good: they are not requested.
    """
    empty = [r for r in due if not r.rows]
    if len(empty) < FEW_EMPTY:
        return due
    query = poll.strategy.partitioning.excluded(empty)
    ids = {int(row.range_id) for row in poll.snapshot.session.rows(query)} if query else set()
    return [r for r in due if r.range_id not in ids] if len(ids) < len(due) else due


def _check_lost(poll: TablePoll, old: list[StoredRange], dirty: list[StoredRange], scanned: int) -> None:
    """Check the guards by the decrease of range counts, before any row is fetched.

    Only counts of one state show it. Counts of several states may miss rows that moved; then the batch decides.

    Raises:
        GuardTripped: Too many rows are deleted.
    """
    strategy = poll.strategy
    # a sweep does not delete rows that left the restriction
    restricted_sweep = strategy.checksum_template == "key_digests" and strategy.plan.where
    if not dirty or poll.snapshot.name is None or not strategy.deletes or restricted_sweep:
        return
    shrunk = [before.rows - now.rows for before, now in zip(old, dirty, strict=True)]
    check_pass(
        poll,
        poll.due.state,
        deletes=max(0, sum(shrunk)) if strategy.partitioning.paged else sum(max(0, by) for by in shrunk),
        after=scanned + poll.due.rows_not_due,
        left=lambda: counted_now(poll.context, strategy.partitioning.row_count()),
    )
