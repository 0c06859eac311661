"""Rows in no order of their keys: checksums by one scan equal those by the index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.api import Project, parts_of
from qbcd.connectors.postgresql.scans import searched
from qbcd.model import Column, KeyRange, Travel
from qbcd.strategies import IdRcs
from qbcd.strategies.partitions import key
from tests.support import sql
from tests.support.forced_leaves import force
from tests.support.oracle import batches, copy_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, RANGE = 3_000, 200
INDEXED, SCANNED = 0.0, 2.0  # of `partitions.key.FOLLOWED`: never, always
# By name: the key's type, and SQL from the number of a row to its value.
KEYS = {
    "smallint": ("smallint", "i - 1500"),
    "int": ("int", "i * 7 - 1500"),
    "bigint": ("bigint", "(i - 1500)::bigint * 1099511627777"),
    "bigint at its ends": (
        "bigint",
        "CASE i WHEN 1 THEN -9223372036854775808 WHEN 2 THEN 9223372036854775807 ELSE i END",
    ),
    "date": ("date", "date '1970-01-01' + i - 1500"),
    "timestamp": ("timestamp", "timestamp '2000-01-01' + (i - 1500) * interval '1 second 1 microsecond'"),
    "timestamptz": ("timestamptz", "timestamptz '2000-01-01 00:00Z' + (i - 1500) * interval '1 day'"),
    "uuid": ("uuid", "md5(i::text)::uuid"),
    "domain": ("whole", "i - 1500"),
}
COMPOSITE = ("bigint", "i / 3")


def _table(database: str, kind: str, key: str, more_key: str = "") -> None:
    """Make a table with rows in random order, and its statistics."""
    sql(database, "CREATE DOMAIN whole AS int")
    sql(database, f'CREATE TABLE t ("K" {kind}, n int, PRIMARY KEY ("K"{more_key}))')
    sql(database, f"INSERT INTO t SELECT ({key})::{kind}, i FROM generate_series(1, {ROWS}) i ORDER BY md5(i::text)")
    sql(database, "ANALYZE t")


def _opened(
    database: str, workspace: Path, spark: SparkSession, strategy: dict[str, Any] | None = None, **source: Any
) -> Any:
    strategy = {"rows_per_range": RANGE, **(strategy or {"type": "id_rcs", "buckets": "key"})}
    return opened(
        config(database, {"name": "s", "table": "public.t", "strategy": strategy}, source=source), workspace, spark
    )


def _pass(project: Project, *, of_leaves: bool) -> tuple[list[str], dict[int, tuple[int, int, set[str]]]]:
    """Run a pass; return its statements, and by range the sums of their results."""
    site = parts_of(project).open_stream("s").site
    strategy = site.strategy(project.stream("s").plan())
    assert isinstance(strategy, IdRcs)
    with site.context.reading() as conn:
        known: list[KeyRange] = [*site.context.store.ranges(conn, "s")]
    assert len(known) >= ROWS // RANGE
    found: dict[int, tuple[int, int, set[str]]] = {}
    statements = [one.sql for own in strategy.partitioning.passes(known, 2, leaves=of_leaves) for one in own]
    with site.context.source.read("s") as session:
        for row in (row for statement in statements for row in session.rows(statement)):
            assert row.n == row.digests
            count, checksum, texts = found.get(row.range_id, (0, 0, set()))
            more = set(row.leaves.split()) if of_leaves else set()
            found[row.range_id] = count + int(row.n), checksum + int(row.checksum), texts | more
    assert found.keys() == {r.range_id for r in known}  # also the ranges without rows
    return statements, found


@pytest.mark.parametrize("name", KEYS)
def test_a_scan_gives_what_the_index_gives(
    name: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    _table(database, *KEYS[name])
    with _opened(database, workspace, spark) as project:
        project.stream("s").prepare()
        sql(database, f'DELETE FROM t WHERE "K" < (SELECT "K" FROM t ORDER BY 1 OFFSET {3 * RANGE} LIMIT 1)')
        whole = name in ("smallint", "int", "bigint", "bigint at its ends", "domain")
        for of_leaves in (False, True):
            monkeypatch.setattr(key, "FOLLOWED", INDEXED)
            by_index, expected = _pass(project, of_leaves=of_leaves)
            monkeypatch.setattr(key, "FOLLOWED", SCANNED)
            by_scan, found = _pass(project, of_leaves=of_leaves)
            scans = whole or not of_leaves
            assert [("width_bucket" in s) for s in by_index + by_scan] == [False, False, scans, scans]
            assert found == expected
            assert sum(count for count, _, _ in found.values()) == ROWS - 3 * RANGE
            assert all(bool(texts) is (of_leaves and count > 0) for count, _, texts in found.values())


@pytest.mark.parametrize(
    "strategy",
    [
        {"type": "ts", "replica": "spark", "timestamp": "at", "margin": "1ms", "deletes": {"every": "1h"}},
        {"type": "tlcs", "checksums": "remote"},
    ],
    ids=str,
)
def test_sums_of_other_strategies_add_up(
    strategy: dict[str, Any], database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each connection sums its own part of the table, also where sums are of keys only."""
    _table(database, *KEYS["int"])
    sql(database, "ALTER TABLE t ADD at timestamptz NOT NULL DEFAULT now(); ANALYZE t")
    with _opened(database, workspace, spark, strategy, connections=2) as project:
        project.stream("s").prepare()
        monkeypatch.setattr(key, "FOLLOWED", INDEXED)
        _, expected = _pass(project, of_leaves=False)
        monkeypatch.setattr(key, "FOLLOWED", SCANNED)
        by_scan, found = _pass(project, of_leaves=False)
        assert ["width_bucket" in s for s in by_scan] == [True, True]
        assert found == expected


