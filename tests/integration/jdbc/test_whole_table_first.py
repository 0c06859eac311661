"""After polls without changes one checksum over the whole table comes first, and ranges only if it differs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.sites.jdbc import take
from qbcd.spark.jdbc_tables import JdbcSession
from tests.support.jdbc_histories import History
from tests.support.jdbc_places import file_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from qbcd.api import Project


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of sums that polls have read: of the whole table, or of ranges."""
    found: list[str] = []
    texts = JdbcSession.texts

    def noted(self: JdbcSession, select: str) -> list[tuple[str | None, ...]]:
        if "SUM(" in select:
            found.append("ranges" if "GROUP BY" in select else "whole")
        return texts(self, select)

    monkeypatch.setattr(JdbcSession, "texts", noted)
    monkeypatch.setattr(take, "UNCHANGED_POLLS", 1)
    return found


def polled(project: Project, history: History, sums: list[str]) -> list[str]:
    """Poll, compare the replayed events with the table, and return the sums that were read."""
    before = len(sums)
    [outcome] = project.run(once=True).outcomes
    assert outcome.error is None
    history.replay()
    return sums[before:]


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["duckdb", "h2"])
def test_one_checksum_first(jdbc_spark: SparkSession, tmp_path: Path, sums: list[str], name: str) -> None:
    strategy = {"type": "id_rcs", "rows_per_range": 10}
    guards = {"max_delete_fraction": 1.0, "allow_empty": True}
    place = file_place(jdbc_spark, name, tmp_path)
    history = History(place, tmp_path, seed=9, baseline="events", strategy=strategy, guards=guards)
    history.change(80)
    q, key = history.place.quoted, max(history.rows)
    with history.open() as project:
        project.prepare()
        assert [polled(project, history, sums) for _ in range(2)] == [["ranges"], ["whole"]]
        assert "over the whole table first" in "".join(step.title for step in project.stream("orders").explain())
        assert project.stream("orders").ships_unchanged == "count and checksum of each range"
        history.rows[key] |= {"Name": "other"}
        history.place.execute(f"UPDATE {history.table} SET {q('Name')} = 'other' WHERE {q('id')} = {key}")
        assert [polled(project, history, sums) for _ in range(3)] == [["whole", "ranges"], ["ranges"], ["whole"]]
        history.rows.clear()
        history.place.execute(f"DELETE FROM {history.table}")
        assert [polled(project, history, sums) for _ in range(3)] == [["whole", "ranges"], ["ranges"], ["whole"]]
