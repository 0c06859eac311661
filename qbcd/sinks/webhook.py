"""Sink `webhook`: POST requests with events, in order, signed as Standard Webhooks are.

A batch is one or more requests of consecutive events. The key of a request names stream, batch and the ordinals of its
events, so a receiver recognizes a request that comes again.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import SplitResult, quote, urlsplit

from pydantic import AfterValidator, Field, SecretStr
from typing_extensions import override

from qbcd.common import hooks, waits
from qbcd.common.wording import counted
from qbcd.config.fields import Size, Wait, Whole, wrong
from qbcd.config.sink_options import BuiltOptions, SecretOption
from qbcd.errors import DeliveryError, SinkSilent, Undeliverable
from qbcd.model import BatchHeader
from qbcd.sinks.base import Sink, SinkBatch
from qbcd.version import __version__

Format = Literal["array", "lines", "cloudevents"]
CONTENT: Mapping[str, str] = {
    "array": "application/json",
    "lines": "application/x-ndjson",
    "cloudevents": "application/cloudevents-batch+json",
}
LEAST_SECRET = 24  # bytes, as Standard Webhooks recommends
_WAIT = (408, 409, 425, 429)  # and 5xx: the same request can succeed later
_TYPES = {"c": "insert", "u": "update", "d": "delete", "r": "row"}
_EXAMPLE = "write url: https://HOST/PATH"
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OWN = re.compile(r"(?i)(host|connection|content-.*|transfer-encoding|expect|idempotency-key|webhook-.*|qbcd-.*)")
_REMEDIES = {
    401: "correct the credential in `headers`, or `secret`",
    403: "correct the credential in `headers`, or the rights that the receiver gives it",
    404: "correct the path of `url`",
    410: "the receiver takes no events any more: correct `url`, or remove the sink",
    413: "lower `max_bytes` or `max_events`",
    415: "write the `format` that the receiver takes",
}


def _url(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port or an IPv6 address
        usable = False
    if not usable or not text.isascii() or not text.isprintable() or " " in text:
        raise wrong("not the address of a receiver", _EXAMPLE)
    if "@" in parts.netloc:
        raise wrong("the address of a receiver has no user", "write headers: {Authorization: ${env:NAME}}")
    return value


def _headers(value: dict[str, SecretStr]) -> dict[str, SecretStr]:
    for name, text in value.items():
        if not _HEADER.fullmatch(name) or _OWN.fullmatch(name):
            raise wrong("this header cannot be set", "remove it", at=name)
        if not text.get_secret_value().isascii() or not text.get_secret_value().isprintable():
            raise wrong("the value of a header has printable ASCII characters only", "correct it", at=name)
    return value


def _secret(value: SecretStr) -> SecretStr:
    try:
        short = len(_key(value.get_secret_value())) < LEAST_SECRET
    except ValueError:
        raise wrong("after whsec_ a secret is base64", "correct it, or write it without whsec_") from None
    if short:
        raise wrong(f"a secret has at least {LEAST_SECRET} bytes", "create one: openssl rand -base64 32")
    return value


def _key(secret: str) -> bytes:
    encoded = secret.removeprefix("whsec_")
    return secret.encode() if encoded == secret else base64.b64decode(encoded, validate=True)


class WebhookOptions(BuiltOptions):
    """POST requests to an address of yours.

    Attributes:
        url: The address, ``https://`` or ``http://``.
        secret: Key of the signature, of at least 24 bytes, as ``${env:NAME}`` or ``${file:/path}``.
        headers: Further headers of each request; values as ``${env:NAME}`` or ``${file:/path}``.
        format: Body of a request: a JSON ``array`` of events, ``lines`` of JSON, or a batch of ``cloudevents``.
        max_events: Most events of a request.
        max_bytes: Size of a request's body, unless one event alone is larger.
        timeout: Longest wait for the answer.
        connect_timeout: Longest wait for a connection.
    """

    example: ClassVar[str] = _EXAMPLE

    type: Literal["webhook"]
    url: Annotated[SecretStr, AfterValidator(_url)]
    secret: Annotated[SecretStr, AfterValidator(_secret)] | None = None
    headers: Annotated[dict[str, SecretStr], AfterValidator(_headers)] = Field(default_factory=dict)
    format: Format = "array"
    max_events: Whole = Field(default=500, ge=1, le=100_000)
    max_bytes: Size = Field(default=1 << 20)
    timeout: Wait = timedelta(seconds=30)
    connect_timeout: Wait = timedelta(seconds=10)

    @property
    @override
    def options(self) -> dict[str, Any]:
        plain = {"url": self.url.get_secret_value(), "secret": self.secret and self.secret.get_secret_value()}
        return {**super().options, **plain, "headers": {n: v.get_secret_value() for n, v in self.headers.items()}}

    @override
    def secrets(self) -> Iterator[SecretOption]:
        if self.secret is not None:
            yield SecretOption(("secret",), self.secret.get_secret_value())
        for name, value in self.headers.items():
            yield SecretOption(("headers", name), value.get_secret_value())


@dataclass(frozen=True)
class Request:
    """Consecutive events of a batch.

    Attributes:
        key: Equal only for equal events.
        events: Their ordinals.
        body: The body in the sink's format.
    """

    key: str
    events: range
    body: bytes


class WebhookSink(Sink):
    """Sends batches to an address.

    Args:
        url: The address.
        secret: Key of the signature; None for no signature.
        headers: Further headers.
        limits: `format`, `max_events`, `max_bytes`, `timeout` and `connect_timeout` of :class:`WebhookOptions`.
    """

    options_class = WebhookOptions
    concurrent = takes_resends = True

    def __init__(
        self, name: str, url: str, secret: str | None = None, headers: Mapping[str, str] | None = None, **limits: Any
    ) -> None:
        super().__init__(name)
        self._url: SplitResult = urlsplit(url)
        self._secret = _key(secret) if secret else b""
        self._headers = dict(headers or {})
        self._format: Format = limits.get("format", "array")
        self._most, self._bytes = limits.get("max_events", 500), limits.get("max_bytes", 1 << 20)
        self._timeout = limits.get("timeout", timedelta(seconds=30)).total_seconds()
        self._connect_timeout = limits.get("connect_timeout", timedelta(seconds=10)).total_seconds()

    @override
    def check(self) -> None:
        with closing(self._connected()):
            pass

    @override
    def write(self, batch: SinkBatch) -> None:
        header, progress = batch.header, batch.progress
        done = progress.events(header.fingerprint) if progress else 0
        for request in self._requests(batch, done):
            self._send(request, header)
            if progress and request.events.stop < header.size:
                progress.note(header.fingerprint, request.events.stop)
            hooks.reach("mid_publish")

    def _requests(self, batch: SinkBatch, done: int) -> Iterator[Request]:
        """Yield the requests of a batch after its first `done` events.

        The last one comes only if the batch is complete.
        """
        header, waiting, first, size = batch.header, list[bytes](), done, 0
        lines = (line for piece in batch.json_lines() for line in piece)
        for line in itertools.islice(lines, done, None):
            event = (_cloud_event(line, header) if self._format == "cloudevents" else line).encode()
            if waiting and (len(waiting) == self._most or size + len(event) + 2 > self._bytes):
                yield self._request(header, first, waiting)
                first, waiting, size = first + len(waiting), [], 0
            waiting.append(event)
            size += len(event) + 1
        if (found := first + len(waiting)) != header.size:
            raise self.incomplete(header, "the stage", found)
        if waiting:
            yield self._request(header, first, waiting)

    def _request(self, header: BatchHeader, first: int, events: list[bytes]) -> Request:
        body = b"\n".join(events) + b"\n" if self._format == "lines" else b"[" + b",".join(events) + b"]"
        part = range(first, first + len(events))
        of = f"/{header.size}" if header.selected else ""  # a sink may have got all events of the batch before
        key = f"{quote(header.event_prefix, safe=':')}{part.start}-{part.stop - 1}{of}"
        return Request(key, part, body)

    def _send(self, request: Request, header: BatchHeader) -> None:
        """Send one request on a connection of its own, so that no answer can belong to another one.

        Raises:
            SinkSilent: The receiver did not answer in time, or asks to come later.
            Undeliverable: It refuses the events.
        """
        what = f"{counted(len(request.events), 'event')} of batch {header.number}"
        with closing(self._connected()) as connection:
            try:
                with waits.on_socket(connection.sock.fileno(), self._timeout, owner=self) as wait:
                    with suppress(BrokenPipeError):  # it may have answered before it read all
                        connection.request("POST", self._target, request.body, self._fields(request, header))
                    answer = connection.getresponse()
            except (OSError, HTTPException) as error:
                why = wait.ended or _reason(error)
                raise self._silent(f"no answer to {what}: {why}", "the batch stays pending") from error
        if 200 <= answer.status < 300 and answer.status != 207:
            return
        said = f"the receiver answered {answer.status} to {what}"
        if answer.status in _WAIT or answer.status >= 500:
            raise self._silent(said, "the batch stays pending", _seconds(answer.getheader("Retry-After")))
        if 300 <= answer.status < 400:
            raise Undeliverable(f"sink {self.name}: {said}, and redirects are not followed", remedy=_EXAMPLE)
        remedy = _REMEDIES.get(answer.status, "the log of the receiver says why it refuses the events")
        passed = f"qbcd skip {header.stream} {self.name} --batch {header.number} passes over the batch"
        raise Undeliverable(f"sink {self.name}: {said}", remedy=f"{remedy}; {passed}", stream=header.stream)

    def _fields(self, request: Request, header: BatchHeader) -> dict[str, str]:
        fields = {
            **self._headers,
            "Connection": "close",
            "Content-Type": CONTENT[self._format],
            "User-Agent": f"qbcd/{__version__}",
            "Idempotency-Key": f'"{request.key}"',
            "Qbcd-Batch": header.number,
            "Qbcd-Events": f"{request.events.start}-{request.events.stop - 1}/{header.size}",
            "Qbcd-Stream": quote(header.stream),
        }
        if self._secret:
            sent = str(int(time.time()))
            signed = f"{request.key}.{sent}.".encode() + request.body
            digest = base64.b64encode(hmac.new(self._secret, signed, hashlib.sha256).digest()).decode()
            fields |= {"webhook-id": request.key, "webhook-timestamp": sent, "webhook-signature": f"v1,{digest}"}
        return fields

    @property
    def _target(self) -> str:
        return (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")

    def _connected(self) -> HTTPConnection:
        """Return a new connection; certificates are verified."""
        seconds = waits.capped(self._connect_timeout, self)
        host, port = self._url.hostname or "", self._url.port
        made: HTTPConnection = HTTPConnection(host, port, timeout=seconds)
        if self._url.scheme == "https":
            made = HTTPSConnection(host, port, timeout=seconds, context=ssl.create_default_context())
        try:
            made.connect()
        except ssl.SSLCertVerificationError as error:
            made.close()
            what = f"sink {self.name}: the certificate of the receiver is not valid: {error.verify_message}"
            raise DeliveryError(what, remedy="correct it, or name its authority in SSL_CERT_FILE") from error
        except OSError as error:
            made.close()
            raise self._silent(f"no connection: {_reason(error)}", "start the receiver, or correct `url`") from error
        with suppress(OSError):
            made.sock.settimeout(None)  # the wait of the whole request has a limit
            made.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def _silent(self, what: str, remedy: str, rest: float = 0.0) -> SinkSilent:
        error = SinkSilent(f"sink {self.name}: {what}", remedy=remedy)
        error.least_rest = rest
        return error


def _cloud_event(line: str, header: BatchHeader) -> str:
    """Return an event as a CloudEvent 1.0 in JSON, with the event as written under `data`."""
    event = json.loads(line)
    facts = {
        "specversion": "1.0",
        "id": event["event_id"],
        "source": f"/qbcd/{quote(header.source, safe='')}/{quote(header.table, safe='')}",
        "type": f"qbcd.{_TYPES[event['op']]}",
        "time": datetime.fromtimestamp(header.ts_ms / 1000, timezone.utc).isoformat(timespec="milliseconds"),
        "datacontenttype": "application/json",
    }
    return f'{json.dumps(facts)[:-1]}, "data": {line}}}'


def _seconds(after: str | None) -> float:
    """Return the seconds of a header Retry-After, which has a number or a date; 0 for none."""
    text = (after or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    return 0.0


def _reason(error: Exception) -> str:
    said = str(getattr(error, "strerror", None) or error) or type(error).__name__
    return said.splitlines()[0]
