"""Digests and compaction of a lake replica (docs/design/protocol.md#rule-10 and #rule-23).

A digest is that of the stored values; compaction contains exactly what it read.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.connectors.postgresql import session
from qbcd.errors import StateConflict, TornRead, UnsafeKey
from qbcd.sites.lake import commit, compaction, stage
from qbcd.sites.lake.fetch import two_phase
from qbcd.state import LeaseKeeper
from tests.faults.stage import rubbish
from tests.support import batch_layers, sql
from tests.support.maria_source import KINDS
from tests.support.pausing import Paused, at
from tests.support.project import poll
from tests.support.scene import STREAM, Scene
from tests.support.stamped_scene import PAST_THE_MARGIN, scene_of
from tests.support.watched_polls import at_nth

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Rule 10: digest B is read; the application writes A; the row is read; the application writes B again. Without a shared
# snapshot the fetched row is A, and so is the stored digest; the next poll finds B.
@pytest.mark.parametrize("pinned", [False, pytest.param(True, marks=pytest.mark.campaign)])
def test_writes_between_digests_and_rows(
    pinned: bool, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two_phase, "SAVED_BYTES", -(10**12))
    rows = two_phase._rows
    between: list[str] = []

    def watched(*args: Any) -> Any:
        before, after = between
        sql(database, before)
        found = rows(*args)
        sql(database, after)
        return found

    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        if not pinned:
            monkeypatch.setattr(session.PostgresSnapshots, "snapshot_pins", lambda self, name: session.PINS)
        monkeypatch.setattr(two_phase, "_rows", watched)
        sql(database, "UPDATE t SET v = 'B' WHERE id = 7")
        between[:] = ("UPDATE t SET v = 'A' WHERE id = 7", "UPDATE t SET v = 'B' WHERE id = 7")
        scene.poll()
        (event,) = scene.seen()[max(scene.seen())]
        assert event["after"]["v"] == ("B" if pinned else "A")
        monkeypatch.setattr(two_phase, "_rows", rows)
        assert (scene.poll().report.header is None) is pinned  # type: ignore[union-attr]
        scene.check()
        assert scene.project.stream(STREAM).verify() == []

        monkeypatch.setattr(two_phase, "_rows", watched)
        sql(database, "UPDATE t SET v = 'C' WHERE id = 7")
        between[:] = ("DELETE FROM t WHERE id = 7", "SELECT 1")
        before = scene.fingerprint()
        if pinned:
            scene.poll()
        else:
            with pytest.raises(TornRead, match="1 row requested by key, 0 received"):
                scene.poll()
            assert scene.fingerprint() == before
        monkeypatch.setattr(two_phase, "_rows", rows)
        scene.poll()
        scene.check()
        assert rubbish(scene) == []


# Digests of the first phase are compared with the range checksums before rows are fetched by key: digests of another
# state are refused, and the files of several tasks are removed.
def test_digests_of_another_state_than_the_checksums(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two_phase, "SAVED_BYTES", -(10**12))
    monkeypatch.setattr(two_phase, "HELD_ROWS", 4)
    differing = two_phase._differing

    def overtaken(*args: Any) -> Any:
        sql(database, "UPDATE t SET v = 'B' WHERE id = 7")
        return differing(*args)

    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        with monkeypatch.context() as broken:
            broken.setattr(session.PostgresSnapshots, "snapshot_pins", lambda self, name: session.PINS)
            broken.setattr(two_phase, "_differing", overtaken)
            sql(database, "UPDATE t SET v = 'A'")
            before = scene.fingerprint()
            with pytest.raises(TornRead, match="the readers did not see one snapshot"):
                scene.poll()
        assert scene.fingerprint() == before
        assert rubbish(scene) == []
        scene.poll()
        scene.check()


# One task holds the keys and digests of a range in memory, so a very large range is fetched in one phase.
def test_a_range_that_one_task_could_not_hold(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_phase_fetches, fetch = list[bool](), two_phase.fetch

    def watched(*args: Any) -> Any:
        two_phase_fetches.append(True)
        return fetch(*args)

    monkeypatch.setattr(two_phase, "fetch", watched)
    monkeypatch.setattr(two_phase, "SAVED_BYTES", -(10**12))
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        for largest in (4, 3):  # each range has 4 rows
            monkeypatch.setattr(two_phase, "LARGEST_RANGE", largest)
            sql(database, "UPDATE t SET n = n + 1")
            scene.poll()
            assert two_phase_fetches == [True], "once, where the ranges are not too large"
        scene.check()


# Rule 23: a segment contains what its compaction read. It must not replace a replica on which a later batch lies.
@pytest.mark.parametrize("folds", [50, pytest.param(1, marks=pytest.mark.campaign)])
def test_a_compaction_that_was_overtaken(
    folds: int, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 1)
    batch_layers.always(monkeypatch)
    with Scene(database, workspace, "id_rcs", spark, retain="0s") as scene, scene.again() as project:
        scene.make_table()
        scene.prepare()
        scene.change()
        late = Paused(project)
        with monkeypatch.context() as patched, at_nth("before_commit", 2, late.pause):  # first: the poll's own
            patched.setattr(LeaseKeeper, "_beat", lambda self: self._stop.wait())
            late.start()
            site = scene.site
            with site.context.writing() as conn:  # its lease ends, and its own clock does not show it
                conn.execute(site.context.store.tables.lease.update().values(until=0.0))
            monkeypatch.setattr(compaction, "COMPACT_BATCHES", folds)
            scene.change()
            scene.poll()
            before = scene.fingerprint()
        assert isinstance(late.finish(), StateConflict)
        assert scene.fingerprint() == before
        assert scene.project.stream(STREAM).verify() == []
        scene.change()
        scene.poll()
        assert len(scene.check()) == 3
        assert scene.project.stream(STREAM).verify() == []
        assert rubbish(scene) == []


# Rules 1 and 23: a poller that was paused past its lease compares with the replica of another one and finds nothing.
def test_a_poll_that_was_overtaken(database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene, scene.again() as project:
        scene.begin()

        def overtaken() -> None:
            site = scene.site
            with site.context.writing() as conn:
                conn.execute(site.context.store.tables.lease.update().values(until=0.0))
            scene.change()
            poll(project, STREAM)

        before = scene.fingerprint()
        with at("after_snapshot", overtaken), pytest.raises(StateConflict, match="continued with the stream"):
            scene.project.stream(STREAM).verify()
        assert scene.fingerprint() != before
        assert scene.project.stream(STREAM).verify() == []


# A refused poll leaves no fetched files behind, even if rows of split ranges would have become a segment.
def test_a_refused_poll_leaves_no_files(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*args: Any, **named: Any) -> None:
        raise TornRead("refused")

    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        sql(database, "INSERT INTO t SELECT i, 'more', 0 FROM generate_series(2000, 2100) i")
        before = scene.fingerprint()
        with monkeypatch.context() as broken:
            broken.setattr(commit, "new_batch", refused)
            for _ in range(2):
                with pytest.raises(TornRead, match="refused"):
                    scene.poll()
        assert scene.fingerprint() == before
        left = rubbish(scene)
        assert [name for name in left if "fetch" in name] == [], left
        scene.poll()
        scene.check()
        assert rubbish(scene) == []


# Duplicate keys could come and go unseen where digests are compared: a key that the catalog does not prove is read in
# full.
def test_a_key_that_lost_its_constraint_is_read_in_full(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two_phase, "SAVED_BYTES", -(10**12))
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        before = scene.fingerprint()
        sql(database, "ALTER TABLE t DROP CONSTRAINT t_pkey; INSERT INTO t SELECT * FROM t WHERE id = 7")
        with pytest.raises(UnsafeKey, match="has duplicate or NULL values"):
            scene.poll()
        assert scene.fingerprint() == before


# Without a shared snapshot, rows of a window may have left it when the window is read.
@pytest.mark.campaign
@pytest.mark.parametrize("database", KINDS, indirect=True)
def test_a_window_that_is_empty_by_the_time_it_is_read(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = stage.frame  # the local engine reads the rows here

    def overtaken(*args: Any) -> Any:
        sql(database, "DELETE FROM t WHERE id = 500")
        return read(*args)

    with scene_of(database, workspace, "ts_spark", spark) as scene:
        scene.begin()
        sql(database, "INSERT INTO t (id, v, at) VALUES (500, 'short', sysdate(6))")
        time.sleep(PAST_THE_MARGIN)
        with monkeypatch.context() as patched:
            patched.setattr("qbcd.sites.lake.modes.window.frame", overtaken)
            report = scene.poll().report
        assert report is not None
        assert report.header is None
        scene.change()
        scene.poll()
        scene.check()
