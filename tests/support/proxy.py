"""A TCP proxy before a database server that loses a commit, or only the reply to it, when it is told to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from tests.support.places import Place

Cut = Literal["request", "reply"]
# What a client sends before it closes a connection (PostgreSQL, MySQL): no answer follows, nobody waits for one.
_GOODBYES = (b"X\x00\x00\x00\x04", b"\x01\x00\x00\x00\x01")


@dataclass
class _Line:
    """One connection: both its ends, whether its commit is lost, and whether its client waits for an answer."""

    client: socket.socket
    server: socket.socket
    doomed: threading.Event = field(default_factory=threading.Event)
    asked: bool = False


class Proxy:
    """Forwards connections to `port` of this machine.

    Args:
        port: The server's.
        commit: What a commit looks like on the wire.

    Attributes:
        port: Where it listens.
        cuts: How many connections were cut.
        received: Bytes that came from the server.
        turns: How often a client asked something and waited: ways to the server and back.
    """

    def __init__(self, port: int, commit: bytes) -> None:
        self._target, self._commit = port, commit
        self._armed: Cut | None = None
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.cuts = self.received = self.turns = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, cut: Cut) -> None:
        """The next COMMIT is lost on its way (`request`), or done and its reply lost (`reply`)."""
        self._armed = cut

    def close(self) -> None:
        """Takes no more connections."""
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
                        self.turns += not line.asked
                        line.asked = True
                line.server.sendall(data)
        if not line.doomed.is_set():
            _end(line.client, line.server)

    def _replies(self, line: _Line) -> None:
        with suppress(OSError):
            while data := line.server.recv(65536):
                with self._lock:
                    self.received += len(data)
                    line.asked = False
                if line.doomed.is_set():  # the server has answered: what it was asked for is done
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
    """A proxy to a place's server."""
    made = Proxy(int(place.host.rpartition(":")[2]), place.commit)
    try:
        yield made
    finally:
        made.close()
