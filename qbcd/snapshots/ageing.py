"""The ageing buffer of the window method: rows that wait for their partner.

The oldest row is the first out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qbcd.snapshots.base import Numbers
from qbcd.snapshots.chunks import Chunk, DumpLayout, Marks, gathered
from qbcd.snapshots.digests import Codes, Words

_FEW = 4096


@dataclass
class _Level:
    """Sorted codes with the arrival numbers of their rows."""

    high: Words
    low: Words
    number: Numbers


class AgeingBuffer:
    """A queue of rows with an index by key code.

    Rows get ascending arrival numbers. The index is a few sorted levels; two neighbors are merged when the younger one
    has at least half as many rows, so a lookup searches a logarithmic number of levels.
    """

    def __init__(self, layout: DumpLayout, whole: bool, capacity: int) -> None:
        self.layout, self.whole, self.capacity = layout, whole, capacity
        self.count = 0
        self.peak = 0
        self._first = self._next = 0
        self._alive: Marks = np.zeros(_FEW, np.bool_)
        self._queue: list[tuple[Numbers, Chunk]] = []
        self._levels: list[_Level] = []

    def find(self, key: Codes) -> tuple[Numbers, Numbers]:
        """Return row numbers within `key`, and the arrival numbers of waiting rows.

        They are matched one to one by the same code.
        """
        rows, numbers = [], []
        free = np.ones(len(key.high), np.bool_)
        for level in self._levels:
            wanted = np.flatnonzero(free)
            place = np.searchsorted(level.high, key.high[wanted])
            inside = place < len(level.high)
            wanted, place = wanted[inside], place[inside]
            number = level.number[place]
            equal = (level.high[place] == key.high[wanted]) & (level.low[place] == key.low[wanted])
            equal &= self._alive[number - self._first]
            some, first = np.unique(number[equal], return_index=True)
            hit = wanted[equal][first]
            free[hit] = False
            rows.append(hit)
            numbers.append(some)
        if not rows:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate(rows), np.concatenate(numbers)

    def remove(self, numbers: Numbers) -> Chunk:
        """Take rows out, in the given order."""
        self._alive[numbers - self._first] = False
        self.count -= len(numbers)
        order = np.argsort(numbers, kind="stable")
        wanted = numbers[order]
        found = []
        for arrived, chunk in self._queue:
            low, high = np.searchsorted(wanted, (arrived[0], arrived[-1] + 1))
            if high > low:
                found.append(chunk.take(np.searchsorted(arrived, wanted[low:high])))
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return gathered(found, self.layout, self.whole).take(back)

    def push(self, chunk: Chunk) -> Chunk:
        """Append rows; return the oldest ones that exceed the capacity."""
        self._append(chunk)
        self.peak = max(self.peak, min(self.count, self.capacity))
        return self._evict(self.count - self.capacity)

    def drain(self) -> Chunk:
        """Return all rows."""
        return self._evict(self.count)

    def _append(self, chunk: Chunk) -> None:
        if not len(chunk):
            return
        last = self._next + len(chunk)
        if last - self._first > len(self._alive):
            self._alive = np.concatenate((self._alive, np.zeros(max(len(self._alive), len(chunk)), np.bool_)))
        arrived = np.arange(self._next, last)
        self._alive[self._next - self._first : last - self._first] = True
        order = chunk.key.order()
        self._queue.append((arrived, chunk))
        self._levels.append(_Level(chunk.key.high[order], chunk.key.low[order], arrived[order]))
        self._next, self.count = last, self.count + len(chunk)
        self._tidy()

    def _tidy(self) -> None:
        """Merge levels, and drop rows that are no longer in the buffer.

        They are dropped in the index, in the queue, and in the marks of the past.
        """
        while len(self._levels) > 1 and 2 * len(self._levels[-1].high) >= len(self._levels[-2].high):
            two, one = self._levels.pop(), self._levels.pop()
            self._levels.append(self._together(one, two))
        kept = []
        for arrived, chunk in self._queue:
            alive = self._alive[arrived - self._first]
            left = int(np.count_nonzero(alive))
            if 2 * left < len(arrived):
                some = np.flatnonzero(alive)
                arrived, chunk = arrived[some], chunk.take(some)
            if len(arrived):
                kept.append((arrived, chunk))
        self._queue = self._compacted(kept)
        oldest = min((int(level.number.min()) for level in self._levels if len(level.number)), default=self._next)
        if oldest - self._first > len(self._alive) // 2:
            self._alive = np.concatenate(
                (self._alive[oldest - self._first :], np.zeros(oldest - self._first, np.bool_))
            )
            self._first = oldest

    def _compacted(self, queue: list[tuple[Numbers, Chunk]]) -> list[tuple[Numbers, Chunk]]:
        """Join neighbors in the queue that became small."""
        result: list[tuple[Numbers, Chunk]] = []
        for arrived, chunk in queue:
            if result and len(result[-1][0]) + len(arrived) <= _FEW:
                before, other = result.pop()
                arrived, chunk = np.concatenate((before, arrived)), gathered([other, chunk], self.layout, self.whole)
            result.append((arrived, chunk))
        return result

    def _together(self, one: _Level, two: _Level) -> _Level:
        high = np.concatenate((one.high, two.high))
        low = np.concatenate((one.low, two.low))
        number = np.concatenate((one.number, two.number))
        alive = np.flatnonzero(self._alive[number - self._first])
        order = alive[np.argsort(high[alive], kind="stable")]
        return _Level(high[order], low[order], number[order])

    def _evict(self, excess: int) -> Chunk:
        """Take the oldest rows out."""
        if excess <= 0:
            return gathered([], self.layout, self.whole)
        last = self._first + int(np.flatnonzero(self._alive)[excess - 1])
        numbers = self._first + np.flatnonzero(self._alive[: last - self._first + 1])
        return self.remove(numbers)
