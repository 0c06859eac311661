"""The rest of a sink that fell silent: no delivery waits for it until the rest has ended.

Without it each stream of a job would wait for the limit in turn, and the polls of a source would be late for as long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone

from qbcd.errors import SinkSilent

LONGEST_S = 300.0


class Rest:
    """The rests of one sink in this process, after 1, 2, 3 .. silent attempts in a row.

    The first rest is as long as the wait was, and each one twice as long as the one before, up to `LONGEST_S`: a
    silent sink takes at most half of the time of those who deliver to it. A target that asks for a longer rest gets it,
    up to `LONGEST_S`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until, self._silences = 0.0, 0
        self._shown = 0.0  # the same by the wall clock: the message stays the same during a rest
        self._error: SinkSilent | None = None

    def refusal(self, sink: str) -> SinkSilent | None:
        """Return the error for a delivery during a rest; None if there is no rest."""
        with self._lock:
            left = self._until - time.monotonic()
            if self._error is None or left <= 0:
                return None
            said = self._error.what.removeprefix(f"sink {sink}: ")
            until = datetime.fromtimestamp(self._shown, timezone.utc).strftime("%H:%M:%S UTC")
            return SinkResting(f"sink {sink}: not tried until {until}, since {said}", remedy=self._error.remedy)

    @contextmanager
    def after_silence(self) -> Iterator[None]:
        """Begin a rest if the block ends with `SinkSilent`; forget earlier ones if it succeeds."""
        began = time.monotonic()
        try:
            yield
        except SinkSilent as error:
            with self._lock:
                now = time.monotonic()
                if now >= self._until:  # of two attempts at once one counts
                    self._silences += 1
                    rest = (now - began) * 2.0 ** min(self._silences - 1, 20)
                    rest = min(LONGEST_S, max(rest, error.least_rest))
                    self._until, self._shown = now + rest, time.time() + rest
                    self._error = error
            raise
        self.end()

    def end(self) -> None:
        """End the rest, and forget earlier ones."""
        with self._lock:
            self._until, self._silences, self._error = 0.0, 0, None


class SinkResting(SinkSilent):
    """A delivery was not tried, since its sink rests."""
