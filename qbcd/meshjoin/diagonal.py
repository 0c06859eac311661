"""Diag-Join: one pass over parents and children in the order of creation (Helmer, ch. 5).

A window of parents slides along the children. A child whose parent is not in the window is a *mishit*; mishits are
partitioned as they occur, and joined by hashing afterwards. So the result is exact, whatever the order of the rows.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Parent = TypeVar("Parent")
Child = TypeVar("Child")
Pairs = Iterator[tuple[Child, Parent | None]]


class Partners(Generic[Key, Parent, Child]):
    """Two relations in the order of creation.

    Attributes:
        parents: Opens a pass over parents with their keys, unique; each pass has the same order.
        children: Children with the key of their parent, or None.
    """

    def __init__(
        self,
        parents: Callable[[], Iterable[tuple[Key, Parent]]],
        children: Iterable[tuple[Key | None, Child]],
        sizes: tuple[int, int],
    ) -> None:
        self.parents, self.children = parents, children
        self.parent_rows, self.child_rows = sizes

    def expected(self, child: int) -> int:
        """Return the expected place of the parent of a child, by integer arithmetic (H9)."""
        return child * self.parent_rows // max(self.child_rows, 1)


class BasicDiagJoin(Generic[Key, Parent, Child]):
    """The basic variant: a window of single parents, centered at the expected one."""

    def __init__(self, partners: Partners[Key, Parent, Child], window: int, buckets: int = 16) -> None:
        self.window = max(1, window)
        self._partners = partners
        self._mishits = _Mishits[Key, Parent, Child](buckets)

    @property
    def mishits(self) -> int:
        """Children so far whose parent was not in the window."""
        return self._mishits.count

    def pairs(self) -> Pairs[Child, Parent]:
        """Yield each child with its parent, or None; hits in the children's order, then mishits."""
        for key, child, parent, found in self.searched():
            if found:
                yield child, parent
            else:
                self._mishits.add(key, child)
        yield from self._mishits.joined(self._partners.parents())

    def searched(self) -> Iterator[tuple[Key | None, Child, Parent | None, bool]]:
        """Yield key, child, parent and True, or False if the window lacks the parent.

        Mishits are not joined.
        """
        parents = iter(self._partners.parents())
        held: deque[Key] = deque()
        by_key: dict[Key, Parent] = {}
        loaded = 0
        for place, (key, child) in enumerate(self._partners.children):
            last = self._partners.expected(place) + self.window // 2
            while loaded <= last and (row := next(parents, None)) is not None:
                if len(held) == self.window:
                    del by_key[held.popleft()]
                held.append(row[0])
                by_key[row[0]] = row[1]
                loaded += 1
            hit = key is not None and key in by_key
            yield key, child, by_key[key] if hit and key is not None else None, hit


class DiagJoin(Generic[Key, Parent, Child]):
    """The advanced variant: a ring of hash tables, one of which is replaced at a time."""

    def __init__(self, partners: Partners[Key, Parent, Child], window: int, chunks: int = 5, buckets: int = 16) -> None:
        self.chunks = chunks
        self.step = max(1, window // chunks)
        self._partners = partners
        self._ring: deque[tuple[int, dict[Key, Parent]]] = deque(maxlen=chunks)
        self._mishits = _Mishits[Key, Parent, Child](buckets)
        self.probes = 0

    @property
    def mishits(self) -> int:
        """Children so far whose parent was not in the window."""
        return self._mishits.count

    def pairs(self) -> Pairs[Child, Parent]:
        """Yield each child with its parent, or None; hits in the children's order, then mishits."""
        parents, more, loaded = iter(self._partners.parents()), True, 0
        for place, (key, child) in enumerate(self._partners.children):
            middle = self._partners.expected(place) // self.step
            while more and (loaded <= middle + self.chunks // 2):  # also at the start (H11)
                table = dict(_up_to(parents, self.step))
                more = bool(table)
                if more:
                    self._ring.append((loaded, table))
                    loaded += 1
            holding = self._found(key, middle)
            if key is not None and holding is not None:
                yield child, holding[key]
            else:
                self._mishits.add(key, child)
        self._ring.clear()
        yield from self._mishits.joined(self._partners.parents())

    def _found(self, key: Key | None, middle: int) -> dict[Key, Parent] | None:
        """Search zig-zag: the middle chunk, then +1, -1, +2, -2 .."""
        if key is None:
            return None
        for _, table in sorted(self._ring, key=lambda chunk: (abs(chunk[0] - middle), -chunk[0])):
            self.probes += 1
            if key in table:
                return table
        return None


class _Mishits(Generic[Key, Parent, Child]):
    """Children to join by hashing, partitioned as they come."""

    def __init__(self, buckets: int) -> None:
        self._buckets: list[list[tuple[Key, Child]]] = [[] for _ in range(buckets)]
        self._orphans: list[Child] = []
        self.count = 0

    def add(self, key: Key | None, child: Child) -> None:
        """Keep a child; one without a key has no parent, and is no mishit."""
        if key is None:
            self._orphans.append(child)
            return
        self.count += 1
        self._buckets[hash(key) % len(self._buckets)].append((key, child))

    def joined(self, parents: Iterable[tuple[Key, Parent]]) -> Pairs[Child, Parent]:
        """Yield the children with their parents, by a hash join that is built from the mishits."""
        wanted = {key: None for bucket in self._buckets for key, _ in bucket}
        found: dict[Key, Parent] = {}
        if wanted:
            found = {key: row for key, row in parents if key in wanted}
        for bucket in self._buckets:
            for key, child in bucket:
                yield child, found.get(key)
        for child in self._orphans:
            yield child, None


def _up_to(rows: Iterator[tuple[Key, Parent]], count: int) -> Iterator[tuple[Key, Parent]]:
    for _ in range(count):
        row = next(rows, None)
        if row is None:
            return
        yield row


def deviations(places: Iterable[tuple[int, int]], parent_rows: int, child_rows: int) -> list[int]:
    """Return how far the parents of sampled children are from their expected places, in parents.

    Args:
        places: Place of a child and place of its parent.
    """
    return [abs(parent - child * parent_rows // max(child_rows, 1)) for child, parent in places]


def window_for(deviations: Sequence[float], chunks: int, mishits: float = 0.0) -> float:
    """Return the smallest window with at most this share of mishits, as the deviations.

    One chunk of the window is lost to stepping.
    """
    if not deviations:
        return 0.0
    ordered = sorted(deviations)
    reached = ordered[min(len(ordered) - 1, max(0, math.ceil(len(ordered) * (1 - mishits)) - 1))]
    return 2 * reached / (1 - 1 / chunks)
