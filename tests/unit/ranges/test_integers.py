"""Ranges of an integer: SQL and bounds agree with plain comparison."""

from __future__ import annotations

import sqlite3

from qbcd.ranges.integers import IntegerRanges

RANGES = IntegerRanges((4, 7, 5, 9, 2), (-10, 0, 3, 2**63 - 1))
KEYS = (-(2**63), -11, -10, -1, 0, 2, 3, 4, 2**63 - 2, 2**63 - 1)


def plainly(key: int) -> int:
    return RANGES.ids[sum(key >= bound for bound in RANGES.bounds)]


def asked(sql: str, key: int | None) -> int:
    [(found,)] = sqlite3.connect(":memory:").execute(f"SELECT {sql} FROM (SELECT ? AS k) AS q", (key,)).fetchall()
    return int(found)


def test_sql_finds_the_range_of_a_key() -> None:
    assert [asked(RANGES.of("k"), key) for key in KEYS] == [plainly(key) for key in KEYS]
    assert IntegerRanges((3,), ()).of("k") == "3"


def test_a_condition_holds_for_keys_of_its_ranges() -> None:
    for ids in ([4], [2], [7, 5], [4, 5, 2], [4, 7, 5, 9, 2], []):
        found = [bool(asked(RANGES.within("k", ids), key)) for key in KEYS]
        assert found == [plainly(key) in ids for key in KEYS], ids


def test_null_is_in_the_last_range_for_callers_that_ask_for_it() -> None:
    assert RANGES.ids[-1] == 2
    for ids in ([4], [2], [9, 2], [4, 7, 5, 9, 2], []):
        within = f"CASE WHEN {RANGES.within('k', ids, nulls=True)} THEN 1 ELSE 0 END"
        assert asked(within, None) == (2 in ids), ids
        assert [asked(within, key) for key in KEYS] == [plainly(key) in ids for key in KEYS]
    assert asked(RANGES.of("k"), None) == 2


def test_adjacent_ranges_are_one_interval() -> None:
    assert RANGES.within("k", [7, 5, 9]) == "(k >= -10 AND k < 9223372036854775807)"


def test_a_range_is_split_at_bounds() -> None:
    split = RANGES.replaced(7, [-5, -2], [20, 21, 22])
    assert split == IntegerRanges((4, 20, 21, 22, 5, 9, 2), (-10, -5, -2, 0, 3, 2**63 - 1))
    assert split.edges()[1:4] == [(20, -10, -5), (21, -5, -2), (22, -2, 0)]
    assert RANGES.replaced(2, [], [2]) == RANGES


def test_groups_of_adjacent_ranges_are_one_range() -> None:
    assert RANGES.joined([[4, 7], [5], [9, 2]]) == IntegerRanges((4, 5, 9), (0, 3))
    assert RANGES.joined([[4, 7, 5, 9, 2]]) == IntegerRanges((4,), ())
    assert IntegerRanges((3,), ()).joined([[3]]) == IntegerRanges((3,), ())