def test_statistics_decide(database: str, workspace: Path, spark: SparkSession) -> None:
    _table(database, *KEYS["bigint"])
    with _opened(database, workspace, spark) as project:
        project.stream("s").prepare()
        assert all("width_bucket" in s for s in _pass(project, of_leaves=False)[0])
        sql(database, "CLUSTER t USING t_pkey; ANALYZE t")
        assert not any("width_bucket" in s for s in _pass(project, of_leaves=False)[0])


@pytest.mark.parametrize("option", [{"per_poll": 3}, {"pace": {"target": "100ms"}}, {"consistency": "range"}], ids=str)
def test_some_ranges_at_a_time_are_read_by_index(
    option: dict[str, Any], database: str, workspace: Path, spark: SparkSession
) -> None:
    _table(database, *KEYS["int"])
    with _opened(database, workspace, spark, {"type": "id_rcs", "buckets": "key", **option}) as project:
        project.stream("s").prepare()
        assert not any("width_bucket" in s for s in _pass(project, of_leaves=False)[0])


def test_ranges_that_do_not_adjoin_are_an_error() -> None:
    key = Column("k", "int4", "int4", False, "", "typed", Travel("text"))
    first, second = KeyRange(1, None, ("3",)), KeyRange(2, ("4",), None)
    for asked in ([], [first, second], [second, first]):
        with pytest.raises(ValueError, match="do not adjoin"):
            searched(key, "t.k", asked)


@pytest.mark.parametrize("key", ["composite", "text"])
def test_other_keys_are_read_by_index(key: str, database: str, workspace: Path, spark: SparkSession) -> None:
    _table(database, *(("text", "md5(i::text)", "") if key == "text" else (*COMPOSITE, ", n")))
    with _opened(database, workspace, spark) as project:
        project.stream("s").prepare()
        assert not any("width_bucket" in s for s in _pass(project, of_leaves=False)[0])


@pytest.mark.parametrize("connections", [1, 3])
@pytest.mark.parametrize("in_leaves", [False, True])
def test_scans_find_the_changes(
    connections: int,
    in_leaves: bool,
    database: str,
    workspace: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    went = force(monkeypatch) if in_leaves else []
    _table(database, *KEYS["int"])
    with _opened(database, workspace, spark, connections=connections) as project:
        copy = copy_of(database, "public.t", ["K"])
        project.stream("s").prepare()
        copy.take_baseline()
        asked = _pass(project, of_leaves=False)[0]
        assert all("width_bucket" in s for s in asked)
        assert len(asked) == 2
        for turn in range(4):
            sql(database, f'UPDATE t SET n = n + 1 WHERE "K" % 41 = {turn}')
            sql(database, f'DELETE FROM t WHERE "K" % 83 = {turn}')
            sql(database, f"INSERT INTO t SELECT 30000 + {turn} * 100 + i, i FROM generate_series(1, 5) i")
            [changed] = poll(project, "s")
            assert changed.report is not None
            assert changed.report.header is not None
            [unchanged] = poll(project, "s")
            assert unchanged.report is not None
            assert unchanged.report.header is None
        assert any(went) is in_leaves
        copy.replay(batches(workspace / "out/changes", "s"))
        assert copy.differences() == []
