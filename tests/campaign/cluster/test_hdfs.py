"""A workdir on HDFS: the same histories with both engines, and a changed file is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from qbcd.errors import StateConflict, StoreFailed
from tests.support import free_port
from tests.support.hdfs_server import hdfs_server
from tests.support.places import Place
from tests.support.project import opened
from tests.support.scene import STREAM, Scene

pytestmark = pytest.mark.campaign
pytest.importorskip("hdfs_native", reason="the client is not installed (pip install 'qbcd[hdfs]')")


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with hdfs_server(tmp_path_factory.mktemp("hdfs")) as address:
        yield address


def test_a_server_that_is_not_there_is_an_error(place: Place, workspace: Path) -> None:
    """It was minutes of attempts."""
    with Scene(place.url, workspace, "id_rcs", None, engine="local") as scene:  # type: ignore[arg-type]
        scene.make_table()
        scene.project.close()
        scene.data |= {"workdir": f"hdfs://127.0.0.1:{free_port()}/x", "local_folder": "local"}
        scene.project = opened(scene.data, workspace)
        with pytest.raises(StoreFailed, match="cannot be reached"):
            scene.prepare()


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_history(engine: str, hdfs: str, place: Place, workspace: Path) -> None:
    strategy = {"type": "id_rcs", "rows_per_range": 4}
    with Scene(place.url, workspace, strategy, None, engine=engine) as scene:  # type: ignore[arg-type]
        scene.project.close()
        scene.data |= {"workdir": f"hdfs://{hdfs}/{engine}", "local_folder": "local", "spark": {"master": "local[2]"}}
        scene.project = opened(scene.data, workspace)
        scene.make_table()
        assert [one for one in scene.project.check() if one.level == "error"] == []
        scene.begin()
        for _ in range(3):
            scene.change()
            scene.poll()
            scene.check()
        assert scene.project.stream(STREAM).verify() == []
        files = scene.site.context.files  # type: ignore[attr-defined]
        name = next(name for name in files.parts.names() if name.startswith(("segment", "fetch")))
        files.parts.remove(name)
        scene.change()
        with pytest.raises(StateConflict, match="missing or was changed"):
            scene.poll()
