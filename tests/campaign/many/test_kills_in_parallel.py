"""A process that polls many streams at the same time is killed again and again: every stream stays exact."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest
import yaml

from tests.support.cli import finished, spawn
from tests.support.oracle import batches
from tests.support.places import Place, over
from tests.support.scene import ROWS, TABLE, replay

KILLS = 100
STREAMS = 12
STRATEGIES = {"a": "mds", "b": {"type": "id_rcs", "rows_per_range": 4}}


def configured(place: Place) -> dict[str, object]:
    """Return two patterns, each with a strategy, polled four at a time."""
    patterns = [
        {"tables": f"{place.schema}.{kind}_*", "strategy": strategy, "every": "100ms"}
        for kind, strategy in STRATEGIES.items()
    ]
    return {
        "version": 1,
        "jobs": 4,
        "sources": {"shop": {**place.source, "connections": 4}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "defaults": {"source": "shop", "sinks": "changes", "guards": {"max_delete_fraction": 1.0, "allow_empty": True}},
        "tables": patterns,
    }


def write(place: Place, names: list[str], stop: threading.Event, drawn: random.Random) -> None:
    """Insert, update and delete rows of random tables until `stop`."""
    number = 1000
    while not stop.wait(0.005):
        name, number, key = drawn.choice(names), number + 1, drawn.randrange(1, ROWS)
        statement = drawn.choice(
            (
                f"INSERT INTO {name} VALUES ({number}, 'new {number}', 0)",
                f"UPDATE {name} SET v = 'changed {number}' WHERE id = {key}",
                f"DELETE FROM {name} WHERE id > {number - 20} AND id < {number - 5}",
            )
        )
        place.sql(statement)


@pytest.mark.campaign
@over()
def test_streams_polled_side_by_side_survive_kills(place: Place, workspace: Path) -> None:
    names = [f"{kind}_{number}" for kind in STRATEGIES for number in range(STREAMS // 2)]
    for name in names:
        place.sql(TABLE.replace(" t ", f" {name} ").replace("EXISTS t;", f"EXISTS {name};"))
        place.insert(name, [(i, f"old {i}", 0) for i in range(1, ROWS + 1)])
    base = {name: place.sql(f"SELECT id, v, n FROM {name}") for name in names}
    (workspace / "qbcd.yaml").write_text(yaml.safe_dump(configured(place)))
    assert finished(spawn(workspace, "prepare"), 300).code == 0
    stop, drawn = threading.Event(), random.Random(7)
    writer = threading.Thread(target=write, args=(place, names, stop, random.Random(8)))
    writer.start()
    try:
        for _ in range(KILLS):
            process = spawn(workspace, "run")
            time.sleep(2.0 + drawn.random() * 3)  # the process starts for about two seconds, then it polls
            os.killpg(process.pid, signal.SIGKILL)
            finished(process)
    finally:
        stop.set()
        writer.join()
    for _ in range(3):
        ran = finished(spawn(workspace, "run", "--once"), 300)
    assert ran.code == 0, ran.err
    for name in names:
        found = [events for _, events in batches(workspace / "out", name)]
        assert found, f"{name} was never delivered"
        rows = {row[0]: row for row in place.sql(f"SELECT id, v, n FROM {name}")}
        assert replay(base[name], found) == rows, name
