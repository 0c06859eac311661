"""Fixtures: the run's Spark session with the drivers of databases in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.errors import EnvironmentMissing
from tests.support.firebird_server import LOGIN, VERSIONS, FirebirdServer
from tests.support.jdbc_places import IN_FILES, PASSWORD, JdbcPlace, add_drivers, file_place, firebird_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


DIALECTS = {"firebird3": "firebird", "firebird4": "firebird4"}  # those that the tests use, by version


@pytest.fixture(scope="session")
def jdbc_spark(spark: SparkSession) -> SparkSession:
    """The session; drivers come from the user's cache, or from Maven."""
    add_drivers(spark, *IN_FILES, "firebird")
    return spark


@pytest.fixture(scope="session")
def firebird(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], FirebirdServer]]:
    """Return a server of a version that runs until the end of the session; skip the test if there is none."""
    running: dict[str, FirebirdServer] = {}

    def server(version: str) -> FirebirdServer:
        if version not in running:
            try:
                running[version] = FirebirdServer(version, tmp_path_factory.mktemp(version))
            except EnvironmentMissing as error:
                pytest.skip(f"no server of Firebird: {error}")
        return running[version]

    yield server
    for one in running.values():
        one.stop()


@pytest.fixture
def new_place(
    jdbc_spark: SparkSession, firebird: Callable[[str], FirebirdServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], JdbcPlace]:
    """Return a new database of a profile, or of a version of Firebird."""

    def new(name: str) -> JdbcPlace:
        if name in VERSIONS:
            monkeypatch.setenv(PASSWORD, LOGIN["password"])
            return firebird_place(jdbc_spark, firebird(name), tmp_path.name, DIALECTS[name])
        return file_place(jdbc_spark, name, tmp_path)

    return new
