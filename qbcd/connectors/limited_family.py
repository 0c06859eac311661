"""The driver PyMySQL with a limit on each wait, and several statements in one text.

The server executes the statements of one text in order and ends at the first error, so that one after it does not run.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pymysql
from pymysql.charset import charset_by_name
from pymysql.connections import MySQLResult
from pymysql.constants import CLIENT, COMMAND, CR
from typing_extensions import override

from qbcd.common import waits
from qbcd.connectors.wait_limits import CONNECT_TIMEOUT, Silence, WaitLimit, limited, reason_of

_NAMES = b"SET NAMES "  # SQLAlchemy sends it at each log-in, and so does the driver
_RESET = b"\1\0\0\0\x1f"  # the packet of COM_RESET_CONNECTION (MariaDB 10.2, MySQL 5.7), which the driver does not know


class FamilySilence(Silence, pymysql.err.OperationalError):
    """As PyMySQL's error of a lost connection."""

    @override
    def __str__(self) -> str:
        return str(self.args[1])


class LimitedFamilyConnection(pymysql.connections.Connection):
    """A connection of PyMySQL whose log-in, statements and transactions are limited."""

    _sock: Any
    _rfile: Any
    _result: Any
    _read_query_result: Any
    _read_ok_packet: Any
    _force_close: Any
    _next_seq_id: int
    wait: waits.Wait | None = None

    def __init__(self, limit: WaitLimit, parameters: Mapping[str, Any]) -> None:
        self.limit = limit
        self._forget()
        self._resets = False  # the next command is sent with a reset of the session before it
        self._before = b""  # sent with the next bytes
        self._apart = False  # each statement is a transaction of its own
        self._committed = False  # the last statement has committed
        self.gathered: list[tuple[Sequence[str], Sequence[Sequence[Any]]]] = []
        flags = parameters.get("client_flag", 0) | CLIENT.MULTI_STATEMENTS
        super().__init__(**{**parameters, "client_flag": flags})

    # -- several statements in one text ------------------------------------------------------------------------------
    def _forget(self) -> None:
        self._held: list[bytes] = []  # sent with the next statement
        self._must = False  # some of it changes rows, so a commit sends it
        self._holds = False  # the next statement is held
        self._commits = False  # the next statement is the last one of its transaction
        self._gathers = False  # the rows of all statements of the next text are kept

    def send_with_next(self, statement: str) -> bool:
        """See :meth:`~qbcd.connectors.limited_drivers.LimitedPostgresConnection.send_with_next`."""
        self._held.append(self._encoded(statement))
        return True

    def hold_next(self) -> None:
        """See :meth:`~qbcd.connectors.limited_drivers.LimitedPostgresConnection.hold_next`."""
        self._holds = True

    def commit_with_next(self) -> None:
        """Commit in the round trip of the next statement."""
        self._commits = True

    def run_apart(self) -> None:
        """Let each statement of this use be a transaction of its own, which needs no end."""
        self.send_with_next("SET autocommit = 1")  # until the reset before the next use
        self._apart = True

    def gather_next(self) -> None:
        """Keep names, in lower case, and rows of each statement of the next text in `gathered`."""
        self._gathers, self.gathered = True, []

    def _encoded(self, text: Any) -> bytes:
        return text.encode(self.encoding, "surrogateescape") if isinstance(text, str) else bytes(text)

    @override
    def query(self, sql: Any, unbuffered: bool = False) -> Any:
        """Execute a statement, with those that wait for it, and read its result within the limit."""
        text, self._committed = self._encoded(sql), False
        if self._holds or text.startswith(_NAMES) or text == self._encoded(self.init_command or ""):
            self._must, self._holds = self._must or self._holds, False
            self._held.append(text)
            self._result = MySQLResult(self)
            self._result.affected_rows = -1
            return -1
        held, commits, gathers = self._held, self._commits, self._gathers
        self._forget()
        with self.waiting():
            if not (held or commits or gathers):
                return super().query(text, unbuffered)
            parts = [*held, text, *([b"COMMIT"] if commits else [])]
            self._execute_command(COMMAND.COM_QUERY, b"; ".join(parts))
            for _ in held:
                self._read_query_result()
            self._affected_rows = self._read_query_result(unbuffered and not commits)
            if commits or gathers:
                self._read_others(gathers)
            self._committed = commits
            return self._affected_rows

    def _read_others(self, gathers: bool) -> None:
        """Read what follows the statement's result, which stays that of the connection."""
        result = own = self._result
        while True:
            if gathers:
                names = [str(column[0]).lower() for column in result.description or ()]
                self.gathered.append((names, result.rows or ()))
            if not result.has_next:
                break
            self._read_query_result()
            result = self._result
        own.has_next, self._result = False, own

    @override
    def set_character_set(self, charset: str, collation: str | None = None) -> None:
        """Set it with the next statement, that of the log-in."""
        self.send_with_next(f"SET NAMES {charset}" + (f" COLLATE {collation}" if collation else ""))
        self.charset, self.collation, self.encoding = charset, collation, charset_by_name(charset).encoding

    @override
    def connect(self, sock: Any = None) -> None:
        """Connect and log in; `connect_timeout` limits both together.

        The driver's own limit ends before the server's greeting.
        """
        seconds, began = float(self.connect_timeout or CONNECT_TIMEOUT), time.monotonic()
        try:
            sock = sock or self._opened(seconds)
        except OSError as error:
            where = self.unix_socket or self.host
            raise _unreachable(f"Can't connect to MySQL server on {where!r} ({error})") from error
        left = max(0.001, seconds - (time.monotonic() - began))
        wait = waits.on_socket(sock.fileno(), left, reason=f"no session after {seconds:g} s (connect_timeout)")
        with limited(wait, _unreachable):
            super().connect(sock)

    def _opened(self, seconds: float) -> socket.socket:
        if self.unix_socket:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.settimeout(seconds)
            made.connect(self.unix_socket)
            self.host_info, self._secure = "Localhost via UNIX socket", True
            return made
        own = (self.bind_address, 0) if self.bind_address else None
        made = socket.create_connection((self.host, self.port), seconds, source_address=own)
        self.host_info = f"socket {self.host}:{self.port}"
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return made

    @contextmanager
    def waiting(self) -> Iterator[waits.Wait | None]:
        """In the block, limit the wait for the server; a closed connection has none."""
        if self._sock is None:  # the driver's own error follows
            yield None
            return
        wait = waits.on_socket(
            self._sock.fileno(), self.limit.seconds, reason=reason_of(self.limit), owner=self.limit.owner
        )
        with limited(wait, lambda reason: FamilySilence(CR.CR_SERVER_LOST, reason), self) as one:
            yield one

    def reset_session(self) -> None:
        """Let the server forget the session's settings, locks and temporary tables.

        The reset is sent with the next command.
        """
        self._forget()
        self._apart, self._resets = False, True

    def _execute_command(self, command: int, sql: Any) -> None:
        """Send a command, and the reset before it in the same round trip.

        A failed reset ends the connection.
        """
        resets, self._resets = self._resets, False
        self._before = _RESET if resets else b""
        driver: Any = super()
        driver._execute_command(command, sql)
        if resets:
            number, self._next_seq_id = self._next_seq_id, 1  # of the replies to the command and to the reset
            try:
                self._read_ok_packet()
            except BaseException:  # the reply to the command would be taken for that of the next one
                self._force_close()
                raise
            self._next_seq_id = number

    def _write_bytes(self, data: bytes) -> None:
        before, self._before = self._before, b""
        driver: Any = super()
        driver._write_bytes(before + data)

    @override
    def next_result(self, unbuffered: bool = False) -> Any:
        """Read the next result of several statements within the limit."""
        with self.waiting():
            return super().next_result(unbuffered)

    @override
    def commit(self) -> None:
        """Commit within the limit, with the statements that wait for it."""
        must, done, self._committed = self._must, self._committed or self._apart, False
        if must and self._sock is not None:
            self._holds = False
            self.query("COMMIT")
            return
        self._forget()
        if not done:
            with self.waiting():
                super().commit()

    @override
    def rollback(self) -> None:
        """Roll back within the limit."""
        done, self._committed = self._committed or self._apart, False
        self._forget()
        if not done:
            with self.waiting():
                super().rollback()

    @override
    def ping(self, reconnect: Any = False) -> None:
        """Check the connection within the limit; do not connect again."""
        with self.waiting():
            super().ping(False)

    @override
    def close(self) -> None:
        """Say goodbye within the limit: a full buffer would block even that."""
        with self.waiting():
            super().close()


def _unreachable(reason: str) -> pymysql.err.OperationalError:
    return pymysql.err.OperationalError(CR.CR_CONN_HOST_ERROR, reason)
