"""Leaf checksums in the lake wing: read while changes are scattered.

Only dirty leaves are fetched.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.model import Cost
from qbcd.sites.lake.fetch import leaf_checksums
from qbcd.sql import compile_sql, render
from tests.support import sql
from tests.support.forced_leaves import force, remembered
from tests.support.oracle import batches, copy_of
from tests.support.places import Place, place_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, RANGE = 8_000, 2_000
WAYS = [
    {"type": "id_rcs", "rows_per_range": RANGE, **how}
    for how in ({"buckets": "key"}, {"buckets": "hash"}, {"buckets": "key", "pace": {"target": "20ms"}})
]
# By name: the key's columns, and keys. Some have identities without a byte, or with the same last byte.
KEYS = {
    "int2": (["int2"], "i - 200"),
    "int4": (["int4"], "i * 7919 - 1000000"),
    "bigint": (["bigint"], "(i - 200) * 46116860184273879"),
    "numeric": (["numeric"], "(i - 200) / 4.0"),
    "float": (["double precision"], "(i - 200) / 8.0"),
    "text": (["text"], "repeat('x', i % 3) || CASE WHEN i > 2 THEN i::text ELSE '' END"),
    "bpchar": (["char(9)"], "CASE WHEN i = 0 THEN '' ELSE 'k' || i END"),
    "bytea": (["bytea"], "substring(int4send(i - 1), CASE WHEN i = 0 THEN 5 ELSE 1 END)"),
    "uuid": (["uuid"], "md5(i::text)::uuid"),
    "date": (["date"], "DATE '2024-01-01' + i"),
    "instant": (["timestamptz"], "timestamptz '2024-01-01' + i * interval '1 s'"),
    "citext": (["citext"], "CASE WHEN i = 0 THEN '' ELSE 'Key ' || i END"),
    "pair": (["bigint", "text"], "i / 3, repeat('y', i % 3)"),
    "mixed": (["text", "date", "int2"], "repeat('z', i % 5), DATE '2024-01-01' + i, i - 200"),
}


def _make(place: Place, kind: str, rows: int = 400) -> list[str]:
    types, keys = KEYS[kind]
    names = [f"k{i}" for i in range(len(types))]
    place.sql("CREATE EXTENSION IF NOT EXISTS citext")
    place.sql(
        f"CREATE TABLE t ({', '.join(map(' '.join, zip(names, types, strict=True)))}, "
        f"a int, PRIMARY KEY ({', '.join(names)}))"
    )
    place.sql(f"INSERT INTO t SELECT {keys}, i FROM generate_series(0, {rows - 1}) AS i")
    return names


@pytest.mark.parametrize("kind", KEYS)
def test_the_source_and_spark_agree_on_the_leaf(kind: str, database: str, workspace: Path) -> None:
    """The source's number is the last byte of the identity, from which Spark takes it."""
    place = place_of(database)
    names = _make(place, kind)
    data = config(database, {"name": "s", "table": place.table("t"), "key": names, "strategy": "id_rcs"})
    with opened(data, workspace) as project:
        plan = project.stream("s").plan()
        connector = parts_of(project).source(plan.source).connector
    rendered = render(
        "row_marks",
        table=plan.table,
        key=plan.key,
        captured=plan.captured,
        share=0,
        shares=1,
        hashed=False,
        paged=False,
        leaves=True,
        written_since="",
    )
    found = place.sql(compile_sql(rendered, connector, plan).sql.replace("%", "%%"))
    at = len(names)
    read = [(row[at], bytes(row[at + 1])) for row in found]
    assert len(read) == 400
    assert [leaf for leaf, identity in read if leaf != (identity[-1] if identity else 0)] == []
    assert (b"" in {identity for _, identity in read}) is (kind in ("text", "bytea", "bpchar", "citext"))


