"""What a connector states of a database, a role or a table, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from sqlalchemy.engine import URL

from qbcd.errors import ConfigError


class Alike(IntEnum):
    """What equal values of a column have in common."""

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


@dataclass(frozen=True)
class Privileges:
    """What the role may do, as far as a plan needs to know.

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
    """How far time-stamps that the source itself wrote are complete, read before the rows.

    See docs/design/protocol.md#rule-6.

    Both times are texts ``YYYY-MM-DD HH:MM:SS.ffffff`` in UTC.

    Attributes:
        clock: The source's clock before the look.
        oldest: Start of the oldest transaction or statement that was open at the look, or None where none was.
        held: Why the mark may not move at all now, or an empty string.
        blind: What the look cannot see, so that only an explicit `lag` bounds what is missed; or an empty string.
    """

    clock: str
    oldest: str | None
    held: str = ""
    blind: str = ""


@dataclass(frozen=True)
class Counter:
    """What the catalog says of a column whose numbers are to grow over the whole table.

    See docs/design/protocol.md#rule-7.

    Attributes:
        vouched: The server itself gives its numbers, each larger than all before it.
        refused: Why its numbers are known to come out of order; or an empty string.
        reached: The last number that the server gave; None where it does not tell.
    """

    vouched: bool
    refused: str = ""
    reached: int | None = None


@dataclass(frozen=True)
class Index:
    """A usable index of a table.

    Attributes:
        columns: Key columns in order; an empty name stands for an expression, or for the beginning of a column.
        included: Columns that can be read from the index beside them.
        ordered: It answers an interval of its first columns.
        partial: It knows a part of the rows only.
    """

    name: str
    columns: tuple[str, ...]
    included: tuple[str, ...]
    ordered: bool
    unique: bool
    partial: bool
