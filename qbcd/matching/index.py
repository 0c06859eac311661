"""The interface of indexes over sets, and the verification that all of them share.

See Helmer, chapters 6 and 7.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from enum import Enum
from typing import Generic, TypeVar

from qbcd.matching.signatures import Coding

Ident = TypeVar("Ident", bound=Hashable)
Elements = frozenset[Hashable]


class SetRelation(Enum):
    """A relation of a stored set to the set of a query."""

    EQUALS = "equals"
    CONTAINS_ALL = "contains_all"
    CONTAINED_IN = "contained_in"
    OVERLAPS = "overlaps"

    def test(self, query: Elements) -> Callable[[Elements], bool]:
        """Return a function that is True for stored sets that relate to the query like this."""
        if self is SetRelation.EQUALS:
            return query.__eq__
        if self is SetRelation.CONTAINS_ALL:
            return query.issubset
        if self is SetRelation.CONTAINED_IN:
            return query.issuperset
        return lambda stored: not query.isdisjoint(stored)

    def holds(self, stored: Elements, query: Elements) -> bool:
        """Return True if the stored set relates to the query like this."""
        return self.test(query)(stored)

    def may_hold(self, stored: int, query: int, coding: Coding) -> bool:
        """Return False if the two signatures exclude the relation."""
        if self is SetRelation.EQUALS:
            return stored == query
        if self is SetRelation.CONTAINS_ALL:
            return query & ~stored == 0
        if self is SetRelation.CONTAINED_IN:
            return stored & ~query == 0
        return (stored & query).bit_count() >= coding.per_element


class SetIndex(ABC, Generic[Ident]):
    """Sets by an identifier, found by their relation to the set of a query.

    Results are exact: candidates of an implementation are verified here. Empty sets and empty queries are answered
    here too, so implementations see neither.
    """

    def __init__(self) -> None:
        self._sets: dict[Ident, Elements] = {}
        self._empty: set[Ident] = set()

    def __len__(self) -> int:
        return len(self._sets)

    def insert(self, ident: Ident, elements: Iterable[Hashable]) -> None:
        """Add a set; one of the same identifier is replaced.

        Raises:
            SetError: The index cannot hold the set.
        """
        self.remove(ident)
        stored = frozenset(elements)
        if stored:
            self._add(ident, stored)
        else:
            self._empty.add(ident)
        self._sets[ident] = stored

    def remove(self, ident: Ident) -> None:
        """Remove a set; an unknown identifier is ignored."""
        stored = self._sets.pop(ident, None)
        if stored:
            self._discard(ident, stored)
        self._empty.discard(ident)

    def equals(self, query: Iterable[Hashable]) -> set[Ident]:
        """Return the sets with exactly the elements of the query."""
        return self.find(SetRelation.EQUALS, query)

    def contains_all(self, query: Iterable[Hashable]) -> set[Ident]:
        """Return the sets that have all elements of the query; all sets for an empty one."""
        return self.find(SetRelation.CONTAINS_ALL, query)

    def contained_in(self, query: Iterable[Hashable]) -> set[Ident]:
        """Return the sets whose elements are all in the query; empty sets are in every one."""
        return self.find(SetRelation.CONTAINED_IN, query)

    def overlaps(self, query: Iterable[Hashable]) -> set[Ident]:
        """Return the sets that have an element of the query."""
        return self.find(SetRelation.OVERLAPS, query)

    def find(self, relation: SetRelation, query: Iterable[Hashable]) -> set[Ident]:
        """Return the sets that relate to the query."""
        wanted = frozenset(query)
        if not wanted:
            return {
                SetRelation.EQUALS: set(self._empty),
                SetRelation.CONTAINED_IN: set(self._empty),
                SetRelation.CONTAINS_ALL: set(self._sets),
                SetRelation.OVERLAPS: set(),
            }[relation]
        holds, sets = relation.test(wanted), self._sets
        found = {ident for ident in self._candidates(relation, wanted) if holds(sets[ident])}
        return found | self._empty if relation is SetRelation.CONTAINED_IN else found

    def candidates(self, relation: SetRelation, query: Iterable[Hashable]) -> int:
        """Return the number of sets that are verified for a query that is not empty."""
        return sum(1 for _ in self._candidates(relation, frozenset(query)))

    @abstractmethod
    def _add(self, ident: Ident, stored: Elements) -> None:
        """Add a set that is not empty."""

    @abstractmethod
    def _discard(self, ident: Ident, stored: Elements) -> None:
        """Remove a set that was added."""

    @abstractmethod
    def _candidates(self, relation: SetRelation, query: Elements) -> Iterator[Ident]:
        """Yield each set that may relate to a query that is not empty, once; it misses none."""
