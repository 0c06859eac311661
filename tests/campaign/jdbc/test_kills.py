"""kill -9 at every step of a poll, guards and refusals, and a writer between two reads: nothing is lost or doubled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.common import hooks
from qbcd.errors import GuardTripped, UnsafeKey
from tests.faults.child import kill_at
from tests.support.jdbc_histories import History
from tests.support.jdbc_places import file_place
from tests.support.oracle import events
from tests.support.project import opened, poll

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

POINTS = (
    "after_lease",
    "after_checksums",
    "after_fetch",
    "after_stage",
    "before_commit",
    "after_commit",
    "before_publish",
    "mid_publish",
    "after_publish",
    "after_acknowledge",
)
PLACES = (("h2", "source"), ("duckdb", "source"), ("duckdb", "here"))


def scene(spark: SparkSession, folder: Path, name: str, checksums: str, **options: Any) -> History:
    """Return a history whose stream is called s, with small ranges."""
    strategy = {"type": "id_rcs", "rows_per_range": 15}
    history = History(
        file_place(spark, name, folder), folder, seed=3, **{"baseline": "events", "strategy": strategy, **options}
    )
    history.settings["tables"][0]["name"] = "s"
    history.settings["sources"]["shop"]["jdbc"] = {"checksums": checksums}
    history.stream = "s"
    history.change(60)
    return history


@pytest.mark.campaign
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(("name", "checksums"), PLACES)
def test_kill(jdbc_spark: SparkSession, tmp_path: Path, name: str, checksums: str, point: str) -> None:
    history = scene(jdbc_spark, tmp_path, name, checksums)
    with opened(history.settings, tmp_path, jdbc_spark) as project:
        project.prepare()
        poll(project)
        history.replay()
    history.change(80)  # ranges outgrow their size
    kill_at(point, history.settings, tmp_path, jdbc_spark)
    with opened(history.settings, tmp_path, jdbc_spark) as project:
        poll(project)
        history.replay()
        history.change(5)
        poll(project)
        history.replay()
        [checked] = project.verify()
        assert checked.differences is not None
        assert not list(checked.differences)
        found = [event["event_id"] for event in events(tmp_path / "out", "s")]
        assert len(found) == len(set(found))


@pytest.mark.campaign
@pytest.mark.parametrize("point", ["after_stage", "before_commit", "after_commit"])
def test_kill_of_prepare(jdbc_spark: SparkSession, tmp_path: Path, point: str) -> None:
    history = scene(jdbc_spark, tmp_path, "duckdb", "source")
    kill_at(point, history.settings, tmp_path, jdbc_spark, task="prepare")
    with opened(history.settings, tmp_path, jdbc_spark) as project:
        project.prepare()
        poll(project)
        history.replay()


@pytest.fixture
def between() -> Iterator[dict[str, Any]]:
    """An action that runs once between the sums and the rows of a poll."""
    held: dict[str, Any] = {}

    def act() -> None:
        action = held.pop("action", None)
        if action is not None:
            action()

    hooks.register("after_checksums", act)
    yield held
    hooks.register("after_checksums", None)


@pytest.mark.campaign
@pytest.mark.parametrize(("name", "checksums"), PLACES)
def test_writers_between_sums_and_rows(
    jdbc_spark: SparkSession, tmp_path: Path, between: dict[str, Any], name: str, checksums: str
) -> None:
    history = scene(jdbc_spark, tmp_path, name, checksums)
    with opened(history.settings, tmp_path, jdbc_spark) as project:
        project.prepare()
        for number in (3, 20, 1):
            history.change(number)
            between["action"] = lambda: history.change(15)
            poll(project)
        poll(project)  # the writers pause
        history.replay()
        [checked] = project.verify()
        assert checked.differences is not None
        assert not list(checked.differences)


@pytest.mark.campaign
@pytest.mark.parametrize(("name", "checksums"), PLACES)
def test_guards(jdbc_spark: SparkSession, tmp_path: Path, name: str, checksums: str) -> None:
    history = scene(jdbc_spark, tmp_path, name, checksums, guards={"max_delete_fraction": 0.3})
    with opened(history.settings, tmp_path, jdbc_spark) as project:
        project.prepare()
        poll(project)
        history.replay()
        most = sorted(history.rows)[: len(history.rows) // 2]
        for key in most:
            del history.rows[key]
        keys = ", ".join(map(str, most))
        history.place.execute(f"DELETE FROM {history.table} WHERE {history.place.quoted('id')} IN ({keys})")
        before = len(events(tmp_path / "out", "s"))
        with pytest.raises(GuardTripped, match=f"would deliver {len(most)} deletes"):
            poll(project)
        assert len(events(tmp_path / "out", "s")) == before
        poll(project, "s", accept_deletes=True)
        history.replay()


@pytest.mark.campaign
@pytest.mark.parametrize(("name", "checksums"), PLACES)
@pytest.mark.parametrize("wrong", ["occurs 2 times", "is NULL"])
def test_a_key_that_is_none(jdbc_spark: SparkSession, tmp_path: Path, name: str, checksums: str, wrong: str) -> None:
    history = scene(jdbc_spark, tmp_path, name, checksums)
    q = history.place.quoted
    history.place.execute(
        f"CREATE TABLE {q('Loose')} ({q('id')} BIGINT, {q('Name')} VARCHAR(40))",
        f"INSERT INTO {q('Loose')} VALUES (1, 'a'), (2, 'b')",
    )
    schema = "PUBLIC." if name == "h2" else ""
    history.settings["tables"][0] |= {"table": f"{schema}Loose", "key": ["id"]}
    with opened(history.settings, tmp_path, jdbc_spark) as project:
        project.prepare()
        poll(project)
        before = len(events(tmp_path / "out", "s"))
        history.place.execute(f"INSERT INTO {q('Loose')} VALUES ({'NULL' if wrong == 'is NULL' else 1}, 'c')")
        with pytest.raises(UnsafeKey, match=wrong):
            poll(project)
        assert len(events(tmp_path / "out", "s")) == before
