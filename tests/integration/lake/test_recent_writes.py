"""Rows that were written recently according to the source.

Read by key, checked against counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.catalog.source import Session
from qbcd.model import Statement
from qbcd.polling.outcome import Outcome
from qbcd.ranges.row_selection import is_by_key
from qbcd.sites.lake import checksums
from qbcd.sites.lake.commit import WrittenBatch
from qbcd.sites.lake.fetch import recent_writes, streamed
from qbcd.sites.lake.fetch_plan import FetchPlan
from qbcd.sites.lake.notes import RecentNote
from qbcd.strategies import IdRcs
from tests.support import connect, sql
from tests.support.forced_leaves import force, looks_up, remembered
from tests.support.oracle import batches, copy_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, RANGE = 4_000, 500
FORCED = {"LEAST_ROWS": 0, "MOST_SHARE": 1.0}  # of :mod:`qbcd.sites.lake.fetch.recent_writes`: for tables of any size
# By name: type of the key's first column, SQL from the number of a row to its value, and the kind of ranges.
KEYS = {
    "uuid": ("uuid", "md5(i::text)::uuid", "hash"),
    "bigint": ("bigint", "i", "key"),
    "text": ('text COLLATE "C"', "CASE WHEN i = 1 THEN '' ELSE 'k' || i || '''' END", "hash"),
    "composite": ("numeric", "i / 10.0", "key"),
}
SOME = "(SELECT k FROM t ORDER BY md5(k::text || '{seed}') LIMIT {n})"
UPDATES = f"UPDATE t SET n = n + 1 WHERE k IN {SOME}"
INSERTS = "INSERT INTO t SELECT k, 0, v || 'again' FROM gone WHERE k NOT IN (SELECT k FROM t) LIMIT {n}"
DELETES = f"DELETE FROM t WHERE k IN {SOME}"


def _table(database: str, kind: str, key: str, columns: tuple[str, ...] = ("k",)) -> None:
    """Make a table in which one row of ten is missing; the test can insert those."""
    sql(database, f"CREATE TABLE t (k {kind}, n int, v text, part int DEFAULT 7, PRIMARY KEY ({', '.join(columns)}))")
    sql(database, f"CREATE TABLE gone AS SELECT ({key})::{kind} AS k, i::text AS v FROM generate_series(1, {ROWS}) i")
    sql(database, "INSERT INTO t SELECT k, 0, v FROM gone WHERE v::int % 10 <> 0")
    sql(database, "ANALYZE")


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[FetchPlan]:
    """Return a list of the fetch plans of streamed rows, for tables of any size."""
    for name, value in FORCED.items():
        monkeypatch.setattr(recent_writes, name, value)
    found: list[FetchPlan] = []
    compare = streamed.compare

    def watched(*args: Any) -> WrittenBatch:
        found.extend(arg for arg in args if isinstance(arg, FetchPlan))
        return compare(*args)

    monkeypatch.setattr(streamed, "compare", watched)
    return found


@contextmanager
def _prepared(
    database: str, workspace: Path, spark: SparkSession, buckets: str, columns: tuple[str, ...] = ("k",), **options: Any
) -> Iterator[qbcd.Project]:
    """Yield a project with the stream; at the end, replay of its events must give the table."""
    strategy = {"type": "id_rcs", "rows_per_range": RANGE, "buckets": buckets, **options}
    stream = {"name": "s", "table": "public.t", "strategy": strategy}
    with opened(config(database, stream), workspace, spark) as project:
        copy = copy_of(database, "public.t", list(columns))
        project.stream("s").prepare()
        copy.take_baseline()
        yield project
        copy.replay(batches(workspace / "out/changes", "s"))
        assert copy.differences() == []
        assert project.stream("s").verify() == []


def _polled(database: str, project: qbcd.Project, *changes: str) -> Outcome:
    for change in changes:
        sql(database, change)
    [outcome] = poll(project, "s")
    return outcome


def _recent_note(project: qbcd.Project) -> RecentNote:
    row = parts_of(project).open_stream("s").site.context.row()
    assert row is not None
    return RecentNote.from_checkpoint(row.checkpoint)


@pytest.mark.parametrize("name", KEYS)
def test_rows_are_looked_up(
    name: str, database: str, workspace: Path, spark: SparkSession, plans: list[FetchPlan]
) -> None:
    """From the first poll on, if rows are written anywhere and few or none are deleted."""
    kind, key, buckets = KEYS[name]
    columns = ("k", "part") if name == "composite" else ("k",)
    _table(database, kind, key, columns)
    with _prepared(database, workspace, spark, buckets, columns) as project:
        least = "UPDATE t SET n = -1 WHERE k = (SELECT k FROM t ORDER BY k LIMIT 1)"
        first = _polled(database, project, UPDATES.format(seed=1, n=40), INSERTS.format(n=12), least)
        assert first.report is not None
        assert first.report.cost.rows_shipped == plans[0].fetched == first.report.headers[0].size >= 52
        assert len(plans[0].asked) > 4
        assert all(map(is_by_key, plans[0].asked))
        second = _polled(database, project, UPDATES.format(seed=2, n=60), DELETES.format(seed=3, n=1))
        assert second.report is not None
        assert [is_by_key(r) for r in plans[1].asked].count(False) == 1, "all rows of the range that lost one"
        assert [looks_up(plan) for plan in plans] == [True, True]
        assert _recent_note(project).pause == 0


@pytest.mark.parametrize("name", ["uuid", "bigint"])
def test_deleted_rows_are_recognized_by_their_digests(
    name: str, database: str, workspace: Path, spark: SparkSession, plans: list[FetchPlan]
) -> None:
    """Ranges that lost one row each are not read, except one of them if no other range is read."""
    _table(database, *KEYS[name][:2])
    with _prepared(database, workspace, spark, KEYS[name][2]) as project:
        _polled(database, project, UPDATES.format(seed=1, n=1), DELETES.format(seed=2, n=3))
        outcome = _polled(database, project, DELETES.format(seed=3, n=2))
        by_digest = [sorted(r.only.deleted_digest is not None for r in plan.asked if r.only) for plan in plans]
        assert any(True in one for one in by_digest)
        assert outcome.report is not None
        assert outcome.report.headers[0].counts == {"d": 2}
        assert outcome.report.cost.rows_shipped < 2 * RANGE


def test_many_ranges_that_lost_a_row_are_read_whole(
    database: str, workspace: Path, spark: SparkSession, plans: list[FetchPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_writes, "MOST_LOST", 2)
    monkeypatch.setattr(recent_writes, "USEFUL", 1.0)
    _table(database, "bigint", "i")
    with _prepared(database, workspace, spark, "key") as project:
        _polled(database, project, "DELETE FROM t WHERE k IN (1, 1001, 2001, 3001)")
        [plan] = plans
        by_digest = [r.only is not None and r.only.deleted_digest is not None for r in plan.asked]
        assert by_digest == [True, True, False, False]


def test_leaves_are_not_read_where_rows_are_looked_up(
    database: str, workspace: Path, spark: SparkSession, plans: list[FetchPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaves would be read after such changes if whole ranges were fetched."""
    force(monkeypatch)
    _table(database, "bigint", "i")
    with _prepared(database, workspace, spark, "key") as project:
        _polled(database, project, UPDATES.format(seed=1, n=40))
        assert remembered(project, "s") is None
        assert len(plans) == 1
        monkeypatch.setattr(recent_writes, "LEAST_ROWS", ROWS)
        _polled(database, project, UPDATES.format(seed=2, n=40))
        assert remembered(project, "s") is not None
        assert len(plans) == 1


