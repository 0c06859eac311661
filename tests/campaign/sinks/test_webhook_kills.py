"""Sink `webhook`: polls that are killed again and again; the server gets every event, and with its keys each once."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from qbcd.common import hooks
from tests.support.killing import DyingProcesses, dying_at
from tests.support.places import Place, place_of
from tests.support.project import config, opened, poll
from tests.support.receiver import receiver

pytestmark = pytest.mark.campaign
KILLS = 50
POINTS = ("before_publish", "mid_publish", "after_publish", "after_acknowledge", "")


def poll_and_die(data: dict[str, Any], folder: Path, point: str, number: int) -> None:
    """Poll; be killed when a point is reached for the `number`th time."""
    if point:
        hooks.register(point, dying_at(number))
    with opened(data, folder) as project:
        project.run(once=True)


def change(place: Place, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 6)):
        key = chance.randrange(30)
        place.sql(f"DELETE FROM t WHERE id = {key}")
        if chance.random() < 0.8:
            place.sql(f"INSERT INTO t VALUES ({key}, 'v{chance.randrange(1000)}')")


def test_killed_polls_send_each_event_once_by_key(database: str, workspace: Path) -> None:
    """Another sink, of files, has the same events in the same order. At most the last request comes again."""
    place, chance, sent = place_of(database), random.Random(11), 0
    place.sql(
        "CREATE TABLE t (id int PRIMARY KEY, v varchar(20)); INSERT INTO t SELECT i, 'a' FROM generate_series(1, 9) i"
    )
    polls = DyingProcesses("qbcd.api", "qbcd.sinks.webhook", "qbcd.local.arrow")
    with receiver() as hook:
        sinks = {
            "hook": {"type": "webhook", "url": hook.url, "max_events": 2},
            "files": {"type": "jsonl", "path": "out"},
        }
        data = config(place.url, {"name": "s", "table": "public.t", "strategy": "mds"}, sinks=sinks)
        with opened(data, workspace) as project:
            project.stream("s").prepare()
        while polls.kills < KILLS:
            change(place, chance)
            before = len(hook.got)
            point, number, seconds = chance.choice(POINTS), chance.randint(1, 2), chance.choice([0.4, 0.8, 60, 60])
            polls.run(poll_and_die, data, workspace, point, number, seconds=seconds)
            keys = [one.key for one in hook.got[before:]]
            assert len(keys) == len(set(keys)), "one process repeats no request"
            sent += len(keys)
        with opened(data, workspace) as project:
            poll(project)
            assert project.status("s")[0].pending == {}
        files = [
            json.loads(t) for p in sorted((workspace / "out/s").glob("*.jsonl")) for t in p.read_text().splitlines()
        ]
        assert hook.events() == files
        assert len({event["event_id"] for event in files}) == len(files)
        repeated = len(hook.got) - len(hook.accepted)
        assert repeated <= polls.kills
        assert len(hook.accepted) > 50
