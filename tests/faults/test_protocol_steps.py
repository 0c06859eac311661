"""One store, one owner, one step. Each test forces the trace that its rule prevents.

See docs/design/protocol.md#section-a.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.engine import make_url

from qbcd.api import parts_of
from qbcd.common import hooks
from qbcd.errors import LeaseHeld, Refused, SourceError, StateConflict
from qbcd.sites import context as site_context
from qbcd.sites.lake import compaction
from qbcd.state import LeaseKeeper, LeaseLost, StreamStore, lease
from tests.support import sql, wait_until
from tests.support.pausing import AFTER_PLAN, paused
from tests.support.places import Place, over
from tests.support.proxy import Cut, proxy_to
from tests.support.scene import STREAM, Scene
from tests.support.stamped_scene import scene_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRATEGIES = ("mds", "id_rcs")
FAINT = 2.0  # seconds of a lease, within which a poller reaches the point where it is paused


# Rules 1 and 2: only the owner of the lease writes.
@over(
    "strategy, point",
    [
        ("mds", AFTER_PLAN),
        ("mds", "before_commit"),
        ("id_rcs", "after_snapshot"),
        ("id_rcs", "after_commit"),
        *(
            pytest.param(*case, marks=pytest.mark.campaign)
            for case in (("mds", "after_lease"), ("mds", "before_publish"), ("id_rcs", "after_stage"))
        ),
    ],
    elsewhere=[("mds", "before_commit")],
)
def test_two_pollers(strategy: str, point: str, database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, strategy, spark) as scene:
        scene.begin()
        scene.change()
        with paused(scene, point) as first:
            before = scene.fingerprint()
            for work in (scene.poll, scene.project.stream(STREAM).verify, scene.project.stream(STREAM).reset):
                with pytest.raises(LeaseHeld, match=f"process {os.getpid()} on .* works on this stream"):
                    work()
            assert scene.fingerprint() == before
            assert first.finish() is None
        assert len(scene.check()) == 2


@pytest.fixture
def faint(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Use short leases that their holder does not renew, as in a paused process.

    `undo` restores them.
    """
    monkeypatch.setattr(site_context, "LEASE_SECONDS", FAINT)
    monkeypatch.setattr(LeaseKeeper, "_beat", lambda self: self._stop.wait())
    return monkeypatch


def is_leased(scene: Scene) -> bool:
    """Return True if somebody holds the stream's lease."""
    with scene.site.context.reading() as conn:
        return lease.holder(conn, scene.site.context.store, STREAM) is not None


PAUSED = [("mds", "after_lease", False, True), ("mds", AFTER_PLAN, True, True), ("mds", AFTER_PLAN, True, False)]


# Rules 1 and 2: a holder that was paused past its lease. `blind`: it was paused after its last check of the lease, so
# that only the step itself can stop it: by the version if another poller has advanced the stream, by the token alone if
# that one found nothing.
@over(
    "strategy, point, blind, moved",
    [
        case if case in PAUSED else pytest.param(*case, marks=pytest.mark.campaign)
        for case in (
            (strategy, point, *how)
            for strategy, point in (
                ("mds", "after_lease"),
                ("mds", AFTER_PLAN),
                ("id_rcs", "before_commit"),
                ("id_rcs", AFTER_PLAN),
            )
            for how in ((False, True), (True, True), (True, False))
        )
    ],
    elsewhere=PAUSED[-1:],
)
def test_a_paused_holder_cannot_commit(
    strategy: str,
    point: str,
    blind: bool,
    moved: bool,
    database: str,
    workspace: Path,
    spark: SparkSession,
    faint: pytest.MonkeyPatch,
) -> None:
    with Scene(database, workspace, strategy, spark) as scene:
        faint.setattr(site_context, "LEASE_SECONDS", 60.0)
        scene.begin()
        old = scene.source()
        scene.change()
        faint.setattr(site_context, "LEASE_SECONDS", FAINT)
        with paused(scene, point) as first:
            faint.undo()
            if blind:
                faint.setattr(LeaseKeeper, "check", lambda self: None)
            wait_until(lambda: not is_leased(scene), what="the end of the first one's lease")
            scene.change() if moved else scene.put(old)
            scene.poll()
            before, seen = scene.fingerprint(), scene.check()
            refusal = first.finish()
            assert isinstance(refusal, StateConflict), refusal
            assert scene.fingerprint() == before
            assert scene.check() == seen
        scene.change()
        scene.poll()
        assert len(scene.check()) == 2 + moved


# Rules 1 and 2: an error after another poller has taken over is no error of its own: the other poller may have removed
# what this one still reads.
@pytest.mark.parametrize("taken", [True, False])
def test_an_error_after_a_lost_lease(
    taken: bool, database: str, workspace: Path, spark: SparkSession, faint: pytest.MonkeyPatch
) -> None:
    with Scene(database, workspace, "mds", spark, baseline="silent") as scene, scene.again() as project:
        scene.make_table()
        scene.prepare()
        faint.setattr(site_context, "LEASE_SECONDS", 0.1)
        with pytest.raises(LeaseLost if taken else KeyError), scene.site.context.hold():
            wait_until(lambda: not is_leased(scene), what="the end of the lease")
            if taken:
                with parts_of(project).open_stream(STREAM).site.context.hold():
                    pass
            raise KeyError("fetch-1-removed")