def test_a_row_deleted_while_another_is_inserted(
    database: str, workspace: Path, spark: SparkSession, plans: list[FetchPlan]
) -> None:
    """The source lists the new row, and the range has not shrunk.

    It is read whole, and so for a while.
    """
    _table(database, "bigint", "i")
    with _prepared(database, workspace, spark, "key") as project:
        _polled(database, project, "DELETE FROM t WHERE k = 5; INSERT INTO t VALUES (10, 0, 'new')")
        assert [looks_up(plan) for plan in plans] == [True]
        assert _recent_note(project).pause == recent_writes.PAUSE
        for left in reversed(range(recent_writes.PAUSE)):
            _polled(database, project, UPDATES.format(seed=left, n=5))
            assert _recent_note(project).pause == left
        assert len(plans) == 1
        _polled(database, project, UPDATES.format(seed=9, n=5))
        assert [looks_up(plan) for plan in plans] == [True, True]


def test_rows_that_change_without_being_written(
    database: str, workspace: Path, spark: SparkSession, plans: list[FetchPlan]
) -> None:
    """No row of a range was written recently, but it differs: all of it is read."""
    sql(database, "CREATE TYPE mood AS ENUM ('sad', 'glad')")
    sql(database, "CREATE TABLE t (k bigint PRIMARY KEY, n int, v mood DEFAULT 'sad')")
    sql(
        database,
        f"INSERT INTO t SELECT i, 0, CASE WHEN i % {RANGE} = 1 THEN 'glad'::mood END FROM generate_series(1, {ROWS}) i",
    )
    with _prepared(database, workspace, spark, "key") as project:
        renamed = "ALTER TYPE mood RENAME VALUE 'glad' TO 'merry'"
        outcome = _polled(database, project, renamed, UPDATES.format(seed=1, n=2))
        assert outcome.report is not None
        assert outcome.report.cost.rows_shipped == ROWS
        assert outcome.report.headers[0].size >= ROWS / RANGE
        assert plans == []


