"""The due times of the streams of one source, and back-off after failures."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Mapping, Sequence

from qbcd.catalog.source import Round
from qbcd.config.cron import CronLine
from qbcd.errors import LeaseHeld
from qbcd.polling.outcome import Outcome
from qbcd.stream import Stream

MAX_BACKOFF_S = 300.0
MOST_DOUBLINGS = 9  # 2 ** 9 s exceeds MAX_BACKOFF_S
LEAST_JITTER = 0.5  # of a wait: sources that were down together do not all get their pollers back at the same moment


def back_off(failures: int) -> float:
    """Return the seconds to wait after some failures in a row: 2, 4, 8 .. 300, less up to half."""
    if not failures:
        return 0.0
    return min(MAX_BACKOFF_S, 2.0 ** min(failures, MOST_DOUBLINGS)) * random.uniform(LEAST_JITTER, 1.0)


class Schedule:
    """The streams of one source: due times, and back-off of each stream and of the source.

    It does no work, so it does not matter which thread polls. Times are those of the monotonic clock.
    """

    def __init__(self, streams: Sequence[Stream]) -> None:
        self.streams: dict[str, Stream] = {}
        self._due: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._source_due, self._source_failures = 0.0, 0
        self.keep({stream.name: stream for stream in streams})

    def keep(self, streams: Mapping[str, Stream]) -> None:
        """Poll these streams from now on; new ones are due at once, or by their cron line."""
        self.streams = dict(streams)
        self._due = {name: self._due.get(name, _first_due(stream)) for name, stream in streams.items()}
        self._failures = {name: self._failures.get(name, 0) for name in streams}

    @property
    def is_source_down(self) -> bool:
        """True if the last attempt to reach the source failed."""
        return self._source_failures > 0

    def next_due(self, in_hand: Collection[str] = ()) -> float:
        """Return the time of the next round; streams `in_hand` are being polled."""
        waiting = (at for name, at in self._due.items() if name not in in_hand)
        return max(self._source_due, min(waiting, default=time.monotonic() + MAX_BACKOFF_S))

    def due(self, now: float) -> list[str]:
        """Return the streams that are due, the longest due first."""
        return sorted((name for name, at in self._due.items() if at <= now), key=self._due.__getitem__)

    def polled(self, outcome: Outcome, began: float) -> None:
        """Set the stream's next poll.

        After each failure a stream waits twice as long as before, and at least its interval. A stream whose source was
        not reached stays due. A source that answers again makes streams due that failed meanwhile.
        """
        name, now = outcome.stream, time.monotonic()
        if outcome.reached is False or name not in self.streams:
            return
        if outcome.reached and self._source_failures:
            self._source_failures = 0
            for failed in (one for one, failures in self._failures.items() if failures):
                self._due[failed] = min(self._due[failed], now)
        busy = isinstance(outcome.error, LeaseHeld)
        self._failures[name] = self._failures[name] + 1 if outcome.error and not busy else 0
        every, wait = self.streams[name].config.every, back_off(self._failures[name])
        if isinstance(every, CronLine):  # a failed poll is tried again before the line's next moment
            following = _next_moment(every, now)
            self._due[name] = min(following, now + wait) if wait else following
            return
        # Intervals count from the start of a poll; polls do not accumulate behind a slow one.
        self._due[name] = max(began + max(every.total_seconds(), wait), now)

    def ended(self, polls: Round) -> None:
        """End a round: if a connection failed, the whole source waits."""
        if polls.failed is not None:
            self._source_failures += 1
            self._source_due = time.monotonic() + back_off(self._source_failures)


def _first_due(stream: Stream) -> float:
    every = stream.config.every
    return _next_moment(every, time.monotonic()) if isinstance(every, CronLine) else 0.0


def _next_moment(line: CronLine, now: float) -> float:
    """Return the next moment of a cron line by the monotonic clock, which is at `now`."""
    wall = time.time()
    return now + line.next_after(wall) - wall
