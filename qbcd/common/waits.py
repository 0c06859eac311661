"""Waits with an end: a watchdog interrupts a thread that waits longer than its limit.

Drivers and Py4J block in a system call, some of them without a time limit of their own. The watchdog is a separate
thread that ends the wait from outside, for instance by shutting down the socket.
"""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class Wait:
    """One wait of one thread.

    Attributes:
        seconds: The limit.
        until: When it expires, by the monotonic clock.
        owners: For `interrupt`: the owner of the wait, and that of the thread (`of_thread`).
        ended: The reason why the watchdog ended it; empty if it did not.
    """

    def __init__(self, seconds: float, end: Callable[[], None], owners: tuple[object, ...], reason: str) -> None:
        self.until, self.owners, self.ended = time.monotonic() + seconds, owners, ""
        self.seconds, self._end, self._reason = seconds, end, reason

    def shorten(self, seconds: float, reason: str) -> None:
        """Expire in `seconds` for `reason` if that is earlier."""
        until = time.monotonic() + seconds
        if until < self.until:
            self.until, self._reason = until, reason

    def expire(self, reason: str = "") -> None:
        """End the wait, once."""
        if not self.ended:
            self.ended = reason or self._reason
            self._end()


class Watchdog:
    """Waits in progress, and the thread that ends those whose time has passed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waits: set[Wait] = set()
        self._short: dict[object, tuple[float, str]] = {}  # by owner, the limit from now on and its reason
        self._wakes = 0.0  # time of the thread's next check
        self._thread: threading.Thread | None = None

    def add(self, wait: Wait) -> None:
        """Watch `wait` until `remove`."""
        with self._changed:
            self._waits.add(wait)
            for owner in wait.owners:
                if owner in self._short:
                    wait.shorten(*self._short[owner])
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="qbcd-watchdog", daemon=True)
                self._wakes = 0.0
                self._thread.start()
            elif wait.until < self._wakes:
                self._changed.notify()

    def move(self, wait: Wait, until: float) -> None:
        """Let `wait` expire at another time."""
        with self._changed:
            short = [self._short[owner][0] for owner in wait.owners if owner in self._short]
            wait.until = min((until, *(time.monotonic() + seconds for seconds in short)))
            if wait.until < self._wakes:
                self._changed.notify()

    def remove(self, wait: Wait) -> None:
        """Forget `wait`; it cannot expire any more."""
        with self._changed:
            self._waits.discard(wait)

    def expire(self, wait: Wait, reason: str) -> None:
        """End a wait now, unless it was removed."""
        with self._changed:
            if wait in self._waits:
                wait.expire(reason)

    def interrupt(self, owner: object, reason: str) -> None:
        """End all waits of `owner` now."""
        with self._changed:
            for wait in self._waits:
                if owner in wait.owners:
                    wait.expire(reason)

    def shorten(self, owner: object, seconds: float, reason: str) -> None:
        """Let all waits of `owner` last at most `seconds` from now on; see `lift`."""
        with self._changed:
            self._short[owner] = (seconds, reason)
            for wait in self._waits:
                if owner in wait.owners:
                    wait.shorten(seconds, reason)
            self._changed.notify()

    def longest(self, owner: object) -> float:
        """Return the limit that `shorten` set for `owner`, or infinity."""
        with self._changed:
            return self._short.get(owner, (math.inf, ""))[0] if owner is not None else math.inf

    def lift(self, owner: object) -> None:
        """Let later waits of `owner` have their own limits again."""
        with self._changed:
            self._short.pop(owner, None)

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for wait in self._waits:
                    if wait.until <= now:
                        wait.expire()
                self._wakes = min((now + 3600.0, *(w.until for w in self._waits if not w.ended)))
                self._changed.wait(self._wakes - now)


_watchdog = Watchdog()
_cap = threading.local()
_of_thread = threading.local()


def _renew_watchdog() -> None:
    global _watchdog
    _watchdog = Watchdog()  # a fork copies no thread


os.register_at_fork(after_in_child=_renew_watchdog)


@contextmanager
def limited(seconds: float, end: Callable[[], None], *, reason: str = "", owner: object = None) -> Iterator[Wait]:
    """Call `end` if the block lasts longer than `seconds`, or than the limit of `at_most`.

    Args:
        seconds: The limit.
        end: Makes the block end with an error. It is called from another thread, must not block, and must not raise.
        reason: What to report, with ``{s}`` for the limit in seconds.
        owner: The owner of the wait, for `interrupt`.
    """
    seconds = capped(seconds)
    owners = (owner, getattr(_of_thread, "owner", None))
    wait = Wait(seconds, end, owners, (reason or "no answer for {s} s").format(s=f"{seconds:g}"))
    watchdog = _watchdog
    watchdog.add(wait)
    try:
        yield wait
    finally:
        watchdog.remove(wait)


def later(seconds: float, call: Callable[[], None]) -> Wait:
    """Call `call` in `seconds` from another thread, unless `cancel` is called before.

    It must not block or raise.
    """
    wait = Wait(seconds, call, (), "the time has come")
    _watchdog.add(wait)
    return wait


def cancel(wait: Wait) -> None:
    """Forget a wait of `later`; its call does not begin any more."""
    _watchdog.remove(wait)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """In the block, limit each wait of this thread to `seconds`."""
    before = getattr(_cap, "seconds", None)
    _cap.seconds = seconds if before is None else min(seconds, before)
    try:
        yield
    finally:
        if before is None:
            del _cap.seconds
        else:
            _cap.seconds = before


@contextmanager
def paused(wait: Wait | None) -> Iterator[None]:
    """In the block, suspend a wait's limit; after it, the wait counts from the start again.

    `interrupt` ends it also in the block.
    """
    if wait is None:
        yield
        return
    watchdog = _watchdog
    watchdog.move(wait, math.inf)
    try:
        yield
    finally:
        watchdog.move(wait, time.monotonic() + wait.seconds)


@contextmanager
def of_thread(owner: object) -> Iterator[None]:
    """In the block, all waits of this thread have `owner` too, for `interrupt`."""
    _of_thread.owner = owner
    try:
        yield
    finally:
        del _of_thread.owner


def capped(seconds: float, owner: object = None) -> float:
    """Return `seconds`, or less within `at_most`, or if the waits of `owner` are short now."""
    return min(seconds, float(getattr(_cap, "seconds", seconds)), _watchdog.longest(owner))


def shorten(owner: object, seconds: float, reason: str) -> None:
    """Let all waits of `owner` in this process last at most `seconds` from now on, until `lift`."""
    _watchdog.shorten(owner, seconds, reason)


def lift(owner: object) -> None:
    """Let later waits of `owner` have their own limits again."""
    _watchdog.lift(owner)


def expire(wait: Wait, reason: str) -> None:
    """End a wait now for `reason`, if it is in progress."""
    _watchdog.expire(wait, reason)


def interrupt(owner: object, reason: str) -> None:
    """End all waits of `owner` in this process now, for `reason`."""
    _watchdog.interrupt(owner, reason)


@contextmanager
def on_socket(number: int, seconds: float, *, reason: str = "", owner: object = None) -> Iterator[Wait]:
    """Shut down the socket of descriptor `number` if the block exceeds `seconds`; see `limited`.

    Shutting down reaches a thread that waits for the socket; closing the descriptor does not.
    """
    own = socket.socket(fileno=os.dup(number))  # the number may be used again before the watchdog is done

    def end() -> None:
        with suppress(OSError):  # the peer may have closed it
            own.shutdown(socket.SHUT_RDWR)

    try:
        with limited(seconds, end, reason=reason, owner=owner) as wait:
            yield wait
    finally:
        own.close()
