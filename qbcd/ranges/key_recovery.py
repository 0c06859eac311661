"""Key recovery: compute the key of a leaf's one changed row from the growth of its sums.

It needs a key that is one integer. Next to the sum of row digests, a leaf then has a weighted sum: the low bits of each
digest times the low bits of its key. If exactly one row was inserted, updated or deleted, the growth of the weighted
sum is a multiple of the growth of the low bits of the digests, and the quotient is the key. Only this row is looked up;
the other rows of the leaf do not travel.

If several rows changed, there is no such key, or a wrong one by chance. So the caller must check the fetched rows
against the sums. If no key of a leaf is recovered, all keys that it can hold are looked up: every integer of the range
whose last byte is the leaf's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from qbcd.model import KeyRange, RowSelection
from qbcd.ranges import leaves
from qbcd.ranges.leaves import Sums

BITS = 31  # low bits used of a digest and of a key: their product fits into 64 bits
LOW = (1 << BITS) - 1
DEAREST = 0.1  # most keys to look up, as a share of the range's rows: a look-up costs about as much as ten scanned rows
USELESS = 0.5  # most keys to look up, as a share of the rows in dirty leaves
_NONE = (0, 0, 0)  # the sums of a leaf without rows


def rows_to_look_up(one: KeyRange, was: Mapping[int, Sums], now: Mapping[int, Sums], width: int) -> RowSelection | None:
    """Return the keys to look up in a range; None if it has an open end or needs too many keys.

    Args:
        one: The range with its present count and checksum.
        was: Earlier sums of the dirty leaves.
        now: Present sums of the dirty leaves.
        width: Bytes of a key identity, of those that fit into them.
    """
    if one.lo is None or one.hi is None or any(len(sums) != len(_NONE) for sums in (*was.values(), *now.values())):
        return None
    lo, hi = int(one.lo[0]), int(one.hi[0])
    dirty, alone = {*was, *now}, {}
    for leaf in dirty:
        (rows, digests, weighted), before = now.get(leaf, _NONE), was.get(leaf, _NONE)
        key = changed_key(leaf, rows - before[0], digests - before[1], weighted - before[2], lo, hi)
        if key is not None:
            alone[leaf] = _identity(key, width)
    number = len(alone) + (len(dirty) - len(alone)) * -(-(hi - lo) // leaves.NUMBER)
    if number > min(DEAREST * one.rows, USELESS * sum(sums[0] for sums in now.values())):
        return None
    return replace(leaves.select({}, dirty), rows=number, alone=alone)


def _identity(key: int, width: int) -> bytes:
    """Return the identity of a whole number.

    A key that was widened has longer identities of larger numbers.
    """
    bits = (key if key >= 0 else ~key).bit_length() + 1
    bytes_needed = next(one for one in (width, 4, 8) if one >= width and 8 * one >= bits)
    return key.to_bytes(bytes_needed, "big", signed=True)


def changed_key(leaf: int, rows: int, digests: int, weighted: int, lo: int, hi: int) -> int | None:
    """Return the key of a leaf's one changed row, in ``[lo, hi)``; None if it is not certain.

    Args:
        rows: Growth of its number of rows.
        digests: Growth of its sum of digests.
        weighted: Growth of its sum of digests weighted by keys.
        lo: The lowest key of the range.
        hi: The first key above the range.
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
    """Return the possible values of new low bits minus old low bits; a missing row has 0."""
    above, below = low, low - LOW - 1
    if low == 0 or not -1 <= rows <= 1:
        return ()
    if rows == 0:
        return above, below
    return (above,) if rows == 1 else (below,)


def is_traced(asked: KeyRange) -> bool:
    """Return True if rows of a range are looked up by recovered keys."""
    return asked.only is not None and asked.only.alone is not None


def keys(asked: KeyRange) -> Iterator[int]:
    """Yield the keys to look up in a range, one leaf after the other.

    Raises:
        ValueError: The range is not looked up by recovered keys.
    """
    if asked.only is None or asked.only.alone is None or asked.lo is None or asked.hi is None:
        raise ValueError(f"rows of range {asked.range_id} are not looked up by key")
    lo, hi = int(asked.lo[0]), int(asked.hi[0])
    for leaf in leaves.tails(asked):
        if leaf in asked.only.alone:
            yield int.from_bytes(asked.only.alone[leaf], "big", signed=True)
        else:
            yield from range(lo + (leaf - lo) % leaves.NUMBER, hi, leaves.NUMBER)
