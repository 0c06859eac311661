"""Columns that a table gets after `prepare`: ignored, reported, captured with or without their values, refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.errors import SchemaChanged
from tests.support import sql
from tests.support.oracle import events
from tests.support.places import over, place_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = """
CREATE TABLE t (id int PRIMARY KEY, v int, at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6));
INSERT INTO t (id, v) VALUES (1, 10), (2, 20), (3, 30), (4, 40)
"""
NEW = """
ALTER TABLE t ADD COLUMN w int;
ALTER TABLE t ADD COLUMN x varchar(9);
UPDATE t SET w = 5 WHERE id = 1; UPDATE t SET x = 'x', v = 21 WHERE id = 2; UPDATE t SET v = 31 WHERE id = 3
"""
TS = {"type": "ts", "timestamp": "at", "margin": "1ms", "lag": "2ms"}
STRATEGIES: dict[str, dict[str, Any]] = {
    "mds": {"strategy": "mds"},
    "id": {"strategy": "id"},
    "id_rcs": {"strategy": "id_rcs", "engine": "local"},
    "id_rcs_spark": {"strategy": "id_rcs", "engine": "spark"},
    "ts": {"strategy": TS},
    "ts_lake": {"strategy": {**TS, "replica": "spark"}},
}
BY_DEFAULT = ("mds", "id_rcs", "ts")


def made(url: str, name: str, folder: Path, policy: str, spark: SparkSession | None = None) -> qbcd.Project:
    table = {"name": name, "table": "t", "exclude": ["at"], "new_columns": policy, **STRATEGIES[name]}
    return opened(config(place_of(url).url, table), folder, spark)


def found(folder: Path, name: str) -> list[tuple[Any, ...]]:
    return sorted(
        (e["op"], e["key"]["id"], e["reason"], e["changed"], e["before"], e["after"])
        for e in events(folder / "out" / "changes", name)
    )


def row(number: int, v: int, w: int | None = None, x: str | None = None) -> dict[str, Any]:
    return {"id": number, "v": v, "w": w, "x": x}


@over("name", [n if n in BY_DEFAULT else pytest.param(n, marks=pytest.mark.campaign) for n in STRATEGIES], elsewhere=[])
def test_values_of_new_columns_are_events(name: str, database: str, workspace: Path, spark: SparkSession) -> None:
    sql(database, TABLE.replace("timestamp(6)", "timestamptz") if database.startswith("postgresql") else TABLE)
    with made(database, name, workspace, "add_with_values", spark) as project:
        project.stream(name).prepare()
        sql(database, NEW)
        poll(project, name)
        assert found(workspace, name) == [
            ("u", 1, "new_column", ["w"], row(1, 10), row(1, 10, 5)),
            ("u", 2, None, ["v", "x"], row(2, 20), row(2, 21, None, "x")),
            ("u", 3, None, ["v"], row(3, 30), row(3, 31)),
        ]
        sql(database, "UPDATE t SET w = 7, at = CURRENT_TIMESTAMP(6) WHERE id = 4")
        time.sleep(0.05)  # past the margin
        poll(project, name)
        assert project.stream(name).verify() == []
    assert len(found(workspace, name)) == 4


@over("name", ["mds", pytest.param("id_rcs", marks=pytest.mark.campaign)], elsewhere=[])
def test_new_columns_are_captured_silently(name: str, database: str, workspace: Path) -> None:
    sql(database, TABLE)
    with made(database, name, workspace, "add") as project:
        project.stream(name).prepare()
        sql(database, NEW)
        poll(project, name)
        assert [event[:4] for event in found(workspace, name)] == [("u", 2, None, ["v"]), ("u", 3, None, ["v"])]
        assert project.stream(name).verify() == []


def test_new_columns_may_be_ignored_reported_or_refused(database: str, workspace: Path) -> None:
    sql(database, TABLE)
    policies = ("ignore", "report", "refuse")
    tables = [{"name": p, "table": "t", "exclude": ["at"], "strategy": "mds", "new_columns": p} for p in policies]
    with opened(config(place_of(database).url, *tables), workspace) as project:
        for policy in policies:
            project.stream(policy).prepare()
        sql(database, NEW)
        outcomes = {o.stream: o for o in poll(project, "ignore", "report")}
        with pytest.raises(
            SchemaChanged, match=r"column 'w' was added .*exclude: \[w\], or capture it by new_columns: add"
        ):
            poll(project, "refuse")
    warnings = {name: outcome.report.warnings for name, outcome in outcomes.items() if outcome.report is not None}
    assert warnings["ignore"] == []
    assert [w.partition(" was added")[0] for w in warnings["report"]] == ["column 'w'", "column 'x'"]
    for policy in ("ignore", "report"):
        assert [event[:4] for event in found(workspace, policy)] == [("u", 2, None, ["v"]), ("u", 3, None, ["v"])]
