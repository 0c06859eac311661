"""kill -9 in the one step of variant delta: lineage, replica, batch and watermarks move together or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.strategies.base import table_name
from tests.faults.child import kill_at
from tests.integration import test_maria_delta as maria
from tests.integration.test_query_delta_cases import BY_REGION, NOW, TABLES, configured
from tests.integration.test_query_streams import Result
from tests.support.places import Place
from tests.support.project import opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POINTS = ("before_commit", "after_horizon", "after_snapshot", "after_fetch", "after_stage", "after_commit")


@dataclass(frozen=True)
class World:
    """A query with its tables, and what happens to them.

    Attributes:
        data: The configuration of its stream ``s``.
        change: Leads to inserts and updates.
        later: Another change of the orders.
    """

    query: str
    tables: str
    data: dict[str, Any]
    change: str
    later: str


def world(place: Place) -> World:
    """That of a database."""
    if place.kind == "postgresql":
        return World(
            BY_REGION, TABLES, configured(place, BY_REGION),
            f"UPDATE orders SET region = 'north', at = {NOW} WHERE id IN (3, 4); DELETE FROM lines WHERE id = 9;"
            f"UPDATE lines SET order_id = 3, at = {NOW} WHERE id = 4; INSERT INTO orders VALUES (50, 1, 'far', 1)",
            f"UPDATE orders SET region = 'west', at = {NOW} WHERE id = 3",
        )  # fmt: skip
    query = maria.by_zone(place)
    return World(
        query, maria.TABLES, maria.configured(place, query, "orders", "regions", deletes={"every": "1ms"}),
        f"UPDATE orders SET region = 'north', at = {maria.NOW} WHERE id IN (3, 4); DELETE FROM orders WHERE id = 5;"
        f"UPDATE regions SET zone = 'far', at = {maria.NOW} WHERE name = 'south';"
        "INSERT INTO orders (id, region, amount) VALUES (50, 'south', 1)",
        f"UPDATE orders SET region = 'west', at = {maria.NOW} WHERE id = 3",
    )  # fmt: skip


CASES = [
    ("postgresql", POINTS[0]), ("mariadb", POINTS[0]),
    *(pytest.param(kind, p, marks=pytest.mark.campaign) for kind in ("postgresql", "mariadb") for p in POINTS[1:]),
]  # fmt: skip


@pytest.mark.parametrize(("database", "point"), CASES, indirect=["database"])
def test_kill(point: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    told = world(place)
    place.sql(told.tables)
    told.data["tables"][0] |= {"name": "s", "baseline": "events"}
    result = Result(place, workspace, "s", told.query)
    with opened(told.data, workspace, spark) as project:
        project.stream("s").prepare()
        result.check()
        before = kept(place)
        place.sql(told.change)
        kill_at(point, told.data, workspace, spark)
        assert (kept(place) == before) is (point != "after_commit")
        poll(project, "s")
        assert {e["op"] for e in result.check()} == {"c", "u"}
        place.sql(told.later)
        poll(project, "s")
        result.check()
        assert place.sql(f"SELECT id, region FROM {lineage(place)} ORDER BY 1") == place.sql(
            "SELECT id, region FROM orders ORDER BY 1"
        )


def lineage(place: Place) -> str:
    """That of the orders."""
    return f"{place.own_schema}.{table_name('lineage0', 's')}"


def kept(place: Place) -> list[Any]:
    """Version, checkpoint and lineage."""
    stream = place.sql(f"SELECT version, checkpoint FROM {place.own_schema}.stream")
    return [*stream, *place.sql(f"SELECT * FROM {lineage(place)} ORDER BY id")]
