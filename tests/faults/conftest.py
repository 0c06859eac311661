"""Shared fixtures of fault tests.

Hooks are cleared after each test. A scene lives through all kills of its module.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from qbcd.common import hooks
from qbcd.sites import context
from tests.faults.stage import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _no_hooks_afterwards() -> Iterator[None]:
    yield
    for point in hooks.POINTS:
        hooks.register(point, None)


@pytest.fixture(autouse=True)
def _collects_at_each_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove leftovers at each poll, as the first poll of a new process does."""
    monkeypatch.setattr(context, "COLLECT_EVERY_S", 0.0)


@pytest.fixture(scope="module")
def stage(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """Scenes that live through all kills of the module.

    Each case starts with what the kills before it left behind.
    """
    made = Stage(request, tmp_path_factory.mktemp("kills"), spark)
    with made.left:
        yield made