# Rules 1 and 2: a poller that was paused past its lease continues with ranges whose segments and files another one has
# replaced and removed. `blind`: it does not notice the lease itself, only that something is missing.
@pytest.mark.campaign
@over(
    "strategy, point, blind",
    [
        *((s, "after_checksums", b) for s in ("id_rcs", "id_rcs_hash", "tlcs_remote") for b in (True, False)),
        *((s, point, True) for s in ("id_rcs", "id_rcs_digest") for point in ("after_fetch", "before_commit")),
        ("id_rcs", "after_snapshot", True),
        *(("ts_spark", "after_fetch", b) for b in (True, False)),
    ],
)
def test_a_paused_holder_whose_files_were_removed(
    strategy: str,
    point: str,
    blind: bool,
    database: str,
    workspace: Path,
    spark: SparkSession,
    faint: pytest.MonkeyPatch,
) -> None:
    faint.setattr(site_context, "LEASE_SECONDS", 60.0)
    with scene_of(database, workspace, strategy, spark, retain="0s") as scene:
        scene.begin()
        scene.change()
        with faint.context() as short:
            short.setattr(site_context, "LEASE_SECONDS", FAINT)
            short.setattr(compaction, "COMPACT_BATCHES", 1)
            with paused(scene, point) as first:
                short.setattr(site_context, "LEASE_SECONDS", 60.0)
                if blind:
                    short.setattr(LeaseKeeper, "check", lambda self: None)
                wait_until(lambda: not is_leased(scene), what="the end of the first one's lease")
                scene.change()
                scene.poll()
                before = scene.fingerprint()
                refusal = first.finish()
                assert isinstance(refusal, LeaseLost), refusal
                assert refusal.exit_code == 3
                assert scene.fingerprint() == before
        scene.poll()  # on MariaDB the transaction of the first one held the watermark back
        scene.check()
        scene.change()
        scene.poll()
        scene.check()


# Rule 1: in the source, an open step holds the stream's row, so that nobody can take over before it ends.
@over(elsewhere=[])
def test_a_paused_step_in_the_source(
    database: str, workspace: Path, spark: SparkSession, faint: pytest.MonkeyPatch
) -> None:
    with Scene(database, workspace, "mds", spark) as scene:
        faint.setattr(site_context, "LEASE_SECONDS", 60.0)
        scene.begin()
        scene.change()
        faint.setattr(site_context, "LEASE_SECONDS", FAINT)
        with paused(scene, "before_commit") as first:
            faint.undo()
            faint.setattr(lease, "LOCK_WAIT_MS", 300)
            wait_until(lambda: not is_leased(scene), what="the end of the first one's lease")
            before = scene.fingerprint()
            with pytest.raises(LeaseHeld, match="in the middle of a step"):
                scene.poll()
            assert isinstance(first.finish(), LeaseLost)
            assert scene.fingerprint() == before
        scene.poll()
        assert len(scene.check()) == 2


# Rule 1: two hosts, two state databases, one schema `qbcd`.
@over(elsewhere=[])
def test_a_foreign_project(database: str, tmp_path: Path, spark: SparkSession) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    with Scene(database, ours, "mds", spark) as scene, Scene(database, theirs, "mds", spark) as other:
        scene.begin()
        before = scene.fingerprint()
        other.base = scene.source()
        for work in (other.prepare, other.poll, other.project.stream(STREAM).verify):
            with pytest.raises(StateConflict, match="prepared by another project"):
                work()
        with pytest.raises(StateConflict, match="prepared by another project"):
            other.project.stream(STREAM).reset(discard=True)
        assert scene.fingerprint() == before
        scene.change()
        scene.poll()
        assert len(scene.check()) == 2


# Rule 4: an unanswered commit may be done or not; the next poll reads which, and neither loses nor repeats.
@over(
    "strategy, cut, reverted",
    [
        ("mds", "reply", True),
        ("mds", "request", False),
        ("id_rcs", "reply", False),
        ("id_rcs", "request", True),
        *(
            pytest.param(*case, marks=pytest.mark.campaign)
            for case in (("mds", "reply", False), ("mds", "request", True), ("id_rcs", "reply", True))
        ),
    ],
    elsewhere=[("mds", "reply", True), ("mds", "request", False)],
)
def test_a_lost_commit(
    strategy: str, cut: Cut, reverted: bool, place: Place, workspace: Path, spark: SparkSession
) -> None:
    with proxy_to(place) as proxy, scene_behind(proxy.port, strategy, place, workspace, spark) as scene:
        scene.begin()
        old, before = scene.source(), scene.fingerprint()
        scene.change()
        hooks.register("before_commit", lambda: proxy.arm(cut))
        with pytest.raises(SourceError):
            scene.poll()
        hooks.register("before_commit", None)
        assert proxy.cuts == 1
        sealed = scene.sealed()
        assert len(sealed) == (2 if cut == "reply" else 1)
        assert cut == "reply" or scene.fingerprint() == before
        if reverted:
            scene.put(old)
        scene.poll()
        assert scene.sealed()[: len(sealed)] == sealed
        assert len(scene.check()) == 1 + (cut == "reply") + ((cut == "reply") == reverted)


