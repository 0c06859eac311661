"""Polls of TS: rows since a watermark travel, and sweeps compare all rows.

The watermark is the database's clock before the read, minus `lag` and `margin`: a transaction that was open then ends
within `lag`, so its rows are in the next window. A window has no upper end: rows are found as soon as they are visible,
and those of the last `lag` travel again. A sweep is a complete comparison, which also finds rows whose timestamp was
not moved (docs/design/architecture.md#reading-2).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from typing_extensions import override

from qbcd.common import hooks
from qbcd.errors import GuardTripped
from qbcd.model import Cost
from qbcd.model.checkpoint import Entry
from qbcd.ranges import schedule
from qbcd.sites.checkpoint import due
from qbcd.sites.guards import check_guards
from qbcd.sites.jdbc.plan import source_of
from qbcd.sites.jdbc.poll import RowsPoll, asked_of, refuse_old_encoder, travelled
from qbcd.sites.jdbc.source_sql import clock_of, window_of
from qbcd.sites.jdbc.take import division_of, poll_rows, refuse_unfit_rows, stage_of, staged
from qbcd.sites.lake.commit import PollStep, RangeChanges, WrittenBatch, commit_step, written_changes
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows, grown
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.values import Detection
from qbcd.state import StoredRange
from qbcd.watermark import later, seen_as, text

SET_BACK = "the database's clock was set back behind the watermark: all rows were compared"


def with_watermark(poll: RowsPoll) -> RowsPoll:
    """Return the poll with the watermark of now, if it is one of windows."""
    if not poll.strategy.windows:
        return poll
    [(clock,)] = asked_of(poll, clock_of(source_of(poll.context)))
    back = poll.plan.option("lag") + poll.plan.option("margin")
    moment, before = _moment(clock), poll.leased.row.checkpoint.get(Entry.WATERMARK)
    known = before["at"] if before else None
    set_back = known is not None and text(moment) < known
    now = text(moment - back)
    hooks.reach("after_horizon")
    with poll.context.reading() as conn:
        began = poll.context.store.now(conn)
    swept = poll.leased.checkpoint.swept if before else began
    ahead = {Entry.WATERMARK: {"at": now if set_back else later(known, now)}, Entry.SWEPT: swept}
    return replace(poll, ahead=ahead)


def _moment(clock: str) -> datetime:
    """Return the moment of a database's text, which may have any number of digits of a second."""
    whole, _, digits = clock.strip().replace("T", " ").partition(".")
    return datetime.fromisoformat(whole) + timedelta(microseconds=int(digits[:6].ljust(6, "0")))


def poll_window(poll: RowsPoll) -> Detection:
    """Read the rows since the watermark, or compare all rows if a sweep or an audit is due.

    All rows are also compared if the database's clock is behind the watermark, which then goes back to it.
    """
    started, context = time.monotonic(), poll.context
    refuse_old_encoder(poll)
    every = poll.plan.option("deletes")
    with context.reading() as conn:
        now = context.store.now(conn)
    sweeps = isinstance(every, timedelta) and schedule.is_due(poll.leased.checkpoint.swept, every, now)
    set_back = poll.ahead[Entry.WATERMARK]["at"] < poll.leased.checkpoint.watermark["at"]
    if sweeps or set_back or due(poll):
        whole = poll_rows(replace(poll, ahead={**poll.ahead, Entry.SWEPT: now}))
        return replace(whole, warnings=(*whole.warnings, SET_BACK)) if set_back else whole
    source, known = source_of(context), poll.known_ranges()
    division = division_of(poll.strategy, known)
    since = seen_as(poll.leased.checkpoint.watermark["at"], unit=timedelta(0), zone=poll.plan.option("zone"))
    [(rows,)] = asked_of(poll, window_of(source, poll.plan, division, since, count=True))
    if rows == "0":
        commit_step(poll, None, _entries(poll, poll.leased.checkpoint.rows))
        return Detection(None, Cost(ranges=len(known), seconds=time.monotonic() - started))
    with ExitStack() as work:
        poll = work.enter_context(poll.on_engine(0))
        window, part = work.enter_context(travelled(poll, division, since=since))
        found = window.sums(division)
        refuse_unfit_rows(poll, found)
        touched = [one for one in known if one.range_id in found.sums] or known[:1]
        step = RowsSinceStep(poll, touched, staged(poll, window, division, None, shown=True))
        header = step.run({})
    cost = Cost(found.rows, found.rows, part.size, len(known), len(touched), time.monotonic() - started)
    return Detection(header, cost, tuple(poll.leased.notes))


def _entries(poll: RowsPoll, rows: int) -> dict[str, Any]:
    return {**poll.checkpoint_entries(rows), **poll.leased.checkpoint.carried([Entry.AUDITED])}


class RowsSinceStep(PollStep[RowsPoll]):
    """Compare the rows of a window with the replica's rows of the same keys.

    Args:
        touched: The ranges of these keys.
    """

    def __init__(self, poll: RowsPoll, touched: Sequence[StoredRange], fetched: FileSet) -> None:
        super().__init__(poll, fetched)
        self._touched, self._fetched = touched, fetched
        self._growth: dict[int, tuple[int, int]] = {}

    @override
    def write(self) -> WrittenBatch:
        poll, before = self.poll, self.poll.leased.checkpoint.rows
        with poll.engine.kept(self._changes()) as kept:
            found = written_changes(poll, kept, before)
            self._growth = algebra.growth(poll.engine, kept) if found.counts else {}
        try:
            check_guards(poll, deletes=found.counts.get("d", 0), before=before, after=before + found.net)
        except GuardTripped:
            poll.context.files.discard(found.part)
            raise
        return found

    def _changes(self) -> Rows:
        poll, stage = self.poll, stage_of(self.poll, self._fetched, shown=True)
        with poll.context.reading() as conn:
            columns = poll.strategy.stored_columns
            old = poll.context.replica.rows(conn, poll.engine, poll.plan, columns, self._touched)
        shown = algebra.without(algebra.filtered(stage, "shown = 1"), "shown")
        found = algebra.differences(algebra.of_keys(old, stage), shown, poll.plan, by="values")
        reason = "CASE WHEN op = 'd' THEN 'restriction_exit' END"
        return algebra.selected(found, {**{name: name for name in found.columns}, "reason": reason})

    @override
    def checkpoint(self, found: WrittenBatch) -> dict[str, Any]:
        return _entries(self.poll, self.poll.leased.checkpoint.rows + found.net)

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        return RangeChanges(grown(self._touched, self._growth))
