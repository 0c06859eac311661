"""Joins of two relations on sets: equal, or contained (Helmer, chapter 4).

All methods of a relation give the same pairs, in no order. The first ones are references for the others.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from qbcd.matching.index import Elements, SetRelation
from qbcd.matching.inverted import InvertedFile
from qbcd.matching.signatures import Coding, best_bits, canonical, subsets

Pairs = Iterator[tuple[int, int]]
Sets = Sequence[Elements]
WIDER = 1.3  # of the best width: fewer subsets to probe for a few bits more (H7)


def nested_loop(relation: SetRelation, left: Sets, right: Sets) -> Pairs:
    """Yield positions of related sets by comparing all pairs, with signatures as a pretest."""
    coding = Coding(64)
    signatures = [coding.signature(stored) for stored in right]
    for i, a in enumerate(left):
        signature = coding.signature(a)
        for j, b in enumerate(right):
            if relation.may_hold(signature, signatures[j], coding) and relation.holds(a, b):
                yield i, j


def hash_equal(left: Sets, right: Sets) -> Pairs:
    """Yield positions of equal sets by a hash table of whole sets."""
    table: dict[Elements, list[int]] = defaultdict(list)
    for i, a in enumerate(left):
        table[a].append(i)
    for j, b in enumerate(right):
        for i in table.get(b, ()):
            yield i, j


def sort_merge_equal(left: Sets, right: Sets) -> Pairs:
    """Yield positions of equal sets by sorting both sides and merging groups.

    The listing is corrected (H4).
    """
    a, b = _sorted(left), _sorted(right)
    low = high = 0
    for key, j in b:
        while low < len(a) and a[low][0] < key:
            low += 1
        high = max(high, low)
        while high < len(a) and a[high][0] == key:
            high += 1
        for _, i in a[low:high]:
            yield i, j


def inverted_contained(left: Sets, right: Sets) -> Pairs:
    """Yield positions where the left set is contained in the right one, by an inverted file.

    The file is of the left sets.
    """
    index: InvertedFile[int] = InvertedFile()
    for i, a in enumerate(left):
        index.insert(i, a)
    for j, b in enumerate(right):
        for i in index.contained_in(b):
            yield i, j


def signature_hash_contained(left: Sets, right: Sets) -> Pairs:
    """Yield positions where the left set is contained in the right one, by signature hashes.

    The signatures are hash keys.

    The left sets are hashed by the low bits of their signatures. Each right set probes with every subset of its own
    low bits. It is slow where left sets are much smaller: few of their low bits are set, and one bucket has most of
    them.
    """
    largest = max((len(stored) for stored in right), default=0)
    coding = Coding(round(WIDER * best_bits(largest)))
    mask = (1 << _partial_bits(len(left), coding.bits)) - 1
    table: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for i, a in enumerate(left):
        signature = coding.signature(a)
        table[signature & mask].append((signature, i))
    for j, b in enumerate(right):
        signature = coding.signature(b)
        for subset in subsets(signature & mask):
            for stored, i in table.get(subset, ()):
                if stored & ~signature == 0 and left[i] <= b:
                    yield i, j


def _partial_bits(sets: int, bits: int) -> int:
    """Return the bits that are hashed: log2 of the relation, less one (H7).

    One less since sets are not all of mean weight.
    """
    return min(max(round(math.log2(max(sets, 2))) - 1, 1), bits)


@dataclass
class _Branch:
    """A node of a trie over sorted elements."""

    ends: list[int] = field(default_factory=list)
    below: dict[bytes, _Branch] = field(default_factory=dict)


def trie_contained(left: Sets, right: Sets) -> Pairs:
    """Yield positions where the left set is contained in the right one, by a trie.

    The trie is of the left sets.
    """
    root = _Branch()
    for key, i in _sorted(left):
        node = root
        for element in key:
            node = node.below.setdefault(element, _Branch())
        node.ends.append(i)
    for key, j in _sorted(right):
        yield from ((i, j) for i in _ends_within(root, key))


def _ends_within(root: _Branch, elements: Sequence[bytes]) -> Iterator[int]:
    """Yield the sets on every path of the trie whose elements are all in `elements`."""
    waiting = [(root, 0)]
    while waiting:
        node, start = waiting.pop()
        yield from node.ends
        if node.below:
            waiting += [
                (node.below[element], at + 1)
                for at, element in enumerate(elements[start:], start)
                if element in node.below
            ]


def _sorted(sets: Sets) -> list[tuple[tuple[bytes, ...], int]]:
    codes: dict[Hashable, bytes] = {}
    keys = []
    for place, stored in enumerate(sets):
        for element in stored:
            if element not in codes:
                codes[element] = canonical(element)
        keys.append((tuple(sorted(codes[element] for element in stored)), place))
    return sorted(keys)


EQUAL: dict[str, Callable[[Any, Any], Pairs]] = {
    "nested_loop": partial(nested_loop, SetRelation.EQUALS),
    "sort_merge": sort_merge_equal,
    "hash": hash_equal,
}
CONTAINED: dict[str, Callable[[Any, Any], Pairs]] = {
    "nested_loop": partial(nested_loop, SetRelation.CONTAINED_IN),
    "trie": trie_contained,
    "signature_hash": signature_hash_contained,
    "inverted": inverted_contained,
}


def equal_pairs(left: Sets, right: Sets) -> list[tuple[int, int]]:
    """Return positions of equal sets, by the fastest method."""
    return list(hash_equal(left, right))


def contained_pairs(left: Sets, right: Sets) -> list[tuple[int, int]]:
    """Return positions where the left set is contained in the right one, by the fastest method."""
    return list(inverted_contained(left, right))
