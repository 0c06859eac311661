"""Fetch path that always works: all rows of dirty ranges or leaves, through a stage."""

from __future__ import annotations

from typing_extensions import override

from qbcd.catalog.capture_change import plan_before
from qbcd.common.wording import counted
from qbcd.errors import TornRead
from qbcd.sites.checkpoint import AUDIT, NEW_COLUMN
from qbcd.sites.lake.commit import RangeChanges, WrittenBatch, write_batch
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.algebra import By
from qbcd.sites.lake.engines.base import RowChecksum, Rows
from qbcd.sites.lake.fetch.base import FetchedRows, RowsPath
from qbcd.sites.lake.fetch_plan import FetchPlan, check_torn
from qbcd.sites.lake.poll import TablePoll
from qbcd.sites.lake.range_sizes import with_counts
from qbcd.sites.lake.replica.files import PASSING, FileSet
from qbcd.sites.lake.replica.replica import NewSegment
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.sites.lake.stage import check_values, read_ranges, segment_for, stage_sums, staged_rows
from qbcd.state import StoredRange


class WholeRanges(RowsPath):
    """Fetch the rows into a stage."""

    name = "whole_ranges"
    is_optional = False

    @override
    def is_applicable(self, poll: TablePoll, plan: FetchPlan) -> bool:
        return True

    @override
    def fetch(self, poll: TablePoll, plan: FetchPlan) -> FetchedRows | None:
        checksum = poll.engine.row_checksum(wide=poll.plan.wide)
        kind = PASSING if plan.in_leaves and not plan.children else "fetch"
        fetched = read_ranges(poll, plan.asked, checksum, kind)
        if poll.snapshot.proves_checksums:
            try:
                check_torn(poll.context.stream, plan, *checksum.read())
            except TornRead:
                poll.context.files.discard(fetched)
                raise
        return FetchedRanges(poll, plan, fetched, checksum if poll.reader is None else None)


class FetchedRanges(FetchedRows):
    """Compare a stage with the replica; the source is not read again.

    Args:
        checksum: That of the rows; None if a reader of its own fetched them.
    """

    def __init__(self, poll: TablePoll, plan: FetchPlan, fetched: FileSet, checksum: RowChecksum | None) -> None:
        super().__init__(poll, fetched)
        self._checksum = checksum
        self.plan, self.stage_files, self.size = plan, fetched, fetched.size
        self.stage: Rows
        self.read: dict[int, StoredRange] = {}

    @override
    def write(self) -> WrittenBatch:
        poll, plan = self.poll, self.plan
        poll.context.progress(f"comparing {counted(len(plan.asked), 'range')} with the replica")
        self.stage = algebra.gathered(staged_rows(poll, self.stage_files), plan.rows)
        check_values(poll, self.stage, self._checksum)
        self.read = _counted(poll, plan, self.stage)
        changes = _differences(poll, plan, self.stage)
        changes = changes if poll.strategy.deletes else algebra.without_deletes(changes)
        return write_batch(poll, changes, plan.rows)

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        poll, plan, read = self.poll, self.plan, self.read
        kept = [] if plan.as_segment else [read[r.range_id] for r in plan.unsplit]
        in_segment = [read[r.range_id] for r in (plan.asked if plan.as_segment else plan.children)]
        segment = None
        if in_segment:
            files = segment_for(poll, self.stage_files, self.stage)
            rows = sum(r.asked[0] for r in read.values())
            segment = NewSegment(files, rows, poll.due.mark_visited(in_segment), plan.parents, alone=not kept)
        return RangeChanges(poll.due.visited(kept, (*plan.parents, *in_segment)), segment)


def _differences(poll: TablePoll, plan: FetchPlan, stage: Rows) -> Rows:
    """Return the changes between the replica's rows, perhaps of other columns, and the stage.

    See docs/design/protocol.md#rule-16. A row differs if its old digest differs. If columns are no longer captured, it
    differs only if another column differs. Without an old digest, values are compared and events have a reason.
    """
    snapshot, strategy = poll.snapshot, poll.strategy
    before = plan_before(poll.leased.row.checkpoint, poll.plan) if snapshot.change.columns else poll.plan
    kept = [c for c in before.captured if strategy.keeps == "rows" or c in before.key]
    with poll.context.reading() as conn:
        old = poll.context.replica.rows(conn, poll.engine, before, kept, plan.old)
    if not snapshot.change.columns:
        found = algebra.differences(old, stage, poll.plan, by=_by(snapshot))
    else:
        shown = snapshot.change.added if poll.settings.new_values else ()
        names = {*(b.name for b in before.captured), *shown}
        both = [i for i, c in enumerate(poll.plan.captured) if c.name in names]
        if strategy.keeps == "rows":
            old = algebra.aligned(old, before, poll.plan)
        dropped = bool(snapshot.change.dropped and strategy.keeps == "rows")
        by_value = snapshot.by_value or poll.plan.counted or dropped or bool(shown)
        found = algebra.differences(old, stage, poll.plan, by="values" if by_value else "digest", both=both)
        if shown and not snapshot.by_value:
            only = [i for i, c in enumerate(poll.plan.captured) if c.name in shown]
            found = algebra.with_reason(found, NEW_COLUMN, only)
    return algebra.with_reason(found, AUDIT) if snapshot.by_value or snapshot.audits else found


def _by(snapshot: Snapshot) -> By:
    if snapshot.audits and not snapshot.digests_changed:
        return "either"
    return "values" if snapshot.by_value else "digest"


def _counted(poll: TablePoll, plan: FetchPlan, stage: Rows) -> dict[int, StoredRange]:
    """Return the ranges with counts and checksums of the read rows.

    Counts and checksums are the source's if they and the rows are of one state.
    """
    if poll.snapshot.proves_checksums and not plan.is_split:
        return {r.range_id: r for r in (*plan.unsplit, *plan.merged)}
    counted = with_counts(poll.context.stream, plan.asked, stage_sums(poll, stage))
    # if only dirty leaves of a range were read, its checksum is the source's
    return {r.range_id: one if one.only else r for one, r in zip(plan.asked, counted, strict=True)}
