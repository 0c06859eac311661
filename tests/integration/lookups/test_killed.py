"""kill -9 in the middle of a scan: every event is delivered once, with its partner."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lookups.scene import events, looked_up, partners
from tests.support.places import Place, over
from tests.support.project import opened, poll

CUSTOMERS, SALES, FIRST = 5000, 6000, 1_000_000  # so many keys that all rows travel, range by range
_CHILD = """
import json, os, signal, sys
from pathlib import Path
from qbcd.common import hooks
from tests.support.project import opened, poll
point, nth, data, folder = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]), Path(sys.argv[4])
def die():
    global nth
    nth -= 1
    if not nth:
        os.kill(os.getpid(), signal.SIGKILL)
hooks.register(point, die)
with opened(data, folder) as project:
    poll(project)
"""


def killed_at(point: str, nth: int, data: dict[str, Any], folder: Path) -> int:
    """Poll in a process that kills itself at the `nth` visit to `point`; return its exit code."""
    command = [sys.executable, "-c", _CHILD, point, str(nth), json.dumps(data), str(folder)]
    return subprocess.run(command, timeout=120, check=False, cwd=Path(__file__).parents[3]).returncode


@over(
    "missing, kills",
    [
        pytest.param("allocate", 1, marks=pytest.mark.campaign),
        pytest.param("null", 2, marks=pytest.mark.campaign),
        pytest.param("allocate", 3, marks=pytest.mark.campaign),
    ],
    elsewhere=(),
)
def test_killed_within_a_cycle(missing: str, kills: int, place: Place, workspace: Path) -> None:
    place.sql(
        "CREATE TABLE customer (sk integer PRIMARY KEY, no integer);"
        "CREATE TABLE sales (id integer PRIMARY KEY, customer_no integer)"
    )
    place.sql("INSERT INTO customer VALUES " + ", ".join(f"({10_000 + i}, {i})" for i in range(CUSTOMERS)))
    # 64 KB hold some hundred keys: several groups of them are in several cycles
    lookup = {"on": {"customer_no": "no"}, "take": ["sk"], "method": "mesh", "memory": 64 << 10, "missing": missing}
    data = looked_up(place, {**lookup, **({"allocate_from": FIRST} if missing == "allocate" else {})})
    with opened(data, workspace) as project:
        project.prepare()
    # two events of each key; every tenth key is unknown
    rows = [(i, i // 2 if i % 20 > 1 else FIRST + i // 2) for i in range(SALES)]
    place.sql("INSERT INTO sales VALUES " + ", ".join(map(str, rows)))
    for kill in range(kills):
        point = "enrichment_written" if kill == 2 else "mid_lookup"
        assert killed_at(point, 1 if kill == 2 else 3 + 5 * kill, data, workspace) == -signal.SIGKILL
        assert not events(workspace)
    with opened(data, workspace) as project:
        poll(project)
        poll(project)
    found = partners(workspace)
    assert len(events(workspace)) == len(found) == SALES, "every event once"
    unknown = {number: set[Any]() for _, number in rows if number >= FIRST}
    for i, number in rows:
        if number < FIRST:
            assert found[i] == {"sk": 10_000 + number}
        elif missing == "null":
            assert found[i] is None
        else:
            unknown[number].add(found[i]["sk"])
    if missing == "allocate":
        assert all(len(some) == 1 for some in unknown.values()), "one surrogate key for each key"
        assert {next(iter(some)) for some in unknown.values()} == set(range(FIRST, FIRST + len(unknown)))


@pytest.mark.campaign
@over(elsewhere=())
def test_rows_that_move_after_a_kill(place: Place, workspace: Path) -> None:
    """A scan that went on after the kill would miss rows that moved to ranges that it has read, and allocate keys."""
    place.sql(
        "CREATE TABLE customer (place integer PRIMARY KEY, sk integer, no integer);"
        "CREATE TABLE sales (id integer PRIMARY KEY, customer_no integer)"
    )
    place.sql("INSERT INTO customer VALUES " + ", ".join(f"({i + 1}, {10_000 + i}, {i})" for i in range(CUSTOMERS)))
    lookup = {"on": {"customer_no": "no"}, "take": ["sk"], "method": "mesh", "memory": 64 << 10}
    data = looked_up(place, {**lookup, "missing": "allocate", "allocate_from": FIRST})
    with opened(data, workspace) as project:
        project.prepare()
    place.sql("INSERT INTO sales VALUES " + ", ".join(f"({i}, {i})" for i in range(CUSTOMERS)))
    assert killed_at("mid_lookup", 12, data, workspace) == -signal.SIGKILL
    place.sql("UPDATE customer SET place = -place")
    with opened(data, workspace) as project:
        poll(project)
    assert partners(workspace) == {i: {"sk": 10_000 + i} for i in range(CUSTOMERS)}


@pytest.mark.campaign
@pytest.mark.parametrize("point", ["mid_lookup"])
def test_a_scan_has_many_reads(point: str, place: Place, workspace: Path) -> None:
    """Without it the kills above would not be within a cycle: the child lives if it is to die late."""
    place.sql(
        "CREATE TABLE customer (sk integer PRIMARY KEY, no integer); INSERT INTO customer VALUES (1, 1);"
        "CREATE TABLE sales (id integer PRIMARY KEY, customer_no integer)"
    )
    data = looked_up(place, {"on": {"customer_no": "no"}, "take": ["sk"], "method": "mesh"})
    with opened(data, workspace) as project:
        project.prepare()
    place.sql("INSERT INTO sales VALUES (1, 1)")
    assert killed_at(point, 2, data, workspace) == 0
    assert partners(workspace) == {1: {"sk": 1}}
