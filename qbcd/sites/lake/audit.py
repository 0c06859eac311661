"""Compare a lake replica with its source up to the watermark, for audits and for `verify`.

All rows are fetched and compared by value, since polls and audits must not share digests that may be equal by chance.
Rows past the watermark are fetched too, regardless of the restriction, because differences of their keys are not final
yet (docs/design/protocol.md#rule-19).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from qbcd import hooks
from qbcd.model import Cost
from qbcd.model.checkpoint import Entry
from qbcd.sites.checkpoint import AUDIT
from qbcd.sites.lake.commit import PollStep, RangeChanges, WrittenBatch, commit_step, renewed_entries, write_batch
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows
from qbcd.sites.lake.poll import LakePoll, TablePoll, open_snapshot
from qbcd.sites.lake.range_sizes import with_counts
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import travels_of
from qbcd.sites.lake.replica.schema import Fields, row_fields
from qbcd.sites.lake.stage import check_values, range_frame, replica_rows, write_stage
from qbcd.sites.refusals import check_key
from qbcd.sites.values import Detection
from qbcd.state import StoredRange
from qbcd.watermark import Window
from qbcd.wording import counted

SETTLED = (("shown", "int"), ("settled", "int"))  # the restriction holds for the row; it is before the watermark


def stable_values(poll: LakePoll) -> list[int]:
    """Return the positions of the captured columns whose texts stay equal while their values are unchanged."""
    expressions = poll.context.source.connector.expressions
    return [i for i, c in enumerate(poll.plan.captured) if expressions.has_stable_text(c)]


def fetch_settled(poll: TablePoll, asked: Sequence[StoredRange], before: Window) -> FileSet:
    """Fetch the rows of `asked`; each shows whether it is before the watermark."""
    poll.context.progress(f"fetching all rows of {counted(len(asked), 'range')}")
    strategy, typed = poll.timestamps, poll.settings.typed
    fields = _fields(poll)
    rows = range_frame(poll, asked, lambda some, part: strategy.settled_images(some, before, typed=typed), fields)
    return write_stage(poll, rows, fields)


def settled_rows(poll: LakePoll, fetched: FileSet) -> Rows:
    """Return the rows that `fetch_settled` has read."""
    return poll.context.files.read(poll.engine, _fields(poll), fetched)


def _fields(poll: LakePoll) -> Fields:
    strategy = poll.strategy
    return row_fields(travels_of(strategy.plan), typed=poll.settings.typed, extra=(*strategy.extra, *SETTLED))


def audit(poll: LakePoll, began: float) -> Detection:
    """Do one audit in one step.

    The interval to the next starts at `began`, in seconds of the store's clock.
    """
    started, context, leased = time.monotonic(), poll.context, poll.leased
    known = poll.known_ranges()
    before = sum(r.rows for r in known)
    with open_snapshot(poll) as snapshot:
        of_table = replace(poll, plan=poll.plan.on(snapshot.table)).at(snapshot, DueRanges.every(known))
        check_key(snapshot.session, poll.strategy, None, of_table.plan)
        context.progress("audit: comparing all rows with the replica")
        settled = poll.timestamps.watermarked.window(None, leased.checkpoint.watermark["at"])
        fetched = None
        if settled:
            with of_table.on_engine(before) as work:
                fetched = fetch_settled(work, known, settled)
    hooks.reach("after_fetch")
    base = {**leased.row.checkpoint, Entry.AUDITED: began}
    if fetched is None:
        commit_step(poll, None, base)
        return Detection(None, Cost(before, 0, 0, len(known), 0, time.monotonic() - started))
    with of_table.on_engine(before) as work:
        step = AuditStep(work, known, fetched)
        header = step.run(lambda found: {**base, **renewed_entries(of_table, found)})
    cost = Cost(before, before, fetched.size, len(known), 0, time.monotonic() - started)
    return Detection(header, cost, tuple(leased.notes))


class AuditStep(PollStep[TablePoll]):
    """Fix the replica's rows of `known` ranges; the events have reason `audit`."""

    def __init__(self, poll: TablePoll, known: Sequence[StoredRange], fetched: FileSet) -> None:
        super().__init__(poll, fetched)
        self.known, self.stage_files = known, fetched
        self.stage: Rows
        self.old: Rows

    @override
    def write(self) -> WrittenBatch:
        poll, about = self.poll, 2 * sum(r.rows for r in self.known)
        self.stage = algebra.gathered(settled_rows(poll, self.stage_files), about)
        check_values(poll, self.stage)
        self.old = replica_rows(poll, self.known)
        found = algebra.settled_differences(self.old, self.stage, poll.plan, stable_values(poll))
        changes = algebra.with_reason(found, AUDIT)
        return write_batch(poll, changes, about)

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        # a range's checksum covers the keys that the replica has in it after the batch
        poll, column = self.poll, self.poll.strategy.summed
        sums = algebra.sums(poll.engine, algebra.settled_keys(self.old, self.stage, column), column)
        return RangeChanges(with_counts(poll.context.stream, self.known, sums))
