"""kill -9 at every step of strategies with a source replica or a timestamp.

The restart is exact. A poll may commit several steps and seal several batches, so a killed process may leave an open
batch, a half finished pass, or rows that wait to be purged. Committed changes are delivered unchanged; the others are
found again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.common import hooks
from qbcd.errors import Refused
from tests.faults.child import kill_at
from tests.faults.stage import Stage, lease_of, rubbish
from tests.faults.test_kill import ELSEWHERE_REACHED, OF_ENRICHMENT, OF_ROLLING
from tests.support.places import over
from tests.support.scene import STREAM, Scene, same_events
from tests.support.stamped_scene import STAMPED, StampedScene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Spot = tuple[str, int]  # a point, and the visit to it at which the process dies
Case = tuple[str, str, int, bool]
STEP = ("after_snapshot", "after_fetch", "after_stage", "before_commit", "after_commit")
DELIVERY = ("before_publish", "mid_publish", "after_publish", "after_acknowledge")
SEAL = ("before_seal", "after_seal")
RANGES, SWEPT, PURGING = ("id", "tlcs", "tlcs_in_row"), "ts", "tdi"
REMOTE = "ts_spark"  # swept as well, in one step


def spots(strategy: str) -> list[Spot]:
    """List the hook points that a poll of the scene's change reaches, in order.

    Second steps belong to another range, or to the sweep.
    """
    first = [(point, 1) for point in ("after_lease", *STEP, *DELIVERY)]
    if strategy in (*RANGES, SWEPT, REMOTE):
        first += [(point, 2) for point in STEP]
    if strategy in (*RANGES, SWEPT):
        first += [(point, 1) for point in SEAL]
    if strategy in (SWEPT, REMOTE):
        first += [(point, 2) for point in DELIVERY if point != "mid_publish"]
    if strategy not in RANGES:
        first.append(("after_horizon", 1))
    if strategy == PURGING:
        first += [("before_purge", 1), ("after_purge", 1)]
    return first


def sealed_by(strategy: str, spot: Spot) -> int:
    """Return the number of batches that the poll has sealed when it reaches `spot`."""
    point, nth = spot
    delivered = point in DELIVERY or point == "after_seal"
    if strategy in RANGES:
        return int(delivered)
    if strategy == REMOTE:  # the window's batch, then the sweep's
        return int(delivered or nth == 2 or point == "after_commit") + int(
            nth == 2 and point in ("after_commit", *DELIVERY)
        )
    if strategy == SWEPT:  # the window's batch, then the sweep's
        window = delivered or nth == 2 or point in ("after_commit", "before_seal")
        return int(window) + int(point == "after_seal" or (point in DELIVERY and nth == 2))
    return int(delivered or point == "after_commit")


def is_open(strategy: str, spot: Spot) -> bool:
    """Return True if the outbox holds rows without a batch number when the poll reaches `spot`."""
    if strategy == SWEPT:
        return spot in (("after_commit", 2), ("before_seal", 1))
    after_a_step = spot[1] == 2 or spot in (("after_commit", 1), ("before_seal", 1))
    return strategy in RANGES and after_a_step


CHOSEN: dict[str, list[Spot]] = {
    "id": [("after_seal", 1)],
    "tlcs": [("after_commit", 2)],
    "tlcs_in_row": [("before_commit", 2)],
    "ts": [("after_horizon", 1), ("before_seal", 1)],
    "ts_spark": [("after_stage", 2), ("after_commit", 2)],
    "tdi": [("before_purge", 1), ("after_purge", 1)],
    "atdi": [("before_commit", 1)],
}
# What the database has a hand in.
ALSO_ELSEWHERE = {"tlcs_in_row": ("before_commit", 2), "tdi": ("after_purge", 1)}


def cases() -> tuple[list[Case], list[Case]]:
    """Return (chosen, the rest) of strategy x spot."""
    chosen = [
        (strategy, *spot, (i + j) % 2 == 1)
        for i, (strategy, listed) in enumerate(CHOSEN.items())
        for j, spot in enumerate(listed)
    ]
    # a change is reverted before the restart at every second spot
    every = [(s, *spot, (i + j) % 2 == 0) for i, s in enumerate(STAMPED) for j, spot in enumerate(spots(s))]
    return chosen, [case for case in every if case not in chosen]


CUT_LATER = [("id", "before_commit"), ("id", "after_commit"), ("tlcs", "before_commit"), ("tlcs", "after_commit")]
NOW, LATER = cases()
ELSEWHERE = [case for case in NOW if ALSO_ELSEWHERE.get(case[0]) == case[1:3]]


def test_the_cases_come_to_every_point() -> None:
    assert set(STAMPED) == set(CHOSEN)
    assert {case[1] for case in NOW} >= {*ELSEWHERE_REACHED} - {*OF_ROLLING, *OF_ENRICHMENT}
    assert {case[1] for case in NOW + LATER} == {*hooks.POINTS} - {"after_checksums", *OF_ROLLING, *OF_ENRICHMENT}
    assert {case[3] for case in NOW} == {False, True}


@over("strategy, point, nth, reverted", NOW, elsewhere=ELSEWHERE, new=False)
def test_kill(kind: str, strategy: str, point: str, nth: int, reverted: bool, stage: Stage) -> None:
    killed_and_restarted(stage.scene(kind, strategy), strategy, (point, nth), reverted)


@pytest.mark.campaign
@over("strategy, point, nth, reverted", LATER, new=False)
def test_kill_rest(kind: str, strategy: str, point: str, nth: int, reverted: bool, stage: Stage) -> None:
    sink = "parquet" if LATER.index((strategy, point, nth, reverted)) % 2 else "jsonl"
    killed_and_restarted(stage.scene(kind, strategy, sink), strategy, (point, nth), reverted)


def killed_and_restarted(scene: Scene, strategy: str, spot: Spot, reverted: bool) -> None:
    old, before, last = scene.source(), scene.fingerprint(), scene.sealed()[-1].seq
    scene.change()
    pid = kill_at(spot[0], scene.data, scene.folder, scene.spark, nth=spot[1])
    # somebody may have read whatever is there now
    files, seen, sealed = scene.files(), scene.seen(), scene.sealed()
    moved = bool(sealed_by(strategy, spot)) or is_open(strategy, spot)
    assert [h.seq for h in sealed if h.seq > last] == [last + 1 + i for i in range(sealed_by(strategy, spot))]
    assert bool(checkpoint(scene).get("open")) is is_open(strategy, spot)
    assert moved or scene.fingerprint() == before
    assert lease_of(scene) == pid
    if reverted:
        scene.put(old)

    scene.poll()
    scene.poll()  # the first poll finishes the begun pass and reads only its other ranges
    now = scene.check()
    same_events(seen, now)
    assert all(scene.files()[path] == content for path, content in files.items())
    assert scene.sealed()[: len(sealed)] == sealed, "a staged batch is replayed as it was"
    if not (moved and reverted):
        assert ops_after(scene, last) == net(old, scene.source())
    assert scene.poll().report.header is None  # type: ignore[union-attr]
    assert rubbish(scene) == []
    assert not checkpoint(scene).get("open")
    if isinstance(scene, StampedScene) and strategy == PURGING:
        assert scene.flagged_rows() == []
    scene.check()


def checkpoint(scene: Scene) -> dict[str, object]:
    """Return the stream's checkpoint."""
    row = scene.site.context.row()
    assert row is not None
    return dict(row.checkpoint)


