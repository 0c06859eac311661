"""A source: its address, its connector, and pinned sessions on it for small control queries.

Rows in bulk go through Spark (`Source.jdbc`). Sessions run the catalog queries, DDL, checksums and strategies with a
source replica.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, Connection, CursorResult, Engine, Row
from sqlalchemy.exc import PendingRollbackError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool
from typing_extensions import override

from qbcd.catalog.expected_tables import ExpectedTables
from qbcd.common import waits
from qbcd.config.masking import Masking
from qbcd.connectors.base import Connector
from qbcd.connectors.error_templates import pooled
from qbcd.connectors.facts import Fetch
from qbcd.connectors.limited_drivers import limit_waits, open_another, own_waits, run_apart, run_with_next
from qbcd.connectors.queries import SupportsIncrementalQueries
from qbcd.connectors.sessions import SupportsSessionPool, SupportsSnapshots
from qbcd.connectors.wait_limits import WaitLimit, silence_below
from qbcd.errors import QbcdError, SourceError, SourceSilent
from qbcd.model import Statement, Table

MARGIN = 30  # seconds after the server's time limit in which its error must arrive
UNLIMITED = 86_400  # seconds of the longest wait for a statement that the server does not limit
_POOL: Mapping[str, Any] = {"poolclass": QueuePool, "pool_size": 16, "max_overflow": -1}


class Session:
    """One transaction on a source.

    Attributes:
        connection: SQLAlchemy's connection, for statements in SQLAlchemy Core. The context manager commits and closes
            it.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def rows(self, statement: Statement | str) -> list[Row[Any]]:
        """Return all rows of a query."""
        return list(self._execute(statement).fetchall())

    def one(self, statement: Statement | str) -> Row[Any]:
        """Return the one row of a query.

        Raises:
            SourceError: The query returned no row, or more than one.
        """
        found = self.rows(statement)
        if len(found) != 1:
            raise SourceError(f"a query that must return one row returned {len(found)}")
        return found[0]

    def run(self, statement: Statement | str) -> int:
        """Execute a statement.

        Return the number of rows that it changed, -1 if it has no such number.
        """
        result = self._execute(statement)
        counted = isinstance(statement, Statement) and statement.counted
        changed = int(result.scalar_one() if counted else result.rowcount)
        result.close()
        return changed

    def run_with_next(self, statement: str) -> None:
        """Execute a statement without a result.

        See :func:`~qbcd.connectors.limited_drivers.run_with_next`.
        """
        run_with_next(self.connection, statement)

    def rollback(self) -> None:
        """Roll the transaction back, including its pins; run nothing more in this session."""
        self.connection.rollback()

    def streamed(self, statement: Statement) -> CursorResult[Any]:
        """Return the result of a query, of which few rows are held at a time if the driver can."""
        return self._execute(statement, stream_results=True)

    def _execute(self, statement: Statement | str, **options: Any) -> CursorResult[Any]:
        if isinstance(statement, Statement) and statement.params:
            parameters = dict(statement.params)
            return self.connection.exec_driver_sql(statement.sql, parameters, execution_options=options)
        sql = statement.sql if isinstance(statement, Statement) else statement
        # Without parameters the driver must not search for placeholders: a percent sign of the user's has no meaning.
        return self.connection.exec_driver_sql(sql, execution_options={**options, "no_parameters": True})


@dataclass(frozen=True)
class SessionOptions:
    """Options of a source's sessions.

    Attributes:
        fetchsize: Rows that a JDBC reader requests at a time; None bounds them by their bytes.
        properties: The user's JDBC properties.
        statement_timeout: Seconds after which the source cancels a statement, 0 for never.
        socket_timeout: Seconds after which a connection on which no answer comes is closed; None for the default.
    """

    fetchsize: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    statement_timeout: int = 0
    socket_timeout: int | None = None

    @property
    def longest_wait(self) -> int:
        """Seconds of the longest wait for an answer: a little longer than the server's own limit."""
        if self.socket_timeout is not None:
            return self.socket_timeout
        return self.statement_timeout + MARGIN if self.statement_timeout else UNLIMITED


@dataclass
class Sent:
    """The statements and round trips of a stream's sessions on a source."""

    statements: int = 0
    round_trips: int = 0

    def since(self, earlier: Sent) -> Sent:
        """Return the statements and round trips after `earlier`."""
        return Sent(self.statements - earlier.statements, self.round_trips - earlier.round_trips)


@dataclass
class Round:
    """The connections of one round of polls of a source; after a failure no other is tried.

    Attributes:
        opened: Number of sessions that were opened.
        failed: The error of the connection that failed.
    """

    opened: int = 0
    failed: QbcdError | None = None

    def answer(self, stream: str) -> QbcdError:
        """Return the error of the failed connection for another stream."""
        assert self.failed is not None
        error = copy.copy(self.failed)
        error.stream, error.__traceback__ = stream, None
        return error


