"""Range by range: a poll visits some key ranges in short transactions, each compared and applied by itself (ID, TLCS).

    choose ranges -> steps of about `target` each -> cut and join ranges -> seal

A pass is one round over all ranges; it resumes where it was stopped or killed, because each step commits which ranges
it visited (paper, figure 7; docs/paper.md#c16 to #c19).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from qbcd.catalog.source import Session
from qbcd.model import BatchHeader, StreamPlan
from qbcd.ranges import schedule
from qbcd.ranges.schedule import Pass
from qbcd.sites.database import open_batch, range_sizes
from qbcd.sites.database import step as wing_step
from qbcd.sites.database.step import Counts, StepRequest
from qbcd.sites.guards import check_guards
from qbcd.sites.poll import Poll
from qbcd.sites.refusals import check_null_keys
from qbcd.state import StoredRange
from qbcd.strategies import ByRanges, InSource, OutboxSlice, Watermarked

if TYPE_CHECKING:
    from qbcd.sites.database.context import DatabaseContext
    from qbcd.sites.values import LeasedStream, Settings

SEAL_AT = 100_000  # events
TARGET = timedelta(milliseconds=500)
FIRST_ROWS = 10_000.0  # of the first step, before it is known how long one takes


@dataclass
class Visited:
    """What a poll by ranges did."""

    ranges: int = 0
    dirty: int = 0
    rows: int = 0
    accepted_source: bool = False


class RangePoll:
    """One poll by ranges.

    Args:
        site: Where.
        plan: The stream's plan.
        settings: What the user says about polls.
        held: The stream, under its lease.
    """

    def __init__(self, context: DatabaseContext, plan: StreamPlan, settings: Settings, held: LeasedStream) -> None:
        self.context, self.plan, self.settings, self.held = context, plan, settings, held
        strategy = context.strategy(plan)
        assert isinstance(strategy, ByRanges)
        self.strategy = strategy
        self.state = Pass.from_checkpoint(held.row.checkpoint.get("pass"))
        self.done = Visited()

    def batches(self) -> Iterator[BatchHeader]:
        """Visits the ranges whose turn it is; yields each batch when it is sealed."""
        known, now = self._known()
        if not known:  # a sweep that the user began after prepare
            range_sizes.recut(self.context, self.strategy, self.held)
            known, now = self._known()
        self.state = self._begun(known, now)
        due = self._due(known, now)
        self.done.ranges, began = len(due), time.monotonic()
        for _ in self._steps(due):
            opened = open_batch.open_batch(self.held)
            late = time.monotonic() - began >= self.settings.every.total_seconds()
            if opened and (opened.size >= SEAL_AT or late):
                began = time.monotonic()
                yield from self._sealed()
        if due:
            range_sizes.resize(self.context, self.strategy, self.held)
        yield from self._sealed()

    def _known(self) -> tuple[list[StoredRange], float]:
        """The stream's ranges, and the store's clock."""
        with self.context.reading() as conn:
            return self.context.store.ranges(conn, self.context.stream), self.context.store.now(conn)

    def _sealed(self) -> Iterator[BatchHeader]:
        header = open_batch.seal(self.context, self.settings, self.held)
        if header:
            yield header

    # -- which ranges ------------------------------------------------------------------------------------------------
    def _begun(self, known: Sequence[StoredRange], now: float) -> Pass:
        """The pass to go on with, or a new one, before which the guards look at the table's size and its keys."""
        rows = int(self.held.row.checkpoint["rows"])
        fresh = schedule.begun(self.state, _visits(known, now), now=now, rows=rows)
        if fresh is self.state:
            return fresh
        with self.context.source.read(self.context.stream) as session:
            check_null_keys(session, self.strategy, self.plan)
            swept = (
                isinstance(self.strategy, Watermarked) and self.plan.where
            )  # no row is swept for having left `where`
            if self.strategy.keeps == "nothing" or not self.strategy.tells_gone or not rows or swept:
                return fresh
            count = int(session.one(self.strategy.row_count()).n)
        lost = max(0, rows - count)
        if lost:
            poll = Poll(self.context, self.plan, self.strategy, self.settings, self.held)
            check_guards(poll, deletes=lost, before=rows, after=count)
        return fresh

    def _due(self, known: Sequence[StoredRange], now: float) -> list[StoredRange]:
        overdue = schedule.overdue(self.plan.option("max_staleness"), self.settings.every)
        visits = _visits(known, now)
        per_poll = self.plan.option("per_poll")
        ids = set(schedule.chosen(visits, self.state, now=now, per_poll=per_poll, overdue=overdue))
        return [r for r in known if r.range_id in ids]

    # -- the steps ---------------------------------------------------------------------------------------------------
    def _steps(self, due: Sequence[StoredRange]) -> Iterator[None]:
        """Visits `due` in steps of the wanted length; yields after each."""
        left, rows = list(due), FIRST_ROWS
        rate = self.plan.option("per_second")
        target: timedelta = self.plan.option("target") or TARGET
        while left and not self.context.stopping():
            step = left[:1] if rate else schedule.next_step(left, rows)
            left = left[len(step) :]
            began = time.monotonic()
            self.context.progress(f"comparing ranges, {len(left):,} to go")
            spent = self._step(step)
            if rate:
                self.context.rest(1 / float(rate) - (time.monotonic() - began))
            else:
                held = float(max(1, sum(r.rows for r in step)))
                rows = schedule.paced(held, seconds=spent, target=target.total_seconds())
                if left:
                    self.context.rest(float(self.plan.option("nice_ratio") or 0) * (time.monotonic() - began))
            yield

    def _step(self, step: Sequence[StoredRange]) -> float:
        """One transaction: compare, apply, remember the visit; gives the seconds that its rows took."""
        within, state = schedule.as_one(step), self.state

        def follow(session: Session, strategy: InSource, part: OutboxSlice, counts: Counts) -> Mapping[str, Any]:
            events, grown = self._events(session, part, step) if counts else ({}, {})
            found = {r.range_id: events.get(r.range_id, 0) for r in step}
            self.done.dirty += sum(n > 0 for n in found.values())
            now = max(self.context.store.now(session.connection), state.began)
            counted = self._counted(session, step) if look.adopt else {}
            visited = [
                replace(r, rows=counted.get(r.range_id, max(0, r.rows + grown.get(r.range_id, 0))), last_visited=now)
                for r in step
            ]
            self.context.store.update_ranges(session.connection, self.context.stream, visited)
            accepted = max(state.accepted, self.held.confirmed.amount if self.held.confirmed else 0)
            after = replace(state.visited(found), deletes=state.deletes + counts.get("d", 0), accepted=accepted)
            return {"pass": after.as_json()}

        look = StepRequest(
            [lambda strategy, part: strategy.differences(part, within)],
            adopt=self.strategy.adopt(within),
            within=within,
            keep_open=True,
            follow=follow,
            guarded=(state.deletes, state.accepted, state.rows),
        )
        taken = wing_step.run_step(self.context, self.plan, self.settings, self.held, look)
        self.state = Pass.from_checkpoint(self.held.row.checkpoint["pass"])
        self.done.rows += within.rows
        self.done.accepted_source |= taken.accepted_source
        return taken.seconds

    def _counted(self, session: Session, step: Sequence[StoredRange]) -> Mapping[int, int]:
        """By range, the rows of the replica, where it took some in without an event."""
        return {int(r.range_id): int(r.n) for r in session.rows(self.strategy.counted(step))}

    def _events(
        self, session: Session, part: OutboxSlice, step: Sequence[StoredRange]
    ) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """By range, the events of a part and by how many rows the range grew."""
        events: dict[int, int] = {}
        grown: dict[int, int] = {}
        for statement in self.strategy.per_range(part, step):
            for r in session.rows(statement):
                events[r.range_id] = events.get(r.range_id, 0) + int(r.n)
                grown[r.range_id] = grown.get(r.range_id, 0) + int(r.net)
        return events, grown


def _visits(known: Sequence[StoredRange], now: float) -> dict[int, float]:
    return schedule.seen_by({r.range_id: r.last_visited for r in known}, now)
