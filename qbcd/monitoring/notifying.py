"""Notifications: each hook has its own thread and bounded queue, so no poll or hook waits."""

from __future__ import annotations

import base64
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote
from urllib.request import HTTPRedirectHandler, Request, build_opener

from typing_extensions import override

from qbcd.config.masking import Masking
from qbcd.config.notify import NotifyConfig
from qbcd.errors import streams_named
from qbcd.monitoring import background
from qbcd.monitoring.background import Background
from qbcd.monitoring.notices import Notice, States
from qbcd.polling.outcome import Outcome
from qbcd.project import ProjectParts
from qbcd.stream import Stream
from qbcd.version import __version__

log = logging.getLogger("qbcd")
PAUSES_S = (1.0, 5.0)  # between the attempts for one notice
_RETRIED = (408, 425, 429)  # and 5xx; other answers would be the same at the next attempt


@contextmanager
def notifying(parts: ProjectParts, streams: Sequence[Stream]) -> Iterator[Notifications]:
    """Yield what takes outcomes, and sends what they change to the configured hooks.

    At the end of the block, wait for what is not sent, at most `background.END_S`.
    """
    if not parts.config.notify:
        yield Notifications()
        return
    hooks = [
        Hook(config, parts.config.where("notify", number), parts.masking.foreign)
        for number, config in enumerate(parts.config.notify)
    ]
    try:
        yield Notifications(States(streams), hooks, parts.masking)
    finally:
        until = time.monotonic() + background.END_S
        for hook in hooks:
            hook.end()
        for hook in hooks:
            hook.join(max(0.0, until - time.monotonic()))


class Notifications:
    """The notices of a job's polls, none without hooks. The threads of sources share it.

    Args:
        masking: Masks secrets in notices.
    """

    def __init__(
        self, states: States | None = None, hooks: Sequence[Hook] = (), masking: Masking | None = None
    ) -> None:
        self._states, self._hooks, self._masking = states, hooks, masking or Masking()
        self._lock = threading.Lock()

    def add(self, outcome: Outcome) -> None:
        """Send what the outcome of a poll changes."""
        if self._states is None:
            return
        with self._lock:
            for notice in self._states.add(outcome):
                for hook in self._hooks:
                    if hook.wants(notice):
                        hook.put(notice, notice.data(self._masking))

    def follow(self, stream: Stream) -> None:
        """Take outcomes of one more stream from now on."""
        if self._states is not None:
            with self._lock:
                self._states.follow(stream)


class Hook:
    """One address that gets notices, in order, from a thread of its own.

    Args:
        config: The address and what it gets.
        place: Place of the address in the configuration; messages name it, never the address.
        masked: Masks secrets in foreign text.
    """

    def __init__(self, config: NotifyConfig, place: str, masked: Callable[[str], str]) -> None:
        self._config, self._place, self._masked = config, place, masked
        self._opener = build_opener(_NoRedirect)
        self._background = Background("qbcd-notify", self._deliver, self._full)

    def wants(self, notice: Notice) -> bool:
        """Return True if the address gets such notices; a changed schema can be a refusal too."""
        on = self._config.on
        return notice.event in on or (notice.event == "schema_changed" and notice.outcome in on)

    def put(self, notice: Notice, data: dict[str, Any]) -> None:
        """Add a notice to the queue; drop it with a warning if the queue is full."""
        self._background.put((notice, data))

    def end(self) -> None:
        """Let the thread end after the notices in the queue."""
        self._background.end()

    def join(self, seconds: float) -> None:
        """Wait for the thread; warn of notices that are not sent in time."""
        if not self._background.join(seconds):
            log.warning("%s: the hook does not answer; the latest notifications may be lost", self._place)

    def _full(self, item: tuple[Notice, dict[str, Any]]) -> None:
        self._lost(item[0], f"{background.MOST_WAITING:,} others wait for the hook")

    def _deliver(self, item: tuple[Notice, dict[str, Any]]) -> None:
        problem = self._send(item[1])
        if problem and not self._background.stopped.is_set():
            self._lost(item[0], problem)

    def _send(self, data: dict[str, Any]) -> str:
        """Send a notice; return the problem if no attempt succeeded."""
        for pause in (*PAUSES_S, None):
            problem, again = self._attempt(data)
            if not problem or not again or pause is None or self._background.stopped.wait(pause):
                return problem
        return ""

    def _attempt(self, data: dict[str, Any]) -> tuple[str, bool]:
        """Send once; return the problem, and True if another attempt may succeed."""
        try:
            with self._opener.open(self._request(data), timeout=self._config.timeout.total_seconds()):
                return "", False
        except HTTPError as error:
            with error:
                return f"the hook answered {error.code}", error.code in _RETRIED or error.code >= 500
        except (OSError, HTTPException, ValueError) as error:  # URLError is an OSError
            reason = getattr(error, "reason", None) or error
            said = str(getattr(reason, "strerror", None) or reason) or type(reason).__name__
            return self._masked(said.splitlines()[0]), True

    def _request(self, data: dict[str, Any]) -> Request:
        parts = self._config.parts
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
        headers = {"Content-Type": "application/json", "User-Agent": f"qbcd/{__version__}"}
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
        return Request(url, json.dumps(data).encode(), headers, method="POST")

    def _lost(self, notice: Notice, problem: str) -> None:
        subject = f"{streams_named(notice.streams)} {notice.event}"
        log.warning("%s: a notification is lost (%s): %s", self._place, subject, problem)


class _NoRedirect(HTTPRedirectHandler):
    """A handler that follows no redirect: the address of a hook is a secret for one host."""

    @override
    def redirect_request(self, *args: Any, **more: Any) -> None:
        """Return no request, so that the answer counts as an error."""
