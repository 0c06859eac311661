"""Facts of a database, and values in which connectors describe roles, tables and columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from sqlalchemy.engine import URL
from sqlglot import exp

from qbcd.errors import ConfigError
from qbcd.model import Column, Table


class Alike(IntEnum):
    """The meaning of equality for a column: the properties that equal values share."""

    SAME = 0  # they are identical
    EQUAL = 1  # they are equal by =
    OWN = 2  # they are equal by an operator of their type, which = does not find
    COLLATED = 3  # they are equal by = under their collation
    VARIED = 4  # as COLLATED, and the other side of the comparison may change the collation


@dataclass(frozen=True)
class Fetch:
    """A way in which a JDBC reader requests rows; it holds those of one request in memory.

    Attributes:
        rows: Rows of the first request, and of all if the driver does not count bytes.
        options: The driver's own properties, by which it counts bytes.
    """

    rows: int
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ListedTable:
    """A table in the catalog's list.

    Attributes:
        parent: Schema and name of the outermost table whose rows include those of this one; None without one.
    """

    schema: str
    name: str
    parent: tuple[str, str] | None = None
    is_partition: bool = False


@dataclass(frozen=True)
class JdbcDriver:
    """The JDBC driver of a database, and how qbcd finds its jar.

    Attributes:
        maven: ``group:artifact:version``.
        jar_names: Glob patterns of jar file names, best first.
        debian: Debian's package that installs the jar under /usr/share/java.
        safe_from: First release without known vulnerabilities in each release line; older jars are skipped.
        timeout_second: One second in the units of its property `socketTimeout`; 0 if it has none.
        sha256: SHA-256 of the jar at these coordinates, in hexadecimal digits; empty if it is not checked.
        pinned: A jar from any place must have this checksum; otherwise those that are named after the coordinates.
    """

    driver_class: str
    maven: str
    jar_names: tuple[str, ...]
    debian: str
    safe_from: tuple[str, ...] = ()
    timeout_second: int = 0
    sha256: str = ""
    pinned: bool = False

    def limits(self, seconds: int) -> dict[str, str]:
        """Return properties that limit each wait for the server to `seconds`."""
        return {"socketTimeout": str(seconds * self.timeout_second)} if self.timeout_second else {}

    def options(self, url: URL, fetchsize: int) -> dict[str, str]:
        """Return driver, user, password and fetch size of a Spark JDBC read.

        Raises:
            ConfigError: `fetchsize` is below 1. The driver would then keep the whole result in memory, or read it
                outside the transaction with the pinned snapshot.
        """
        if fetchsize < 1:
            raise ConfigError(f"jdbc.fetchsize is {fetchsize}", remedy="use 1 or more; 10000 is a good value")
        options = {"driver": self.driver_class, "fetchsize": str(fetchsize)}
        if url.username:
            options["user"] = url.username
        if url.password is not None:
            options["password"] = str(url.password)
        return options


def quoted(name: str, dialect: str) -> str:
    """Return `name` as a quoted identifier of sqlglot's `dialect`."""
    return exp.to_identifier(name, quoted=True).sql(dialect=dialect)


