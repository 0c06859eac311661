"""Poll by ranges: compare and apply key ranges in short transactions (ID, TLCS, sweeps).

    choose ranges -> steps of about `target` each -> split and merge ranges -> seal

A pass is one rotation over all ranges. It continues after a stop or a kill, because each step commits the ranges that
it visited (paper, figure 7; docs/paper.md#c16 to #c19).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from qbcd.catalog.source import Session
from qbcd.model import BatchHeader
from qbcd.model.checkpoint import Entry
from qbcd.ranges import schedule
from qbcd.ranges.schedule import Pass
from qbcd.sites.database import open_batch, range_sizes
from qbcd.sites.database.commit import Counts, StepRequest, run_step
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.guards import Deletes, check_guards
from qbcd.sites.refusals import check_null_keys
from qbcd.state import StoredRange
from qbcd.strategies import ByRanges, OutboxSlice

SEAL_AT = 100_000  # events
TARGET = timedelta(milliseconds=500)
FIRST_ROWS = 10_000.0  # of the first step: no duration is known yet


@dataclass
class Visited:
    """Totals of a poll by ranges."""

    ranges: int = 0
    dirty: int = 0
    rows: int = 0
    accepted_source: bool = False


class RangePoll:
    """One poll by ranges.

    Attributes:
        state: The pass in progress, as of the last step.
        done: Totals so far.
    """

    def __init__(self, poll: DatabasePoll, strategy: ByRanges) -> None:
        self.poll, self.strategy = poll, strategy
        self.context, self.leased = poll.context, poll.leased
        self.state = Pass.from_checkpoint(poll.leased.checkpoint.open_pass)
        self.done = Visited()

    def batches(self) -> Iterator[BatchHeader]:
        """Visit the ranges that are due; yield each batch when it is sealed."""
        known, now = self._known()
        if not known:  # sweeps were configured after prepare
            range_sizes.rebuild(self.poll, self.strategy)
            known, now = self._known()
        self.state = self._begin_pass(known, now)
        due = self._due(known, now)
        self.done.ranges, began = len(due), time.monotonic()
        for _ in self._steps(due):
            opened = open_batch.open_events(self.leased.checkpoint)
            late = time.monotonic() - began >= self.poll.settings.config.every.total_seconds()
            if opened and (opened >= SEAL_AT or late):
                began = time.monotonic()
                yield from self._seal()
        if due:
            range_sizes.resize(self.poll, self.strategy, {r.range_id for r in due})
        yield from self._seal()

    def _known(self) -> tuple[list[StoredRange], float]:
        """Return the stream's ranges, and the store's clock."""
        with self.context.reading() as conn:
            return self.context.store.ranges(conn, self.context.stream), self.context.store.now(conn)

    def _seal(self) -> Iterator[BatchHeader]:
        header = open_batch.seal(self.poll)
        if header:
            yield header

    # -- choice of ranges
    # ------------------------------------------------------------------------------------------------
    def _begin_pass(self, known: Sequence[StoredRange], now: float) -> Pass:
        """Return the pass in progress, or a new one after a check of key and size of the table.

        Raises:
            UnsafeKey: The key is NULL in some rows.
            GuardTripped: Too many rows are missing.
        """
        rows = self.leased.checkpoint.rows
        state = schedule.begun(self.state, _visits(known, now), now=now, rows=rows)
        if state is self.state:
            return state
        strategy, plan = self.strategy, self.poll.plan
        with self.context.source.read(self.context.stream) as session:
            check_null_keys(session, strategy, plan)
            # A row that has left the restriction is missing from the count, and no sweep deletes it.
            uncountable = strategy.sweeps and plan.where
            if strategy.keeps == "nothing" or not strategy.reports_deletes or not rows or uncountable:
                return state
            count = int(session.one(strategy.row_count()).n)
        if count < rows:
            check_guards(self.poll, deletes=rows - count, before=rows, after=count)
        return state

    def _due(self, known: Sequence[StoredRange], now: float) -> list[StoredRange]:
        plan = self.poll.plan
        overdue = schedule.overdue(plan.option("max_staleness"), self.poll.settings.config.every)
        per_poll = plan.option("per_poll")
        chosen = schedule.chosen(_visits(known, now), self.state, now=now, per_poll=per_poll, overdue=overdue)
        ids = set(chosen)
        return [r for r in known if r.range_id in ids]

    # -- the steps ---------------------------------------------------------------------------------------------------
    def _steps(self, due: Sequence[StoredRange]) -> Iterator[None]:
        """Visit `due` in steps of about the configured duration; yield after each."""
        plan = self.poll.plan
        left, rows = list(due), FIRST_ROWS
        rate = plan.option("per_second")
        target: timedelta = plan.option("target") or TARGET
        while left and not self.context.stopping():
            step = left[:1] if rate else schedule.next_step(left, rows)
            left = left[len(step) :]
            began = time.monotonic()
            self.context.progress(f"comparing ranges, {len(left):,} left")
            spent = self._step(step)
            if rate:
                self.context.rest(1 / float(rate) - (time.monotonic() - began))
            else:
                visited = float(max(1, sum(r.rows for r in step)))
                rows = schedule.paced(visited, seconds=spent, target=target.total_seconds())
                if left:
                    self.context.rest(float(plan.option("nice_ratio") or 0) * (time.monotonic() - began))
            yield

    def _step(self, step: Sequence[StoredRange]) -> float:
        """Compare and apply adjacent ranges in one transaction.

        Returns:
            The seconds that their rows took.
        """
        within, state = schedule.as_one(step), self.state
        adopt = self.strategy.adopt(within)

        def finish(session: Session, part: OutboxSlice, counts: Counts) -> Mapping[str, Any]:
            return {Entry.PASS: self._visited(session, step, part, counts, adopted=bool(adopt)).as_json()}

        request = StepRequest(
            [lambda part: self.strategy.differences(part, within)],
            adopt=adopt,
            within=within,
            keep_open=True,
            finish=finish,
            guarded=Deletes(state.deletes, state.accepted, state.rows),
        )
        result = run_step(self.poll, request)
        self.state = Pass.from_checkpoint(self.leased.checkpoint.open_pass)
        self.done.rows += within.rows
        self.done.accepted_source |= result.accepted_source
        return result.seconds

    def _visited(
        self, session: Session, step: Sequence[StoredRange], part: OutboxSlice, counts: Counts, *, adopted: bool
    ) -> Pass:
        """Store the visit with the ranges of a step, and return the pass after it."""
        state, confirmed = self.state, self.leased.confirmed
        events, growth = self._events(session, part, step) if counts else ({}, {})
        changed = {r.range_id: events.get(r.range_id, 0) for r in step}
        self.done.dirty += sum(n > 0 for n in changed.values())
        now = max(self.context.store.now(session.connection), state.began)
        counted = self._counted(session, step) if adopted else {}
        visited = [
            replace(
                r,
                rows=counted.get(r.range_id, max(0, r.rows + growth.get(r.range_id, 0))),
                last_visited=now,
                moved=r.moved + changed[r.range_id],
            )
            for r in step
        ]
        self.context.store.update_ranges(session.connection, self.context.stream, visited)
        moved = [r for r in visited if changed[r.range_id] and r.pages is not None]
        self.context.store.set_pages(session.connection, self.context.stream, moved)
        accepted = max(state.accepted, confirmed.amount if confirmed else 0)
        return replace(state.visited(changed), deletes=state.deletes + counts.get("d", 0), accepted=accepted)

    def _counted(self, session: Session, step: Sequence[StoredRange]) -> Mapping[int, int]:
        """Return the replica's rows by range, since it may have adopted rows without an event."""
        return {int(r.range_id): int(r.n) for r in session.rows(self.strategy.counted(step))}

    def _events(
        self, session: Session, part: OutboxSlice, step: Sequence[StoredRange]
    ) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """Return, by range, the events in a slice of the outbox and the growth in rows."""
        events: dict[int, int] = {}
        growth: dict[int, int] = {}
        for statement in self.strategy.per_range(part, step):
            for r in session.rows(statement):
                events[r.range_id] = events.get(r.range_id, 0) + int(r.n)
                growth[r.range_id] = growth.get(r.range_id, 0) + int(r.net)
        return events, growth


def _visits(known: Sequence[StoredRange], now: float) -> dict[int, float]:
    return schedule.seen_by({r.range_id: r.last_visited for r in known}, now)
