"""Purge of flagged rows (TDI, ATDI): list candidates, remove those all streams have read.

A row is listed in the step that reports it. It is removed before a later poll, if it has not changed since and all
streams that read the table by a timestamp have read it (docs/design/protocol.md#rule-13).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from qbcd.catalog.drift import check_source
from qbcd.catalog.source import Session
from qbcd.common import hooks
from qbcd.errors import MissingPrivilege, QbcdError
from qbcd.model import Statement, StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.sites import eligibility
from qbcd.sites.database.commit import enter
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.database.poll import DatabasePoll
from qbcd.state import StreamRow, StreamStore, holder
from qbcd.strategies import Tdi
from qbcd.strategies.incremental.vbd_delta import fold
from qbcd.strategies.read_position import ReadPosition
from qbcd.watermark import Window

ENDS = "(each poll tries again; `purge: false` ends that)"


def list_flagged(strategy: Tdi, new: Window | None, known: Window | None) -> list[Statement]:
    """Return the statements that update the purge list.

    They run before the same step looks for changes.

    Args:
        new: Window of rows that are new to the stream: flagged ones are listed even if the replica never had them.
        known: Window of rows that are compared again: flagged ones are listed if the replica still has them, because
            the step reports these. Rows flagged while `purge` was off stay in the table.
    """
    # The list is kept up to date while `purge` is off: the user may switch it on again.
    statements = [strategy.forget_unflagged()] if strategy.plan.where else []
    if strategy.purges:
        statements += [strategy.note_flagged(new)] if new else []
        statements += [strategy.note_flagged(known, reported=True)] if known else []
    return statements


def purge(poll: DatabasePoll, strategy: Tdi) -> str:
    """Remove the flagged rows that earlier batches reported; those batches are durable by now.

    Returns:
        A remark if all listed rows stay: the source rejects their removal, or the position of a stream is not known.
    """
    context, plan = poll.context, poll.plan
    if not strategy.purges:
        return ""
    trying = False
    try:
        with context.source.write(context.stream) as session:
            _enter(poll, session)
            hooks.reach("before_purge")
            readers = Readers()
            if session.rows(strategy.listed()):
                readers = readers_of(context, session, plan, poll.leased.checkpoint.server["identity"])
            if readers.passed:
                _check_right(poll, session, strategy)
                trying = True  # a deferred constraint raises at the commit
                session.run(strategy.purge_rows(readers.passed))
                session.run(strategy.forget_unflagged())
    except QbcdError as error:
        if not (
            trying
            and isinstance(error.__cause__, DBAPIError)
            and context.source.connector.errors.is_write_rejected(error.__cause__)
        ):
            raise
        return _rows_stay(plan, f"they could not be removed: {error.what}")
    hooks.reach("after_purge")
    return _rows_stay(plan, readers.doubt) if readers.doubt else ""


def _rows_stay(plan: StreamPlan, why: str) -> str:
    return f"flagged rows of {plan.table.schema}.{plan.table.name} stay, since {why} {ENDS}"


def _enter(poll: DatabasePoll, session: Session) -> None:
    """Lock the stream's row; check that server and columns are those that were read."""
    context, row = poll.context, poll.leased.row
    enter(context, session, poll.plan, row)
    check_source(context.source, session, context.stream, row.checkpoint, poll.plan, accept=False)


def _check_right(poll: DatabasePoll, session: Session, strategy: Tdi) -> None:
    for right in strategy.write_rights():
        if lacking := eligibility.missing_right(strategy.connector, session.connection, poll.plan.table, right):
            raise MissingPrivilege(
                f"{lacking}, which option {right.option} needs",
                stream=poll.context.stream,
                remedy="grant it, or take the option out",
            )


@dataclass(frozen=True)
class Readers:
    """The streams that read a table by a timestamp.

    Attributes:
        passed: The position up to which each has read the table's own rows.
        busy: A stream's baseline is being read; it may see a state from before a row was flagged.
        doubt: The reason that a stream's position is not known; empty if all are known.
    """

    passed: Sequence[ReadPosition] = ()
    busy: bool = False
    doubt: str = ""


@dataclass(frozen=True)
class _Read:
    """A relation that a stream reads by a timestamp.

    `passed` is None if its checkpoint has no watermark.
    """

    stream: str
    relation: str
    passed: ReadPosition | None


def readers_of(context: DatabaseContext, session: Session, plan: StreamPlan, server: str) -> Readers:
    """Return the streams, including the plan's, that read the table on `server` by a timestamp."""
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
    here = [row for row in rows if connector.catalog.may_share(server, row.checkpoint[Entry.SERVER]["identity"])]
    reads = [read for row in here for read in _reads(row)]
    overlap = connector.catalog.kin(session.connection, plan.table, sorted({read.relation for read in reads}))
    for read in reads:
        doubt = _doubt(read, plan, overlap[read.relation])
        if doubt:
            return Readers(doubt=f"stream {read.stream} {doubt}")
    return Readers([read.passed for read in reads if read.passed and overlap[read.relation]])


def _stores(context: DatabaseContext, session: Session) -> Iterator[tuple[Connection, StreamStore]]:
    """Yield the stores that exist, each while its connection is open."""
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
    """Yield the relations that a stream reads by timestamps, by its checkpoint."""
    checkpoint = row.checkpoint
    options: Mapping[str, Any] = checkpoint[Entry.REQUESTED].get("options", {})
    if Entry.WATERMARK in checkpoint:
        relation = ".".join(checkpoint[Entry.SHAPE]["table"])
        yield _read(row, relation, options.get("timestamp"), checkpoint[Entry.WATERMARK])
    named = {fold(name): columns for name, columns in options.get("timestamps") or ()}
    for relation, entry in checkpoint.get(Entry.TABLE_WATERMARKS, {}).items():
        yield _read(row, relation, named.get(fold(relation)), entry)


def _read(row: StreamRow, relation: str, columns: Any, entry: Mapping[str, Any]) -> _Read:
    names = (columns,) if isinstance(columns, str) else tuple(columns or ())
    zone = row.checkpoint[Entry.REQUESTED].get("options", {}).get("zone")
    return _Read(
        row.stream, relation, ReadPosition(names, zone, entry["at"]) if names and entry["at"] is not None else None
    )


def _doubt(read: _Read, plan: StreamPlan, overlap: str) -> str:
    """Return why it is not known which of the table's rows a stream has read.

    It is empty if it is known, or if none.
    """
    if overlap == "through":
        return f"reads it through {read.relation}, and it cannot be known how far"
    if overlap and read.passed is None:
        return f"reads {read.relation} by a timestamp, and has read nothing yet"
    if overlap and read.passed and not read.passed.fits(plan.table):
        return f"reads {read.relation} by {', '.join(read.passed.names)}, which {plan.table.label} does not have"
    return ""
