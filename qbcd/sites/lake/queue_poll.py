"""Polls of TLCS in the lake wing with digests in the source: read the queue of rows that differ.

    find rows that differ into the queue -> read it -> compare with the replica, commit -> advance the digests

Only changed rows travel. The order makes each stop harmless: `qbcd.sites.lake.digest_queue` says how.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from typing_extensions import override

from qbcd import hooks
from qbcd.catalog.capture_change import change_of
from qbcd.catalog.drift import check_server
from qbcd.model import Cost
from qbcd.model.checkpoint import Entry
from qbcd.sites.checkpoint import due
from qbcd.sites.lake.commit import PollStep, RangeChanges, WrittenBatch, commit_step, renewed_entries, write_with_growth
from qbcd.sites.lake.digest_queue import KEY_FIELDS, DigestQueue
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import grown
from qbcd.sites.lake.poll import LakePoll, TablePoll, checkpoint_entries, open_snapshot
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.stage import check_values, replica_rows, staged_rows
from qbcd.sites.lake.table_poll import poll_table
from qbcd.sites.values import Detection
from qbcd.state import StoredRange
from qbcd.strategies import QueuedTlcs
from qbcd.wording import counted

ALL_ROWS = (
    "the digests in the source did not show the last commit of this stream (a poll that was stopped, or a restored "
    "state): all rows were compared"
)


def begin_digests(poll: LakePoll) -> dict[str, Any]:
    """Create the tables of a baseline, without digests; return its checkpoint's entry.

    It does nothing, and the result is empty, for other strategies.
    """
    if not isinstance(poll.strategy, QueuedTlcs):
        return {}
    queue = DigestQueue(poll)
    queue.create()
    queue.restart()
    return {Entry.DIGESTS: queue.new_commit()}


def settle_digests(poll: LakePoll) -> None:
    """Store in the source that its digests show the baseline, which is committed."""
    if isinstance(poll.strategy, QueuedTlcs):
        queue = DigestQueue(poll)
        queue.settle(queue.committed)


def poll_queue(poll: LakePoll) -> Iterator[Detection]:
    """Find changed rows by the digests in the source.

    If these prove nothing, or if an audit is due, compare all rows.
    """
    queue = DigestQueue(poll)
    change = change_of(poll.leased.row.checkpoint, poll.plan)
    if change.retyped:
        queue.widen(change)
    if _changed_server(poll) or change.columns or change.where:
        yield _compare_all(poll, queue, {})
    elif not queue.is_current():
        found = _compare_all(poll, queue, {})
        yield replace(found, warnings=(*found.warnings, ALL_ROWS))
    else:
        yield _poll(poll, queue)
    if began := due(poll):
        yield _compare_all(poll, queue, {Entry.AUDITED: began})


def _changed_server(poll: LakePoll) -> bool:
    context, accept = poll.context, poll.settings.accept_source
    with context.source.read(context.stream) as session:
        return check_server(context.source, session, context.stream, poll.leased.row.checkpoint, accept=accept)[1]


def _compare_all(poll: LakePoll, queue: DigestQueue, entries: Mapping[str, Any]) -> Detection:
    """Compare every row with the replica, and store all digests again."""
    queue.restart()
    commit = queue.new_commit()
    entries = {**entries, Entry.DIGESTS: commit}
    found = poll_table(poll, entries, audit=True)
    if queue.committed != commit:  # there was nothing else to commit
        commit_step(poll, None, {**poll.leased.row.checkpoint, **entries})
    queue.settle(commit)
    return found


def _poll(poll: LakePoll, queue: DigestQueue) -> Detection:
    started, leased, context = time.monotonic(), poll.leased, poll.context
    known, commit = poll.known_ranges(), queue.new_commit()
    scanned = sum(r.rows for r in known)
    context.progress(f"comparing the digests of about {counted(scanned, 'row')} in the source")
    found = queue.find(known, commit)
    if not found:
        if change_of(leased.row.checkpoint, poll.plan):  # no value changed with the type
            with open_snapshot(poll) as snapshot:
                entries = checkpoint_entries(poll, snapshot, leased.checkpoint.rows)
            commit_step(poll, None, {**leased.row.checkpoint, **entries})
        return Detection(None, Cost(scanned, 0, 0, len(known), 0, time.monotonic() - started))
    with open_snapshot(poll) as snapshot:
        of_queue = replace(poll, plan=poll.plan.on(snapshot.table)).at(snapshot, DueRanges.every(known))
        context.progress(f"fetching {counted(found, 'changed row')}")
        with of_queue.on_engine(found) as work:
            rows, keys = queue.read(work, known), queue.read_keys(work, known)
    hooks.reach("after_fetch")
    with of_queue.on_engine(found) as work:
        step = QueueStep(work, rows, keys)
        entries = {Entry.DIGESTS: commit}
        header = step.run(lambda batch: {**leased.row.checkpoint, **renewed_entries(of_queue, batch), **entries})
    queue.advance(commit)
    spent = time.monotonic() - started
    cost = Cost(scanned, found, rows.size, len(known), len(step.touched), spent)
    return Detection(header, cost, tuple(leased.notes))


class QueueStep(PollStep[TablePoll]):
    """Compare the rows of the queue with the replica's rows of the same keys."""

    def __init__(self, poll: TablePoll, rows: FileSet, keys: FileSet) -> None:
        super().__init__(poll, rows, keys)
        self.row_files, self.key_files = rows, keys
        self.touched: list[StoredRange] = []
        self.growth: dict[int, tuple[int, int]] = {}

    @override
    def write(self) -> WrittenBatch:
        poll, engine = self.poll, self.poll.engine
        keys = poll.context.files.read(engine, KEY_FIELDS, self.key_files)
        sizes = algebra.sums(engine, keys)
        self.touched = [r for r in poll.due.known if r.range_id in sizes]
        about = sum(n for n, _ in sizes.values())
        stage = algebra.gathered(staged_rows(poll, self.row_files), about)
        check_values(poll, stage)
        old = algebra.of_keys(replica_rows(poll, self.touched), keys)
        found, self.growth = write_with_growth(poll, algebra.differences(old, stage, poll.plan, by="digest"), about)
        return found

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        return RangeChanges(grown(self.touched, self.growth))
