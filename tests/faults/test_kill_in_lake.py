"""kill -9 at every step of ID/RCS in its other ways: by buckets, with digests alone, without a key, or under one of
several columns and types; exact on restart.

And of all its ways while ranges are cut anew, and while batches are folded into the replica
(docs/design/protocol.md#rule-11, #rule-23). TLCS with its checksums under Spark is the way of digests alone by another
name, and is killed around its commits.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.faults.child import kill_at
from tests.faults.stage import Stage, range_ids, rubbish
from tests.faults.test_kill import AROUND_THE_COMMIT, POINTS, SINKS, killed_and_restarted
from tests.support import batch_layers
from tests.support.places import over
from tests.support.scene import STREAM, WAYS, same_events
from tests.support.stamped_scene import scene_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REMOTE = "tlcs_remote"
OTHERS = tuple(way for way in WAYS if way not in ("id_rcs", REMOTE))
CASES = [(point, way, reverted) for point in POINTS for way in OTHERS for reverted in (False, True)]
CASES += [("before_commit", REMOTE, False), ("after_commit", REMOTE, True)]
CHOSEN = [
    ("after_stage", "id_rcs_hash", False),
    ("after_commit", "id_rcs_no_key", True),
    ("after_commit", "id_rcs_mixed", True),
]
COMMITS = [(way, point) for way in WAYS for point in AROUND_THE_COMMIT]
MORE = 40  # rows: ranges outgrow their size


@over(
    "point, way, reverted",
    [c if c in CHOSEN else pytest.param(*c, marks=pytest.mark.campaign) for c in CASES],
    elsewhere=[],
    new=False,
)
def test_kill(kind: str, point: str, way: str, reverted: bool, stage: Stage) -> None:
    sink = SINKS[(CASES.index((point, way, reverted)) // 2) % 2]
    killed_and_restarted(stage.scene(kind, way, sink), point, reverted)


@pytest.mark.campaign
@over("way, point", COMMITS)
def test_kill_while_ranges_are_cut(way: str, point: str, database: str, workspace: Path, spark: SparkSession) -> None:
    """Either all ranges are new or none, and every row is told once."""
    with scene_of(database, workspace, way, spark) as scene:
        scene.begin()
        known = range_ids(scene)
        scene.more(range(200, 200 + MORE))
        kill_at(point, scene.data, workspace, spark)
        now, seen = range_ids(scene), scene.seen()
        assert (now == known) is (point == "before_commit")
        scene.poll()
        same_events(seen, scene.check())
        assert [e["op"] for e in scene.seen()[max(scene.seen())]] == ["c"] * MORE
        scene.change()
        scene.poll()
        scene.check()
        assert scene.project.stream(STREAM).verify() == []
        assert rubbish(scene) == []


@pytest.mark.campaign
@over("way, point", COMMITS)
def test_kill_while_batches_are_folded_in(
    way: str, point: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    """The replica is the old segment with its batches or the new one without, and has the same rows."""
    with scene_of(database, workspace, way, spark, retain="0s") as scene:
        scene.begin()
        scene.change()
        # the first visit is the poll's own commit, the second one that of the folding
        kill_at(
            point,
            scene.data,
            workspace,
            spark,
            nth=2,
            constants={"qbcd.sites.lake.compaction.COMPACT_BATCHES": 1, **batch_layers.ALWAYS},
        )
        assert scene.project.stream(STREAM).verify() == []
        for _ in range(2):
            scene.change()
            scene.poll()
            scene.check()
        assert scene.project.stream(STREAM).verify() == []
        assert rubbish(scene) == []
