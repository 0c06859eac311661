"""kill -9 at every step of a resend: the next poll goes on with it, and the target equals the source.

Rows of a replica replace those of a mirror or history in one transaction; a log and files have them once
(docs/design/protocol.md#rule-20 and #rule-22).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qbcd.api import parts_of
from qbcd.common import hooks
from tests.support import wait_until
from tests.support.places import Place, over, place_of
from tests.support.project import config, opened, poll
from tests.support.table_targets import TargetPlace, new_target

POINTS = ("before_publish", "mid_publish", "after_publish", "after_acknowledge")
SINKS = ("jsonl", "mirror", "scd2", "log")
STRATEGIES = ("mds", "id_rcs")
PATIENCE = 120.0
CHOSEN = [("id_rcs", "after_publish", "sqlite", "log")]  # the rows are there, and the request too
REST = [
    pytest.param(strategy, point, database, mode, marks=pytest.mark.campaign)
    for strategy in STRATEGIES
    for point in POINTS
    for database in ("sqlite", "duckdb", "postgresql")
    for mode in SINKS
    if (strategy, point, database, mode) not in CHOSEN and (mode != "jsonl" or database == "sqlite")
]


def sinks_of(target: TargetPlace, mode: str) -> dict[str, Any]:
    if mode == "jsonl":
        return {"other": {"type": "jsonl", "path": "other"}, "copy": {"type": "jsonl", "path": "copy"}}
    copy = {"type": "database", "url": target.url, "mode": mode, "table": "copied"}
    return {"other": {"type": "jsonl", "path": "other"}, "copy": copy}


def doomed(point: str, data: dict[str, Any], folder: Path) -> None:
    """Resend in a process that dies at a point."""
    hooks.register(point, lambda: os.kill(os.getpid(), signal.SIGKILL))
    opened(data, folder).stream("s").resend("copy")


def kill_at(point: str, data: dict[str, Any], folder: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["qbcd.api", "qbcd.sinks.table.frame"])
    child = context.Process(target=doomed, args=(point, data, folder), daemon=True)
    child.start()
    child.join(PATIENCE)
    assert child.exitcode == -signal.SIGKILL, f"the child ended with {child.exitcode} and not at {point}"


@pytest.mark.parametrize(("strategy", "point", "kind", "mode"), [*CHOSEN, *REST])
def test_a_killed_resend_is_carried_out_by_the_next_poll(
    strategy: str, point: str, kind: str, mode: str, database: str, workspace: Path, request: pytest.FixtureRequest
) -> None:
    place = place_of(database)
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT i, 'old' FROM generate_series(1, 6) i")
    with new_target(kind, request, workspace.parent) as target:
        data = config(place.url, {"name": "s", "table": "public.t", "strategy": strategy}, sinks=sinks_of(target, mode))
        with opened(data, workspace) as project:
            project.stream("s").prepare()
            place.sql("UPDATE t SET v = 'new' WHERE id = 1")
            poll(project)
        kill_at(point, data, workspace)
        with opened(data, workspace) as project:
            place.sql("DELETE FROM t WHERE id = 2")
            poll(project)
            assert parts_of(project).state.resends("s") == {}
            check(place, target, mode, workspace)
            place.sql("INSERT INTO t VALUES (7, 'late')")
            poll(project)
            check(place, target, mode, workspace)
        others = list(events_of(workspace / "other" / "s"))
        assert not list((workspace / "other").glob("s.*")), "the other sink got no rows of the replica"
        assert len({event["event_id"] for event in others}) == len(others)


def check(place: Place, target: TargetPlace, mode: str, folder: Path) -> None:
    """Compare the target with the source; a log has its rows of the replica once."""
    rows = sorted(place.sql("SELECT id, v FROM t"))
    if mode == "mirror":
        assert sorted(target.sql("SELECT id, v FROM copied")) == rows
    elif mode == "scd2":
        assert sorted(target.sql("SELECT id, v FROM copied WHERE valid_to IS NULL")) == rows
    elif mode == "log":
        ids = [one for (one,) in target.sql("SELECT qbcd_event_id FROM copied")]
        assert len(set(ids)) == len(ids)
        assert sum(".resend-1:" in one for one in ids) == 6
    else:
        sent = list(events_of(folder / "copy" / "s.resend-1"))
        assert sorted(event["key"]["id"] for event in sent) == [1, 2, 3, 4, 5, 6]
        assert {event["op"] for event in sent} == {"r"}


def events_of(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.jsonl")):
        yield from map(json.loads, path.read_text().splitlines())


def write_on(url: str, rounds: int) -> None:
    """Change the table again and again."""
    place = place_of(url)
    for n in range(rounds):
        place.sql(f"UPDATE t SET v = 'v{n}' WHERE id % 3 = {n % 3}")
        place.sql(f"DELETE FROM t WHERE id = {n % 6}")
        place.sql(f"INSERT INTO t VALUES ({n % 6}, 'again')")


def poll_on(data: dict[str, Any], folder: Path, rounds: int) -> None:
    with opened(data, folder) as project:
        for _ in range(rounds):
            project.run(once=True)


@pytest.mark.campaign
@over("strategy, mode", [(s, m) for s in STRATEGIES for m in SINKS])
def test_resends_while_polls_go_on(
    place: Place, strategy: str, mode: str, workspace: Path, request: pytest.FixtureRequest
) -> None:
    """A writer, a poller and resends at the same time, each in a process of its own."""
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v varchar(20))")
    place.sql("INSERT INTO t VALUES (0, 'a'), (1, 'b'), (2, 'c'), (3, 'd'), (4, 'e'), (5, 'f')")
    with new_target("sqlite", request, workspace.parent) as target:
        plain = {"name": "s", "table": place.table("t"), "strategy": strategy}
        data = config(place.url, plain, sinks=sinks_of(target, mode))
        with opened(data, workspace) as project:
            project.stream("s").prepare()
        context = multiprocessing.get_context("forkserver")
        children = [
            context.Process(target=write_on, args=(place.url, 40)),
            context.Process(target=poll_on, args=(data, workspace, 25)),
        ]
        for child in children:
            child.start()
        sent = 0
        with opened(data, workspace) as project:
            while any(child.is_alive() for child in children) and sent < 200:
                project.stream("s").resend("copy")
                sent += 1
            for child in children:
                child.join(PATIENCE)
                assert child.exitcode == 0
            assert sent
            wait_until(lambda: project.run(once=True).outcomes[0].error is None, what="a last poll")
        if mode in ("mirror", "scd2"):
            check(place, target, mode, workspace)
        if mode == "log":
            ids = [one for (one,) in target.sql("SELECT qbcd_event_id FROM copied")]
            assert len(set(ids)) == len(ids)
