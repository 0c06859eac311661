"""A TCP proxy for a database server that loses a commit, or only the reply to it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from tests.support.places import Place

Cut = Literal["request", "reply"]
# Last message of a client before it closes a connection (PostgreSQL, MySQL): nobody waits for an answer.
_GOODBYES = (b"X\x00\x00\x00\x04", b"\x01\x00\x00\x00\x01")


@dataclass
class _Line:
    """A connection: both ends, a flag for a lost commit, a flag for a client that waits."""

    client: socket.socket
    server: socket.socket
    doomed: threading.Event = field(default_factory=threading.Event)
    waits: bool = False


class Proxy:
    """A proxy that forwards connections to `port` of this machine.

    Args:
        port: The server's.
        commit: A commit on the wire.

    Attributes:
        port: The port on which it listens.
        cuts: Number of connections that were cut.
        received: Bytes that came from the server.
        round_trips: Number of requests after which a client waited for an answer.
    """

    def __init__(self, port: int, commit: bytes) -> None:
        self._target, self._commit = port, commit
        self._armed: Cut | None = None
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.cuts = self.received = self.round_trips = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, cut: Cut) -> None:
        """Lose the next COMMIT (`request`), or let it succeed and lose the reply (`reply`)."""
        self._armed = cut

    def close(self) -> None:
        """Accept no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                line = _Line(client, server)
                for target in (self._requests, self._replies):
                    threading.Thread(target=target, args=(line,), daemon=True).start()

    def _requests(self, line: _Line) -> None:
        with suppress(OSError):
            while data := line.client.recv(65536):
                cut = self._take(data)
                if cut == "request":
                    break
                if cut == "reply":
                    line.doomed.set()
                with self._lock:
                    if data not in _GOODBYES:
                        self.round_trips += not line.waits
                        line.waits = True
                line.server.sendall(data)
        if not line.doomed.is_set():
            _end(line.client, line.server)

    def _replies(self, line: _Line) -> None:
        with suppress(OSError):
            while data := line.server.recv(65536):
                with self._lock:
                    self.received += len(data)
                    line.waits = False
                if line.doomed.is_set():  # the server has answered, so it has committed
                    break
                line.client.sendall(data)
        _end(line.client, line.server)

    def _take(self, data: bytes) -> Cut | None:
        with self._lock:
            if self._armed is None or self._commit not in data:
                return None
            cut, self._armed = self._armed, None
            self.cuts += 1
            return cut


def _end(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@contextmanager
def proxy_to(place: Place) -> Iterator[Proxy]:
    """Return a proxy to a place's server."""
    made = Proxy(int(place.host.rpartition(":")[2]), place.commit)
    try:
        yield made
    finally:
        made.close()
