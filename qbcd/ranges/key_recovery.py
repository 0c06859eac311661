"""Traces: which row of a leaf changed, told by what the leaf's two sums grew by, where only one did.

Of a key that is one whole number, a leaf adds up digests weighted by their keys as well: the low bits of each digest
times those of its key. Where one row alone was inserted, updated or deleted, what the second sum grew by is a multiple
of what the low bits of the first grew by, and the quotient is the key: its row is looked up, and the others of the leaf
do not travel. Where more changed there is no such key, or one that by chance looks like it: whoever looks up rows by
traces has to hold what came against the sums. Keys of leaves without a trace are counted up: they are all numbers of
the range that end with the leaf's byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from qbcd.model import KeyRange, RowSelection
from qbcd.ranges import leaves
from qbcd.ranges.leaves import Sums

BITS = 31  # of a digest and of a key, so that their product is a number of 64 bits
LOW = (1 << BITS) - 1
DEAREST = 0.1  # of a range's rows, in keys to look up: one costs about as much as ten rows that are gone through
USELESS = 0.5  # of the rows in leaves that differ, in keys to look up
_NONE = (0, 0, 0)  # what a leaf without rows adds up to


def rows_to_look_up(one: KeyRange, was: Mapping[int, Sums], now: Mapping[int, Sums], width: int) -> RowSelection | None:
    """Return the keys to look up in a range; None if it has an open end, or if too many keys would be needed.

    Args:
        one: The range as the source has it now.
        was: What leaves that differ added up to before.
        now: What they add up to.
        width: Bytes of a key's identity.
    """
    if one.lo is None or one.hi is None or any(len(sums) != len(_NONE) for sums in (*was.values(), *now.values())):
        return None
    lo, hi = int(one.lo[0]), int(one.hi[0])
    dirty, alone = {*was, *now}, {}
    for leaf in dirty:
        (rows, digests, weighted), before = now.get(leaf, _NONE), was.get(leaf, _NONE)
        key = changed_key(leaf, rows - before[0], digests - before[1], weighted - before[2], lo, hi)
        if key is not None:
            alone[leaf] = key.to_bytes(width, "big", signed=True)
    number = len(alone) + (len(dirty) - len(alone)) * -(-(hi - lo) // leaves.NUMBER)
    if number > min(DEAREST * one.rows, USELESS * sum(sums[0] for sums in now.values())):
        return None
    return replace(leaves.select({}, dirty), rows=number, alone=alone)


def changed_key(leaf: int, rows: int, digests: int, weighted: int, lo: int, hi: int) -> int | None:
    """The key of the one row that changed in a leaf, if there can be only one; within ``[lo, hi)``.

    Args:
        leaf: The leaf.
        rows: By how many rows it grew.
        digests: What the sum of its digests grew by.
        weighted: What the sum of digests weighted by keys grew by.
        lo: The least key of the range.
        hi: The first beyond it.
    """
    found = None
    for by in _guesses(rows, digests & LOW):
        low, rest = divmod(weighted, by)
        if rest == 0 and 0 <= low <= LOW:
            if found is not None:
                return None
            found = low
    if found is None:
        return None
    key = lo + (found - lo & LOW)
    return key if key < hi <= key + LOW + 1 and key % leaves.NUMBER == leaf else None


def _guesses(rows: int, low: int) -> tuple[int, ...]:
    """Return how much the low bits of one digest can have grown: those of a digest, minus another's or none."""
    above, below = low, low - LOW - 1
    if low == 0 or not -1 <= rows <= 1:
        return ()
    if rows == 0:
        return above, below
    return (above,) if rows == 1 else (below,)


def is_traced(asked: KeyRange) -> bool:
    """Return True if rows of a range are looked up by such keys."""
    return asked.only is not None and asked.only.alone is not None


def keys(asked: KeyRange) -> Iterator[int]:
    """The keys to look up in a range that is traced."""
    if asked.only is None or asked.only.alone is None or asked.lo is None or asked.hi is None:
        raise ValueError(f"range {asked.range_id} is not traced")
    lo, hi = int(asked.lo[0]), int(asked.hi[0])
    for leaf in leaves.tails(asked):
        if leaf in asked.only.alone:
            yield int.from_bytes(asked.only.alone[leaf], "big", signed=True)
        else:
            yield from range(lo + (leaf - lo) % leaves.NUMBER, hi, leaves.NUMBER)
