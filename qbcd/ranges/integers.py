"""Ranges of an integer key as SQL that every database and engine reads in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class IntegerRanges:
    """Adjacent ranges of an integer, which cover all integers.

    Attributes:
        ids: Ids of the ranges, in the order of their keys.
        bounds: The first integer of each range but the first, ascending.
    """

    ids: tuple[int, ...]
    bounds: tuple[int, ...]

    def of(self, value: str) -> str:
        """Return SQL of the id of a value's range.

        It is a nested CASE, so that few comparisons find one of many ranges.
        """
        return self._between(value, 0, len(self.ids))

    def _between(self, value: str, first: int, end: int) -> str:
        if end - first == 1:
            return f"{self.ids[first]:d}"
        middle = (first + end) // 2
        below, above = self._between(value, first, middle), self._between(value, middle, end)
        return f"CASE WHEN {value} < {self.bounds[middle - 1]:d} THEN {below} ELSE {above} END"

    def within(self, value: str, ids: Sequence[int], *, nulls: bool = False) -> str:
        """Return SQL of the condition that a value is in one of these ranges.

        Adjacent ranges are one interval.

        Args:
            nulls: NULL is in the last range too, as in `of`.
        """
        chosen, edges = set(ids), (None, *self.bounds, None)
        inside = [(lo, hi) for (lo, hi), one in zip(pairwise(edges), self.ids, strict=True) if one in chosen]
        joined: list[tuple[int | None, int | None]] = []
        for lo, hi in inside:
            if joined and lo is not None and joined[-1][1] == lo:
                joined[-1] = (joined[-1][0], hi)
            else:
                joined.append((lo, hi))
        conditions = [f"({_interval(value, lo, hi)})" for lo, hi in joined]
        if nulls and self.bounds and self.ids[-1] in chosen:
            conditions.append(f"{value} IS NULL")
        return " OR ".join(conditions) or "1 = 0"

    def replaced(self, parent: int, bounds: Sequence[int], ids: Sequence[int]) -> IntegerRanges:
        """Return the ranges with `parent` split into ranges with `ids`.

        Args:
            bounds: First integers of the new ranges but the first one, inside of `parent`.
        """
        place = self.ids.index(parent)
        return IntegerRanges(
            (*self.ids[:place], *ids, *self.ids[place + 1 :]), (*self.bounds[:place], *bounds, *self.bounds[place:])
        )

    def joined(self, groups: Sequence[Sequence[int]]) -> IntegerRanges:
        """Return one range for each group of adjacent ranges, with the id of its first one.

        Args:
            groups: The ids of all ranges.
        """
        firsts = {group[0] for group in groups}
        found = [(one, lo) for one, lo, _ in self.edges() if one in firsts]
        return IntegerRanges(tuple(one for one, _ in found), tuple(lo for _, lo in found if lo is not None))

    def edges(self) -> list[tuple[int, int | None, int | None]]:
        """Return id, first integer and the integer after the last of each range; None is no end."""
        edges = (None, *self.bounds, None)
        return [(one, lo, hi) for one, (lo, hi) in zip(self.ids, pairwise(edges), strict=True)]


def _interval(value: str, lo: int | None, hi: int | None) -> str:
    known = [f"{value} >= {lo:d}"] if lo is not None else []
    known += [f"{value} < {hi:d}"] if hi is not None else []
    return " AND ".join(known) or "1 = 1"
