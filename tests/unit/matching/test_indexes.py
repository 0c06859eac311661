"""Set indexes: each finds exactly the sets that a comparison of all finds, whatever was removed before."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qbcd.matching import (
    Bitmap,
    Coding,
    ExtendibleHashing,
    InvertedFile,
    RecursiveLinearHashing,
    SetError,
    SetIndex,
    SetRelation,
    SignatureFile,
    SignatureTree,
    hashed,
    signature_tree,
)

INDEXES: dict[str, Callable[[], SetIndex[int]]] = {
    "bitmap": Bitmap,
    "inverted": InvertedFile,
    "signature_file": lambda: SignatureFile(Coding(80, 3)),
    "signature_tree": lambda: SignatureTree(Coding(32, 2)),
    "extendible": lambda: ExtendibleHashing(Coding(16, 2)),
    "recursive": lambda: RecursiveLinearHashing(Coding(24, 1)),
}
ELEMENTS = st.frozensets(st.one_of(st.integers(0, 12), st.sampled_from(["a", "b", b"a", None, 1.5, ""])), max_size=6)
STEPS = st.lists(st.tuples(st.sampled_from("iir"), st.integers(0, 30), ELEMENTS), max_size=80)


@pytest.fixture(autouse=True)
def _small_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashed, "BUCKET", 4)
    monkeypatch.setattr(hashed, "MOST_LEVELS", 10_000)
    monkeypatch.setattr(signature_tree, "CAPACITY", 4)
    monkeypatch.setattr(signature_tree, "FILL", 1)


@pytest.mark.parametrize("name", INDEXES)
@settings(deadline=None, max_examples=40)
@given(steps=STEPS, queries=st.lists(ELEMENTS, min_size=1, max_size=8))
def test_results_are_those_of_a_comparison_of_all(
    name: str, steps: list[tuple[str, int, frozenset[object]]], queries: list[frozenset[object]]
) -> None:
    index, plain = INDEXES[name](), {}
    for step, ident, elements in steps:
        if step == "i":
            index.insert(ident, elements)
            plain[ident] = elements
        else:
            index.remove(ident)
            plain.pop(ident, None)
    assert len(index) == len(plain)
    for query in [*queries, *plain.values()]:
        for relation in SetRelation:
            wanted = {ident for ident, stored in plain.items() if relation.holds(stored, query)}
            assert getattr(index, relation.value)(query) == wanted, (relation, query)


@pytest.mark.parametrize("name", INDEXES)
def test_many_sets(name: str) -> None:
    drawn = random.Random(3)
    sets = {n: frozenset(drawn.sample(range(60), drawn.randint(1, 6))) for n in range(400)}
    index = INDEXES[name]()
    for ident, elements in sets.items():
        index.insert(ident, elements)
    for ident in range(0, 400, 3):
        index.remove(ident)
        del sets[ident]
    for query in [*list(sets.values())[:20], frozenset(range(15)), frozenset({59})]:
        for relation in SetRelation:
            assert index.find(relation, query) == {n for n, stored in sets.items() if relation.holds(stored, query)}


def test_empty_queries() -> None:
    index = InvertedFile[int]()
    index.insert(1, [])
    index.insert(2, ["a"])
    assert (index.equals([]), index.contained_in([]), index.contains_all([]), index.overlaps([])) == (
        {1},
        {1},
        {1, 2},
        set(),
    )


def test_an_element_of_most_sets_costs_no_candidates() -> None:
    index = InvertedFile[int]()
    for ident in range(1000):
        index.insert(ident, ["table=orders", f"column={ident}"])
    query = ["table=orders", "column=7", "column=8", "other"]
    assert index.contained_in(query) == {7, 8}
    assert index.candidates(SetRelation.CONTAINED_IN, query) <= 3


def test_too_few_signatures_for_linear_hashing_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashed, "MOST_LEVELS", 5)
    index = RecursiveLinearHashing[int](Coding(8))
    with pytest.raises(SetError, match=r"5 levels of linear hashing are full.*fix: use the inverted file"):
        for ident in range(1000):
            index.insert(ident, [ident % 2])


def test_a_bitmap_refuses_more_elements_than_it_has_bits() -> None:
    index = Bitmap[int](most=2)
    index.insert(1, "ab")
    with pytest.raises(SetError, match="holds 2 different elements"):
        index.insert(2, "bc")
    assert index.equals("ab") == {1}
    assert index.overlaps("c") == set()
