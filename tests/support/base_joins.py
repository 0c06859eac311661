"""Base joins and growth of Helmer's thesis (3 and 7.4), with the pages that they read and write.

They are references for tests, not a feature: relations are lists of pages in memory, and a counter replaces the disk.
Each join yields the pairs of rows with equal keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil

Row = tuple[int, str]
Pairs = Iterator[tuple[Row, Row]]


@dataclass
class Disk:
    """Counts pages that are read and written."""

    rows_per_page: int
    reads: int = 0
    writes: int = 0


@dataclass
class Relation:
    """Rows in pages of a disk."""

    disk: Disk
    pages: list[list[Row]] = field(default_factory=list)

    @classmethod
    def of(cls, disk: Disk, rows: Iterable[Row]) -> Relation:
        """Return rows that are on the disk already."""
        listed = list(rows)
        size = disk.rows_per_page
        return cls(disk, [listed[i : i + size] for i in range(0, len(listed), size)])

    def page(self, number: int) -> list[Row]:
        """Read a page."""
        self.disk.reads += 1
        return self.pages[number]

    def scan(self) -> Iterator[Row]:
        """Read all pages, in order."""
        for number in range(len(self.pages)):
            yield from self.page(number)

    def written(self, rows: Sequence[Row]) -> None:
        """Write rows to new pages."""
        made = Relation.of(self.disk, rows).pages
        self.disk.writes += len(made)
        self.pages += made


def nested_loop(outer: Relation, inner: Relation) -> Pairs:
    """Scan the inner relation for each row of the outer one: ||R|| + |R| ||S|| pages."""
    for row in outer.scan():
        for other in inner.scan():
            if row[0] == other[0]:
                yield row, other


def block_nested_loop(outer: Relation, inner: Relation, memory: int) -> Pairs:
    """Scan the inner relation for each block of the outer one, forward and backward in turns.

    The last page of a scan is the first one of the next: ||R|| + n ||S|| - (n - 1) pages for n blocks.

    Args:
        memory: Pages; one is for the inner relation.
    """
    forward, kept = True, -1
    for start in range(0, len(outer.pages), memory - 1):
        block: dict[int, list[Row]] = defaultdict(list)
        for number in range(start, min(start + memory - 1, len(outer.pages))):
            for row in outer.page(number):
                block[row[0]].append(row)
        order = range(len(inner.pages)) if forward else range(len(inner.pages) - 1, -1, -1)
        for number in order:
            page = inner.pages[number] if number == kept else inner.page(number)
            for other in page:
                yield from ((row, other) for row in block.get(other[0], ()))
            kept = number
        forward = not forward


def _sorted(relation: Relation, memory: int) -> list[list[Row]]:
    """Return sorted runs of `memory` pages, written and read again: 3 ||R|| pages with the first read."""
    runs = []
    for start in range(0, len(relation.pages), memory):
        part = [
            row for number in range(start, min(start + memory, len(relation.pages))) for row in relation.page(number)
        ]
        run = Relation(relation.disk)
        run.written(sorted(part))
        runs.append(list(run.scan()))
    return runs


def sort_merge(left: Relation, right: Relation, memory: int) -> Pairs:
    """Sort both relations, and merge groups of equal keys: 3 (||R|| + ||S||) pages."""
    ordered = [sorted(row for run in _sorted(one, memory) for row in run) for one in (left, right)]
    groups = [{key: list(rows) for key, rows in groupby(rows, key=lambda row: row[0])} for rows in ordered]
    for key, rows in groups[0].items():
        yield from ((row, other) for row in rows for other in groups[1].get(key, ()))


def simple_hash(build: Relation, probe: Relation, memory: int) -> Pairs:
    """Make hash tables of as many pages as memory has, and scan the other relation for each."""
    for start in range(0, len(build.pages), memory - 1):
        table: dict[int, list[Row]] = defaultdict(list)
        for number in range(start, min(start + memory - 1, len(build.pages))):
            for row in build.page(number):
                table[row[0]].append(row)
        for other in probe.scan():
            yield from ((row, other) for row in table.get(other[0], ()))


def grace(left: Relation, right: Relation, memory: int) -> Pairs:
    """Partition both relations by one hash function, and join each pair of parts in memory.

    3 (||R|| + ||S||) pages, and one more for each part that is not full.
    """
    parts = max(min(memory - 1, ceil(len(left.pages) / (memory - 1))), 1)
    made = [_partitioned(one, parts) for one in (left, right)]
    for mine, theirs in zip(*made, strict=True):
        table: dict[int, list[Row]] = defaultdict(list)
        for row in mine.scan():
            table[row[0]].append(row)
        for other in theirs.scan():
            yield from ((row, other) for row in table.get(other[0], ()))


def _partitioned(relation: Relation, parts: int) -> list[Relation]:
    rows: list[list[Row]] = [[] for _ in range(parts)]
    for row in relation.scan():
        rows[row[0] % parts].append(row)
    made = [Relation(relation.disk) for _ in range(parts)]
    for part, kept in zip(made, rows, strict=True):
        part.written(kept)
    return made


def index_join(outer: Relation, inner: Relation) -> Pairs:
    """Look up each row of the outer relation in a hash index of the inner one: a page for each partner."""
    index: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, page in enumerate(inner.pages):
        for place, other in enumerate(page):
            index[other[0]].append((number, place))
    for row in outer.scan():
        for number, place in index.get(row[0], ()):
            yield row, inner.page(number)[place]


JOINS: dict[str, Callable[[Relation, Relation], Pairs]] = {
    "nested_loop": nested_loop,
    "block_nested_loop": lambda left, right: block_nested_loop(left, right, 5),
    "sort_merge": lambda left, right: sort_merge(left, right, 5),
    "simple_hash": lambda left, right: simple_hash(left, right, 5),
    "grace": lambda left, right: grace(left, right, 5),
    "index": index_join,
}


@dataclass
class LinearHashing:
    """A bucketed store that splits one bucket after every `per_split` rows, in order of the buckets.

    Attributes:
        moved: Rows that splits have moved to a new bucket.
    """

    per_split: int
    buckets: list[dict[int, str]] = field(default_factory=lambda: [{}])
    depth: int = 0
    split: int = 0
    inserted: int = 0
    moved: int = 0

    def address(self, key: int) -> int:
        """Return the bucket of a key, by its low bits."""
        address = key & ((1 << self.depth) - 1)
        return key & ((2 << self.depth) - 1) if address < self.split else address

    def put(self, key: int, value: str) -> None:
        """Insert or replace a row; a split may follow."""
        bucket = self.buckets[self.address(key)]
        self.inserted += key not in bucket
        bucket[key] = value
        if self.inserted >= self.per_split * len(self.buckets):
            self._grow()

    def get(self, key: int) -> str | None:
        """Return the value of a key; it reads one bucket."""
        return self.buckets[self.address(key)].get(key)

    def _grow(self) -> None:
        bit = 1 << self.depth
        rows = self.buckets[self.split]
        self.buckets[self.split] = {key: value for key, value in rows.items() if not key & bit}
        self.buckets.append({key: value for key, value in rows.items() if key & bit})
        self.moved += len(self.buckets[-1])
        self.split += 1
        if self.split == bit:
            self.depth, self.split = self.depth + 1, 0
