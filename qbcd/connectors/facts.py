"""Facts of a database, and the frozen values in which connectors describe roles, tables and columns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from sqlalchemy.engine import URL
from sqlglot import exp

from qbcd.errors import ConfigError
from qbcd.model import Table


class Alike(IntEnum):
    """The meaning of equality for a column: properties that equal values share."""

    SAME = 0  # they are the same
    EQUAL = 1  # what = makes of them
    OWN = 2  # what an operator of their type's own makes of them, which = does not find
    COLLATED = 3  # what = under their collation makes of them
    VARIED = 4  # what = under their collation makes of them, which another side of it may change


@dataclass(frozen=True)
class JdbcDriver:
    """The JDBC driver of a database and how its jar is known.

    Attributes:
        maven: ``group:artifact:version``.
        jar_names: Glob patterns of jar file names, best first.
        debian: Debian's package that brings the jar under /usr/share/java.
        safe_from: First release without known security holes, of each release line that has one; older jars are
            passed over.
    """

    driver_class: str
    maven: str
    jar_names: tuple[str, ...]
    debian: str
    safe_from: tuple[str, ...] = ()

    def options(self, url: URL, fetchsize: int) -> dict[str, str]:
        """Driver, user, password and fetch size of a Spark JDBC read.

        Raises:
            ConfigError: `fetchsize` is below 1: the driver would then hold the whole result in memory, or read it
                outside of the transaction, where the pinned snapshot does not hold.
        """
        if fetchsize < 1:
            raise ConfigError(f"jdbc.fetchsize is {fetchsize}", remedy="1 is the least; 10000 serves well")
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
    """Names, limits and habits of one database, which its connector and the collaborators share.

    Attributes:
        name: Of the database, for people.
        dialect: sqlglot's name of its dialect.
        driver: The JDBC driver that qbcd uses.
        other_drivers: Drivers that serve where the user brings their jar.
        sqlalchemy_driver: ``postgresql+psycopg2``.
        jdbc_properties: Allow-list of the JDBC properties that users may set.
        encoder_version: Version of `row_digest` and `key_identity`; a new one is a new meaning
            (docs/design/protocol.md#rule-16).
        identifier_limit: Longest identifier.
        column_limit: Most columns of one table.
        hides_tables: The catalog shows a role only tables on which it has a right.
        unqualified_names: Sessions know tables without their schema.
        full_join: The database has FULL JOIN.
        random_key_types: Base types whose values come in no order.
        ranges_per_statement: Most ranges that one statement may answer for.
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

    def quote(self, name: str) -> str:
        """Return `name` as a quoted identifier; names get into SQL in no other way.

        Raises:
            ValueError: The name is empty, too long, or holds a NUL character.
        """
        if not name or "\x00" in name or len(name.encode()) > self.identifier_limit:
            raise ValueError(f"{name!r} cannot be an identifier of {self.name}")
        return quoted(name, self.dialect)

    def quoted_table(self, table: Table) -> str:
        """Return schema and name of `table` as SQL."""
        return f"{self.quote(table.schema)}.{self.quote(table.name)}"

    def grantee(self, role: str) -> str:
        """Return `role`, as the server calls it, in the form that GRANT takes."""
        return self.quote(role)


class Collaborator:
    """A part of a connector that answers for one subject; it takes names and limits from the database's facts."""

    def __init__(self, facts: DatabaseFacts) -> None:
        self.facts = facts


@dataclass(frozen=True)
class Privileges:
    """The role's rights, as far as a plan needs to know.

    Attributes:
        select: It may read every column asked for.
        schema_usage: It may use the table's schema at all.
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
class HighWater:
    """The time up to which timestamps that the source itself wrote are complete, read before the rows.

    See docs/design/protocol.md#rule-6.

    Both times are texts ``YYYY-MM-DD HH:MM:SS.ffffff`` in UTC.

    Attributes:
        clock: The source's clock before the look.
        oldest: Start of the oldest transaction or statement that was open at the look, or None where none was.
        held: Why the mark may not move at all now, or an empty string.
        blind: What the look cannot see, so that only an explicit `lag` bounds what is missed; or an empty string.
        lacks_right: It cannot see that because the role lacks the right of `sessions_grant`.
    """

    clock: str
    oldest: str | None
    held: str = ""
    blind: str = ""
    lacks_right: bool = False


@dataclass(frozen=True)
class Counter:
    """The catalog's answer about a column whose numbers are to grow over the whole table.

    See docs/design/protocol.md#rule-7.

    Attributes:
        vouched: The server itself gives its numbers, each larger than all before it.
        refused: Why its numbers are known to come out of order; or an empty string.
        reached: The last number that the server gave; None where it does not say.
    """

    vouched: bool
    refused: str = ""
    reached: int | None = None


@dataclass(frozen=True)
class Index:
    """A usable index of a table.

    Attributes:
        columns: Key columns in order; an empty name stands for an expression, or for the beginning of a column.
        included: Further columns that can be read from the index.
        ordered: It answers an interval of its first columns.
        partial: It knows a part of the rows only.
    """

    name: str
    columns: tuple[str, ...]
    included: tuple[str, ...]
    ordered: bool
    unique: bool
    partial: bool
