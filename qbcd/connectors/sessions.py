"""Sessions on a source: URLs, the driver's arguments, pinned settings and locks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy.engine import URL, Connection, Engine

from qbcd.connectors.facts import Collaborator, Fetch
from qbcd.model import Statement, Table

TextColumns: TypeAlias = Mapping[str, Sequence[bytes | None]]  # by the columns' names; texts are in UTF-8

# Most rows and bytes that a reader holds before it passes them on; one row may be longer.
CHUNK_ROWS, CHUNK_BYTES = 20_000, 8_000_000


class Sessions(Collaborator, ABC):
    """Sessions that SQLAlchemy and a JDBC driver open."""

    @abstractmethod
    def sqlalchemy_url(self, url: URL) -> URL:
        """Return the URL with the driver that qbcd uses; TLS settings are kept."""

    @abstractmethod
    def connect_args(self, url: URL, *, stream: str, read_only: bool, statement_timeout: int = 0) -> dict[str, Any]:
        """Return arguments of the driver's connect(): application name, timeouts, access mode.

        Args:
            url: The source's URL; its options that `sqlalchemy_url` leaves out belong here.
            stream: Names the session in the source's monitoring.
            read_only: The session only reads.
            statement_timeout: Seconds after which the source cancels a statement, 0 for never.
        """

    def engine_options(self, *, read_only: bool) -> dict[str, Any]:
        """Return arguments of create_engine(), by default none: isolation, access mode."""
        return {}

    def shared_by(self, connection: Any, another: Callable[[], Any], *, read_only: bool, statement_timeout: int) -> str:
        """Return the sign that a pooler lends this session to other clients too.

        Empty if it is the client's own.

        Their statements would meet the settings of this one. So nothing is set before this check, and by it.

        Args:
            connection: The driver's new connection; no transaction is open before or after.
            another: Opens another connection of the same kind; the caller of it closes it.
            read_only: As for `connect_args`.
            statement_timeout: As for `connect_args`.
        """
        return ""

    def pins(self) -> tuple[str, ...]:
        """Return statements that fix the settings on which text output and name resolution depend.

        They are sent as one text. Default: there are no such settings.
        """
        return ()

    def home(self, url: URL) -> str:
        """Return the schema of tables without one, where the URL alone decides; otherwise empty."""
        return ""

    @abstractmethod
    def jdbc_url(
        self, url: URL, properties: Mapping[str, str] | None = None, *, stream: str = "", statement_timeout: int = 0
    ) -> str:
        """Return the JDBC URL of a read-only session, without user and password.

        The driver's properties are part of it. If predicates split a read, Spark passes options in lower case, which
        drivers do not recognize.

        Args:
            properties: The user's JDBC properties, checked against `jdbc_properties`.
            stream: Names the session in the source's monitoring.
            statement_timeout: Seconds after which the source cancels a statement, 0 for never.
        """

    def jdbc_options(self, url: URL, *, fetchsize: int) -> dict[str, str]:
        """Return options of a Spark JDBC read in addition to the URL, with names in lower case."""
        return self.facts.driver.options(url, fetchsize)

    def fetches(self) -> tuple[Fetch, ...]:
        """Return ways to request rows, the fastest first.

        Each needs less memory for wide rows than the one before.
        """
        return (Fetch(10_000), Fetch(200), Fetch(1))

    def jdbc_query(self, sql: str) -> str:
        """Return `sql` in the form that the JDBC driver needs.

        Its parser may take operators of the database for placeholders.
        """
        return sql

    def lock_against_rewrite(self, table: Table) -> str | None:
        """Return the statement that blocks DDL on `table` until the transaction ends.

        Default: None.
        """
        return None


class SupportsSnapshots(ABC):
    """Other sessions can read in a transaction's snapshot; otherwise each statement has its own."""

    @abstractmethod
    def export_snapshot(self, conn: Connection) -> str:
        """Return the name of the transaction's snapshot, for use in other sessions."""

    @abstractmethod
    def snapshot_pins(self, snapshot: str) -> tuple[str, ...]:
        """Return statements that put a new transaction on a snapshot, `Sessions.pins` first."""


class SupportsSessionPool(ABC):
    """Sessions can be reset, so that transactions of a source's streams share them.

    Attributes:
        begins_apart: The statements that begin a use are a round trip of their own.
    """

    begins_apart = True

    @abstractmethod
    def keep_sessions(self, engine: Engine, begin: Callable[[Any], Sequence[str]]) -> None:
        """Check the sessions of a pooled `engine` on checkout, reset them, and begin their use.

        After checkout a session is as new: no settings but those of `begin`, no locks, no temporary tables.

        Args:
            begin: Called at each checkout with the driver's connection; returns the statements that begin a use:
                the pins.
        """

    def use_name(self, stream: str) -> tuple[str, ...]:
        """Return statements that name a session after its stream in the source's own monitoring."""
        return ()

    def use_level(self, level: str) -> tuple[str, ...]:
        """Return statements that give a use another isolation level.

        There are none if the driver does that without one.
        """
        return ()


class SupportsCsvRows(ABC):
    """The server itself writes the rows of a query as CSV."""

    @abstractmethod
    def csv_rows(self, connection: Any, statement: Statement, take: Callable[[Sequence[str], bytes], None]) -> None:
        """Read the rows of a query, which are not held as a whole.

        NULL is nothing, an empty text is ``""``, booleans are ``t`` and ``f``, binary is a backslash, ``x`` and
        hexadecimal digits. Texts are in UTF-8, or in the bytes of a database without an encoding.

        Args:
            connection: The driver's connection, in a transaction. If `take` fails, it can no longer be used.
            take: Called with the columns' names and some whole lines; between calls the wait for the server is limited.
        """


class SupportsTextColumns(ABC):
    """The server's own text of values, read without the driver.

    The driver would make an object of each value.
    """

    @abstractmethod
    def text_columns(self, connection: Any, statement: Statement, take: Callable[[TextColumns], None]) -> None:
        """Read the rows of a query, which are not held as a whole.

        Args:
            connection: The driver's connection, in a transaction. If `take` fails, it can no longer be used.
            take: Called with the columns of some rows; between calls the wait for the server is limited.
        """
