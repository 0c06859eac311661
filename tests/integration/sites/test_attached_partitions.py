"""Partitions and children whose rows are older than the watermark when they become part of a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.model import StreamPlan
from tests.support.maria_source import KINDS
from tests.support.places import Place, place_of
from tests.support.project import config, poll
from tests.support.query_streams import detect, replica_differs
from tests.support.watched_polls import COLUMNS, Watched, brief, stamped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLD = "'2001-01-01 00:00:00'"
STREAMS: Mapping[str, Mapping[str, Any]] = {
    "ts": {"type": "ts", "timestamp": "at", "margin": "1ms", "deletes": {"every": "1h"}},
    "xmin": {"type": "ts", "timestamp": "xmin"},
    "tdi": {"type": "tdi", "timestamp": "at", "margin": "1ms", "delete_flag": "gone"},
    "atdi": {"type": "atdi", "timestamp": "at", "margin": "1ms", "delete_flag": "gone"},
    "keys": {"type": "ts", "timestamp": "at", "margin": "1ms", "replica": "keys"},
    "none": {"type": "ts", "timestamp": "at", "margin": "1ms", "replica": "none"},
}
every_stream = pytest.mark.parametrize(
    "name", [name if name == "ts" else pytest.param(name, marks=pytest.mark.campaign) for name in STREAMS]
)
BY_RANGE = f"{COLUMNS}) PARTITION BY RANGE (id"
ATTACH = "ALTER TABLE t ATTACH PARTITION t_1 FOR VALUES FROM (100) TO (200)"
DETACH = "ALTER TABLE t DETACH PARTITION t_1"
FOUND = "public.t_1 was attached to public.t since the last poll and has rows that may be older than the watermark"


def partitioned(place: Place, folder: Path, strategy: Mapping[str, Any]) -> Watched:
    seen = Watched(place, folder, {"s": strategy}, columns=BY_RANGE)
    seen.run("CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (0) TO (100)")
    return seen.fill()


def with_old_rows(seen: Watched, table: str = "t_1", how: str = "(LIKE t INCLUDING ALL)") -> None:
    """Create a table with rows older than the watermark, also than that of the server's own row versions."""
    seen.run(f"CREATE TABLE {table} {how}")
    seen.run(f"INSERT INTO {table} (id, v, at) VALUES (100, 'old', {OLD}), (101, 'old', {OLD})")
    assert seen.poll() == []
    assert said(seen) == []


def said(seen: Watched) -> list[str]:
    """Return the remarks of the last poll about the table; the history has them too."""
    assert seen.outcome.report is not None
    found = [text for text in seen.outcome.report.warnings if "since the last poll" in text]
    last = seen.project.status("s")[0].last_poll
    assert last is not None
    assert last.message == "; ".join(found)
    return found


def parts(seen: Watched) -> Any:
    row = parts_of(seen.project).open_stream("s").site.context.row()
    assert row is not None
    return row.checkpoint["made"].get("parts")


@every_stream
def test_a_partition_with_old_rows(name: str, place: Place, workspace: Path) -> None:
    with partitioned(place, workspace, STREAMS[name]) as seen:
        with_old_rows(seen)
        seen.run(ATTACH)
        again = name in ("keys", "none")
        remark = [f"{FOUND}: all rows were {'delivered again' if again else 'compared'}"]
        [found] = seen.poll()
        assert sorted(e.key for e in found if e.key > 99 or not again) == [100, 101]
        assert said(seen) == remark
        assert (seen.poll(), said(seen)) == ([], [])
        seen.run(f"{DETACH}; UPDATE t_1 SET v = 'other', at = {OLD} WHERE id = 101")
        if name == "xmin":  # the update is newer than its watermark
            assert seen.poll() == []
        seen.run(ATTACH)
        [found] = seen.poll()
        assert [(e.key, e.after) for e in found if e.key > 100 or not again] == [(101, (101, "other", 0))]
        assert said(seen) == remark
        if not again:
            seen.check()


@every_stream
def test_partitions_without_old_rows_cost_nothing(name: str, place: Place, workspace: Path) -> None:
    with partitioned(place, workspace, STREAMS[name]) as seen:
        seen.run("CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (100) TO (200)")
        assert (seen.poll(), said(seen), len(parts(seen))) == ([], [], 2)
        seen.run("CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM (200) TO (300)")
        seen.insert(101, "new")
        seen.insert(201, "new")
        [found] = seen.poll()
        assert (sorted(e.key for e in found), said(seen), len(parts(seen))) == ([101, 201], [], 3)
        seen.run("DROP TABLE t_1")
        assert (seen.poll(), said(seen), len(parts(seen))) == ([], [], 2)


