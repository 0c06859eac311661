"""An unchanged source: no event, no fetch, no Spark job, no file, no number, no version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.state import StreamRow
from qbcd.status import stream_status
from tests.support import no_sessions, sql, wait_until
from tests.support.oracle import events
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMS = ("mds", "id_rcs")
TABLE = """
CREATE TABLE t (id int PRIMARY KEY, a text, b numeric, c timestamptz, d jsonb, e int[]);
INSERT INTO t SELECT i, 'x' || i, i / 3.0, '2020-01-01', '{}', array[i] FROM generate_series(1, 300) i
"""


@pytest.fixture
def data(database: str) -> dict[str, Any]:
    """Return both strategies over 300 rows, 43 ranges."""
    sql(database, TABLE)
    kinds: list[Any] = ["mds", {"type": "id_rcs", "rows_per_range": 7}]
    return config(
        database, *({"name": n, "table": "public.t", "strategy": s} for n, s in zip(STREAMS, kinds, strict=True))
    )


def jobs(spark: SparkSession) -> int:
    """Return the number of jobs that the session's scheduler has run so far."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Return every file below `folder` except the state database, with size and time."""
    found = (p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("state.db"))
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in found}


def row(project: qbcd.Project, name: str) -> StreamRow:
    found = parts_of(project).open_stream(name).site.context.row()
    assert found is not None
    return found


def kept(row: StreamRow) -> tuple[Any, ...]:
    return row.version, row.epoch, row.last_batch_seq, row.next_range_id, row.checkpoint


def rows_written(url: str) -> int:
    """Return the number of rows of outboxes and table that the server has ever written."""
    wait_until(lambda: no_sessions(url), what="the end of sessions, which tell what they wrote")
    query = (
        "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables WHERE relname ~ '^(t|outbox|replica)'"
    )
    return int(sql(url, query)[0][0])


def test_nothing_happens(data: dict[str, Any], database: str, workspace: Path, spark: SparkSession) -> None:
    with opened(data, workspace, spark) as project:
        for name in STREAMS:
            project.stream(name).prepare()
        sql(database, "UPDATE t SET a = 'y' WHERE id = 5")
        poll(project, *STREAMS)
        poll(project, *STREAMS)  # clean up before the comparison
        before = {n: kept(row(project, n)) for n in STREAMS}
        found, ran, wrote = files(workspace), jobs(spark), rows_written(database)
        assert (len(events(workspace / "out/changes", "mds")), before["mds"][2], before["id_rcs"][2]) == (1, 1, 1)
        for _ in range(3):
            for outcome in poll(project, *STREAMS):
                assert outcome.report is not None
                cost = outcome.report.cost
                assert (outcome.report.header, outcome.report.delivered) == (None, 0), outcome.stream
                assert (cost.dirty, cost.rows_shipped, cost.bytes_shipped, cost.spark) == (0, 0, 0, False)
        assert jobs(spark) == ran
        assert {n: kept(row(project, n)) for n in STREAMS} == before
        assert files(workspace) == found
        assert rows_written(database) == wrote
        spark.range(1).count()
        assert jobs(spark) > ran  # the counter counts


def test_spark_is_not_even_started(data: dict[str, Any], database: str, workspace: Path, spark: SparkSession) -> None:
    with opened(data, workspace, spark) as project:
        for name in STREAMS:
            project.stream(name).prepare()
    always = {**data, "defaults": {**data["defaults"], "engine": "spark"}}
    with opened(always, workspace) as project:
        for _ in range(2):
            assert [o.report and o.report.header for o in poll(project, *STREAMS)] == [None, None]
        assert not parts_of(project).spark.started
        assert [list(project.stream(n).poll()) for n in STREAMS] == [[], []]
        assert not parts_of(project).spark.started
        sql(database, "DELETE FROM t WHERE id = 9")
        poll(project, *STREAMS)
        assert parts_of(project).spark.started


def test_an_audit_compares_no_checksums(database: str, workspace: Path, spark: SparkSession) -> None:
    """It reads all rows independently of the poll.

    The report has the ranges that the poll found.
    """
    sql(
        database,
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT i, i FROM generate_series(1, 1000) i",
    )
    stream = {
        "name": "s",
        "table": "public.t",
        "audit": {"every": "1ms"},
        "strategy": {"type": "id_rcs", "buckets": "hash", "rows_per_range": 100},
    }
    with opened(config(database, stream), workspace, spark) as project:
        project.stream("s").prepare()
        [outcome] = poll(project, "s")
        assert outcome.report is not None
        cost = outcome.report.cost
        assert stream_status(parts_of(project).open_stream("s")).audited_ago is not None
        assert (cost.ranges, cost.dirty, cost.rows_scanned) == (16, 0, 2000)
