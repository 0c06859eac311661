"""Statements over hash buckets: each hash is in its own range, and keys spread evenly."""

from __future__ import annotations

from random import Random

import pytest

from qbcd.model import KeyRange
from qbcd.ranges import hash_buckets
from qbcd.sql import compile_sql
from qbcd.strategies import IdRcs
from tests.support.places import Place, over
from tests.support.watermark_cases import connector_of, plan_of, probed

LOWEST, HIGHEST = -(2**63), 2**63 - 1
SUMS = {"n": "COUNT(*)", "total": "SUM(t.value)"}


def hashes_of(every: list[KeyRange], rng: Random) -> list[int]:
    """Return both ends of each range, the values next to them, and some random values."""
    ends = [hash_buckets.low(r) + i for r in every for i in (-1, 0, 1)]
    chance = [rng.randint(LOWEST, HIGHEST) for _ in range(40)]
    return [h for h in (*ends, *chance, HIGHEST, HIGHEST - 1, -1, 0, 2**53 + 1) if h >= LOWEST]


def cut(depths: list[int]) -> list[KeyRange]:
    """Return ranges of several depths: the first range is split again for each further depth."""
    every = hash_buckets.divided(depths[0], first_id=1)
    for number, depth in enumerate(depths[1:], 1):
        every = [*hash_buckets.divided(depth, first_id=1000 * number, within=every[0]), *every[1:]]
    return every


@over("depths", [[0], [1], [5], [1, 3, 8], [3, 5]], elsewhere=None)
def test_each_hash_lies_in_its_range(depths: list[int], place: Place) -> None:
    rng, connector = Random(7), connector_of(place)
    every = cut(depths)
    hashes, kind = hashes_of(every, rng), {"postgresql": "bigint"}.get(place.kind, "SIGNED")
    rows = " UNION ALL ".join(f"SELECT CAST('{h}' AS {kind}) AS h, {i} AS value" for i, h in enumerate(hashes))
    expected = {r.range_id: [i for i, h in enumerate(hashes) if _within(h, r)] for r in every}
    for some in (every, every[1:-1], every[::2], every[-1:]):
        if not some:
            continue
        asked = rng.sample(some, len(some))
        found = place.sql(connector.ranges.bucket_sums(SUMS, f"({rows})", "h", asked))
        sums = {int(one): (int(n), int(total)) for one, n, total in found}
        assert sums == {r.range_id: (len(v), sum(v)) for r in some if (v := expected[r.range_id])}
        read = place.sql(connector.ranges.bucket_rows(["t.value AS value"], f"({rows})", "h", asked))
        assert sorted((int(one), int(i)) for one, i in read) == sorted(
            (r.range_id, i) for r in some for i in expected[r.range_id]
        )


def _within(hashed: int, one: KeyRange) -> bool:
    return hash_buckets.low(one) <= hashed and (one.hi is None or hashed < int(one.hi[0]))


@over("kind", ["bigint", "uuid", "varchar(40)", "decimal(12,2)"], elsewhere=["uuid"])
def test_keys_in_a_row_spread_over_all_buckets(kind: str, place: Place) -> None:
    if kind == "uuid" and place.kind == "mysql":
        pytest.skip("has no such type")
    values = [f"00000000-0000-0000-0000-{i:012x}" if kind == "uuid" else str(i) for i in range(1024)]
    place.sql(f"CREATE TABLE t (k {kind} PRIMARY KEY, a int)")
    place.sql("INSERT INTO t (k, a) VALUES " + ", ".join(f"('{v}', 1)" for v in values))
    connector, plan = connector_of(place), plan_of(probed(place), buckets="hash")
    query = "SELECT MIN(h), MAX(h), COUNT(DISTINCT h) FROM (SELECT QBCD_KEY_HASH() AS h FROM t) AS d"
    ((least, most, different),) = place.sql(compile_sql(query, connector, plan).sql)
    assert (different, least < -(2**62), most > 2**62) == (1024, True, True)
    counted = place.sql(IdRcs(connector, plan).partitioning.checksums(hash_buckets.divided(3, first_id=0)).sql)
    assert len(counted) == 8
    assert all(90 <= int(n) == int(digests) <= 170 for _, n, digests, _ in counted), counted
