"""Sinks that fail, late publishers, sites set back, consumers that stop half-way.

See docs/design/protocol.md#section-d.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.api import parts_of
from qbcd.common import hooks
from qbcd.errors import DeliveryError, QbcdError, StateConflict
from qbcd.sites import context as site_context
from qbcd.state import LeaseKeeper
from tests.faults.test_protocol_batches import TWO_SINKS, block, unblock
from tests.support.pausing import at, paused
from tests.support.places import Place, over
from tests.support.project import opened
from tests.support.scene import STREAM, Scene, same_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRATEGIES = ("mds", "id_rcs")


# Rule 20: a sink fails half-way, the other one goes on, and the batch is delivered once.
@pytest.mark.parametrize(
    ("victim", "strategy"),
    [
        ("changes", "mds"),
        ("lake", "id_rcs"),
        pytest.param("changes", "id_rcs", marks=pytest.mark.campaign),
        pytest.param("lake", "mds", marks=pytest.mark.campaign),
    ],
)
def test_a_sink_that_fails_half_way(
    victim: str, strategy: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "part-0")

    order = sorted(TWO_SINKS, key=lambda name: name != victim)  # the sink that fails is written first
    with Scene(database, workspace, strategy, spark, sinks={name: TWO_SINKS[name] for name in order}) as scene:
        scene.begin()
        scene.change()
        other = order[1]
        with at("mid_publish", full), pytest.raises(DeliveryError, match=f"sink {victim}: No space left on device"):
            scene.poll()
        assert (len(scene.seen(victim)), len(scene.seen(other))) == (1, 2)
        assert scene.acks()[victim] < scene.acks()[other]
        assert parts_of(scene.project).state.delivery_failures(STREAM)[victim].attempts == 1
        files = {path: content for path, content in scene.files().items() if f"/{other}/" in path}
        scene.poll()
        assert parts_of(scene.project).state.delivery_failures(STREAM) == {}
        seen = scene.check(victim)
        assert len(seen) == 2
        assert {e["event_id"] for b in seen.values() for e in b} == {
            e["event_id"] for b in scene.check(other).values() for e in b
        }
        assert files.items() <= scene.files().items()
        assert not [p for p in (workspace / "out").rglob("*") if "tmp" in p.name]


# Rules 20 and 22: a sink that is down delays only its own deliveries.
@pytest.mark.parametrize("strategy", ["id_rcs", pytest.param("mds", marks=pytest.mark.campaign)])
def test_a_sink_that_is_down(strategy: str, database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, strategy, spark, sinks=TWO_SINKS) as scene:
        scene.make_table()
        scene.prepare()
        blocked = block(scene, "changes")
        for number in (1, 2, 3):
            scene.change()
            with pytest.raises(DeliveryError, match="sink changes"):
                scene.poll()
            assert len(scene.check("lake")) == number
        assert parts_of(scene.project).state.delivery_failures(STREAM)["changes"].attempts >= 3
        unblock(blocked)
        scene.poll()
        assert list(scene.check("changes")) == list(scene.check("lake"))
        assert len(scene.check("changes")) == 3


# Rule 20: a publisher that was overtaken changes nothing, at any point.
@over(
    "strategy, sink, point",
    [
        ("mds", "jsonl", "before_publish"),
        ("id_rcs", "jsonl", "mid_publish"),
        pytest.param("id_rcs", "parquet", "after_publish", marks=pytest.mark.campaign),
        pytest.param("mds", "parquet", "mid_publish", marks=pytest.mark.campaign),
    ],
    elsewhere=[],
)
def test_a_stale_publisher(
    strategy: str,
    sink: str,
    point: str,
    database: str,
    workspace: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sinks = {"changes": {"type": sink, "path": "out/changes"}}
    with Scene(database, workspace, strategy, spark, sinks=sinks, retain="0s") as scene:
        scene.begin()
        scene.change()
        with monkeypatch.context() as patched:
            patched.setattr(LeaseKeeper, "_beat", lambda self: self._stop.wait())
            patched.setattr(site_context, "LEASE_SECONDS", 20.0)
            late = paused(scene, point)
            first = late.__enter__()
        site = scene.site
        with site.context.writing() as conn:  # its lease ends, and its own clock does not show it
            conn.execute(site.context.store.tables.lease.update().values(until=0.0))
        scene.poll()
        scene.change()
        scene.poll()
        files, before = stamped(scene), scene.fingerprint()
        assert len(scene.check()) == 3
        error = first.finish()
        late.__exit__(None, None, None)
        assert error is not None, "its acknowledgement would go back"
        assert (stamped(scene), scene.fingerprint()) == (files, before)
        assert scene.acks()["changes"] == max(scene.check())
        scene.change()
        scene.poll()
        assert len(scene.check()) == 4


def stamped(scene: Scene) -> dict[str, tuple[bytes, int]]:
    """Return the sinks' files with their modification times, which show if a file was rewritten."""
    return {path: (content, os.stat(scene.folder / path).st_mtime_ns) for path, content in scene.files().items()}


