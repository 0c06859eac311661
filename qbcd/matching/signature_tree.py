"""A signature tree: inner entries are the union of their children's bits (Helmer, 7.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Generic

from typing_extensions import override

from qbcd.matching.index import Elements, Ident, SetIndex, SetRelation
from qbcd.matching.signatures import Coding

CAPACITY = 64  # entries of a node
FILL = CAPACITY // 3  # entries that each half of a split has at least; the thesis names none


@dataclass(eq=False)
class _Node(Generic[Ident]):
    """A leaf, or an inner node.

    Attributes:
        bits: Union of the signatures below.
        entries: Of a leaf, the sets with their signatures.
    """

    parent: _Node[Ident] | None = None
    bits: int = 0
    entries: dict[Ident, int] = field(default_factory=dict)
    children: list[_Node[Ident]] = field(default_factory=list)


class SignatureTree(SetIndex[Ident]):
    """A balanced tree that grows at the root."""

    def __init__(self, coding: Coding) -> None:
        super().__init__()
        self._coding = coding
        self._root: _Node[Ident] = _Node()
        self._leaves: dict[Ident, _Node[Ident]] = {}

    @override
    def _add(self, ident: Ident, stored: Elements) -> None:
        signature, node = self._coding.signature(stored), self._root
        while node.children:
            node.bits |= signature
            node = min(node.children, key=lambda child: (_growth(child.bits, signature), child.bits.bit_count()))
        node.bits |= signature
        node.entries[ident] = signature
        self._leaves[ident] = node
        if len(node.entries) > CAPACITY:
            self._split(node)

    @override
    def _discard(self, ident: Ident, stored: Elements) -> None:
        node: _Node[Ident] | None = self._leaves.pop(ident)
        assert node is not None
        del node.entries[ident]
        while node is not None:
            if not node.entries and not node.children and node.parent is not None:
                node.parent.children.remove(node)
            node.bits = reduce(or_, node.entries.values(), reduce(or_, (child.bits for child in node.children), 0))
            node = node.parent

    @override
    def _candidates(self, relation: SetRelation, query: Elements) -> Iterator[Ident]:
        bits = self._coding.signature(query)
        nodes = [self._root]
        while nodes:
            node = nodes.pop()
            nodes += [child for child in node.children if self._may_be_below(relation, child.bits, bits)]
            for ident, signature in node.entries.items():
                if relation.may_hold(signature, bits, self._coding):
                    yield ident

    def _may_be_below(self, relation: SetRelation, union: int, query: int) -> bool:
        if relation in (SetRelation.EQUALS, SetRelation.CONTAINS_ALL):
            return query & ~union == 0
        return (union & query).bit_count() >= self._coding.per_element

    def _split(self, node: _Node[Ident]) -> None:
        parts: tuple[_Node[Ident], _Node[Ident]] = (node, _Node(node.parent))
        if node.children:
            halves = _halves({child: child.bits for child in node.children})
            for part, half in zip(parts, halves, strict=True):
                part.children = list(half)
                for child in half:
                    child.parent = part
        else:
            for part, half_of_leaf in zip(parts, _halves(node.entries), strict=True):
                part.entries = half_of_leaf
                self._leaves |= dict.fromkeys(half_of_leaf, part)
        for part in parts:
            part.bits = reduce(or_, part.entries.values(), reduce(or_, (child.bits for child in part.children), 0))
        parent = node.parent
        if parent is None:
            self._root = _Node(bits=node.bits | parts[1].bits, children=list(parts))
            node.parent = parts[1].parent = self._root
        else:
            parent.children.append(parts[1])
            if len(parent.children) > CAPACITY:
                self._split(parent)


def _growth(bits: int, signature: int) -> int:
    """Return the bits that a node would gain."""
    return (signature & ~bits).bit_count()


def _halves(entries: dict[Ident, int]) -> tuple[dict[Ident, int], dict[Ident, int]]:
    """Divide entries linearly.

    The heaviest entry and the one most unlike it each attract the entries that resemble them.
    """
    heaviest = max(entries, key=lambda entry: entries[entry].bit_count())
    others = [entry for entry in entries if entry != heaviest]
    unlike = max(others, key=lambda entry: _growth(entries[heaviest], entries[entry]))
    halves = ({heaviest: entries[heaviest]}, {unlike: entries[unlike]})
    unions = [entries[heaviest], entries[unlike]]
    rest = [entry for entry in others if entry != unlike]
    for place, entry in enumerate(rest):
        left = len(rest) - place
        short = [half for half in (0, 1) if len(halves[half]) + left <= FILL]
        to = short[0] if short else int(_growth(unions[1], entries[entry]) <= _growth(unions[0], entries[entry]))
        halves[to][entry] = entries[entry]
        unions[to] |= entries[entry]
    return halves
