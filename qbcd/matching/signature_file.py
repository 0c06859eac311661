"""A sequential signature file: append, and scan everything (Helmer, 7.1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from qbcd.matching.index import Elements, Ident, SetIndex, SetRelation
from qbcd.matching.signatures import Coding

LANE = 64


class SignatureFile(SetIndex[Ident]):
    """Signatures in rows of one array, in the order of insertion.

    A removed set leaves its row until half of the rows are unused.
    """

    def __init__(self, coding: Coding) -> None:
        super().__init__()
        self._coding = coding
        self._lanes = -(-coding.bits // LANE)
        self._rows: NDArray[np.uint64] = np.zeros((64, self._lanes), np.uint64)
        self._idents: list[Ident | None] = []
        self._places: dict[Ident, int] = {}

    @override
    def _add(self, ident: Ident, stored: Elements) -> None:
        row = len(self._idents)
        if row == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[row] = self._row(self._coding.signature(stored))
        self._idents.append(ident)
        self._places[ident] = row

    @override
    def _discard(self, ident: Ident, stored: Elements) -> None:
        self._idents[self._places.pop(ident)] = None
        if len(self._idents) > 2 * len(self._places) + LANE:
            used = [row for row, kept in enumerate(self._idents) if kept is not None]
            self._rows = np.concatenate([self._rows[used], np.zeros((LANE, self._lanes), np.uint64)])
            self._idents = [self._idents[row] for row in used]
            self._places = {kept: row for row, kept in enumerate(self._idents) if kept is not None}

    @override
    def _candidates(self, relation: SetRelation, query: Elements) -> Iterator[Ident]:
        rows = self._rows[: len(self._idents)]
        for row in np.flatnonzero(self._tested(relation, rows, self._row(self._coding.signature(query)))):
            ident = self._idents[row]
            if ident is not None:
                yield ident

    def _tested(self, relation: SetRelation, rows: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.bool_]:
        if relation is SetRelation.EQUALS:
            return np.asarray((rows == query).all(axis=1))
        if relation is SetRelation.CONTAINS_ALL:
            return np.asarray(((rows & query) == query).all(axis=1))
        if relation is SetRelation.CONTAINED_IN:
            return np.asarray(((rows & ~query) == 0).all(axis=1))
        return np.asarray(((rows & query) != 0).any(axis=1))

    def _row(self, signature: int) -> NDArray[np.uint64]:
        return np.frombuffer(signature.to_bytes(self._lanes * LANE // 8, "little"), "<u8").astype(np.uint64)
