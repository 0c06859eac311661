"""Compare a lake replica with its source up to the watermark, for audits and for `verify`.

All rows are fetched and compared by value, since polls and audits must not share digests that may be equal by chance.
Rows past the watermark are fetched too, regardless of the restriction, because differences of their keys are not final
yet (docs/design/protocol.md#rule-19).
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from qbcd.common.wording import counted
from qbcd.model import Cost
from qbcd.sites.checkpoint import AUDIT
from qbcd.sites.lake.commit import RangeChanges, WrittenBatch, write_batch
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows
from qbcd.sites.lake.modes.base import LakeStep, Step, Unchanged
from qbcd.sites.lake.poll import LakePoll, TablePoll
from qbcd.sites.lake.range_sizes import with_counts
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.schema import Fields, row_fields
from qbcd.sites.lake.stage import check_values, range_frame, replica_rows, stable_values, stage_sums, write_stage
from qbcd.sites.refusals import check_key
from qbcd.state import StoredRange
from qbcd.strategies import LakeTs
from qbcd.watermark import Window

SETTLED = (("shown", "int"), ("settled", "int"))  # the restriction holds for the row; it is before the watermark


def fetch_settled(poll: TablePoll, strategy: LakeTs, before: Window) -> FileSet:
    """Fetch all rows; each shows whether it is before the watermark."""
    poll.context.progress(f"fetching all rows of {counted(len(poll.due.known), 'range')}")
    fields, typed = _fields(poll), poll.settings.typed
    rows = range_frame(
        poll, poll.due.known, lambda some, part: strategy.settled_images(some, before, typed=typed), fields
    )
    return write_stage(poll, rows, fields)


def settled_rows(poll: LakePoll, fetched: FileSet) -> Rows:
    """Return the rows that `fetch_settled` has read."""
    return poll.context.files.read(poll.engine, _fields(poll), fetched)


def _fields(poll: LakePoll) -> Fields:
    strategy = poll.strategy
    return row_fields(strategy.plan, typed=poll.settings.typed, extra=(*strategy.extra, *SETTLED))


def fetch_all(poll: TablePoll, strategy: LakeTs) -> Step:
    """Fetch the rows of all ranges."""
    known, rows = poll.due.known, _rows(poll.due.known)
    check_key(poll.snapshot.session, strategy, None, poll.plan)
    poll.context.progress("audit: comparing all rows with the replica")
    settled = strategy.watermarked.window(None, poll.leased.checkpoint.watermark["at"])
    if not settled:
        return Unchanged(poll, Cost(rows, 0, 0, len(known), 0))
    with poll.on_engine(rows) as work:
        return AuditStep(poll, fetch_settled(work, strategy, settled))


def _rows(known: Sequence[StoredRange]) -> int:
    return sum(r.rows for r in known)


class AuditStep(LakeStep):
    """Fix the replica's rows; the events have reason `audit`."""

    def __init__(self, poll: TablePoll, fetched: FileSet) -> None:
        super().__init__(poll, fetched)
        self.stage_files = fetched
        self.before = self.size = _rows(poll.due.known)
        self.stage: Rows
        self.old: Rows

    @override
    def write(self) -> WrittenBatch:
        poll, about = self.poll, 2 * self.before
        self.stage = algebra.gathered(settled_rows(poll, self.stage_files), about)
        check_values(poll, self.stage)
        self.old = replica_rows(poll, poll.due.known)
        found = algebra.settled_differences(self.old, self.stage, poll.plan, stable_values(poll))
        changes = algebra.with_reason(found, AUDIT)
        return write_batch(poll, changes, about)

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        # a range's checksum covers the keys that the replica has in it after the batch
        poll, column = self.poll, self.poll.strategy.summed
        sums = stage_sums(poll, algebra.settled_keys(self.old, self.stage, column))
        return RangeChanges(with_counts(poll.context.stream, poll.due.known, sums))

    @override
    def cost(self) -> Cost:
        return Cost(self.before, self.before, self.stage_files.size, len(self.poll.due.known), 0)
