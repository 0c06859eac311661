"""Leaves of ranges: dirty leaves, and sums of several scans over one range."""

from __future__ import annotations

from random import Random

import pytest

from qbcd.connectors.buckets import bucket_rows
from qbcd.connectors.mysql_family.ranges import FamilyRanges
from qbcd.model import KeyRange, RowSelection
from qbcd.ranges import leaves


def _text(sums: dict[int, tuple[int, int]]) -> str:
    return " ".join(f"{leaf}:{rows}:{checksum}" for leaf, (rows, checksum) in sums.items())


def _in(found: RowSelection) -> list[int]:
    return list(leaves.tails(KeyRange(1, None, None, only=found)))


def _differing(before: str, now: str) -> tuple[RowSelection, RowSelection]:
    """Return the leaves whose sums differ, before and after."""
    was, new = leaves.diff(before, now)
    return leaves.select(was, {*was, *new}), leaves.select(new, {*was, *new})


def test_leaves_that_changed_appeared_and_disappeared() -> None:
    before = {0: (2, 30), 7: (1, -5), 9: (4, 2**70), 255: (1, 1)}
    now = {9: (4, 2**70), 255: (1, 2), 0: (3, 30), 8: (1, 0)}
    old, new = _differing(_text(before), _text(now))
    assert _in(old) == _in(new) == [0, 7, 8, 255]
    assert (old.rows, old.checksum) == (4, 26)
    assert (new.rows, new.checksum) == (5, 32)


@pytest.mark.parametrize("before", ["", "3:1:5"])
def test_a_range_that_was_or_becomes_empty(before: str) -> None:
    old, new = _differing(before, "3:2:6 200:1:1")
    assert _in(old) == _in(new) == [3, 200]
    assert (old.rows, new.rows) == (len(before) // 5, 3)
    assert _differing("3:2:6 200:1:1", before) == (new, old)


def test_nothing_differs_in_another_order() -> None:
    old, new = _differing("1:1:1 2:2:2", "2:2:2 1:1:1")
    assert old == new == RowSelection(bytes(32), 0, 0)


def test_all_leaves_where_none_are_named() -> None:
    assert list(leaves.tails(KeyRange(1, None, None))) == list(range(leaves.NUMBER))


def test_sums_of_several_scans_add_up() -> None:
    rng = Random(5)
    parts = [
        {leaf: (rng.randrange(9), rng.randrange(-(2**63), 2**63)) for leaf in rng.sample(range(256), 40)}
        for _ in range(3)
    ]
    whole: dict[int, tuple[int, int]] = {}
    for part in parts:
        for leaf, (rows, checksum) in part.items():
            known = whole.get(leaf, (0, 0))
            whole[leaf] = known[0] + rows, known[1] + checksum
    once = leaves.merge([_text(whole)])
    assert _differing(once, leaves.merge(map(_text, parts))) == _differing(once, once)
    assert _differing(once, leaves.merge(map(_text, parts[:2]))) != _differing(once, once)
    assert leaves.merge([]) == ""


def test_the_share_of_leaves_that_changes_are_in() -> None:
    assert leaves.share_of(0.01, 8) == pytest.approx(1 - 0.99**8)
    assert leaves.share_of(0.01, 0.1) == pytest.approx(0.01)  # a leaf that has a row has one at least
    assert leaves.share_of(1.0, 8) == 1


def test_a_database_without_leaves_refuses_them() -> None:
    """Requesting all leaves instead would return the replica's rows of all leaves."""
    words = FamilyRanges.bucket_words
    whole, some = KeyRange(1, None, None), KeyRange(1, None, None, only=RowSelection(bytes(32), 0, 0))
    assert "FROM" in bucket_rows(words, ["1 AS one"], "(t)", "h", [whole])
    with pytest.raises(ValueError, match="has none"):
        bucket_rows(words, ["1 AS one"], "(t)", "h", [some])
