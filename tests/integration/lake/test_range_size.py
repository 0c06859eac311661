"""A limit on the number of ranges of a large table, unless the user sets a range size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.ranges import partition
from qbcd.sites.lake import compaction
from tests.integration.lake.test_split_and_merge import cost_of, ranges_of
from tests.support import batch_layers, sql
from tests.support.oracle import batches, copy_of
from tests.support.project import config, opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST = 8
ROWS = "INSERT INTO log SELECT i, 'line ' || i FROM generate_series({}, {}) i"


def log(**strategy: Any) -> dict[str, Any]:
    return {"name": "log", "table": "public.log", "strategy": {"type": "id_rcs", **strategy}, "baseline": "events"}


def made(database: str, rows: int) -> None:
    sql(database, f"CREATE TABLE log (id bigint PRIMARY KEY, line text); {ROWS.format(1, rows)}")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition, "ROWS_PER_RANGE", 10)
    monkeypatch.setattr(partition, "MOST_RANGES", MOST)


@pytest.mark.parametrize(
    ("buckets", "analyzed"),
    [
        ("key", True),
        ("hash", False),
        pytest.param("key", False, marks=pytest.mark.campaign),
        pytest.param("hash", True, marks=pytest.mark.campaign),
    ],
)
def test_a_large_table_has_few_ranges(
    database: str, spark: SparkSession, workspace: Path, buckets: str, analyzed: bool
) -> None:
    made(database, 1000)
    if analyzed:  # otherwise the number of rows is unknown
        sql(database, "ANALYZE log")
    with opened(config(database, log(buckets=buckets)), workspace, spark) as project:
        project.stream("log").prepare()
        sizes = [r.rows for r in ranges_of(workspace)]
        assert len(sizes) <= MOST and sum(sizes) == 1000
        assert max(sizes) <= 2 * 1000 / MOST
        sql(database, "DELETE FROM log WHERE id = 77")
        assert cost_of(project).dirty == 1


@pytest.mark.parametrize("buckets", ["key", "hash"])
def test_the_size_goes_by_the_rows_that_are_captured(
    database: str, spark: SparkSession, workspace: Path, buckets: str
) -> None:
    made(database, 1000)
    sql(database, "ANALYZE log")
    with opened(config(database, {**log(buckets=buckets), "where": "id <= 100"}), workspace, spark) as project:
        project.stream("log").prepare()
        sizes = [r.rows for r in ranges_of(workspace)]
        assert MOST / 2 <= len(sizes) <= MOST and sum(sizes) == 100


def test_a_size_that_the_user_names_holds(database: str, spark: SparkSession, workspace: Path) -> None:
    made(database, 1000)
    with opened(config(database, log(rows_per_range=20)), workspace, spark) as project:
        project.stream("log").prepare()
        assert len(ranges_of(workspace)) == 50


@pytest.mark.campaign
@pytest.mark.parametrize("taken", [True, False])
def test_growing_tables_have_larger_ranges_and_few(
    database: str, spark: SparkSession, workspace: Path, taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not taken:
        batch_layers.always(monkeypatch)
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 3)
    made(database, 40)
    copy = copy_of(database, "public.log", ["id"])
    with opened(config(database, log()), workspace, spark) as project:
        project.stream("log").prepare()
        sizes = []
        for rows in range(80, 561, 80):
            sql(database, f"{ROWS.format(rows - 39, rows)}; UPDATE log SET line = 'new {rows}' WHERE id % 37 = 3")
            cost_of(project)
            sql(database, ROWS.format(rows + 1, rows + 40))
            cost_of(project)
            sizes.append([r.rows for r in ranges_of(workspace)])
        assert min(map(len, sizes)) >= MOST / 2
        assert max(map(len, sizes)) <= compaction.TOO_MANY * MOST + 4  # with the ranges that polls added since
        assert max(sizes[-1]) > 4 * 10, "they have not grown with the table"
        copy.replay(batches(workspace / "out/changes", "log"))
        assert copy.differences() == []
        assert project.stream("log").verify() == []


def test_a_table_that_was_empty_at_prepare(database: str, spark: SparkSession, workspace: Path) -> None:
    made(database, 0)
    with opened(config(database, log()), workspace, spark) as project:
        project.stream("log").prepare()
        sql(database, ROWS.format(1, 1000))
        cost_of(project)
        assert len(ranges_of(workspace)) == MOST


@pytest.mark.parametrize("buckets", ["key", pytest.param("hash", marks=pytest.mark.campaign)])
def test_too_many_are_merged_though_none_is_small(
    database: str, spark: SparkSession, workspace: Path, buckets: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 1)
    batch_layers.always(monkeypatch)
    made(database, 300)
    with opened(config(database, log(buckets=buckets, rows_per_range=10)), workspace, spark) as project:
        project.stream("log").prepare()
        assert len(ranges_of(workspace)) >= 30
    with opened(config(database, log(buckets=buckets)), workspace, spark) as project:
        sql(database, "UPDATE log SET line = 'new' WHERE id = 7")
        cost_of(project)
        found = ranges_of(workspace)
        assert MOST <= len(found) <= compaction.TOO_MANY * MOST and sum(r.rows for r in found) == 300
        assert project.stream("log").verify() == []
