"""A project in Python: refusals after it is closed, and names of streams."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.errors import ConfigError, Refused
from tests.support.places import Place, over
from tests.support.project import config, opened

USES: list[Callable[[qbcd.Project], object]] = [
    lambda project: project.check(),
    lambda project: project.status(),
    lambda project: project.left(),
    lambda project: project.run(once=True),
    lambda project: project.stream("t1"),
    lambda project: project.to_reset("t1"),
    lambda project: parts_of(project).state,
    lambda project: parts_of(project).spark,
    lambda project: project.__enter__(),
]


def project_of(place: Place, workspace: Path) -> qbcd.Project:
    table = {"table": place.table("t"), "strategy": "mds", "baseline": "events"}
    return opened(config(place.url, *({"name": name, **table} for name in ("t1", "t2"))), workspace)


def fill(place: Place) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, n integer)")
    place.insert("t", [(i, 0) for i in range(3)])


def test_a_closed_project_refuses_all_work(place: Place, workspace: Path) -> None:
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'qbcd%'"
    fill(place)
    project = project_of(place, workspace)
    stream = project.stream("t1")
    stream.prepare()
    polled = stream.poll()
    batch = next(polled)
    project.close()
    project.close()  # closing it again is allowed
    handles: list[Callable[[], object]] = [
        stream.prepare,
        stream.verify,
        stream.reset,
        stream.plan,
        stream.explain,
        stream.predict,
        stream.ddl,
        stream.latest,
        lambda: stream.retire("python"),
        lambda: stream.waiting_for("python"),
        lambda: next(stream.poll()),
        lambda: next(polled),
        lambda: batch.events,
    ]
    for use in [*handles, *(lambda use=use: use(project) for use in USES)]:
        with pytest.raises(Refused, match="the project is closed"):
            use()
    assert place.sql(sessions) == [(0,)]
    with project_of(place, workspace) as again:
        assert next(again.stream("t1").poll()).seq == batch.seq, "a batch was taken that nobody had asked beyond"


@over(elsewhere=[])
def test_a_text_names_one_stream(place: Place, workspace: Path) -> None:
    fill(place)
    with project_of(place, workspace) as project:
        project.stream("t1").prepare()
        assert [outcome.stream for outcome in project.run("t1", once=True).outcomes] == ["t1"]
        assert [one.stream for one in project.status("t1")] == ["t1"]
        assert {finding.stream for finding in project.check("t1")} == {"", "t1"}
        with pytest.raises(ConfigError, match='there is no stream "t"'):
            project.run("t", once=True)
        wrong: Any = 3
        for use in (project.run, project.status, project.check, project.stream, project.to_reset):
            with pytest.raises(ConfigError, match="3 is not the name of a stream"):
                use(wrong)
        polled = project.stream("t1").poll()
        batch = next(polled)
        with pytest.raises(ConfigError, match="sinks cannot write to oracle yet"):
            batch.apply("oracle://user@db.example/shop")
        with pytest.raises(ConfigError, match="apply has no option 'modes'"):
            batch.apply("duckdb:///a.duckdb", modes="log")
        assert len(list(batch.rows())) == 3


def test_a_comparison_that_is_closed(workspace: Path) -> None:
    (workspace / "a.csv").write_text("id,n\n1,2\n")
    (workspace / "b.csv").write_text("id,n\n1,3\n")
    wrong: Any = [3]
    with pytest.raises(ConfigError, match="3 is not the name of a column"):
        qbcd.diff(workspace / "a.csv", workspace / "b.csv", key=wrong)
    with qbcd.diff(workspace / "a.csv", workspace / "b.csv", key="id") as found:
        assert len(list(found)) == 1
        os.mkfifo(workspace / "pipe")
        with pytest.raises(ConfigError, match="pipe cannot be written: not a regular file"):
            found.write(workspace / "pipe")
    with pytest.raises(Refused, match="comparison is closed"):
        list(found)
