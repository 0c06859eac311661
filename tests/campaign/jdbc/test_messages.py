"""A mistake in the configuration is one message that says what to do, whatever the driver says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.local.travelled import ENCODER
from qbcd.sites.jdbc import poll
from tests.support.firebird_server import VERSIONS
from tests.support.jdbc_histories import History
from tests.support.jdbc_places import IN_FILES, JdbcPlace, file_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = [*IN_FILES, *VERSIONS]
SCHEMA = {"h2": "PUBLIC.", "hsqldb": "PUBLIC."}


def remedy(place: JdbcPlace, folder: Path, **changed: str) -> str:
    """Return the remedy of the error of `prepare` with changed settings of the stream."""
    settings = History.settings_of(place, folder, "T", "t")
    settings["tables"][0].update(changed)
    with History.opened(place, folder / "t", settings) as project:
        [prepared] = project.prepare()
    assert prepared.error is not None
    assert "Traceback" not in str(prepared.error)
    return prepared.error.remedy


@pytest.fixture
def place(new_place: Callable[[str], JdbcPlace], request: pytest.FixtureRequest) -> JdbcPlace:
    found = new_place(request.param)
    table, column = found.quoted("T"), found.quoted("id")
    found.execute(f"CREATE TABLE {table} ({column} INTEGER NOT NULL PRIMARY KEY)")
    return found


@pytest.mark.campaign
@pytest.mark.parametrize("place", NAMES, indirect=True)
def test_a_table_that_does_not_exist(place: JdbcPlace, tmp_path: Path) -> None:
    said = remedy(place, tmp_path, table=f"{SCHEMA.get(place.name, '')}t_missing")
    assert said.startswith("check `table`")


@pytest.mark.campaign
@pytest.mark.parametrize("place", ["h2", "derby", "duckdb"], indirect=True)
def test_a_table_of_the_current_schema_has_not_the_key_of_another_one(place: JdbcPlace, tmp_path: Path) -> None:
    q, other = place.quoted, f"{place.quoted('other')}.{place.quoted('Loose')}"
    place.execute(
        f"CREATE SCHEMA {q('other')}",
        f"CREATE TABLE {other} ({q('number')} INTEGER NOT NULL PRIMARY KEY)",
        f"CREATE TABLE {q('Loose')} ({q('id')} INTEGER)",
    )
    assert remedy(place, tmp_path, table="Loose").startswith("write key: [..]")


@pytest.mark.campaign
@pytest.mark.parametrize("place", NAMES, indirect=True)
def test_a_restriction_with_a_column_that_does_not_exist(place: JdbcPlace, tmp_path: Path) -> None:
    said = remedy(place, tmp_path, where="no_such_column > 1")
    assert said.startswith(("check `columns`", "check `table`" if place.name == "hsqldb" else "check `columns`"))


@pytest.mark.campaign
@pytest.mark.parametrize("place", NAMES, indirect=True)
def test_a_restriction_that_leaves_its_brackets(place: JdbcPlace, tmp_path: Path) -> None:
    key = place.quoted("id")
    assert remedy(place, tmp_path, where=f"{key} > 0) OR ({key} < 0").startswith("write one boolean expression")


@pytest.mark.campaign
@pytest.mark.parametrize("place", NAMES, indirect=True)
def test_a_database_that_does_not_exist(place: JdbcPlace, tmp_path: Path) -> None:
    said = remedy(replace(place, url=place.url.replace("shop", "none").replace(".fdb", "2.fdb")), tmp_path)
    assert said.startswith("check the path or the database"), said


@pytest.mark.campaign
@pytest.mark.parametrize("checksums", ["source", "here"])
def test_check_says_how_much_travels(jdbc_spark: SparkSession, tmp_path: Path, checksums: str) -> None:
    """Before the first poll the rows are counted, and their width is that of some."""
    place = file_place(jdbc_spark, "duckdb", tmp_path)
    place.execute(
        "CREATE TABLE T (ID BIGINT PRIMARY KEY, NAME VARCHAR)",
        "INSERT INTO T SELECT i, repeat('ä', 46) FROM range(5000) AS t(i)",
    )
    settings = History.settings_of(place, tmp_path, "T", "t")
    settings["sources"]["shop"]["jdbc"] = {"checksums": checksums}
    with History.opened(place, tmp_path / "t", settings) as project:
        found = " ".join(one.message for one in project.check())
        explained = " ".join(step.title for step in project.stream("t").explain())
    for said in (found, explained):
        assert ("(5,000 rows, about 500,000 bytes)" in said) == (checksums == "here"), said
        assert ("a longer `every`" in said) == (checksums == "here")


@pytest.mark.campaign
def test_digests_of_another_version_are_refused(jdbc_spark: SparkSession, tmp_path: Path) -> None:
    history = History(file_place(jdbc_spark, "hsqldb", tmp_path), tmp_path, seed=2, baseline="events")
    history.change(20)
    with history.open() as project:
        project.prepare()
    with pytest.MonkeyPatch.context() as patch, history.open() as project:
        patch.setattr(poll, "ENCODER", ENCODER + 1)
        [outcome] = project.run(once=True).outcomes
        assert "computed by another version" in str(outcome.error)


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["duckdb", "sqlite", "h2"])
def test_a_name_in_another_case(jdbc_spark: SparkSession, tmp_path: Path, name: str) -> None:
    """A database that finds it has its key; to others it does not exist."""
    place = file_place(jdbc_spark, name, tmp_path)
    place.execute(f"CREATE TABLE {place.quoted('T')} ({place.quoted('id')} INTEGER NOT NULL PRIMARY KEY)")
    settings = History.settings_of(place, tmp_path, "t", "t")
    with History.opened(place, tmp_path / "t", settings) as project:
        [prepared] = project.prepare()
        if name == "h2":
            assert prepared.error is not None
            assert prepared.error.remedy.startswith("check `table`")
        else:
            assert prepared.error is None
            assert [column.name for column in project.stream("t").plan().key] == ["id"]