def test_a_state_of_an_older_version_remembers_the_partitions_of_now(place: Place, workspace: Path) -> None:
    made = StreamPlan.made

    def without_parts(plan: StreamPlan) -> dict[str, Any]:
        return {name: value for name, value in made(plan).items() if name != "parts"}

    with patch.object(StreamPlan, "made", without_parts):
        seen = partitioned(place, workspace, STREAMS["ts"])
    with seen:
        assert parts(seen) is None
        assert (seen.poll(), said(seen), len(parts(seen))) == ([], [], 1)


@pytest.mark.parametrize("database", KINDS, indirect=True)
def test_an_exchanged_partition(database: str, workspace: Path) -> None:
    place = place_of(database)
    ranges = "(PARTITION a VALUES LESS THAN (100), PARTITION b VALUES LESS THAN (200))"
    with Watched(place, workspace, {"s": stamped(place, "ts")}, columns=f"{BY_RANGE}) {ranges[:-1]}") as seen:
        seen.fill()
        seen.run("CREATE TABLE o LIKE t; ALTER TABLE o REMOVE PARTITIONING")
        seen.run(f"INSERT INTO o (id, v, at) VALUES (101, 'old', {OLD})")
        assert (seen.poll(), said(seen)) == ([], [])
        with place.connect(autocommit=True) as conn:  # otherwise the statement waits for its own lock
            seen.run("ALTER TABLE t EXCHANGE PARTITION b WITH TABLE o", conn)
        assert brief(seen.poll()) == [[(101, "c")]]
        assert ["PARTITION (b) was attached to" in text for text in said(seen)] == [True]
        assert (seen.poll(), said(seen)) == ([], [])
        seen.run("ALTER TABLE t TRUNCATE PARTITION b")  # it has no rows, old or new
        assert (seen.poll(), said(seen)) == ([], [])


