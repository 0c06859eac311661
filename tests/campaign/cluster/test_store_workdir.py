"""A workdir in an object store: histories equal the source with both engines, and a changed file is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import qbcd
from qbcd.errors import QbcdError, StateConflict
from qbcd.local.part_files import END
from qbcd.sites.lake.replica.files import FileSet
from qbcd.state import LeaseKeeper, LeaseLost
from qbcd.status import latest_events
from tests.campaign.cluster.store_scene import StoreScene
from tests.support.cli import finished, spawn
from tests.support.flaky_store import flaky_proxy
from tests.support.pausing import paused
from tests.support.places import Place
from tests.support.project import config, opened
from tests.support.s3_server import S3Server
from tests.support.scene import STREAM

pytestmark = pytest.mark.campaign
ENGINES = ["local", "spark"]


@pytest.mark.parametrize("engine", ENGINES)
def test_histories_equal_the_source(engine: str, s3: S3Server, place: Place, folder: Path) -> None:
    with StoreScene(place, folder, s3, engine) as scene:
        scene.make_table()
        assert [f for f in scene.project.check() if f.level == "error"] == []
        scene.begin()
        for turn in range(3):
            scene.change()
            scene.poll()
            scene.check()
            if turn == 1:
                scene.restart()
        scene.check_parts()
        assert scene.project.stream(STREAM).verify() == []


@pytest.mark.parametrize("engine", ENGINES)
def test_a_changed_or_missing_object_is_refused(engine: str, s3: S3Server, place: Place, folder: Path) -> None:
    with StoreScene(place, folder, s3, engine) as scene:
        scene.begin()
        client = s3.client()
        path = next(path for path in scene.objects() if "/segment-" in path or "/fetch-" in path)
        with client.open_input_file(path) as file:
            content = bytes(file.read())
        before = scene.fingerprint()
        for wrong in (content[:-40] + bytes([content[-40] ^ 1]) + content[-39:], content[:-1], None):
            if wrong is None:
                client.delete_file(path)
            else:
                with client.open_output_stream(path) as out:
                    out.write(wrong)
            scene.restart()
            scene.change()
            with pytest.raises(StateConflict, match="missing or was changed"):
                scene.poll()
            assert scene.fingerprint() == before
        with client.open_output_stream(path) as out:
            out.write(content)
        scene.poll()
        scene.check()


def test_a_changed_byte_of_a_file_without_checksums_of_pages_is_seen_before_spark_reads(
    s3: S3Server, place: Place, folder: Path
) -> None:
    with StoreScene(place, folder, s3, "local") as scene:
        scene.make_table()
        place.insert("t", [(i, "x" * 50 + str(i * 7919), i) for i in range(100, 20_000)])
        scene.prepare()
        path = next(path for path in scene.objects() if path.endswith("/local-0.parquet"))
        content = bytearray(s3.client().open_input_file(path).read())
        assert len(content) > END + 1000
        content[500] ^= 1
        with s3.client().open_output_stream(path) as out:
            out.write(bytes(content))
        files = scene.site.context.files  # type: ignore[attr-defined]
        with scene.site.context.reading() as conn:
            [segment] = scene.site.context.store.segments(conn, STREAM)
        part = FileSet.of_segment(segment)
        with pytest.raises(StateConflict, match="missing or was changed"):
            files.prove_parts(part, by_executors=True)
        content[500] ^= 1
        with s3.client().open_output_stream(path) as out:
            out.write(bytes(content))
        files.prove_parts(part, by_executors=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_request_in_twenty_fails(engine: str, s3: S3Server, place: Place, folder: Path) -> None:
    """Polls end or raise; then the same poll is repeated, and nothing is lost or changed."""
    with (
        flaky_proxy(int(s3.endpoint.rpartition(":")[2]), share=0.0) as proxy,
        StoreScene(place, folder, s3, engine, endpoint=proxy.endpoint) as scene,
    ):
        scene.begin()
        proxy.share = 0.05
        errors = list[str]()
        for turn in range(20 if engine == "local" else 6):
            scene.change()
            try:
                scene.poll()
            except QbcdError as error:
                errors.append(str(error))
            if turn % 4 == 0:
                scene.restart()
        proxy.share = 0.0
        scene.poll()
        scene.check()
        scene.check_parts()
        assert sum(proxy.failed.values()) >= 5, (proxy.failed, proxy.passed)
        assert all("workdir: " in text or "Spark" in text for text in errors), errors


def contents(s3: S3Server, names: list[str]) -> dict[str, bytes]:
    """Return the bytes of objects."""
    client = s3.client()
    return {name: bytes(client.open_input_file(name).read()) for name in names}


@pytest.mark.parametrize("point", ["after_snapshot", "after_fetch", "before_commit"])
def test_a_paused_writer_overwrites_no_object(
    point: str, s3: S3Server, place: Place, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It wakes up after a take-over, does not notice it, and writes its objects: under names of its own."""
    monkeypatch.setattr(LeaseKeeper, "_beat", lambda self: self._stop.wait())  # as in a paused process
    with StoreScene(place, folder, s3, "local") as scene:
        scene.begin()
        scene.change()
        monkeypatch.setattr(LeaseKeeper, "check", lambda self: None)
        with paused(scene, point) as first:
            with scene.site.context.writing() as conn:
                conn.execute(scene.site.context.store.tables.lease.update().values(until=0.0))
            scene.change()
            scene.poll()
            before, state = contents(s3, scene.objects()), scene.fingerprint()
            assert isinstance(first.finish(), LeaseLost)
        assert scene.fingerprint() == state
        after = contents(s3, scene.objects())
        assert {name: after[name] for name in before} == before
        scene.change()
        scene.poll()
        scene.check()
        scene.check_parts()  # what it wrote is collected
        assert scene.project.stream(STREAM).verify() == []


