"""Methods for dumps of which something is known (Labio & Garcia-Molina 1995, section 4).

Each one checks its assumption against all rows and stops when it does not hold; the general method then restarts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qbcd.snapshots.chunks import Chunk, differ_in_digest, gathered
from qbcd.snapshots.hashed import phc2
from qbcd.snapshots.replica import DumpReplica
from qbcd.snapshots.sorting import written
from qbcd.snapshots.work import AssumptionFailed, Work


def growing(work: Work) -> None:
    """Only rows at the end are new: |f1| + |F2| + |f2| blocks, and no memory for keys.

    The paper's form compares keys and would miss an update; this one compares the digests of all old positions.
    """
    for one, two in _by_position(work):
        if len(one) > len(two):
            raise AssumptionFailed("the new file has fewer rows")
        if bool(differ_in_digest(one, two.take(np.arange(len(one)))).any()):
            raise AssumptionFailed("a row changed, or the rows are in another order")
        work.emit("c", None, two.slice(len(one), len(two)))


def stagnant(work: Work) -> None:
    """Compare rows that keep their positions, of which a few were updated.

    It takes |f1| + |F2| + |f2| blocks, and no memory for keys.
    """
    for one, two in _by_position(work):
        if len(one) != len(two):
            raise AssumptionFailed("the new file has another number of rows")
        changed = np.flatnonzero(differ_in_digest(one, two))
        old, new = one.take(changed), two.take(changed)
        if bool(((old.key.high != new.key.high) | (old.key.low != new.key.low)).any()):
            raise AssumptionFailed("a position has another key")
        work.emit("u", old, new)


def shrinking(work: Work) -> None:
    """Rows were only deleted: as `phc2`, without any fetch of rows."""
    phc2(work)
    if work.report.inserts or work.report.updates or work.waiting:
        raise AssumptionFailed("a row is new or changed")


def _by_position(work: Work) -> Iterator[tuple[Chunk, Chunk]]:
    """Pair the rows of both sides by their positions; the last pair may have different lengths."""
    if isinstance(work.old, DumpReplica) and work.old.order != "file":
        raise AssumptionFailed("the replica is not in the order of the file")
    old = work.old_chunks(digest=True)
    new = written(work, work.new_chunks(digest=True), keep_rows=False, order="file")
    waiting_old, waiting_new = _empty(work, work.old_whole), _empty(work, True)
    while True:
        if not len(waiting_old):
            waiting_old = next(old, waiting_old)
        if not len(waiting_new):
            waiting_new = next(new, waiting_new)
        count = min(len(waiting_old), len(waiting_new)) or max(len(waiting_old), len(waiting_new))
        if not count:
            return
        one, two = (each.slice(0, min(count, len(each))) for each in (waiting_old, waiting_new))
        yield one, two
        waiting_old, waiting_new = (each.slice(min(count, len(each)), len(each)) for each in (waiting_old, waiting_new))


def _empty(work: Work, whole: bool) -> Chunk:
    return gathered([], work.layout, whole)
