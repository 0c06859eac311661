"""Rows of a source through its control driver, into a local database.

Each reader has a thread and a session. It passes rows on in chunks of some megabytes, and few chunks wait at a time, so
that no result is held as a whole.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from qbcd.catalog.source import Session, Source
from qbcd.common import waits
from qbcd.connectors.error_templates import no_unicode
from qbcd.connectors.facts import quoted
from qbcd.connectors.sessions import CHUNK_BYTES, CHUNK_ROWS, SupportsCsvRows, SupportsTextColumns
from qbcd.errors import QbcdError, UnsupportedType
from qbcd.local.columns import Unreadable, csv_batch, text_batch, value_batch
from qbcd.local.database import LocalDatabase
from qbcd.local.errors import explained_errors
from qbcd.local.query import DIALECT, Query, columns_of, duckdb_type
from qbcd.model import Statement
from qbcd.model.wire import Fields

ISOLATION_WITHOUT_SNAPSHOT = "READ COMMITTED"  # the source need not keep old row versions for the session
WAITING = 2 * CHUNK_BYTES  # bytes that wait for the database; readers wait if there are more
Put: TypeAlias = Callable[[pa.Table], None]


@dataclass
class ReadAmount:
    """The rows that were read, and their bytes as Arrow columns."""

    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class SourceReads:
    """Statements on a source whose rows are read together.

    Attributes:
        statements: SELECTs of the same columns.
        snapshot: Name of the exported snapshot that all readers share; None if each statement sees its own state.
        at_once: Number of statements that are read at the same time; one with a session.
        session: An open session that reads all statements, in the state that its transaction sees; None for new ones.
        amount: Receives what was read.
    """

    source: Source
    stream: str
    statements: Sequence[Statement]
    snapshot: str | None = None
    at_once: int = 1
    session: Session | None = None
    amount: ReadAmount = field(default_factory=ReadAmount)


def fetch_rows(database: LocalDatabase, reads: SourceReads, fields: Fields) -> Query:
    """Read the rows of all statements into a new table of `database`.

    Args:
        reads: The statements; they have columns of the fields' names.

    Raises:
        QbcdError: The connector's message for an error of the source or its driver.
        UnsupportedType: A value does not fit its field.
        LocalFailed: The database has no memory or space left.
    """
    connection, names = database.connection, columns_of(fields)
    table = quoted(database.new_name(), DIALECT)
    columns = ", ".join(f"{quoted(name, DIALECT)} {duckdb_type(kind)}" for name, kind in fields)
    with explained_errors(reads.stream):
        connection.execute(f"CREATE TABLE {table} ({columns})")
        for rows in each_chunk(database, reads, fields):
            connection.execute(f"INSERT INTO {table} {rows.sql}")
    return Query(f"SELECT {', '.join(quoted(name, DIALECT) for name in names)} FROM {table}", names)


def each_chunk(database: LocalDatabase, reads: SourceReads, fields: Fields, at_least: int = 0) -> Iterator[Query]:
    """Yield the rows of all statements in chunks, as they come; each one exists until the next.

    Other arguments and errors are those of `fetch_rows`.

    Args:
        at_least: Bytes of a chunk, except the last one.
    """
    connection, chunk, names = database.connection, database.new_name(), columns_of(fields)
    values = [_inserted(quoted(name, DIALECT), kind, reads.source) for name, kind in fields]
    named = ", ".join(f"{value} AS {quoted(name, DIALECT)}" for value, name in zip(values, names, strict=True))
    readers = _Readers(reads, fields)
    with readers.started():
        for rows in _gathered(readers.chunks(), at_least):
            reads.amount.rows, reads.amount.bytes = reads.amount.rows + len(rows), reads.amount.bytes + rows.nbytes
            connection.register(chunk, rows)
            yield Query(f"SELECT {named} FROM {chunk}", names)
            connection.unregister(chunk)


def _gathered(chunks: Iterator[pa.Table], at_least: int) -> Iterator[pa.Table]:
    """Yield tables of at least so many bytes; the last one may be smaller."""
    waiting: list[pa.Table] = []
    for chunk in chunks:
        waiting.append(chunk)
        if sum(one.nbytes for one in waiting) >= at_least:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _inserted(value: str, kind: str, source: Source) -> str:
    """Return SQL of a value of a chunk as it enters the table."""
    hexadecimal = kind == "binary" and source.connector.supports(SupportsCsvRows)
    return f"unhex(substr({value}, 3))" if hexadecimal else value


class _Readers:
    """Threads that read statements, and the chunks that they have read."""

    def __init__(self, reads: SourceReads, fields: Fields) -> None:
        self._reads, self._fields = reads, fields
        self._changed = threading.Condition()
        self._left = deque(reads.statements)
        self._waiting: deque[pa.Table] = deque()
        self._failed: BaseException | None = None
        self._ended = False
        self._cap = waits.capped(math.inf)
        self._running = 1 if reads.session else min(max(1, reads.at_once), len(reads.statements))

    @contextmanager
    def started(self) -> Iterator[None]:
        """Read while the block runs; end all readers with it, also those that wait for the source."""
        with ThreadPoolExecutor(max(1, self._running), thread_name_prefix="qbcd-rows") as pool:
            futures = [pool.submit(self._run) for _ in range(self._running)]
            for future in futures:
                future.add_done_callback(self._done)
            try:
                yield
            finally:
                with self._changed:
                    self._ended = True
                    self._changed.notify_all()
                while wait(futures, timeout=0.1).not_done:  # a reader may be between two waits
                    waits.interrupt(self, "the other readers have ended")

    def chunks(self) -> Iterator[pa.Table]:
        """Yield chunks as they come.

        Raises:
            Exception: The first error of a reader.
        """
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._failed or not self._running)
                if self._failed is not None:
                    raise self._failed
                if not self._waiting:
                    return
                chunk = self._waiting.popleft()
                self._changed.notify_all()
            yield chunk

    def _done(self, reader: Future[None]) -> None:
        with self._changed:
            self._failed = self._failed or reader.exception()
            self._running -= 1
            self._changed.notify_all()

    def _run(self) -> None:
        with waits.of_thread(self), waits.at_most(self._cap), suppress(_Ended):
            self._read()

    def _read(self) -> None:
        reads = self._reads
        level = None if reads.snapshot else ISOLATION_WITHOUT_SNAPSHOT
        reads.source.count_for(reads.stream)
        opened = reads.source.read(reads.stream, snapshot=reads.snapshot, level=level)
        with nullcontext(reads.session) if reads.session else opened as session:
            for statement in iter(self._next, None):
                with _explained(session, reads):
                    _read(session, reads, statement, self._fields, self._put)

    def _next(self) -> Statement | None:
        with self._changed:
            return self._left.popleft() if self._left and not self._ended else None

    def _put(self, chunk: pa.Table) -> None:
        with self._changed:
            self._changed.wait_for(lambda: sum(c.nbytes for c in self._waiting) < WAITING or self._ended)
            if self._ended:
                raise _Ended
            self._waiting.append(chunk)
            self._changed.notify_all()


class _Ended(Exception):
    """The rows are no longer wanted."""


@contextmanager
def _explained(session: Session, reads: SourceReads) -> Iterator[None]:
    """In the block, give up the session after an error, and explain the error.

    The driver would read the rest of the result first.
    """
    connection = session.connection
    try:
        yield
    except BaseException as error:
        connection.invalidate()
        if isinstance(error, connection.dialect.loaded_dbapi.Error):
            raise reads.source.explain(error, reads.stream) from error
        if isinstance(error, Unreadable):
            raise _misfit(error, reads) from error
        raise


def _misfit(error: Unreadable, reads: SourceReads) -> QbcdError:
    label = reads.source.label
    if error.no_unicode:
        return no_unicode(str(error), reads.stream, label)
    remedy = "exclude the column, or set `engine: spark`"
    return UnsupportedType(f"source {label}: {error}", remedy=remedy, stream=reads.stream)


def _read(session: Session, reads: SourceReads, statement: Statement, fields: Fields, put: Put) -> None:
    """Read a statement in the fastest way that the connector has."""
    connector, driver = reads.source.connector, session.connection.connection.driver_connection
    if connector.supports(SupportsCsvRows):
        connector.require(SupportsCsvRows).csv_rows(
            driver, statement, lambda names, lines: put(csv_batch(names, lines, fields))
        )
    elif connector.supports(SupportsTextColumns):
        connector.require(SupportsTextColumns).text_columns(
            driver, statement, lambda columns: put(text_batch(columns, fields))
        )
    else:
        _read_values(session, statement, fields, put)


def _read_values(session: Session, statement: Statement, fields: Fields, put: Put) -> None:
    """Read a statement through the driver's objects.

    Use a cursor of the server if the driver has one.
    """
    result = session.streamed(statement)
    names, size = list(result.keys()), 1
    while rows := result.fetchmany(size):
        chunk = value_batch(dict(zip(names, zip(*rows, strict=True), strict=True)), fields)
        widest = max(1, chunk.nbytes // chunk.num_rows)
        size = min(10 * size, CHUNK_ROWS, max(1, CHUNK_BYTES // widest))
        put(chunk)
