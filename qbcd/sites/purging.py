"""Flagged rows that go once they were told (TDI, ATDI): which are listed for it, and which of the list may go.

A row is listed in the step that tells it, and goes before a later look, where it is still as it was seen and everybody
who reads the table by a time-stamp has passed it (protocol.md 13).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError

from qbcd import hooks
from qbcd.catalog.remembered import check_server, check_shape
from qbcd.catalog.source import Session
from qbcd.errors import MissingPrivilege, QbcdError
from qbcd.marks import Window
from qbcd.model import Statement, StreamPlan
from qbcd.sites.readers import Readers, readers_of
from qbcd.strategies import InSource, Tdi

if TYPE_CHECKING:
    from qbcd.sites.database import DatabaseSite
    from qbcd.sites.values import Held

ENDS = "(each poll tries again; `purge: false` ends that)"


def noted(strategy: InSource, window: Window | None, told: Window | None = None) -> list[Statement]:
    """What keeps the list, to be run before the look of the same step.

    Args:
        strategy: The stream's.
        window: Where rows are new to the stream, so that flagged ones are listed also if it never had them. None: none.
        told: Where rows are compared that are not new; of those flagged the ones are listed that the stream still has,
            and that are about to be told: what was flagged while nothing was purged stays.
    """
    if not isinstance(strategy, Tdi):
        return []
    # Also while nothing is purged: the user may begin again.
    notes = [strategy.forget_unflagged()] if strategy.plan.where else []
    if strategy.purges:
        notes += [strategy.note_flagged(window)] if window else []
        notes += [strategy.note_flagged(told, told=True)] if told else []
    return notes


def purge(site: DatabaseSite, plan: StreamPlan, held: Held) -> str:
    """Removes the flagged rows that earlier batches reported, which are durable by now.

    Returns:
        What the user should know where rows stay: the source refuses to let them go, or not everybody's reading is
        known. Nothing has moved then.
    """
    strategy = site.strategy(plan)
    if not isinstance(strategy, Tdi) or not strategy.purges:
        return ""
    trying = False
    try:
        with site.source.write(site.stream) as session:
            _enter(site, session, plan, held)
            hooks.reach("before_purge")
            readers = Readers()
            if session.rows(strategy.listed()):
                readers = readers_of(site, session, plan, held.row.checkpoint["server"]["identity"])
            if readers.passed:
                _check_right(site, session, plan)
                trying = True  # a constraint that is deferred speaks at the commit
                session.run(strategy.purge_rows(readers.passed))
                session.run(strategy.forget_unflagged())
    except QbcdError as error:
        if not (trying and isinstance(error.__cause__, DBAPIError) and site.source.connector.denies(error.__cause__)):
            raise
        return _stay(plan, f"they could not be removed: {error.what}")
    hooks.reach("after_purge")
    return _stay(plan, readers.doubt) if readers.doubt else ""


def _stay(plan: StreamPlan, why: str) -> str:
    return f"flagged rows of {plan.table.schema}.{plan.table.name} stay, since {why} {ENDS}"


def _enter(site: DatabaseSite, session: Session, plan: StreamPlan, held: Held) -> None:
    """Locks the stream's row; nothing is removed from another server, or by another shape, than was seen."""
    site.enter(session, plan, held)
    check_shape(site.source, session, site.stream, held.row.checkpoint, plan)
    check_server(site.source, session, site.stream, held.row.checkpoint, accept=False)


def _check_right(site: DatabaseSite, session: Session, plan: StreamPlan) -> None:
    if lacking := site.source.connector.write_rights(session.connection, plan.table, delete=True):
        raise MissingPrivilege(
            f"{lacking}, which option purge needs", stream=site.stream, remedy="grant it, or take the option out"
        )
