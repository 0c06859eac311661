"""Patterns of tables on the command line: captured, new, dropped, discovered; several at the same time."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml

from qbcd import open as opened
from qbcd.api import JobOptions, parts_of, run_job
from qbcd.monitoring.notifying import Notifications
from qbcd.polling import table_watch
from qbcd.polling.job import JobEvents
from qbcd.polling.outcome import Outcome
from qbcd.polling.table_watch import TableEvents
from tests.support.cli import Cli
from tests.support.oracle import events
from tests.support.places import Place, over


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


def write(place: Place, **entry: Any) -> None:
    """Write the configuration: one pattern over the place's schema, polled two at a time."""
    data = {
        "version": 1,
        "jobs": 2,
        "sources": {"shop": {**place.source, "defaults": {"strategy": "mds", "sinks": "changes"}}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "defaults": {"source": "shop", "every": "1s"},
        "tables": [{"tables": f"{place.schema}.*", "exclude": f"{place.schema}.tmp_*", **entry}],
    }
    Path("qbcd.yaml").write_text(yaml.safe_dump(data, sort_keys=False))


def make(place: Place, *names: str) -> None:
    for name in names:
        place.sql(f"CREATE TABLE {name} (id integer PRIMARY KEY, v integer)")
        place.sql(f"INSERT INTO {name} VALUES (1, 1), (2, 2)")


def inserted(name: str) -> list[int]:
    return [event["after"]["id"] for event in events(Path("out"), name) if event["op"] == "c"]


@over(elsewhere=[])
def test_tables_of_a_pattern_from_the_first_to_the_last(
    place: Place, workspace: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    make(place, "a", "b", "tmp_x")
    write(place)
    assert cli("run", "--once").code == 3, "nothing is prepared"
    assert cli("prepare").code == 0
    place.sql("INSERT INTO a VALUES (3, 3)")
    assert cli("run", "--once").code == 0
    assert (inserted("a"), inserted("b")) == ([3], [])

    make(place, "c")
    place.sql("DROP TABLE b")
    first, second = cli("run", "--once"), cli("run", "--once")
    assert (first.code, second.code) == (0, 0)
    for name, what in (("c", "is new and not captured"), ("b", "does not exist any more")):
        assert f"stream {name}: table {place.schema}.{name} {what}" in first.err
        assert f"table {place.schema}.{name}" not in second.err, "reported once"
    assert cli("status", "--json").data["new_tables"] == [f"{place.schema}.c"]
    assert cli("status", "--check").code == 5, "a dropped table stays in the status"
    assert cli("reset", "b", "--yes", "--discard").code == 0
    assert cli("prepare", "c").code == 0
    assert cli("status", "--max-lag", "1h").code == 0
    assert cli("status", "--max-lag", "1ms").code == 5

    write(place, new_tables="capture")
    make(place, "d")
    captured = cli("run", "--once")
    assert "is new: it is captured from now on" in captured.err
    place.sql("INSERT INTO c VALUES (9, 9)")
    place.sql("INSERT INTO d VALUES (9, 9)")
    assert cli("run", "--once", "--jobs", "3").code == 0
    assert (inserted("c"), inserted("d")) == ([9], [9])

    found = {
        one["table"]: one for one in cli("discover", "shop", "--tables", f"{place.schema}.*", "--json").data["tables"]
    }
    assert {name.rpartition(".")[2]: one["stream"] for name, one in found.items()} == {
        "a": "a",
        "c": "c",
        "d": "d",
        "tmp_x": None,
    }
    assert found[f"{place.schema}.a"]["key"] == ["id"]
    Path("qbcd.yaml").rename("real.yaml")
    Path("qbcd.yaml").symlink_to("real.yaml")
    Path("real.yaml").chmod(0o600)
    assert cli("discover", "shop", "--tables", f"{place.schema}.*", "--write").code == 0
    assert Path("qbcd.yaml").is_symlink()
    assert Path("real.yaml").stat().st_mode & 0o777 == 0o600
    assert cli("check").code == 0
    assert [handle["stream"] for handle in cli("status", "--json").data["streams"]] == ["a", "c", "d", "tmp_x"]


@over(elsewhere=[])
def test_a_table_that_cannot_be_prepared_stops_no_other_one(
    place: Place, workspace: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    make(place, "a", "c", "d")
    place.sql("CREATE TABLE b (v integer)")
    write(place, strategy="mds")
    prepared = cli("prepare")
    assert (prepared.code, prepared.err.count("error:")) == (3, 1), prepared.err
    assert f"stream b: {place.schema}.b" in prepared.err
    status = cli("status", "--json").data["streams"]
    assert {one["stream"]: one["prepared"] for one in status} == {"a": True, "b": False, "c": True, "d": True}


@over(elsewhere=[])
def test_auto_chooses_for_each_table_of_a_pattern(
    place: Place, workspace: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    make(place, "a", "b")
    write(place, strategy={"type": "auto", "write_source": False})
    assert [one["stream"] for one in cli("advise", "--json").data["advice"]] == ["a", "b"]
    assert cli("prepare").code == 0
    write(place, strategy="auto", new_tables="capture")
    make(place, "c")
    assert cli("run", "--once").code == 0
    for name in ("a", "c"):
        place.sql(f"INSERT INTO {name} VALUES (3, 3)")
    assert cli("run", "--once").code == 0
    assert [inserted(name) for name in "abc"] == [[3], [], [3]]
    found = {one["stream"]: one for one in cli("status", "--json").data["streams"]}
    assert {name: one["chosen_by_auto"] for name, one in found.items()} == dict.fromkeys("abc", True)
    assert [found[name]["strategy"] for name in "ab"] == ["id_rcs"] * 2, "chosen while it might not write"
    sent = [one["last_poll"]["cost"]["statements"] for one in found.values()]
    assert min(sent) > 3, "streams share sessions, and each has its own statements"
    assert cli("check").code == 0


@over(elsewhere=[])
def test_a_table_that_appears_in_a_job_has_notices_and_numbers(
    place: Place, workspace: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.setattr(table_watch, "LIST_EVERY_S", 0.0)
    followed = list[str]()
    monkeypatch.setattr(Notifications, "follow", lambda self, stream: followed.append(stream.name))
    monkeypatch.setattr("qbcd.api._notifying", lambda parts, work: nullcontext(Notifications()))
    make(place, "a")
    write(place, new_tables="capture")
    assert cli("prepare").code == 0
    stop, measured = threading.Event(), list[str]()

    def polled(outcome: Outcome) -> None:
        if outcome.stream == "b":
            stop.set()
        elif not measured:
            make(place, "b")
            measured.append("")

    with opened("qbcd.yaml") as project:
        events = TableEvents(on_stream=lambda stream: measured.append(stream.name))
        run_job(parts_of(project), (), JobOptions(tables=events), JobEvents(polled), stop)
    assert (followed, measured) == (["b"], ["", "b"])


@over()
def test_a_first_configuration_from_a_database(place: Place, workspace: Path, cli: Cli, monkeypatch: Any) -> None:
    monkeypatch.chdir(workspace)
    make(place, "orders")
    place.sql("CREATE TABLE nokey (a integer)")
    assert cli("init", "--source", place.url).code == 0
    assert cli("check").code == 0
    assert cli("prepare").code == 0
    secret = place.url_as("reader", "hunter2")
    refused = cli("init", "--source", secret)
    assert (refused.code, "hunter2" in refused.out + refused.err) == (2, False)
    assert "${env:NAME}" in refused.err


@over()
def test_discover_names_the_strategy_that_advise_takes(
    place: Place, workspace: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    make(place, "a", "tmp_x")
    place.sql("CREATE TABLE tmp_keyless (v integer)")
    place.sql("CREATE TABLE tmp_dated (id integer PRIMARY KEY, at timestamp(6) NOT NULL)")
    write(place)
    found = cli("discover", "shop", "--tables", f"{place.schema}.*", "--json").data["tables"]
    assert {one["table"].rpartition(".")[2] for one in found} == {"a", "tmp_x", "tmp_keyless", "tmp_dated"}
    for one in found:
        named = [one["stream"]] if one["stream"] else ["--source", "shop", "--table", one["table"]]
        assert one["advised"] == cli("advise", *named, "--json").data["advice"][0]["choice"], one["table"]
    assert f"# qbcd advise takes {found[0]['advised']}" in cli("discover", "shop").out
