"""Leaves: the rows of a range by the last byte of their key's identity, 256 of them; the lowest level of checksums.

What a range's leaves add up to travels as one text, ``leaf:rows:checksum`` for each that has rows, with blanks between;
of keys that are one whole number ``leaf:rows:checksum:weighted`` (`qbcd.ranges.key_recovery`). The byte means nothing
to qbcd but that a key always has the same one, here and in the source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from qbcd.model import KeyRange, RowSelection

Sums = tuple[int, ...]  # rows, checksum and, where leaves have it, what digests weighted by their keys add up to

NUMBER = 256
EVERY = bytes([255] * (NUMBER // 8))


def are_some(asked: Iterable[KeyRange]) -> bool:
    """Return True if only some leaves of some of the ranges are requested."""
    return any(one.only for one in asked)


def bits_of(one: KeyRange) -> bytes:
    """The leaves that a range asks for, a bit for each."""
    return one.only.bits if one.only else EVERY


def diff(before: str, now: str) -> tuple[dict[int, Sums], dict[int, Sums]]:
    """Return the sums before and the sums now of the leaves that differ."""
    old, new = set(before.split()), set(now.split())
    return _by_leaf(old - new), _by_leaf(new - old)


def select(sums: Mapping[int, Sums], leaves: Iterable[int]) -> RowSelection:
    """`leaves`, with the count and checksum that `sums` has of them."""
    return RowSelection(as_bits(leaves), sum(one[0] for one in sums.values()), sum(one[1] for one in sums.values()))


def merge(texts: Iterable[str]) -> str:
    """Merge what several scans, each of a part of the rows, report of a range; a leaf may be in a text twice."""
    rows: defaultdict[int, int] = defaultdict(int)
    checksums: defaultdict[int, int] = defaultdict(int)
    for token in " ".join(texts).split():
        leaf, number, checksum = map(int, token.split(":"))
        rows[leaf] += number
        checksums[leaf] += checksum
    return " ".join(f"{leaf}:{rows[leaf]}:{checksums[leaf]}" for leaf in rows)


def tails(one: KeyRange) -> Iterator[int]:
    """The leaves that a range asks for, as numbers: the bytes that they stand for."""
    bits = int.from_bytes(bits_of(one), "little")
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def share_of(density: float, rows: float) -> float:
    """The share of leaves that changes all over a range are likely to be in.

    Args:
        density: The share of its rows that changed.
        rows: How many of them a leaf holds.
    """
    return 1.0 - float((1 - density) ** max(1.0, rows))


def as_bits(leaves: Iterable[int]) -> bytes:
    """A bit for each of `leaves`, as :class:`~qbcd.model.Leaves` has them."""
    bits = 0
    for leaf in leaves:
        bits |= 1 << leaf
    return bits.to_bytes(NUMBER // 8, "little")


def _by_leaf(tokens: Iterable[str]) -> dict[int, Sums]:
    sums = (tuple(map(int, token.split(":"))) for token in tokens)
    return {one[0]: one[1:] for one in sums}
