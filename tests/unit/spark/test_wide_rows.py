"""Rows that one request of a JDBC reader holds: bounded by bytes, unless the user sets their number; Java's memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from qbcd.catalog.source import SessionOptions, Source
from qbcd.connectors import connector_for
from qbcd.errors import RowsTooWide
from qbcd.spark import jvm_start
from qbcd.spark.jdbc import is_of_memory
from qbcd.spark.session import driver_memory

PG = "postgresql://u@localhost/shop"
BOUND = {"adaptiveFetch", "maxResultBuffer"}


def source_of(url: str, **options: Any) -> Source:
    """Return a source at `url`; nothing connects to it."""
    return Source("shop", make_url(url), connector_for(url), "qbcd", options=SessionOptions(**options))


def test_postgresql_bounds_requests_by_bytes_and_then_by_rows() -> None:
    source = source_of(PG)
    first = source.jdbc("s")[1]
    assert first.keys() >= BOUND
    assert first["fetchsize"] == "1"  # the first request does not know the width of a row
    most = [first["adaptiveFetchMaximum"]]
    assert source.narrow("s")
    most.append(source.jdbc("s")[1]["adaptiveFetchMaximum"])
    assert int(most[1]) < int(most[0])
    assert source.narrow("s")
    last = source.jdbc("s")[1]
    assert last["fetchsize"] == "1"
    assert not BOUND & last.keys()  # a row may be wider than the buffer
    assert not source.narrow("s")
    assert source.jdbc("other")[1] == first


def test_mariadb_reads_row_by_row_from_the_servers_stream() -> None:
    source = source_of("mariadb://u@localhost/shop")
    assert source.jdbc("s")[1]["fetchsize"] == "1"
    assert not source.narrow("s")


@pytest.mark.parametrize("url", [PG, "mariadb://u@localhost/shop"])
def test_the_users_fetchsize_wins(url: str) -> None:
    source = source_of(url, fetchsize=500)
    options = source.jdbc("s")[1]
    assert options["fetchsize"] == "500"
    assert not BOUND & options.keys()
    assert not source.narrow("s")


@pytest.mark.parametrize(
    "message",
    [
        "Result set exceeded maxResultBuffer limit. Received:  83886192; Current limit: 64000000",
        "Ran out of memory retrieving query results.",
    ],
)
def test_rows_that_are_too_wide_have_words(message: str) -> None:
    error = source_of(PG).explain(Exception(f"org.postgresql.util.PSQLException: {message}"), "s")
    assert isinstance(error, RowsTooWide)
    assert error.stream == "s"
    assert "jdbc.fetchsize" in error.remedy
    assert "spark.driver.memory" in error.remedy


def test_traces_of_a_dying_java_are_logged_only(caplog: pytest.LogCaptureFixture) -> None:
    lines = [
        "12:00:00 ERROR spark SparkUncaughtExceptionHandler: Uncaught exception in thread Thread[..]",
        "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed",
        "\tat org.apache.spark.sql.Writer.write(Writer.scala:1)",
        "Caused by: java.lang.OutOfMemoryError: Java heap space",
        "\t... 12 more",
        'Exception in thread "task-result-getter-1" java.lang.InterruptedException',
        "\tat java.base/java.util.concurrent.locks.Lock.acquire(Lock.java:1)",
        "another message",
        'Exception in thread "main" java.lang.IllegalArgumentException: System memory must be at least 471859200',
        "\tat org.apache.spark.memory.UnifiedMemoryManager.apply(UnifiedMemoryManager.scala:1)",
    ]
    reading, writing = os.pipe()
    os.write(writing, "".join(f"{line}\n" for line in lines).encode())
    os.close(writing)
    shown: list[str] = []
    jvm_start._out_of_memory.clear()
    try:
        with caplog.at_level("DEBUG", "qbcd.java"), jvm_start.java_messages_to(shown.append):
            jvm_start._copy(reading)
        assert shown == lines[7:]
        assert caplog.messages == lines[:7]
        assert jvm_start.is_out_of_memory()
    finally:
        jvm_start._out_of_memory.clear()


def test_messages_about_memory() -> None:
    assert is_of_memory("Job aborted due to stage failure: .. java.lang.OutOfMemoryError: Java heap space")
    assert is_of_memory("ExecutorLostFailure (executor 1 exited ..) Reason: Command exited with code 52")
    assert not is_of_memory("No space left on device")


def test_javas_memory_unless_spark_is_told_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SPARK_DRIVER_MEMORY", "SPARK_CONF_DIR", "SPARK_HOME", jvm_start.SUBMIT):
        monkeypatch.delenv(name, raising=False)
    assert 1024 <= int(driver_memory().removesuffix("m")) <= 4096
    for name, value in (("SPARK_DRIVER_MEMORY", "3g"), (jvm_start.SUBMIT, "--driver-memory 3g pyspark-shell")):
        with monkeypatch.context() as given:
            given.setenv(name, value)
            assert driver_memory() == ""
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.memory 3g\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert driver_memory() == ""