def test_a_table_of_a_query(place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE a (id int PRIMARY KEY, v text, stamp timestamptz DEFAULT now()) PARTITION BY RANGE (id)")
    place.sql("CREATE TABLE a_0 PARTITION OF a FOR VALUES FROM (0) TO (100)")
    place.sql("CREATE TABLE b (k text PRIMARY KEY, w int); INSERT INTO b VALUES ('x', 1), ('y', 2)")
    place.sql("INSERT INTO a SELECT i, 'x' FROM generate_series(1, 9) AS i")
    query = "SELECT a.id, b.w FROM public.a JOIN public.b ON a.v = b.k"
    strategy = {"type": "vbd", "variant": "delta", "timestamps": {"public.a": "stamp"}, "margin": "1ms"}
    table = {"name": "q", "query": query, "key": ["id"], "strategy": strategy, "sinks": []}
    with qbcd.Project.from_dict(config(place.url, table), base_dir=workspace) as project:
        project.stream("q").prepare()
        place.sql("CREATE TABLE a_1 (LIKE a INCLUDING ALL)")
        place.sql(f"INSERT INTO a_1 VALUES (100, 'y', {OLD})")
        place.sql("ALTER TABLE a ATTACH PARTITION a_1 FOR VALUES FROM (100) TO (200)")
        found = detect(project, "q")
        assert ["a_1 was attached to query q" in text for one in found for text in one.warnings] == [True]
        assert not replica_differs(place, "q", query)
        place.sql("CREATE TABLE a_2 PARTITION OF a FOR VALUES FROM (200) TO (300)")
        assert not [text for one in detect(project, "q") for text in one.warnings]


# -- campaign ----------------------------------------------------------------------------------------------------------


@pytest.mark.campaign
def test_a_child_of_inheritance(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": STREAMS["ts"]}, each={"s": {"key": ["id"]}}) as seen:
        seen.run("CREATE TABLE t_0 () INHERITS (t)")  # a table that gets its first child is refused
        seen.fill()
        with_old_rows(seen)
        seen.run("ALTER TABLE t_1 INHERIT t")
        assert brief(seen.poll()) == [[(100, "c"), (101, "c")]]
        assert said(seen) == [f"{FOUND}: all rows were compared"]
        seen.run(f"ALTER TABLE t_1 NO INHERIT t; UPDATE t_1 SET v = 'other', at = {OLD}; ALTER TABLE t_1 INHERIT t")
        assert brief(seen.poll()) == [[(100, "u"), (101, "u")]]
        seen.check()


@pytest.mark.campaign
def test_a_tree_of_partitions(place: Place, workspace: Path) -> None:
    """The leaf keeps its place in a tree that is detached and attached as a whole."""
    with partitioned(place, workspace, STREAMS["ts"]) as seen:
        seen.run("CREATE TABLE t_1 (LIKE t INCLUDING ALL) PARTITION BY RANGE (id)")
        seen.run("CREATE TABLE t_10 PARTITION OF t_1 FOR VALUES FROM (100) TO (150)")
        seen.run(ATTACH)
        assert (seen.poll(), said(seen)) == ([], [])
        seen.run(f"{DETACH}; INSERT INTO t_1 (id, v, at) VALUES (100, 'old', {OLD}); {ATTACH}")
        assert brief(seen.poll()) == [[(100, "c")]]
        assert said(seen) == [f"{FOUND.replace('t_1 ', 't_10 ', 1)}: all rows were compared"]
        seen.run(f"{DETACH} CONCURRENTLY")
        assert (seen.poll(), said(seen)) == ([], [])
        seen.run(ATTACH)
        assert seen.poll() == []
        assert said(seen) != []


@pytest.mark.campaign
def test_a_role_that_may_not_read_the_partition_alone(place: Place, workspace: Path) -> None:
    with partitioned(place, workspace, STREAMS["ts"]) as prepared:
        prepared.poll()
    place.create_user(role := f"{place.name}_r")
    try:
        place.sql(
            f"GRANT SELECT ON t TO {role}; GRANT pg_monitor TO {role}; GRANT CREATE ON DATABASE {place.name} TO {role}"
        )
        place.sql("DROP TABLE t; DROP SCHEMA qbcd CASCADE")
        folder = workspace / "other"
        folder.mkdir()
        with Watched(place, folder, {"s": STREAMS["ts"]}, columns=BY_RANGE, source_url=place.url_as(role)) as seen:
            seen.run("CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (0) TO (100)")
            seen.run(f"GRANT SELECT ON t TO {role}")
            seen.fill()
            seen.run("CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (100) TO (200)")
            assert (seen.poll(), said(seen)) == ([], [])  # it has no pages
            seen.run("CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM (200) TO (300)")
            seen.insert(200, "new")
            assert brief(seen.poll()) == [[(200, "c")]]
            assert said(seen) != []
    finally:
        place.drop_user(role)


@pytest.mark.campaign
def test_a_view_of_partitions(place: Place, workspace: Path) -> None:
    with partitioned(place, workspace, STREAMS["ts"]) as seen:
        seen.run("CREATE VIEW w AS SELECT id, v, n, at FROM t")
        seen.data["tables"][0].update(name="w", table="public.w", key=["id"])
        seen.data["tables"][0]["strategy"] = STREAMS["ts"]
        seen.reopen()
        seen.prepare("w")
        seen._read["w"] = 0
        with_rows = "INSERT INTO t_1 (id, v, at) VALUES (100, 'old', '2001-01-01')"
        seen.run(f"CREATE TABLE t_1 (LIKE t INCLUDING ALL); {with_rows}; {ATTACH}")
        assert brief(seen.poll("w")) == [[(100, "c")]]
        seen.run("CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM (200) TO (300)")
        assert seen.poll("w") == []
        assert seen.outcome.report is not None
        assert not [text for text in seen.outcome.report.warnings if "since the last poll" in text]


@pytest.mark.campaign
def test_with_a_lake_replica(place: Place, workspace: Path, spark: SparkSession) -> None:
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v text, at timestamptz DEFAULT now()) PARTITION BY RANGE (id)")
    place.sql("CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (0) TO (100)")
    place.sql("INSERT INTO t SELECT i, 'old' FROM generate_series(1, 20) AS i")
    strategy = {"type": "ts", "timestamp": "at", "replica": "spark", "margin": "1ms"}
    table = {"table": "public.t", "name": "s", "columns": ["v"], "strategy": strategy}
    with qbcd.Project.from_dict(config(place.url, table), spark=spark, base_dir=workspace) as project:

        def polled() -> tuple[dict[str, int], bool]:
            report = poll(project)[0].report
            assert report is not None
            return report.counts, any("since the last poll" in text for text in report.warnings)

        project.stream("s").prepare()
        place.sql("CREATE TABLE t_1 (LIKE t INCLUDING ALL)")
        place.sql(f"INSERT INTO t_1 VALUES (100, 'old', {OLD}), (101, 'old', {OLD})")
        assert polled() == ({}, False)
        place.sql(ATTACH)
        assert polled() == ({"c": 2}, True)
        assert polled() == ({}, False)
        place.sql(f"{DETACH}; {ATTACH}")
        assert polled() == ({}, True)
        assert polled() == ({}, False)
        place.sql(f"{DETACH}; UPDATE t_1 SET v = 'new', at = {OLD} WHERE id = 100; {ATTACH}")
        assert polled() == ({"u": 1}, True)
        place.sql("CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM (200) TO (300)")
        assert polled() == ({}, False)
        place.sql("INSERT INTO t VALUES (200, 'new')")
        assert polled() == ({"c": 1}, False)
        assert polled() == ({}, False)
        assert not project.stream("s").verify()
