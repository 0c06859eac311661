"""Targets on a server.

Their sessions have the TLS rules, settings, time limits and messages of sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from sqlalchemy import create_engine
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.pool import NullPool
from typing_extensions import override

from qbcd.catalog.source import SessionOptions
from qbcd.config.masking import Masking
from qbcd.connectors import Connector, connector_for
from qbcd.connectors.limited_drivers import limit_waits
from qbcd.connectors.wait_limits import WaitLimit, silence_below
from qbcd.errors import DeliveryError, QbcdError, SinkSilent, SourceSilent, Undeliverable
from qbcd.sinks.table.databases import watch
from qbcd.sinks.table.databases.base import TargetSession
from qbcd.sinks.table.databases.engines import EngineDatabase, EngineSession
from qbcd.state.dialects import store_facts

_NUMBER = "qbcd_session"  # of a session's facts: its number on the server
_MISFIT_REMEDY = (
    "change the target so that it holds the value; or correct the value at the source and, once a poll has found that, "
    "`qbcd resend` sends the rows; a log needs `qbcd reset --discard` and `qbcd prepare`"
)


class ServerTarget(EngineDatabase):
    """A database on a server for which qbcd has a connector.

    Attributes:
        own_number: The query of a session's number on the server.
        at_work: The query that is true while the session with a number runs a statement.
        settings: Statements that set up a session for writing.
        misfits: Pattern of the server's message about a value that only it can judge, and the words for it.

    Args:
        url: Its URL, with the login.
        schema: The schema of target tables.
        limits: The limits of statements and waits, by the names that sources have for them.
        owner: The owner of the waits, for `qbcd.common.waits.shorten`.
    """

    own_number: str
    at_work: str
    settings: tuple[str, ...] = ()
    misfits: Sequence[tuple[str, str]] = ()

    def __init__(self, url: URL, schema: str | None, limits: SessionOptions, owner: object = None) -> None:
        self.url, self.schema, self._limits, self._owner = url, schema, limits, owner
        place = f"{url.host}:{url.port}" if url.host and url.port else url.host or "localhost"
        self.label = f"{url.database} ({place})"
        self.connector: Connector = connector_for(url)
        self.masking = Masking.of_url(url)
        self._store = store_facts(url.get_backend_name())
        self._sessions = self.connector.sessions
        self.dialect = self._sessions.sqlalchemy_url(url).get_dialect()()

    @override
    def engine(self, stream: str) -> Engine:
        return self._engine(stream, self._limits.longest_wait)

    def _engine(self, stream: str, longest_wait: float) -> Engine:
        engine = create_engine(
            self._sessions.sqlalchemy_url(self.url),
            connect_args=self._sessions.connect_args(
                self.url, stream=stream, read_only=False, statement_timeout=self._limits.statement_timeout
            ),
            hide_parameters=True,
            poolclass=NullPool,
            enable_from_linting=False,  # the rows of a result of one row have no key to join by
            **self._sessions.engine_options(read_only=False),
        )
        limit_waits(engine, WaitLimit(longest_wait, "socket_timeout", owner=self._owner))
        return engine

    @override
    def prepare(self, connection: Connection) -> None:
        pins = "; ".join([*self._sessions.pins(), *self.settings])
        connection.exec_driver_sql(pins, execution_options={"no_parameters": True})
        connection.info[_NUMBER] = connection.exec_driver_sql(self.own_number).scalar_one()
        connection.commit()

    @contextmanager
    @override
    def open(self, stream: str) -> Iterator[TargetSession]:
        with super().open(stream) as session:
            assert isinstance(session, EngineSession)
            number = session.connection.info[_NUMBER]
            driver = session.connection.connection.driver_connection
            with watch.watched(driver, partial(self.is_at_work, stream, number)):
                yield session

    def is_at_work(self, stream: str, number: int) -> bool:
        """Ask in a new session if the one with this number runs a statement."""
        engine = self._engine(stream, min(watch.EVERY_S, self._limits.longest_wait))
        try:
            with engine.connect() as connection:
                return bool(connection.exec_driver_sql(self.at_work, (number,)).scalar())
        finally:
            engine.dispose()

    @override
    def begin(self, connection: Connection, *, ddl: bool) -> None:
        if ddl and self._store.ddl_lock_sql:
            connection.exec_driver_sql(self._store.ddl_lock_sql)

    @override
    def explain(self, error: Exception, stream: str) -> Exception:
        if (silence := silence_below(error)) is not None:
            remedy = (
                "find out what holds up server or network; `socket_timeout` of the sink limits each wait; the batch "
                "stays pending"
            )
            return SinkSilent(f"{self.label}: {silence}", remedy=remedy, stream=stream)
        found = self.connector.errors.explain_error(
            error, stream=stream, source=self.label, masked=self.masking.foreign
        )
        for pattern, words in self.misfits:
            if re.search(pattern, found.what):
                said = found.what.removeprefix(f"source {self.label}: ")
                return Undeliverable(f"{self.label}: {words}: {said}", remedy=_MISFIT_REMEDY, stream=stream)
        return as_delivery_error(found)


def as_delivery_error(error: QbcdError) -> DeliveryError:
    """Return an error that a connector explained for a source as that of a target."""
    if isinstance(error, DeliveryError):
        return error
    remedy = error.remedy.replace("the source's url", "the sink's url").replace("of the source", "of the sink")
    kind = SinkSilent if isinstance(error, SourceSilent) else DeliveryError
    return kind(error.what.removeprefix("source "), remedy=remedy, stream=error.stream)
