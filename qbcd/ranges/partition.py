"""Key ranges: build them from bounds, compare them, divide them among connections.

Python never orders or equates keys here. The order of ranges is the order in which the database returned their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from qbcd.model import KeyRange

Bound = TypeVar("Bound")
Range = TypeVar("Range", bound=KeyRange)
ROWS_PER_RANGE = 2000  # the default, unless this gives more than MOST_RANGES ranges
MOST_RANGES = 4096  # per table by default, since each range adds to the cost of a poll; larger tables get larger ranges
ROWS_PER_READER = 8_000  # with fewer rows, a reader costs more to start than it saves
SMALL = 0.25  # share of a range's intended rows: a range with fewer is merged into its neighbor
ANY = 1.0  # instead of SMALL, if there are too many ranges: every range is merged if its neighbor has room for it


def size_for(rows: int) -> int:
    """Return the default number of rows per range for a table of `rows` rows."""
    return max(ROWS_PER_RANGE, -(-rows // MOST_RANGES))


def thinned(bounds: Sequence[Bound], most: int | None) -> Sequence[Bound]:
    """Return evenly spaced `bounds` that make at most `most` ranges; all of them for None."""
    step = -(-(len(bounds) + 1) // most) if most else 1
    return bounds[step - 1 :: step]


def build(bounds: Sequence[tuple[str, ...]], *, first_id: int, within: KeyRange | None = None) -> list[KeyRange]:
    """Build half-open ranges between ascending `bounds`, over all keys or those of `within`.

    Without bounds the result is one range.
    """
    lo, hi = (within.lo, within.hi) if within else (None, None)
    edges: list[tuple[str, ...] | None] = [lo, *bounds, hi]
    return [KeyRange(first_id + i, lo, hi) for i, (lo, hi) in enumerate(pairwise(edges))]


def differing(known: Sequence[KeyRange], now: Sequence[Range]) -> list[Range]:
    """Return the dirty ranges of `now`: count or checksum differs from the known one."""
    old = {r.range_id: (r.rows, r.checksum) for r in known}
    return [r for r in now if old[r.range_id] != (r.rows, r.checksum)]


def pairs(known: Sequence[Range], now: Sequence[KeyRange]) -> Iterator[tuple[Range, KeyRange]]:
    """Yield (known range, present range) for each range of `now`."""
    old = {r.range_id: r for r in known}
    return ((old[r.range_id], r) for r in now)


def merge(
    known: Sequence[Range], size: float, small: float = SMALL, size_of: Callable[[Range], float] | None = None
) -> list[list[Range]]:
    """Group neighbors, in key order, that should be merged into ranges of at most `size`.

    Args:
        size: Rows, or in the unit of `size_of`.
        small: Share of `size` below which a range is small.
        size_of: Returns the size of a range, if it is not its rows.
    """
    groups: list[list[Range]] = []
    held = 0.0
    for one in known:
        own = float(one.rows) if size_of is None else size_of(one)
        if groups and should_merge(held, own, size, small):
            groups[-1].append(one)
            held += own
        else:
            groups.append([one])
            held = own
    return groups


def runs(known: Sequence[Range]) -> list[list[Range]]:
    """Group ranges, in key order and possibly with gaps, into runs without gaps."""
    found: list[list[Range]] = []
    for one in known:
        if found and found[-1][-1].hi == one.lo:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def should_merge(rows: float, others: float, size: float, small: float = SMALL) -> bool:
    """Return True if two adjacent ranges should be merged: one is small, both fit into `size`."""
    return min(rows, others) < small * size and rows + others <= size


def shares(asked: Sequence[Range], connections: int) -> list[list[Range]]:
    """Divide `asked` into contiguous shares of about equal rows, one per connection, none empty."""
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
    """Return the first ranges with about `rows` rows together: at least one, at most `most`."""
    held, number = 0, 0
    for one in asked[:most]:
        if number and held + one.rows > rows:
            break
        held, number = held + one.rows, number + 1
    return list(asked[:number])


def statements(asked: Sequence[Range], connections: int, most: int, rows: float = math.inf) -> list[list[list[Range]]]:
    """Return the ranges of each statement, by connection.

    A statement has at most `most` ranges, with about `rows` rows together. Shares and statements are contiguous, since
    a database may read neighbors in one scan.
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
    """Return the number of connections that pays for the rows of `asked`, at least 1."""
    return max(1, min(connections, -(-sum(r.rows for r in asked) // ROWS_PER_READER)))
