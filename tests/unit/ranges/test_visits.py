"""Visits of ranges that were split or merged: a pass omits nothing.

See docs/design/protocol.md#rule-11.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from qbcd.ranges import schedule
from qbcd.ranges.schedule import Pass
from qbcd.sites.database import range_pages, range_sizes
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.state import StoredRange
from qbcd.state.rows import merge_ranges

NOW = 100.0


def ranges(*visited: float, rows: int = 2) -> list[StoredRange]:
    """Return adjoining ranges 1, 2, .. with these times of their last visit.

    The outer ends are open.
    """
    edges = [None, *((str(i),) for i in range(1, len(visited))), None]
    return [StoredRange(i, edges[i - 1], edges[i], rows, 10**i, last_visited=seen) for i, seen in enumerate(visited, 1)]


# -- merged ------------------------------------------------------------------------------------------------------------
def test_a_merged_range_has_the_older_visit_in_any_order() -> None:
    for older, newer in ((3.0, 8.0), (8.0, 3.0)):
        (one,) = merge_ranges([ranges(older, newer)], 7)
        assert one == StoredRange(7, None, None, 4, 110, last_visited=3.0)


def test_other_ranges_stay_unchanged() -> None:
    first, second, third, fourth = ranges(5.0, 6.0, 4.0, 0.0)
    after = merge_ranges([[first], [second, third], [fourth]], 9)
    assert after == [first, StoredRange(9, ("1",), ("3",), 4, 1100, last_visited=4.0), fourth]
    assert [r.range_id for r in merge_ranges([[first, second], [third, fourth]], 9)] == [9, 10], "an id is used twice"


def test_a_pass_visits_rows_merged_into_a_visited_range() -> None:
    """The pass began at 5, visited the first range at 6, and must still visit the second."""
    known, state = ranges(6.0, 4.0), Pass(began=5.0)
    (one,) = merge_ranges([known], 3)
    assert schedule.chosen({3: one.last_visited}, state, now=9, per_poll=None, overdue=None) == [3]
    assert not schedule.finished({3: one.last_visited}, state)


def test_a_merged_range_has_the_pages_of_its_parts_if_all_are_known() -> None:
    first, second = (replace(r, pages=4, moved=1) for r in ranges(3.0, 8.0))
    (one,) = merge_ranges([[first, second]], 7)
    assert (one.pages, one.moved) == (8, 2)
    (one,) = merge_ranges([[first, replace(second, pages=None)]], 7)
    assert one.pages is None


@pytest.mark.parametrize(
    ("rows", "pages", "large"),
    [
        (100, 21, True),  # as many rows as usual, on more than twice as many pages
        (100, 20, False),
        (900, 20, False),  # pages decide
        (900, None, True),  # or rows, as long as no pages are known
        (25, 90, False),  # with so few rows it is left alone
    ],
)
def test_the_size_of_a_range_is_its_pages(rows: int, pages: int | None, large: bool) -> None:
    intended, (one,) = range_sizes.Intended(100.0, 10), ranges(5.0, rows=rows)
    assert bool(intended.outgrown([replace(one, pages=pages)])) is large


def test_ranges_of_few_pages_are_merged_though_they_have_many_rows() -> None:
    known = [replace(r, pages=n) for r, n in zip(ranges(1, 1, 1, 1, rows=90), (1, 8, 9, 2), strict=True)]
    merged = range_sizes.Intended(100.0, 10).merged(known, 9)
    assert [(r.range_id, r.pages) for r in merged] == [(9, 9), (3, 9), (4, 2)]


@pytest.mark.parametrize(
    ("pages", "moved", "stale"),
    [
        (None, 0, True),
        (40, 0, False),
        (40, 39, False),
        (40, 40, True),
        (190, 220, True),
        (380, 90, False),
        (380, 95, True),
    ],
)
def test_pages_are_counted_again_after_many_changes(pages: int | None, moved: int, stale: bool) -> None:
    (one,) = ranges(1.0)
    assert range_pages.is_stale(replace(one, pages=pages, moved=moved), 200) is stale


# -- split, with a source replica --------------------------------------------------------------------------------------
def split(known: list[StoredRange], usual: float, *bounds: str) -> tuple[list[StoredRange], int]:
    """Return `known` with large ranges split at `bounds`, and the next free id after 8."""
    strategy: Any = SimpleNamespace(keeps="nothing", bounds=lambda within: within, target_pages=None)
    strategy.plan = SimpleNamespace(table=SimpleNamespace(rows=90))
    session: Any = SimpleNamespace(rows=lambda asked: [(bound,) for bound in bounds])
    site: Any = SimpleNamespace(progress=lambda what: None)
    return range_sizes._split(session, site, strategy, known, range_sizes.Intended(usual), 8)


def test_parts_inherit_the_visit_of_their_range() -> None:
    first, second, third = ranges(6.0, 4.0, 5.0)
    large = StoredRange(2, second.lo, second.hi, rows=90, last_visited=4.0)
    after, next_id = split([first, large, third], 30.0, "1.3", "1.6")
    assert [r.range_id for r in after] == [1, 8, 9, 10, 3]
    assert [(r.lo, r.hi) for r in after[1:4]] == [(("1",), ("1.3",)), (("1.3",), ("1.6",)), (("1.6",), ("2",))]
    assert [r.last_visited for r in after] == [6.0, 4.0, 4.0, 4.0, 5.0], "seen as long ago as their range, no later"
    assert next_id == 11
    visits = {r.range_id: r.last_visited for r in after}
    assert schedule.chosen(visits, Pass(began=5.0), now=9, per_poll=None, overdue=None) == [8, 9, 10]


def test_a_range_that_cannot_be_split_keeps_id_and_visit() -> None:
    known = ranges(6.0, rows=90)
    assert split(known, 30.0) == (known, 8)


# -- read and split in the lake wing -----------------------------------------------------------------------------------
def test_a_poll_marks_all_ranges_that_it_read() -> None:
    """Dirty ranges, clean ones, and the parts of one that was split: it has read all of them."""
    first, second, third = ranges(6.0, 4.0, 5.0)
    turn = DueRanges([first, second, third], [first, second, third], state=Pass(began=5.0), now=NOW)
    moved = StoredRange(1, first.lo, first.hi, 7, 70, last_visited=6.0)
    after = turn.visited([moved], removed=[second])
    assert [(r.range_id, r.rows, r.last_visited) for r in after] == [(1, 7, NOW), (3, 2, NOW)]
    assert [r.last_visited for r in turn.mark_visited(ranges(0.0, 0.0))] == [NOW, NOW]


def test_without_a_pass_no_visits_are_recorded() -> None:
    first, second = ranges(6.0, 4.0)
    turn = DueRanges([first, second], [first, second])
    assert turn.visited([second]) == [second]
    assert turn.mark_visited([first]) == [first]
