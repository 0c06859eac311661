"""kill -9 in the one step of variant delta: lineage, replica, batch and watermarks move together or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.strategies.base import table_name
from tests.faults.child import kill_at
from tests.integration.test_query_delta_cases import BY_REGION, NOW, TABLES, configured
from tests.integration.test_query_streams import Result
from tests.support.places import Place
from tests.support.project import opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POINTS = ("before_commit", "after_horizon", "after_snapshot", "after_fetch", "after_stage", "after_commit")
LINEAGE = f"qbcd.{table_name('lineage0', 's')}"  # of the orders
CHANGE = f"""
UPDATE orders SET region = 'north', at = {NOW} WHERE id IN (3, 4); DELETE FROM lines WHERE id = 9;
UPDATE lines SET order_id = 3, at = {NOW} WHERE id = 4; INSERT INTO orders VALUES (50, 1, 'far', 1)
"""


@pytest.fixture
def data(place: Place) -> Iterator[dict[str, Any]]:
    """A stream ``s`` over tables that stand there."""
    place.sql(TABLES)
    made = configured(place, BY_REGION)
    made["tables"][0] |= {"name": "s", "baseline": "events"}
    yield made


@pytest.mark.parametrize("point", [POINTS[0], *(pytest.param(p, marks=pytest.mark.campaign) for p in POINTS[1:])])
def test_kill(point: str, data: dict[str, Any], place: Place, workspace: Path, spark: SparkSession) -> None:
    result = Result(place, workspace, "s", BY_REGION)
    with opened(data, workspace, spark) as project:
        project.stream("s").prepare()
        result.check()
        before = kept(place)
        place.sql(CHANGE)
        kill_at(point, data, workspace, spark)
        assert (kept(place) == before) is (point != "after_commit")
        poll(project, "s")
        assert {e["op"] for e in result.check()} == {"c", "u"}
        place.sql(f"UPDATE orders SET region = 'west', at = {NOW} WHERE id = 3")
        poll(project, "s")
        result.check()
        assert place.sql(f"SELECT id, region FROM {LINEAGE} ORDER BY 1") == place.sql(
            "SELECT id, region FROM orders ORDER BY 1"
        )


def kept(place: Place) -> list[Any]:
    """Version, checkpoint and lineage."""
    stream = place.sql("SELECT version, checkpoint FROM qbcd.stream")
    return [*stream, *place.sql(f"SELECT * FROM {LINEAGE} ORDER BY id")]
