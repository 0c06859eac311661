"""An S3 server for the tests of a folder, and Java of its own for each of their files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark import SparkContext

from tests.campaign.cluster.store_scene import BUCKET
from tests.conftest import driver_jars
from tests.support.s3_server import S3Server, s3_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    with s3_server() as running:
        running.make_bucket(BUCKET)
        yield running


def _running() -> SparkContext | None:
    return SparkContext._active_spark_context


@pytest.fixture(scope="module", autouse=True)
def _java_of_its_own() -> Iterator[None]:
    """End Java after each file: the next one needs another class path, or another master."""
    if _running() is not None:
        pytest.skip("this process has a Spark session of other tests: make campaign PART=cluster")
    yield
    if (context := _running()) is not None:
        context.stop()
    if (gateway := SparkContext._gateway) is not None:
        gateway.shutdown()
        SparkContext._gateway = SparkContext._jvm = None


@pytest.fixture(scope="module")
def spark(_java_of_its_own: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that these tests pass to qbcd."""
    from qbcd.config.models import SparkConfig
    from qbcd.spark.session import create_session

    conf = {"spark.sql.shuffle.partitions": "2", "spark.local.dir": str(tmp_path_factory.mktemp("spark"))}
    session = create_session(SparkConfig(master="local[2]", conf=conf), driver_jars())
    yield session
    session.stop()


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A new folder for a project; its name is that of the workdir in the bucket."""
    made = tmp_path / f"p{abs(hash(request.node.nodeid)) % 10**9}"
    made.mkdir()
    return made
