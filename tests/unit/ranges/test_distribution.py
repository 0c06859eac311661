"""Distribution of ranges among connections, statements and readers."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from qbcd.model import KeyRange
from qbcd.ranges import partition


def some(counts: list[int]) -> list[KeyRange]:
    """Return ranges with these row counts; ids out of order, as after splits."""
    ids = list(range(len(counts)))
    random.Random(len(counts)).shuffle(ids)
    return [KeyRange(i, None, None, rows=n) for i, n in zip(ids, counts, strict=True)]


@pytest.mark.parametrize("connections", [1, 2, 3, 8])
@pytest.mark.parametrize("most", [1, 3, 200])
@pytest.mark.parametrize("counts", [[0], [5] * 10, [0] * 7, [2000, 0, 0, 1, 2000, 9000, 3], [1] * 500])
def test_statements_keep_the_order_and_their_size(counts: list[int], most: int, connections: int) -> None:
    asked = some(counts)
    cut = partition.statements(asked, connections, most)
    assert [r for own in cut for part in own for r in part] == asked
    assert len(cut) <= connections
    assert all(own for own in cut)
    assert all(1 <= len(part) <= most for own in cut for part in own)
    assert all(len(own) == -(-sum(map(len, own)) // most) for own in cut), "more statements than it takes"


def test_shares_have_about_as_many_rows() -> None:
    halves = partition.statements(some([2000] * 10 + [1] * 10), 2, 200)
    assert [sum(r.rows for part in own for r in part) for own in halves] == [12000, 8010]


@pytest.mark.parametrize(
    ("rows", "connections", "expected"),
    [(0, 4, 1), (partition.ROWS_PER_READER, 4, 1), (partition.ROWS_PER_READER + 1, 4, 2), (10**9, 4, 4), (10**9, 1, 1)],
)
def test_a_reader_has_enough_to_do(rows: int, connections: int, expected: int) -> None:
    assert partition.readers(some([rows]), connections) == expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([100, 100, 100], [1, 1, 1]),
        ([0] * 50, [50]),
        ([24, 76, 24, 76], [2, 2]),
        ([25, 25, 24], [1, 2]),  # a quarter is not small
        ([24, 77], [1, 1]),  # together they would be too large
        ([0, 0, 100, 3, 0], [3, 2]),
        ([201, 0], [1, 1]),
    ],
)
def test_small_neighbors_are_merged(counts: list[int], expected: list[int]) -> None:
    known = some(counts)
    groups = partition.merge(known, 100)
    assert [r for group in groups for r in group] == known
    assert [len(group) for group in groups] == expected


@pytest.mark.parametrize("seed", range(20))
def test_too_many_are_merged_to_few_enough(seed: int) -> None:
    """For any sizes, so that compaction does not find too many again and rewrite all repeatedly."""
    rng = random.Random(seed)
    known = some([rng.randint(0, rng.choice([30, 60, 100])) for _ in range(300)])
    groups = partition.merge(known, 100, partition.ANY)
    assert [r for group in groups for r in group] == known
    sums = [sum(r.rows for r in group) for group in groups]
    assert max(sums) <= 100
    assert all(one + other > 100 for one, other in pairwise(sums)), "these had room for each other"


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [((), [[1, 2, 3, 4, 5]]), ((3,), [[1, 2], [4, 5]]), ((1, 3, 5), [[2], [4]]), ((2, 3, 4), [[1], [5]])],
)
def test_runs_of_neighbors(left_out: tuple[int, ...], expected: list[list[int]]) -> None:
    known = [r for r in partition.build([(b,) for b in "abcd"], first_id=1) if r.range_id not in left_out]
    assert [[r.range_id for r in run] for run in partition.runs(known)] == expected


@pytest.mark.parametrize(("rows", "size"), [(0, 2000), (8_192_000, 2000), (8_192_001, 2001), (100_000_000, 24_415)])
def test_large_tables_have_larger_ranges(rows: int, size: int) -> None:
    assert partition.size_for(rows) == size
    assert -(-rows // size) <= partition.MOST_RANGES


@pytest.mark.parametrize("bounds", [0, 1, 6, 7, 8, 13, 14, 100])
def test_bounds_are_thinned_evenly(bounds: int) -> None:
    kept = partition.thinned(range(1, bounds + 1), 7)
    edges = [0, *kept, bounds + 1]
    widths = [hi - lo for lo, hi in pairwise(edges)]
    assert len(widths) <= 7 and sum(widths) == bounds + 1
    assert set(widths[:-1]) <= {max(widths)} and 1 <= widths[-1] <= max(widths)
    assert list(partition.thinned(range(bounds), None)) == list(range(bounds))


def test_dirty_ranges() -> None:
    """Count or checksum differs; each alone shows changes that leave the other as it was."""
    known = [KeyRange(i, None, None, rows=2, checksum=5) for i in range(4)]
    now = [replace(known[0], rows=3), replace(known[1], checksum=6), known[2], replace(known[3], rows=0, checksum=0)]
    assert partition.differing(known, now) == [now[0], now[1], now[3]]


def test_the_order_of_bounds_is_the_databases() -> None:
    found = partition.build([("9",), ("10",), ("a",), ("B",)], first_id=1)
    assert [(r.lo, r.hi) for r in found] == list(pairwise([None, ("9",), ("10",), ("a",), ("B",), None]))
