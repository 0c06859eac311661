"""Window and sweep with a lake replica do not disturb each other.

See docs/design/protocol.md#rule-2 and #rule-14.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.places import over
from tests.support.stamped_scene import StampedScene
from tests.support.watched_polls import at_nth

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def polled_ops(scene: StampedScene) -> list[list[tuple[str, int, str | None]]]:
    """Poll and return (op, key, reason) of the events of each batch, as the sink got them."""
    before = len(scene.seen())
    scene.poll()
    batches = list(scene.check().values())
    return [[(e["op"], e["key"]["id"], e["reason"]) for e in batch] for batch in batches[before:]]


@over(elsewhere=[])
def test_a_row_that_returns_during_its_sweep(database: str, workspace: Path, spark: SparkSession) -> None:
    with StampedScene(database, workspace, "ts_spark", spark) as scene:
        scene.begin()
        rows = scene.source()
        back = next(row for row in rows if row[0] == 5)
        scene.put([row for row in rows if row[0] != 5])
        with at_nth("after_fetch", 2, lambda: scene.put(rows)):  # the first is the window's
            scene.poll()
        (event,) = list(scene.seen().values())[-1]
        assert (event["op"], event["key"]["id"], event["before"]["v"]) == ("d", 5, back[1])
        assert polled_ops(scene) == [[("c", 5, None)]]
        assert polled_ops(scene) == []


@over(elsewhere=[])
def test_a_row_outside_of_the_restriction_is_not_swept(database: str, workspace: Path, spark: SparkSession) -> None:
    with StampedScene(database, workspace, "ts_spark", spark, where="n < 5") as scene:
        scene.begin()

        def leaves() -> None:
            scene.place.sql(f"UPDATE t SET n = 9, at = {scene.now} WHERE id = 7")

        seen = len(scene.seen())
        with at_nth("after_commit", 1, leaves):  # of the window, whose watermark always advances
            scene.poll()
        assert len(scene.seen()) == seen
        scene.poll()
        (exits,) = list(scene.seen().values())[-1]
        assert (exits["op"], exits["key"]["id"], exits["reason"]) == ("d", 7, "restriction_exit")


@over(elsewhere=[])
def test_ranges_are_those_of_the_replica(database: str, workspace: Path, spark: SparkSession) -> None:
    """The sweep does not count a row that came after the window and is not in the replica yet."""
    with StampedScene(database, workspace, "ts_spark", spark) as scene:
        scene.begin()
        rows = scene.source()
        with at_nth("after_commit", 1, lambda: scene.put([*rows, (300, "newer", 0)])):  # of the window
            scene.poll()
        assert counted(scene) == len(rows)
        assert polled_ops(scene) == [[("c", 300, None)]]
        assert counted(scene) == len(rows) + 1


def counted(scene: StampedScene) -> int:
    """Return the rows of all ranges, which are those of the replica."""
    site, row = scene.site, scene.site.context.row()
    assert row is not None
    with site.context.reading() as conn:
        rows = sum(r.rows for r in site.context.store.ranges(conn, row.stream))
    assert rows == row.checkpoint["rows"]
    return rows
