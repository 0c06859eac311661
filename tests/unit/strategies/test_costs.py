"""The cost formulas give the numbers that the paper prints for its defaults."""

from __future__ import annotations

import random

import pytest

from benchmarks import paper_costs
from qbcd.strategies import costs

# Table 2 of the paper: pages, bytes and rows.
N, P, T, X, A, KEY, HEIGHT, DELTA = 1000, 2048, 200, 10_000, 13, 8, 3, 0.01
S, M, INDEX, W = 1.1 * N, 0.3 * N, 0.1 * N, 0.1 * N
FIELDS = 60  # 30 % of the row are pertinent


def test_the_sizes() -> None:
    assert paper_costs.pages(X, T, P) == N
    assert paper_costs.pages(X, T + A, P) == pytest.approx(1111.1, abs=0.1), "printed as 1.1 N"
    entry = paper_costs.covering_entry(A, KEY, FIELDS)
    assert (entry, P // entry) == (85, 24)
    assert paper_costs.pages(X, entry, P) == pytest.approx(416.7, abs=0.1), "printed as 418 with the root"


def test_the_costs_at_the_defaults() -> None:
    assert costs.mds(N, M) == 1300
    assert paper_costs.ts(S, N, DELTA) == pytest.approx(1110)
    assert paper_costs.tdi(S, N, INDEX, DELTA, HEIGHT) == pytest.approx(25)
    assert paper_costs.tlcs(N, W, DELTA) == pytest.approx(1001)
    assert paper_costs.incremental(N, N, paper_costs.range_table(N, 10, KEY, P)) == pytest.approx(2001, abs=0.1)


def test_atdi_with_and_without_the_height() -> None:
    assert costs.atdi(418, N, DELTA, 0) == pytest.approx(14.18), (
        "the paper's .014 N leaves the height out (docs/paper.md#c13)"
    )
    assert costs.atdi(418, N, DELTA, HEIGHT) == pytest.approx(17.18)
    assert costs.atdi(418, M, DELTA, HEIGHT) == pytest.approx(10.18), "projected copy"
    without_key = paper_costs.pages(X, paper_costs.covering_entry(A, 0, FIELDS), P)
    assert costs.atdi(without_key, M, DELTA, 0) == pytest.approx(6.85, abs=0.01), "the form of table 3"


def test_a_restriction_makes_the_scan_cheaper_not_the_copy() -> None:
    assert costs.mds(N, 1, share=0.02) == 21


def test_the_range_table_of_a_large_table() -> None:
    assert paper_costs.range_table(100_000, 10, KEY, P) == pytest.approx(98.04, abs=0.01), (
        "printed as 100 pages, .001 N"
    )


def test_random_changes_touch_most_pages() -> None:
    assert costs.yao(X, N, 100) == pytest.approx(95.7, abs=0.05)
    random_changes = costs.yao(X, N, 100) / N
    assert paper_costs.tdi(N, N, 0, random_changes, 0) == pytest.approx(2 * 95.7, abs=0.1)


@pytest.mark.parametrize("picked", [0, 1, 50, 700, 990, 1000, 2000])
def test_yao_is_what_drawing_shows(picked: int) -> None:
    rows, pages, drawn = 1000, 100, random.Random(picked)
    tries = [len({row // 10 for row in drawn.sample(range(rows), min(picked, rows))}) for _ in range(200)]
    assert costs.yao(rows, pages, picked) == pytest.approx(sum(tries) / len(tries), abs=0.5)


def test_no_pages_cost_nothing() -> None:
    assert costs.yao(0, 0, 0) == 0
    assert costs.yao(100, 0, 10) == 0
