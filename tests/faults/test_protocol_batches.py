"""Batches and their files, guards, and files that other readers use.

See docs/design/protocol.md#section-c.
"""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd import status
from qbcd.errors import DeliveryError, GuardTripped, StateConflict
from qbcd.polling.outcome import poll
from qbcd.sites import DatabaseSite, Files, LakeSite
from qbcd.sites.context import StreamContext
from qbcd.sites.lake import compaction
from qbcd.strategies.outbox import outbox_name
from qbcd.stream import Stream
from tests.faults.child import kill_at
from tests.faults.stage import rubbish
from tests.support import batch_layers, sql
from tests.support.places import over
from tests.support.scene import STREAM, Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from qbcd.local.arrow import LocalRows
    from qbcd.model import BatchHeader

BOTH = ("id_rcs", pytest.param("mds", marks=pytest.mark.campaign))
GUARDED: dict[str, Any] = {"guards": {"max_delete_fraction": 0.2}}
TWO_SINKS = {"changes": {"type": "jsonl", "path": "out/changes"}, "lake": {"type": "parquet", "path": "out/lake"}}


def files_of(scene: Scene) -> Files:
    site = scene.site
    assert isinstance(site, LakeSite)
    return site.context.files


def parts(scene: Scene) -> tuple[Path, Path]:
    """Return the folders of the segment and of the last batch of an ID/RCS stream."""
    site, root = scene.site, files_of(scene).root
    with site.context.reading() as conn:
        (segment,) = site.context.store.segments(conn, STREAM)
    return root / segment.segment_id, root / scene.sealed()[-1].location["part"]


