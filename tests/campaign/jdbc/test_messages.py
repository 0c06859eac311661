"""A mistake in the configuration is one message that says what to do, whatever the driver says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.firebird_server import VERSIONS
from tests.support.jdbc_histories import History
from tests.support.jdbc_places import IN_FILES, JdbcPlace

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
@pytest.mark.parametrize("place", NAMES, indirect=True)
def test_a_restriction_with_a_column_that_does_not_exist(place: JdbcPlace, tmp_path: Path) -> None:
    said = remedy(place, tmp_path, where="no_such_column > 1")
    assert said.startswith(("check `columns`", "check `table`" if place.name == "hsqldb" else "check `columns`"))


@pytest.mark.campaign
@pytest.mark.parametrize("place", NAMES, indirect=True)
def test_a_database_that_does_not_exist(place: JdbcPlace, tmp_path: Path) -> None:
    said = remedy(replace(place, url=place.url.replace("shop", "none").replace(".fdb", "2.fdb")), tmp_path)
    assert said.startswith("check the path or the database"), said
