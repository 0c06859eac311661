"""Polls by watermark (TS, TDI, ATDI): how far the source may be read, the one step that reads it, purge and sweep.

    purge what was reported -> look at the clock and at open transactions -> read the window -> sweep, where it is due

The horizon is read in a transaction of its own that ends before the rows are read (protocol.md 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from qbcd import hooks, marks
from qbcd.catalog.remembered import check_server, check_shape
from qbcd.catalog.source import Session
from qbcd.connectors.base import HighWater
from qbcd.errors import Refused, UnsafeWatermark
from qbcd.marks import Window
from qbcd.model import BatchHeader, StreamPlan
from qbcd.sites import stepping
from qbcd.sites.passes import Visit
from qbcd.sites.stepping import Counts, Look, Taken
from qbcd.strategies import InSource, Part, Stamped, Tdi

if TYPE_CHECKING:
    from qbcd.sites.database import DatabaseSite
    from qbcd.sites.values import Held, Settings

Mark = Mapping[str, Any]
LONG = timedelta(minutes=10)  # by which an open transaction holds the watermark back before it is told


# -- how far -----------------------------------------------------------------------------------------------------------
def look_ahead(site: DatabaseSite, plan: StreamPlan, mark: Mark | None) -> dict[str, Any]:
    """The watermark after a poll that begins now; `mark` is the present one, None before the baseline.

    Returns:
        ``remark``, what the user should know. For the checkpoint: ``at``, how far rows are read; of a counter also
        ``next`` and ``seen``, the value that is read up to as soon as every transaction that was open at that time has
        ended (protocol.md 7).

    Raises:
        UnsafeWatermark: The source does not show how far its time-stamps are complete, and no `lag` is set.
    """
    strategy = site.strategy(plan)
    assert isinstance(strategy, Stamped)
    with site.source.read(site.stream) as session:
        if strategy.kind == "system":
            return {"at": _system(site, session, plan, mark)}
        if strategy.kind == "counter":
            return _counter(site, session, strategy, mark)
        return _clock(site, session, plan, mark)


def _clock(site: DatabaseSite, session: Session, plan: StreamPlan, mark: Mark | None) -> dict[str, Any]:
    look = site.source.connector.high_water(session.connection)
    margin, lag = _spans(plan)
    refuse_blind(site, session, plan, look.blind)
    known = mark["at"] if mark else None
    if known is not None and look.clock < known:
        raise UnsafeWatermark(
            f"the source's clock shows {look.clock} and was read up to {known} before: it was set back",
            stream=plan.stream, remedy=f"wait until it has passed that time, or qbcd verify {plan.stream}, then reset",
        )  # fmt: skip
    _refuse_late(plan, look.clock, known)
    reached = marks.horizon(look, margin, lag)
    if look.held and lag is None:
        if known is None:
            raise UnsafeWatermark(
                f"{look.held}, so it is not known how far time-stamps are complete", stream=plan.stream,
                remedy="prepare again when they have ended",
            )  # fmt: skip
        return {"at": known, "remark": f"{look.held}: the watermark stays at {known} UTC, and nothing newer is read"}
    return {"at": marks.later(known, reached), "remark": _behind(look, reached, plan)}


def _behind(look: HighWater, reached: str, plan: StreamPlan) -> str:
    """That an old transaction holds the watermark back, where it does."""
    lag: timedelta = plan.option("lag") or timedelta(0)
    if look.oldest is None or look.clock <= marks.shifted(reached, LONG + lag):
        return ""
    return f"a transaction is open since {look.oldest} UTC: nothing newer than {reached} is read until it ends"


def _refuse_late(plan: StreamPlan, clock: str, known: str | None) -> None:
    """Refuses a poll so late that the application may have removed flagged rows unseen (pitfalls A7)."""
    retention: timedelta | None = plan.option("retention")
    if retention is None or known is None or clock <= marks.shifted(known, retention):
        return
    raise Refused(
        f"the table was read up to {known} and flagged rows are kept for {retention}: some may be gone unseen",
        stream=plan.stream, remedy=f"qbcd verify {plan.stream} shows them; qbcd reset {plan.stream} and prepare it",
    )  # fmt: skip


def _counter(site: DatabaseSite, session: Session, strategy: Stamped, mark: Mark | None) -> dict[str, Any]:
    """Counters are no clock: a value may be read up to when all that was open when it was seen has ended."""
    greatest = session.one(strategy.greatest()).mark
    look = site.source.connector.high_water(session.connection)
    margin, lag = _spans(strategy.plan)
    refuse_blind(site, session, strategy.plan, look.blind)
    reached = marks.horizon(look, margin, lag)
    at, following, seen = (mark["at"], mark.get("next"), mark.get("seen")) if mark else (None, None, None)
    if following is not None and seen is not None and seen < reached and not (look.held and lag is None):
        at, following = following, None
    if look.oldest is None and not look.held and lag is None:  # nobody holds a smaller value: no need to wait
        return {"at": greatest if greatest is not None else at, "next": None, "seen": None}
    if following is None and greatest is not None and greatest != at:
        following, seen = greatest, look.clock
    return {"at": at, "next": following, "seen": seen if following is not None else None}


def _system(site: DatabaseSite, session: Session, plan: StreamPlan, mark: Mark | None) -> str:
    if mark and (problem := site.source.connector.system_mark_problem(session.connection, str(mark["at"]))):
        raise UnsafeWatermark(problem, stream=plan.stream, remedy=f"qbcd reset {plan.stream}, then prepare it again")
    return site.source.connector.system_mark(session.connection)


def _spans(plan: StreamPlan) -> tuple[timedelta, timedelta | None]:
    return plan.option("margin") or timedelta(seconds=1), plan.option("lag")


def refuse_blind(site: DatabaseSite, session: Session, plan: StreamPlan, blind: str) -> None:
    """Refuses a source whose open transactions cannot all be seen, unless the user bounds them by `lag` (rule 8).

    Raises:
        UnsafeWatermark: It cannot.
    """
    if plan.option("lag") is not None:
        return
    blind = blind or site.source.connector.not_only_writer(session.connection, plan.table)
    if blind:
        raise UnsafeWatermark(
            f"a time-stamp is no safe watermark here: {blind}", stream=plan.stream,
            remedy="let the role see all sessions, where the database has such a right, or set `lag` to the longest "
            "time that a transaction takes: what commits later than that is lost",
        )  # fmt: skip


# -- a poll ------------------------------------------------------------------------------------------------------------
def poll(
    site: DatabaseSite, plan: StreamPlan, settings: Settings, held: Held, *, afresh: bool = False
) -> Iterator[tuple[BatchHeader | None, Taken]]:
    """Purges, reads the window, and sweeps where that is due; yields what each brought.

    Args:
        site: Where.
        plan: The stream's plan.
        settings: What the user says about polls.
        held: The stream, under its lease.
        afresh: Compare the whole table, since what was read before may be of another server.
    """
    strategy = site.strategy(plan)
    assert isinstance(strategy, Stamped)
    if not afresh:
        purge(site, plan, held)
    ahead = look_ahead(site, plan, None if afresh else held.row.checkpoint["mark"])
    hooks.reach("after_horizon")
    remark = ahead.pop("remark", "")
    taken = _window(site, plan, settings, held, strategy, ahead, afresh=afresh)
    yield taken.header, replace(taken, remark=remark)
    if due := _sweep_due(site, plan, held):
        visit = Visit(site, plan, settings, held)
        for header in visit.batches():
            yield header, Taken(header.counts, header)
        _swept(site, held, due)


def _window(
    site: DatabaseSite, plan: StreamPlan, settings: Settings, held: Held, strategy: Stamped, ahead: dict[str, Any],
    *, afresh: bool,
) -> Taken:  # fmt: skip
    """The one step that reads the window; where the watermark stays, it still reads rows without time-stamp."""
    since = None if afresh else held.row.checkpoint["mark"]["at"]
    window = Window(since, ahead["at"]) if ahead["at"] is not None else None

    def follow(session: Session, strategy: InSource, part: Part, counts: Counts) -> Mapping[str, Any]:
        return {"mark": ahead} if ahead != held.row.checkpoint["mark"] else {}

    look = Look([], follow=follow)
    if window is not None and not (window.empty and not strategy.nullable and not strategy.system):
        look = _look_into(strategy, window, look)
    if afresh:
        look = replace(look, find=[*look.find, lambda s, part: _stamped(s).sweep(part)])
    return stepping.take(site, plan, settings, held, look)


def _look_into(strategy: Stamped, window: Window, look: Look) -> Look:
    noted = [strategy.note_flagged(window)] if isinstance(strategy, Tdi) and strategy.purges else []
    return replace(look, find=[lambda s, part: _stamped(s).look(part, window)], before=noted)


def _stamped(strategy: InSource) -> Stamped:
    assert isinstance(strategy, Stamped)
    return strategy


def _sweep_due(site: DatabaseSite, plan: StreamPlan, held: Held) -> float:
    """The store's clock, where a sweep is due or one was begun and not finished; else 0."""
    every = plan.option("deletes")
    if not isinstance(every, timedelta):
        return 0.0
    with site.reading() as conn:
        now = site.store.now(conn)
    return now if now - float(held.row.checkpoint["swept"]) >= every.total_seconds() else 0.0


