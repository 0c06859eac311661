"""Targets on a server: sessions with the TLS rules, settings, time limits and messages of sources."""

from __future__ import annotations

from sqlalchemy import create_engine
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.pool import NullPool

from qbcd.config.masking import Masking
from qbcd.connectors import Connector, connector_for
from qbcd.connectors.limited_drivers import Silence, WaitLimit, limit_waits
from qbcd.errors import DeliveryError, QbcdError
from qbcd.sinks.table.databases.engines import EngineDatabase
from qbcd.state.dialects import store_facts

LONGEST_WAIT = 86_400.0  # seconds of one statement


class ServerTarget(EngineDatabase):
    """A database on a server for which qbcd has a connector.

    Attributes:
        settings: Statements that set up a session for writing.
    """

    settings: tuple[str, ...] = ()

    def __init__(self, url: URL, schema: str | None) -> None:
        self.url, self.schema = url, schema
        place = f"{url.host}:{url.port}" if url.host and url.port else url.host or "localhost"
        self.label = f"{url.database} ({place})"
        self.connector: Connector = connector_for(url)
        self.masking = Masking.of_url(url)
        self._store = store_facts(url.get_backend_name())
        self._sessions = self.connector.sessions
        self.dialect = self._sessions.sqlalchemy_url(url).get_dialect()()

    def engine(self, stream: str) -> Engine:
        engine = create_engine(
            self._sessions.sqlalchemy_url(self.url),
            connect_args=self._sessions.connect_args(self.url, stream=stream, read_only=False),
            hide_parameters=True,
            poolclass=NullPool,
            enable_from_linting=False,  # the rows of a result of one row have no key to join by
            **self._sessions.engine_options(read_only=False),
        )
        limit_waits(engine, WaitLimit(LONGEST_WAIT, "the limit of a sink's statement"))
        return engine

    def prepare(self, connection: Connection) -> None:
        pins = "; ".join([*self._sessions.pins(), *self.settings])
        connection.exec_driver_sql(pins, execution_options={"no_parameters": True})
        connection.commit()

    def begin(self, connection: Connection, *, ddl: bool) -> None:
        if ddl and self._store.ddl_lock_sql:
            connection.exec_driver_sql(self._store.ddl_lock_sql)

    def explain(self, error: Exception, stream: str) -> Exception:
        if isinstance(silence := getattr(error, "orig", error), Silence):
            remedy = "find out what holds up server or network; the batch stays pending"
            return DeliveryError(f"{self.label}: {silence}", remedy=remedy, stream=stream)
        found = self.connector.errors.explain_error(
            error, stream=stream, source=self.label, masked=self.masking.foreign
        )
        return as_delivery_error(found)


def as_delivery_error(error: QbcdError) -> DeliveryError:
    """Return an error that a connector explained for a source as that of a target."""
    if isinstance(error, DeliveryError):
        return error
    remedy = error.remedy.replace("the source's url", "the sink's url").replace("of the source", "of the sink")
    return DeliveryError(error.what.removeprefix("source "), remedy=remedy, stream=error.stream)
