"""Polls by watermark (TS, TDI, ATDI): how far the source may be read, the one step that reads it, and the sweep.

    purge what was reported -> look at the clock and at open transactions -> read the window -> sweep, where it is due

The horizon is read in a transaction of its own that ends before the rows are read (docs/design/protocol.md#rule-6).
Where the table or the server is another one, all rows are the window; keys that are gone are a step and a batch of
their own (docs/design/protocol.md#rule-14).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from qbcd import hooks
from qbcd.catalog.source import Session
from qbcd.model import BatchHeader, StreamPlan
from qbcd.ranges import schedule
from qbcd.sites.database import purge
from qbcd.sites.database import step as wing_step
from qbcd.sites.database.range_poll import RangePoll
from qbcd.sites.database.step import Counts, StepRequest, StepResult
from qbcd.sites.guards import Deletes
from qbcd.sites.watermark import ANEW, ahead_of
from qbcd.strategies import InSource, OutboxSlice, Watermarked
from qbcd.watermark import Window

if TYPE_CHECKING:
    from qbcd.sites.database.context import DatabaseContext
    from qbcd.sites.values import LeasedStream, Settings

GONE = "gone"  # in a checkpoint, while keys that are gone are yet to be looked for: what the comparison before found


def poll(
    context: DatabaseContext,
    plan: StreamPlan,
    settings: Settings,
    held: LeasedStream,
    *,
    afresh: bool = False,
    gone: bool = True,
    elsewhere: bool = False,
) -> Iterator[tuple[BatchHeader | None, StepResult]]:
    """Purges, reads the window, and sweeps where that is due; yields what each brought.

    Args:
        site: Where.
        plan: The stream's plan.
        settings: What the user says about polls.
        held: The stream, under its lease.
        afresh: Compare the whole table, since what was read before may be of another server or table.
        gone: There also look for keys that are gone.
        elsewhere: The server is another one: its clock says nothing of what was read before.
    """
    strategy = context.strategy(plan)
    assert isinstance(strategy, Watermarked)
    forgotten = elsewhere or (afresh and strategy.kind == "counter")
    kept = "" if afresh else purge.purge(context, plan, held)
    ahead = ahead_of(context, held, strategy, None if forgotten else held.row.checkpoint["mark"])
    hooks.reach("after_horizon")
    remark, anew = ahead.pop("remark", ""), ahead.pop(ANEW, False)
    known = held.row.checkpoint["mark"]["at"]
    since = None if afresh or anew else known
    # Of rows that are all compared anew, those since the last poll are new to the stream.
    fresh = strategy.window(known, ahead["at"]) if afresh and not forgotten else None
    look = _look(strategy, strategy.window(since, ahead["at"]), fresh, afresh=afresh)

    def follow(session: Session, strategy: InSource, part: OutboxSlice, counts: Counts) -> Mapping[str, Any]:
        moved = {"mark": ahead} if ahead != held.row.checkpoint["mark"] else {}
        return {**moved, GONE: missing.after(held, counts)} if afresh and gone else moved

    missing = Deletes.from_checkpoint(held, GONE)
    counted = missing.guarded if afresh and gone else None
    taken = wing_step.run_step(context, plan, settings, held, replace(look, follow=follow, guarded=counted))
    yield taken.header, replace(taken, remarks=tuple(filter(None, (kept, remark))))
    if GONE in held.row.checkpoint and not context.stopping():
        context.progress("looking for keys that are gone")
        end = wing_step.run_step(
            context, plan, settings, held, _gone(Deletes.from_checkpoint(held, GONE)), drop=(GONE,)
        )
        yield end.header, end
    if due := _sweep_due(context, plan, held):
        visit = RangePoll(context, plan, settings, held)
        for header in visit.batches():
            yield header, StepResult(header.counts, header)
        _swept(context, held, due)


def _look(strategy: Watermarked, window: Window | None, fresh: Window | None, *, afresh: bool) -> StepRequest:
    """The step that reads a window; what of a comparison afresh is new lies in `fresh`."""
    if window is None:
        return StepRequest([], afresh=afresh)
    before = purge.noted(strategy, fresh, window) if afresh else purge.noted(strategy, window)
    return StepRequest([lambda s, part: _stamped(s).look(part, window)], before=before, afresh=afresh)


def _gone(found: Deletes) -> StepRequest:
    """The step after all rows were compared anew: keys that are gone, counted with the deletes of that."""
    return StepRequest([lambda s, part: _stamped(s).sweep(part)], guarded=found.guarded)


def _stamped(strategy: InSource) -> Watermarked:
    assert isinstance(strategy, Watermarked)
    return strategy


def _sweep_due(context: DatabaseContext, plan: StreamPlan, held: LeasedStream) -> float:
    """The store's clock, where a sweep is due or one was begun and not finished; else 0."""
    every = plan.option("deletes")
    if not isinstance(every, timedelta):
        return 0.0
    with context.reading() as conn:
        now = context.store.now(conn)
    return now if schedule.is_due(float(held.row.checkpoint["swept"]), every, now) else 0.0


def _swept(context: DatabaseContext, held: LeasedStream, began: float) -> None:
    """Remembers when the sweep began, so that the next one is due from then."""
    if context.stopping():
        return
    with context.source.write(context.stream) as session:
        row = held.row
        context.store.lock(
            session.connection, context.stream, context.project.project_id, row.version, row.fencing_token
        )
        advanced = context.commit(session.connection, row, held, None, {**row.checkpoint, "swept": began})
    held.row = advanced
