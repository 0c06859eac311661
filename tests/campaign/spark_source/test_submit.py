"""A program that spark-submit runs, on this machine and with executors of their own, reads and follows a stream."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyarrow import parquet

from tests.campaign.spark_source import submitted
from tests.support.places import Place
from tests.support.project import config, opened
from tests.support.spark_reads import as_counter, change_rows

pytestmark = pytest.mark.campaign
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
PATIENCE = 500.0  # seconds on a busy machine
SETTINGS = ("spark.ui.enabled=false", "spark.sql.shuffle.partitions=1", "spark.log.level=ERROR")


def submit(master: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the program by spark-submit in a folder, where its workers find no modules."""
    settings = [word for one in SETTINGS for word in ("--conf", one)]
    command = [str(SUBMIT), "--master", master, *settings, submitted.__file__, str(folder / "qbcd.yaml"), str(folder)]
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.fixture
def events(place: Place, workspace: Path) -> list[dict[str, Any]]:
    """The events of stream `s`, which has three batches; its configuration is in the workspace."""
    place.sql("CREATE TABLE t (id bigint PRIMARY KEY, n integer, v text)")
    place.insert("t", [(i, 0, f"v{i}") for i in range(1, 201)])
    data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": "id_rcs", "baseline": "events"})
    (workspace / "qbcd.yaml").write_text(json.dumps(data), encoding="utf-8")
    found: list[dict[str, Any]] = []
    with opened(data, workspace) as project:
        handle = project.stream("s")
        handle.prepare()
        for number in range(3):
            found += [event for batch in handle.poll() for event in batch.rows()]
            place.sql(f"UPDATE t SET n = n + 1 WHERE id > {180 + number}; DELETE FROM t WHERE id = {number + 1}")
        found += [event for batch in handle.poll() for event in batch.rows()]
    return found


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_a_submitted_program_reads_and_follows(master: str, events: list[dict[str, Any]], workspace: Path) -> None:
    ran = submit(master, workspace)
    assert ran.returncode == 0, ran.stderr[-5000:]
    expected = change_rows(events, ["id", "n", "v"])
    assert len(Counter(version for _, version, *_ in expected)) == 4
    for name in ("read", "followed"):
        rows = [row for file in (workspace / name).glob("*.parquet") for row in parquet.read_table(file).to_pylist()]
        assert as_counter(rows, ["id", "n", "v"]) == expected, name
