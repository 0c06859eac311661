"""Rows of leaves in the lake wing.

Those that are looked up by key are compared as they arrive, others and many through a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.errors import SourceError, UnsupportedType
from qbcd.model import Statement
from qbcd.sites import Files
from qbcd.sites.lake.fetch import streamed
from qbcd.strategies import IdRcs
from tests.support import sql
from tests.support.forced_leaves import force
from tests.support.oracle import batches, copy_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, RANGE = 8_000, 2_000
STRATEGY = {"type": "id_rcs", "rows_per_range": RANGE}
TABLE = {"name": "s", "table": "public.t", "strategy": STRATEGY}
CHANGE = """
UPDATE t SET n = n + 1 WHERE id % 400 = 7;
DELETE FROM t WHERE id % 400 = {round};
INSERT INTO t SELECT 100000 * {round} + 200 + i, i, 'new' FROM generate_series(1, 3) AS i
"""


def _table(database: str) -> None:
    sql(database, f"CREATE TABLE t AS SELECT i AS id, 0 AS n, md5(i::text) AS v FROM generate_series(1, {ROWS}) AS i")
    sql(database, "ALTER TABLE t ADD PRIMARY KEY (id); ANALYZE t")


def _written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which polls append the kinds of files that they write."""
    kinds: list[str] = []
    write = Files.write

    def watched(self: Files, engine: Any, rows: Any, fields: Any, kind: str, *args: Any, **how: Any) -> Any:
        kinds.append(kind)
        return write(self, engine, rows, fields, kind, *args, **how)

    monkeypatch.setattr(Files, "write", watched)
    return kinds


def _warm(project: qbcd.Project, database: str) -> None:
    """Poll twice with changes: from then on leaf checksums are read and stored."""
    project.stream("s").prepare()
    for _ in range(2):
        sql(database, "UPDATE t SET n = n + 1 WHERE id % 400 = 7")
        poll(project, "s")


FEW, MANY = streamed.FEW_BYTES, 0  # bytes up to which rows are few
STREAMED, STAGED = ["batch"], ["passing", "batch"]  # kinds of files of a poll


@pytest.mark.parametrize(
    ("sink", "buckets", "few", "expected"),
    [
        ("jsonl", "key", FEW, STREAMED),
        pytest.param("jsonl", "hash", MANY, STAGED, marks=pytest.mark.campaign),
        pytest.param("jsonl", "hash", FEW, STAGED, marks=pytest.mark.campaign),
        pytest.param("jsonl", "key", MANY, STAGED, marks=pytest.mark.campaign),
        pytest.param("parquet", "key", FEW, STREAMED, marks=pytest.mark.campaign),  # a typed sink
    ],
)
def test_few_rows_are_compared_as_they_arrive(
    sink: str,
    buckets: str,
    few: int,
    expected: list[str],
    database: str,
    workspace: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_leaves, kinds = force(monkeypatch), _written(monkeypatch)
    monkeypatch.setattr(streamed, "FEW_BYTES", few)
    _table(database)
    table = {"name": "s", "table": "public.t", "strategy": {**STRATEGY, "buckets": buckets}}
    sinks = {"changes": {"type": "jsonl", "path": "out/changes"}, "typed": {"type": sink, "path": "out/typed"}}
    with opened(config(database, table, sinks=sinks), workspace, spark) as project:
        copy = copy_of(database, "public.t", ["id"])
        _warm(project, database)
        copy.take_baseline()
        seen = len(batches(workspace / "out/changes", "s"))
        for number in (1, 2):
            del kinds[:]
            sql(database, CHANGE.format(round=number))
            (outcome,) = poll(project, "s")
            assert kinds == expected
            assert outcome.report is not None
            cost, rows = outcome.report.cost, 20 + 20 + 3
            assert 0 < cost.rows_shipped < ROWS / 4
            assert cost.bytes_shipped >= 30 * cost.rows_shipped
            assert outcome.report.header is not None
            assert outcome.report.header.size == rows
        copy.replay(batches(workspace / "out/changes", "s")[seen:])
        assert copy.differences() == []
        assert project.stream("s").verify() == []
    assert in_leaves == [False, True, True]


def test_a_value_that_no_typed_sink_takes(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused by name while it arrives, nothing of the batch stays, and no change is lost."""
    force(monkeypatch)
    _table(database)
    sql(database, "ALTER TABLE t ADD day date DEFAULT DATE '2024-02-29'")
    sinks = {"typed": {"type": "parquet", "path": "out/typed"}, "changes": {"type": "jsonl", "path": "out/changes"}}
    with opened(config(database, TABLE, sinks=sinks), workspace, spark) as project:
        copy = copy_of(database, "public.t", ["id"])
        _warm(project, database)
        copy.take_baseline()
        kinds, seen = _written(monkeypatch), len(batches(workspace / "out/changes", "s"))
        sql(database, CHANGE.format(round=1) + "; UPDATE t SET day = 'infinity' WHERE id = 2807")
        files = set(workspace.rglob("batch-*"))
        words = r"column 'day' has an infinite date in the row with key \(id\) = \(2807\).*types: \{day: text\}"
        with pytest.raises(UnsupportedType, match=words):
            poll(project, "s")
        assert (kinds, set(workspace.rglob("batch-*"))) == (STREAMED, files)
        sql(database, "UPDATE t SET day = NULL WHERE id = 2807")
        poll(project, "s")
        assert kinds == STREAMED * 2
        copy.replay(batches(workspace / "out/changes", "s")[seen:])
        assert copy.differences() == []


@pytest.mark.campaign
def test_generated_code_is_the_same_at_every_poll(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise Java would compile it again, which takes longer than the rest of such a job."""
    in_leaves = force(monkeypatch)
    _table(database)
    sql(
        database, "ALTER TABLE t ADD w smallint DEFAULT 1, ADD x real, ADD y boolean, ADD z bytea"
    )  # columns that no other test has
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    compiled = jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    counts = [compiled.getCount()]
    with opened(config(database, {**TABLE, "engine": "spark"}), workspace, spark) as project:
        _warm(project, database)
        for _ in range(5):
            sql(database, "UPDATE t SET n = n + 1 WHERE id % 400 = 7")
            poll(project, "s")
            counts.append(compiled.getCount())
    assert in_leaves == [False] + [True] * 5
    assert counts[1] > counts[0], "code is generated for so many rows"
    assert counts[3:] == counts[3:4] * 3, "the third poll has several layers for the first time"


def test_a_source_that_fails_while_its_rows_are_compared(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure is reported as the source's.

    Nothing of the batch stays, and the next poll finds all.
    """
    force(monkeypatch)
    images = IdRcs.images

    def failing(self: IdRcs, *args: Any, **how: Any) -> Statement:
        return Statement(f"SELECT q.* FROM ({images(self, *args, **how).sql}) AS q WHERE 1 / (q.c0 - q.c0) = 1")

    _table(database)
    with opened(config(database, TABLE), workspace, spark) as project:
        copy = copy_of(database, "public.t", ["id"])
        _warm(project, database)
        copy.take_baseline()
        seen = len(batches(workspace / "out/changes", "s"))
        sql(database, CHANGE.format(round=1))
        with monkeypatch.context() as broken:
            broken.setattr(IdRcs, "images", failing)
            with pytest.raises(SourceError, match="division by zero"):
                poll(project, "s")
        poll(project, "s")
        copy.replay(batches(workspace / "out/changes", "s")[seen:])
        assert copy.differences() == []
