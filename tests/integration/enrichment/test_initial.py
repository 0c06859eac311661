"""Rows that a new subscription matches already are sent once, before its first events."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from qbcd.errors import ConfigError, Refused, SinkSilent, Undeliverable
from tests.faults.child import kill_at
from tests.integration.enrichment.scene import project_of, subscribe
from tests.support.cli import Cli
from tests.support.places import Place, over, place_of
from tests.support.project import opened, poll
from tests.support.receiver import receiver


def sent(folder: Path) -> list[tuple[str, int, str]]:
    """Return op, key and subscription of all events, in order."""
    files = sorted((folder / "out/hooks").rglob("*.jsonl"), key=lambda file: file.stat().st_mtime_ns)
    events = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert len({event["event_id"] for event in events}) == len(events)
    return [(event["op"], event["key"]["id"], one[2:]) for event in events for one in event["subscriptions"]]


@over("strategy", ["mds", "id_rcs"], elsewhere=["id_rcs"])
def test_rows_come_once_and_first(strategy: str, place: Place, workspace: Path) -> None:
    data = project_of(place, strategy)
    subscribe(place, ("before", "region = 'EU' AND id = 1"))
    with opened(data, workspace) as project:
        project.prepare("s")
        assert sent(workspace) == [("r", 1, "before")]
        subscribe(place, ("late", "status = 'late'", "enters"), ("u", "status = 'late'", "new", "u"), ("no", "id = 9"))
        subscribe(place, ("left", "status = 'late'", "leaves"))
        place.sql("UPDATE orders SET amount = 9 WHERE id = 3")
        [outcome] = poll(project, "s")
        assert outcome.report is not None
        assert outcome.report.resent == {"hooks": 2}
        assert sent(workspace)[1:] == [("r", 2, "late"), ("r", 3, "late"), ("u", 3, "u")]
        poll(project, "s")
    with opened(data, workspace) as project:
        poll(project, "s")
        assert len(sent(workspace)) == 4
        place.sql("UPDATE subscription SET stream = 'none' WHERE id = 's-before'")
        poll(project, "s")
        place.sql(
            "UPDATE subscription SET stream = 's' WHERE id = 's-before'; DELETE FROM subscription WHERE id = 's-u'"
        )
        poll(project, "s")
    assert sent(workspace)[4:] == [("r", 1, "before")], "one that returns is new"


def test_with_a_hull_that_grows(database: str, workspace: Path) -> None:
    place = place_of(database)
    data = project_of(place, narrow=True)
    subscribe(place, ("eu", "region = 'EU'"))
    with opened(data, workspace) as project:
        project.prepare("s")
        assert sent(workspace) == [("r", 1, "eu"), ("r", 3, "eu")]
        subscribe(place, ("us", "region = 'US'"), ("late", "region = 'EU' AND status = 'late'"))
        poll(project, "s")
        assert sent(workspace)[2:] == [("r", 3, "late")], "the stream has no rows of US yet"
        place.sql("UPDATE orders SET amount = 9 WHERE id = 2")
        poll(project, "s")
    assert sent(workspace)[3:] == [("r", 2, "us"), ("u", 2, "us")]


def test_with_a_baseline_of_events_it_sends_nothing_else(database: str, workspace: Path) -> None:
    place = place_of(database)
    data = project_of(place)
    data["tables"][0]["baseline"] = "events"
    subscribe(place, ("eu", "region = 'EU'"))
    kill_at("after_commit", data, workspace, None, task="prepare")
    with opened(data, workspace) as project:
        poll(project, "s")
    assert sent(workspace) == [("r", 1, "eu"), ("r", 3, "eu")]


@pytest.mark.parametrize(
    "point", ["mid_publish", "after_publish", "before_publish", "after_acknowledge", "before_commit", "after_commit"]
)
@pytest.mark.parametrize("strategy", ["mds", "id_rcs"])
def test_exactly_once_when_killed(point: str, strategy: str, database: str, workspace: Path) -> None:
    place = place_of(database)
    data = project_of(place, strategy)
    subscribe(place, ("eu", "region = 'EU'"))
    with opened(data, workspace) as project:
        project.prepare("s")
    for number, each in enumerate(("late", "all")):
        subscribe(place, (each, "status = 'late'" if number == 0 else None))
        place.sql("UPDATE orders SET amount = amount + 10 WHERE id = 2")
        kill_at(point, data, workspace, None)
    with opened(data, workspace) as project:
        poll(project, "s")
        poll(project, "s")
    counted = Counter(one for one in sent(workspace) if one[0] == "r")
    wanted = [(1, "eu"), (3, "eu"), (2, "late"), (3, "late"), (1, "all"), (2, "all"), (3, "all")]
    assert counted == Counter(("r", *one) for one in wanted)


def test_other_matches_have_another_number(database: str, workspace: Path) -> None:
    """A server has a part of the rows when a subscription ends: the rest is of another list, which has other keys."""
    place = place_of(database)
    data = project_of(place)
    with receiver(200, 400, 200, 503) as hook:
        data["sinks"] = {**data["sinks"], "hooks": {"type": "webhook", "url": hook.url, "max_events": 1}}
        with opened(data, workspace) as project:
            project.prepare("s")
            subscribe(place, ("eu", "region = 'EU' AND status = 'new'"), ("late", "status = 'late'"))
            with pytest.raises(Undeliverable):
                poll(project, "s")
            place.sql("DELETE FROM subscription WHERE id = 's-eu'")
            with pytest.raises(SinkSilent):
                poll(project, "s")
        with opened(data, workspace) as project:
            poll(project, "s")
    found = [(key.partition(".")[2], json.loads(one.body)[0]) for key, one in hook.accepted.items()]
    assert [(key, event["key"]["id"], event["subscriptions"]) for key, event in found] == [
        ("part-1:0-0/3", 1, ["s-eu"]),
        ("part-2:0-0/2", 2, ["s-late"]),
        ("part-2:1-1/2", 3, ["s-late"]),
    ], "equal matches have equal keys in each attempt"


def test_rows_that_a_sink_refuses_can_be_skipped(
    database: str, workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is that of the message; the events after them come."""
    place, run = place_of(database), Cli(capsys)
    workspace.mkdir(exist_ok=True)
    monkeypatch.chdir(workspace)
    data = project_of(place)
    with receiver(413) as hook:
        data["sinks"] = {**data["sinks"], "hooks": {"type": "webhook", "url": hook.url}}
        with opened(data, workspace) as project:
            project.prepare("s")
            subscribe(place, ("eu", "region = 'EU'"))
            with pytest.raises(Undeliverable) as refused:
                poll(project, "s")
            place.sql("UPDATE orders SET amount = 9 WHERE id = 3")
            [command] = re.findall(r"qbcd (skip .*) passes over", refused.value.remedy)
            number = command.split()[-1]
            with pytest.raises(ConfigError, match="no batch waits"):
                project.stream("s").skip("hooks", number.replace("part-1", "part-2"))
        (workspace / "qbcd.yaml").write_text(json.dumps(data))
        assert run(*command.split(), "--yes").out == f"s: batch {number} is skipped; 2 events are missing in hooks\n"
        assert f"{number} for hooks: 2 events" in run("status", "s").out
        with opened(data, workspace) as project:
            poll(project, "s")
            with pytest.raises(ConfigError, match="no batch waits"):
                project.stream("s").skip("hooks", number)
    assert [(event["op"], event["key"]["id"]) for event in hook.events()] == [("u", 3)]


