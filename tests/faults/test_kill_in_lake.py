"""kill -9 at every step of ID/RCS in its other variants: exact on restart.

The variants are hash buckets, digests only, no key, and a key of several columns and types. All of them are also killed
while ranges are split and while batches are compacted (docs/design/protocol.md#rule-11, #rule-23). TLCS with checksums
in the lake replica is the variant with digests only under another name, and is killed around its commits. TLCS with a
queue in the source has two commits, of the lake and of the digests, and is killed between them.
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

REMOTE, QUEUED = "tlcs_remote", "tlcs_lake"
OTHERS = tuple(way for way in WAYS if way not in ("id_rcs", REMOTE, QUEUED))
CASES = [(point, way, reverted) for point in POINTS for way in OTHERS for reverted in (False, True)]
CASES += [("before_commit", REMOTE, False), ("after_commit", REMOTE, True)]
CASES += [(p, QUEUED, r) for p in POINTS if p != "after_checksums" for r in (False, True)]
CHOSEN = [
    ("after_stage", "id_rcs_hash", False),
    ("after_commit", "id_rcs_no_key", True),
    ("after_commit", "id_rcs_mixed", True),
    ("after_commit", QUEUED, True),
]
COMMITS = [(way, point) for way in WAYS if way != QUEUED for point in AROUND_THE_COMMIT]
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
def test_kill_while_ranges_are_split(way: str, point: str, database: str, workspace: Path, spark: SparkSession) -> None:
    """All ranges are new or none, and every row is delivered once."""
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
def test_kill_while_batches_are_compacted(
    way: str, point: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    """The replica is the old segment with its batches, or the new one; its rows are the same."""
    with scene_of(database, workspace, way, spark, retain="0s") as scene:
        scene.begin()
        scene.change()
        # the first visit is the poll's own commit, the second one that of compaction
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
