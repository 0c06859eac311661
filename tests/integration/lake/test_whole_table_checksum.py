"""One checksum over the whole table after polls without changes.

Its conditions and exactness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.model import Cost
from qbcd.ranges import partition
from qbcd.sites.lake import dirty_ranges
from qbcd.sites.lake.fetch import whole_table
from qbcd.strategies import IdRcs
from tests.support import sql
from tests.support.oracle import batches, copy_of, events
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, RANGE, POLLS = 1_200, 100, 3
# By name: the configuration of the stream in addition to its key.
CUTS: dict[str, dict[str, Any]] = {
    "key": {"strategy": {"type": "id_rcs", "buckets": "key"}},
    "hash": {"strategy": {"type": "id_rcs", "buckets": "hash"}},
    "page": {"strategy": {"type": "id_rcs", "buckets": "page"}},
    "digests": {"strategy": {"type": "id_rcs", "buckets": "key", "replica": "digest"}},
    "restricted": {"strategy": {"type": "id_rcs"}, "where": "n % 10 < 7"},
    "none": {"strategy": {"type": "id_rcs"}, "key": "none"},
    "tlcs": {"strategy": {"type": "tlcs", "checksums": "remote"}},
}
OTHERWISE: dict[str, dict[str, Any]] = {
    "some at a time": {"strategy": {"type": "id_rcs", "per_poll": 4}},
    "with a pace": {"strategy": {"type": "id_rcs", "pace": {"target": "100ms"}}},
    "no snapshot": {"strategy": {"type": "id_rcs", "consistency": "range"}},
    "sweeps": {"strategy": {"type": "ts", "replica": "spark", "timestamp": "at", "deletes": {"every": "1s"}}},
    "view": {"table": "public.v", "key": ["id"], "strategy": {"type": "id_rcs"}},
}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the reads of each poll: `sum` for the whole table, `ranges` for range checksums."""
    found: list[str] = []
    monkeypatch.setattr(whole_table, "POLLS", POLLS)
    monkeypatch.setattr(partition, "ROWS_PER_RANGE", RANGE)  # for strategies without the option
    for module, name, what in ((whole_table, "rows_unchanged", "sum"), (dirty_ranges, "checksums", "ranges")):
        monkeypatch.setattr(module, name, _recorded(found, what, getattr(module, name)))
    return found


def _recorded(found: list[str], what: str, ask: Callable[..., Any]) -> Callable[..., Any]:
    def recorded(*args: Any) -> Any:
        found.append(what)
        return ask(*args)

    return recorded


def _table(database: str) -> None:
    sql(database, "CREATE TABLE t (id int PRIMARY KEY, n int, v text, at timestamptz NOT NULL DEFAULT now())")
    sql(database, f"INSERT INTO t SELECT i, i, 'row ' || i FROM generate_series(1, {ROWS}) i")
    sql(database, "CREATE VIEW v AS SELECT * FROM t; ANALYZE t")


def _opened(database: str, folder: Path, spark: SparkSession, given: dict[str, Any]) -> qbcd.Project:
    strategy = {"rows_per_range": RANGE, **given["strategy"]}
    if strategy["type"] != "id_rcs" or strategy.get("per_poll"):
        del strategy["rows_per_range"]
    stream = {"name": "s", "table": "public.t", **given, "strategy": strategy}
    return opened(config(database, stream, source={"connections": 2}), folder, spark)


def _cost(project: qbcd.Project) -> Cost:
    [outcome] = poll(project, "s")
    assert outcome.report is not None
    return outcome.report.cost


# No count shows these changes; a sum of values would miss one of them.
CHANGES = [
    "UPDATE t SET v = CASE id WHEN 1 THEN 'row 1101' ELSE 'row 1' END WHERE id IN (1, 1101)",
    "UPDATE t SET id = 9000 WHERE id = 5",
    "DELETE FROM t WHERE id = 6; INSERT INTO t VALUES (8000, 6, 'row 6', now())",
]


