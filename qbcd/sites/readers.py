"""Who else reads a table by a time-stamp, and how far: a purge may take away no row that one of them has yet to see.

Asked are the streams in this schema of qbcd's, those whose replica is under Spark, and those that the project's other
sources keep. A stream that compares all rows is none of them: to it a flagged row that is gone is as good as one that
stands (protocol.md 13).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Connection

from qbcd.catalog.source import Session
from qbcd.errors import QbcdError
from qbcd.model import StreamPlan
from qbcd.state import StreamRow, StreamStore, holder
from qbcd.strategies.passed import Passed
from qbcd.strategies.vbd_delta import fold

if TYPE_CHECKING:
    from qbcd.sites.database import DatabaseSite


@dataclass(frozen=True)
class Readers:
    """What is known of those who read a table.

    Attributes:
        passed: Up to where each has read the rows themselves.
        busy: Some stream's baseline is being taken: it may be of a state from before a row was flagged.
        doubt: Why it cannot be known what some stream has read; empty where it can.
    """

    passed: Sequence[Passed] = ()
    busy: bool = False
    doubt: str = ""


@dataclass(frozen=True)
class _Read:
    """One relation that a stream reads by a time-stamp; `passed` is None where nothing tells by which."""

    stream: str
    relation: str
    passed: Passed | None


def readers_of(site: DatabaseSite, session: Session, plan: StreamPlan, server: str) -> Readers:
    """Those who read the plan's table on `server` by a time-stamp, the plan's own stream among them."""
    rows: list[StreamRow] = []
    try:
        for conn, store in _stores(site, session):
            known = store.streams(conn)
            if any(holder(conn, store, row.stream) for row in known if not row.prepared):
                return Readers(busy=True)
            rows += [row for row in known if row.prepared]
    except QbcdError as error:
        return Readers(doubt=f"not all streams of this project could be asked how far they have read it: {error.what}")
    connector = site.source.connector
    here = [row for row in rows if connector.may_share(server, row.checkpoint["server"]["identity"])]
    reads = [read for row in here for read in _reads(row)]
    kin = connector.kin(session.connection, plan.table, sorted({read.relation for read in reads}))
    for read in reads:
        doubt = _doubt(read, plan, kin[read.relation])
        if doubt:
            return Readers(doubt=f"stream {read.stream} {doubt}")
    return Readers([read.passed for read in reads if read.passed and kin[read.relation]])


def _stores(site: DatabaseSite, session: Session) -> Iterator[tuple[Connection, StreamStore]]:
    """The stores that exist, each while its connection is open."""
    yield session.connection, site.store
    with site.project.read() as conn:
        if site.project.store.exists(conn):
            yield conn, site.project.store
    for other in site.others():
        store = StreamStore(other.schema)
        with other.read(site.stream) as there:
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
    return _Read(row.stream, relation, Passed(names, zone, mark["at"]) if names and mark["at"] is not None else None)


def _doubt(read: _Read, plan: StreamPlan, kin: str) -> str:
    """Why it cannot be known which of the table's rows a stream has read; empty where it can, or reads none."""
    if kin == "through":
        return f"reads it through {read.relation}, and it cannot be known how far"
    if kin and read.passed is None:
        return f"reads {read.relation} by a time-stamp, and has read nothing yet"
    if kin and read.passed and not read.passed.fits(plan.table):
        return f"reads {read.relation} by {', '.join(read.passed.names)}, which {plan.table.label} has not"
    return ""
