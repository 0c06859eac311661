"""kill -9 in the one step of variant delta: all of its state moves together.

Its state is lineage, replica, batch and watermarks.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.strategies.base import table_name
from tests.faults.child import kill_at
from tests.integration.queries import test_incremental_maria as maria
from tests.integration.queries.test_incremental_cases import BY_REGION, NOW, TABLES, configured
from tests.integration.queries.test_streams import Result
from tests.support.places import FIRST, NO_DELTA, Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POINTS = ("before_commit", "after_horizon", "after_snapshot", "after_fetch", "after_stage", "after_commit")
LINEAGE = table_name("lineage0", "s")  # of the orders
CHANGE = f"""
UPDATE orders SET region = 'north', at = {NOW} WHERE id IN (3, 4); DELETE FROM lines WHERE id = 9;
UPDATE lines SET order_id = 3, at = {NOW} WHERE id = 4; INSERT INTO orders VALUES (50, 1, 'far', 1)
"""
CHANGE_MARIA = """
UPDATE orders SET region = 'north' WHERE id IN (3, 4); DELETE FROM more WHERE id = 1;
UPDATE more SET order_id = 3 WHERE id = 4; INSERT INTO orders (id, customer, region) VALUES (50, 1, 'far')
"""


def prepared_query(place: Place) -> tuple[str, dict[str, Any]]:
    """Make the tables; return the query, and a configuration with stream ``s`` of it."""
    if place.kind == FIRST:
        place.sql(TABLES)
        query, made = BY_REGION, configured(place, BY_REGION)
    else:
        place.sql(maria.TABLES)
        query = maria.by_region(place)
        made = config(place.url, maria.stream(place, query, "region", stamped=("orders", "more")))
    made["tables"][0] |= {"name": "s", "baseline": "events"}
    return query, made


@over(
    "point",
    [POINTS[0], *(pytest.param(p, marks=pytest.mark.campaign) for p in POINTS[1:])],
    elsewhere=[],
    without=NO_DELTA,
)
def test_kill(point: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    query, data = prepared_query(place)
    result, now = Result(place, workspace, "s", query), f", at = {NOW}" if place.kind == FIRST else ""
    with opened(data, workspace, spark) as project:
        project.stream("s").prepare()
        result.check()
        before = kept(place)
        place.sql(CHANGE if place.kind == FIRST else CHANGE_MARIA)
        kill_at(point, data, workspace, spark)
        assert (kept(place) == before) is (point != "after_commit")
        poll(project, "s")
        assert {e["op"] for e in result.check()} == {"c", "u"}
        place.sql(f"UPDATE orders SET region = 'west'{now} WHERE id = 3")
        poll(project, "s")
        result.check()
        assert place.sql(f"SELECT id, region FROM {place.own_schema}.{LINEAGE} ORDER BY 1") == place.sql(
            "SELECT id, region FROM orders ORDER BY 1"
        )


def kept(place: Place) -> list[Any]:
    """Return version, checkpoint and lineage."""
    own = place.own_schema
    stream = place.sql(f"SELECT version, checkpoint FROM {own}.stream")
    return [*stream, *place.sql(f"SELECT * FROM {own}.{LINEAGE} ORDER BY id")]
