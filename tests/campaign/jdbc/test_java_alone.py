"""Control of a source with a JDBC driver alone needs its Java, but no Spark session; and it survives the Java's end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.jdbc_histories import History
from tests.support.jdbc_places import file_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = """
assert [one.level for one in project.check()].count("error") == 0
assert not has_session()
before = java()
[prepared] = project.prepare()
assert prepared.error is None, prepared.error
assert has_session()
assert java() == before
"""
LATER = """
assert outcome() == "empty"
assert not has_session()
os.kill(java(), signal.SIGKILL)
assert outcome() == "empty"
assert not has_session()
"""
CHILD = """
import os, signal, sys
import qbcd
from pyspark import SparkContext

def has_session():
    return SparkContext._active_spark_context is not None

def java():
    return int(SparkContext._jvm.java.lang.ProcessHandle.current().pid())

def outcome():
    [found] = project.run(once=True).outcomes
    assert found.error is None, found.error
    return found.run.outcome

with qbcd.open(sys.argv[1]) as project:
    {steps}
print("done")
"""


@pytest.mark.campaign
def test_control_needs_no_session(jdbc_spark: SparkSession, tmp_path: Path) -> None:
    history = History(file_place(jdbc_spark, "duckdb", tmp_path), tmp_path, seed=4, baseline="events")
    history.change(50)
    with history.open():
        pass  # the configuration is written
    for steps in (FIRST, LATER):
        code = CHILD.replace("{steps}", steps.strip().replace("\n", "\n    "))
        child = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "qbcd.yaml")],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert child.stdout.strip().endswith("done"), child.stderr
