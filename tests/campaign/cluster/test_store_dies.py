"""An object store that is killed, or pauses in the middle of a poll: exact or refused, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from qbcd.errors import QbcdError
from tests.campaign.cluster.store_scene import BUCKET, StoreScene
from tests.support.disk_store import DiskStore, disk_store
from tests.support.flaky_store import FlakyProxy, flaky_proxy
from tests.support.places import Place
from tests.support.scene import STREAM, same_events

pytestmark = pytest.mark.campaign
# Numbers of the request, after the start of a poll, at which the store dies.
KILLED = {"local": (1, 2, 3, 5, 8, 12, 17), "spark": (2, 9, 25)}
STANDS_STILL = 3.0  # seconds


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DiskStore]:
    with disk_store(tmp_path_factory.mktemp("store") / "data") as running:
        running.s3.make_bucket(BUCKET)
        yield running


def polled(scene: StoreScene, proxy: FlakyProxy, number: int, action: Callable[[], object]) -> str:
    """Poll, with an action before a request; return the error, empty for none."""
    scene.change()
    seen = scene.seen()
    proxy.before(number, action)
    try:
        scene.poll()
        return ""
    except QbcdError as error:
        return str(error)
    finally:
        proxy.before(0, action)
        same_events(seen, scene.seen())


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_killed_store(engine: str, store: DiskStore, place: Place, folder: Path) -> None:
    with (
        flaky_proxy(store.port, share=0.0) as proxy,
        StoreScene(place, folder, store.s3, engine, endpoint=proxy.endpoint) as scene,
    ):
        scene.begin()
        errors = []
        for number in KILLED[engine]:
            back = threading.Thread(target=store.start) if engine == "spark" else None  # it repeats for minutes

            def die() -> None:
                store.kill()
                if back is not None:  # noqa: B023 -- it is called before the next one
                    back.start()  # noqa: B023

            errors.append(polled(scene, proxy, number, die))
            if back is None:
                store.kill()
                store.start()
            elif back.ident is not None:  # the poll had so many requests
                back.join()
            scene.restart()
            scene.poll()
            scene.check()
        scene.check_parts()
        assert scene.project.stream(STREAM).verify() == []
        assert engine == "spark" or any(errors)
        assert all("workdir: " in text or "Spark" in text for text in errors if text), errors


def test_a_store_that_stands_still(store: DiskStore, place: Place, folder: Path) -> None:
    with (
        flaky_proxy(store.port, share=0.0) as proxy,
        StoreScene(place, folder, store.s3, "local", endpoint=proxy.endpoint) as scene,
    ):
        scene.begin()
        for number in (1, 4, 9):
            timer = threading.Timer(STANDS_STILL, lambda: store.stand_still(False))

            def pause() -> None:
                store.stand_still(True)
                timer.start()  # noqa: B023 -- it is called before the next one

            assert polled(scene, proxy, number, pause) == ""
            timer.join()
            scene.check()
        scene.check_parts()
