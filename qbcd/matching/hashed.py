"""Signatures as hash keys: extendible and recursive linear hashing (Helmer, 7.3 and 7.4).

A query for subsets or supersets visits every bucket whose address the query's signature allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic

from typing_extensions import override

from qbcd.matching.index import Elements, Ident, SetIndex, SetRelation
from qbcd.matching.signatures import Coding, SetError, subsets, supersets

BUCKET = 256  # records of a bucket
MOST_DEPTH = 20  # bits of a directory
MOST_LEVELS = 32
PER_SPLIT = 0.6  # of a bucket's records are inserted between two splits of linear hashing


def _addresses(relation: SetRelation, signature: int, depth: int) -> Iterator[int]:
    """Yield the low `depth` bits that a stored signature may have."""
    low = signature & ((1 << depth) - 1)
    if relation is SetRelation.EQUALS:
        yield low
    elif relation is SetRelation.CONTAINS_ALL:
        yield from supersets(low, depth)
    elif relation is SetRelation.CONTAINED_IN:
        yield from subsets(low)
    else:
        yield from range(1 << depth)


@dataclass(eq=False)
class _Bucket(Generic[Ident]):
    """Records of signatures that agree in their low `depth` bits."""

    depth: int
    records: dict[Ident, int] = field(default_factory=dict)


class ExtendibleHashing(SetIndex[Ident]):
    """A directory of 2^d buckets, which doubles when a bucket of its own depth is full."""

    def __init__(self, coding: Coding) -> None:
        super().__init__()
        self._coding = coding
        self._depth = 0
        self._directory: list[_Bucket[Ident]] = [_Bucket(0)]

    @override
    def _add(self, ident: Ident, stored: Elements) -> None:
        signature = self._coding.signature(stored)
        bucket = self._bucket(signature)
        bucket.records[ident] = signature
        while len(bucket.records) > BUCKET and bucket.depth < min(MOST_DEPTH, self._coding.bits):
            self._split(bucket)
            bucket = self._bucket(signature)

    @override
    def _discard(self, ident: Ident, stored: Elements) -> None:
        del self._bucket(self._coding.signature(stored)).records[ident]

    @override
    def _candidates(self, relation: SetRelation, query: Elements) -> Iterator[Ident]:
        signature, seen = self._coding.signature(query), set()
        for address in _addresses(relation, signature, self._depth):
            bucket = self._directory[address]
            if id(bucket) in seen:
                continue
            seen.add(id(bucket))
            for ident, stored in bucket.records.items():
                if relation.may_hold(stored, signature, self._coding):
                    yield ident

    def _bucket(self, signature: int) -> _Bucket[Ident]:
        return self._directory[signature & (len(self._directory) - 1)]

    def _split(self, bucket: _Bucket[Ident]) -> None:
        if bucket.depth == self._depth:
            self._directory += self._directory
            self._depth += 1
        bit = 1 << bucket.depth
        upper: _Bucket[Ident] = _Bucket(bucket.depth + 1, {i: s for i, s in bucket.records.items() if s & bit})
        bucket.depth += 1
        bucket.records = {i: s for i, s in bucket.records.items() if not s & bit}
        for address, kept in enumerate(self._directory):
            if kept is bucket and address & bit:
                self._directory[address] = upper


class _Table(Generic[Ident]):
    """One table of linear hashing.

    Instead of overflow chains, the next level takes the signatures that find their bucket full.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.split = 0
        self.inserted = 0
        self.buckets: list[dict[Ident, int]] = [{}]

    def address(self, signature: int) -> int:
        """Return the bucket of a signature, by its low bits."""
        address = signature & ((1 << self.depth) - 1)
        return signature & ((2 << self.depth) - 1) if address < self.split else address

    def grow(self) -> None:
        """Split the bucket that the pointer shows."""
        bit = 1 << self.depth
        records = self.buckets[self.split]
        self.buckets[self.split] = {i: s for i, s in records.items() if not s & bit}
        self.buckets.append({i: s for i, s in records.items() if s & bit})
        self.split += 1
        if self.split == bit:
            self.depth, self.split = self.depth + 1, 0


class RecursiveLinearHashing(SetIndex[Ident]):
    """Levels of linear hashing.

    Sets over few elements have few signatures, whose records fill one bucket in level after level. Beyond
    `MOST_LEVELS` such sets are refused.
    """

    def __init__(self, coding: Coding) -> None:
        super().__init__()
        self._coding = coding
        self._levels: list[_Table[Ident]] = [_Table()]

    @override
    def _add(self, ident: Ident, stored: Elements) -> None:
        signature = self._coding.signature(stored)
        for level in self._levels:
            level.inserted += 1
            if level.inserted % int(PER_SPLIT * BUCKET) == 0:
                level.grow()
            bucket = level.buckets[level.address(signature)]
            if len(bucket) < BUCKET:
                bucket[ident] = signature
                return
        if len(self._levels) == MOST_LEVELS:
            raise SetError(
                f"{MOST_LEVELS} levels of linear hashing are full: the sets have too few different signatures. "
                "fix: use the inverted file"
            )
        self._levels.append(_Table())
        self._levels[-1].buckets[0][ident] = signature

    @override
    def _discard(self, ident: Ident, stored: Elements) -> None:
        signature = self._coding.signature(stored)
        for level in self._levels:
            if level.buckets[level.address(signature)].pop(ident, None) is not None:
                return

    @override
    def _candidates(self, relation: SetRelation, query: Elements) -> Iterator[Ident]:
        signature = self._coding.signature(query)
        for level in self._levels:
            for bucket in self._visited(level, relation, signature):
                for ident, stored in bucket.items():
                    if relation.may_hold(stored, signature, self._coding):
                        yield ident

    def _visited(self, level: _Table[Ident], relation: SetRelation, signature: int) -> Iterator[dict[Ident, int]]:
        mask = (1 << level.depth) - 1
        for address in _addresses(relation, signature, level.depth):
            if address >= level.split:
                yield level.buckets[address]
        for address in _addresses(relation, signature, level.depth + 1):
            if address & mask < level.split:
                yield level.buckets[address]

    @property
    def levels(self) -> int:
        """Tables that a query visits."""
        return len(self._levels)
