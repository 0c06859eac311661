"""Ranges of a key and hash buckets, added up by the database or here: all variants give the table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.sites.lake.replica.files import PASSING, Files, FileSet
from qbcd.strategies import WholeRows
from tests.support.jdbc_histories import History
from tests.support.jdbc_places import file_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from qbcd.api import Project


def polled(project: Project, history: History) -> Any:
    """Poll, compare the replayed events with the table, and return the cost."""
    [outcome] = project.run(once=True).outcomes
    assert outcome.error is None
    history.replay()
    assert outcome.report is not None
    return outcome.report.cost


@pytest.mark.campaign
@pytest.mark.parametrize("checksums", ["source", "here"])
@pytest.mark.parametrize("shape", ["key", "hash", "none", "composite", "readers"])
@pytest.mark.parametrize("name", ["h2", "duckdb"])
def test_a_growing_table(jdbc_spark: SparkSession, tmp_path: Path, name: str, shape: str, checksums: str) -> None:
    keys: dict[str, Any] = {"none": {"key": "none"}, "composite": {"key": ["id", "Name"]}}
    options: dict[str, Any] = keys.get(shape, {})
    strategy = {"type": "id_rcs", "rows_per_range": 10, **({"buckets": "hash"} if shape == "hash" else {})}
    history = History(
        file_place(jdbc_spark, name, tmp_path), tmp_path, seed=5, baseline="events", strategy=strategy, **options
    )
    history.settings["sources"]["shop"]["jdbc"] = {"checksums": checksums}
    if shape == "readers":
        history.settings["sources"]["shop"]["connections"] = 3
    if shape == "composite":
        history.words = [word for word in history.words if word is not None]
    history.change(20)
    with history.open() as project:
        project.prepare()
        project.run(once=True)
        history.replay()
        ranges = []
        for number in (1, 200, 2, 300, 5, 1, 100):
            history.change(number)
            cost = polled(project, history)
            ranges.append(cost.ranges)
            assert cost.rows_shipped <= len(history.rows) * (1 if checksums == "source" else 2)
        assert ranges[-1] > 2 * ranges[0], "a table that grows has more ranges"
        unchanged = polled(project, history)
        assert unchanged.rows_shipped == (0 if checksums == "source" else len(history.rows))
        if checksums == "source":
            history.change(1)
            assert polled(project, history).rows_shipped < len(history.rows) / 2
        [checked] = project.verify()
        assert checked.differences is not None
        assert not list(checked.differences)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of files that polls have written, temporary ones included."""
    found: list[str] = []
    write = Files.write

    def noted(self: Files, engine: Any, rows: Any, fields: Any, kind: str, leased: Any, source: Any = None) -> FileSet:
        found.append(kind)
        return write(self, engine, rows, fields, kind, leased, source)

    monkeypatch.setattr(Files, "write", noted)
    return found


@pytest.mark.campaign
@pytest.mark.parametrize("shape", ["key", "hash", "snapshot"])
def test_rows_are_added_up_before_any_is_written(
    jdbc_spark: SparkSession, tmp_path: Path, written: list[str], shape: str
) -> None:
    more = {"hash": {"buckets": "hash"}, "snapshot": {"consistency": "snapshot"}}
    strategy = {"type": "id_rcs", "rows_per_range": 10, **more.get(shape, {})}
    history = History(
        file_place(jdbc_spark, "duckdb", tmp_path), tmp_path, seed=8, baseline="events", strategy=strategy
    )
    history.settings["sources"]["shop"]["jdbc"] = {"checksums": "here"}
    history.change(1500)

    def shares(project: Project, changes: int) -> tuple[float, list[str]]:
        written.clear()
        history.change(changes)
        cost = polled(project, history)
        return cost.rows_shipped / len(history.rows), sorted(set(written))

    with history.open() as project:
        project.prepare()
        polled(project, history)
        assert WholeRows(project.stream("orders").plan()).consistency == ("range" if shape == "key" else "statement")
        if shape == "snapshot":
            assert shares(project, 0) == (1, [PASSING])
            return
        assert shares(project, 0) == (1, [])
        share, kinds = shares(project, 1)
        assert PASSING in kinds
        assert 1 < share < 1.2 if shape == "key" else share == 2
        assert shares(project, 0) == ((1, []) if shape == "key" else (1, [PASSING]))
        assert shares(project, 0) == (1, [])
        share, kinds = shares(project, 400)
        assert share > 1.9
        share, kinds = shares(project, 400)
        assert share == 1, "after many changes all rows are read at once"
        assert PASSING in kinds