# Rule 15: the commit names files, sizes and hashes; a file that does not match is an error, never fewer rows.
@pytest.mark.parametrize(
    "damage", ["flipped", *(pytest.param(how, marks=pytest.mark.campaign) for how in ("missing", "longer", "shorter"))]
)
def test_a_damaged_replica_is_refused(
    damage: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch_layers.always(monkeypatch)
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        for folder in parts(scene):
            victim = max(folder.glob("*.parquet"), key=lambda p: p.stat().st_size)
            content = victim.read_bytes()
            scene.change()
            before = scene.fingerprint()
            if damage == "missing":
                victim.unlink()
            else:
                flipped = content[:99] + bytes([content[99] ^ 1]) + content[100:]
                victim.write_bytes({"shorter": content[:-1], "longer": content + b"x", "flipped": flipped}[damage])
            for work in (scene.poll, scene.project.stream(STREAM).verify):
                with pytest.raises(StateConflict, match="is missing or was changed"):
                    work()
            assert scene.fingerprint() == before
            victim.write_bytes(content)
            scene.poll()
            scene.check()


# Rule 24: a host that does not see the project's workdir is refused before it acquires the lease; reset works.
def test_a_host_without_the_workdir(database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        root = files_of(scene).root
        token = scene.site.context.row().fencing_token  # type: ignore[union-attr]
        away = root.rename(root.with_name("away"))
        for work in (scene.poll, scene.project.stream(STREAM).verify):
            with pytest.raises(StateConflict, match="does not hold this stream's files"):
                work()
        assert scene.site.context.row().fencing_token == token  # type: ignore[union-attr]
        away.rename(root)
        scene.poll()
        scene.check()
        shutil.rmtree(root)
        scene.project.stream(STREAM).reset(discard=True)


# Rule 15: other files in the folder are not read.
def test_stray_files_are_not_read(database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        for folder in parts(scene):
            victim = max(folder.glob("*.parquet"), key=lambda p: p.stat().st_size)
            shutil.copy(victim, folder / "part-99999-stray.snappy.parquet")
        scene.change()
        scene.poll()
        scene.check()
        assert scene.project.stream(STREAM).verify() == []


# Rule 15: a staged batch that lost a file is not delivered in part.
def test_a_staged_batch_that_lost_a_file(database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        blocked = block(scene, "changes")
        scene.change()
        with pytest.raises(DeliveryError):
            scene.poll()
        _, batch = parts(scene)
        shutil.move(batch, workspace / "aside")
        unblock(blocked)
        with pytest.raises(StateConflict, match="is missing or was changed"):
            scene.poll()
        assert len(scene.seen()) == 1
        shutil.move(workspace / "aside", batch)
        scene.poll()
        assert len(scene.check()) == 2


def block(scene: Scene, sink: str) -> Path:
    """Replace the sink's folder of the stream by a plain file; move the folder to a backup."""
    folder = scene.folder / "out" / sink / STREAM
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        folder.rename(scene.folder / f"kept-{sink}")
    folder.write_text("in the way")
    return folder


def unblock(folder: Path) -> None:
    folder.unlink()
    kept = folder.parents[2] / f"kept-{folder.parent.name}"
    if kept.exists():
        kept.rename(folder)


# Rule 17: a confirmation is for one version and one number of deletes, and is used once.
@over("strategy", BOTH, elsewhere=[])
def test_a_confirmation_counts_once(strategy: str, database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, strategy, spark, **GUARDED) as scene:
        scene.begin()
        sql(database, "DELETE FROM t WHERE id IN (1, 2, 4, 5)")
        before = scene.fingerprint()
        for confirmed in (True, False):  # there is nothing to confirm yet
            with pytest.raises(GuardTripped, match="4 deletes of 12 rows"):
                scene.poll(accept_deletes=confirmed)
        sql(database, "DELETE FROM t WHERE id = 6")
        with pytest.raises(GuardTripped, match="5 deletes of 12 rows"):
            scene.poll(accept_deletes=True)  # more deletes than were confirmed
        assert scene.fingerprint() == before
        scene.poll(accept_deletes=True)
        scene.check()
        sql(database, "DELETE FROM t WHERE id IN (7, 8, 9)")
        before = scene.fingerprint()
        with pytest.raises(GuardTripped, match="3 deletes of 7 rows"):
            scene.poll(accept_deletes=True)
        assert scene.fingerprint() == before
        scene.poll(accept_deletes=True)
        assert len(scene.check()) == 3


# Rule 17: a guard stops detection, not the delivery of staged batches; an emptied source needs a confirmation.
@over("strategy", BOTH, elsewhere=[])
def test_staged_batches_go_out_while_a_guard_holds(
    strategy: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    guards: dict[str, Any] = {"guards": {"max_delete_fraction": 1.0, "allow_empty": False}}
    with Scene(database, workspace, strategy, spark, **guards) as scene:
        scene.begin()
        blocked = block(scene, "changes")
        scene.change()
        with pytest.raises(DeliveryError):
            scene.poll()
        unblock(blocked)
        sql(database, "DELETE FROM t")
        with pytest.raises(GuardTripped, match="the source is empty now and held 12 rows before"):
            scene.poll()
        assert len(scene.seen()) == 2
        scene.poll(accept_deletes=True)
        assert len(scene.check()) == 3


# Rule 23: compaction is also one step; killed before it, the replica is the old segment with its batches.
def test_compaction_killed_before_its_commit(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch_layers.always(monkeypatch)
    with Scene(database, workspace, "id_rcs", spark, retain="0s") as scene:
        scene.begin()
        old_segment, _ = parts(scene)
        scene.change()
        # the first visit is the poll's own commit, the second one that of compaction
        kill_at(
            "before_commit",
            scene.data,
            workspace,
            spark,
            nth=2,
            constants={"qbcd.sites.lake.compaction.COMPACT_BATCHES": 1, **batch_layers.ALWAYS},
        )
        assert parts(scene)[0] == old_segment
        assert len(list(files_of(scene).root.glob("segment-*"))) == 1
        scene.change()
        scene.poll()
        scene.check()
        assert list(files_of(scene).root.glob("segment-*")) == []
        assert [h.seq for h in scene.sealed()] == [1, 2, 3], "the replica rests on them"
        monkeypatch.setattr(compaction, "COMPACT_BATCHES", 1)
        scene.poll()
        assert scene.sealed() == []
        (left,) = files_of(scene).root.iterdir()
        assert left.name.startswith("segment-")
        scene.change()
        scene.poll()
        assert scene.project.stream(STREAM).verify() == []
        assert len(scene.check()) == 4


# Rule 23: a batch is removed when every sink has it and the replica does not need it; oldest first.
@over("strategy", BOTH, elsewhere=[])
def test_retention_waits_for_every_sink(
    strategy: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 1)
    with Scene(database, workspace, strategy, spark, retain="0s", sinks=TWO_SINKS) as scene:
        scene.begin()
        blocked = block(scene, "lake")
        for waiting in (1, 2):
            scene.change()
            with pytest.raises(DeliveryError):
                scene.poll()
            assert [h.seq for h in scene.sealed()] == list(range(2, 2 + waiting))
        unblock(blocked)
        scene.poll()
        assert scene.sealed() == []
        assert len(scene.check("changes")) == len(scene.check("lake")) == 3
        if strategy == "mds":
            outbox = f"{scene.place.own_schema}.{scene.place.quote(outbox_name(STREAM))}"
            assert sql(database, f"SELECT count(*) FROM {outbox}") == [(0,)]


# Rule 23: files that a reader has pinned stay until its pin ends.
def test_a_pin_keeps_files(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 1)
    with Scene(database, workspace, "id_rcs", spark, retain="0s") as scene:
        scene.make_table()
        scene.prepare()
        site, root = scene.site, files_of(scene).root
        with site.context.writing() as conn:
            pin = site.context.store.add_pin(conn, STREAM, 600.0)
        pinned = {path.name for path in root.iterdir()}
        scene.change()
        scene.poll()
        assert pinned < {path.name for path in root.iterdir()}
        with site.context.writing() as conn:
            site.context.store.drop_pin(conn, pin)
        scene.poll()
        assert len(list(root.iterdir())) == 1
        assert not pinned & {path.name for path in root.iterdir()}
        scene.check()


# Rule 23: pins expire, and the reader then fails; nothing has to be restored.
def test_a_reader_whose_pin_has_ended(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        monkeypatch.setattr(status, "PIN_SECONDS", 0.0)
        shutil.rmtree(parts(scene)[1])
        with pytest.raises(StateConflict, match="reading took so long"):
            scene.project.stream(STREAM).latest()


# Rules 15, 23: a source replica has no pins; a batch removed while it is read is left out as a whole.
@over("strategy", ["mds"], elsewhere=[])
def test_a_batch_is_removed_while_it_is_read(
    strategy: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Scene(database, workspace, strategy, spark) as scene:
        scene.begin()
        scene.change()
        scene.poll()
        first, second = scene.sealed()
        outbox = f"{scene.place.own_schema}.{scene.place.quote(outbox_name(STREAM))}"
        site, staged = scene.site, DatabaseSite.open_staged

        def going(of: DatabaseSite, header: BatchHeader, part: range) -> AbstractContextManager[LocalRows]:
            if header.seq == first.seq:
                scene.place.sql(f"DELETE FROM {outbox} WHERE batch_seq = {first.seq} AND ordinal < 2")
            return staged(of, header, part)

        whole = scene.project.stream(STREAM).latest()
        assert [(h.seq, len(lines)) for h, lines in whole] == [(h.seq, h.size) for h in (first, second)]
        monkeypatch.setattr(DatabaseSite, "open_staged", going)
        with pytest.raises(StateConflict, match="are missing: "):
            scene.project.stream(STREAM).latest()
        with site.context.writing() as conn:
            site.context.store.delete_batch(conn, STREAM, first.epoch, first.seq)
        listings = [[second], [first, second]]  # the last one is read before the batch is removed
        monkeypatch.setattr(StreamContext, "batches", lambda of, after=None: listings.pop())
        assert scene.project.stream(STREAM).latest() == whole[1:]


def polled(stream: Stream) -> None:
    """Poll a stream that is kept from poll to poll, as in a job."""
    assert poll(stream).error is None


# Rule 23: files released while a pin existed are removed by a later poll of the same process that releases nothing.
def test_files_released_under_a_pin_are_removed_after_it(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 1)
    with Scene(database, workspace, "id_rcs", spark, retain="0s") as scene:
        scene.make_table()
        scene.prepare()
        stream = scene.work()
        polled(stream)  # the first poll of a process removes files
        pinned = {path.name for path in files_of(scene).root.iterdir()}
        with stream.site.context.writing() as conn:
            pin = stream.site.context.store.add_pin(conn, STREAM, 600.0)
        scene.change()
        polled(stream)
        polled(stream)
        assert pinned < set(rubbish(scene)), "its files, and the compacted batch"
        with stream.site.context.writing() as conn:
            stream.site.context.store.drop_pin(conn, pin)
        polled(stream)
        assert rubbish(scene) == []
        scene.change()
        polled(stream)
        scene.check()
        assert rubbish(scene) == []


# Rule 23: so are those of a poll that splits all ranges and so replaces the segment.
def test_a_segment_replaced_by_splits_is_removed(database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.make_table()
        sql(database, "UPDATE t SET id = id * 100")
        scene.prepare()
        stream = scene.work()
        polled(stream)
        (before,) = files_of(scene).root.iterdir()
        sql(database, "INSERT INTO t SELECT i, 'more', 0 FROM generate_series(10, 1290, 20) AS i WHERE i % 100 <> 0")
        polled(stream)
        assert not before.exists()
        assert rubbish(scene) == []
        scene.check()
