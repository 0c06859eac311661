"""Polls that read key ranges one by one (ID, TLCS, TS with ``deletes: only``)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from qbcd.catalog.capture_change import Change
from qbcd.catalog.source import Session
from qbcd.model import Cost
from qbcd.model.checkpoint import Entry
from qbcd.sites.database import range_sizes
from qbcd.sites.database.commit import Find, StepResult
from qbcd.sites.database.explain import range_statements
from qbcd.sites.database.modes.base import DatabaseMode, detection_of, shipped
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.database.poll_start import PollStart
from qbcd.sites.database.range_poll import RangePoll
from qbcd.sites.eligibility import STORED, Place, refuse_unordered_key
from qbcd.sites.values import Detection, ExplainedStatement
from qbcd.state import StreamRow
from qbcd.strategies import ByRanges


class RangeMode(DatabaseMode[ByRanges]):
    """Each poll compares the ranges that are due."""

    @override
    def refuse_unfit(self, session: Session, place: Place) -> None:
        """Also refuse a key without an index in its order."""
        super().refuse_unfit(session, place)
        if self.plan.table.kind in STORED:
            refuse_unordered_key(self.context.source, session, self.strategy, place)

    @override
    def complete_baseline(
        self, session: Session, row: StreamRow, entries: dict[str, Any]
    ) -> tuple[StreamRow, dict[str, Any]]:
        """Build the ranges."""
        row, usual = range_sizes.build_ranges(session, self.context, self.strategy, row)
        return row, {**entries, Entry.USUAL_RANGE: usual, Entry.SWEPT: self.context.store.now(session.connection)}

    @override
    def _apply_change(self, poll: DatabasePoll, change: Change) -> StepResult:
        result = super()._apply_change(poll, change)
        range_sizes.rebuild(poll, self.strategy)
        return result

    @override
    def _rebuild_ranges(self, poll: DatabasePoll) -> None:
        range_sizes.rebuild(poll, self.strategy)

    @override
    def _poll(self, poll: DatabasePoll, start: PollStart) -> Iterator[Detection]:
        if start.compare_all:
            yield self._compare_table(poll, start)
            return
        range_poll, began = RangePoll(poll, self.strategy), time.monotonic()
        for header in range_poll.batches():
            seconds = time.monotonic() - began
            yield Detection(header, Cost(rows_shipped=shipped(poll, header.size), seconds=seconds))
            began = time.monotonic()  # the batch was delivered in between
        done = range_poll.done
        cost = Cost(2 * done.rows, ranges=done.ranges, dirty=done.dirty, seconds=time.monotonic() - began)
        yield detection_of(poll, StepResult(accepted_source=done.accepted_source), cost)

    @override
    def unseen_deletes(self) -> list[Find]:
        """Return the search for missing keys, for a strategy whose polls do not look for them."""
        return [self.strategy.sweep] if self.strategy.blind_to_deletes else []

    @override
    def explain(self, row: StreamRow | None) -> list[ExplainedStatement]:
        """Return the statements of one range."""
        title = "find deleted keys" if self.strategy.sweeps else "find the changes"
        return range_statements(self.context, self.strategy, title, row)
