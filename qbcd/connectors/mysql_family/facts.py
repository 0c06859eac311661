"""Facts that MariaDB and MySQL share, and facts that each of them defines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy.engine import Connection
from typing_extensions import override

from qbcd.connectors.facts import DatabaseFacts, JdbcDriver
from qbcd.connectors.mysql_family import types
from qbcd.connectors.mysql_family.expressions import DIALECT
from qbcd.connectors.mysql_family.plans import PlanStep
from qbcd.model import Column

DRIVER_CLASS = "org.mariadb.jdbc.Driver"
MYSQL_DRIVER_CLASS = "com.mysql.cj.jdbc.Driver"


@dataclass(frozen=True)
class Spelling:
    """Session variables that have different names on the two servers.

    Attributes:
        read_only: Session variable that makes transactions read-only.
        isolation: Session variable of the isolation level.
        time_limit: Session variable that limits the time of a statement, and its units per second.
        extra: Further pins.
    """

    read_only: str
    isolation: str
    time_limit: tuple[str, int]
    extra: tuple[str, ...] = ()


def quoted(name: str) -> str:
    """Return `name` as a quoted identifier."""
    return f"`{name.replace('`', '``')}`"


def account(user: str, host: str) -> str:
    """Return an account in the form that GRANT takes."""
    return "@".join("'" + part.replace("'", "''") + "'" for part in (user, host))


def database_pattern(name: str) -> str:
    """Return database `name` in the form that a GRANT on all its tables takes.

    There ``_`` and ``%`` are wildcards.
    """
    return quoted(name).replace("_", "\\_").replace("%", "\\%")


class FamilyFacts(DatabaseFacts, ABC):
    """Facts of both servers.

    Attributes:
        spelling: Session variables whose names differ.
        divides_json: JSON_TABLE over a column is right in every statement. MySQL 9.7 refuses some statements, and in
            others has no rows where there are some.
        oldest: (major, minor) of the oldest supported server.
        no_pad: SQL that is true if trailing spaces count under ``collation_name`` of information_schema.columns.
        all_digits: SQL template of the text of a floating point number that reads back as the same number, -0 as 0.
        log_format: SQL of the format of the binary log.
        identity: SQL of the server's identifier, without the database.
        position: Name of the status variable with the position of the redo log, which never falls on one server.
        running: SQL of the age in microseconds of the oldest statement of another session.
        applying: Queries for `value`, each with its meaning. A value is set if the server applies changes of others.
        index_exists: Words of CREATE INDEX that skip an existing index of that name.
    """

    dialect = DIALECT
    driver = JdbcDriver(
        driver_class=DRIVER_CLASS,
        maven="org.mariadb.jdbc:mariadb-java-client:3.5.6",
        jar_names=("mariadb-java-client-3.*.jar", "mariadb-java-client-2.7.*.jar", "mariadb-java-client*.jar"),
        debian="libmariadb-java",
        safe_from=("2.7.6", "3.0.3"),
        timeout_second=1000,
    )
    encoder_version = 1
    identifier_limit = 64
    column_limit = 1017  # of an InnoDB table
    hides_tables = True
    divides_json = True
    full_join = False
    random_key_types = frozenset({"uuid"})
    ranges_per_statement = 200
    # No property that loads code or files, moves the session to another server, or changes TLS. The key of the server
    # encrypts a password on a connection without TLS.
    jdbc_properties = frozenset(
        {
            "allowPublicKeyRetrieval",
            "connectTimeout",
            "maxAllowedPacket",
            "socketTimeout",
            "tcpAbortiveClose",
            "tcpKeepAlive",
            "useCompression",
        }
    )
    spelling: ClassVar[Spelling]
    page_bytes = 16384
    oldest: ClassVar[tuple[int, int]]
    no_pad: ClassVar[str]
    all_digits: ClassVar[str]
    log_format: ClassVar[str]
    identity: ClassVar[str]
    position: ClassVar[str]
    running: ClassVar[str]
    applying: ClassVar[tuple[tuple[str, str], ...]]
    index_exists: ClassVar[str] = ""

    @abstractmethod
    def is_own(self, version: str) -> bool:
        """Return True if a server with version text `version` belongs to this connector."""

    def version_remark(self, release: tuple[int, int]) -> str:
        """Return how far a supported version, (major, minor), was tested.

        Empty if the tests run it or one like it.
        """
        return ""

    @abstractmethod
    def grants_of(self, conn: Connection) -> list[str]:
        """Return the text of everything granted to the session's role and its active roles."""

    @abstractmethod
    def stored_parts(self, conn: Connection, where: Mapping[str, Any]) -> list[tuple[int, str]]:
        """Return id and name of each stored partition of a table.

        Args:
            conn: A session whose role has PROCESS.
            where: `schema` and `name` of the table.
        """

    @abstractmethod
    def plan_steps(self, conn: Connection, sql: str) -> list[PlanStep]:
        """Return the steps of a statement that read tables.

        There are none if the server knows the result without reading.
        """

    @override
    def quote(self, name: str) -> str:
        if name.endswith(" "):
            raise ValueError(f"{name!r} ends with a space, which an identifier of {self.name} must not")
        if name and len(name) <= self.identifier_limit and "\x00" not in name:
            return quoted(name)
        raise ValueError(f"{name!r} cannot be an identifier of {self.name}")

    @override
    def grantee(self, role: str) -> str:
        user, _, host = role.rpartition("@")
        return account(user, host)

    @override
    def can_hold_text(self, column: Column, text: str) -> bool:
        return types.can_hold_text(column, text)