@pytest.mark.parametrize("cut", CUTS)
def test_changes_after_polls_without_changes_are_found(
    cut: str, database: str, workspace: Path, spark: SparkSession, reads: list[str]
) -> None:
    _table(database)
    copy = copy_of(database, "public.t", ["id"], where=CUTS[cut].get("where", ""))
    with _opened(database, workspace, spark, CUTS[cut]) as project:
        project.stream("s").prepare()
        copy.take_baseline()
        rows = _cost(project).rows_scanned
    for change in CHANGES:
        with _opened(database, workspace, spark, CUTS[cut]) as project:  # the history of polls outlives the process
            for _ in range(POLLS):
                poll(project, "s")
            reads.clear()
            cost = _cost(project)
            assert reads == ["sum"]
            assert (cost.rows_scanned, cost.rows_shipped, cost.dirty, cost.spark) == (rows, 0, 0, False)
            sql(database, change)
            reads.clear()
            assert _cost(project).dirty
            assert reads == ["sum", "ranges"]
            reads.clear()
            poll(project, "s")
            assert reads == ["ranges"], "the last poll has found something"
    if cut not in ("none", "digests", "tlcs"):  # a copy needs old values
        copy.replay(batches(workspace / "out/changes", "s"))
        assert copy.differences() == []
    ops = [event["op"] for event in events(workspace / "out/changes", "s")]
    assert sorted(ops) == sorted("dc" * 4 if cut == "none" else "uudcdc")


@pytest.mark.parametrize("other", OTHERWISE)
def test_ranges_are_read_at_once_where_one_checksum_is_not_enough(
    other: str, database: str, workspace: Path, spark: SparkSession, reads: list[str]
) -> None:
    _table(database)
    with _opened(database, workspace, spark, OTHERWISE[other]) as project:
        project.stream("s").prepare()
        for _ in range(POLLS + 2):
            poll(project, "s")
        assert not _is_likely(project)
    assert "sum" not in reads


def test_polls_that_read_ranges_in_vain_do_not_count_as_unchanged(
    database: str, workspace: Path, spark: SparkSession, reads: list[str]
) -> None:
    """Nor are failed polls or those with changes.

    Rows that were changed and changed back are unchanged.
    """
    _table(database)
    with _opened(database, workspace, spark, CUTS["key"]) as project:
        project.stream("s").prepare()
        for number in range(POLLS + 1):
            sql(database, f"UPDATE t SET n = {number} WHERE id = 1; UPDATE t SET n = 1 WHERE id = 1")
            assert not _cost(project).dirty
        assert reads == ["ranges"] * POLLS + ["sum"]
        state = parts_of(project).open_stream("s").site.context.project
        assert [run.outcome for run in state.runs("s", POLLS)] == ["empty"] * POLLS
        last = state.runs("s", 1)[0]
        for doubt in ({"outcome": "failed"}, {"outcome": "ok"}, {"cost": {"dirty": 1}}):
            assert _is_likely(project)
            state.record_run(replace(last, **doubt))
            for _ in range(POLLS):
                assert not _is_likely(project)
                state.record_run(last)


def _is_likely(project: qbcd.Project) -> bool:
    site = parts_of(project).open_stream("s").site
    strategy = site.strategy(project.stream("s").plan())
    assert isinstance(strategy, IdRcs)
    assert not whole_table.is_likely(site.context, strategy, 1)  # its checksum is the table's
    return whole_table.is_likely(site.context, strategy, ROWS // RANGE)


def test_explain_shows_the_sum(database: str, workspace: Path, spark: SparkSession, reads: list[str]) -> None:
    _table(database)
    with _opened(database, workspace, spark, CUTS["hash"]) as project:
        project.stream("s").prepare()
        title = f"count and checksum of the whole table first, as the last {POLLS} polls found nothing, connection"
        for likely in (False, True):
            titles = [step.title for step in project.stream("s").explain() if step.title.startswith("count and")]
            assert titles == ([f"{title} {i} of 2" for i in (1, 2)] if likely else [])
            for _ in range(POLLS):
                poll(project, "s")
