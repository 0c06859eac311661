"""Rows whose keys were recovered from leaf checksums: read by key, in source and replica."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.polling.outcome import Outcome
from qbcd.ranges import key_recovery
from qbcd.sites.lake.commit import WrittenBatch
from qbcd.sites.lake.fetch import streamed
from qbcd.sites.lake.fetch_plan import FetchPlan
from qbcd.sites.lake.site import LakeSite
from tests.support import sql
from tests.support.forced_leaves import force, looks_up
from tests.support.oracle import batches, copy_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, RANGE = 10_000, 2_000
TABLE = {"name": "s", "table": "public.t", "strategy": {"type": "id_rcs", "rows_per_range": RANGE}}
# By name: type of the key, and SQL from the number of a row to its key.
KEYS = {
    "smallint": ("smallint", "i - 5000"),
    "integer": ("integer", "i * 3 - 15000"),
    "bigint": ("bigint", "i + 9223372036854765807"),
    "domain": ("counted", "i * 2"),
}
CHANGES = """
UPDATE t SET n = n + 1 WHERE k IN (SELECT k FROM t ORDER BY md5(k::text || '{seed}') LIMIT 60);
DELETE FROM t WHERE k IN (SELECT k FROM t ORDER BY md5(k::text || 'd{seed}') LIMIT 20);
INSERT INTO t SELECT k, -1, 'new' FROM gone WHERE k NOT IN (SELECT k FROM t)
ORDER BY md5(k::text || 'i{seed}') LIMIT 15;
UPDATE t SET n = n + 1 WHERE k IN (SELECT k FROM t ORDER BY k DESC LIMIT 3);
"""


def _table(database: str, kind: str, key: str) -> None:
    """Make a table in which one row of ten is missing; the test can insert those."""
    sql(database, "CREATE DOMAIN counted AS bigint CHECK (VALUE > -1)")
    sql(database, f"CREATE TABLE t (k {kind} PRIMARY KEY, n int, v text)")
    sql(database, f"INSERT INTO t SELECT {key}, 0, md5(i::text) FROM generate_series(1, {ROWS}) i WHERE i % 10 <> 0")
    sql(database, f"CREATE TABLE gone AS SELECT ({key})::{kind} AS k FROM generate_series(10, {ROWS}, 10) AS i")
    sql(database, "ANALYZE")


def _fetch_plans(monkeypatch: pytest.MonkeyPatch) -> list[FetchPlan]:
    """Return a list to which polls append the fetch plans of streamed rows."""
    plans: list[FetchPlan] = []
    compare = streamed.compare

    def watched(*args: Any) -> WrittenBatch:
        plans.extend(arg for arg in args if isinstance(arg, FetchPlan))
        return compare(*args)

    monkeypatch.setattr(streamed, "compare", watched)
    return plans


@contextmanager
def _prepared(database: str, workspace: Path, spark: SparkSession) -> Iterator[qbcd.Project]:
    """Yield a project with the stream; at the end, replay of its events must give the table."""
    with opened(config(database, TABLE), workspace, spark) as project:
        copy = copy_of(database, "public.t", ["k"])
        project.stream("s").prepare()
        copy.take_baseline()
        yield project
        copy.replay(batches(workspace / "out/changes", "s"))
        assert copy.differences() == []
        assert project.stream("s").verify() == []


def _polled(database: str, project: qbcd.Project, polls: int) -> list[Outcome]:
    """Poll `polls` times, each time after changes, and return the outcomes."""
    outcomes: list[Outcome] = []
    for seed in range(polls):
        sql(database, CHANGES.format(seed=seed))
        outcomes += poll(project, "s")
    return outcomes


@pytest.mark.campaign
@pytest.mark.parametrize(
    "name", ["bigint", *(pytest.param(name, marks=pytest.mark.campaign) for name in ("smallint", "integer", "domain"))]
)
def test_rows_are_looked_up(
    name: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few unchanged rows travel; ranges with an open end have unknown keys and are read by leaf."""
    force(monkeypatch, traced=False)
    plans = _fetch_plans(monkeypatch)
    _table(database, *KEYS[name])
    with _prepared(database, workspace, spark) as project:
        outcomes = _polled(database, project, 4)
    last = outcomes[-1].report
    assert last is not None
    assert last.cost.rows_shipped == plans[-1].fetched < plans[-1].rows
    assert [looks_up(plan) for plan in plans] == [True, True], "the third and fourth poll; none was done again"
    for plan in plans:
        traced = [r for r in plan.asked if key_recovery.is_traced(r)]
        assert [r for r in plan.asked if r not in traced] == [r for r in plan.asked if r.lo is None or r.hi is None]
        assert len(traced) == len(plan.asked) - 2 > 1
        changed, rows = 95 * len(traced) / len(plan.asked), sum(r.rows for r in traced)
        assert sum(len(list(key_recovery.keys(r))) for r in traced) < min(4 * changed, rows / 10)


@pytest.mark.parametrize("wrong", ["another row's", pytest.param("none's", marks=pytest.mark.campaign)])
def test_keys_that_were_recovered_wrongly(
    wrong: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their sums differ from the source's counts: the rows of all dirty leaves are read instead."""
    force(monkeypatch)
    plans, changed_key, rng = _fetch_plans(monkeypatch), key_recovery.changed_key, Random(3)

    def mistaken(leaf: int, rows: int, digests: int, weighted: int, lo: int, hi: int) -> int | None:
        found = changed_key(leaf, rows, digests, weighted, lo, hi)
        if found is None or rng.random() > 0.1:
            return found
        if wrong == "none's":
            return next((k for k in range(lo, hi) if k % 3 and k % 256 == leaf), None)
        return found + 256 if found + 256 < hi else found - 256

    monkeypatch.setattr(key_recovery, "changed_key", mistaken)
    _table(database, "bigint", "i * 3")
    with _prepared(database, workspace, spark) as project:
        last = _polled(database, project, 3)[-1].report
        site = parts_of(project).open_stream("s").site
        assert isinstance(site, LakeSite)
        assert len(list(site.context.files.root.glob("batch-*"))) == 3, "the wrong comparison left a batch"
    assert last is not None
    assert [looks_up(plan) for plan in plans] == [True], "of the third poll; it read the rows of leaves into a stage"
    assert last.cost.rows_shipped > plans[0].fetched


def test_statements_to_the_source(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recovered keys are looked up by the index of the key: nothing scans the table."""
    force(monkeypatch)
    plans = _fetch_plans(monkeypatch)
    _table(database, "bigint", "i")
    with _prepared(database, workspace, spark) as project:
        _polled(database, project, 3)
        (plan,) = plans
        asked = [r for r in plan.asked if key_recovery.is_traced(r)]
        site = parts_of(project).open_stream("s").site
        assert isinstance(site, LakeSite)
        text = site.context.strategy(project.stream("s").plan()).images(asked, typed=False).sql
    explained = "\n".join(row[0] for row in sql(database, f"EXPLAIN {text}"))
    assert re.search(r"Index Scan using t_pkey on t\b.*\n\s+Index Cond: \(k = r\.k\)", explained)
    assert "Seq Scan on t" not in explained
