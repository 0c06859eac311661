"""Hash buckets of a key: how they divide, their statements, and the tables that use them."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import pairwise
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from qbcd.connectors import connector_for
from qbcd.connectors.buckets import Words, bucket_rows, bucket_sums
from qbcd.connectors.range_case import range_case
from qbcd.errors import ConfigError
from qbcd.model import Column, KeyRange, StreamPlan, Table, Travel
from qbcd.ranges import hash_buckets, partition
from qbcd.strategies import IdRcs

LOWEST, HIGHEST = -(2**63), 2**63 - 1
WORDS = Words(
    lambda value, depth: f"b({value}, {depth})", lambda value, ranges: f"c({value})", summed_once="ONCE", read_once=""
)


def bounds(one: KeyRange) -> tuple[int, int]:
    """Return the least and the greatest hash of a range."""
    return LOWEST if one.lo is None else int(one.lo[0]), HIGHEST if one.hi is None else int(one.hi[0]) - 1


@pytest.mark.parametrize(
    ("rows", "per_range", "depth"),
    [(0, 10, 0), (1, 10, 0), (10, 10, 0), (11, 10, 1), (20, 10, 1), (21, 10, 2), (10**6, 2000, 9), (10**30, 1, 62)],
)
def test_buckets_hold_what_a_range_should_or_fewer(rows: int, per_range: int, depth: int) -> None:
    assert hash_buckets.depth_for(rows, per_range) == depth


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_buckets_cover_every_hash_once(depth: int) -> None:
    made = hash_buckets.divided(depth, first_id=7)
    assert [r.range_id for r in made] == list(range(7, 7 + 2**depth))
    assert (made[0].lo, made[-1].hi) == (None, None)
    assert all(one.hi == other.lo for one, other in pairwise(made))
    assert {bounds(r)[1] - bounds(r)[0] + 1 for r in made} == {2 ** (64 - depth)}
    assert hash_buckets.depth_of(made) == depth


def test_a_bucket_divides_into_itself_and_no_other() -> None:
    rng = random.Random(4)
    cut = hash_buckets.divided(2, first_id=1)
    for _ in range(40):
        one = cut.pop(rng.randrange(len(cut)))
        own = hash_buckets.depth_of([one])
        parts = hash_buckets.divided(own + rng.choice([1, 3]), first_id=0, within=one)
        assert (parts[0].lo, parts[-1].hi) == (one.lo, one.hi)
        cut += parts
    cut.sort(key=hash_buckets.low)
    deep = hash_buckets.depth_of(cut)
    assert [n for r in cut for n in hash_buckets.numbers(r, deep)] == list(range(2**deep))


def test_the_number_of_a_bucket_is_that_of_its_hashes() -> None:
    for one in hash_buckets.divided(6, first_id=0):
        for hashed in bounds(one):
            assert (hashed - LOWEST) >> (64 - 6) == hash_buckets.numbers(one, 6).start == one.range_id


def test_one_bucket_is_chosen_by_halves() -> None:
    ranges = [KeyRange(i + 1, (str(10 * i),), None) for i in range(5)]
    text = range_case(ranges, lambda lo: f"v < {lo[0]}")
    python = (
        text.replace("CASE WHEN ", "(").replace(" THEN ", " and [").replace(" ELSE ", "] or [").replace(" END", "])")
    )
    for value, chosen in [(-5, 1), (0, 1), (9, 1), (10, 2), (29, 3), (30, 4), (39, 4), (40, 5), (10**20, 5)]:
        found: Any = eval(python, {"v": value})
        while isinstance(found, list):
            found = found[0]
        assert found == chosen


@pytest.mark.parametrize(
    ("picked", "where"),
    [
        (range(8), ""),
        ([0, 1], " WHERE r.h < -4611686018427387904"),
        ([6, 7], " WHERE r.h >= 4611686018427387904"),
        ([3], " WHERE r.h BETWEEN -2305843009213693952 AND -1"),
        ([1, 2, 6], " WHERE b(r.h, 3) IN (1, 2, 6)"),
    ],
)
def test_a_scan_keeps_only_requested_buckets(picked: Any, where: str) -> None:
    every = hash_buckets.divided(3, first_id=0)
    requested = [every[i] for i in reversed(picked)]  # in any order
    text = bucket_sums(WORDS, {"n": "COUNT(*)"}, "rel", "h", requested)
    assert f"FROM (SELECT r.* FROM rel AS r{where} ONCE) AS t" in text
    assert bucket_rows(WORDS, ["t.a AS a"], "rel", "h", requested).endswith(
        f"FROM rel AS t{where.replace('r.h', 't.h')}"
    )


def test_a_coarse_bucket_is_named_by_all_of_its_fine_ones() -> None:
    first, second, *_ = hash_buckets.divided(2, first_id=1)
    fine = hash_buckets.divided(4, first_id=9, within=first)
    assert "b(t.h, 4) IN (1, 4, 5, 6, 7)" in bucket_rows(WORDS, ["1 AS a"], "rel", "h", [fine[1], second])


def test_invalid_requests_of_buckets_are_an_error() -> None:
    (half, other), (quarter, *_) = hash_buckets.divided(1, first_id=1), hash_buckets.divided(2, first_id=8)
    for requested, what in (([], "no ranges"), ([half, half], "occurs twice"), ([quarter, other, half], "overlap")):
        with pytest.raises(ValueError, match=what):
            bucket_sums(WORDS, {"n": "COUNT(*)"}, "rel", "h", requested)


# -- the strategy ------------------------------------------------------------------------------------------------------
def plan(kind: str, correlation: float | None, primary: tuple[str, ...] = ("k",), **options: Any) -> StreamPlan:
    key = Column("k", kind, kind, False, "", "typed", Travel("text"))
    table = Table("s", "t", "table", (key,), primary, key_correlation=correlation)
    return StreamPlan("s", "shop", table, (key,), (), "", "id_rcs", tuple(options.items()))


@pytest.mark.parametrize("database", ["postgresql", "mariadb"])
@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (plan("text", 0.9), "key"),
        (plan("text", -0.9), "key"),
        (plan("text", 0.1), "hash"),
        (plan("text", None), "key"),
        (plan("uuid", None), "hash"),
        (plan("uuid", 1.0), "key"),  # of a kind that grows
        (plan("text", 0.1, ("other",)), "key"),  # nothing is known of this key
        (plan("uuid", 1.0, ("other",)), "hash"),
        (plan("text", 0.9, buckets="hash"), "hash"),
        (plan("uuid", 0.0, buckets="key"), "key"),
        (plan("uuid", 0.0, per_poll=3), "key"),  # buckets of a hash have no turns
        (plan("text", 0.1, target=timedelta(seconds=1)), "key"),
    ],
)
def test_the_kind_of_ranges_is_fixed_once(made: StreamPlan, kind: str, database: str) -> None:
    connector = connector_for(f"{database}://localhost/any")
    settled = IdRcs(connector, made).freeze_options(None)
    assert settled.option("buckets") == kind
    strategy = IdRcs(connector, settled)
    strategy.check()
    assert strategy.frozen_options() == {"buckets": kind}
    other = {"key": "hash", "hash": "key"}[kind]
    assert IdRcs(connector, made).freeze_options({"buckets": other}).option("buckets") == other
    assert (
        IdRcs(connector, made).freeze_options({"rows": 5}).option("buckets") == "key"
    )  # from before there was a choice
    correlation = made.table.key_correlation if made.table.primary_key == ("k",) else None  # of its own key
    assert bool(strategy.warnings()) == (kind == "key" and correlation is not None and abs(correlation) < 0.5)


def on_pages(made: StreamPlan) -> StreamPlan:
    return replace(made, table=replace(made.table, paged=True))


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (plan("uuid", None), "page"),
        (plan("text", 0.1), "page"),
        (plan("text", 0.9), "key"),
        (plan("uuid", 1.0, ("other",)), "hash"),  # nothing proves the key
        (plan("uuid", None, consistency="range"), "hash"),
        (plan("uuid", None, per_poll=3), "key"),
        (plan("uuid", None, target=timedelta(seconds=1)), "page"),
        (plan("uuid", None, target=timedelta(seconds=1), consistency="range"), "key"),
        (plan("uuid", None, buckets="hash"), "hash"),
        (plan("text", 0.9, buckets="page"), "page"),
    ],
)
def test_ranges_are_of_pages_where_rows_have_some(made: StreamPlan, kind: str) -> None:
    connector = connector_for("postgresql://localhost/any")
    settled = IdRcs(connector, on_pages(made)).freeze_options(None)
    assert settled.option("buckets") == kind
    assert IdRcs(connector, settled).frozen_options() == {"buckets": kind}
    assert settled.option("buckets_fixed") is (made.option("buckets") is not None)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (on_pages(plan("uuid", None, buckets="page", per_poll=3)), "`per_poll` is for ranges in which rows stay"),
        (on_pages(plan("uuid", None, buckets="page", consistency="range")), "`consistency: range` is for ranges in wh"),
        (plan("uuid", None, buckets="page", buckets_fixed=True), "t is no table whose rows can be read by pages, or"),
    ],
)
def test_ranges_of_pages_need_a_key(made: StreamPlan, expected: str) -> None:
    with pytest.raises(ConfigError) as found:
        IdRcs(connector_for("postgresql://localhost/any"), made).check()
    assert str(found.value).startswith(f"stream s: {expected}")


def test_ranges_of_pages_cover_them_all() -> None:
    cut = IdRcs(connector_for("postgresql://localhost/any"), on_pages(plan("uuid", None, buckets="page"))).partitioning
    rng = Random(3)
    for _ in range(300):
        pages, rows, size = rng.randrange(40), rng.randrange(200), rng.randrange(1, 30)
        most = rng.choice([None, 1, 7])
        made = cut.ranges([SimpleNamespace(n=rows, pages=pages)], size, 5, most)
        whole = rng.choice(made)
        own = cut.parts([SimpleNamespace(pages=pages)], size, 900, replace(whole, rows=rows), rows)
        for found, lo, hi in ((made, None, None), (own, whole.lo, whole.hi)):
            assert (found[0].lo, found[-1].hi) == (lo, hi)
            assert all(one.hi == other.lo for one, other in pairwise(found))
            edges = [int(one.lo[0]) for one in found if one.lo]
            assert edges == sorted(set(edges))
            assert all(0 < edge < max(pages, 1) for edge in edges if found is made)
        assert len(made) == max(1, min(-(-rows // size), most or rows, pages)), (pages, rows, size, most)


def test_a_scan_is_parted_where_connections_see_one_snapshot() -> None:
    known = hash_buckets.divided(2, first_id=1)
    stored = plan("uuid", None, buckets="hash")
    stored = replace(stored, table=replace(stored.table, pages=100))
    made = {
        "parted": IdRcs(connector_for("postgresql://localhost/any"), stored),
        "view": IdRcs(connector_for("postgresql://localhost/any"), plan("uuid", None, buckets="hash")),
        "each its own state": IdRcs(connector_for("mariadb://localhost/any"), stored),
    }
    passes = {name: strategy.partitioning.passes(known, 2) for name, strategy in made.items()}
    assert {name: [len(own) for own in found] for name, found in passes.items()} == {
        "parted": [1, 1],
        "view": [1],
        "each its own state": [1],
    }
    assert ["ctid" in own[0].sql for own in passes["parted"]] == [True, True]
    fetched = {
        name: [s.sql for s in one.partitioning.shared(partial(one.images, typed=False), known, 2)]
        for name, one in made.items()
    }
    assert {name: len(found) for name, found in fetched.items()} == {"parted": 2, "view": 2, "each its own state": 2}
    assert ["WHERE r.qbcd_hash" in sql for sql in fetched["parted"]] == [False, False], "each reads of all ranges"
    assert ["WHERE t.qbcd_hash" in sql for sql in fetched["each its own state"]] == [True, True], "each reads its own"
    child = replace(stored.table.columns[0], facts=(("loose", "yes"),))  # of a child table, which may be anything
    assert not made["parted"].connector.ranges.has_shares(replace(stored.table, columns=(child,)))


def test_a_range_is_split_by_its_rows_and_not_for_ever() -> None:
    cut = IdRcs(connector_for("postgresql://localhost/any"), plan("uuid", None, buckets="hash")).partitioning
    (whole,) = hash_buckets.divided(0, first_id=1)
    large = KeyRange(1, whole.lo, whole.hi, rows=950)
    assert len(cut.parts([], 100, 5, large, 950)) == 16
    alike = cut.parts([], 100, 5, KeyRange(9, ("0",), None, rows=950), 950)[0]
    seen = 0
    while True:  # rows of one hash: always all in one of the parts
        parts = cut.parts([], 100, 5, KeyRange(9, alike.lo, alike.hi, rows=950), 950)
        if len(parts) == 1:
            break
        alike, seen = parts[0], seen + 1
    assert (seen, hash_buckets.depth_of([alike])) == (1, 7)


def test_only_halves_of_one_bucket_are_merged() -> None:
    def shape(rows: list[int]) -> list[int]:
        depth = (len(rows) - 1).bit_length()
        known = [replace(r, rows=n) for r, n in zip(hash_buckets.divided(depth, first_id=1), rows, strict=True)]
        groups = hash_buckets.joined(known, lambda one, other: partition.should_merge(one, other, 100))
        assert [r for group in groups for r in group] == known
        for group in groups:  # each group is one bucket
            whole = KeyRange(0, group[0].lo, group[-1].hi)
            assert len(hash_buckets.numbers(whole, hash_buckets.depth_of([whole]))) == 1
        return [len(group) for group in groups]

    assert shape([0] * 8) == [8]
    assert shape([20, 0, 0, 60, 60, 10, 60, 0]) == [4, 2, 2]
    assert shape([60, 0, 0, 50, 90, 5, 5, 90]) == [2, 2, 2, 2]
    assert shape([5, 90, 90, 0, 0, 0, 0, 0]) == [2, 2, 4]