@pytest.mark.parametrize("how", ["key", pytest.param("hash", marks=pytest.mark.campaign)])
@pytest.mark.parametrize("kind", [k if k == "text" else pytest.param(k, marks=pytest.mark.campaign) for k in KEYS])
def test_changes_under_keys_of_every_kind(
    kind: str, how: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, in_leaves = place_of(database), force(monkeypatch)
    names = _make(place, kind)
    strategy = {"type": "id_rcs", "rows_per_range": 100, "buckets": how}
    data = config(database, {"name": "s", "table": place.table("t"), "key": names, "strategy": strategy})
    with opened(data, workspace, spark) as project:
        copy = copy_of(database, "t", names)
        project.stream("s").prepare()
        copy.take_baseline()
        # rows with empty identities are changed, deleted, and inserted again while other leaves of their range change
        for change in (
            "UPDATE t SET a = a + 1000 WHERE a % 50 = 0",
            "DELETE FROM t WHERE a % 40 = 1",
            "UPDATE t SET a = a + 1000 WHERE a % 90 = 3; DELETE FROM t WHERE a < 0 OR a = 1000",
            f"INSERT INTO t SELECT {KEYS[kind][1]}, i FROM generate_series(0, 399) AS i ON CONFLICT DO NOTHING",
            "DELETE FROM t WHERE a < 3",
        ):
            place.sql(change)
            poll(project, "s")
            copy.replay(batches(workspace / "out/changes", "s"))
            assert copy.differences() == []
        assert project.stream("s").verify() == []
    assert in_leaves == [False, True, True, True]


def _table(database: str) -> None:
    sql(database, f"CREATE TABLE t AS SELECT i AS id, 0 AS n, md5(i::text) AS v FROM generate_series(1, {ROWS}) AS i")
    sql(database, "ALTER TABLE t ADD PRIMARY KEY (id); ANALYZE t")


def _spread(database: str, every: int = 400) -> None:
    """Change rows in every range, and in few leaves."""
    sql(database, f"UPDATE t SET n = n + 1 WHERE id % {every} = 7")


def _cost(project: qbcd.Project) -> Cost:
    (outcome,) = poll(project, "s")
    assert outcome.report is not None
    return outcome.report.cost


def _kept(folder: Path) -> list[str]:
    return [p.parent.name for p in folder.rglob("leaves") if p.is_file()]


@pytest.mark.parametrize(
    "strategy",
    [WAYS[0], *(pytest.param(way, marks=pytest.mark.campaign) for way in WAYS[1:])],
    ids=["key", "hash", "pace"],
)
def test_reads_of_leaves_follow_the_changes_of_polls(
    strategy: dict[str, Any], database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scattered poll enables leaf checksums; some polls without use disable them."""
    for name, value in {"LEAST_ROWS": ROWS // 2, "USELESS": 1}.items():
        monkeypatch.setattr(leaf_checksums, name, value)
    _table(database)
    data = config(database, {"name": "s", "table": "public.t", "strategy": strategy})
    with opened(data, workspace, spark) as project:
        copy = copy_of(database, "public.t", ["id"])
        project.stream("s").prepare()
        copy.take_baseline()
        shipped = []
        for _ in range(4):
            _spread(database)
            shipped.append(_cost(project).rows_shipped)
        assert shipped[:2] == [ROWS, ROWS], "no leaves are stored yet"
        # 20 rows, each in a leaf of one 256th of 2,000 rows or, by the hash of the key, of a similar size
        assert all(20 <= rows <= 20 * 4 * RANGE / 256 for rows in shipped[2:]), shipped
        assert len(_kept(workspace)) == 1
        sql(database, "UPDATE t SET n = n + 1 WHERE id = 30")  # in one range, where leaves do not help
        assert _cost(project).rows_shipped < RANGE / 10
        assert remembered(project, "s") is None
        unchanged = _cost(project)
        assert (unchanged.dirty, unchanged.spark) == (0, False)
        assert _kept(workspace) == []
        _spread(database)
        assert _cost(project).rows_shipped == ROWS
        copy.replay(batches(workspace / "out/changes", "s"))
        assert copy.differences() == []
        assert project.stream("s").verify() == []


def test_leaves_after_unchanged_polls_and_with_equal_key_ends(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every id ends with the byte 0: all rows of a range are in one leaf, which disables leaves."""
    for name, value in {"LEAST_ROWS": ROWS // 2, "PAUSE": 2}.items():
        monkeypatch.setattr(leaf_checksums, name, value)
    _table(database)
    sql(database, "CREATE TABLE u AS SELECT id * 256 AS id, n, v FROM t; ALTER TABLE u ADD PRIMARY KEY (id); ANALYZE u")
    tables = [{"name": name, "table": f"public.{name}", "strategy": WAYS[0]} for name in "tu"]

    def requested() -> list[str]:
        notes = [remembered(project, name) or {"left": 0} for name in "tu"]
        return ["none" if not note["left"] else "all" if note["at_once"] else "differing" for note in notes]

    with opened(config(database, *tables), workspace, spark) as project:
        for name in "tu":
            project.stream(name).prepare()

        def polled(*, spread: bool) -> list[int]:
            if spread:
                sql(database, "UPDATE t SET n = n + 1 WHERE id % 400 = 7; UPDATE u SET n = n + 1 WHERE id % 102400 = 0")
            return [o.report.cost.rows_shipped for o in poll(project, "t", "u") if o.report]

        assert polled(spread=True) == [ROWS, ROWS]
        assert requested() == ["all", "all"]
        for _ in range(2):
            assert polled(spread=False) == [0, 0]
            assert requested() == ["differing", "differing"]
        sql(database, "UPDATE t SET n = n + 1 WHERE id = 30")  # in one range, which may as well be fetched whole
        assert polled(spread=False) == [RANGE, 0]
        assert requested() == ["differing", "differing"]
        shipped = polled(spread=True)  # nothing is stored of that range now, but leaves of the others are
        assert RANGE < shipped[0] <= RANGE + 20 * 4 * RANGE / 256
        assert shipped[1] == ROWS
        assert requested() == ["all", "none"]
        titles = [[step.title for step in project.stream(name).explain()] for name in "tu"]
        assert ["leaves" in " ".join(stream_titles) for stream_titles in titles] == [True, False]
        for _ in range(2):
            assert polled(spread=True)[1] == ROWS
            assert requested() == ["all", "none"]
        polled(spread=True)
        assert requested() == ["all", "all"], "tried again"
        for name in "tu":
            assert project.stream(name).verify() == []