def ops_after(scene: Scene, last: int) -> list[tuple[str, int]]:
    """Return (op, key) of the events in batches after `last`."""
    return sorted((e["op"], e["key"]["id"]) for (_, seq), found in scene.seen().items() if seq > last for e in found)


def net(old: list[tuple[object, ...]], new: list[tuple[object, ...]]) -> list[tuple[str, object]]:
    """Return (op, key) of the rows that differ."""
    was, now = ({row[0]: row for row in rows} for rows in (old, new))
    found = [("u" if key in was else "c", key) for key, row in now.items() if was.get(key) != row]
    return sorted([*found, *(("d", key) for key in was.keys() - now.keys())], key=str)


@over("strategy, point", [pytest.param(s, p, marks=pytest.mark.campaign) for s, p in CUT_LATER])
def test_kill_while_ranges_are_split(
    strategy: str, point: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    """All ranges are new or none; the open batch loses nothing."""
    with StampedScene(database, workspace, strategy, spark) as scene:
        scene.make_table()
        scene.prepare()
        steps = len(ranges(scene))
        rows = [*scene.source(), *((i, f"more {i}", 0) for i in range(200, 230))]
        scene.put(rows)
        known = ranges(scene)
        kill_at(point, scene.data, scene.folder, spark, nth=steps + 1)
        assert (ranges(scene) == known) is (point == "before_commit")
        assert checkpoint(scene).get("open")
        scene.poll()
        scene.poll()
        seen = scene.check()
        assert [e["op"] for events in seen.values() for e in events] == ["c"] * 30
        assert len(ranges(scene)) > steps


def ranges(scene: Scene) -> list[object]:
    """Return ids and bounds of the stream's ranges."""
    with scene.site.context.reading() as conn:
        return [(r.range_id, r.lo, r.hi) for r in scene.site.context.store.ranges(conn, STREAM)]


BASELINES = [(s, p) for s in STAMPED for p in ("after_lease", "before_commit", "after_commit")]
BASELINES += [(s, "after_horizon") for s in STAMPED if s not in RANGES]


@over(
    "strategy, point",
    [pytest.param(*case, marks=() if case == ("ts", "after_horizon") else pytest.mark.campaign) for case in BASELINES],
    elsewhere=[],
)
def test_a_baseline_killed_half_way(
    strategy: str, point: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    with StampedScene(database, workspace, strategy, spark, baseline="events") as scene:
        scene.make_table()
        kill_at(point, scene.data, scene.folder, spark, task="prepare")
        row = scene.site.context.row()
        assert row is not None
        assert row.prepared is (point == "after_commit")
        old = scene.source()
        scene.change()
        if not row.prepared:
            with pytest.raises(Refused, match="not prepared"):
                scene.poll()
            old = scene.source()
        scene.prepare()
        scene.change()
        scene.poll()
        scene.check()
        assert [e["op"] for e in scene.seen()[max(scene.seen())[0], 1]] == ["r"] * len(old)
        assert ops_after(scene, 1) == net(old, scene.source())
        assert rubbish(scene) == []
