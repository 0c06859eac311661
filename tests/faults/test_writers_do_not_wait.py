"""Locks of a poll in the source: writers never wait at any hook point; DDL does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.pausing import at
from tests.support.places import Place, over
from tests.support.scene import Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POINTS = ("after_snapshot", "after_fetch", "after_stage", "before_commit")


@over("strategy", ["mds", pytest.param("id_rcs", marks=pytest.mark.campaign)])
def test_an_update_of_captured_rows_does_not_wait(
    place: Place, workspace: Path, spark: SparkSession, strategy: str
) -> None:
    """Every row is updated while the poll pauses, others come and go; the next poll finds all."""
    with Scene(place.url, workspace, strategy, spark) as scene:
        scene.begin()
        for n, point in enumerate(POINTS):
            scene.change()
            wrote: list[int] = []

            def write(n: int = n, wrote: list[int] = wrote) -> None:
                with place.connect() as conn:
                    place.run(conn, place.impatient)
                    place.run(conn, "UPDATE t SET n = n + 1")
                    place.run(conn, f"INSERT INTO t VALUES ({5000 + n}, 'meanwhile', 0)")
                    place.run(conn, "DELETE FROM t WHERE id = 1")
                wrote.append(n)

            with at(point, write):
                scene.poll()
            assert wrote == [n], f"{point} was not reached"
            scene.poll()
            scene.check()


@over("strategy", ["mds", pytest.param("id_rcs", marks=pytest.mark.campaign)])
def test_ddl_waits_until_the_table_was_read(place: Place, workspace: Path, spark: SparkSession, strategy: str) -> None:
    """TRUNCATE cannot happen between the read of the catalog and the read of the rows.

    See docs/design/protocol.md#rule-9.
    """
    with Scene(place.url, workspace, strategy, spark) as scene:
        scene.begin()
        scene.change()

        def truncate() -> None:
            with pytest.raises(place.barred), place.connect() as conn:
                place.run(conn, place.impatient)
                place.run(conn, "TRUNCATE TABLE t")

        with at("after_snapshot", truncate):
            scene.poll()
        scene.check()
