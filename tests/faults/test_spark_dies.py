"""A Spark session that dies between two polls or within one: the next poll starts another."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.places import Place
from tests.support.project import config, opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# a process of its own, since this one's Java serves all tests
CHILD = """
import json, os, signal, sys
import psycopg2
import qbcd
from qbcd.api import parts_of

data, folder, url, how = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]

def change(key):
    with psycopg2.connect(url) as conn, conn.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (%s, 'new')", [key])

def found(project):
    [outcome] = project.run(["s"], once=True).outcomes
    return str(outcome.error) if outcome.error else [h.counts for h in outcome.report.headers]

with qbcd.Project.from_dict(data, base_dir=folder) as project:
    project.stream("s").prepare()
    change(10)
    print(found(project), flush=True)
    context = parts_of(project).spark.get().sparkContext
    if how == "killed":
        held = [context._jvm.java.lang.Object() for _ in range(9)]
        os.kill(context._jvm.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)
        del held  # Py4J's own thread then releases them in Java
    else:
        context._jsc.stop()
    print(found(project), flush=True)
    change(11)
    print(found(project), flush=True)
    if how == "killed":
        context = parts_of(project).spark.get().sparkContext
        os.kill(context._jvm.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)
"""


def watched(place: Place) -> dict[str, Any]:
    """Return a configuration whose stream is compared by Spark."""
    table = {"name": "s", "table": place.table("t"), "strategy": "id_rcs", "baseline": "silent", "engine": "spark"}
    return config(place.url, table)


@pytest.mark.campaign
@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_another_one_is_started(how: str, place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    data = watched(place)
    command = [sys.executable, "-c", CHILD, json.dumps(data), str(workspace), place.url, how]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ran.stdout.splitlines() == ["[{'c': 1}]", "[]", "[{'c': 1}]"], ran.stderr[-2000:]
    assert ran.returncode == 0, ran.stderr[-2000:]  # the project closes over a dead session, too
    assert ran.stderr.count("the Spark session has died") == 1
    assert "Traceback" not in ran.stderr, ran.stderr
    events = [json.loads(line) for file in sorted(workspace.rglob("*.jsonl")) for line in file.read_text().splitlines()]
    assert [event["after"]["id"] for event in events] == [10, 11]


COMMANDS = """
import os, signal
from qbcd.cli import main
from qbcd.sites.lake.replica.files import Files

write = Files.write

def dying(self, *arguments, **more):
    from pyspark import SparkContext
    os.kill(SparkContext._jvm.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)
    return write(self, *arguments, **more)

for Files.write in (dying, write):
    try:
        main(["run", "s", "--once"])
    except SystemExit as ended:
        print(f"ended with {ended.code}", flush=True)
"""


def test_a_session_that_dies_within_a_poll_is_one_message(place: Place, workspace: Path, spark: SparkSession) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    data = watched(place)
    (workspace / "qbcd.yaml").write_text(json.dumps(data))
    with opened(data, workspace, spark) as project:
        project.stream("s").prepare()
    place.sql("UPDATE t SET v = 'new' WHERE id = 2")
    ran = subprocess.run(
        [sys.executable, "-c", COMMANDS], cwd=workspace, capture_output=True, text=True, timeout=600, check=False
    )
    assert [line for line in ran.stdout.splitlines() if line.startswith("ended")] == ["ended with 1", "ended with 0"]
    assert "Traceback" not in ran.stderr, ran.stderr
    assert ran.stderr.count("error: stream s: Spark has died: ") == 1, ran.stderr[-2000:]
    events = [json.loads(line) for file in sorted(workspace.rglob("*.jsonl")) for line in file.read_text().splitlines()]
    assert [(event["op"], event["after"]) for event in events] == [("u", {"id": 2, "v": "new"})]
