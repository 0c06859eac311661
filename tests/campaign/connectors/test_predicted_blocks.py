"""The advisor's predictions next to the blocks that polls read, by the benchmark itself on a smaller table."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from benchmarks import blocks
from benchmarks.measure import Options
from benchmarks.places import PLACES

pytestmark = pytest.mark.campaign
ROWS = 40_000
NEAR, FEW = 0.3, 12  # share, or pages: each part of a formula is at least one page
APART = 1.5


def bounds(text: str) -> tuple[float, float]:
    """Return the bounds of ``1,200 to 1,300`` or ``1,200``."""
    found = [float(part.replace(",", "").split()[0]) for part in text.split(" to ")]
    return found[0], found[-1]


def test_predictions_are_near_and_in_the_order_of_what_is_measured(tmp_path: Path) -> None:
    with PLACES["postgresql"].start(blocks.SETTINGS) as place:
        made = blocks.measure(place, tmp_path, Options(ROWS, repeats=1, polls=1))
    seen: dict[str, list[tuple[str, float, tuple[float, float]]]] = {}
    for row in made.rows:
        of = dict(zip(made.heading, row, strict=True))
        read, predicted = float(of["blocks read"].replace(",", "")), bounds(of["predicted"])
        nearest = min(max(read, predicted[0]), predicted[1])
        assert abs(nearest - read) <= max(NEAR * read, FEW), of
        seen.setdefault(of["changes"], []).append((of["poll"], read, predicted))
    assert set(seen) == set(blocks.PATTERNS)
    for pattern, polls in seen.items():
        for one, other in combinations(sorted(polls, key=lambda poll: poll[1]), 2):
            if other[1] > APART * one[1]:
                assert other[2][1] >= one[2][0], (pattern, one, other)
                certain = one[2][0] == one[2][1] and other[2][0] == other[2][1]
                assert not certain or other[2][1] > one[2][1], (pattern, one, other)
