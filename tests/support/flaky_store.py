"""A proxy for an HTTP server that fails some requests: an error, a lost request, a lost or a cut reply."""

from __future__ import annotations

import http.client
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

FAULTS = ("error", "lost request", "lost reply", "cut reply")
_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length", "expect"}


class FlakyProxy:
    """A proxy in front of the port `target` of this machine.

    Args:
        target: The server's port.
        share: The share of requests that fail.
        seed: Draws them.

    Attributes:
        endpoint: The proxy's address.
        failed: Number of failed requests by fault.
        passed: Number of requests without a fault.
        delay: Seconds by which each answer is late.
    """

    def __init__(self, target: int, share: float, seed: int) -> None:
        self.share, self.delay = share, 0.0
        self.failed: Counter[str] = Counter()
        self.passed = 0
        self._draw, self._lock = random.Random(seed), threading.Lock()
        self._left = 0
        self._action: Callable[[], object] = _nothing
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                proxy._handle(self, target)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815

            @override
            def log_message(self, format: str, *args: Any) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def fault(self) -> str:
        """Return the fault of the next request; empty for none."""
        with self._lock:
            drawn = self._draw.choice(FAULTS) if self._draw.random() < self.share else ""
            if drawn:
                self.failed[drawn] += 1
            else:
                self.passed += 1
            return drawn

    def before(self, number: int, action: Callable[[], object]) -> None:
        """Run `action` before the request with this number from now on; 1 is the next one, 0 none."""
        with self._lock:
            self._left, self._action = number, action

    def _count(self) -> None:
        with self._lock:
            self._left -= 1
            action = self._action if self._left == 0 else _nothing
        action()

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()

    def _handle(self, request: BaseHTTPRequestHandler, target: int) -> None:
        if "100-continue" in request.headers.get("Expect", ""):
            request.send_response_only(100)
            request.end_headers()
        body = _body(request)
        self._count()
        drawn = self.fault()
        time.sleep(self.delay)
        if drawn == "error":
            return _answer(request, 503, {"Content-Type": "application/xml"}, b"<Error><Code>SlowDown</Code></Error>")
        if drawn == "lost request":
            return _drop(request)
        try:
            reply, content = _forwarded(request, body, target)
        except (OSError, http.client.HTTPException):  # the server has died
            return _drop(request)
        if drawn == "lost reply" or (drawn and len(content) < 2):
            return _drop(request)
        shown = {name: value for name, value in reply.getheaders() if name.lower() not in _HOP}
        size = int(reply.headers.get("Content-Length") or 0) if request.command == "HEAD" else len(content)
        if drawn == "cut reply":
            _answer(request, reply.status, shown, content[: len(content) // 2], size)
            return _drop(request)
        return _answer(request, reply.status, shown, content, size)


def _nothing() -> None:
    return None


def _forwarded(request: BaseHTTPRequestHandler, body: bytes, target: int) -> tuple[http.client.HTTPResponse, bytes]:
    upstream = http.client.HTTPConnection("127.0.0.1", target, timeout=60)
    headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
    if body or request.command in ("PUT", "POST"):
        headers["Content-Length"] = str(len(body))
    with closing(upstream):
        upstream.request(request.command, request.path, body, headers)
        reply = upstream.getresponse()
        return reply, reply.read()


def _body(request: BaseHTTPRequestHandler) -> bytes:
    if "chunked" not in request.headers.get("Transfer-Encoding", ""):
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    found = bytearray()
    while size := int(request.rfile.readline().split(b";")[0], 16):
        found += request.rfile.read(size)
        request.rfile.readline()
    while request.rfile.readline().strip():  # trailers
        pass
    return bytes(found)


def _answer(request: Any, status: int, headers: dict[str, str], content: bytes, size: int | None = None) -> None:
    request.send_response_only(status)
    for name, value in headers.items():
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(content) if size is None else size))
    request.end_headers()
    request.wfile.write(content)


def _drop(request: BaseHTTPRequestHandler) -> None:
    request.close_connection = True
    request.connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def flaky_proxy(target: int, share: float = 0.05, seed: int = 1) -> Iterator[FlakyProxy]:
    """Run a proxy for the block."""
    running = FlakyProxy(target, share, seed)
    try:
        yield running
    finally:
        running.close()
