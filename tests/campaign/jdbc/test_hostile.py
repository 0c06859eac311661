"""URLs and properties that make a driver write a file are refused before the driver sees them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.errors import ConfigError
from tests.support.jdbc_histories import History
from tests.support.jdbc_places import JdbcPlace, file_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# by profile: what follows the prefix; {m} is the file that the driver would write
HOSTILE = (
    ("h2", "mem:x;INIT=CREATE TABLE X(N INT) AS SELECT CSVWRITE('{m}', 'VALUES 1')"),
    ("h2", "mem:x;init=CREATE TABLE X(N INT) AS SELECT CSVWRITE('{m}', 'VALUES 1')"),
    ("h2", "file:{f}/y;IFEXISTS=FALSE;INIT=CREATE TABLE X(N INT) AS SELECT CSVWRITE('{m}', 'VALUES 1')"),
    ("hsqldb", "file:{m};ifexists=false"),
    ("derby", "{m};create=true"),
    ("sqlite", "{m}?open_mode=6"),
    ("duckdb", "{m};access_mode=READ_WRITE"),
)


@pytest.mark.campaign
@pytest.mark.parametrize(("name", "url"), HOSTILE)
def test_nothing_is_executed(jdbc_spark: SparkSession, tmp_path: Path, name: str, url: str) -> None:
    marker = tmp_path / "marker"
    place = file_place(jdbc_spark, name, tmp_path)
    hostile = f"{place.profile.url.prefix}{url.format(m=marker, f=tmp_path)}"
    settings = History.settings_of(replace(place, url=hostile), tmp_path, "T", "t")
    with pytest.raises(ConfigError), History.opened(place, tmp_path / "t", settings) as project:
        project.prepare()
    written = [path.name for path in tmp_path.iterdir() if path.name.startswith(("marker", "y."))]
    assert written == []
    statement = "CALL 1" if name in ("h2", "hsqldb") else "CREATE TABLE t (i INT)"
    JdbcPlace(jdbc_spark, name, "", hostile, place.login).execute(statement)  # the driver alone would do it
    assert [path for path in tmp_path.iterdir() if path.name.startswith("marker")]
