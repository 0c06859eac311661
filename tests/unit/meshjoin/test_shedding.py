"""Shedding: what each policy keeps, and how much of the result that is."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qbcd.meshjoin import ClusterSample, KeepFirst, KeepTop, SampleWindow, Shedding
from tests.unit.meshjoin.oracles import opt_offline_shed

FIGURE_8 = (1, 1, 1, 3, 4, 4, 4, 4)  # a stand-in with the outcome of the paper's figure


def policies(size: int) -> dict[str, Shedding[int]]:
    return {
        "keep": KeepFirst(size),
        "sample": SampleWindow(size, random.Random(1)),
        "top": KeepTop(size, float),
        "cluster": ClusterSample(size, float, random.Random(1)),
    }


def lost_by_top(frequencies: Sequence[int], window: int, loop: int) -> int:
    shedding = KeepTop[int](window, lambda event: frequencies[event])
    lost = 0
    for start in range(0, len(frequencies), loop):
        _, waiting = shedding.split(range(start, min(start + loop, len(frequencies))))
        lost += sum(frequencies[event] for event in waiting)
    return lost


@settings(deadline=None)
@given(events=st.lists(st.integers(0, 9), max_size=30), size=st.integers(1, 8))
def test_no_event_is_dropped(events: list[int], size: int) -> None:
    for policy in policies(size).values():
        kept, waiting = policy.split(events)
        assert len(kept) == min(size, len(events))
        assert Counter(kept) + Counter(waiting) == Counter(events)
        assert not policy.take()


def test_top_keeps_the_most_partners_in_order() -> None:
    kept, waiting = KeepTop[int](3, float).split([5, 1, 9, 7, 2])
    assert kept == [5, 9, 7]
    assert sorted(waiting) == [1, 2]


def test_keep_loses_exactly_the_surplus() -> None:
    kept, waiting = KeepFirst[int](3).split([5, 1, 9, 7, 2])
    assert kept == [5, 1, 9]
    assert len(waiting) == 2


def test_top_loses_10_where_the_optimum_loses_4() -> None:
    assert lost_by_top(FIGURE_8, window=2, loop=4) == 10
    assert opt_offline_shed(FIGURE_8, window=2, loop=4) == 4


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 6), max_size=13), st.integers(1, 3), st.integers(1, 5))
def test_no_policy_beats_the_optimum(frequencies: list[int], window: int, loop: int) -> None:
    assert opt_offline_shed(frequencies, window, loop) <= lost_by_top(frequencies, window, loop)


@pytest.mark.parametrize(("correlated", "least", "most"), [(True, 0.80, 0.88), (False, 0.66, 0.75)])
def test_top_keeps_80_percent_at_twice_the_rate(correlated: bool, least: float, most: float) -> None:
    """More than 80 % of the results, if the values that the stream repeats are those with most rows (M18)."""
    drawn, domain = random.Random(4), 3000
    skew = [1 / (value + 1) ** 0.5 for value in range(domain)]
    rows = [value * 30_000 / sum(skew) for value in skew]
    ranks = list(range(domain))
    if not correlated:
        drawn.shuffle(ranks)
    stream = drawn.choices(range(domain), weights=skew, k=20_000)
    frequencies = [round(rows[ranks[value]] * 1000) for value in stream]
    kept = 1 - lost_by_top(frequencies, window=500, loop=1000) / sum(frequencies)
    assert least < kept < most


def test_a_sample_is_uniform_and_knows_its_rate() -> None:
    shedding = SampleWindow[int](5, random.Random(3))
    counts = Counter[int]()
    for _ in range(4000):
        for event in range(20):
            shedding.offer(event)
        assert shedding.rate == 0.25
        counts.update(shedding.take())
    assert all(count == pytest.approx(1000, rel=0.12) for count in counts.values())
    assert len(counts) == 20


def test_cluster_sampling_prefers_events_with_partners() -> None:
    shedding = ClusterSample[int](1, float, random.Random(3))
    counts = Counter[int]()
    for _ in range(4000):
        counts.update(shedding.split([0, 1, 3])[0])
    assert counts[0] == 0
    assert counts[3] / counts[1] == pytest.approx(3, rel=0.12)
