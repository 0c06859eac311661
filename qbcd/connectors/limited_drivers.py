"""The driver psycopg2 with a limit on each wait for the server, and what PyMySQL shares.

libpq has no read timeout. PyMySQL has one for each read, which a server that sends a byte now and then never reaches.
So the watchdog of `qbcd.common.waits` limits each statement as a whole, its result included, and each commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import psycopg2
from psycopg2 import extensions
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from typing_extensions import override

from qbcd.common import waits
from qbcd.connectors.wait_limits import CONNECT_TIMEOUT, Silence, WaitLimit, limited, reason_of

HELD = -1  # number of rows that a held statement has changed: it is not known


class PostgresSilence(Silence, psycopg2.OperationalError):
    """As psycopg2's error of a lost connection."""


def own_waits(connection: Any, owner: object) -> None:
    """Let `owner` own the waits of a driver's connection, for `qbcd.common.waits.interrupt`."""
    if isinstance(limit := getattr(connection, "limit", None), WaitLimit):
        connection.limit = replace(limit, owner=owner)


def limit_waits(engine: Engine, limit: WaitLimit) -> None:
    """Limit each wait of the connections of `engine`.

    Connections of other drivers keep their own limits.
    """
    connect = _CONNECT.get(engine.dialect.driver)
    if connect is not None:
        event.listen(engine, "do_connect", partial(_do_connect, connect, limit))


def open_another(engine: Engine, limit: WaitLimit, arguments: Mapping[str, Any]) -> Any:
    """Return a connection of the engine's driver outside its pool."""
    _, parameters = engine.dialect.create_connect_args(engine.url)
    return _CONNECT[engine.dialect.driver](limit, {**parameters, **arguments})


def _do_connect(
    connect: Callable[[WaitLimit, Mapping[str, Any]], Any],
    limit: WaitLimit,
    _dialect: object,
    _record: object,
    _arguments: object,
    parameters: dict[str, Any],
) -> Any:
    seconds = float(parameters.get("connect_timeout") or CONNECT_TIMEOUT)
    return connect(limit, {**parameters, "connect_timeout": max(1, int(waits.capped(seconds, limit.owner)))})


