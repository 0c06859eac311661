"""An exact index for few elements: one bit for each (Helmer, chapter 2 with k = 1).

So no candidate is wrong.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from typing_extensions import override

from qbcd.matching.index import Elements, Ident, SetIndex, SetRelation
from qbcd.matching.signatures import Coding, SetError

MOST_ELEMENTS = 1024  # the most columns that a table of PostgreSQL or MariaDB has, rounded up
ONE_BIT = Coding(MOST_ELEMENTS)


class Bitmap(SetIndex[Ident]):
    """Bit strings with a bit for each different element of all sets.

    Args:
        most: Different elements that the index holds.
    """

    def __init__(self, most: int = MOST_ELEMENTS) -> None:
        super().__init__()
        self._most = most
        self._numbers: dict[Hashable, int] = {}
        self._bits: dict[Ident, int] = {}

    @override
    def _add(self, ident: Ident, stored: Elements) -> None:
        new = [element for element in stored if element not in self._numbers]
        if len(self._numbers) + len(new) > self._most:
            raise SetError(f"a bitmap holds {self._most} different elements. fix: use the inverted file")
        for element in new:
            self._numbers[element] = len(self._numbers)
        self._bits[ident] = sum(1 << self._numbers[element] for element in stored)

    @override
    def _discard(self, ident: Ident, stored: Elements) -> None:
        del self._bits[ident]

    @override
    def _candidates(self, relation: SetRelation, query: Elements) -> Iterator[Ident]:
        known = [self._numbers[element] for element in query if element in self._numbers]
        if relation in (SetRelation.EQUALS, SetRelation.CONTAINS_ALL) and len(known) < len(query):
            return
        bits = sum(1 << number for number in known)
        for ident, stored in self._bits.items():
            if relation.may_hold(stored, bits, ONE_BIT):
                yield ident
