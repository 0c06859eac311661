"""Nested loop comparison, a reference for tests.

The new side is read once for each part of the old one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qbcd.snapshots.chunks import Chunk, Marks, gathered
from qbcd.snapshots.meter import read_snapshot
from qbcd.snapshots.pairing import pair
from qbcd.snapshots.work import Work, resized


def nl(work: Work) -> None:
    """Compare values: |F1| + |F2| x parts of F1 that fit into memory.

    It costs the same again if a key repeats.

    The first loop matches equal rows, the second one pairs the others of a key; marks say which rows are used. The
    marks of the new side are one byte for each of its rows.
    """
    work.require_rows("nl")
    used = np.zeros(sum(len(chunk) for chunk in work.new_chunks()), np.bool_)
    parts = [np.zeros(len(part), np.bool_) for part in _parts(work)]
    for update in (False, True):
        for number, old in enumerate(_parts(work)):
            _scan(work, old, parts[number], used, update)
    for number, old in enumerate(_parts(work)):
        work.emit("d", old.take(np.flatnonzero(~parts[number])), None)
    for new in _new(work):
        work.emit("c", None, new.take(np.flatnonzero(~used[new.rows])))
    work.report.old_rows = sum(len(part) for part in parts)


def _new(work: Work) -> Iterator[Chunk]:
    first = 0
    for body in resized(read_snapshot(work.new, work.meter), work.memory // 4):
        yield work.layout.chunk(body, first)
        first += body.num_rows


def _parts(work: Work) -> Iterator[Chunk]:
    """Read the old side in parts that fit into memory."""
    waiting: list[Chunk] = []
    size = 0
    for chunk in work.old_chunks():
        waiting.append(chunk)
        size += chunk.body.nbytes
        if size > work.memory:
            yield gathered(waiting, work.layout, whole=True)
            waiting, size = [], 0
    if waiting:
        yield gathered(waiting, work.layout, whole=True)


def _scan(work: Work, old: Chunk, done: Marks, used: Marks, update: bool) -> None:
    """Match one part of the old side with the whole new side."""
    for new in _new(work):
        one, two = np.flatnonzero(~done), np.flatnonzero(~used[new.rows])
        left, right = old.take(one), new.take(two)
        pairs = pair(left, right)
        found_old, found_new = (pairs.old, pairs.new) if update else (pairs.same_old, pairs.same_new)
        if update:
            work.emit("u", left.take(found_old), right.take(found_new))
        done[one[found_old]] = True
        used[new.rows[two[found_new]]] = True