def test_a_transaction_that_commits_late(
    database: str, workspace: Path, spark: SparkSession, plans: list[FetchPlan]
) -> None:
    """Check that the watermark stays before a transaction that was open at the last poll.

    Its writes are older than that poll, which could not see them.
    """
    _table(database, "bigint", "i")
    with _prepared(database, workspace, spark, "key") as project, connect(database) as late:
        late.cursor().execute("UPDATE t SET n = 7 WHERE k IN (1, 2001)")
        _polled(database, project, UPDATES.format(seed=1, n=20))
        late.commit()
        outcome = _polled(database, project, UPDATES.format(seed=2, n=20))
        assert outcome.report is not None
        assert [looks_up(plan) for plan in plans] == [True, True]
        assert outcome.report.cost.rows_shipped == plans[1].fetched >= 22


def test_the_read_of_recent_writes_stops_at_too_many_rows(
    database: str, workspace: Path, spark: SparkSession, plans: list[FetchPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The read of recent rows stops as soon as they are too many, even with short statements."""
    asked: list[str] = []
    monkeypatch.setattr(recent_writes, "MOST_KEYS", 10)
    monkeypatch.setattr(checksums, "FETCHED_PER_SECOND", RANGE / 60)
    rows = Session.rows

    def watched(session: Session, statement: Any) -> list[Any]:
        asked.append(getattr(statement, "sql", statement))
        return rows(session, statement)

    monkeypatch.setattr(Session, "rows", watched)
    _table(database, "bigint", "i")
    with _prepared(database, workspace, spark, "key", pace={"target": "1m"}) as project:
        _polled(database, project, "UPDATE t SET n = n + 1")
        assert sum("xmin" in text for text in asked) == 1
        assert plans == []


def test_small_tables_and_ranges_with_many_changes_are_read_whole(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small tables have no read of recent writes.

    After a poll with most rows changed, there is none either.
    """
    asked: list[Statement] = []
    statement = IdRcs.recent_keys

    def watched(*args: Any, **kwargs: Any) -> Statement:
        asked.append(statement(*args, **kwargs))
        return asked[-1]

    monkeypatch.setattr(IdRcs, "recent_keys", watched)
    _table(database, "bigint", "i")
    with _prepared(database, workspace, spark, "key") as project:
        _polled(database, project, UPDATES.format(seed=1, n=10))
        assert asked == []
        monkeypatch.setattr(recent_writes, "LEAST_ROWS", 0)
        for _ in range(2):
            _polled(database, project, "UPDATE t SET n = n + 1 WHERE k > 3500")
            assert _recent_note(project).share > recent_writes.MOST_SHARE
        assert len(asked) == 1


def test_statements_to_the_source(database: str, workspace: Path, spark: SparkSession) -> None:
    """`explain` has the statement once there is a watermark."""
    _table(database, "uuid", "md5(i::text)::uuid")
    with _prepared(database, workspace, spark, "hash") as project:
        [statement] = [step.statement.sql for step in project.stream("s").explain() if "written since" in step.title]
        assert f"'{_recent_note(project).since}'" in statement
        assert sql(database, statement) == []
