"""Seconds of the phases of a poll; a phase ends where the poll says so, or at a hook point.

The phases of one poll add up to its duration. What runs in another thread counts for the phase that waits for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

# In the order of a poll. `unfinished` is what followed the last phase that ended, in a poll that failed.
PHASES = (
    "lease",
    "plan",
    "watermark",
    "purge",
    "checksums",
    "fetch",
    "compare",
    "commit",
    "enrich",
    "deliver",
    "compact",
    "unfinished",
)
POINTS: Mapping[str, str] = {
    "after_lease": "lease",
    "after_horizon": "watermark",
    "after_purge": "purge",
    "after_snapshot": "fetch",
    "after_checksums": "checksums",
    "after_fetch": "fetch",
    "after_stage": "compare",
    "after_commit": "commit",
    "after_seal": "commit",
    "after_enrichment": "enrich",
}


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def end(self, phase: str) -> None:
        now = time.monotonic()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now


_running: ContextVar[_Clock | None] = ContextVar("phases", default=None)


@contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Measure the phases of the poll in the block; yield their seconds, complete after it."""
    clock = _Clock()
    before = _running.set(clock)
    try:
        yield clock.seconds
    finally:
        _running.reset(before)
        clock.end("unfinished")


def ended(phase: str) -> None:
    """End a phase, which took the time since the last one ended; outside a poll do nothing."""
    if (clock := _running.get()) is not None:
        clock.end(phase)


@contextmanager
def undivided(phase: str) -> Iterator[None]:
    """Count the whole block as one phase, with the hook points in it."""
    before = _running.set(None)
    try:
        yield
    finally:
        _running.reset(before)
        ended(phase)
