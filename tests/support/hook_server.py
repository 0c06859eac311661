"""A local HTTP server for notifications: it answers, fails, redirects, or does not answer, and keeps what it got."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override


class HookServer:
    """The server. The path of a request says what happens.

    ``/hang``: no answer until the end of the server. ``/500`` and other numbers: this answer. ``/twice/..``: 503 to the
    first two requests. Anything else: 204.

    Attributes:
        got: The requests: path, headers, JSON.
    """

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], Any]] = []
        self._ended = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                owner.got.append((self.path, dict(self.headers), json.loads(body)))
                if self.path == "/hang":
                    owner._ended.wait()
                    return
                before = sum(path == self.path for path, _, _ in owner.got)
                first = self.path.split("/")[1]
                code = int(first) if first.isdecimal() else 503 if first == "twice" and before < 3 else 204
                self.send_response(code)
                if code // 100 == 3:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            @override
            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def at(self, path: str) -> list[Any]:
        """Return the JSON of the requests to a path."""
        return [data for asked, _, data in self.got if asked == path]

    def close(self) -> None:
        """End the server and all requests that wait."""
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def hook_server() -> Iterator[HookServer]:
    """A server within the block."""
    made = HookServer()
    try:
        yield made
    finally:
        made.close()
