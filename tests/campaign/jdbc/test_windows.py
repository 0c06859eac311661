"""Polls by timestamp: rows since the watermark travel, late commits within `lag` are found, sweeps find the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.errors import ConfigError, Refused
from qbcd.sites.jdbc import window
from qbcd.sites.jdbc.source_sql import clock_of
from tests.support.jdbc_histories import History
from tests.support.jdbc_places import JdbcPlace, file_place
from tests.support.oracle import events
from tests.support.project import opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = "CAST(LOCALTIMESTAMP AS TIMESTAMP)"
CLOCKS = {"duckdb": "CAST(now() AS TIMESTAMP)"}


class Stamped:
    """A table `Stamped` with a timestamp and a project with a stream of it."""

    def __init__(self, place: JdbcPlace, folder: Path, **options: Any) -> None:
        self.place, self.folder = place, folder
        self.now = CLOCKS.get(place.name, NOW)
        strategy = {"type": "ts", "timestamp": "at", "lag": "5m", "zone": "UTC", "rows_per_range": 20, **options}
        self.settings = History.settings_of(
            place, folder, "Stamped", "orders", strategy=strategy, where='"n" < 100', baseline="events"
        )
        place.execute(
            f"CREATE TABLE {place.quoted('Stamped')} ({place.quoted('id')} BIGINT NOT NULL PRIMARY KEY, "
            f"{place.quoted('n')} INTEGER, {place.quoted('at')} TIMESTAMP)",
            *(self.insert(i, i, "- INTERVAL '1' DAY") for i in range(60)),
        )

    def insert(self, key: int, n: int, shift: str = "") -> str:
        """Return the statement that inserts a row."""
        return f"INSERT INTO {self.place.quoted('Stamped')} VALUES ({key}, {n}, {self.now} {shift})"

    def update(self, key: int, n: int, *, stamped: bool = True) -> str:
        """Return the statement that updates a row."""
        at = f", {self.place.quoted('at')} = {self.now}" if stamped else ""
        table, q = self.place.quoted("Stamped"), self.place.quoted
        return f"UPDATE {table} SET {q('n')} = {n}{at} WHERE {q('id')} = {key}"

    def found(self, before: int) -> list[tuple[str, int, str | None]]:
        """Return op, key and reason of events after the first `before`."""
        read = events(self.folder / "out", "orders")[before:]
        return sorted((e["op"], e["key"]["id"], e["reason"]) for e in read)


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["duckdb", "h2", "hsqldb"])
def test_windows(jdbc_spark: SparkSession, tmp_path: Path, name: str) -> None:
    table = Stamped(file_place(jdbc_spark, name, tmp_path), tmp_path)
    q = table.place.quoted
    with opened(table.settings, tmp_path, jdbc_spark) as project:
        project.prepare()
        poll(project)
        [outcome] = poll(project)
        assert outcome.report is not None
        assert outcome.report.cost.rows_shipped == 0
        table.place.execute(
            table.insert(100, 1),
            table.insert(101, 2, "- INTERVAL '4' MINUTE"),  # it commits late
            table.update(3, 33),
            table.update(4, 400),  # it leaves the restriction
            table.update(5, 55, stamped=False),
            f"DELETE FROM {q('Stamped')} WHERE {q('id')} = 6",
        )
        [outcome] = poll(project)
        assert outcome.report is not None
        assert outcome.report.cost.rows_shipped == 4
        assert table.found(60) == [("c", 100, None), ("c", 101, None), ("d", 4, "restriction_exit"), ("u", 3, None)]
        poll(project)  # the same rows travel again
        assert len(table.found(60)) == 4
    table.settings["tables"][0]["strategy"]["deletes"] = {"every": "1ms"}
    with opened(table.settings, tmp_path, jdbc_spark) as project:
        poll(project)
        assert table.found(64) == [("d", 6, None), ("u", 5, None)]
        [checked] = project.verify()
        assert checked.differences is not None
        assert not list(checked.differences)


@pytest.mark.campaign
def test_a_clock_that_is_set_back(jdbc_spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows written meanwhile have times that no later window reads."""
    table = Stamped(file_place(jdbc_spark, "duckdb", tmp_path), tmp_path)
    back, right = "- INTERVAL '1' HOUR", table.now
    with opened(table.settings, tmp_path, jdbc_spark) as project:
        project.prepare()
        poll(project)
        table.now = f"({right} {back})"
        monkeypatch.setattr(
            window,
            "clock_of",
            lambda source: f"SELECT CAST(t.c0 AS TIMESTAMP) {back} AS c0 FROM ({clock_of(source)}) t",
        )
        for key in (100, 101):
            table.place.execute(table.insert(key, 1), table.update(key - 97, 33))
            [outcome] = poll(project)
            assert outcome.report is not None
            assert (window.SET_BACK in outcome.report.warnings) == (key == 100), (
                "the watermark is behind the clock again"
            )
        monkeypatch.setattr(window, "clock_of", clock_of)
        table.now = right
        table.place.execute(table.insert(102, 2))
        poll(project)
        assert [(op, key) for op, key, _ in table.found(60)] == [("c", 100), ("c", 101), ("c", 102), ("u", 3), ("u", 4)]
        [checked] = project.verify()
        assert checked.differences is not None
        assert not list(checked.differences)


@pytest.mark.campaign
def test_digests_of_another_version(jdbc_spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Stamped(file_place(jdbc_spark, "duckdb", tmp_path), tmp_path)
    with opened(table.settings, tmp_path, jdbc_spark) as project:
        with monkeypatch.context() as earlier:
            earlier.setattr("qbcd.sites.jdbc.poll.ENCODER", 0)
            project.prepare()
        with pytest.raises(Refused, match="computed by another version"):
            poll(project)


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("change", "said"),
    [({"lag": None}, "needs `lag`"), ({"zone": None}, "needs `zone`"), ({"timestamp": "n"}, "timestamp n is INTEGER")],
)
def test_refusals(jdbc_spark: SparkSession, tmp_path: Path, change: dict[str, Any], said: str) -> None:
    table = Stamped(file_place(jdbc_spark, "duckdb", tmp_path), tmp_path)
    strategy = table.settings["tables"][0]["strategy"] | change
    table.settings["tables"][0]["strategy"] = {name: value for name, value in strategy.items() if value is not None}
    with opened(table.settings, tmp_path, jdbc_spark) as project, pytest.raises(ConfigError, match=said):
        project.stream("orders").prepare()
