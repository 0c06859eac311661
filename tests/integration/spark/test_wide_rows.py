"""Rows that are wider than a reader's buffer: read, compared and delivered in any case."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.api import parts_of
from qbcd.connectors.postgresql import session
from tests.support.oracle import batches
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.campaign
BUFFER = 1_000_000
SMALL = 400  # short rows, after which a reader requests many


def filled(place: Place, wide: int, bytes_of_each: int) -> None:
    """Make table `t`: short rows, then `wide` long ones."""
    longtext = "text" if place.kind == "postgresql" else "longtext"
    place.sql(f"CREATE TABLE t (id integer PRIMARY KEY, v {longtext}, n integer)")
    with place.connect() as conn:
        for i in range(SMALL + wide):
            value = hashlib.md5(bytes([i % 256])).hexdigest() * (1 if i < SMALL else bytes_of_each // 32)
            place.run(conn, "INSERT INTO t VALUES (%s, %s, 0)", [i, value])


# Some long rows exceed the buffer together, one exceeds it alone. MariaDB's driver needs no buffer.
@over(
    "strategy, wide, size, fetchsize, narrowed",  # narrowed: how often at least
    [
        ("id_rcs", 30, 100_000, None, 1),
        ("id_rcs", 2, 3 * BUFFER, None, 2),
        ("id_rcs", 30, 100_000, 10, 0),
        ("mds", 30, 100_000, None, 1),
        ("mds", 2, 3 * BUFFER, None, 2),
    ],
    elsewhere=[],
)
def test_long_values_after_short_ones(
    strategy: str,
    wide: int,
    size: int,
    fetchsize: int | None,
    narrowed: int,
    place: Place,
    workspace: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "FETCH_BYTES", BUFFER)
    filled(place, wide, size)
    table: dict[str, Any] = {"name": "s", "table": place.table("t"), "strategy": strategy, "engine": "spark"}
    table |= {"baseline": "events"}
    jdbc = {} if fetchsize is None else {"jdbc": {"fetchsize": fetchsize}}
    with opened(config(place.url, table, source=jdbc), workspace, spark) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET n = 1")
        place.sql(f"DELETE FROM t WHERE id = {SMALL}")
        poll(project, "s")
        assert project.stream("s").verify() == []
        found = parts_of(project).source("shop")._narrowed.get("s", 0)
        assert found >= narrowed if narrowed and place.kind == "postgresql" else found == 0
    rows = {row[0]: row[1:] for row in place.sql("SELECT id, v, n FROM t")}
    first, second = (events for _, events in batches(workspace / "out/changes", "s"))
    assert len(first) == SMALL + wide
    assert {e["key"]["id"]: (e["after"]["v"], e["after"]["n"]) for e in second if e["op"] == "u"} == rows


# A process of its own, with the least memory that Spark accepts.
def test_too_little_memory_has_words_and_no_trace(place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v text)")
    place.sql("INSERT INTO t SELECT i, repeat(md5(i::text), 6000000) FROM generate_series(1, 2) AS i")
    table = {"name": "s", "table": "public.t", "strategy": "id_rcs", "engine": "spark"}
    data = config(place.url, table, spark={"conf": {"spark.driver.memory": "520m"}})
    (workspace / "qbcd.yaml").write_text(str(data))
    for verbose in (False, True):
        command = [sys.executable, "-m", "qbcd", "prepare", *(["-v"] if verbose else [])]
        ran = subprocess.run(command, cwd=workspace, capture_output=True, text=True, timeout=600, check=False)
        assert ran.returncode == 1
        assert "stream s: " in ran.stderr
        assert "jdbc.fetchsize" in ran.stderr
        assert "spark.driver.memory" in ran.stderr
        assert ("OutOfMemoryError" in ran.stderr) is verbose, ran.stderr
