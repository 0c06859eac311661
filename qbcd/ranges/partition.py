"""Key ranges: built from the bounds that the database picked, compared, and shared out among connections.

Python never orders or equates keys here; the order of ranges is the order in which the database returned their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from qbcd.model import KeyRange

Bound = TypeVar("Bound")
Range = TypeVar("Range", bound=KeyRange)
ROWS_PER_RANGE = 2000  # where the user names no number, and they do not make too many ranges
MOST_RANGES = 4096  # of a table then, since each costs a poll something; larger tables have larger ranges
ROWS_PER_READER = 8_000  # below which a reader's own start costs more than it saves
SMALL = 0.25  # of the rows that a range should have: one with fewer is better a part of its neighbor
ANY = 1.0  # the same where there are too many ranges: so is any that its neighbor has room for


def size_for(rows: int) -> int:
    """Return the rows that a range should hold in a table of `rows` rows, if the user sets no number."""
    return max(ROWS_PER_RANGE, -(-rows // MOST_RANGES))


def thinned(bounds: Sequence[Bound], most: int | None) -> Sequence[Bound]:
    """Some of `bounds`, at even distances, which make at most `most` ranges; None for all."""
    step = -(-(len(bounds) + 1) // most) if most else 1
    return bounds[step - 1 :: step]


def build(bounds: Sequence[tuple[str, ...]], *, first_id: int, within: KeyRange | None = None) -> list[KeyRange]:
    """Half-open ranges between ascending `bounds`, over all keys or those of one range; no bound gives one."""
    lo, hi = (within.lo, within.hi) if within else (None, None)
    edges: list[tuple[str, ...] | None] = [lo, *bounds, hi]
    return [KeyRange(first_id + i, lo, hi) for i, (lo, hi) in enumerate(pairwise(edges))]


def differing(known: Sequence[KeyRange], now: Sequence[Range]) -> list[Range]:
    """The ranges of `now` whose count or checksum is not the known one."""
    old = {r.range_id: (r.rows, r.checksum) for r in known}
    return [r for r in now if old[r.range_id] != (r.rows, r.checksum)]


def pairs(known: Sequence[Range], now: Sequence[KeyRange]) -> Iterator[tuple[Range, KeyRange]]:
    """(old, new) of each range of `now`."""
    old = {r.range_id: r for r in known}
    return ((old[r.range_id], r) for r in now)


def merge(known: Sequence[Range], size: float, small: float = SMALL) -> list[list[Range]]:
    """`known`, in key order, as groups of neighbors that had better be one range of at most `size` rows."""
    groups: list[list[Range]] = []
    held = 0
    for one in known:
        if groups and should_merge(held, one.rows, size, small):
            groups[-1].append(one)
            held += one.rows
        else:
            groups.append([one])
            held = one.rows
    return groups


def runs(known: Sequence[Range]) -> list[list[Range]]:
    """`known`, in key order, where some may be left out, as runs of neighbors."""
    found: list[list[Range]] = []
    for one in known:
        if found and found[-1][-1].hi == one.lo:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def should_merge(rows: int, others: int, size: float, small: float = SMALL) -> bool:
    """Return True if two adjacent ranges should be merged: one is small and the merged range is not too large."""
    return min(rows, others) < small * size and rows + others <= size


def shares(asked: Sequence[Range], connections: int) -> list[list[Range]]:
    """`asked` in at most `connections` contiguous shares of about equal rows, none empty."""
    total, parts = sum(r.rows + 1 for r in asked), max(1, min(connections, len(asked)))
    cut: list[list[Range]] = [[]]
    seen = 0
    for one in asked:
        if len(cut) < parts and cut[-1] and seen >= total * len(cut) / parts:
            cut.append([])
        cut[-1].append(one)
        seen += one.rows + 1
    return cut


def first(asked: Sequence[Range], rows: float, most: int) -> list[Range]:
    """The first of `asked` that hold about `rows` rows together, `most` of them; one at least."""
    held, number = 0, 0
    for one in asked[:most]:
        if number and held + one.rows > rows:
            break
        held, number = held + one.rows, number + 1
    return list(asked[:number])


def statements(asked: Sequence[Range], connections: int, most: int, rows: float = math.inf) -> list[list[list[Range]]]:
    """By connection, the ranges of each of its statements: its share of `asked`, `most` ranges or `rows` at a time.

    Shares and statements are contiguous, since a database may answer for neighbors in one go.
    """
    by_connection = []
    for left in shares(asked, connections):
        own: list[list[Range]] = []
        while left:
            own.append(first(left, rows, most))
            left = left[len(own[-1]) :]
        by_connection.append(own)
    return by_connection


def readers(asked: Sequence[KeyRange], connections: int) -> int:
    """Return how many connections pay for the rows of `asked`."""
    return max(1, min(connections, -(-sum(r.rows for r in asked) // ROWS_PER_READER)))
