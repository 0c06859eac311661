"""Leaves: the 256 parts of a range by the last byte of the key identity.

They are the lowest level of checksums. The sums of a range's leaves travel as one text: ``leaf:rows:checksum`` for each
leaf with rows, separated by blanks. If the key is one integer, an item is ``leaf:rows:checksum:weighted``
(`qbcd.ranges.key_recovery`). The only meaning of the byte is that one key always has the same byte, in Python and in
the source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from qbcd.model import KeyRange, RowSelection

Sums = tuple[int, ...]  # rows, checksum and, for integer keys, the sum of digests weighted by their keys

NUMBER = 256
EVERY = bytes([255] * (NUMBER // 8))


def are_some(asked: Iterable[KeyRange]) -> bool:
    """Return True if only some leaves of some of the ranges are requested."""
    return any(one.only for one in asked)


def bits_of(one: KeyRange) -> bytes:
    """Return the requested leaves of a range, one bit per leaf."""
    return one.only.bits if one.only else EVERY


def diff(before: str, now: str) -> tuple[dict[int, Sums], dict[int, Sums]]:
    """Return the earlier and the present sums of the leaves that differ."""
    old, new = set(before.split()), set(now.split())
    return _by_leaf(old - new), _by_leaf(new - old)


def select(sums: Mapping[int, Sums], leaves: Iterable[int]) -> RowSelection:
    """Select `leaves`, with the total count and checksum of `sums`."""
    return RowSelection(as_bits(leaves), sum(one[0] for one in sums.values()), sum(one[1] for one in sums.values()))


def merge(texts: Iterable[str]) -> str:
    """Merge the texts of scans that each read a part of a range; a leaf may occur twice."""
    rows: defaultdict[int, int] = defaultdict(int)
    checksums: defaultdict[int, int] = defaultdict(int)
    for token in " ".join(texts).split():
        leaf, number, checksum = map(int, token.split(":"))
        rows[leaf] += number
        checksums[leaf] += checksum
    return " ".join(f"{leaf}:{rows[leaf]}:{checksums[leaf]}" for leaf in rows)


def tails(one: KeyRange) -> Iterator[int]:
    """Yield the requested leaves of a range as numbers 0 to 255, ascending."""
    bits = int.from_bytes(bits_of(one), "little")
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def share_of(density: float, rows: float) -> float:
    """Return the expected share of leaves with a change, for changes spread evenly over a range.

    Args:
        density: Share of the range's rows that changed.
        rows: Rows of a leaf.
    """
    return 1.0 - float((1 - density) ** max(1.0, rows))


def as_bits(leaves: Iterable[int]) -> bytes:
    """Return one bit for each of `leaves`, in the form of :attr:`qbcd.model.RowSelection.bits`."""
    bits = 0
    for leaf in leaves:
        bits |= 1 << leaf
    return bits.to_bytes(NUMBER // 8, "little")


def _by_leaf(tokens: Iterable[str]) -> dict[int, Sums]:
    sums = (tuple(map(int, token.split(":"))) for token in tokens)
    return {one[0]: one[1:] for one in sums}
