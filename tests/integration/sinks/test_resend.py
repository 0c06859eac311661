"""`qbcd resend` and `initial: replica`: a sink that is new or was lost gets the rows of the replica."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyarrow import parquet

import qbcd
from qbcd.errors import ConfigError, DeliveryError, Refused
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

LOG = {"log": {"type": "jsonl", "path": "out"}}
MIRROR = {"copy": {"type": "database", "url": "duckdb:///copy.duckdb", "table": "copied"}}
HISTORY = {"history": {"type": "database", "url": "sqlite:///history.db", "mode": "scd2", "table": "kept"}}
FEED = {"feed": {"type": "database", "url": "sqlite:///feed.db", "mode": "log", "table": "fed"}}
CREATE = "CREATE TABLE t (id int PRIMARY KEY, v varchar(20))"
STRATEGIES: dict[str, Any] = {
    "mds": "mds",
    "id": {"type": "id", "rows_per_range": 2},
    "id_rcs": {"type": "id_rcs", "rows_per_range": 2},
}


def data(place: Place, sinks: dict[str, Any], strategy: Any = "mds", **table: Any) -> dict[str, Any]:
    plain = {"name": "s", "table": place.table("t"), "strategy": strategy, "sinks": list(sinks)}
    return config(place.url, {**plain, **table}, sinks=sinks)


def fill(place: Place) -> None:
    place.sql(CREATE)
    place.sql("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')")


def rows_of(place: Place) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in place.sql("SELECT id, v FROM t"))


def mirrored(folder: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(folder / "copy.duckdb")) as connection:
        return connection.execute("SELECT id, v FROM copied ORDER BY id").fetchall()


def in_sqlite(path: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@over("strategy", list(STRATEGIES), elsewhere=["mds", "id_rcs"])
def test_new_sinks_get_the_rows_and_then_the_changes(place: Place, strategy: str, workspace: Path) -> None:
    """A mirror, a history and files that are added later; the first sink gets its batches alone."""
    fill(place)
    before = data(place, LOG, STRATEGIES[strategy])
    with opened(before, workspace) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET v = 'deux' WHERE id = 2")
        poll(project)
    files = {"files": {"type": "parquet", "path": "files", "initial": "replica"}}
    place.sql("DELETE FROM t WHERE id = 1")
    with opened(data(place, {**LOG, **MIRROR, **HISTORY, **files}, STRATEGIES[strategy]), workspace) as project:
        poll(project)
        assert mirrored(workspace) == rows_of(place) == [(2, "deux"), (3, "three")]
        place.sql("INSERT INTO t VALUES (4, 'four')")
        poll(project)
    assert mirrored(workspace) == rows_of(place)
    kept = in_sqlite(workspace / "history.db", "SELECT id, v, is_deleted, batch_seq FROM kept ORDER BY id, valid_from")
    assert kept == [(1, "one", 1, 1), (2, "deux", 0, 1), (3, "three", 0, 1), (4, "four", 0, 3)]
    sent = parquet.read_table(next((workspace / "files" / "s.resend-1").rglob("*.parquet")), partitioning=None)
    assert sent.column("op").to_pylist() == ["r", "r", "r"]
    assert sorted(row["v"] for row in sent.column("after").to_pylist()) == ["deux", "one", "three"]
    first = sent.to_pylist()[0]
    assert first["event_id"] == f"s:{first['source']['epoch']}:1.resend-1:0"
    assert [path.name[-10:] for path in sorted((workspace / "out" / "s").glob("*.jsonl"))] == [
        f"00000{n}.jsonl"[-10:] for n in (1, 2, 3)
    ]


