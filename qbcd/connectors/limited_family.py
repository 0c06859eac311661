"""The driver PyMySQL with a limit on each wait for the server ."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pymysql
from pymysql.constants import CR
from typing_extensions import override

from qbcd.common import waits
from qbcd.connectors.wait_limits import CONNECT_TIMEOUT, Silence, WaitLimit, limited, reason_of

_COM_RESET_CONNECTION = 0x1F  # MariaDB 10.2, MySQL 5.7; the driver has no name for it


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
    _execute_command: Any
    _read_ok_packet: Any
    wait: waits.Wait | None = None

    def __init__(self, limit: WaitLimit, parameters: Mapping[str, Any]) -> None:
        self.limit = limit
        super().__init__(**parameters)

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

        It does so within the limit.
        """
        with self.waiting():
            self._execute_command(_COM_RESET_CONNECTION, "")
            self._read_ok_packet()

    @override
    def query(self, sql: Any, unbuffered: bool = False) -> Any:
        """Execute a statement and read its result within the limit."""
        with self.waiting():
            return super().query(sql, unbuffered)

    @override
    def next_result(self, unbuffered: bool = False) -> Any:
        """Read the next result of several statements within the limit."""
        with self.waiting():
            return super().next_result(unbuffered)

    @override
    def commit(self) -> None:
        with self.waiting():
            super().commit()

    @override
    def rollback(self) -> None:
        """Roll back within the limit."""
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
