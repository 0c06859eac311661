"""Ranges that are hash buckets of the key, split ever finer; replay gives the source."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.errors import SchemaChanged
from qbcd.ranges import hash_buckets
from qbcd.sites.lake import compaction
from qbcd.sites.lake.fetch import two_phase
from qbcd.state import StoredRange
from qbcd.strategies import IdRcs
from tests.support import batch_layers, sql
from tests.support.captured_tables import Captured, prepare, reproducible
from tests.support.drawn_tables import draw_tables
from tests.support.oracle import batches, copy_of, events
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = 3
HASH = {"type": "id_rcs", "rows_per_range": 4, "buckets": "hash"}
# By name: the configuration of buckets. For a key without statistics, as here, the last one chooses pages, or the hash
# if it cannot.
OF: dict[str, dict[str, Any]] = {"hash": HASH, "key": {**HASH, "buckets": "key"}, "page": {"type": "id_rcs"}}
ENDS = (-(2**63), -(2**63) + 1, -1, 0, 1, 2**32, 2**63 - 1)
WORDS = [f"'Word {i}'" for i in range(100)]
UUIDS = [f"'{i * 2654435761 % 2**32:08x}-0000-4000-8000-{i:012x}'" for i in range(100)]
NUMBERS = [str(n) for n in [*ENDS, *range(100, 193)]]
DATED = [f"{i % 5}.50, '2024-{i // 28 + 1:02}-{i % 28 + 1:02}'" for i in range(100)]
# By name: the key's types on each database, and 100 keys.
KEYS: dict[str, tuple[list[str], list[str], list[str]]] = {
    "uuid": (["uuid"], ["uuid"], UUIDS),
    "word": (["citext"], ["varchar(20) COLLATE utf8mb4_general_ci"], WORDS),
    "number": (["bigint"], ["bigint"], NUMBERS),
    "pair": (["numeric", "date"], ["decimal(9, 2)", "date"], DATED),
    "mixed": (
        ["citext", "uuid", "bigint"],
        ["varchar(20) COLLATE utf8mb4_general_ci", "uuid", "bigint"],
        [", ".join(parts) for parts in zip(WORDS, UUIDS, NUMBERS, strict=True)],
    ),
}


def known(project: qbcd.Project, stream: str) -> list[StoredRange]:
    """Return the ranges of a stream; check that buckets cover every hash once."""
    site = parts_of(project).open_stream(stream).site
    with site.context.reading() as conn:
        found = site.context.store.ranges(conn, stream)
    row = site.context.row()
    if row is not None and row.checkpoint["settled"] != {"buckets": "hash"}:
        return found
    deep = hash_buckets.depth_of(found)
    assert [n for r in found for n in hash_buckets.numbers(r, deep)] == list(range(2**deep))
    return found


def make(place: Place, kind: str) -> list[str]:
    """Make table t of 20 rows; return the names of the key's columns."""
    first = place.kind == "postgresql"
    if first:
        place.sql("CREATE EXTENSION IF NOT EXISTS citext")
    types, keys = KEYS[kind][0 if first else 1], KEYS[kind][2]
    names = [f"k{i}" for i in range(len(types))]
    columns = ", ".join(f"{n} {place.spelt(t)}" for n, t in zip(names, types, strict=True))
    place.sql(f"CREATE TABLE t ({columns}, a int, PRIMARY KEY ({', '.join(names)}))")
    place.sql(f"INSERT INTO t VALUES {', '.join(f'({key}, {i})' for i, key in enumerate(keys[:20]))}")
    return names


def change(place: Place, kind: str) -> int:
    """Delete three rows, add some, update four, change the case of a key.

    Return the number of new rows.
    """
    keys = KEYS[kind][2][20:]
    place.sql("DELETE FROM t WHERE a IN (1, 6, 17)")
    place.sql("UPDATE t SET a = -a WHERE a IN (2, 5, 9, 18)")
    place.sql(f"INSERT INTO t VALUES {', '.join(f'({key}, {i + 20})' for i, key in enumerate(keys))}")
    if kind in ("word", "mixed"):
        place.sql("UPDATE t SET k0 = 'WORD 3' WHERE a = 3")
    return len(keys)


