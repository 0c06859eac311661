"""A streaming query with a checkpoint into Parquet, and the poller next to it, are killed again and again.

Every change row of the events is in the files once. Seeds decide when: while Spark starts, plans, reads or commits.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from tests.support.places import Place
from tests.support.project import config, opened
from tests.support.spark_reads import as_counter, change_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.campaign
ROOT = Path(__file__).resolve().parents[3]
KILLS = int(os.environ.get("QBCD_SPARK_KILLS", "30"))
PATIENCE = 600.0  # seconds for a start of Spark on a busy machine


class Runs:
    """The processes of one run: a query and a poller, each started again after its kill."""

    def __init__(self, folder: Path, data: dict[str, Any]) -> None:
        self.folder, self.file, self.ready = folder, folder / "qbcd.yaml", folder / "ready"
        self.file.write_text(json.dumps(data), encoding="utf-8")
        self.out, self.checkpoint = folder / "rows", folder / "checkpoint"

    def query(self, *, ends: bool = False) -> subprocess.Popen[bytes]:
        """Start the query; return when Spark has started."""
        self.ready.unlink(missing_ok=True)
        given = {"config": str(self.file), "out": str(self.out), "checkpoint": str(self.checkpoint)}
        (self.folder / "given.json").write_text(json.dumps({**given, "ready": str(self.ready), "ends": ends}))
        log = (self.folder / "query.log").open("ab")
        made = subprocess.Popen(
            [sys.executable, "-m", "tests.campaign.spark_source.child", str(self.folder / "given.json")],
            cwd=ROOT,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        until = time.monotonic() + PATIENCE
        while not self.ready.exists():
            assert made.poll() is None, (self.folder / "query.log").read_text(errors="replace")[-3000:]
            assert time.monotonic() < until
            time.sleep(0.2)
        return made

    def poller(self) -> subprocess.Popen[bytes]:
        """Start `qbcd run`."""
        log = (self.folder / "poller.log").open("ab")
        command = [sys.executable, "-m", "qbcd", "-c", str(self.file), "run"]
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started, Java and Python workers too, as kill -9 does."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        assert process.poll() is not None
    process.wait()


@pytest.mark.parametrize("strategy", ["id_rcs", "mds"])
def test_no_event_is_twice_or_missing_after_kills(
    strategy: str, place: Place, workspace: Path, spark: SparkSession
) -> None:
    place.sql("CREATE TABLE t (id bigint PRIMARY KEY, n integer)")
    place.insert("t", [(i, 0) for i in range(1, 41)])
    table = {"name": "s", "table": place.table("t"), "strategy": strategy, "every": "1s", "baseline": "events"}
    data = config(place.url, table)
    runs, drawn = Runs(workspace, data), random.Random(f"kills {strategy}")
    with opened(data, workspace) as project:
        project.stream("s").prepare()
    kills = KILLS // 2  # of two strategies
    query, poller = runs.query(), runs.poller()
    try:
        for number in range(kills):
            for _ in range(3):
                place.sql(
                    f"UPDATE t SET n = n + 1 WHERE id % 7 = {number % 7}; DELETE FROM t WHERE id = {number + 1};"
                    f"INSERT INTO t VALUES ({1000 + number * 3}, {number}) ON CONFLICT (id) DO UPDATE SET n = -t.n"
                )
                time.sleep(drawn.uniform(0, 2))
            kill(poller)
            poller = runs.poller()
            time.sleep(drawn.uniform(0, 12))
            assert query.poll() is None, (workspace / "query.log").read_text(errors="replace")[-3000:]
            kill(query)
            query = runs.query()
    finally:
        kill(query)
        kill(poller)
    with qbcd.open(runs.file) as project:
        assert not [one.error for one in project.run(once=True).outcomes if one.error]
    last = runs.query(ends=True)
    assert last.wait(PATIENCE) == 0, (workspace / "query.log").read_text(errors="replace")[-3000:]
    events = [
        json.loads(line)
        for path in sorted((workspace / "out/changes/s").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    expected = change_rows(events, ["id", "n"])
    assert sum(expected.values()) > 100
    assert as_counter(spark.read.parquet(str(runs.out)).collect(), ["id", "n"]) == expected
