"""Streams of one project and the places of their sinks: `check` and `prepare` refuse what delivery would refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import qbcd
from qbcd.check import Finding
from tests.support import sql
from tests.support.project import config, opened


def data(url: str, tables: dict[str, str], sinks: dict[str, Any]) -> dict[str, Any]:
    listed = [{"name": name, "table": table, "strategy": "mds", "sinks": list(sinks)} for name, table in tables.items()]
    return config(url, *listed, sinks=sinks)


def errors(project: qbcd.Project, *streams: str) -> list[Finding]:
    return [finding for finding in project.check(streams) if finding.error]


def outcomes(project: qbcd.Project) -> dict[str, str]:
    """Prepare all streams; return the error of each."""
    return {one.stream: str(one.error or "") for one in project.prepare()}


@pytest.mark.parametrize(
    ("ddl", "tables", "sink", "table"),
    [
        pytest.param(
            'CREATE TABLE "Orders" (id int PRIMARY KEY); CREATE TABLE orders (id int PRIMARY KEY)',
            {"upper": 'public."Orders"', "lower": "public.orders"},
            "duckdb:///copy.duckdb",
            "public_orders",
            marks=pytest.mark.campaign,
        ),
        (
            "CREATE SCHEMA a; CREATE SCHEMA a_b; CREATE TABLE a.b_c (id int PRIMARY KEY); "
            "CREATE TABLE a_b.c (id int PRIMARY KEY)",
            {"first": "a.b_c", "second": "a_b.c"},
            "sqlite:///copy.db",
            "a_b_c",
        ),
    ],
    ids=["case", "dots"],
)
def test_two_streams_with_one_table_are_named(
    database: str, workspace: Path, ddl: str, tables: dict[str, str], sink: str, table: str
) -> None:
    sql(database, ddl)
    first, second = tables
    with opened(data(database, tables, {"copy": {"type": "database", "url": sink}}), workspace) as project:
        found = {one.stream: str(one.error) for one in errors(project)}
        assert f"stream {second} would write to the same place: table " in found[first]
        assert f"stream {first} would write to the same place: table " in found[second]
        assert table in found[first].lower()
        assert "write another `table` of the sink, such as '{stream}'" in found[first]
        assert errors(project, first) == []
        refused = outcomes(project)
        assert sum("would write to the same place" in text for text in refused.values()) >= 1


def test_the_table_of_a_stream_without_rows_is_taken_too(database: str, workspace: Path) -> None:
    """The record in the target says so, for another process or project; its stream has had no batch yet."""
    sql(database, "CREATE SCHEMA a; CREATE SCHEMA a_b; CREATE TABLE a.b_c (id int PRIMARY KEY)")
    sql(database, "CREATE TABLE a_b.c (id int PRIMARY KEY)")
    sink = {"copy": {"type": "database", "url": "sqlite:///copy.db"}}
    with opened(data(database, {"first": "a.b_c"}, sink), workspace) as project:
        assert outcomes(project) == {"first": ""}
        assert errors(project) == []
    with opened(data(database, {"second": "a_b.c"}, sink), workspace) as project:
        (found,) = errors(project)
        assert "sink copy: table a_b_c belongs to sink copy of stream first (" in str(found.error)
        assert outcomes(project)["second"] == str(found.error)


def test_two_sinks_with_one_folder_are_refused(database: str, workspace: Path) -> None:
    """Equal paths are refused in the configuration; a link is seen only here."""
    sql(database, "CREATE TABLE t (id int PRIMARY KEY)")
    workspace.mkdir(exist_ok=True)
    (workspace / "link").symlink_to(workspace, target_is_directory=True)
    sinks = {"a": {"type": "jsonl", "path": "out/x"}, "b": {"type": "parquet", "path": "link/out/x"}}
    with opened(data(database, {"s": "public.t"}, sinks), workspace) as project:
        found = errors(project)
        assert ["sinks a and b would write to the same place" in str(one.error) for one in found] == [True, False]
        assert "sinks b and a" in str(found[1].error)
        assert "would write to the same place" in outcomes(project)["s"]
    assert not (workspace / "out").exists()


def test_prepare_refuses_what_the_first_batch_would_meet(database: str, workspace: Path) -> None:
    """Nothing is prepared then, and nothing is left in the target; the fix is enough."""
    sql(database, "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a')")
    sql(database, "CREATE SCHEMA copy; CREATE TABLE copy.public_t (id int PRIMARY KEY, v text NOT NULL)")
    sink = {"copy": {"type": "database", "url": database, "schema": "copy"}}
    with opened(data(database, {"s": "public.t"}, sink), workspace) as project:
        (found,) = errors(project)
        assert str(found.error) == (
            "stream s: sink copy: column v of table public_t is NOT NULL, and the stream's can be NULL "
            "(let the column accept NULL)"
        )
        assert outcomes(project)["s"] == str(found.error)
        assert project.status()[0].state == "not prepared"
        assert sql(database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'copy'") == [(1,)]
        sql(database, "ALTER TABLE copy.public_t ALTER v DROP NOT NULL")
        assert errors(project) == []
        assert outcomes(project) == {"s": ""}
        assert sql(database, "SELECT * FROM copy.public_t") == [(1, "a")]


def test_a_sink_that_cannot_be_reached_stops_no_prepare(database: str, workspace: Path) -> None:
    sql(database, "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    sinks = {
        "gone": {"type": "database", "url": "postgresql://nobody@127.0.0.1:1/x"},
        "changes": {"type": "jsonl", "path": "out"},
    }
    with opened(data(database, {"s": "public.t"}, sinks), workspace) as project:
        (done,) = project.prepare()
        assert done.error is None
        assert done.report is not None
        assert any(w.startswith("it is not known if sink gone takes the batches: ") for w in done.report.warnings)
        assert list(done.report.failures) == ["gone"]


def test_a_new_column_that_a_sink_cannot_have_stops_the_poll_before_its_commit(database: str, workspace: Path) -> None:
    sql(database, "CREATE TABLE t (id int PRIMARY KEY)")
    sink = {"copy": {"type": "database", "url": "sqlite:///copy.db"}}
    table = {"name": "s", "table": "public.t", "strategy": "mds", "sinks": ["copy"], "new_columns": "add"}
    with opened(config(database, table, sinks=sink), workspace) as project:
        assert outcomes(project) == {"s": ""}
        sql(database, 'ALTER TABLE t ADD "ID" int; INSERT INTO t VALUES (1, 2)')
        (outcome,) = project.run(once=True).outcomes
        assert "table public_t would have the columns id and ID, which are one name in SQLite" in str(outcome.error)
        sql(database, 'ALTER TABLE t RENAME "ID" TO other')
        (outcome,) = project.run(once=True).outcomes
        assert outcome.error is None
        assert outcome.report is not None
        assert not outcome.report.failures
