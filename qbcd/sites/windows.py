"""Polls by watermark (TS, TDI, ATDI): how far the source may be read, the one step that reads it, purge and sweep.

    purge what was reported -> look at the clock and at open transactions -> read the window -> sweep, where it is due

The horizon is read in a transaction of its own that ends before the rows are read (protocol.md 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DBAPIError

from qbcd import hooks, marks, rotation
from qbcd.catalog.remembered import check_server, check_shape
from qbcd.catalog.source import Session
from qbcd.errors import MissingPrivilege, QbcdError
from qbcd.marks import Window
from qbcd.model import BatchHeader, Statement, StreamPlan
from qbcd.sites import stepping
from qbcd.sites.horizon import ANEW, ahead_of
from qbcd.sites.passes import Visit
from qbcd.sites.stepping import Counts, Look, Taken
from qbcd.state import StreamRow, holder
from qbcd.strategies import InSource, Part, Stamped, Tdi

if TYPE_CHECKING:
    from qbcd.sites.database import DatabaseSite
    from qbcd.sites.values import Held, Settings


def poll(
    site: DatabaseSite,
    plan: StreamPlan,
    settings: Settings,
    held: Held,
    *,
    afresh: bool = False,
    gone: bool = True,
    elsewhere: bool = False,
) -> Iterator[tuple[BatchHeader | None, Taken]]:
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
    strategy = site.strategy(plan)
    assert isinstance(strategy, Stamped)
    forgotten = elsewhere or (afresh and strategy.kind == "counter")
    kept = "" if afresh else purge(site, plan, held)
    ahead = ahead_of(site, held, strategy, None if forgotten else held.row.checkpoint["mark"])
    hooks.reach("after_horizon")
    remark, anew = ahead.pop("remark", ""), ahead.pop(ANEW, False)
    since = None if afresh or anew else held.row.checkpoint["mark"]["at"]
    taken = _window(site, plan, settings, held, strategy, ahead, since, afresh=afresh, gone=gone)
    yield taken.header, replace(taken, remarks=tuple(filter(None, (kept, remark))))
    if due := _sweep_due(site, plan, held):
        visit = Visit(site, plan, settings, held)
        for header in visit.batches():
            yield header, Taken(header.counts, header)
        _swept(site, held, due)


def _window(
    site: DatabaseSite, plan: StreamPlan, settings: Settings, held: Held, strategy: Stamped, ahead: dict[str, Any],
    since: str | None, *, afresh: bool, gone: bool,
) -> Taken:  # fmt: skip
    """The one step that reads the window; where the watermark stays, it still reads rows without time-stamp."""
    window = Window(since, ahead["at"]) if ahead["at"] is not None else None

    def follow(session: Session, strategy: InSource, part: Part, counts: Counts) -> Mapping[str, Any]:
        return {"mark": ahead} if ahead != held.row.checkpoint["mark"] else {}

    look = Look([], follow=follow, afresh=afresh)
    if window is not None and not (window.empty and not strategy.nullable and not strategy.system):
        look = _look_into(strategy, window, look)
    if afresh and gone:
        look = replace(look, find=[*look.find, lambda s, part: _stamped(s).sweep(part)])
    return stepping.take(site, plan, settings, held, look)


def _look_into(strategy: Stamped, window: Window, look: Look) -> Look:
    noted: list[Statement] = []
    if isinstance(strategy, Tdi) and strategy.plan.where:  # also while nothing is purged: the user may begin again
        noted.append(strategy.forget_revived())
    if isinstance(strategy, Tdi) and strategy.purges:
        noted.append(strategy.note_flagged(window))
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
    return now if rotation.is_due(float(held.row.checkpoint["swept"]), every, now) else 0.0


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
def purge(site: DatabaseSite, plan: StreamPlan, held: Held) -> str:
    """Removes the flagged rows that earlier batches reported, where they are still as they were seen (protocol.md 13).

    Batches are durable by now; a row goes only when every stream of this store, and every one of the project, that
    reads the table by time-stamp has passed it.

    Returns:
        What the user should know where the source refuses to let rows go; they stay and nothing has moved.
    """
    strategy, trying = site.strategy(plan), False
    if not isinstance(strategy, Tdi) or not strategy.purges:
        return ""
    try:
        with site.source.write(site.stream) as session:
            before = _purgeable(site, session, plan, held)
            hooks.reach("before_purge")
            if before is None:
                return ""
            _check_right(site, session, plan)
            trying = True  # a constraint that is deferred speaks at the commit
            session.run(strategy.purge_rows(before))
            session.run(strategy.purge_done(before))
    except QbcdError as error:
        if not (trying and isinstance(error.__cause__, DBAPIError) and site.source.connector.denies(error.__cause__)):
            raise
        return (
            f"flagged rows of {plan.table.schema}.{plan.table.name} stay, since they could not be removed: "
            f"{error.what} (each poll tries again; `purge: false` ends that)"
        )
    hooks.reach("after_purge")
    return ""


def _purgeable(site: DatabaseSite, session: Session, plan: StreamPlan, held: Held) -> str | None:
    """The instant before which reported rows may go, None where none may; the stream's row is locked from here on."""
    row = held.row
    site.enter(session, plan, held)
    # Nothing is removed from a server, or by a shape of the table, that is not the one in which it was seen.
    check_shape(site.source, session, site.stream, row.checkpoint, plan)
    check_server(site.source, session, site.stream, row.checkpoint, accept=False)
    return _passed_by_all(site, session, plan, held)


def _check_right(site: DatabaseSite, session: Session, plan: StreamPlan) -> None:
    if lacking := site.source.connector.write_rights(session.connection, plan.table, delete=True):
        raise MissingPrivilege(
            f"{lacking}, which option purge needs", stream=site.stream, remedy="grant it, or take the option out"
        )


def _passed_by_all(site: DatabaseSite, session: Session, plan: StreamPlan, held: Held) -> str | None:
    """The instant that every stream which reads the table by a clock has reached; counters and versions are none.

    None while the baseline of some stream is taken: it may be of a state from before a row was flagged.
    """
    own = site.store.streams(session.connection)
    busy = [holder(session.connection, site.store, r.stream) for r in own if not r.prepared]
    others: list[StreamRow] = []
    with site.project.read() as conn:  # of replicas under Spark
        if site.project.store.exists(conn):
            others = site.project.store.streams(conn)
            busy += [holder(conn, site.project.store, r.stream) for r in others if not r.prepared]
    if any(busy):
        return None
    server = held.row.checkpoint["server"]["identity"]
    rows = [r for r in (*own, *others) if r.prepared and r.checkpoint["server"]["identity"] == server]
    reached = [at for r in rows for at in _reached(plan, r.checkpoint)]
    return min(reached, default=str(held.row.checkpoint["mark"]["at"]))


def _reached(plan: StreamPlan, checkpoint: Mapping[str, Any]) -> list[str]:
    """The instants up to which a stream has read the plan's table."""
    schema, name = plan.table.schema, plan.table.name
    known = [checkpoint.get("mark")] if checkpoint["shape"]["table"] == [schema, name] else []
    found = [mark["at"] for mark in (*known, checkpoint.get("marks", {}).get(f"{schema}.{name}")) if mark]
    return [at for at in found if at is not None and marks.seconds(at) is not None]
