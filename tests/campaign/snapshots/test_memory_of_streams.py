"""A stream of files of ten times its memory: taken, compared, verified and delivered within the memory.

A resend sorts all rows, for which DuckDB needs memory that grows with their number.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query
from qbcd.sites.lake.engines.algebra import RANK
from qbcd.sites.lake.engines.local.engine import LocalEngine
from qbcd.snapshots.base import MIB

pytestmark = pytest.mark.campaign

ROOT = Path(__file__).parents[3]
FIXED = 128 * MIB  # buffers of readers and writers, and pages that the allocators keep; of files of any size
ROWS = 6_000_000  # of about 110 bytes: ten times 64 MiB
VALUES = "i AS id, md5(i::VARCHAR) AS a, 'customer number ' || (i % 1000003) AS b, {other} AS c, DATE '2020-01-01' AS d"
FORMS = {
    "join in parts": {"memory": "64MB"},
    "digests in parts": {"memory": "64MB", "replica": "digest"},
    "window": {"memory": "128MB"},
}
RESEND = "256MB"


def write(path: Path, rows: int, other: str, where: str = "TRUE") -> None:
    values = VALUES.format(other=other)
    with duckdb.connect(config={"memory_limit": "1GB"}) as made:
        made.execute(f"COPY (SELECT {values} FROM range({rows}) t(i) WHERE {where}) TO '{path}' (HEADER)")


def begin(folder: Path, rows: int, options: dict[str, str]) -> Path:
    (folder / "in").mkdir(parents=True)
    data = {
        "version": 1,
        "sources": {"f": {"files": "in/f-*.csv", "quiet": "0s", "format": {"types": {"id": "integer", "d": "date"}}}},
        "sinks": {"out": {"type": "parquet", "path": "out"}},
        "tables": [
            {"name": "s", "source": "f", "key": ["id"], "strategy": {"type": "dump", **options}, "sinks": ["out"]}
        ],
    }
    (folder / "qbcd.yaml").write_text(json.dumps(data))
    write(folder / "in" / "f-1.csv", rows, "'as it was, for some time'")
    return folder


def peak(folder: Path, *arguments: str) -> int:
    """Return the most resident bytes of a command."""
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    command = [sys.executable, "-m", "qbcd", *arguments]
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, arguments
    return usage.ru_maxrss * 1024


def peaks(folder: Path, rows: int) -> Iterator[int]:
    """Run all commands that read the files or the replica; yield the memory of each, a resend's without `RESEND`."""
    yield peak(folder, "prepare")
    write(folder / "in" / "f-2.csv", rows, "CASE i % 1000 WHEN 3 THEN 'new' ELSE 'as it was, for some time' END",
          "i % 5000 <> 7")  # fmt: skip
    yield peak(folder, "run", "--once")
    yield peak(folder, "verify", "s")
    text = (folder / "qbcd.yaml").read_text()
    if "digest" not in text:
        memory = json.loads(text)["tables"][0]["strategy"]["memory"]
        (folder / "qbcd.yaml").write_text(text.replace(memory, RESEND))
        yield peak(folder, "resend", "s", "out") - MIB * (_megabytes(RESEND) - _megabytes(memory))
        (folder / "qbcd.yaml").write_text(text)
    yield peak(folder, "run", "--once")


def _megabytes(size: str) -> int:
    return int(size.removesuffix("MB"))


@pytest.mark.parametrize("form", FORMS)
def test_a_stream_of_ten_times_its_memory(workspace: Path, form: str) -> None:
    least = max(peaks(begin(workspace / "small", 1000, FORMS[form]), 1000))
    used = [one - least for one in peaks(begin(workspace / "large", ROWS, FORMS[form]), ROWS)]
    assert max(used) <= _megabytes(FORMS[form]["memory"]) * MIB + FIXED, [f"{one / MIB:.0f} MiB" for one in used]
    events = workspace / "large" / "out" / "s"
    with duckdb.connect() as read:
        counted = read.execute(
            f"SELECT op, COUNT(*) FROM read_parquet('{events}/**/*.parquet') GROUP BY op ORDER BY op"
        ).fetchall()
    assert counted == [("d", ROWS // 5000), ("u", ROWS // 1000)]


@pytest.mark.parametrize("threads", [1, 4])
def test_many_changes_are_numbered_in_order(workspace: Path, threads: int) -> None:
    """Rows are counted while they come out of a sort, by any number of threads."""
    columns = ("op", "changed", "range_id", "key_id", "digest", "b_0", "a_0")
    op = "CASE i % 3 WHEN 0 THEN 'c' WHEN 1 THEN 'u' ELSE 'd' END"
    rows = f"SELECT {op}, NULL, 1, encode(md5(i::VARCHAR)), i, i, md5(i::VARCHAR) FROM range(1000000) t(i)"
    database = LocalDatabase(512 * MIB, workspace / "spilled")
    database.connection.execute(f"SET threads={threads}")
    changes = Query(f"SELECT * FROM ({rows}) AS t({', '.join(columns)})", columns)
    place = f"ROW_NUMBER() OVER (ORDER BY {RANK}, key_id) - 1"
    with LocalEngine(database).numbered(changes, 1, 0) as batch:
        found = database.connection.execute(
            f"SELECT COUNT(*) FILTER (ordinal = place) FROM (SELECT ordinal, {place} AS place FROM ({batch.sql}))"
        ).fetchall()
    database.close()
    assert found == [(1_000_000,)]
