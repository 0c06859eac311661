"""The window method: algorithm 3.3 of Labio & Garcia-Molina 1996.

It is corrected, and has a spill.

Both sides are read once, side by side. A row that meets no partner waits in an ageing buffer. With the spill, rows that
must leave a full buffer are compared at the end: the result is exact and minimal for any size of the buffers. Without
it they are reported at once, as a delete and an insert that may cancel each other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qbcd.snapshots.ageing import AgeingBuffer
from qbcd.snapshots.base import Numbers, weight_of
from qbcd.snapshots.chunks import Chunk, differ, gathered
from qbcd.snapshots.digests import Words
from qbcd.snapshots.ordered import Partitions, partition_count
from qbcd.snapshots.pairing import pair
from qbcd.snapshots.replica import DumpReplica
from qbcd.snapshots.sorting import written
from qbcd.snapshots.work import AssumptionFailed, Work, step_memory

STEP_ROWS = 1 << 14


def capacity(memory: int, width: float) -> int:
    """Return how many rows each side of a window holds.

    `width` is the bytes of a row of both sides.
    """
    return int(step_memory(memory) * 2 // max(1.0, width))


def window(work: Work) -> None:
    """Compare within a window; what leaves it is spilled: |F1| + |F2| + 2 (spilled) blocks."""
    WindowRun(work, compressed=False, spill=True).run()


def window_plain(work: Work) -> None:
    """Compare within a window without a spill, as printed: |F1| + |F2| blocks.

    There may be useless pairs.
    """
    WindowRun(work, compressed=False, spill=False).run()


def similar(work: Work) -> None:
    """Compare entries of the old side within a window: |f1| + |F2| + |f2| blocks and the spill."""
    WindowRun(work, compressed=True, spill=True).run()


def ordered(work: Work) -> None:
    """Compare dumps whose rows are in the same order: |F1| + |F2| blocks and a small window."""
    found = WindowRun(work, compressed=False, spill=True)
    found.limit(4 * STEP_ROWS)
    found.run()


class WindowRun:
    """One run; half of the memory holds both buffers, filled at the same rate.

    Capacities are in rows.
    """

    def __init__(self, work: Work, compressed: bool, spill: bool) -> None:
        if not compressed:
            work.require_rows("window")
        self.work, self.whole, self.spill = work, not compressed, spill
        width = self._width()
        rows = capacity(work.options.memory, width)
        self.step = max(16, min(STEP_ROWS, work.memory // width // 4))
        self.old = AgeingBuffer(work.layout, self.whole, rows)
        self.new = AgeingBuffer(work.layout, True, rows)
        old_size = work.old.size if isinstance(work.old, DumpReplica) else weight_of(work.old)
        count = partition_count(max(old_size, weight_of(work.new)), work.memory)
        self.spilled_old = Partitions(work, self.whole, count)
        self.spilled_new = Partitions(work, True, count)
        self.reported: list[Words] = []
        self.strict = False

    def limit(self, rows: int) -> None:
        """Make the buffers smaller; a row that must leave them then ends the comparison."""
        self.strict = True
        for side in (self.old, self.new):
            side.capacity = min(side.capacity, rows)

    def _width(self) -> int:
        """Return the bytes of a waiting row of both sides, from the first rows of the new one."""
        first = next(iter(self.work.new.batches()), None)
        each = first.nbytes // max(1, first.num_rows) if first is not None else 1
        return each + 64 + (each if self.whole else 64)

    def run(self) -> None:
        """Read both sides in steps of equally many rows."""
        work = self.work
        old = _steps(self._old(), self.step, self.whole, work)
        new = _steps(self._new(), self.step, True, work)
        while True:
            one, two = next(old, None), next(new, None)
            if one is None and two is None:
                break
            first = one if one is not None else gathered([], work.layout, self.whole)
            second = two if two is not None else gathered([], work.layout, True)
            self._step(first, second)
        self._leave(self.old.drain(), self.new.drain())
        self._finish()
        report = work.report
        held = max(self.old.peak, self.new.peak) + report.spilled_rows
        report.waiting = max(0, held - report.inserts - report.deletes)

    def _new(self) -> Iterator[Chunk]:
        chunks = self.work.new_chunks(digest=not self.whole)
        return written(self.work, chunks, self.work.options.keep_rows, "file")

    def _old(self) -> Iterator[Chunk]:
        for chunk in self.work.old_chunks(digest=not self.whole):
            yield chunk if self.whole else chunk.entries(pointers=False)

    def _step(self, one: Chunk, two: Chunk) -> None:
        """Match the input of both sides with each other.

        Then match each side with the waiting rows of the other one.
        """
        left, right = _met(one, two)
        self._report(one.take(left), two.take(right))
        one, two = _without(one, left), _without(two, right)
        rows, numbers = self.new.find(one.key)
        self._report(one.take(rows), self.new.remove(numbers))
        one = _without(one, rows)
        rows, numbers = self.old.find(two.key)
        self._report(self.old.remove(numbers), two.take(rows))
        two = _without(two, rows)
        left_old, left_new = self.old.push(one), self.new.push(two)
        if self.strict and (len(left_old) or len(left_new)):
            raise AssumptionFailed("the rows are not in the same order")
        self._leave(left_old, left_new)

    def _report(self, old: Chunk, new: Chunk) -> None:
        changed = np.flatnonzero(differ(old, new))
        if len(changed):
            self.reported.append(new.key.high[changed])
            self.work.emit("u", old.take(changed), new.take(changed))

    def _leave(self, old: Chunk, new: Chunk) -> None:
        """Spill rows that left a buffer, or report them."""
        self.work.report.spilled_rows += len(old) + len(new)
        if self.spill:
            for side, chunk in ((self.spilled_old, old), (self.spilled_new, new)):
                if len(chunk):
                    side.add(chunk)
            return
        self.work.emit("d", old, None)
        self.work.emit("c", None, new)
        self.reported += [old.key.high, new.key.high]

    def _finish(self) -> None:
        reported = np.sort(np.concatenate([*self.reported, np.empty(0, np.uint64)]))
        if not self.spill:
            self.work.report.useless = int(np.count_nonzero(reported[1:] == reported[:-1]))
            return
        if bool((reported[1:] == reported[:-1]).any()):
            raise AssumptionFailed("a key occurs several times")
        self.spilled_old.close()
        self.spilled_new.close()
        for part in range(self.spilled_old.count):
            one, two = self.spilled_old.read(part), self.spilled_new.read(part)
            if not len(one) and not len(two):
                continue
            pairs = pair(one, two)
            again = np.concatenate(
                (one.key.high[np.concatenate((pairs.old, pairs.deletes))], two.key.high[pairs.inserts])
            )
            if len(reported) and bool(np.isin(again, reported).any()):
                raise AssumptionFailed("a key occurs several times")
            self.work.emit_pairs(pairs, one, two)


def _met(one: Chunk, two: Chunk) -> tuple[Numbers, Numbers]:
    """Match the rows of two inputs: by position if both begin with the same keys, then by key."""
    count = min(len(one), len(two))
    same = np.flatnonzero(one.key.high[:count] == two.key.high[:count])
    same = same[one.key.low[same] == two.key.low[same]]
    rest_one, rest_two = _rest(len(one), same), _rest(len(two), same)
    a, b = one.key.take(rest_one), two.key.take(rest_two)
    if not len(rest_one) or not len(rest_two):
        return same, same
    (high_a, only_a), (high_b, only_b) = np.unique(a.high, return_index=True), np.unique(b.high, return_index=True)
    place = np.minimum(np.searchsorted(high_b, high_a), len(high_b) - 1)
    left, right = only_a, only_b[place]
    equal = (high_b[place] == high_a) & (a.low[left] == b.low[right])
    return np.concatenate((same, rest_one[left[equal]])), np.concatenate((same, rest_two[right[equal]]))


def _rest(count: int, used: Numbers) -> Numbers:
    free = np.ones(count, np.bool_)
    free[used] = False
    return np.flatnonzero(free)


def _without(chunk: Chunk, rows: Numbers) -> Chunk:
    return chunk if not len(rows) else chunk.take(_rest(len(chunk), rows))


def _steps(chunks: Iterator[Chunk], size: int, whole: bool, work: Work) -> Iterator[Chunk]:
    """Cut chunks into steps of `size` rows; only the last one is smaller."""
    waiting: list[Chunk] = []
    rows = 0
    for chunk in chunks:
        waiting.append(chunk)
        rows += len(chunk)
        if rows < size:
            continue
        every = gathered(waiting, work.layout, whole)
        done = rows // size * size
        for first in range(0, done, size):
            yield every.slice(first, first + size)
        waiting, rows = ([every.slice(done, rows)], rows - done) if done < rows else ([], 0)
    if waiting:
        yield gathered(waiting, work.layout, whole)
