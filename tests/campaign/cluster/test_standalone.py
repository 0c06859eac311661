"""A standalone master with two workers: the same histories as on one machine, also when a worker is killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qbcd.api import parts_of
from qbcd.common import hooks
from qbcd.errors import QbcdError
from tests.campaign.cluster.store_scene import BUCKET, StoreScene
from tests.support.dumps import FIRST, SECOND, THIRD, DumpScene
from tests.support.dumps import STREAM as DUMPS
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
        "spark.eventLog.dir": folder.as_uri(),
    }
    return StoreScene(place, folder, s3, "spark", spark=spark, **more)


def test_a_history_and_a_killed_worker(
    s3: S3Server, place: Place, folder: Path, cluster: SparkCluster, request: pytest.FixtureRequest
) -> None:
    with store_scene(place, folder, s3, cluster) as scene:
        scene.make_table()
        scene.more(range(200, 400))
        found = {one.subject: one for one in scene.project.check()}
        assert [one for one in found.values() if one.level == "error"] == []
        assert "see the same files of the workdir" in found["executors"].message
        scene.prepare()
        scene.change()
        scene.poll()
        scene.check()

        def die() -> None:
            hooks.register("after_stage", None)
            cluster.kill_worker(len(cluster.workers) - 1)

        request.addfinalizer(lambda: hooks.register("after_stage", None))
        hooks.register("after_stage", die)
        scene.change()
        scene.more(range(500, 700))
        for _ in range(3):  # a lost executor is a retry, or an error and a retry by the next poll
            try:
                scene.poll()
                break
            except QbcdError:
                continue
        scene.check()
        cluster.add_worker()
        scene.change()
        scene.poll()
        scene.check()
        assert scene.project.stream(STREAM).verify() == []
        scene.check_parts()

        lines = command_lines()
        assert cluster.master.partition("://")[2] in lines
        events = "".join(p.read_text(errors="replace") for p in folder.glob("eventlog_v2_*/*") if p.is_file())
        assert "SparkListenerSQLExecutionStart" in events
        logs = cluster.executors_logs() + events
        assert f"s3a://{BUCKET}" in logs
        for secret in (s3.storage["secret_key"], s3.storage["access_key"]):
            assert secret not in lines
            assert secret not in logs


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