def _swept(site: DatabaseSite, held: Held, began: float) -> None:
    """Remembers when the sweep began, so that the next one is due from then."""
    if site.stopping():
        return
    with site.source.write(site.stream) as session:
        row = held.row
        site.store.lock(session.connection, site.stream, site.project.project_id, row.version, row.fencing_token)
        advanced = site.commit(session.connection, row, held, None, {**row.checkpoint, "swept": began})
    held.row = advanced


# -- flagged rows ------------------------------------------------------------------------------------------------------
def purge(site: DatabaseSite, plan: StreamPlan, held: Held) -> None:
    """Removes the flagged rows that earlier batches reported, where they are still as they were seen (protocol.md 13).

    Batches are durable by now; a row goes only when every stream of this store that reads the table by time-stamp has
    passed it.
    """
    strategy = site.strategy(plan)
    if not isinstance(strategy, Tdi) or not strategy.purges:
        return
    with site.source.write(site.stream) as session:
        row = held.row
        site.store.lock(session.connection, site.stream, site.project.project_id, row.version, row.fencing_token)
        lock = site.source.connector.lock_against_rewrite(plan.table)
        if lock:
            session.run(lock)
        # Nothing is removed from a server, or by a shape of the table, that is not the one in which it was seen.
        check_shape(site.source, session, site.stream, row.checkpoint)
        check_server(site.source, session, site.stream, row.checkpoint, accept=False)
        before = _passed_by_all(site, session, plan, held)
        hooks.reach("before_purge")
        session.run(strategy.purge_rows(before))
        session.run(strategy.purge_done(before))
    hooks.reach("after_purge")


def _passed_by_all(site: DatabaseSite, session: Session, plan: StreamPlan, held: Held) -> str:
    """The instant that every stream which reads the table by a clock has reached; counters and versions are none."""
    table = [plan.table.schema, plan.table.name]
    rows = [r for r in site.store.streams(session.connection) if r.prepared and r.checkpoint["shape"]["table"] == table]
    reached = [str(r.checkpoint["mark"]["at"]) for r in rows if _by_clock(site, plan, r.checkpoint)]
    return min(reached, default=str(held.row.checkpoint["mark"]["at"]))


def _by_clock(site: DatabaseSite, plan: StreamPlan, checkpoint: Mapping[str, Any]) -> bool:
    if not checkpoint.get("mark"):
        return False
    columns = [plan.table.column(name) for name in checkpoint["requested"]["options"]["timestamp"]]
    return all(c is not None and site.source.connector.mark_kind(c) in ("zoned", "zoneless") for c in columns)
