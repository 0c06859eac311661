"""Executors whose Java has another time zone than UTC are refused: their drivers would shift dates by a day."""

from __future__ import annotations

import multiprocessing
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.jdbc_places import JdbcPlace, add_drivers
from tests.support.oracle import events
from tests.support.project import opened, poll

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

CLUSTER = "local-cluster[1,1,1024]"
PATIENCE = 300.0  # seconds
REFUSED = "an executor of the Spark session has the time zone America/New_York, not UTC"


@pytest.fixture
def served(spark: SparkSession, tmp_path: Path) -> Iterator[JdbcPlace]:
    """A database of HSQLDB that other processes reach; its server is in the Java of the session."""
    add_drivers(spark, "hsqldb")
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    server = jvm.java.lang.Class.forName("org.hsqldb.server.Server", True, loader).newInstance()
    server.setSilent(True)
    server.setLogWriter(None)
    server.setAddress("127.0.0.1")
    server.setPort(port)
    server.setDatabaseName(0, "shop")
    server.setDatabasePath(0, f"file:{tmp_path}/shop")
    server.start()
    url = f"jdbc:hsqldb:hsql://127.0.0.1:{port}/shop"
    yield JdbcPlace(spark, "hsqldb", url, url, {"user": "SA", "password": ""})
    server.stop()


def prepare(url: str, folder: Path, zone: str) -> None:
    """Prepare and deliver by executors of a zone; write what is refused into a file."""
    data = {
        "version": 1,
        "sources": {"shop": {"url": url, "user": "SA"}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "spark": {"master": CLUSTER, "conf": {"spark.executor.extraJavaOptions": f"-Duser.timezone={zone}"}},
        "defaults": {"sinks": ["changes"], "baseline": "events", "strategy": "id_rcs"},
        "tables": [{"name": "t", "source": "shop", "table": "PUBLIC.T"}],
    }
    try:
        with opened(data, folder) as project:
            project.stream("t").prepare()
            poll(project)
    except Exception as error:  # noqa: BLE001 -- the other process judges it
        (folder / "refused").write_text(str(error), encoding="utf-8")


@pytest.mark.campaign
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_executors_of_another_zone(zone: str, served: JdbcPlace, workspace: Path) -> None:
    served.execute(
        "CREATE TABLE T (ID BIGINT PRIMARY KEY, D DATE, A TIMESTAMP(6))",
        "INSERT INTO T VALUES (1, DATE '2024-03-10', TIMESTAMP '2024-03-10 02:30:00')",
    )
    child = multiprocessing.get_context("spawn").Process(target=prepare, args=(served.url, workspace, zone))
    child.start()
    child.join(PATIENCE)
    child.kill()
    refused = workspace / "refused"
    if zone != "UTC":
        assert REFUSED in refused.read_text("utf-8")
        return
    assert not refused.exists(), refused.read_text("utf-8")
    [event] = events(workspace / "out", "t")
    assert event["after"] == {"ID": 1, "D": "2024-03-10", "A": "2024-03-10T02:30:00.000000"}