# -- PostgreSQL --------------------------------------------------------------------------------------------------------
class LimitedPostgresConnection(extensions.connection):
    """A connection of psycopg2 whose statements, commits and rollbacks are limited.

    The driver sends BEGIN alone, and waits for the answer. After `begin_with`, this class begins transactions itself,
    in the text of their first statement: that is a round trip less. The driver is then in autocommit.
    """

    limit: WaitLimit
    wait: waits.Wait | None = None
    _by_text = False  # this class begins and ends transactions
    _before = ""  # sent with the first statement of the next transaction, before its beginning
    _held = b""  # sent with the next statement
    _must = False  # some of it changes rows, so a commit sends it
    _holds = False  # the next statement is held
    _commits = False  # the next statement is the last one of its transaction
    _apart = False  # each statement is a transaction of its own
    _in_transaction = False
    _level: int | None = None
    _read_only: Any = None

    def waiting(self) -> AbstractContextManager[waits.Wait]:
        """In the block, limit the wait for the server."""
        wait = waits.on_socket(self.fileno(), self.limit.seconds, reason=reason_of(self.limit), owner=self.limit.owner)
        return limited(wait, PostgresSilence, self)

    def begin_with(self, statements: Sequence[str]) -> None:
        """Send `statements` together with the first statement of the next transaction.

        They run in a transaction of their own.

        From then on the level of isolation is only that of `BEGIN`.
        """
        self.autocommit = self._by_text = True
        # END is a commit: an open transaction would keep the next one from having a level of its own
        self._before = "; ".join(("BEGIN", *statements, "END; "))
        self._apart = False

    def run_apart(self) -> None:
        """Let each statement of this use be a transaction of its own, which needs no end."""
        self._apart = self._by_text

    def send_with_next(self, statement: str) -> bool:
        """Send a statement without a result with the next one; return False if impossible.

        Its error is that of the next one. If none follows, it is not sent.
        """
        if self._by_text:
            self._held += f"{statement}; ".encode()
        return self._by_text

    def hold_next(self) -> None:
        """Hold the next statement until the one after it, or the commit; its result is not known."""
        self._holds = self._by_text and self._in_transaction

    @property
    def holds(self) -> bool:
        """True if the next statement is to be held."""
        return self._holds

    def hold(self, statement: bytes) -> None:
        """Hold a statement until the next one, or the commit."""
        self._held += statement + b"; "
        self._holds, self._must = False, True

    def commit_with_next(self) -> None:
        """Commit in the round trip of the next statement, which then has no result."""
        self._commits = self._by_text

    def taken_after(self) -> bytes:
        """Return the text to send after the next statement."""
        text, self._commits = b"; COMMIT" if self._commits else b"", False
        return text

    def taken(self) -> bytes:
        """Return the text to send before the next statement.

        It has pins, the beginning of a transaction, and held statements.
        """
        if not self._by_text:
            return b""
        text, self._before = self._before, ""
        if not (self._in_transaction or self._apart):
            self._in_transaction = True
            text += f"BEGIN{_LEVELS[self._level]}{_ACCESS[self._read_only]}; "
        sent, self._held, self._must = text.encode() + self._held, b"", False
        return sent

    def send_taken(self) -> None:
        """Send what waits for the next statement now, for one whose text the driver makes."""
        if text := self.taken():
            with self.cursor() as cursor:
                cursor.execute_alone(text)

    @override
    def cursor(self, *arguments: Any, **named: Any) -> Any:
        """Return a cursor whose statements are limited.

        One with a name belongs to a transaction of the driver.
        """
        if self._by_text and (arguments or named.get("name")) and self.autocommit:
            self.send_taken()
            self.autocommit = False
        return super().cursor(*arguments, **{"cursor_factory": LimitedPostgresCursor, **named})

    @override
    def set_isolation_level(self, level: int | None) -> None:
        """Set the level of the next transactions."""
        if self._by_text:
            self._level = level
        else:
            super().set_isolation_level(level)

    @property  # type: ignore[explicit-override]  # mypy sees no `override` of a property with a setter
    def readonly(self) -> Any:
        """The access mode of the next transactions; None for that of the session."""
        return self._read_only if self._by_text else super().readonly

    @readonly.setter
    def readonly(self, value: Any) -> None:
        if self._by_text:
            self._read_only = value
        else:
            vars(extensions.connection)["readonly"].__set__(self, value)

    @override
    def commit(self) -> None:
        self._end("COMMIT", super().commit)

    @override
    def rollback(self) -> None:
        """Roll back within the limit.

        If a shared session has ended, its transaction has ended with it.
        """
        if not (self._by_text and self.closed):
            self._end("ROLLBACK", super().rollback)

    def _end(self, how: str, native: Callable[[], None]) -> None:
        must = self._must and how == "COMMIT" and not self.closed
        self._held, self._commits, self._holds = self._held if must else b"", False, False
        if must:
            with self.cursor() as cursor:  # if it fails, a rollback follows
                cursor.execute_alone(self.taken() + how.encode())
        self._must = False
        if self.closed:
            native()
            return
        with self.waiting():
            native()
        if not self._by_text:
            return
        begun, self._in_transaction, self.autocommit = self._in_transaction, False, True
        if begun and self.get_transaction_status() != extensions.TRANSACTION_STATUS_IDLE:
            with self.cursor() as cursor:
                cursor.execute_alone(how)


