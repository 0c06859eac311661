"""The cost model of a mesh join: memory, rate, pages to read at once (Polyzotis et al., 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

POINTER_BYTES = 8
HASH_OVERHEAD = 1.5  # bytes of the hash table for each byte of an event
SMOOTHING = 0.3  # weight of the newest observation
FITTED = 32  # reads that a fit remembers at least half of


class MeshError(ValueError):
    """No tuning can keep up, or the memory is too small."""


@dataclass(frozen=True)
class Tuning:
    """Pages of one read (b) and events admitted before it (w)."""

    pages: int
    events: int


@dataclass(frozen=True)
class Costs:
    """Facts of the cost model (Table 1), in bytes and seconds.

    Attributes:
        pages: Pages of the relation (N_R).
        page_bytes: v_P.
        rows_of_page: v_P / v_R.
        event_bytes: v_S.
        read: Seconds of a read of any length: the seek, or the round trip.
        transfer: Seconds to read one page more.
        event: Seconds to admit, expire and probe one event (c_S + c_A + c_E).
        row: Seconds to probe one row, with the results that it gives (c_H + sigma c_O).
    """

    pages: int
    page_bytes: float
    rows_of_page: float
    event_bytes: float
    read: float
    transfer: float
    event: float
    row: float

    @property
    def per_page(self) -> float:
        """Seconds of one more page of a read, joined (beta)."""
        return self.transfer + self.rows_of_page * self.row

    @property
    def queued(self) -> float:
        """Bytes of an event in queue and hash table, in each of the N_R / b groups (g)."""
        return POINTER_BYTES + HASH_OVERHEAD * self.event_bytes

    def loop(self, tuning: Tuning) -> float:
        """Seconds of one iteration (2)."""
        return self.read + tuning.pages * self.per_page + tuning.events * self.event

    def rate(self, tuning: Tuning) -> float:
        """Events a second (3): the service rate mu."""
        return tuning.events / self.loop(tuning)

    def cycle(self, tuning: Tuning) -> float:
        """Seconds that an event waits: one full scan."""
        return math.ceil(self.pages / tuning.pages) * self.loop(tuning)

    def memory(self, pages: float, events: float) -> float:
        """Bytes of buffers, hash table and queue (1)."""
        window = events * self.pages / pages
        return pages * self.page_bytes + events * self.event_bytes + window * self.queued

    def events_at(self, rate: float, pages: float) -> float:
        """Return the events of an iteration that serves `rate`, the least w with mu = lambda.

        Raises:
            MeshError: Admitting events alone takes longer.
        """
        left = 1 - rate * self.event
        if left <= 0:
            raise MeshError(f"{rate:.0f} events a second need more than {1 / self.event:.0f}, the rate of an idle scan")
        return rate / left * (self.read + pages * self.per_page)

    def best_pages(self, rate: float) -> float:
        """Return b*, the pages of a read with the least memory that serves `rate` (closed form)."""
        share = self.events_at(rate, 0) / self.read if self.read else rate / (1 - rate * self.event)
        wanted = share * self.read * self.pages * self.queued
        return math.sqrt(wanted / (self.page_bytes + share * self.per_page * self.event_bytes))

    def for_rate(self, rate: float) -> Tuning:
        """Return the tuning with the least memory that serves `rate` events a second."""
        near = math.floor(self.best_pages(rate))
        choices = {min(max(pages, 1), self.pages) for pages in (near, near + 1)}
        pages = min(choices, key=lambda b: self.memory(b, self.events_at(rate, b)))
        return Tuning(pages, math.ceil(self.events_at(rate, pages)))

    def events_within(self, memory: float, pages: int) -> int:
        """Return the events of an iteration that `memory` allows; below 1 for none."""
        return math.floor((memory - pages * self.page_bytes) / (self.event_bytes + self.pages / pages * self.queued))

    def within(self, memory: float) -> Tuning:
        """Return the tuning with the highest service rate in this memory.

        Raises:
            MeshError: Not even one event and one page fit.
        """
        best: Tuning | None = None
        for pages in _candidates(self.pages):
            events = self.events_within(memory, pages)
            if events >= 1 and (best is None or self.rate(Tuning(pages, events)) > self.rate(best)):
                best = Tuning(pages, events)
        if best is None:
            raise MeshError(f"{memory:.0f} bytes hold no page and event; a page has {self.page_bytes:.0f} bytes")
        return best


def _candidates(pages: int) -> range | list[int]:
    """Return the reads to try: each one up to 4096 pages, then in steps of 1 %."""
    if pages <= 4096:
        return range(1, pages + 1)
    tried, last = list(range(1, 4097)), 4096
    while last < pages:
        last = min(pages, last + last // 100)
        tried.append(last)
    return tried


class ReadTimes:
    """A line through observed times, `fixed + each * size`, with older observations fading.

    Attributes:
        sums: All that it has observed: weight, sizes, times, and their products; it may be stored and set again.
    """

    def __init__(self, fixed: float = 0.0, each: float = 0.0) -> None:
        self._start = (fixed, each)
        self.sums = [0.0] * 5  # weight, x, t, xx, xt

    @property
    def observed(self) -> bool:
        """True after the first observation."""
        return self.sums[0] > 0

    def observe(self, size: float, seconds: float) -> None:
        """Note the time of one action of this size."""
        fade = 1 - 1 / FITTED
        new = (1.0, size, seconds, size * size, size * seconds)
        self.sums = [fade * old + value for old, value in zip(self.sums, new, strict=True)]

    @property
    def line(self) -> tuple[float, float]:
        """Fixed seconds and seconds of each unit, neither negative."""
        weight, x, t, xx, xt = self.sums
        if not weight:
            return self._start
        spread = weight * xx - x * x
        if spread <= 1e-9 * weight * xx:
            fixed = min(self._start[0], t / weight)
            return fixed, (t / weight - fixed) / max(x / weight, 1e-12)
        each = max((weight * xt - x * t) / spread, 0.0)
        fixed = (t - each * x) / weight
        return (fixed, each) if fixed >= 0 else (0.0, t / max(x, 1e-12))

    def predict(self, size: float) -> float:
        """Return the expected seconds of an action of this size."""
        fixed, each = self.line
        return fixed + each * size


class Tuner:
    """AMESHJOIN's controller: b and w of the next iteration.

    They follow the observed rate of arrival and a memory limit. It asks for the least memory that serves the rate. If
    that is more than the limit, it takes the best rate within the limit, and `shed` is the share of events that have to
    wait.
    """

    def __init__(self, costs: Costs, memory: float) -> None:
        self.costs = costs
        self.memory = memory
        self.arriving = 0.0
        self.shed = 0.0

    def observe(self, events: int, seconds: float) -> None:
        """Note the events that arrived within these seconds."""
        rate = events / seconds
        self.arriving += (rate - self.arriving) * (SMOOTHING if self.arriving else 1.0)

    def next(self, held: float = 0.0) -> Tuning:
        """Return pages and events of the next iteration.

        Args:
            held: Bytes of the events that wait already; growth that exceeds the limit is not admitted (M13).

        Raises:
            MeshError: The limit holds no page and event.
        """
        limit = self.costs.within(self.memory)
        self.shed = 0.0
        try:
            wanted = self.costs.for_rate(self.arriving) if self.arriving else Tuning(limit.pages, 1)
        except MeshError:
            wanted = None
        if wanted is None or self.costs.memory(wanted.pages, wanted.events) > self.memory:
            wanted = limit
            self.shed = max(0.0, 1 - self.costs.rate(limit) / self.arriving)
        room = self.memory - wanted.pages * self.costs.page_bytes - held
        fit = math.floor(room / (self.costs.event_bytes + self.costs.queued))
        return Tuning(wanted.pages, max(0, min(wanted.events, fit)))
