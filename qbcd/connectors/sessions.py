"""Sessions on a source: URLs, the driver's arguments, pinned settings and locks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import URL, Connection, Engine

from qbcd.connectors.facts import Collaborator
from qbcd.model import Table


class Sessions(Collaborator, ABC):
    """The sessions that SQLAlchemy and a JDBC driver open."""

    @abstractmethod
    def sqlalchemy_url(self, url: URL) -> URL:
        """Return the URL with the driver that qbcd uses; TLS settings are kept."""

    @abstractmethod
    def connect_args(self, url: URL, *, stream: str, read_only: bool, statement_timeout: int = 0) -> dict[str, Any]:
        """Return arguments of the driver's connect(): application name, time-outs (seconds, 0 is none), access mode.

        `url` is the source's own; options that `sqlalchemy_url` leaves out belong here.
        """

    @abstractmethod
    def engine_options(self, *, read_only: bool) -> dict[str, Any]:
        """Return arguments of create_engine(): isolation and access mode of a transaction that reads, or detects."""

    @abstractmethod
    def pins(self) -> tuple[str, ...]:
        """Return statements that make text output and name resolution independent of the session's settings.

        They are sent as one.
        """

    @abstractmethod
    def jdbc_url(
        self, url: URL, properties: Mapping[str, str] | None = None, *, stream: str = "", statement_timeout: int = 0
    ) -> str:
        """Return the JDBC URL of a read-only session, without user and password.

        The driver's properties are part of it: Spark passes options in lower case where predicates split a read, and
        drivers do not know them so.

        Args:
            url: The source's URL.
            properties: The user's JDBC properties, checked against `jdbc_properties`.
            stream: Names the session in the source's own monitoring.
            statement_timeout: Seconds after which the source cancels a statement, 0 for never.
        """

    def jdbc_options(self, url: URL, *, fetchsize: int) -> dict[str, str]:
        """Return options of a Spark JDBC read in addition to the URL, with names in lower case."""
        return self.facts.driver.options(url, fetchsize)

    def jdbc_query(self, sql: str) -> str:
        """Return `sql` as the JDBC driver takes it: its parser may see placeholders in the database's own operators."""
        return sql

    @abstractmethod
    def lock_against_rewrite(self, table: Table) -> str | None:
        """Return the statement that keeps DDL away from `table` until the transaction ends; None where none exists."""


class SupportsSnapshots(ABC):
    """Other sessions can read in a transaction's snapshot; elsewhere each statement has its own."""

    @abstractmethod
    def export_snapshot(self, conn: Connection) -> str:
        """Return the name of the transaction's snapshot, for other sessions."""

    @abstractmethod
    def snapshot_pins(self, snapshot: str) -> tuple[str, ...]:
        """Return statements that put a fresh transaction on an exported snapshot, `Sessions.pins` first."""


class SupportsSessionPool(ABC):
    """Sessions can be reset, so that several transactions of one stream use the same one."""

    @abstractmethod
    def keep_sessions(self, engine: Engine) -> None:
        """Reset the sessions of a pooled `engine` when they are returned, and check them when they are taken again.

        A session that is taken again is as it began: no settings, no locks, no temporary tables.
        """
