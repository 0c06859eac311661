"""A workdir in an object store: histories equal the source with both engines, and a changed file is refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

import qbcd
from qbcd.errors import StateConflict
from tests.support.places import Place
from tests.support.project import opened
from tests.support.s3_server import S3Server, s3_server
from tests.support.scene import STREAM, Scene

pytestmark = pytest.mark.campaign
BUCKET = "work"


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server() as running:
        running.make_bucket(BUCKET)
        yield running


class StoreScene(Scene):
    """A scene whose workdir is a bucket; the session is qbcd's own."""

    def __init__(self, place: Place, folder: Path, s3: S3Server, engine: str, **more: Any) -> None:
        self.endpoint, self.engine = s3.endpoint, engine
        super().__init__(place.url, folder, {"type": "id_rcs", "rows_per_range": 4}, None, engine=engine, **more)  # type: ignore[arg-type]
        self.project.close()
        self.data |= self.settings(s3.endpoint, folder.name)
        self.project = opened(self.data, folder)

    def settings(self, endpoint: str, prefix: str) -> dict[str, Any]:
        """Return the keys of the workdir; credentials come from the environment."""
        storage = {"endpoint": endpoint, "region": "us-east-1", "access_key": "${env:S3_KEY}"}
        return {
            "workdir": f"s3://{BUCKET}/{prefix}",
            "local_folder": "local",
            "storage": {**storage, "secret_key": "${env:S3_SECRET}"},
            "spark": {"master": "local[2]"},
        }

    def restart(self) -> None:
        """Open the project again, as a new process on another host: without its local folder."""
        self.project.close()
        shutil.rmtree(self.folder / "local")
        self.project = opened(self.data, self.folder)


@pytest.fixture(autouse=True)
def keys(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3_KEY", s3.storage["access_key"])
    monkeypatch.setenv("S3_SECRET", s3.storage["secret_key"])


def objects(s3: S3Server, prefix: str) -> list[str]:
    found = s3.client().get_file_info(fs.FileSelector(f"{BUCKET}/{prefix}", recursive=True, allow_not_found=True))
    return sorted(info.path for info in found if info.type == fs.FileType.File)


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_histories_equal_the_source(engine: str, s3: S3Server, place: Place, tmp_path: Path) -> None:
    folder = tmp_path / f"history-{engine}"
    folder.mkdir()
    with StoreScene(place, folder, s3, engine) as scene:
        scene.make_table()
        assert [f for f in scene.project.check() if f.level == "error"] == []
        scene.begin()
        assert objects(s3, folder.name), "the replica is in the bucket"
        for turn in range(3):
            scene.change()
            scene.poll()
            scene.check()
            if turn == 1:
                scene.restart()
        context = scene.site.context
        with context.reading() as conn:
            named = {one.segment_id for one in context.store.segments(conn, STREAM)}
        named |= {header.location["part"] for header in scene.sealed()}
        there = {path.split("/")[4] for path in objects(s3, folder.name)}
        assert {name for name in there if name.startswith(("segment", "batch", "fetch", "passing"))} == named
        assert scene.project.verify(STREAM)


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_changed_or_missing_object_is_refused(engine: str, s3: S3Server, place: Place, tmp_path: Path) -> None:
    folder = tmp_path / f"changed-{engine}"
    folder.mkdir()
    with StoreScene(place, folder, s3, engine) as scene:
        scene.begin()
        client = s3.client()
        path = next(path for path in objects(s3, folder.name) if "/segment-" in path or "/fetch-" in path)
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


def test_secrets_are_not_shown(s3: S3Server, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3_SECRET", "wrong+secret/of+the+test")
    folder = tmp_path / "secrets"
    folder.mkdir()
    with StoreScene(place, folder, s3, "local") as scene:
        text = repr(scene.project.config) + "".join(map(str, scene.project.check()))
    assert "wrong+secret" not in text
    assert "AKIATEST" not in text
    data = {**scene.data, "storage": {**scene.data["storage"], "secret_key": "written"}}
    with pytest.raises(qbcd.errors.ConfigError, match="the credential is written in the file"):
        opened(data, folder)
