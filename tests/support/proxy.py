"""A TCP proxy for a database server: it counts, loses a commit or the reply to it, or lets connections fall silent."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from tests.support.places import Place

Cut = Literal["request", "reply"]
# black_hole: no byte passes any more. half_open: requests arrive, replies vanish. throttled: two bytes a second.
Fault = Literal["black_hole", "half_open", "throttled"]
FAULTS: tuple[Fault, ...] = ("black_hole", "half_open", "throttled")
TICK = 0.5  # seconds for a byte of a throttled connection
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
        delay: Seconds by which the first bytes of each answer are late, as from a distant server.
        replaces: Text of requests, and what arrives in its place; both have the same length.
        struck: Set once a connection has met the fault of `fall`.
        struck_at: When that was, by the monotonic clock.
    """

    def __init__(self, port: int, commit: bytes) -> None:
        self._target, self._commit = port, commit
        self._armed: Cut | None = None
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.cuts = self.received = self.round_trips = 0
        self._fault: Fault | None = None
        self._fault_after: bytes | int = b""
        self._healed = threading.Event()
        self.delay = 0.0
        self.replaces = (b"", b"")
        self.struck = threading.Event()
        self.struck_at = 0.0
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, cut: Cut) -> None:
        """Lose the next COMMIT (`request`), or let it succeed and lose the reply (`reply`)."""
        self._armed = cut

    def fall(self, fault: Fault, after: bytes | int = b"") -> None:
        """Let all connections, also new ones, meet `fault` from now on.

        Args:
            fault: What happens to them.
            after: First let a request with this text pass, or this number of bytes from the server.
        """
        with self._lock:
            self._healed.clear()
            self.struck.clear()
            self._fault_after = after + self.received if isinstance(after, int) else after
            self._fault = fault

    def heal(self) -> None:
        """Let new connections pass; end those that met the fault."""
        with self._lock:
            self._fault = None
            self._healed.set()

    def close(self) -> None:
        """Accept no more connections."""
        self.heal()
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
                if self.replaces[0]:
                    data = data.replace(*self.replaces)
                if self._meets(data) == "black_hole":
                    self._healed.wait()
                    break
                line.server.sendall(data)
        if not line.doomed.is_set():
            _end(line.client, line.server)

    def _replies(self, line: _Line) -> None:
        with suppress(OSError):
            while data := line.server.recv(65536):
                with self._lock:
                    self.received += len(data)
                    first, line.waits = line.waits, False
                if first and self.delay:
                    time.sleep(self.delay)
                if line.doomed.is_set():  # the server has answered, so it has committed
                    break
                fault = self._meets(b"")
                if fault in ("black_hole", "half_open"):
                    self._healed.wait()
                    break
                if fault == "throttled":
                    self._trickle(line.client, data)
                else:
                    line.client.sendall(data)
        _end(line.client, line.server)

    def _meets(self, request: bytes) -> Fault | None:
        """Return the fault that a connection meets now, if any."""
        with self._lock:
            if self._fault is None:
                return None
            if not self.struck.is_set():
                after = self._fault_after
                if self.received < after if isinstance(after, int) else after not in request:
                    return None
                self.struck.set()
                self.struck_at = time.monotonic()
            return self._fault

    def _trickle(self, client: socket.socket, data: bytes) -> None:
        for number in range(len(data)):
            client.sendall(data[number : number + 1])
            if self._healed.wait(TICK):
                raise OSError("the connection ends with its fault")

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