def test_added_fields_are_in_the_bucket(s3: S3Server, place: Place, folder: Path) -> None:
    """Another host reads them from there; a changed object is refused."""
    with StoreScene(place, folder, s3, "local") as scene:
        scene.make_table()
        scene.prepare()
        condition = {"id": "all", "stream": STREAM, "condition": "id >= 0"}
        scene.data["subscriptions"] = {"inline": [condition]}
        scene.restart()
        scene.change()
        scene.poll()
        [path] = [path for path in scene.objects() if "/enriched/" in path and path.endswith(".parquet")]
        content = s3.client().open_input_file(path).read()
        scene.restart()  # without its copies
        read = [json.loads(line) for _, some in latest_events(scene.work(), 10) for line in some]
        assert {tuple(event["subscriptions"]) for event in read if event["after"]} == {("all",)}
        with s3.client().open_output_stream(path) as out:
            out.write(content[:-20] + bytes([content[-20] ^ 1]) + content[-19:])
        scene.restart()
        with pytest.raises(StateConflict, match=r"with the added fields of batch \d+/1 was changed"):
            latest_events(scene.work(), 10)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_driver_loses_nothing(engine: str, s3: S3Server, place: Place, folder: Path) -> None:
    with StoreScene(place, folder, s3, engine) as scene:
        scene.begin()
        for point in ("after_fetch", "after_stage", "before_commit", "after_commit"):
            scene.change()
            scene.survives_a_kill(point)
        scene.check_parts()


def test_secrets_are_not_shown(s3: S3Server, place: Place, folder: Path) -> None:
    with StoreScene(place, folder, s3, "local") as scene:
        text = repr(scene.project.config) + "".join(map(str, scene.project.check()))
        data = {**scene.data, "storage": {**scene.data["storage"], "secret_key": "written"}}
    assert s3.storage["secret_key"] not in text
    assert s3.storage["access_key"] not in text
    with pytest.raises(qbcd.errors.ConfigError, match="the credential is written in the file"):
        opened(data, folder)


def test_a_state_in_a_file_is_refused_where_any_host_runs_the_driver(place: Place, tmp_path: Path) -> None:
    data = config(place.url, {"name": STREAM, "table": place.table("t"), "strategy": "id_rcs", "engine": "spark"})
    data["spark"] = {"master": "yarn", "conf": {"spark.submit.deployMode": "cluster"}}
    with opened(data, tmp_path) as project:
        place.sql("CREATE TABLE t (id integer PRIMARY KEY)")
        found = [str(one.error) for one in project.check() if one.level == "error"]
        assert any("state.db is a file, and with spark.submit.deployMode=cluster any host may" in one for one in found)
    (tmp_path / "qbcd.yaml").write_text(json.dumps(data))
    ended = finished(spawn(tmp_path, "prepare"))  # in a process that has no session yet
    assert (ended.code, "any host may run the driver" in ended.err) == (3, True), ended
