"""The databases of tests: places at a URL, with their native driver and their own SQL.

Tests change a source only through a place, so that one test can run on all databases: `over` names them, and the
fixtures `database` and `place` provide a new database of each kind. Nothing here uses the code under test.
"""

from __future__ import annotations

import os
import secrets
import uuid
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar
from urllib.parse import quote_plus, urlsplit, urlunsplit

import pytest
from _pytest.mark import ParameterSet

Row = tuple[Any, ...]


class Place(ABC):
    """A database at `url`; it connects only when needed.

    Attributes:
        kind: Name of the database, as in connectors and URLs.
        fixture: Name of the fixture that has a server of this kind, with the attribute `url`, or skips.
        schema: Qualifier of the names of its own tables.
        own_schema: Schema of qbcd's own tables.
        commit: A session's commit on the wire.
        taken: The driver's error for a second row with a unique value.
        barred: The driver's error for a lock timeout.
        impatient: Statement that limits a session's waits for locks to a second.
        ddl_held: Statements before and after DDL on table `t` that nobody is to see in between.
    """

    kind: ClassVar[str]
    fixture: ClassVar[str]
    commit: ClassVar[bytes]
    taken: ClassVar[tuple[type[Exception], ...]]
    barred: ClassVar[tuple[type[Exception], ...]]
    impatient: ClassVar[str]
    ddl_held: ClassVar[tuple[str, str]]

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def name(self) -> str:
        """The database's name."""
        return urlsplit(self.url).path[1:]

    @property
    def host(self) -> str:
        """Host and port, as in messages."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    @abstractmethod
    def schema(self) -> str: ...

    @property
    @abstractmethod
    def own_schema(self) -> str: ...

    @property
    def source(self) -> dict[str, Any]:
        """The place as a source of a configuration."""
        return {"url": self.url} | ({} if self.own_schema == "qbcd" else {"schema": self.own_schema})

    def table(self, name: str) -> str:
        """Return plain table `name` as configuration and SQL name it."""
        return f"{self.schema}.{name}"

    def url_as(self, user: str, password: str = "") -> str:
        """Return the URL of another user."""
        login = quote_plus(user) + (f":{password}" if password else "")
        return urlunsplit(urlsplit(self.url)._replace(netloc=f"{login}@{self.host}"))

    def at(self, database: str) -> Place:
        """Return another database of the same server."""
        return type(self)(urlunsplit(urlsplit(self.url)._replace(path=f"/{database}")))

    def sql(self, text: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> list[Row]:
        """Run `text`, one transaction of one or more statements; return the rows of the last one.

        The list is empty if there are none. With `params` a literal ``%`` is written ``%%``.
        """
        with self.connect() as conn:
            return self.run(conn, text, params)

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Insert rows of Python values into all columns of `table`, in one transaction."""
        with self.connect() as conn:
            one = f"({', '.join(['%s'] * len(rows[0]))})"
            values = [value for row in rows for value in row]
            self.run(conn, f"INSERT INTO {table} VALUES {', '.join([one] * len(rows))}", values)

    # -- databases ---------------------------------------------------------------------------------------------------
    @abstractmethod
    def create(self) -> None:
        """Create the database, connected to the server's default database."""

    @abstractmethod
    def drop(self) -> None:
        """Drop the database with all its content, even if sessions are connected."""

    @abstractmethod
    def copy_to(self, database: str) -> Place:
        """Make a second database with the same tables and rows, including qbcd's own.

        No session may be connected.
        """

    @abstractmethod
    def take_over(self, other: Place) -> None:
        """Replace its tables by those of `other`, which is removed."""

    # -- sessions ----------------------------------------------------------------------------------------------------
    @abstractmethod
    def connect(self, *, autocommit: bool = False) -> AbstractContextManager[Any]:
        """Yield a connection; without `autocommit`, commit it, or roll back on an exception."""

    @abstractmethod
    def run(self, conn: Any, text: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> list[Row]:
        """Run one or more statements on `conn`; return the rows of the last one."""

    @abstractmethod
    def someone_waits(self) -> bool:
        """Return True if a session waits for a lock on a table of this database."""

    # -- words -------------------------------------------------------------------------------------------------------
    @abstractmethod
    def quote(self, name: str) -> str:
        """Quote an identifier."""

    @abstractmethod
    def literal(self, sql_type: str, text: str | None) -> str:
        """Return a value of a type as SQL, from its input text."""

    def spelt(self, sql_type: str) -> str:
        """Return a type, which another server of the family has, as this one spells it."""
        return sql_type

    @abstractmethod
    def numbers(self, last: int, first: int = 1) -> str:
        """Return a table with the whole numbers from `first` to `last` as column `n`, as FROM takes it."""

    @abstractmethod
    def retype(self, table: str, column: str, sql_type: str) -> str:
        """Return DDL that changes the type of a column."""

    def drop_primary_key(self, table: str) -> None:
        """Drop the primary key of a table that has the name of its key by default."""
        self.sql(f"ALTER TABLE {table} DROP PRIMARY KEY")

    # -- users -------------------------------------------------------------------------------------------------------
    @abstractmethod
    def create_user(self, name: str, password: str = "") -> None:
        """Create a user without rights who may connect."""

    @abstractmethod
    def drop_user(self, name: str) -> None:
        """Drop a user and its rights."""

    @abstractmethod
    def end_sessions(self, user: str) -> None:
        """End the sessions of a user."""

    @abstractmethod
    def grant(self, rights: str, on: str, user: str) -> None:
        """Grant `rights` ("SELECT", "SELECT (a, b)") on table `on`, a plain name, to `user`."""

    @abstractmethod
    def revoke(self, rights: str, on: str, user: str) -> None:
        """Revoke rights."""

    @abstractmethod
    def grant_own_schema(self, user: str) -> None:
        """Let `user` create qbcd's own tables for a source replica."""

    @contextmanager
    def user(self, password: str = "") -> Iterator[str]:
        """Create a user and drop it at the end."""
        name = f"r_{secrets.token_hex(6)}"
        self.create_user(name, password)
        try:
            yield name
        finally:
            self.drop_user(name)

    # -- everything --------------------------------------------------------------------------------------------------
    @abstractmethod
    def contents(self, passing: Collection[str]) -> dict[str, list[dict[str, Any]]]:
        """Return all rows of all tables of the database and of qbcd's schema, by qualified name.

        Args:
            passing: Tables of qbcd whose rows are left out.
        """


def configured(*parts: str) -> str:
    """Return a name as configuration has it, in every database alike."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def kinds() -> dict[str, type[Place]]:
    """Return the kinds of places by name.

    A connector without one fails the conformance tests.
    """
    from tests.support.maria_place import MariaPlace, MySQLPlace
    from tests.support.pg_place import PostgresPlace

    return {kind.kind: kind for kind in (PostgresPlace, MariaPlace, MySQLPlace)}


def place_of(url: str) -> Place:
    """Return the place at a URL."""
    return kinds()[urlsplit(url).scheme](url)


@contextmanager
def new_place(server: Any, kind: str) -> Iterator[Place]:
    """Make a new, empty database on a running server.

    Drop it at the end even if sessions are connected.
    """
    place = kinds()[kind](server.url).at(f"t_{uuid.uuid4().hex}")
    place.create()
    try:
        yield place
    finally:
        place.drop()


def server_of(request: pytest.FixtureRequest, kind: str) -> Any:
    """Return the run's server of a kind; skip the test if there is none.

    It starts at the first request.
    """
    return request.getfixturevalue(kinds()[kind].fixture)


def must_own(place: Place) -> None:
    """Skip a test that changes settings of a server, if the run did not start the server."""
    if os.environ.get(f"QBCD_TEST_{place.kind.upper()}_URL"):
        pytest.skip("a server that is not the run's own keeps its settings")


# MySQL refuses variant delta of vbd: a transaction that writes sees another state at each statement.
NO_DELTA = {"mysql": None}


# -- on which databases a test runs ------------------------------------------------------------------------------------
FIRST = "postgresql"  # every case runs here by default
OTHERS = ("mariadb", "mysql")
NEEDS_CAMPAIGN = ("mysql",)  # what it does otherwise than MariaDB is in integration/servers/test_mysql.py


def over(
    names: str = "",
    cases: Iterable[Any] = (),
    *,
    elsewhere: Collection[Any] | None = None,
    without: Mapping[str, Collection[Any] | None] | None = None,
    new: bool = True,
) -> pytest.MarkDecorator:
    """Parametrize a test by its cases and by the kinds of databases.

    Args:
        names: Names of parameters, as for parametrize; empty for a test without.
        cases: Their values; a `pytest.param` keeps its marks.
        elsewhere: Cases that run by default on the other kinds too; the rest runs there only in a campaign. Default:
            all.
        without: By kind, cases that it cannot have; None for all.
        new: The fixture `database` makes a new one per case; otherwise the test gets the kind's name as argument
            `kind`.
    """
    listed = [name.strip() for name in names.split(",") if name.strip()]
    made = []
    every: Iterable[Any] = cases if listed else [()]
    for case in every:
        given = isinstance(case, ParameterSet)
        marks, values = (case.marks, case.values) if given else ((), case if len(listed) != 1 else (case,))
        plain = values[0] if len(values) == 1 else tuple(values)
        for kind in (FIRST, *OTHERS):
            lacking = (without or {}).get(kind, ())
            if lacking is None or plain in lacking:
                continue
            late = kind in NEEDS_CAMPAIGN or (kind != FIRST and elsewhere is not None and plain not in elsewhere)
            more = (pytest.mark.campaign,) if late and not marks else ()
            made.append(pytest.param(kind, *values, marks=[*marks, *more]))
    kind_of = "database" if new else "kind"
    return pytest.mark.parametrize([kind_of, *listed], made, indirect=["database"] if new else [])
