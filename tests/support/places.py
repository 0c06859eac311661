"""The databases on which tests run: each is a place at a URL, spoken to by its native driver and in its own words.

What a test does to a source goes through here, so that one test can run on all of them: `over` says on which, the
fixtures `database` and `place` bring a new database of that kind. Nothing here asks the code under test.
"""

from __future__ import annotations

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
    """A database at `url`; makes no connection until it is asked for one.

    Attributes:
        kind: Name of the database among the connectors and in a URL.
        fixture: The fixture that has a server of this kind, with the attribute `url`, or skips.
        schema: What stands before the dot in the name of a table of its own.
        own_schema: Where qbcd's own tables go.
        commit: What a session's commit looks like on the wire.
        taken: The driver's error for a second row of one unique value.
        barred: The driver's error for a lock that did not come in time.
        impatient: Statement after which a session waits for no lock longer than a second.
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
        """Host and port, as messages have them."""
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
        """Plain table `name` as configuration and SQL have it."""
        return f"{self.schema}.{name}"

    def url_as(self, user: str, password: str = "") -> str:
        """The URL of another user."""
        login = quote_plus(user) + (f":{password}" if password else "")
        return urlunsplit(urlsplit(self.url)._replace(netloc=f"{login}@{self.host}"))

    def at(self, database: str) -> Place:
        """Another database of the same server."""
        return type(self)(urlunsplit(urlsplit(self.url)._replace(path=f"/{database}")))

    def sql(self, text: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> list[Row]:
        """Runs `text`, one transaction of one or more statements; gives the rows of the last one, or an empty list.

        With `params` a literal ``%`` is written ``%%``.
        """
        with self.connect() as conn:
            return self.run(conn, text, params)

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Inserts rows of Python values into all columns of `table`, in one transaction."""
        with self.connect() as conn:
            one = f"({', '.join(['%s'] * len(rows[0]))})"
            values = [value for row in rows for value in row]
            self.run(conn, f"INSERT INTO {table} VALUES {', '.join([one] * len(rows))}", values)

    # -- databases ---------------------------------------------------------------------------------------------------
    @abstractmethod
    def create(self) -> None:
        """Creates the database, from a connection to the server's first one."""

    @abstractmethod
    def drop(self) -> None:
        """Drops the database with all that belongs to it, whoever is still connected."""

    @abstractmethod
    def copy_to(self, database: str) -> Place:
        """A second database with the same tables and rows, qbcd's own among them; nobody may be connected."""

    @abstractmethod
    def take_over(self, other: Place) -> None:
        """Puts the tables of `other`, which goes, in the place of its own."""

    # -- sessions ----------------------------------------------------------------------------------------------------
    @abstractmethod
    def connect(self, *, autocommit: bool = False) -> AbstractContextManager[Any]:
        """A driver's connection, closed afterwards; without `autocommit` it is committed, or undone by an exception."""

    @abstractmethod
    def run(self, conn: Any, text: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> list[Row]:
        """Runs one or more statements on `conn`; gives the rows of the last one."""

    @abstractmethod
    def someone_waits(self) -> bool:
        """Return True if a session waits for a lock on a table of this database."""

    # -- words -------------------------------------------------------------------------------------------------------
    @abstractmethod
    def quote(self, name: str) -> str:
        """An identifier."""

    @abstractmethod
    def literal(self, sql_type: str, text: str | None) -> str:
        """A value of a type, from its input text."""

    @abstractmethod
    def retype(self, table: str, column: str, sql_type: str) -> str:
        """DDL that gives a column another type."""

    # -- users -------------------------------------------------------------------------------------------------------
    @abstractmethod
    def create_user(self, name: str, password: str = "") -> None:
        """A user without rights who may connect."""

    @abstractmethod
    def drop_user(self, name: str) -> None:
        """Drops it with its rights."""

    @abstractmethod
    def grant(self, rights: str, on: str, user: str) -> None:
        """Grants `rights` ("SELECT", "SELECT (a, b)") on table `on`, plain name, to `user`."""

    @abstractmethod
    def revoke(self, rights: str, on: str, user: str) -> None:
        """Takes them back."""

    @abstractmethod
    def grant_own_schema(self, user: str) -> None:
        """Lets `user` make what qbcd makes for a comparison in the source."""

    @contextmanager
    def user(self, password: str = "") -> Iterator[str]:
        """A new user, dropped at the end."""
        name = f"r_{secrets.token_hex(6)}"
        self.create_user(name, password)
        try:
            yield name
        finally:
            self.drop_user(name)

    # -- everything --------------------------------------------------------------------------------------------------
    @abstractmethod
    def contents(self, passing: Collection[str]) -> dict[str, list[dict[str, Any]]]:
        """All rows of all tables of the database and of qbcd's schema, by qualified name.

        Args:
            passing: Tables of qbcd whose rows are left out.
        """


def configured(*parts: str) -> str:
    """A name as configuration has it, in every database alike."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def kinds() -> dict[str, type[Place]]:
    """The kinds of places by name; a connector without one is not tested, which the conformance tests refuse."""
    from tests.support.maria_place import MariaPlace, MySQLPlace
    from tests.support.pg_place import PostgresPlace

    return {kind.kind: kind for kind in (PostgresPlace, MariaPlace, MySQLPlace)}


def place_of(url: str) -> Place:
    """The place at a URL."""
    return kinds()[urlsplit(url).scheme](url)


@contextmanager
def new_place(server: Any, kind: str) -> Iterator[Place]:
    """A new, empty database on a running server; it goes with the block, whoever is still connected."""
    place = kinds()[kind](server.url).at(f"t_{uuid.uuid4().hex}")
    place.create()
    try:
        yield place
    finally:
        place.drop()


def server_of(request: pytest.FixtureRequest, kind: str) -> Any:
    """The run's server of a kind, started when it is first asked for; skips where there is none."""
    return request.getfixturevalue(kinds()[kind].fixture)


# -- on which databases a test runs ------------------------------------------------------------------------------------
FIRST = "postgresql"  # where every case runs by default
OTHERS = ("mariadb", "mysql")
NEEDS_CAMPAIGN = ("mysql",)  # Debian has no such server; a run that has one is a campaign


def over(
    names: str = "", cases: Iterable[Any] = (), *, elsewhere: Collection[Any] | None = None, new: bool = True
) -> pytest.MarkDecorator:
    """Runs a test over its cases on every kind of database, as `pytest.mark.parametrize` does over the cases.

    Args:
        names: Of parameters, as parametrize takes them; empty for a test without.
        cases: Their values; a `pytest.param` keeps its marks.
        elsewhere: Cases that run by default on the kinds besides the first too; the others run there in a campaign
            only. Default: all.
        new: The fixture `database` brings a new one; otherwise the kind's name is the test's argument `kind`.
    """
    listed = [name.strip() for name in names.split(",") if name.strip()]
    made = []
    every: Iterable[Any] = cases if listed else [()]
    for case in every:
        given = isinstance(case, ParameterSet)
        marks, values = (case.marks, case.values) if given else ((), case if len(listed) != 1 else (case,))
        plain = values[0] if len(values) == 1 else tuple(values)
        for kind in (FIRST, *OTHERS):
            late = kind in NEEDS_CAMPAIGN or (kind != FIRST and elsewhere is not None and plain not in elsewhere)
            more = (pytest.mark.campaign,) if late and not marks else ()
            made.append(pytest.param(kind, *values, marks=[*marks, *more]))
    kind_of = "database" if new else "kind"
    return pytest.mark.parametrize([kind_of, *listed], made, indirect=["database"] if new else [])
