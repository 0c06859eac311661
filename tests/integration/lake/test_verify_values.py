"""`verify` compares values as polls do: values that are equal by their type, but spelled differently, do not differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import sql
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = """
CREATE TABLE named (x int);
CREATE TABLE t (id int PRIMARY KEY, m numeric, f float8, g float4, r regclass, d numeric(9, 2));
INSERT INTO t VALUES (1, 1.0, 0, 0, 'named', 1), (2, 1.5, 'NaN', 'Infinity', 'named', 1),
  (3, NULL, NULL, NULL, NULL, 3);
"""
EQUAL = """
UPDATE t SET m = 1.00, f = '-0', g = '-0' WHERE id = 1;
UPDATE t SET m = 1.500 WHERE id = 2;
ALTER TABLE named RENAME TO renamed;
"""
OTHER = "UPDATE t SET g = 1 WHERE id = 1; UPDATE t SET m = 15 WHERE id = 2; UPDATE t SET d = 4 WHERE id = 3"


@pytest.mark.parametrize(
    "more", [{}, pytest.param({"key": "none"}, marks=pytest.mark.campaign)], ids=["with key", "no key"]
)
def test_equal_values_are_no_difference(
    more: dict[str, Any], database: str, workspace: Path, spark: SparkSession
) -> None:
    sql(database, TABLE)
    table = {"name": "s", "table": "public.t", "strategy": "id_rcs", "columns": ["m", "f", "g", "r", "d"], **more}
    with opened(config(database, table), workspace, spark) as project:
        stream = project.stream("s")
        stream.prepare()
        assert stream.verify() == []
        sql(database, EQUAL)
        poll(project, "s")
        assert list((workspace / "out").rglob("*.jsonl")) == [], "polls find no change"
        assert stream.verify() == []
        sql(database, OTHER)
        assert len(stream.verify()) == (6 if more else 3)