def scene_behind(port: int, strategy: str, place: Place, workspace: Path, spark: SparkSession) -> Scene:
    """Return a scene whose commits pass the proxy, in plain text.

    They are in the source for MDS, in a state database for ID/RCS.
    """
    behind = make_url(place.url).set(port=port)
    if strategy == "mds":
        return Scene(place.url, workspace, strategy, spark, source_url=behind.render_as_string())
    state = place.at(f"{place.name}_state")
    state.create()
    plain = {} if place.kind == "postgresql" else {"ssl_disabled": "true"}
    url = behind.set(database=state.name).update_query_dict(plain).render_as_string()
    return Scene(place.url, workspace, strategy, spark, state=url)


# Rules 4 and 20: the sink has the batch, the acknowledgement's reply is lost.
@over(elsewhere=[])
def test_a_lost_acknowledgement(place: Place, workspace: Path, spark: SparkSession) -> None:
    with proxy_to(place) as proxy, scene_behind(proxy.port, "id_rcs", place, workspace, spark) as scene:
        scene.begin()
        scene.change()
        hooks.register("after_publish", lambda: proxy.arm("request"))
        with pytest.raises(SourceError):
            scene.poll()
        hooks.register("after_publish", None)
        assert proxy.cuts == 1
        assert scene.acks()["changes"][1] == 1
        files = scene.files()
        assert len(scene.seen()) == 2
        scene.poll()
        assert scene.files() == files
        assert len(scene.check()) == 2


# Rule 4: a baseline whose commit was not answered.
@over("cut", ["request", "reply"], elsewhere=["reply"])
def test_a_lost_baseline(cut: Cut, place: Place, workspace: Path, spark: SparkSession) -> None:
    with proxy_to(place) as proxy, scene_behind(proxy.port, "mds", place, workspace, spark) as scene:
        scene.make_table()
        hooks.register("before_commit", lambda: proxy.arm(cut))
        with pytest.raises(SourceError):
            scene.prepare()
        hooks.register("before_commit", None)
        row = scene.site.context.row()
        assert row is not None
        assert row.prepared is (cut == "reply")
        if cut == "request":
            scene.change()  # the lost baseline does not matter
            scene.prepare()
        scene.change()
        scene.poll()
        assert len(scene.check()) == 1


# Rule 5: files are on the disk before the commit that names them; the source's commit is not asynchronous.
def test_files_are_durable_before_they_are_named(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[str] = set()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    with Scene(database, workspace, "id_rcs", spark, baseline="events") as scene:
        scene.make_table()
        monkeypatch.setattr(os, "fsync", noted)
        checked = 0
        add_batch = StreamStore.add_batch

        def named(self: StreamStore, conn: Any, header: Any, token: int, **more: Any) -> None:
            nonlocal checked
            root = next(p for p in workspace.rglob(header.location["part"]) if p.is_dir()).parent
            wanted = {root, *(root / header.location["part"] / name for name, *_ in header.location["files"])}
            wanted.add(root / header.location["part"])
            assert {str(path) for path in wanted} <= synced
            checked += 1
            add_batch(self, conn, header, token, **more)

        monkeypatch.setattr(StreamStore, "add_batch", named)
        scene.prepare()
        synced.clear()
        scene.change()
        scene.poll()
        assert checked == 2


def test_the_source_commits_synchronously(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = make_url(database).database
    sql(database, f"ALTER DATABASE {name} SET synchronous_commit = off")
    found = []
    advance = StreamStore.advance

    def recorded(self: StreamStore, conn: Any, row: Any, **more: Any) -> Any:
        found.append(conn.exec_driver_sql("SHOW synchronous_commit").scalar_one())
        return advance(self, conn, row, **more)

    with Scene(database, workspace, "mds", spark) as scene:
        monkeypatch.setattr(StreamStore, "advance", recorded)
        scene.begin()
    assert found == ["on", "on"]


# Rules 3 and 18: a stream that was never prepared, or is reset with batches waiting.
@over("strategy", STRATEGIES, elsewhere=["mds"])
def test_no_poll_before_the_baseline(strategy: str, database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, strategy, spark) as scene:
        scene.make_table()
        with pytest.raises(Refused, match="is not prepared"):
            scene.poll()
        assert scene.files() == {}
