"""The default index: an inverted file, whose lists are read shortest first (Helmer, 7.5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

from typing_extensions import override

from qbcd.matching.index import Elements, Ident, SetIndex, SetRelation


class InvertedFile(SetIndex[Ident]):
    """Lists of sets by element.

    A set is also anchored at one element: the one with the fewest sets when the set was added. ``contained_in``
    reads only the anchors of the query's elements, so an element that most sets have costs nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lists: dict[Hashable, set[Ident]] = defaultdict(set)
        self._anchored: dict[Hashable, set[Ident]] = defaultdict(set)
        self._anchors: dict[Ident, Hashable] = {}

    @override
    def _add(self, ident: Ident, stored: Elements) -> None:
        anchor = min(stored, key=lambda element: len(self._lists[element]))
        self._anchors[ident] = anchor
        self._anchored[anchor].add(ident)
        for element in stored:
            self._lists[element].add(ident)

    @override
    def _discard(self, ident: Ident, stored: Elements) -> None:
        _drop(self._anchored, self._anchors.pop(ident), ident)
        for element in stored:
            _drop(self._lists, element, ident)

    @override
    def _candidates(self, relation: SetRelation, query: Elements) -> Iterator[Ident]:
        if relation is SetRelation.CONTAINED_IN:
            for element in query:
                yield from self._anchored.get(element, ())
        elif relation is SetRelation.OVERLAPS:
            yield from set().union(*(self._lists.get(element, set()) for element in query))
        else:
            lists = sorted((self._lists.get(element, set()) for element in query), key=len)
            yield from lists[0].intersection(*lists[1:])


def _drop(lists: dict[Hashable, set[Ident]], element: Hashable, ident: Ident) -> None:
    lists[element].discard(ident)
    if not lists[element]:
        del lists[element]
