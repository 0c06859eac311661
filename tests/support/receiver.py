"""A local HTTP server that receives batches: it keeps what it accepted, and fails in the ways that a test names."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from typing_extensions import override


@dataclass(frozen=True)
class Received:
    """A request.

    Attributes:
        headers: By their names in lower case.
    """

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def key(self) -> str:
        """The idempotency key."""
        return str(json.loads(self.headers["idempotency-key"]))


class Receiver:
    """The server.

    Attributes:
        got: All requests, in the order in which they came.
        accepted: The first request with each key that was answered with 200.
        answers: What happens to the next requests; after them all are answered with 200. A number is a status,
            ``hang`` no answer, ``drop`` no answer after the request was accepted, ``twice`` two answers, and a pair is
            a status with a header.
    """

    def __init__(self, *answers: Any) -> None:
        self.got: list[Received] = []
        self.accepted: dict[str, Received] = {}
        self.answers = list(answers)
        self._ended, self._lock = threading.Event(), threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(int(headers["content-length"]))
                owner.receive(self, Received(self.path, headers, body))

            def do_GET(self) -> None:
                raise AssertionError("a redirect was followed")

            @override
            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def receive(self, handler: BaseHTTPRequestHandler, one: Received) -> None:
        """Answer a request."""
        with self._lock:
            self.got.append(one)
            answer = self.answers.pop(0) if self.answers else 200
            if answer in (200, "drop", "twice"):
                self.accepted.setdefault(one.key, one)
        if answer in ("hang", "drop"):
            if answer == "hang":
                self._ended.wait()
            handler.close_connection = True
            return
        code, *header = answer if isinstance(answer, tuple) else (200,) if answer == "twice" else (answer,)
        with suppress(OSError):
            for _ in range(2 if answer == "twice" else 1):
                handler.send_response(code)
                if header:
                    handler.send_header(*header[0])
                handler.send_header("Content-Length", "0")
                handler.end_headers()
                handler.wfile.flush()

    @property
    def url(self) -> str:
        """The address."""
        return f"http://127.0.0.1:{self.server.server_port}/in?tenant=7"

    def events(self) -> list[dict[str, Any]]:
        """Return the events of accepted requests that are JSON arrays, each request once."""
        return [event for one in self.accepted.values() for event in json.loads(one.body)]

    def close(self) -> None:
        """End the server and all requests that wait."""
        self._ended.set()
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def receiver(*answers: Any) -> Iterator[Receiver]:
    """A server within the block."""
    made = Receiver(*answers)
    try:
        yield made
    finally:
        made.close()


def self_signed(folder: Path) -> Path:
    """Write a certificate for localhost that no authority has signed, with its key; return the file."""
    import datetime as dt

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.timezone.utc)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = (
        made.serial_number(1).not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + dt.timedelta(days=9))
    )
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "server.pem"
    file.write_bytes(private + made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    return file
