"""Hash buckets: ranges over a uniform 64-bit hash of the key instead of the key itself.

A bucket is a :class:`~qbcd.model.KeyRange` whose bounds are one signed 64-bit number each. The space of the hash is
halved `depth` times. The result is ``2**depth`` buckets of equal width, numbered from 0. Unlike keys, these numbers may
be computed and compared in Python: they mean the same on every database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from qbcd.model import KeyRange

Range = TypeVar("Range", bound=KeyRange)

BITS = 64
LOWEST = -(2 ** (BITS - 1))  # the lowest hash
DEEPEST = BITS - 2


def depth_for(rows: int, rows_per_range: int) -> int:
    """Return the least depth with at most `rows_per_range` of `rows` rows in an average bucket."""
    wanted = max(1, -(-rows // rows_per_range))
    return min(DEEPEST, (wanted - 1).bit_length())


def depth_of(ranges: Iterable[KeyRange]) -> int:
    """Return the least depth at which each of `ranges` consists of whole buckets."""
    edges = [int(edge[0]) - LOWEST for r in ranges for edge in (r.lo, r.hi) if edge is not None]
    return BITS - min((_zeros(edge) for edge in edges), default=BITS)


def _zeros(number: int) -> int:
    """Count the zeros at the end of a positive binary number."""
    return (number & -number).bit_length() - 1


def numbers(one: KeyRange, depth: int) -> range:
    """Return the numbers of the buckets of `depth` that make up a range."""
    lo, hi = (None if edge is None else (int(edge[0]) - LOWEST) >> (BITS - depth) for edge in (one.lo, one.hi))
    return range(lo or 0, 1 << depth if hi is None else hi)


def divided(depth: int, *, first_id: int, within: KeyRange | None = None) -> list[KeyRange]:
    """Return the buckets of `depth` in order: all of them, or those within one range."""
    found = numbers(within or KeyRange(0, None, None), depth)
    return [KeyRange(first_id + i, _edge(n, depth), _edge(n + 1, depth)) for i, n in enumerate(found)]


def joined(known: Sequence[Range], better_one: Callable[[int, int], bool]) -> list[list[Range]]:
    """Group buckets so that each group can be merged into one: its halves, or parts of them.

    Args:
        known: Adjacent buckets in order, without gaps.
        better_one: Returns True if two halves with these numbers of rows should be merged.
    """
    groups: list[tuple[int, int, list[Range]]] = []  # (lowest hash, counted from 0; width; buckets)
    for one in known:
        start = low(one) - LOWEST
        end = 1 << BITS if one.hi is None else int(one.hi[0]) - LOWEST
        groups.append((start, end - start, [one]))
        while len(groups) > 1:
            (first, width, left), (_, other, right) = groups[-2:]
            halves = width == other and first % (2 * width) == 0
            if not halves or not better_one(sum(r.rows for r in left), sum(r.rows for r in right)):
                break
            groups[-2:] = [(first, 2 * width, [*left, *right])]
    return [group for _, _, group in groups]


def _edge(number: int, depth: int) -> tuple[str, ...] | None:
    if number in (0, 1 << depth):
        return None
    return (str((number << (BITS - depth)) + LOWEST),)


def low(one: KeyRange) -> int:
    """Return the lowest hash of a range."""
    return LOWEST if one.lo is None else int(one.lo[0])
