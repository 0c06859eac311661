"""Joins on sets: every method gives the pairs of the nested loop."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qbcd.matching import joins

SETS = st.lists(st.frozensets(st.integers(0, 9), max_size=5), max_size=25)


@settings(deadline=None)
@given(left=SETS, right=SETS)
def test_methods_give_the_same_pairs(left: joins.Sets, right: joins.Sets) -> None:
    for methods, holds in ((joins.EQUAL, frozenset.__eq__), (joins.CONTAINED, frozenset.__le__)):
        wanted = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if holds(a, b)]
        for name, method in methods.items():
            assert sorted(method(left, right)) == wanted, name


@pytest.mark.parametrize(("relation", "methods"), [("equal", joins.EQUAL), ("contained", joins.CONTAINED)])
def test_larger_relations(relation: str, methods: dict[str, Callable[..., joins.Pairs]]) -> None:
    drawn = random.Random(5)
    right = [frozenset(drawn.sample(range(3000), 40)) for _ in range(150)]
    left = [frozenset(drawn.sample(sorted(stored), 40 if relation == "equal" else 12)) for stored in right[::2]]
    wanted = [(n, 2 * n) for n in range(len(left))]
    for name, method in methods.items():
        assert sorted(method(left, right)) == wanted, name