class Source:
    """A configured source: connects on first use.

    No session outlives its `with` block, or all blocks of `pooled`.

    Args:
        name: The source's name in the configuration.
        url: SQLAlchemy URL with the password.
        schema: Schema of qbcd's own tables, for strategies with a source replica.
        place: ``file:line: key.path`` of the source's configuration, for errors in it.

    Attributes:
        masking: Masks secrets in messages of drivers and servers; a project adds secrets that are not in this URL.
        expected: Tables that the polls of a round need.
    """

    has_sessions = True  # it is a database

    def __init__(
        self,
        name: str,
        url: URL,
        connector: Connector,
        schema: str,
        *,
        options: SessionOptions = SessionOptions(),
        place: str = "",
    ) -> None:
        self.name = name
        self.connector = connector
        self.schema = schema
        self._url = url
        self._options = options
        self._place = place
        self.masking = Masking.of_url(url, name, schema)
        self._engines: dict[
            tuple[str, bool, bool], Engine
        ] = {}  # by (stream, read-only, pooled); pooled: of all streams
        self._proven = False  # the sessions are not shared with other clients
        self._pooling = 0  # blocks of `pooled`
        self._narrowed: dict[str, int] = {}  # by stream, the place among the ways to fetch
        self._sent: dict[str, Sent] = {}  # by stream
        self._lock = threading.Lock()
        self._thread = threading.local()
        self.expected = ExpectedTables()

    @override
    def __repr__(self) -> str:
        return f"Source({self.name!r}, {self._url.render_as_string(hide_password=True)!r})"

    @property
    def label(self) -> str:
        """The source's name, host and port, for messages."""
        place = self._url.host or ""
        if place and self._url.port:
            place = f"{place}:{self._url.port}"
        return f"{self.name} ({place})" if place else self.name

    @property
    def home(self) -> str:
        """The schema of tables without one, where the URL alone decides; otherwise empty."""
        return self.connector.sessions.home(self._url)

    def may_share_server(self, other: Source) -> bool:
        """Return True if the source may be on the same server, and its streams are in another place."""
        alike = self.connector.name == other.connector.name
        return alike and (self._url, self.schema) != (other._url, other.schema)

    def sent(self, stream: str) -> Sent:
        """Return the statements and round trips of the stream's sessions so far."""
        with self._lock:
            return replace(self._sent.get(stream, Sent()))

    @contextmanager
    def within(self, polls: Round) -> Iterator[None]:
        """Count this thread's sessions in the block into `polls`; refuse all after a failed one.

        Other threads, such as those that renew leases, still connect by themselves.
        """
        before = getattr(self._thread, "round", None)
        self._thread.round = polls
        try:
            yield
        finally:
            self._thread.round = before

    def count_for(self, stream: str) -> None:
        """Count what this thread sends for a stream, in sessions that another thread opened."""
        self._thread.stream = stream

    @contextmanager
    def read(
        self, stream: str, *, snapshot: str | None = None, level: str | None = None, apart: bool = False
    ) -> Iterator[Session]:
        """A read-only transaction that sees one state of the source.

        Args:
            stream: The stream's name; it names the session in the source's own monitoring.
            snapshot: Name of an exported snapshot to read instead of the present state.
            level: Another isolation level: with ``READ COMMITTED`` each statement sees its own state, and the source
                need not keep any of them.
            apart: Each statement may be a transaction of its own. That is a round trip less, and no lock is kept.

        Raises:
            QbcdError: The connector's message for an error of the source or its driver.
        """
        with self._session(stream, read_only=True, snapshot=snapshot, level=level) as session:
            if apart:
                run_apart(session.connection)
            yield session

    @contextmanager
    def write(self, stream: str, *, steady: bool = False) -> Iterator[Session]:
        """A read-write transaction at READ COMMITTED: an exception in the block rolls it back.

        Args:
            steady: All statements see one state of the source, that of the first statement that reads.

        Raises:
            QbcdError: As `read`; an error of the commit itself means that its outcome is unknown
                (docs/design/protocol.md#rule-4).
        """
        with self._session(stream, read_only=False, snapshot=None, steady=steady) as session:
            yield session

    @contextmanager
    def pooled(self) -> Iterator[None]:
        """Keep sessions within the block for all streams; each is reset between uses.

        A new session is often a new server process with an empty catalog cache, and a poll has several transactions.
        If the connector cannot reset a session, each one is new.
        """
        if not self.connector.supports(SupportsSessionPool):
            yield
            return
        with self._lock:
            self._pooling += 1
        try:
            yield
        finally:
            with self._lock:
                self._pooling -= 1
                ended = not self._pooling
            if ended:
                self.rest()

    def clock_ms(self, stream: str) -> int:
        """Return the source's clock, in milliseconds since 1970 UTC."""
        with self.read(stream) as session:
            return self.connector.catalog.clock_ms(session.connection)

    def rest(self) -> None:
        """End the sessions that `pooled` keeps and nobody uses."""
        with self._lock:
            engines = [engine for (_, _, kept), engine in self._engines.items() if kept]
        for engine in engines:  # the engines stay: they know facts about the server that statements have read
            engine.dispose()

    def expected_table(self, stream: str, schema: str, name: str) -> Table | None:
        """Return a table as the catalog showed it in this round; None if not expected or missing."""

        def probe(names: Sequence[tuple[str, str]]) -> list[Table | None]:
            catalog = self.connector.catalog
            with self.read(stream, apart=True) as session:
                # A table that is locked must not keep the polls of others waiting: their polls ask about it.
                asked = names[:1] if catalog.has_locked_tables(session.connection) else names
                found = catalog.probe_tables(session.connection, asked)
            return [*found, *[None] * (len(names) - len(asked))]

        return self.expected.get((schema, name), probe)

    def jdbc(self, stream: str) -> tuple[str, dict[str, str]]:
        """Return JDBC URL and options of a read-only Spark read.

        The caller adds the pins as ``sessionInitStatement``.
        """
        with self._located():
            jdbc_url = self.connector.sessions.jdbc_url(
                self._url,
                {**self.connector.driver.limits(self._options.longest_wait), **self._options.properties},
                stream=stream,
                statement_timeout=self._options.statement_timeout,
            )
            fetch = self._fetch(stream)
            return jdbc_url, {**self.connector.sessions.jdbc_options(self._url, fetchsize=fetch.rows), **fetch.options}

    def narrow(self, stream: str) -> bool:
        """Let the stream's JDBC readers of this process hold fewer rows; False if they cannot."""
        narrower = self._narrowed.get(stream, 0) + 1
        if self._options.fetchsize is not None or narrower >= len(self.connector.sessions.fetches()):
            return False
        self._narrowed[stream] = narrower
        return True

    def _fetch(self, stream: str) -> Fetch:
        if self._options.fetchsize is not None:
            return Fetch(self._options.fetchsize)
        return self.connector.sessions.fetches()[self._narrowed.get(stream, 0)]

    def explain(self, error: BaseException, stream: str) -> QbcdError:
        """Return qbcd's error for an error of this source's driver."""
        if isinstance(error, PendingRollbackError) and error.__context__ is not None:
            error = error.__context__  # whose handler used a session that had ended
        if (silence := silence_below(error)) is not None:
            reason = str(silence) or f"no answer for {self._options.longest_wait} s (socket_timeout)"
            remedy = "find out what holds up server or network; if statements need longer, raise `socket_timeout`"
            return SourceSilent(f"source {self.label}: {reason}", remedy=remedy, stream=stream)
        explained = self.connector.errors.explain_error(
            error, stream=stream, source=self.label, masked=self.masking.foreign
        )
        return self._place_in(explained)

    def interrupt(self, stream: str, reason: str) -> None:
        """Shut down the sockets of the stream's sessions: all their waits fail now with `reason`."""
        waits.interrupt((self, stream), reason)

    def close(self) -> None:
        """Close SQLAlchemy's engines; the source can be used again."""
        with self._lock:
            engines, self._engines = list(self._engines.values()), {}
        for engine in engines:
            engine.dispose()

    @contextmanager
    def _session(
        self, stream: str, *, read_only: bool, snapshot: str | None, level: str | None = None, steady: bool = False
    ) -> Iterator[Session]:
        engine = self._engine(stream, read_only)
        kept = isinstance(engine.pool, QueuePool)
        self._thread.begin = self._beginning(level) if kept else ()
        pins = (
            self.connector.sessions.pins()
            if snapshot is None
            else self.connector.require(SupportsSnapshots).snapshot_pins(snapshot)
        )
        pins = self.connector.require(SupportsIncrementalQueries).steady_pins() if steady else pins
        failed: Exception | None = None
        try:
            with self._connected(engine, stream) as connection:
                if level is not None and not (kept and self._level_statements(level)):
                    connection.execution_options(isolation_level=level)
                session = Session(connection)
                if pins and (snapshot is not None or steady or not kept):
                    session.run("; ".join(pins))  # otherwise the pool has sent them
                try:
                    yield session
                except SQLAlchemyError:
                    raise
                except Exception as error:
                    failed = error
                    if isinstance(error, SourceSilent):
                        connection.invalidate()  # a rollback would wait again; the server does it by itself
                    raise
                connection.commit()
        except SQLAlchemyError as error:
            if failed is not None:  # the rollback failed too, because the session had ended
                raise failed from failed.__cause__
            raise self.explain(error, stream) from error

    def _connected(self, engine: Engine, stream: str) -> Connection:
        """Open a session; within a round, only if none has failed in it.

        Raises:
            QbcdError: It cannot be opened; `source` is set.
        """
        polls: Round = getattr(self._thread, "round", None) or Round()
        if polls.failed is not None:
            raise polls.answer(stream)
        self._thread.stream = stream
        try:
            connection = engine.connect()
        except SQLAlchemyError as error:
            polls.failed = self.explain(error, stream)
            polls.failed.source = self.name
            raise polls.failed from error
        polls.opened += 1
        return connection

    def _engine(self, stream: str, read_only: bool) -> Engine:
        with self._lock:
            key = ("" if self._pooling else stream, read_only, self._pooling > 0)
            if key not in self._engines:
                with self._located():
                    self._engines[key] = self._make_engine(*key)
            return self._engines[key]

    def _make_engine(self, stream: str, read_only: bool, kept: bool) -> Engine:
        arguments = self.connector.sessions.connect_args(
            self._url, stream=stream, read_only=read_only, statement_timeout=self._options.statement_timeout
        )
        # No session may pass settings or locks on to the next one. Parameters may be rows, so messages omit them.
        engine = create_engine(
            self.connector.sessions.sqlalchemy_url(self._url),
            connect_args=arguments,
            hide_parameters=True,
            **(_POOL if kept else {"poolclass": NullPool}),
            **self.connector.sessions.engine_options(read_only=read_only),
        )
        limit = WaitLimit(self._options.longest_wait, "socket_timeout", owner=(self, stream))
        limit_waits(engine, limit)

        def prove(connection: Any, _record: object) -> None:
            another = partial(open_another, engine, limit, arguments)
            self._refuse_shared(connection, another, stream, read_only)

        self._count(engine)
        # before SQLAlchemy's own first statements, and before any pin
        event.listen(engine, "connect", prove, insert=True)
        if kept:
            self.connector.require(SupportsSessionPool).keep_sessions(engine, self._begin_use)
        return engine

    def _count(self, engine: Engine) -> None:
        """Count what the engine's sessions send; streams share them."""
        event.listen(engine, "before_cursor_execute", lambda *_sent: self._add_sent(1))
        event.listen(engine, "connect", lambda *_opened: self._add_sent(0))
        for ending in ("commit", "rollback"):
            event.listen(engine, ending, lambda _connection: self._add_sent(0))

    def _add_sent(self, statements: int) -> None:
        """Count a round trip for the stream that this thread works on."""
        with self._lock:
            sent = self._sent.setdefault(self._thread.stream, Sent())
            sent.statements += statements
            sent.round_trips += 1

    def _begin_use(self, connection: Any) -> tuple[str, ...]:
        """Give a pooled session to this thread's stream; return the statements that begin its use."""
        stream, begin = self._thread.stream, self._thread.begin
        own_waits(connection, (self, stream))
        if self.connector.require(SupportsSessionPool).begins_apart:
            self._add_sent(1)
        return (*begin, *self.connector.require(SupportsSessionPool).use_name(stream))

    def _beginning(self, level: str | None) -> tuple[str, ...]:
        """Return the pins of a session of the pool, with those of another isolation level."""
        return (*self.connector.sessions.pins(), *(self._level_statements(level) if level else ()))

    def _level_statements(self, level: str) -> tuple[str, ...]:
        return self.connector.require(SupportsSessionPool).use_level(level)

    def _refuse_shared(self, connection: Any, another: Callable[[], Any], stream: str, read_only: bool) -> None:
        """Refuse the source, at its first session, if a pooler lends its sessions to other clients.

        Raises:
            Refused: It does.
        """
        if self._proven:
            return
        timeout = self._options.statement_timeout
        try:
            sign = self.connector.sessions.shared_by(
                connection, another, read_only=read_only, statement_timeout=timeout
            )
            if sign:
                raise pooled(sign, stream, self.label)
        except BaseException:
            connection.close()
            raise
        self._proven = True

    @contextmanager
    def _located(self) -> Iterator[None]:
        try:
            yield
        except QbcdError as error:
            self._place_in(error)
            raise

    def _place_in(self, error: QbcdError) -> QbcdError:
        if self._place and not error.where and error.exit_code == 2:
            error.where = self._place
        return error
