"""A standalone master with two workers: the same histories as on one machine, also when a worker is killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qbcd.api import parts_of
from qbcd.errors import QbcdError
from qbcd.spark import object_stores
from tests.campaign.cluster.store_scene import BUCKET, StoreScene
from tests.support.dumps import FIRST, SECOND, THIRD, DumpScene
from tests.support.dumps import STREAM as DUMPS
from tests.support.hosts import hosts
from tests.support.pausing import at
from tests.support.places import Place
from tests.support.s3_server import S3Server
from tests.support.scene import STREAM
from tests.support.spark_cluster import SparkCluster, spark_cluster

pytestmark = pytest.mark.campaign


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def command_lines() -> str:
    """Return the command lines of all Java processes of this machine."""
    found = [Path(f"/proc/{name}/cmdline") for name in os.listdir("/proc") if name.isdigit()]
    texts = (path.read_bytes().replace(b"\0", b" ").decode(errors="replace") for path in found if path.exists())
    return "\n".join(text for text in texts if "java" in text)


def store_scene(place: Place, folder: Path, s3: S3Server, cluster: SparkCluster, **more: Any) -> StoreScene:
    spark = cluster.spark
    spark["conf"] |= {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": cluster.folder.as_uri(),
    }
    return StoreScene(place, folder, s3, "spark", spark=spark, **more)


def poll_until_done(scene: StoreScene) -> list[str]:
    """Poll until it succeeds; a lost executor is a retry of Spark, or an error and a retry by the next poll."""
    errors = list[str]()
    for _ in range(3):
        try:
            scene.poll()
            return errors
        except QbcdError as error:
            errors.append(str(error))
    raise AssertionError(errors)


def test_a_history_and_secrets(
    s3: S3Server, place: Place, folder: Path, cluster: SparkCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_stores, "ABANDONED", -60.0)
    with store_scene(place, folder, s3, cluster) as scene:
        scene.make_table()
        scene.more(range(200, 400))
        for key in (f"{folder.name}/a", "other/a"):
            s3.begin_upload(BUCKET, key)
        found = {one.subject: one for one in scene.project.check()}
        assert found["uploads"].message.startswith(f"1 upload into s3://{BUCKET}/{folder.name} did not end")
        assert [one for one in found.values() if one.level == "error"] == []
        assert "see the same files of the workdir" in found["executors"].message
        scene.prepare()
        scene.change()
        scene.poll()
        scene.check()

        assert scene.project.stream(STREAM).verify() == []
        scene.check_parts()

        lines = command_lines()
        assert cluster.master.partition("://")[2] in lines
        events = "".join(p.read_text(errors="replace") for p in cluster.folder.glob("eventlog_v2_*/*") if p.is_file())
        assert "SparkListenerSQLExecutionStart" in events
        logs = cluster.executors_logs() + events
        assert f"s3a://{BUCKET}" in logs
        for secret in (s3.storage["secret_key"], s3.storage["access_key"]):
            assert secret not in lines
            assert secret not in logs


def test_killed_workers(s3: S3Server, place: Place, folder: Path, cluster: SparkCluster) -> None:
    with store_scene(place, folder, s3, cluster) as scene:
        scene.begin()
        for number, point in enumerate(("after_snapshot", "after_checksums", "after_fetch", "after_stage")):
            scene.change()
            scene.more(range(500 + 100 * number, 600 + 100 * number))
            with at(point, lambda: cluster.kill_worker(len(cluster.workers) - 1)):
                poll_until_done(scene)
            scene.check()
            cluster.add_worker()
        scene.change()
        scene.poll()
        scene.check()
        assert scene.project.stream(STREAM).verify() == []
        scene.check_parts()


def test_killed_drivers(s3: S3Server, place: Place, folder: Path, cluster: SparkCluster) -> None:
    with store_scene(place, folder, s3, cluster) as scene:
        scene.begin()
        for point in ("after_fetch", "after_stage", "before_commit", "after_commit"):
            scene.change()
            scene.survives_a_kill(point)
        assert scene.project.stream(STREAM).verify() == []
        scene.check_parts()


def test_workers_on_hosts_of_their_own(s3: S3Server, place: Place, folder: Path, tmp_path: Path) -> None:
    """Executors reach the source, the store and each other over a network; then one host loses it."""
    with hosts() as apart, spark_cluster(tmp_path / "cluster", hosts=apart) as cluster:
        reached = f"{apart.address}:{apart.forward(int(place.host.rpartition(':')[2]))}"
        store = f"http://{apart.address}:{apart.forward(int(s3.endpoint.rpartition(':')[2]))}"
        url = f"{place.url.replace(place.host, reached)}?sslmode=disable"
        with store_scene(place, folder, s3, cluster, source_url=url, endpoint=store) as scene:
            scene.data["spark"]["conf"] |= {"spark.network.timeout": "20s", "spark.network.timeoutInterval": "5s"}
            scene.data["spark"]["conf"]["spark.executor.heartbeatInterval"] = "5s"
            scene.restart()
            scene.make_table()
            scene.more(range(200, 400))
            found = {one.subject: one for one in scene.project.check()}
            assert [one for one in found.values() if one.level == "error"] == []
            assert "see the same files of the workdir" in found["executors"].message
            scene.prepare()
            scene.change()
            scene.poll()
            scene.check()
            scene.change()
            scene.more(range(500, 700))
            with at("after_checksums", lambda: apart.unplug(1)):
                poll_until_done(scene)
            scene.check()
            assert scene.project.stream(STREAM).verify() == []
            scene.check_parts()


def events_of_dumps(folder: Path, **more: Any) -> tuple[list[list[dict[str, Any]]], str]:
    """Return the events of three dumps by batch, without what a run alone has, and the engine as `status` names it."""
    folder.mkdir()
    scene = DumpScene(folder)
    scene.data |= more
    scene.put("1.csv", FIRST)
    with scene.open() as project:
        project.stream(DUMPS).prepare()
        for number, rows in ((2, SECOND), (3, THIRD)):
            scene.put(f"{number}.csv", rows)
            assert project.run(once=True).exit_code == 0
        engine = parts_of(project).open_stream(DUMPS).settings.engine.describe()
    assert scene.replayed(FIRST) == dict(THIRD)
    kept = ("op", "key", "before", "after", "reason", "ordinal")
    return [[{name: event.get(name) for name in kept} for event in batch] for batch in scene.batches()], engine


def test_dumps_are_compared_on_the_cluster(cluster: SparkCluster, workspace: Path) -> None:
    here, local = events_of_dumps(workspace / "here")
    there, spark = events_of_dumps(workspace / "there", spark=cluster.spark)
    assert here == there
    assert (local[:5], spark[:5]) == ("local", "Spark")
