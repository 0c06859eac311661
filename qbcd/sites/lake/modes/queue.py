"""Polls of TLCS in the lake wing with digests in the source.

A poll reads the queue of rows that differ:

    find rows that differ into the queue -> read it -> compare with the replica, commit -> advance the digests

Only changed rows travel. The order makes each stop harmless: `qbcd.sites.lake.digest_queue` says how.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from typing_extensions import override

from qbcd.catalog.capture_change import change_of
from qbcd.catalog.source import Session
from qbcd.common.wording import counted
from qbcd.model import Cost, KeyRange
from qbcd.model.checkpoint import Entry
from qbcd.sites import eligibility, own_tables
from qbcd.sites.checkpoint import due
from qbcd.sites.eligibility import Place
from qbcd.sites.lake import digest_queue
from qbcd.sites.lake.commit import RangeChanges, WrittenBatch, commit_step, write_with_growth
from qbcd.sites.lake.digest_queue import KEY_FIELDS, DigestQueue
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import grown
from qbcd.sites.lake.modes.base import LakeMode, LakeStep, Step, one_step
from qbcd.sites.lake.modes.table import poll_table
from qbcd.sites.lake.poll import LakePoll, TablePoll, checkpoint_entries, open_snapshot
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.stage import check_values, replica_rows, staged_rows
from qbcd.sites.source_changes import server_changed
from qbcd.sites.values import Detection, ExplainedStatement, Settings
from qbcd.state import StoredRange, StreamRow
from qbcd.strategies import QueuedTlcs

ALL_ROWS = (
    "the digests in the source did not show the last commit of this stream (a poll that was stopped, or a restored "
    "state): all rows were compared"
)


class QueueMode(LakeMode[QueuedTlcs]):
    """The mode of polls that find changed rows by the digests in the source.

    If the digests prove nothing, a poll compares all rows.
    """

    @override
    def refuse_unfit(self, session: Session, place: Place) -> None:
        finder = self.strategy.finder
        eligibility.refuse_missing_rights(self.context.source, session, finder, place)
        if self.plan.table.kind in eligibility.STORED:
            eligibility.refuse_unordered_key(self.context.source, session, finder, place)

    @override
    def remarks(self, session: Session) -> list[str]:
        return eligibility.why_not_incremental(self.strategy)

    @override
    def ddl(self) -> list[str]:
        return digest_queue.ddl(self.context, self.plan, self.strategy)

    @override
    def has_tables(self) -> bool:
        with self.context.source.read(self.context.stream) as session:
            return own_tables.exist(self.context.source, session.connection, self.strategy)

    @override
    def entries_before_baseline(self, poll: LakePoll) -> dict[str, Any]:
        """Create the tables of a baseline, without digests."""
        queue = DigestQueue(poll, self.strategy)
        queue.create()
        commit = queue.new_commit()
        queue.restart(commit)
        return {Entry.DIGESTS: commit}

    @override
    def reading(self, poll: LakePoll, entries: Mapping[str, Any]) -> LakePoll:
        """Return the poll whose rows travel through the queue.

        The digests are then those of these very rows.
        """
        return replace(poll, reader=partial(DigestQueue(poll, self.strategy).fetch_ranges, entries[Entry.DIGESTS]))

    @override
    def complete_baseline(self, poll: LakePoll) -> None:
        """Store in the source that its digests show the baseline."""
        queue = DigestQueue(poll, self.strategy)
        queue.settle(queue.committed)

    @override
    def _poll(self, poll: LakePoll) -> Iterator[Detection]:
        queue = DigestQueue(poll, self.strategy)
        change = change_of(poll.leased.row.checkpoint, poll.plan)
        if change.retyped:
            queue.widen(change)
        if server_changed(poll) or change.columns or change.where:
            yield self._compare_all(poll, queue, {})
        elif not queue.is_current():
            found = self._compare_all(poll, queue, {})
            yield replace(found, warnings=(*found.warnings, ALL_ROWS))
        else:
            yield _poll_queue(poll, queue)
        if began := due(poll):
            yield self._compare_all(poll, queue, {Entry.AUDITED: began})

    def _compare_all(self, poll: LakePoll, queue: DigestQueue, entries: Mapping[str, Any]) -> Detection:
        """Compare every row with the replica, and store all digests again."""
        commit = queue.new_commit()
        queue.restart(commit)
        entries = {**entries, Entry.DIGESTS: commit}
        found = poll_table(self.reading(poll, entries), entries, audit=True)
        queue.settle(commit)
        return found

    @override
    def explain(self, settings: Settings, row: StreamRow | None, known: Sequence[KeyRange]) -> list[ExplainedStatement]:
        return digest_queue.explain(self.context.source.name, self.strategy, known, typed=settings.typed)


def _poll_queue(poll: LakePoll, queue: DigestQueue) -> Detection:
    started, leased, context = time.monotonic(), poll.leased, poll.context
    known, commit = poll.known_ranges(), queue.new_commit()
    scanned = sum(r.rows for r in known)
    context.progress(f"comparing the digests of about {counted(scanned, 'row')} in the source")
    found = queue.find(known, commit)
    if found:
        step = one_step(
            poll, partial(fetch_queue, queue=queue, commit=commit, rows=found), {Entry.DIGESTS: commit}, known
        )
        queue.advance(commit)
        return replace(step, cost=replace(step.cost, seconds=time.monotonic() - started))
    if change_of(leased.row.checkpoint, poll.plan):  # no value changed with the type
        with open_snapshot(poll) as snapshot:
            entries = checkpoint_entries(poll, snapshot, leased.checkpoint.rows)
        commit_step(poll, None, {**leased.row.checkpoint, **entries})
    return Detection(None, Cost(scanned, 0, 0, len(known), 0, time.monotonic() - started))


def fetch_queue(poll: TablePoll, queue: DigestQueue, commit: str, rows: int) -> Step:
    """Fetch the rows and the keys of the queue."""
    poll.context.progress(f"fetching {counted(rows, 'changed row')}")
    with poll.on_engine(rows) as work:
        step = QueueStep(poll, rows, queue.read(work, poll.due.known), queue.read_keys(work, poll.due.known))
        queue.refuse_overtaken(commit)
    return step


class QueueStep(LakeStep):
    """Compare the rows of the queue with the replica's rows of the same keys."""

    def __init__(self, poll: TablePoll, found: int, rows: FileSet, keys: FileSet) -> None:
        super().__init__(poll, rows, keys)
        self.row_files, self.key_files = rows, keys
        self.found = self.size = found
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

    @override
    def cost(self) -> Cost:
        known = self.poll.due.known
        return Cost(sum(r.rows for r in known), self.found, self.row_files.size, len(known), len(self.touched))
