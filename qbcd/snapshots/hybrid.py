"""Hybrid hash comparison (Labio & Garcia-Molina 1995, section 4.1).

A part of the old side stays in memory.

New rows of that part are matched when they are read. Rows that found their partner leave the memory, and new rows of
the next part use the space (slot reuse). Only rows beyond that are written to partitions. Reuse needs unique keys; a
repeated key is noticed, and the general method restarts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from qbcd.snapshots.base import Numbers, weight_of
from qbcd.snapshots.chunks import Chunk, Marks, differ, gathered
from qbcd.snapshots.hashed import KeptPartitions
from qbcd.snapshots.ordered import Partitions, aligned, old_sorted, partition_count
from qbcd.snapshots.pairing import pair, same_as_next
from qbcd.snapshots.work import AssumptionFailed, Work

_REPEATED = "a key occurs several times"


def hh(work: Work) -> None:
    """Compare values: |F1| + |F2| + 2 |F2| (1 - 2 k / N) blocks.

    Here k of N partitions fit into memory.
    """
    work.require_rows("hh")
    old = old_sorted(work, compressed=False)
    resident = _Resident(work, old)
    count = partition_count(weight_of(work.new), work.memory)
    parts = Partitions(work, True, count)
    replica = work.keep("range", whole=work.options.keep_rows)
    kept = KeptPartitions(work, work.options.keep_rows, count, replica, pointers=False) if replica else None
    for chunk in work.new_chunks(digest=replica is not None):
        if kept is not None:
            kept.add(chunk)
        here = resident.covers(chunk)
        resident.match(chunk.take(np.flatnonzero(here)))
        beyond = chunk.take(np.flatnonzero(~here))
        near = resident.near(beyond)
        resident.reserve(beyond.take(np.flatnonzero(near)))
        parts.add(beyond.take(np.flatnonzero(~near)))
    if kept is not None:
        kept.flush()
        kept.close()
    parts.close()
    resident.finish()
    for one, two in aligned(resident.rest(), _with_reserved(parts, resident), work, True):
        work.emit_pairs(pair(one, two), one, two)


class _Resident:
    """The first rows of the old side in the order of key codes, as many as fit."""

    def __init__(self, work: Work, old: Iterator[Chunk]) -> None:
        self.work, self._old = work, old
        chunks: list[Chunk] = []
        size = 0
        self.all = False
        while size < work.memory:
            chunk = next(old, None)
            if chunk is None:
                self.all = True
                break
            chunks.append(chunk)
            size += chunk.body.nbytes
        self.rows = gathered(chunks, work.layout, whole=True)
        if len(self.rows) and bool(same_as_next(self.rows.key).any()):
            raise AssumptionFailed(_REPEATED)
        self.bound = 0
        if not self.all:  # several keys can have the first code of the last row, as NULL and 0
            self.bound = int(self.rows.key.high[-1])
            first = int(np.searchsorted(self.rows.key.high, np.uint64(self.bound)))
            self._old = itertools.chain([self.rows.slice(first, len(self.rows))], old)
            self.rows = self.rows.slice(0, first)
        self._gone: Marks = np.zeros(len(self.rows), np.bool_)
        self._each = size // max(1, len(self.rows))
        self._free = 0
        self._place: Numbers = np.arange(len(self.rows))
        self._bodies = self.rows
        self.reserved: list[Chunk] = []

    def covers(self, chunk: Chunk) -> Marks:
        """Return the rows whose partner would be in memory."""
        high = chunk.key.high
        return np.ones(len(chunk), np.bool_) if self.all else np.asarray(high < np.uint64(self.bound))

    def near(self, chunk: Chunk) -> Marks:
        """Return the rows of the next part, as long as rows that left the memory make room for them."""
        limit = min(2 * self.bound, (1 << 64) - 1)
        near = np.asarray(chunk.key.high <= np.uint64(limit))
        return near if self._free >= chunk.body.nbytes else np.zeros(len(chunk), np.bool_)

    def reserve(self, chunk: Chunk) -> None:
        """Keep new rows in the space of rows that left."""
        if len(chunk):
            self._free -= chunk.body.nbytes
            self.reserved.append(chunk)

    def match(self, chunk: Chunk) -> None:
        """Match new rows with the rows in memory."""
        place, known = self._search(chunk)
        found = np.flatnonzero(known)
        place = place[found]
        if len(np.unique(place)) < len(place) or bool(self._gone[place].any()):
            raise AssumptionFailed(_REPEATED)
        old, new = self._take(place), chunk.take(found)
        changed = np.flatnonzero(differ(old, new))
        self.work.emit("u", old.take(changed), new.take(changed))
        self.work.emit("c", None, chunk.take(np.flatnonzero(~known)))
        self._gone[place] = True
        self._free += self._each * len(place)

    def _search(self, chunk: Chunk) -> tuple[Numbers, Marks]:
        """Return the places of the rows with the keys of a chunk, and for each key if there is one."""
        old, new = self.rows.key, chunk.key
        place, known = np.searchsorted(old.high, new.high), np.zeros(len(chunk), np.bool_)
        left = np.arange(len(chunk))
        while len(left := left[place[left] < len(old.high)]):
            at = place[left]
            left, at = left[same := old.high[at] == new.high[left]], at[same]
            equal = old.low[at] == new.low[left]
            known[left[equal]] = True
            left = left[~equal]
            place[left] += 1
        return place, known

    def _take(self, place: Numbers) -> Chunk:
        """Return rows by their place; drop the columns of rows that left once they are half of all."""
        rows = self._bodies.take(np.searchsorted(self._place, place))
        if 2 * np.count_nonzero(self._gone[self._place]) > len(self._place):
            left = np.flatnonzero(~self._gone[self._place])
            self._bodies, self._place = self._bodies.take(left), self._place[left]
        return rows

    def finish(self) -> None:
        """Report the rows in memory that no new row has as deletes."""
        self.work.emit("d", self._take(np.flatnonzero(~self._gone)), None)

    def rest(self) -> Iterator[Chunk]:
        """Return the other rows of the old side."""
        yield from self._old


def _with_reserved(parts: Partitions, resident: _Resident) -> Iterator[Chunk]:
    """Return the rows of the partitions and the reserved ones in ascending order."""
    reserved = gathered(resident.reserved, parts.layout, whole=True)
    place = parts.place(reserved)
    for part in range(parts.count):
        chunk = gathered([parts.read(part), reserved.take(np.flatnonzero(place == part))], parts.layout, whole=True)
        if len(chunk):
            yield chunk.sorted()
