"""A sweep in the lake wing: find keys that no longer exist in the source (paper 3.2.1).

See docs/design/protocol.md#rule-14.

Row counts and key checksums find dirty ranges; a sweep fetches only their keys. It ignores new rows of a range, since
the window finds them.
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from qbcd.common.wording import counted
from qbcd.model import Cost
from qbcd.sites.lake.commit import RangeChanges, WrittenBatch, write_batch
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows
from qbcd.sites.lake.fetch import paths
from qbcd.sites.lake.fetch_plan import FetchPlan
from qbcd.sites.lake.modes.base import LakeStep, Step, Unchanged
from qbcd.sites.lake.poll import LakePoll, TablePoll
from qbcd.sites.lake.range_sizes import split_outgrown, with_counts
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import NewSegment
from qbcd.sites.lake.stage import range_frame, replica_rows, stage_sums, stored_fields, write_stage
from qbcd.state import StoredRange
from qbcd.strategies import LakeTs

FIELDS = [("range_id", "bigint"), ("key_id", "binary"), ("key_digest", "bigint")]


def fetch_missing(poll: TablePoll, strategy: LakeTs) -> Step:
    """Fetch the keys of dirty ranges."""
    plan, known = split_outgrown(poll, paths.detect(poll)), len(poll.due.known)
    if not plan.asked:
        return Unchanged(poll, Cost(plan.scanned, 0, 0, known, 0))
    with poll.on_engine(plan.fetched) as work:
        return SweepStep(poll, plan, fetch_keys(work, strategy, plan.asked))


def fetch_keys(poll: TablePoll, strategy: LakeTs, asked: Sequence[StoredRange]) -> FileSet:
    """Fetch the keys of `asked`, regardless of the restriction."""
    poll.context.progress(f"fetching the keys of {counted(len(asked), 'range')}")
    return write_stage(poll, range_frame(poll, asked, strategy.keys, FIELDS), FIELDS)


def keys_of(poll: LakePoll, fetched: FileSet) -> Rows:
    """Return the keys that `fetch_keys` has read."""
    return poll.context.files.read(poll.engine, FIELDS, fetched)


class SweepStep(LakeStep):
    """Delete the replica's rows whose keys were not fetched, and move rows of split ranges."""

    def __init__(self, poll: TablePoll, plan: FetchPlan, fetched: FileSet) -> None:
        super().__init__(poll, fetched)
        self.plan, self.stage_files, self.size = plan, fetched, plan.fetched
        self.keys: Rows
        self.old: Rows

    @override
    def write(self) -> WrittenBatch:
        poll, plan = self.poll, self.plan
        self.keys = algebra.gathered(keys_of(poll, self.stage_files), plan.rows)
        self.old = replica_rows(poll, plan.old)
        return write_batch(poll, algebra.deleted(self.old, self.keys), plan.rows)

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        poll, plan = self.poll, self.plan
        sums = stage_sums(poll, algebra.of_keys(self.keys, self.old))
        read = {r.range_id: r for r in with_counts(poll.context.stream, plan.asked, sums)}
        segment = self._split(read) if plan.children else None
        return RangeChanges([read[r.range_id] for r in plan.unsplit], segment)

    @override
    def cost(self) -> Cost:
        plan = self.plan
        rows, known = sum(r.rows for r in plan.dirty), len(self.poll.due.known)
        return Cost(plan.scanned, rows, self.stage_files.size, known, len(plan.dirty))

    def _split(self, read: dict[int, StoredRange]) -> NewSegment:
        """Write the replica's rows of split ranges under the new range ids of the fetched keys."""
        poll, children = self.poll, [r.range_id for r in self.plan.children]
        rows = algebra.with_ranges_of(poll.engine, self.old, self.keys, children)
        segment = poll.context.files.write(poll.engine, rows, stored_fields(poll), "segment", poll.leased)
        split = [read[i] for i in children]
        return NewSegment(segment, sum(r.rows for r in split), split, self.plan.parents)