class DatabaseFacts:
    """Names, limits and behavior of one database; its connector and collaborators share them.

    Attributes:
        name: Name of the database, for messages.
        dialect: sqlglot's name of its dialect.
        driver: The JDBC driver that qbcd uses.
        other_drivers: Drivers that qbcd uses if the user provides their jar.
        sqlalchemy_driver: ``postgresql+psycopg2``.
        jdbc_properties: Allow-list of the JDBC properties that users may set.
        encoder_version: Version of `row_digest` and `key_identity`. A new one is a change of definition
            (docs/design/protocol.md#rule-16).
        identifier_limit: Maximum length of an identifier.
        column_limit: Maximum number of columns of a table.
        hides_tables: The catalog shows a role only tables on which it has a right.
        unqualified_names: Sessions find tables without their schema.
        full_join: The database has FULL JOIN.
        random_key_types: Base types whose values are generated in no order.
        ranges_per_statement: Maximum number of ranges in one statement.
        page_bytes: Bytes of a page, in which the catalog counts sizes.
    """

    name: str
    dialect: str
    driver: JdbcDriver
    other_drivers: tuple[JdbcDriver, ...] = ()
    sqlalchemy_driver: str
    jdbc_properties: frozenset[str]
    encoder_version: int
    identifier_limit: int
    column_limit: int
    hides_tables = False
    unqualified_names = True
    full_join: bool
    random_key_types: frozenset[str] = frozenset()
    ranges_per_statement: int
    page_bytes = 8192

    def quote(self, name: str) -> str:
        """Return `name` as a quoted identifier. Names enter SQL only through this function.

        Raises:
            ValueError: The name is empty, too long, or contains a NUL character.
        """
        if not name or "\x00" in name or len(name.encode()) > self.identifier_limit:
            raise ValueError(f"{name!r} cannot be an identifier of {self.name}")
        return quoted(name, self.dialect)

    def quoted_table(self, table: Table) -> str:
        """Return schema and name of `table` as SQL."""
        return f"{self.quote(table.schema)}.{self.quote(table.name)}"

    def grantee(self, role: str) -> str:
        """Return `role`, named as by the server, in the form that GRANT takes."""
        return self.quote(role)

    def can_hold_text(self, column: Column, text: str) -> bool:
        """Return False if `column` cannot have all characters of `text`.

        A statement that compares them would fail.
        """
        return "\x00" not in text


class Collaborator:
    """A part of a connector with one subject. It uses names and limits of the database's facts."""

    def __init__(self, facts: DatabaseFacts) -> None:
        self.facts = facts


@dataclass(frozen=True)
class Privileges:
    """The role's rights, as far as a plan needs them.

    Attributes:
        select: It may read every requested column.
        schema_usage: It may use the table's schema.
        lock: It may keep DDL away from the table (`lock_against_rewrite`).
    """

    select: bool
    missing_columns: tuple[str, ...]
    create_schema: bool
    own_schema: bool
    role: str
    schema_usage: bool = True
    lock: bool = True


@dataclass(frozen=True)
class Part:
    """A partition or child of a table that has rows.

    Attributes:
        label: Its name in messages.
        table: Schema and name by which the role may read its rows alone; None if it may not.
    """

    label: str
    table: tuple[str, str] | None = None


@dataclass(frozen=True)
class HighWater:
    """The time up to which the source's own timestamps are complete, read before the rows.

    See docs/design/protocol.md#rule-6.

    Both times are texts ``YYYY-MM-DD HH:MM:SS.ffffff`` in UTC.

    Attributes:
        clock: The source's clock, read first.
        oldest: Start of the oldest open transaction or statement, or None if none is open.
        held: Why the watermark must not move now, or an empty string.
        blind: What the source does not show, or an empty string. Then only an explicit `lag` bounds what is missed.
        lacks_right: The source does not show it because the role lacks the right of `sessions_grant`.
    """

    clock: str
    oldest: str | None
    held: str = ""
    blind: str = ""
    lacks_right: bool = False


@dataclass(frozen=True)
class Counter:
    """The catalog's proof about a column whose numbers must grow over the whole table.

    See docs/design/protocol.md#rule-7.

    Attributes:
        proven: Proven: the server generates the numbers, each larger than all earlier ones.
        refused: Why its numbers are known to be out of order, or an empty string.
        reached: The last number that the server generated; None if it does not show it.
    """

    proven: bool
    refused: str = ""
    reached: int | None = None


@dataclass(frozen=True)
class Index:
    """A usable index of a table.

    Attributes:
        columns: Key columns in order; an expression, or a prefix of a column, has an empty name.
        included: Further columns that can be read from the index.
        ordered: It can be searched for an interval of its first columns.
        partial: It contains only some of the rows.
    """

    name: str
    columns: tuple[str, ...]
    included: tuple[str, ...]
    ordered: bool
    unique: bool
    partial: bool
