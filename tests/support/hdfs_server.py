"""HDFS with one name node and one data node in one process, from jars of Maven, fetched once into the user's cache."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from qbcd.errors import EnvironmentMissing
from qbcd.spark.drivers import user_cache
from qbcd.spark.java import resolve_packages
from qbcd.spark.object_stores import hadoop_version
from tests.support import wait_until

MAIN = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
JUNIT = "org.junit.jupiter:junit-jupiter-api:5.10.2"  # which the server's classes name


def class_path() -> str:
    """Return the class path of the server; if it cannot be fetched, the test is skipped."""
    from pyspark.find_spark_home import _find_spark_home

    version = hadoop_version()
    folder = user_cache() / "servers" / f"hdfs-{version}"
    if not (folder / "done").exists():
        try:
            packages = [f"org.apache.hadoop:hadoop-client-minicluster:{version}", JUNIT]
            resolve_packages(packages, folder, left_out=["org.apache.hadoop:hadoop-client-api", "junit:junit"])
        except (EnvironmentMissing, OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"the jars of HDFS cannot be fetched: {error}")
        (folder / "done").touch()
    return f"{folder}/jars/*:{Path(_find_spark_home())}/jars/*"


@contextmanager
def hdfs_server(folder: Path) -> Iterator[str]:
    """Run a server for the block; the value is its ``host:port``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["-nomr", "-format", "-datanodes", "1", "-nnport", str(port), "-writeDetails", "details.json"]
    command = ["java", "-Xmx512m", "-cp", class_path(), MAIN, *options]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        wait_until((folder / "details.json").exists, timeout=120, what="HDFS")  # written once its data node has joined
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
