"""ID/RCS splits ranges that have outgrown their size, and merges small ones.

See docs/design/protocol.md#rule-11.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.sites.lake import compaction
from qbcd.sites.lake.modes import table as table_mode
from qbcd.state import ProjectState, StoredRange
from tests.support import batch_layers, sql
from tests.support.oracle import batches, copy_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import qbcd

TABLE: dict[str, Any] = {
    "name": "log",
    "table": "public.log",
    "strategy": {"type": "id_rcs", "rows_per_range": 50},
    "baseline": "events",
}


def ranges_of(workspace: Path, stream: str = "log") -> list[StoredRange]:
    with ProjectState(f"sqlite:///{workspace}/.qbcd/state.db") as state, state.read() as conn:
        return state.store.ranges(conn, stream)  # the store itself refuses gaps and overlaps


def cost_of(project: qbcd.Project) -> Any:
    [outcome] = poll(project, "log")
    assert outcome.report is not None
    return outcome.report.cost


def test_a_table_that_was_empty_at_prepare(database: str, spark: SparkSession, workspace: Path) -> None:
    sql(database, "CREATE TABLE log (id bigint PRIMARY KEY, line text)")
    copy = copy_of(database, "public.log", ["id"])
    with opened(config(database, TABLE), workspace, spark) as project:
        project.stream("log").prepare()
        first = ranges_of(workspace)
        assert [(r.lo, r.hi) for r in first] == [(None, None)]

        sql(database, "INSERT INTO log SELECT i, 'line ' || i FROM generate_series(1, 1000) i")
        cost_of(project)
        grown = ranges_of(workspace)
        assert len(grown) == 20
        assert sum(r.rows for r in grown) == 1000
        assert {r.range_id for r in grown}.isdisjoint({r.range_id for r in first}), "an id was used again"

        # growth at the end changes only the last range, and each range stays small
        for batch in range(3):
            sql(
                database,
                f"INSERT INTO log SELECT i, 'new' FROM generate_series({1001 + batch * 60}, {1060 + batch * 60}) i",
            )
            cost = cost_of(project)
            assert cost.dirty == 1
            assert cost.rows_shipped <= 3 * 50 + 60
        assert max(r.rows for r in ranges_of(workspace)) <= 2 * 50

        # old rows, in children and in ranges that were never split, still compare
        sql(database, "UPDATE log SET line = NULL WHERE id % 100 = 7; DELETE FROM log WHERE id % 100 = 9")
        cost_of(project)
        assert cost_of(project).dirty == 0
        copy.replay(batches(workspace / "out/changes", "log"))
        assert copy.differences() == []
        assert project.stream("log").verify() == []


def test_compaction_after_many_splits(database: str, spark: SparkSession, workspace: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(compaction, "COMPACT_SEGMENTS", 2)
    batch_layers.always(monkeypatch)
    sql(database, "CREATE TABLE log (id bigint PRIMARY KEY, line text)")
    copy = copy_of(database, "public.log", ["id"])
    with opened(config(database, TABLE), workspace, spark) as project:
        project.stream("log").prepare()
        for batch in range(4):
            sql(database, f"INSERT INTO log SELECT i, 'x' FROM generate_series({batch * 120}, {batch * 120 + 119}) i")
            sql(database, f"UPDATE log SET line = 'y{batch}' WHERE id % 40 = {batch}")
            cost_of(project)
        with ProjectState(f"sqlite:///{workspace}/.qbcd/state.db") as state, state.read() as conn:
            assert len(state.store.segments(conn, "log")) <= 2
        assert cost_of(project).dirty == 0
        copy.replay(batches(workspace / "out/changes", "log"))
        assert copy.differences() == []
        assert project.stream("log").verify() == []


@pytest.mark.campaign
def test_only_ranges_with_changes_are_rewritten(
    database: str, spark: SparkSession, workspace: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 1)
    batch_layers.always(monkeypatch)
    monkeypatch.setattr(compaction, "SOME_SEGMENTS", 3)
    sql(database, "CREATE TABLE log (id bigint PRIMARY KEY, line text)")
    sql(database, "INSERT INTO log SELECT i, 'line ' || i FROM generate_series(1, 1000) i")
    copy, kept, ranges = copy_of(database, "public.log", ["id"]), [], []
    with opened(config(database, TABLE), workspace, spark) as project:
        project.stream("log").prepare()
        for number in range(4):
            sql(database, f"UPDATE log SET line = 'y{number}' WHERE id BETWEEN {700 + 10 * number} AND 800")
            sql(database, f"DELETE FROM log WHERE id = {900 + number} OR id = {700 + 60 * (number % 2)}")
            sql(database, f"INSERT INTO log VALUES ({2000 + number}, 'new')")
            if number == 3:
                sql(database, "DELETE FROM log WHERE id <= 100")
            poll(project)
            with ProjectState(f"sqlite:///{workspace}/.qbcd/state.db") as state, state.read() as conn:
                segments = state.store.segments(conn, "log")
                row = state.store.read(conn, "log")
                known = state.store.ranges(conn, "log")
            assert {r.segment for r in known} == {s.segment_id for s in segments}
            ranges.append(len(known))
            assert row is not None
            assert {s.folded_through for s in segments} == {row.last_batch_seq}
            kept.append(sorted(s.rows for s in segments))
        # one segment more each time, of a few ranges; then the smaller ones are merged; then too many stored rows are
        # obsolete
        assert [len(rows) for rows in kept] == [2, 3, 2, 1]
        assert kept[2][1] == 1000
        assert kept[0][0] < 300 < 1000 == kept[0][1]
        assert ranges == [20, 20, 20, 18], "two that are empty are joined with their neighbor"
        assert project.stream("log").verify() == []
        sql(database, "UPDATE log SET line = 'z' WHERE id % 7 = 0; DELETE FROM log WHERE id % 11 = 0")
        assert cost_of(project).dirty == 18
        copy.replay(batches(workspace / "out/changes", "log"))
        assert copy.differences() == []
        assert project.stream("log").verify() == []


KINDS: dict[str, dict[str, str]] = {"key": {}, "hash": {"buckets": "hash"}, "digest": {"replica": "digest"}}


@pytest.mark.parametrize("names", [("key",), pytest.param(tuple(KINDS), marks=pytest.mark.campaign)])
def test_small_ranges_are_merged_when_batches_are_compacted(
    names: tuple[str, ...], database: str, spark: SparkSession, workspace: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 2)
    batch_layers.always(monkeypatch)
    monkeypatch.setattr(table_mode, "merge_small", lambda *args: args[-1])  # as where leaves or keys are fetched
    kinds = {name: KINDS[name] for name in names}
    tables = [{**TABLE, "name": name, "strategy": {**TABLE["strategy"], **kind}} for name, kind in kinds.items()]
    sql(database, "CREATE TABLE log (id bigint PRIMARY KEY, line text)")
    sql(database, "INSERT INTO log SELECT i, 'line ' || i FROM generate_series(1, 1000) i")
    copy = copy_of(database, "public.log", ["id"])
    with opened(config(database, *tables), workspace, spark) as project:
        for name in kinds:
            project.stream(name).prepare()
        before = {name: ranges_of(workspace, name) for name in kinds}
        sql(database, "DELETE FROM log WHERE id <= 700 OR id % 100 = 3")
        poll(project)  # the baseline is compacted already: this is the first of two batches
        assert {name: [r.range_id for r in ranges_of(workspace, name)] for name in kinds} == {
            name: [r.range_id for r in before[name]] for name in kinds
        }
        sql(database, "UPDATE log SET line = NULL WHERE id = 900; DELETE FROM log WHERE id = 901")
        poll(project)
        for name in kinds:
            left, known = ranges_of(workspace, name), {r.range_id for r in before[name]}
            assert len(left) <= len(before[name]) // 2, name
            assert sum(r.rows for r in left) == 296
            assert max(r.rows for r in left) <= 50
            assert min(r.range_id for r in left if r.range_id not in known) > max(known), "an id was used again"
        sql(database, "UPDATE log SET line = 'x' WHERE id IN (710, 990); DELETE FROM log WHERE id = 711")
        sql(database, "INSERT INTO log VALUES (-5, 'first'), (300, 'between')")
        for outcome in poll(project):
            assert outcome.report is not None
            assert outcome.report.header is not None
            assert outcome.report.header.counts == {"c": 2, "u": 2, "d": 1}
        for name in kinds:
            assert project.stream(name).verify() == []
        copy.replay(batches(workspace / "out/changes", "key"))
        assert copy.differences() == []
