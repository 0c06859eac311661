"""Batches that are split by subscription, and what `qbcd check` says about subscriptions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import ConfigError
from tests.faults.child import kill_at
from tests.integration.enrichment.scene import project_of, subscribe
from tests.support.places import place_of
from tests.support.project import opened, poll


def folders(workspace: Path) -> dict[str, list[Any]]:
    """Return op, key, subscriptions and event id of the events of each folder of the sink."""
    return {
        folder.name: [
            (event["op"], event["key"]["id"], event["subscriptions"], event["event_id"].rpartition(":")[2])
            for file in sorted(folder.glob("*.jsonl"))
            for event in map(json.loads, file.read_text().splitlines())
        ]
        for folder in sorted((workspace / "out/hooks").iterdir())
    }


def test_a_batch_for_each_subscription(database: str, workspace: Path) -> None:
    place = place_of(database)
    data = project_of(place, split=True)
    subscribe(place, ("eu", "region = 'EU'"))
    with opened(data, workspace) as project:
        project.prepare("s")
    subscribe(place, ("late/x", "status = 'late'", "new", "u"), ("none", "id = 9"))
    place.sql("UPDATE orders SET amount = 9; INSERT INTO orders VALUES (4, 'EU', 'late', 4)")
    kill_at("mid_publish", data, workspace, None)
    with opened(data, workspace) as project:
        poll(project, "s")
        poll(project, "s")
    assert folders(workspace) == {
        "s.part-1@s-eu": [("r", 1, ["s-eu"], "0"), ("r", 3, ["s-eu"], "2")],
        "s@s-eu": [("u", 1, ["s-eu"], "0"), ("u", 3, ["s-eu"], "2"), ("c", 4, ["s-eu"], "3")],
        "s@s-late%2Fx": [("u", 2, ["s-late/x"], "1"), ("u", 3, ["s-late/x"], "2")],
    }


def test_other_sinks_take_no_parts(database: str, workspace: Path) -> None:
    place = place_of(database)
    data = project_of(place, split=True)
    data["sinks"] = {**data["sinks"], "hooks": {"type": "console"}}
    with opened(data, workspace) as project, pytest.raises(ConfigError, match="takes no batches that are split"):
        project.stream("s").prepare()


def test_check_names_what_is_refused(database: str, workspace: Path) -> None:
    place = place_of(database)
    data = project_of(place, narrow=True, quota=3)
    subscribe(place, ("a", "region = 'EU'"), ("b", "region > 'EU'"), ("c", "nowhere = 1"), ("d", "id = 1"))
    with opened(data, workspace) as project:
        messages = [(one.level, one.message) for one in project.check() if one.subject == "subscriptions"]
        assert messages[0] == (
            "ok",
            "1 subscription has matches; not narrowed: no poll has found a column that bounds all subscriptions",
        )
        refused = [one.split(" is refused: ")[0] for level, one in messages if level == "warning"]
        assert refused == ["s-d", "s-b", "s-c", "wide-a", "wide-b", "2 more are refused: qbcd subscriptions"]
        assert "its quota of 3" in messages[1][1]
        project.prepare("s")
        texts = [one.message for one in project.check() if one.subject == "subscriptions"]
        assert texts[0] == "1 subscription has matches; rows where \"region\" IN ('EU')"
    place.sql("DROP TABLE subscription")
    with opened(data, workspace) as project:
        errors = [one.message for one in project.check() if one.level == "error"]
        assert errors == ["there is no table subscription with subscriptions, or the role may not see it"]