@over(
    "kind",
    ["mixed", *(pytest.param(kind, marks=pytest.mark.campaign) for kind in KEYS if kind != "mixed")],
    elsewhere=["mixed"],
)
def test_keys_of_every_kind(kind: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    names = make(place, kind)
    data = config(place.url, {"name": "s", "table": place.table("t"), "key": names, "strategy": HASH})
    with opened(data, workspace, spark) as project:
        copy = copy_of(place.url, place.quote("t"), names)
        project.stream("s").prepare()
        copy.take_baseline()
        before = {r.range_id for r in known(project, "s")}
        assert len(before) == 8
        came = change(place, kind)
        poll(project, "s")
        found = copy.replay(batches(workspace / "out/changes", "s"))
        respelt = [e for e in found if e["after"] and e["after"]["a"] == 3]
        assert Counter(e["op"] for e in found) == {"d": 3, "u": 4 + len(respelt), "c": came}
        assert copy.differences() == []
        assert before != {r.range_id for r in known(project, "s")}, "no range has outgrown its size"
        assert project.stream("s").verify() == []
        assert [o.report and o.report.header for o in poll(project, "s")] == [None]
    if kind in ("word", "mixed"):
        changes = [(e["op"], e["before"]["k0"], e["after"]["k0"], e["changed"]) for e in respelt]
        assert changes == [("u", "Word 3", "WORD 3", ["k0"])]


@pytest.mark.parametrize("chosen", ["page", "hash"])
def test_the_choice_of_prepare_stays(
    chosen: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two_phase, "SAVED_BYTES", -(10**9))  # keys and digests of buckets first, then the rows by key
    if chosen == "hash":
        monkeypatch.setattr(IdRcs, "is_by_pages", False)  # as for a table of another database
    rounds, fetch = [], two_phase.fetch

    def fetched(*args: Any) -> Any:
        rounds.append(fetch(*args))
        return rounds[-1]

    monkeypatch.setattr(two_phase, "fetch", fetched)
    sql(database, "CREATE TABLE t AS SELECT md5(i::text)::uuid AS k, i AS a FROM generate_series(1, 300) i")
    sql(database, "ALTER TABLE t ADD PRIMARY KEY (k); ANALYZE t")

    def data(strategy: Any) -> dict[str, Any]:
        return config(database, {"name": "s", "table": "public.t", "strategy": strategy})

    def polled(strategy: Any) -> Counter[str]:
        sql(database, "UPDATE t SET a = a + 1 WHERE a % 100 = 0")
        before = len(events(workspace / "out/changes", "s"))
        with opened(data(strategy), workspace, spark) as project:
            poll(project, "s")
            known(project, "s")
            row = parts_of(project).open_stream("s").site.context.row()
            assert row is not None
            assert row.checkpoint["settled"] == {"buckets": chosen}
            assert project.stream("s").verify() == []
        return Counter(e["op"] for e in events(workspace / "out/changes", "s")[before:])

    with opened(data("id_rcs"), workspace, spark) as project:
        project.stream("s").prepare()
    sql(database, "CLUSTER t USING t_pkey; ANALYZE t")  # ranges of the key would be chosen now
    assert polled("id_rcs") == {"u": 3}
    assert [moved is not None for moved in rounds] == ([True] if chosen == "hash" else [])
    assert polled({"type": "id_rcs", "buckets": chosen}) == {}
    with pytest.raises(SchemaChanged, match=r"strategy\.buckets is fixed at prepare"):
        polled({"type": "id_rcs", "buckets": "key"})


def run(seed: int, place: Place, folder: Path, spark: SparkSession, rounds: int, kind: str) -> Counter[str]:
    """Run one project over newly drawn tables.

    Return the ops, and the numbers of splits and merges.
    """
    rng, at = Random(seed), list[str]()
    tables = draw_tables(rng, place, TABLES)
    with reproducible(seed, tables, at, folder):
        captured = [
            Captured(rng, t, i, folder / "out" / "changes", {kind: {**OF[kind], "rows_per_range": (1, 3, 5)[i]}})
            for i, t in enumerate(tables)
        ]
        seen: Counter[str] = Counter()
        with opened(config(place.url, *(s for c in captured for s in c.streams)), folder, spark) as project:
            for one in captured:
                at[:] = [one.table.quoted]
                prepare(project, one)
            for number in range(rounds):
                for one in captured:
                    at[:] = [one.table.quoted]
                    seen += one_round(rng, project, one, growth=(0, 40, -1)[number % 3])
            for one in captured:
                at[:] = [one.table.quoted]
                assert project.stream(one.streams[0]["name"]).verify() == []
    return seen


def one_round(rng: Random, project: qbcd.Project, one: Captured, growth: int) -> Counter[str]:
    """Make changes, which delete most rows if `growth` is negative, and poll."""
    (stream,) = (s["name"] for s in one.streams)
    before = known(project, stream)
    one.history.act(rng.choice([1, 6, 20]))
    one.history.fill(growth)
    if growth < 0:
        one.history.thin()
    poll(project, stream)
    seen = one.check()
    after = known(project, stream)
    seen["cut"] += len(after) > len(before)
    seen["joined"] += len(after) < len(before)
    return seen


@pytest.mark.campaign
@pytest.mark.parametrize("kind", OF)
@over("seed", range(1, 5))
def test_replay_equals_the_source(
    seed: int, kind: str, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 1)  # small ranges are merged at every poll
    monkeypatch.setattr(IdRcs, "is_scattered", True)
    batch_layers.at_times(monkeypatch)
    seen = run(seed, place, workspace, spark, 6, kind)
    assert min(seen["c"], seen["cut"], seen["joined"]) > 0, seen
