"""Sink `database` in a project: filled by the baseline, equal to the source after polls, refused where it cannot be."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

import qbcd
from qbcd.errors import ConfigError
from tests.support import sql
from tests.support.project import config, opened

TABLE = (
    "CREATE TABLE t (id int PRIMARY KEY, v text, at timestamptz); "
    "INSERT INTO t SELECT i, 'old', '2024-01-01Z' FROM generate_series(1, 4) i"
)
MIRROR = {"copy": {"type": "database", "url": "duckdb:///copy.duckdb"}}
HISTORY = {"history": {"type": "database", "url": "sqlite:///history.db", "mode": "scd2", "columns_like": "dbt"}}


def data(url: str, sinks: dict[str, Any], **table: Any) -> dict[str, Any]:
    plain = {"name": "s", "table": "public.t", "strategy": "mds", "sinks": list(sinks)}
    return config(url, {**plain, **table}, sinks=sinks)


def copied(folder: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(folder / "copy.duckdb")) as connection:
        return connection.execute("SELECT id, v FROM public_t ORDER BY id").fetchall()


def poll(project: qbcd.Project) -> None:
    for outcome in project.run(once=True).outcomes:
        assert outcome.error is None
        assert outcome.report is not None
        assert not outcome.report.failures


def test_a_mirror_and_a_history_follow_the_source(database: str, workspace: Path) -> None:
    sql(database, TABLE)
    with opened(data(database, {**MIRROR, **HISTORY}), workspace) as project:
        project.stream("s").prepare()
        assert copied(workspace) == sql(database, "SELECT id, v FROM t ORDER BY id")
        sql(database, "UPDATE t SET v = 'new' WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (5, 'x')")
        poll(project)
        assert copied(workspace) == sql(database, "SELECT id, v FROM t ORDER BY id")
        levels = {(finding.subject, finding.level) for finding in project.check("s") if "sink" in finding.subject}
        assert levels == {("sink copy", "ok"), ("sink history", "ok")}
    rows = sqlite3.connect(workspace / "history.db").execute(
        "SELECT id, v, dbt_valid_to IS NULL, dbt_is_deleted, batch_seq FROM public_t ORDER BY id, dbt_valid_from"
    )
    assert rows.fetchall()[:3] == [(1, "old", 0, 0, 1), (1, "new", 1, 0, 2), (2, "old", 0, 1, 1)]


def test_a_consumer_in_python_applies_its_batches(database: str, workspace: Path) -> None:
    sql(database, TABLE)
    with opened(data(database, {}, baseline="events"), workspace) as project:
        project.stream("s").prepare()
        sql(database, "DELETE FROM t WHERE id = 2")
        for _ in range(2):
            for batch in project.stream("s").poll():
                batch.apply(f"duckdb:///{workspace / 'copy.duckdb'}", "public_t")
                batch.apply(f"duckdb:///{workspace / 'copy.duckdb'}", "public_t")
        assert copied(workspace) == sql(database, "SELECT id, v FROM t ORDER BY id")


def test_a_delete_that_a_foreign_key_forbids_stops_its_stream_only(database: str, workspace: Path) -> None:
    """Updates of the same stream pass, and the batch is delivered once the owner has made room."""
    sql(database, TABLE + "; CREATE TABLE w AS SELECT * FROM t; ALTER TABLE w ADD PRIMARY KEY (id)")
    sinks = {"copy": {"type": "database", "url": database, "table": "copy_{table}"}}
    tables = [{"name": f"s_{t}", "table": f"public.{t}", "strategy": "mds", "sinks": ["copy"]} for t in "tw"]
    with opened(config(database, *tables, sinks=sinks), workspace) as project:
        project.prepare()
        sql(database, "CREATE TABLE note (id int PRIMARY KEY, t int CONSTRAINT note_t REFERENCES copy_t)")
        sql(database, "INSERT INTO note VALUES (1, 1), (2, 2); UPDATE t SET v = 'new'; UPDATE w SET v = 'new'")
        poll(project)
        sql(database, "DELETE FROM t WHERE id IN (2, 3); UPDATE w SET v = 'newer'")
        found = {one.stream: one for one in project.run(once=True).outcomes}
        assert found["s_w"].report is not None and found["s_t"].report is not None
        assert not found["s_w"].report.failures
        assert "foreign key note_t of table note refuses the delete of 1 row of table copy_t, such as id 2" in str(
            found["s_t"].report.failures["copy"]
        )
        copied = "SELECT v, count(*) FROM copy_{} GROUP BY v"
        assert [sql(database, copied.format(t)) for t in "tw"] == [[("new", 4)], [("newer", 4)]]
        sql(database, "DELETE FROM note WHERE t = 2")
        poll(project)
        assert sql(database, "SELECT id FROM copy_t ORDER BY id") == [(1,), (4,)]
        assert sql(database, "SELECT id FROM note") == [(1,)]


@pytest.mark.parametrize(
    ("sink", "table", "what"),
    [
        (MIRROR, {"baseline": "silent"}, r"sink copy \(mode mirror\) shows all rows"),
        (MIRROR, {"strategy": "id_rcs", "key": "none"}, r"sink copy \(mode mirror\) finds rows by their key"),
        (
            {"feed": {**MIRROR["copy"], "mode": "log", "envelope": "changes"}},
            {"strategy": {"type": "id_rcs", "replica": "digest"}},
            r"sink feed \(envelope changes\) needs old values",
        ),
        ({"m": {"type": "database", "url": "oracle://x/y"}}, {}, "sinks cannot write to this database yet"),
        ({"m": {"type": "database", "url": "postgresql://u:pw@db.example/y"}}, {}, "literal password in the url"),
        ({"m": {**MIRROR["copy"], "envelope": "changes"}}, {}, "`envelope` is for mode log"),
        ({"m": {**MIRROR["copy"], "initial": "next"}}, {}, "a sink of mode mirror shows all rows"),
        ({"m": {**MIRROR["copy"], "table": "{tabel}"}}, {}, "there is an unknown placeholder"),
    ],
)
def test_what_cannot_work_is_refused_in_the_configuration(sink: Any, table: Any, what: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=what) as error:
        qbcd.Project.from_dict(data("postgresql://u@127.0.0.1:1/x", sink, **table), base_dir=tmp_path)
    assert "pw" not in str(error.value)
