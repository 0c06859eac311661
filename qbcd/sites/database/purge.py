"""Flagged rows that go once they were told (TDI, ATDI): which are listed for it, and which of the list may go.

A row is listed in the step that tells it, and goes before a later look, where it is still as it was seen and everybody
who reads the table by a time-stamp has passed it (docs/design/protocol.md#rule-13).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from qbcd import hooks
from qbcd.catalog.drift import check_server, check_shape
from qbcd.catalog.source import Session
from qbcd.connectors.catalog import SupportsTableWrites
from qbcd.errors import MissingPrivilege, QbcdError
from qbcd.model import Statement, StreamPlan
from qbcd.sites.database.step import enter
from qbcd.state import StreamRow, StreamStore, holder
from qbcd.strategies import InSource, Tdi
from qbcd.strategies.incremental.vbd_delta import fold
from qbcd.strategies.read_position import ReadPosition
from qbcd.watermark import Window

if TYPE_CHECKING:
    from qbcd.sites.database.context import DatabaseContext
    from qbcd.sites.values import LeasedStream


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


def purge(context: DatabaseContext, plan: StreamPlan, held: LeasedStream) -> str:
    """Removes the flagged rows that earlier batches reported, which are durable by now.

    Returns:
        What the user should know where rows stay: the source refuses to let them go, or not everybody's reading is
        known. Nothing has moved then.
    """
    strategy = context.strategy(plan)
    if not isinstance(strategy, Tdi) or not strategy.purges:
        return ""
    trying = False
    try:
        with context.source.write(context.stream) as session:
            _enter(context, session, plan, held)
            hooks.reach("before_purge")
            readers = Readers()
            if session.rows(strategy.listed()):
                readers = readers_of(context, session, plan, held.row.checkpoint["server"]["identity"])
            if readers.passed:
                _check_right(context, session, plan)
                trying = True  # a constraint that is deferred speaks at the commit
                session.run(strategy.purge_rows(readers.passed))
                session.run(strategy.forget_unflagged())
    except QbcdError as error:
        if not (
            trying
            and isinstance(error.__cause__, DBAPIError)
            and context.source.connector.errors.is_write_rejected(error.__cause__)
        ):
            raise
        return _stay(plan, f"they could not be removed: {error.what}")
    hooks.reach("after_purge")
    return _stay(plan, readers.doubt) if readers.doubt else ""


def _stay(plan: StreamPlan, why: str) -> str:
    return f"flagged rows of {plan.table.schema}.{plan.table.name} stay, since {why} {ENDS}"


def _enter(context: DatabaseContext, session: Session, plan: StreamPlan, held: LeasedStream) -> None:
    """Locks the stream's row; nothing is removed from another server, or by another shape, than was seen."""
    enter(context, session, plan, held)
    check_shape(context.source, session, context.stream, held.row.checkpoint, plan)
    check_server(context.source, session, context.stream, held.row.checkpoint, accept=False)


def _check_right(context: DatabaseContext, session: Session, plan: StreamPlan) -> None:
    if lacking := context.source.connector.require(SupportsTableWrites).write_rights(
        session.connection, plan.table, delete=True
    ):
        raise MissingPrivilege(
            f"{lacking}, which option purge needs", stream=context.stream, remedy="grant it, or take the option out"
        )


@dataclass(frozen=True)
class Readers:
    """What is known of those who read a table.

    Attributes:
        passed: Up to where each has read the rows themselves.
        busy: Some stream's baseline is being taken: it may be of a state from before a row was flagged.
        doubt: Why it cannot be known what some stream has read; empty where it can.
    """

    passed: Sequence[ReadPosition] = ()
    busy: bool = False
    doubt: str = ""


@dataclass(frozen=True)
class _Read:
    """One relation that a stream reads by a time-stamp; `passed` is None where nothing tells by which."""

    stream: str
    relation: str
    passed: ReadPosition | None


def readers_of(context: DatabaseContext, session: Session, plan: StreamPlan, server: str) -> Readers:
    """Those who read the plan's table on `server` by a time-stamp, the plan's own stream among them."""
    rows: list[StreamRow] = []
    try:
        for conn, store in _stores(context, session):
            known = store.streams(conn)
            if any(holder(conn, store, row.stream) for row in known if not row.prepared):
                return Readers(busy=True)
            rows += [row for row in known if row.prepared]
    except QbcdError as error:
        return Readers(doubt=f"not all streams of this project could be asked how far they have read it: {error.what}")
    connector = context.source.connector
    here = [row for row in rows if connector.catalog.may_share(server, row.checkpoint["server"]["identity"])]
    reads = [read for row in here for read in _reads(row)]
    kin = connector.catalog.kin(session.connection, plan.table, sorted({read.relation for read in reads}))
    for read in reads:
        doubt = _doubt(read, plan, kin[read.relation])
        if doubt:
            return Readers(doubt=f"stream {read.stream} {doubt}")
    return Readers([read.passed for read in reads if read.passed and kin[read.relation]])


def _stores(context: DatabaseContext, session: Session) -> Iterator[tuple[Connection, StreamStore]]:
    """The stores that exist, each while its connection is open."""
    yield session.connection, context.store
    with context.project.read() as conn:
        if context.project.store.exists(conn):
            yield conn, context.project.store
    for other in context.others():
        store = StreamStore(other.schema)
        with other.read(context.stream) as there:
            if store.exists(there.connection):
                yield there.connection, store


def _reads(row: StreamRow) -> Iterator[_Read]:
    """What a stream reads by time-stamps, by its checkpoint."""
    checkpoint = row.checkpoint
    options: Mapping[str, Any] = checkpoint["requested"].get("options", {})
    if "mark" in checkpoint:
        yield _read(row, ".".join(checkpoint["shape"]["table"]), options.get("timestamp"), checkpoint["mark"])
    named = {fold(name): columns for name, columns in options.get("timestamps") or ()}
    for relation, mark in checkpoint.get("marks", {}).items():
        yield _read(row, relation, named.get(fold(relation)), mark)


def _read(row: StreamRow, relation: str, columns: Any, mark: Mapping[str, Any]) -> _Read:
    names = (columns,) if isinstance(columns, str) else tuple(columns or ())
    zone = row.checkpoint["requested"].get("options", {}).get("zone")
    return _Read(
        row.stream, relation, ReadPosition(names, zone, mark["at"]) if names and mark["at"] is not None else None
    )


def _doubt(read: _Read, plan: StreamPlan, kin: str) -> str:
    """Why it cannot be known which of the table's rows a stream has read; empty where it can, or reads none."""
    if kin == "through":
        return f"reads it through {read.relation}, and it cannot be known how far"
    if kin and read.passed is None:
        return f"reads {read.relation} by a time-stamp, and has read nothing yet"
    if kin and read.passed and not read.passed.fits(plan.table):
        return f"reads {read.relation} by {', '.join(read.passed.names)}, which {plan.table.label} has not"
    return ""
