"""Diag-Join: exact whatever the window, and the thesis' shares of mishits."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qbcd.meshjoin import BasicDiagJoin, DiagJoin, Partners, deviations, window_for

PARENTS, DAYS, LAG = 12_000, 2406, 121  # orders of TPC-D: an item is shipped 1 to 121 of 2406 days later
Sales = Partners[int, int, int]


@pytest.fixture(scope="module")
def children() -> list[int]:
    """Keys of the parents, in the order of the children's creation; parents are created in the order of their keys."""
    drawn = random.Random(17)
    placed = [
        (parent * DAYS / PARENTS + drawn.randint(1, LAG), drawn.random(), parent)
        for parent in range(PARENTS)
        for _ in range(drawn.randint(1, 7))
    ]
    return [parent for *_, parent in sorted(placed)]


def sales(children: list[int], order: list[int] | None = None) -> Sales:
    parents = order or list(range(PARENTS))
    return Partners(lambda: ((key, key) for key in parents), ((key, key) for key in children), (PARENTS, len(children)))


def mishits(children: list[int], share: float, chunks: int = 5, order: list[int] | None = None) -> float:
    join = DiagJoin(sales(children, order), round(share * PARENTS), chunks)
    count = sum(child == parent for child, parent in join.pairs())
    assert count == len(children)
    return join.mishits / len(children)


@pytest.mark.parametrize(
    ("window", "printed"),
    [
        (0.065, 0.0),
        pytest.param(0.06, 0.0029, marks=pytest.mark.campaign),
        pytest.param(0.045, 0.109, marks=pytest.mark.campaign),
        (0.02, 0.59),
    ],
)
def test_mishits_by_window(children: list[int], window: float, printed: float) -> None:
    assert mishits(children, window) == pytest.approx(printed, abs=0.02)


@pytest.mark.campaign
def test_a_window_of_one_chunk_loses_by_stepping(children: list[int]) -> None:
    assert mishits(children, 0.065, chunks=1) > 0.15
    assert mishits(children, 0.055, chunks=9) < mishits(children, 0.055, chunks=3)


def test_random_order_hits_only_the_window(children: list[int]) -> None:
    order = list(range(PARENTS))
    random.Random(3).shuffle(order)
    assert 1 - mishits(children, 0.0675, order=order) == pytest.approx(0.0668, abs=0.01)


def test_window_by_the_histogram() -> None:
    drawn = random.Random(5)
    spread = [abs(drawn.uniform(-LAG, LAG)) / 2 / DAYS for _ in range(100_000)]
    assert window_for(spread, 5) == pytest.approx(0.0629, abs=0.0005)
    assert window_for(spread, 5, mishits=0.1) == pytest.approx(0.0566, abs=0.0005)


def test_window_of_a_sample_has_no_more_mishits(children: list[int]) -> None:
    places = random.Random(6).sample(list(enumerate(children)), 2000)
    window = window_for(deviations(places, PARENTS, len(children)), 5) / PARENTS
    assert 0.05 < window < 0.08  # the sums of drawn children per parent drift by some tenths of a percent
    assert mishits(children, window) < 0.01


@settings(deadline=None)
@given(
    parents=st.lists(st.integers(0, 20), unique=True, max_size=12),
    children=st.lists(st.none() | st.integers(0, 20), max_size=25),
    window=st.integers(0, 12),
    chunks=st.sampled_from([1, 3, 5]),
)
def test_every_window_gives_the_hash_join(
    parents: list[int], children: list[int | None], window: int, chunks: int
) -> None:
    wanted = sorted((place, key if key in parents else -1) for place, key in enumerate(children))
    for basic in (True, False):
        rows = Partners(
            lambda: ((key, key) for key in parents),
            ((key, place) for place, key in enumerate(children)),
            (len(parents), len(children)),
        )
        join = BasicDiagJoin(rows, window) if basic else DiagJoin(rows, window, chunks)
        assert sorted((child, -1 if parent is None else parent) for child, parent in join.pairs()) == wanted


def test_expected_partner_of_the_basic_variant() -> None:
    """Eight children of four parents: the fifth child is expected at the third parent."""
    assert [Partners[int, int, int](list, [], (4, 8)).expected(place) for place in range(8)] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_basic_variant_has_few_mishits_too(children: list[int]) -> None:
    join = BasicDiagJoin(sales(children), round(0.065 * PARENTS))
    assert sum(child == parent for child, parent in join.pairs()) == len(children)
    assert join.mishits == 0
