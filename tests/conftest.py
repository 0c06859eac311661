"""Fixtures of all tests: one embedded server and one Spark session per run, a fresh database per test.

`server` and `spark` start only when a test asks for them, so unit tests stay free of both.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.register_assert_rewrite("tests.support")

from qbcd.demo.server import EmbeddedPostgres  # noqa: E402 -- the rewriting is registered before the first import
from tests.support import sql  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedPostgres]:
    """The run's PostgreSQL: 100 connections, prepared transactions allowed, no fsync."""
    settings = {"max_connections": 100, "max_prepared_transactions": 10, "fsync": False}
    with EmbeddedPostgres.start(settings=settings) as running:
        yield running


@pytest.fixture
def database(server: EmbeddedPostgres) -> Iterator[str]:
    """URL of a new, empty database; it goes with the test, whoever is still connected."""
    name = f"t_{uuid.uuid4().hex}"
    sql(server.url, f"CREATE DATABASE {name}")
    yield server.url_of(name)
    sql(server.url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The run's Spark session: two local cores, the PostgreSQL driver on its class path.

    qbcd adopts a session that it finds in its process, so every project of the run shares this one.
    """
    from qbcd.config.models import SparkConfig
    from qbcd.connectors.postgresql import PostgreSQL
    from qbcd.spark.drivers import find_driver, user_cache
    from qbcd.spark.session import create_session

    conf = {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
    }
    driver = find_driver(PostgreSQL.driver, configured=None, cache=user_cache())
    session = create_session(SparkConfig(master="local[2]", conf=conf), [driver.jar])
    yield session
    session.stop()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty directory for a project: its qbcd.yaml, state, workdir and sinks."""
    made = tmp_path / "project"
    made.mkdir()
    return made