class LimitedPostgresCursor(extensions.cursor):
    """A cursor of `LimitedPostgresConnection`."""

    @override
    def execute(self, query: Any, arguments: Any = None) -> None:
        """Execute a statement and read its whole result within the limit."""
        connection: Any = self.connection
        if self.name is None:
            if connection.holds:
                connection.hold(self.mogrify(query, arguments))
                return
            before, after = connection.taken(), connection.taken_after()
            if before or after:
                self.execute_alone(before + self.mogrify(query, arguments) + after)
                return
        with connection.waiting():
            super().execute(query, arguments)

    def execute_alone(self, text: str | bytes) -> None:
        """Execute a text as it is, without what waits for the next statement."""
        with self.connection.waiting():  # type: ignore[attr-defined]
            super().execute(text)

    @override
    def executemany(self, *arguments: Any, **named: Any) -> None:
        """Execute a statement for each element; the limit is for all of them."""
        self.connection.send_taken()  # type: ignore[attr-defined]
        with self.connection.waiting():  # type: ignore[attr-defined]
            super().executemany(*arguments, **named)

    @override
    def copy_expert(self, *arguments: Any, **named: Any) -> None:
        """Copy rows; the caller limits the waits."""
        self.connection.send_taken()  # type: ignore[attr-defined]
        super().copy_expert(*arguments, **named)


_LEVELS = {
    None: "",
    extensions.ISOLATION_LEVEL_READ_UNCOMMITTED: " ISOLATION LEVEL READ UNCOMMITTED",
    extensions.ISOLATION_LEVEL_READ_COMMITTED: " ISOLATION LEVEL READ COMMITTED",
    extensions.ISOLATION_LEVEL_REPEATABLE_READ: " ISOLATION LEVEL REPEATABLE READ",
    extensions.ISOLATION_LEVEL_SERIALIZABLE: " ISOLATION LEVEL SERIALIZABLE",
}
_ACCESS = {None: "", True: " READ ONLY", False: " READ WRITE"}


def run_with_next(connection: Connection, statement: str) -> None:
    """Run a statement that returns nothing, with the transaction's next one if possible.

    Then its error is that of the next one, and if none follows, it does not run.
    """
    driver: Any = connection.connection.driver_connection
    if not (_can_hold(driver) and driver.send_with_next(statement)):
        connection.exec_driver_sql(statement, execution_options={"no_parameters": True})


def _can_hold(driver: Any) -> bool:
    """Return True if the driver can send several statements together."""
    return hasattr(driver, "hold_next")


def commit_with_next(connection: Connection) -> None:
    """Commit in the round trip of the next statement, if the driver can.

    That statement then has no result.
    """
    driver: Any = connection.connection.driver_connection
    if _can_hold(driver):
        driver.commit_with_next()


def hold_next(connection: Connection) -> None:
    """Send the next statement with the one after it, or with the commit, if the driver can.

    It changes rows, and the number of changed rows is -1 then. Its error is that of the statement that it is sent with.
    """
    driver: Any = connection.connection.driver_connection
    if _can_hold(driver):
        driver.hold_next()


def run_apart(connection: Connection) -> None:
    """Let each statement be a transaction of its own, which needs no end, if the driver can."""
    driver: Any = connection.connection.driver_connection
    if _can_hold(driver):
        driver.run_apart()


def _connect_postgres(limit: WaitLimit, parameters: Mapping[str, Any]) -> LimitedPostgresConnection:
    """Return a new connection; libpq's `connect_timeout` limits the connection itself."""
    made: LimitedPostgresConnection = psycopg2.connect(connection_factory=LimitedPostgresConnection, **parameters)
    made.limit = limit
    return made


def _connect_family(limit: WaitLimit, parameters: Mapping[str, Any]) -> Any:
    from qbcd.connectors.limited_family import LimitedFamilyConnection

    return LimitedFamilyConnection(limit, parameters)


_CONNECT: Mapping[str, Callable[[WaitLimit, Mapping[str, Any]], Any]] = {
    "psycopg2": _connect_postgres,
    "pymysql": _connect_family,
}
