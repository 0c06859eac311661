"""Compare a lake replica with its source up to the watermark, for audits and for `verify`.

Ranges whose row digests differ from the replica's own rows are fetched. Rows past the watermark are fetched too,
regardless of the restriction, because differences of their keys are not final yet (docs/design/protocol.md#rule-19).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qbcd import hooks
from qbcd.model import Cost
from qbcd.model.checkpoint import Entry
from qbcd.ranges import partition
from qbcd.sites.checkpoint import AUDIT
from qbcd.sites.lake.checksums import checksums
from qbcd.sites.lake.commit import PollStep, RangeChanges, WrittenBatch, commit_step, renewed_entries, write_batch
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.engines.spark import diff
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

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SETTLED = (("shown", "int"), ("settled", "int"))  # the restriction holds for the row; it is before the watermark


def suspects(poll: TablePoll) -> list[StoredRange]:
    """Return the ranges, with the source's counts, whose rows differ from the replica's files."""
    known = poll.due.known
    now = checksums(replace(poll, strategy=poll.strategy.row_checksums()), known)
    own = with_counts(poll.context.stream, known, diff.sums(replica_rows(poll, known)))
    return partition.differing(own, now)


def fetch_settled(poll: TablePoll, asked: Sequence[StoredRange], before: Window) -> FileSet:
    """Fetch the rows of `asked`; each shows whether it is before the watermark."""
    poll.context.progress(f"fetching {counted(len(asked), 'dirty range')}")
    strategy, typed = poll.timestamps, poll.settings.typed
    rows = range_frame(poll, asked, lambda some, part: strategy.settled_images(some, before, typed=typed))
    return write_stage(poll, rows, _fields(poll))


def settled_rows(poll: LakePoll, fetched: FileSet) -> DataFrame:
    """Return the rows that `fetch_settled` has read."""
    return poll.context.files.read(poll.context.spark.get(), _fields(poll), fetched)


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
        context.progress("audit: comparing digests with those of the replica")
        settled = poll.timestamps.watermarked.window(None, leased.checkpoint.watermark["at"])
        dirty = suspects(of_table) if settled else []
        fetched = fetch_settled(of_table, dirty, settled) if dirty and settled else None
    hooks.reach("after_fetch")
    base = {**leased.row.checkpoint, Entry.AUDITED: began}
    if fetched is None:
        commit_step(poll, None, base)
        return Detection(None, Cost(before, 0, 0, len(known), 0, time.monotonic() - started))
    step = AuditStep(of_table, dirty, fetched)
    header = step.run(lambda found: {**base, **renewed_entries(of_table, found)})
    rows, spent = sum(r.rows for r in dirty), time.monotonic() - started
    cost = Cost(before, rows, fetched.size, len(known), len(dirty), spent)
    return Detection(header, cost, tuple(leased.notes))


class AuditStep(PollStep):
    """Fix the replica's rows of dirty ranges; the events have reason `audit`."""

    def __init__(self, poll: TablePoll, dirty: Sequence[StoredRange], fetched: FileSet) -> None:
        super().__init__(poll, fetched)
        self.dirty, self.stage_files = dirty, fetched
        self.stage: DataFrame
        self.old: DataFrame

    def write(self) -> WrittenBatch:
        poll, about = self.poll, 2 * sum(r.rows for r in self.dirty)
        self.stage = diff.gathered(settled_rows(poll, self.stage_files), about)
        check_values(poll, self.stage)
        self.old = replica_rows(poll, self.dirty)
        changes = diff.with_reason(diff.settled_differences(self.old, self.stage, poll.plan), AUDIT)
        return write_batch(poll, changes, about)

    def ranges(self, found: WrittenBatch) -> RangeChanges:
        # a range's checksum covers the keys that the replica has in it after the batch
        poll, column = self.poll, self.poll.strategy.summed
        sums = diff.sums(diff.settled_keys(self.old, self.stage, column), column)
        return RangeChanges(with_counts(poll.context.stream, self.dirty, sums))
