"""Polls with leaf checksums: killed at every step, with missing or wrong stored leaves."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.common import hooks
from qbcd.connectors.postgresql import session
from qbcd.errors import QbcdError, TornRead, UnsafeKey
from qbcd.sites.lake import dirty_ranges
from qbcd.sites.lake.fetch import leaf_checksums
from tests.faults.child import kill_at
from tests.faults.stage import rubbish
from tests.support import sql
from tests.support.forced_leaves import FORCED, TRACED, force, remembered
from tests.support.project import opened
from tests.support.scene import STREAM, Scene, same_events
from tests.support.watched_polls import at_nth

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POINTS = ("after_checksums", "after_fetch", "after_stage", "before_commit", "after_commit")
WAYS = ("id_rcs", "id_rcs_hash", "id_rcs_digest", "id_rcs_mixed")
CONSTANTS = {f"qbcd.sites.lake.fetch.leaf_checksums.{k}": v for k, v in FORCED.items()} | {
    f"qbcd.ranges.key_recovery.{k}": v for k, v in TRACED.items()
}
CHOSEN = [("before_commit", "id_rcs")]
CASES = [
    c if c in CHOSEN else pytest.param(*c, marks=pytest.mark.campaign)
    for c in [(point, way) for point in POINTS for way in WAYS if way != "id_rcs_mixed"]
]


def _warm(scene: Scene) -> None:
    """Poll twice with changes: from then on leaf checksums are stored."""
    scene.begin()
    for _ in range(2):
        scene.change()
        scene.poll()
    known = remembered(scene.project, STREAM)
    assert known is not None
    assert "part" in known


@pytest.mark.parametrize(("point", "way"), CASES)
def test_kill(
    point: str, way: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_leaves = force(monkeypatch)
    with Scene(database, workspace, way, spark) as scene:
        _warm(scene)
        scene.change()
        before = scene.fingerprint()
        kill_at(point, scene.data, workspace, spark, constants=CONSTANTS)
        seen = scene.seen()
        assert (scene.fingerprint() == before) is (point != "after_commit")
        in_leaves.clear()
        scene.poll()
        same_events(seen, scene.check())
        assert in_leaves == ([] if point == "after_commit" else [True])
        assert rubbish(scene) == []
        scene.change()
        scene.poll()
        scene.check()
        assert in_leaves[-1:] == [True]
        assert scene.project.stream(STREAM).verify() == []
        assert rubbish(scene) == []


def _missing(path: Path) -> None:
    path.unlink()


def _damaged(path: Path) -> None:
    """Change the stored checksum of every row, so that other leaves seem to differ."""
    path.write_bytes(path.read_bytes().replace(b":1:", b":1:1"))


def _of_another_state(path: Path) -> None:
    """Make the file valid for ranges with other checksums."""
    lines = path.read_bytes().partition(b"\n")[2].decode().splitlines()
    moved = [f"{a} {int(b) + 1} {c} {d}" for a, b, c, d in (line.split(" ", 3) for line in lines)]
    path.write_bytes(leaf_checksums.sealed("\n".join(moved).encode()))


def _of_another_version(path: Path) -> None:
    """Keep the content, but with the seal of a version that stored other checksums."""
    content = path.read_bytes().partition(b"\n")[2]
    path.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)


HARMS = [
    _of_another_version,
    *(pytest.param(h, marks=pytest.mark.campaign) for h in (_missing, _damaged, _of_another_state)),
]


@pytest.mark.parametrize("harm", HARMS)
def test_unreliable_leaves_are_not_used(
    harm: Callable[[Path], None], database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_leaves = force(monkeypatch)
    with Scene(database, workspace, "id_rcs", spark) as scene:
        _warm(scene)
        (path,) = [p for p in workspace.rglob("leaves") if p.is_file()]
        harm(path)
        scene.change()
        in_leaves.clear()
        scene.poll()
        scene.check()
        assert in_leaves == [False]
        scene.change()
        scene.poll()
        scene.check()
        assert in_leaves == [False, True]
        assert rubbish(scene) == []


# Rows are compared with the leaf checksums: rows of another state are refused, and leave nothing behind.
def test_rows_of_another_state_than_the_leaves(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_leaves = force(monkeypatch)
    with Scene(database, workspace, "id_rcs", spark) as scene:
        _warm(scene)
        before = scene.fingerprint()
        with monkeypatch.context() as broken:
            broken.setattr(session.PostgresSnapshots, "snapshot_pins", lambda self, name: session.PINS)
            broken.setattr(dirty_ranges, "hooks", _Writing(database))
            sql(database, "UPDATE t SET v = 'A' WHERE id = 7")
            with pytest.raises(TornRead, match=r"1 range from .* returned 1 row and the checksums counted 1, or"):
                scene.poll()
        assert scene.fingerprint() == before
        assert rubbish(scene) == []
        assert in_leaves[-1] is True
        scene.poll()
        scene.check()


class _Writing:
    """Hooks that write a row at the first point reached."""

    def __init__(self, database: str) -> None:
        self.database = database

    def reach(self, point: str) -> None:
        if point == "after_checksums":
            sql(self.database, "UPDATE t SET v = 'B' WHERE id = 7")
        hooks.reach(point)


def test_a_duplicate_key_is_found_in_its_leaf(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_leaves = force(monkeypatch)
    with Scene(database, workspace, "id_rcs", spark) as scene:
        _warm(scene)
        sql(database, "ALTER TABLE t DROP CONSTRAINT t_pkey; INSERT INTO t SELECT * FROM t WHERE id = 7")
        with pytest.raises(UnsafeKey, match="has duplicate or NULL values"):
            scene.poll()
        assert in_leaves[-1] is True


@pytest.mark.parametrize("way", ["id_rcs", pytest.param("id_rcs_hash", marks=pytest.mark.campaign)])
def test_ranges_that_are_split_are_read_whole(
    way: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that grown ranges are split and read whole, while other ranges are read by leaf.

    From then on, the new ranges have leaves of their own.
    """
    in_leaves = force(monkeypatch)
    with Scene(database, workspace, way, spark) as scene:
        _warm(scene)
        for _ in range(2):
            scene.more(range(200 * len(in_leaves), 200 * len(in_leaves) + 30))
            scene.change()
            scene.poll()
            scene.check()
        assert scene.project.stream(STREAM).verify() == []
        scene.change()
        scene.poll()
        scene.check()
        assert in_leaves[-3:] == [True, True, True]
        assert rubbish(scene) == []


def test_a_changed_definition_discards_stored_leaves(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch)
    with Scene(database, workspace, "id_rcs", spark) as scene:
        _warm(scene)
        scene.change()
        scene.data["tables"][0]["exclude"] = ["n"]
        scene.project.close()
        scene.project = opened(scene.data, workspace, spark)
        scene.poll()
        known = remembered(scene.project, STREAM)
        assert known is None
        assert scene.project.stream(STREAM).verify() == []
        scene.poll()
        assert rubbish(scene) == []


def test_a_failure_after_the_leaves_were_written(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that files no commit names are removed, and that named files stay."""
    in_leaves = force(monkeypatch)

    def stop() -> None:
        raise ConnectionAbortedError

    with Scene(database, workspace, "id_rcs", spark) as scene:
        _warm(scene)
        scene.change()
        with at_nth("before_commit", 1, stop), pytest.raises(QbcdError, match="ConnectionAborted"):
            scene.poll()
        scene.poll()
        scene.check()
        assert in_leaves[-2:] == [True, True]
        assert rubbish(scene) == []