def test_a_sink_of_all_events_becomes_one_of_matches(database: str, workspace: Path) -> None:
    """It has a part of a batch: the first events of the batch are not the first matches."""
    place = place_of(database)
    data = project_of(place, initial=None, deliver=[])
    subscribe(place, ("late", "status = 'late'"))
    with receiver(200, 503) as hook:
        data["sinks"] = {**data["sinks"], "hooks": {"type": "webhook", "url": hook.url, "max_events": 1}}
        data["tables"][0]["sinks"] = ["hooks"]
        with opened(data, workspace) as project:
            project.prepare("s")
            place.sql("UPDATE orders SET amount = amount + 10")
            with pytest.raises(SinkSilent):
                poll(project, "s")
        data["tables"][0]["sinks"], data["subscriptions"]["deliver"] = [], ["hooks"]
        with opened(data, workspace) as project:
            poll(project, "s")
    found = [(key.rpartition(":")[2], json.loads(one.body)[0]["key"]["id"]) for key, one in hook.accepted.items()]
    assert found == [("0-0", 1), ("0-0/2", 2), ("1-1/2", 3)]


def test_refusals(database: str, workspace: Path) -> None:
    place = place_of(database)
    data = project_of(place, {"type": "id_rcs", "replica": "digest"})
    with (
        opened(data, workspace) as project,
        pytest.raises(Refused, match="its replica keeps digests, and not the rows"),
    ):
        project.stream("s").prepare()