# Rule 20: another batch with a number that the sink has is an error, and the sink keeps its batch.
def test_a_number_given_twice(database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        scene.project.close()
        shutil.copytree(workspace / ".qbcd", workspace / "backup")
        scene.project = opened(scene.data, workspace, spark)
        scene.change()
        scene.poll()
        files = scene.files()
        scene.project.close()
        shutil.rmtree(workspace / ".qbcd")
        shutil.move(workspace / "backup", workspace / ".qbcd")  # acknowledgements and site go back together
        scene.project = opened(scene.data, workspace, spark)
        scene.change()
        with pytest.raises(DeliveryError, match="another"):
            scene.poll()
        assert scene.files() == files


# Rule 21: the site is older than the batches that sinks acknowledged.
@over(elsewhere=[])
def test_a_site_that_went_back(place: Place, workspace: Path, spark: SparkSession) -> None:
    with Scene(place.url, workspace, "mds", spark) as scene:
        scene.begin()
        scene.project.close()
        backup = place.copy_to(f"{place.name}_b")
        scene.project = opened(scene.data, workspace, spark)
        scene.change()
        scene.poll()
        files = scene.files()
        scene.project.close()
        place.take_over(backup)
        scene.project = opened(scene.data, workspace, spark)
        scene.change()
        for work in (scene.poll, scene.project.stream(STREAM).verify, lambda: scene.poll(accept_source=True)):
            with pytest.raises(StateConflict, match="the state does not match sink 'changes': the sink has batch"):
                work()
        assert scene.files() == files


# Rule 22: a new sink gets the next batch; the first one is not disturbed.
@pytest.mark.parametrize("strategy", ["mds", pytest.param("id_rcs", marks=pytest.mark.campaign)])
def test_a_sink_that_is_added(strategy: str, database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, strategy, spark) as scene:
        scene.begin()
        base_rows, changes = scene.base, scene.changes
    with Scene(database, workspace, strategy, spark, sinks=TWO_SINKS) as scene:
        scene.base, scene.changes = base_rows, changes
        scene.change()
        scene.poll()
        assert len(scene.check("changes")) == 2
        assert list(scene.seen("lake")) == [max(scene.seen("changes"))]


# Rule 22: `poll()` in Python acknowledges a batch when the next one is requested, and otherwise returns it again.
@over("strategy", STRATEGIES, elsewhere=[])
def test_a_python_consumer_that_stops(strategy: str, database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, strategy, spark) as scene:
        scene.make_table()
        scene.prepare()
        stream = scene.project.stream(STREAM)
        scene.change()
        first = next(iter(stream.poll()))
        events = sorted(first.events.select("event_id", "op").collect())
        scene.change()
        again = stream.poll()
        batch = next(again)
        assert (batch.seq, sorted(batch.events.select("event_id", "op").collect())) == (first.seq, events)
        assert next(again).seq == first.seq + 1
        assert [b.seq for b in stream.poll()] == [first.seq + 1]
        assert [b.seq for b in stream.poll()] == []
        same_events(scene.seen(), scene.check())


# Rules 4 and 20: anything may fail around a write; the same write comes again and changes nothing.
@pytest.mark.parametrize("point", ["mid_publish", "after_publish"])
def test_a_failure_around_the_write(point: str, database: str, workspace: Path, spark: SparkSession) -> None:
    class Broken(Exception):
        """An error that nobody expects."""

    def broken() -> None:
        raise Broken

    with Scene(database, workspace, "mds", spark, sinks=TWO_SINKS) as scene:
        scene.begin()
        scene.change()
        hooks.register(point, broken)
        for _ in range(2):
            with pytest.raises(DeliveryError if point == "mid_publish" else QbcdError, match="Broken"):
                scene.poll()
        hooks.register(point, None)
        files, started = stamped(scene), time.monotonic()
        scene.poll()
        assert time.monotonic() - started < 30
        assert files.items() <= stamped(scene).items()
        assert len(scene.check("changes")) == len(scene.check("lake")) == 2
