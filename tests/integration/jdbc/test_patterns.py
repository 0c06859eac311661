"""Patterns of tables of a database that a JDBC driver alone reaches: the driver lists its tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.errors import ConfigError
from tests.support.jdbc_histories import History
from tests.support.jdbc_places import IN_FILES, file_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMAS = {"h2": "PUBLIC", "hsqldb": "PUBLIC", "derby": "APP", "duckdb": "main"}


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[] if one == "h2" else pytest.mark.campaign) for one in IN_FILES]
)
def test_tables_of_a_pattern(jdbc_spark: SparkSession, tmp_path: Path, name: str) -> None:
    place = file_place(jdbc_spark, name, tmp_path)
    q, schema = place.quoted, SCHEMAS.get(name, "*")
    names = ("Orders", "Order_lines", "Audit")
    place.execute(*(f"CREATE TABLE {q(one)} ({q('id')} INTEGER NOT NULL PRIMARY KEY)" for one in names))
    place.execute(f"CREATE VIEW {q('Order_view')} AS SELECT * FROM {q('Orders')}")
    settings = History.settings_of(place, tmp_path, "Orders", "orders", baseline="events")
    settings["tables"] = [
        {"tables": f"{schema}.*", "exclude": f"{schema}.Aud*"},
        {"table": f"{schema}.Order_lines" if schema != "*" else "Order_lines", "name": "lines"},
    ]
    with History.opened(place, tmp_path, settings) as project:
        prepared = project.prepare()
        assert [(one.stream, one.error) for one in prepared] == [("Orders", None), ("lines", None)]
        place.execute(f"INSERT INTO {q('Orders')} VALUES (1)", f"CREATE TABLE {q('Late')} ({q('id')} INTEGER)")
        outcomes = project.run(once=True).outcomes
        assert [(one.stream, one.error) for one in outcomes] == [("Orders", None), ("lines", None)]
    settings["tables"] = [{"tables": f"{schema}.none*"}]
    with History.opened(place, tmp_path, settings) as project, pytest.raises(ConfigError, match="no table of source"):
        project.prepare()
