"""Subscriptions in the configuration: from the row of a relation to the sink, on each database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

import qbcd
from qbcd.errors import ConfigError
from tests.faults.child import kill_at
from tests.integration.enrichment.scene import SINKS, TEXT, WHENS
from tests.support.cli import Cli
from tests.support.places import Place, over, place_of
from tests.support.project import config, opened, poll

FOLDED = {
    "postgresql": "citext",
    "mariadb": "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "mysql": "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
}
CONDITIONS = [
    "status = 'late'",
    "'late' <> status",
    "status IN ('new', 'late')",
    "NOT (status = 'late')",
    "status IS NULL",
    "status IS NOT NULL AND amount IS NULL",
    "status LIKE 'l_t%'",
    "amount > 1.5",
    "amount >= 1.50 AND amount < 10",
    "amount BETWEEN 0 AND 1.5",
    "amount NOT IN (1.5, 20)",
    "id = 3 OR status = 'new'",
    "due <= '2026-03-01'",
    "due = '2026-03-01' AND amount <> 2",
    "id <> 2",
]
ROWS = "(1, 'new', 1.5, '2026-03-01', 'A'), (2, 'late', NULL, NULL, 'b'), (3, NULL, 20, '2026-02-01', 'C')"
CHANGES = (
    "UPDATE orders SET status = 'late', amount = 2 WHERE id = 1; UPDATE orders SET status = NULL, due = '2026-03-01' "
    "WHERE id = 2; DELETE FROM orders WHERE id = 3; INSERT INTO orders VALUES (4, 'late', 1.5, NULL, 'd')"
)


def made(place: Place, subscriptions: dict[str, Any], strategy: str = "id_rcs") -> dict[str, Any]:
    if place.kind == "postgresql":
        place.sql("CREATE EXTENSION IF NOT EXISTS citext")
    place.sql(
        f"CREATE TABLE orders (id integer PRIMARY KEY, status {TEXT[place.kind]}, amount decimal(12,2), due date, "
        f"name {FOLDED[place.kind]})"
    )
    place.sql(f"INSERT INTO orders VALUES {ROWS}")
    table = {"name": "s", "table": "orders", "strategy": strategy, "sinks": ["all"]}
    return config(place.url, table, sinks=SINKS, subscriptions={"deliver": ["hooks"], **subscriptions})


def relation(place: Place) -> dict[str, Any]:
    when, columns = place.quote("when"), place.quote("columns")
    place.sql(
        f"CREATE TABLE subscription (id varchar(40) PRIMARY KEY, stream varchar(40), {place.quote('condition')} "
        f"varchar(200), {when} varchar(10), ops varchar(10), {columns} varchar(40), active integer, note varchar(250))"
    )
    return {"from": {"source": "shop", "table": "subscription"}, "streams": {"s": "all"}}


def subscribe(place: Place, *rows: tuple[Any, ...]) -> None:
    """Insert id, stream, condition, and if given when, ops, columns."""
    place.insert("subscription", [(*row, *[None] * (6 - len(row)), 1, None) for row in rows])


def notes_of(place: Place) -> dict[str, str]:
    return {row[0]: row[1] for row in place.sql("SELECT id, note FROM subscription")}


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(folder.rglob("*.jsonl")) for line in file.read_text().splitlines()]


def matched(folder: Path) -> dict[str, set[str]]:
    """Return the keys of events of the sink, by subscription."""
    found: dict[str, set[str]] = {}
    for one in lines(folder / "out/hooks"):
        assert one["subscriptions"], "no event without a match"
        for name in one["subscriptions"]:
            found.setdefault(name, set()).add(f"{one['op']}{one['key']['id']}")
    return found


def ids(place: Place, condition: str) -> set[int]:
    return {row[0] for row in place.sql(f"SELECT id FROM orders WHERE {condition}")}


@over("strategy", ["id_rcs", "mds"], elsewhere=["mds"])
def test_matches_are_those_that_the_source_finds(strategy: str, place: Place, workspace: Path) -> None:
    data = made(place, relation(place), strategy)
    named = {f"{when}-{n}": (when, condition) for when in WHENS for n, condition in enumerate(CONDITIONS)}
    subscribe(place, *((name, "s", condition, when) for name, (when, condition) in named.items()))
    subscribe(
        place, ("every", "s", None), ("updates", "s", "", "new", "u"), ("status", "s", None, "new", "u", "status")
    )
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        old = {condition: ids(place, condition) for condition in CONDITIONS}
        place.sql(CHANGES)
        new = {condition: ids(place, condition) for condition in CONDITIONS}
        poll(project, "s")
    expected = {"every": {"u1", "u2", "c4"}, "updates": {"u1", "u2"}, "status": {"u1", "u2"}}
    for name, (when, condition) in named.items():
        met_by = set()
        for key, op in ((1, "u"), (2, "u"), (3, "d"), (4, "c")):
            is_old, is_new = key in old[condition] and op != "c", key in new[condition]
            met = {
                "new": is_new,
                "old": is_old,
                "either": is_old or is_new,
                "enters": is_new and not is_old,
                "leaves": is_old and not is_new,
            }
            met_by |= {f"{op}{key}"} if met[when] else set()
        expected[name] = met_by
    found = matched(workspace)
    assert {name: found.get(name, set()) for name in expected} == expected
    everything = lines(workspace / "out/all")
    assert [event for event in everything if event["subscriptions"]] == lines(workspace / "out/hooks")


@over()
def test_a_new_row_and_a_removal_take_effect_at_the_next_poll(place: Place, workspace: Path) -> None:
    subscriptions = relation(place)
    subscriptions["from"]["status"] = "note"
    subscriptions["streams"] = {"s": ["id", "status", "name"]}
    data = made(place, subscriptions)
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        subscribe(place, ("bad", "s", "status ="), ("barred", "s", "amount > 1"), ("folded", "s", "name = 'a'"))
        subscribe(place, ("late", "s", "status = 'late'"), ("astray", "t", "id = 1"), ("when", "s", "id = 1", "soon"))
        place.sql("UPDATE orders SET status = 'late' WHERE id = 1")
        [outcome] = poll(project, "s")
        assert outcome.report is not None
        assert "refused subscriptions have no matches: " in str(outcome.report.warnings)
        assert matched(workspace) == {"late": {"u1"}}
        notes = notes_of(place)
        assert notes["late"] == "active"
        assert "cannot be parsed" in notes["bad"]
        assert notes["barred"].startswith("column 'amount' may not be used in subscriptions")
        assert notes["folded"].startswith("the equality of texts of 'name' depends on the database")
        assert notes["when"].startswith("when is 'soon'")
        assert notes["astray"] == "stream 't' is none that may be subscribed to"
        subscribe(place, ("three", "s", "id = 3"))
        place.sql("DELETE FROM subscription WHERE id = 'late'; UPDATE orders SET status = 'x'")
        poll(project, "s")
        assert matched(workspace) == {"late": {"u1"}, "three": {"u3"}}
        place.sql("UPDATE subscription SET active = 0; UPDATE orders SET status = 'y'")
        poll(project, "s")
        assert matched(workspace) == {"late": {"u1"}, "three": {"u3"}}
        assert notes_of(place)["three"] == "not active"
    assert len(lines(workspace / "out/all")) == 7, "events without a match go to the other sinks"


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("enrichment_written", marks=pytest.mark.campaign),
        "after_enrichment",
        pytest.param("mid_publish", marks=pytest.mark.campaign),
    ],
)
def test_killed_between_the_match_and_the_delivery(point: str, database: str, workspace: Path) -> None:
    place = place_of(database)
    data = made(place, relation(place))
    with opened(data, workspace) as project:
        project.stream("s").prepare()
    subscribe(place, ("late", "s", "status = 'late'"), ("one", "s", "id = 1"))
    place.sql("UPDATE orders SET status = 'late' WHERE id = 1")
    kill_at(point, data, workspace, None)
    place.sql("DELETE FROM subscription WHERE id = 'one'")
    with opened(data, workspace) as project:
        poll(project, "s")
    stored = point != "enrichment_written"
    assert matched(workspace) == {"late": {"u1"}, **({"one": {"u1"}} if stored else {})}
    assert [event["subscriptions"] for event in lines(workspace / "out/all")] == [["late", *["one"] * stored]]


def sent(place: Place, project: qbcd.Project) -> tuple[int, int]:
    """Return the statements of a poll with a change: all of the client, and those that the server counts."""
    place.sql("UPDATE orders SET amount = coalesce(amount, 0) + 1 WHERE id = 1")
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    counts = "SHOW GLOBAL STATUS LIKE 'Questions'"
    with place.connect(autocommit=True) as watching:
        before = 0 if place.kind == "postgresql" else int(place.run(watching, counts)[0][1])
        event.listen(Engine, "before_cursor_execute", count)
        try:
            poll(project, "s")
        finally:
            event.remove(Engine, "before_cursor_execute", count)
        after = 1 if place.kind == "postgresql" else int(place.run(watching, counts)[0][1])
    return counted, after - before


@over("most", [1_000, pytest.param(10_000, marks=pytest.mark.campaign)], elsewhere=[1_000])
def test_statements_of_a_poll_are_the_same_for_any_number(most: int, place: Place, workspace: Path) -> None:
    data = made(place, relation(place))
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        found, last = [], 0
        for number in (1, 100, most):
            values = "n, 's', concat('id = ', n, ' AND amount > ', n % 7), 'u', 1"
            names = f"id, stream, {place.quote('condition')}, ops, active"
            place.sql(f"INSERT INTO subscription ({names}) SELECT {values} FROM {place.numbers(number, last + 1)}")
            last = number
            sent(place, project)  # the first one reads the rows
            found.append(sent(place, project))
        for counts in zip(*found, strict=True):
            assert max(counts) - min(counts) <= 1, found  # a clock can cause one more
        assert set(matched(workspace)) == {"1"}


def test_a_relation_that_cannot_be_read_holds_the_batch(database: str, workspace: Path) -> None:
    place = place_of(database)
    data = made(place, relation(place))
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        subscribe(place, ("late", "s", "status = 'late'"))
        place.sql("ALTER TABLE subscription RENAME TO gone; UPDATE orders SET status = 'late' WHERE id = 1")
        with pytest.raises(ConfigError, match="there is no table subscription with subscriptions"):
            poll(project, "s")
        assert not lines(workspace / "out/all")
        place.sql("ALTER TABLE gone RENAME TO subscription")
        poll(project, "s")
    assert matched(workspace) == {"late": {"u1"}}


def test_a_row_cannot_end_a_subscription_of_the_file(database: str, workspace: Path) -> None:
    place = place_of(database)
    inline = [{"id": "late", "stream": "s", "condition": "status = 'late'"}]
    data = made(place, {**relation(place), "inline": inline, "quota": 3})
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        subscribe(place, ("late", "s", "id = 7"), ("a", "s", "id = 1"), ("b", "s", "id = 1"), ("b2", "s", "id = 1"))
        place.sql("UPDATE orders SET status = 'late' WHERE id = 1")
        [outcome] = poll(project, "s")
        assert outcome.report is not None
        assert "its quota of 3" in str(outcome.report.warnings)
    assert matched(workspace) == {"late": {"u1"}, "a": {"u1"}, "b": {"u1"}}, "rows count by the order of their ids"


def test_conditions_in_the_file_and_a_strategy_without_old_values(database: str, workspace: Path) -> None:
    place = place_of(database)
    inline = [
        {"id": "late", "stream": "s", "condition": "status = 'late'"},
        {"id": "some", "stream": "s", "condition": "status = 'late'", "columns": ["status"]},
        {"id": "left", "stream": "s", "condition": "status = 'late'", "when": "leaves"},
    ]
    data = made(place, {"inline": inline, "quota": 5}, "id")
    data["tables"][0]["strategy"] = {"type": "id_rcs", "replica": "digest"}
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        place.sql("UPDATE orders SET status = 'late' WHERE id = 1")
        [outcome] = poll(project, "s")
        assert outcome.report is not None
        assert "left: when: leaves needs old values" in str(outcome.report.warnings)
        assert "some: columns needs old values" in str(outcome.report.warnings)
        [batch] = list(project.stream("s").poll())
        assert [row["subscriptions"] for row in batch.rows()] == [["late"]]
        with pytest.raises(ConfigError, match="sink hooks gets only the events of subscriptions"):
            project.stream("s").resend("hooks")


@pytest.mark.parametrize(
    ("written", "place", "problem"),
    [
        ("inline: [{id: a, stream: t}]", "inline[0].stream", "there is no stream 't'"),
        ("inline: [{id: a, stream: s}, {id: a, stream: s}]", "inline[1].id", "this id is used twice"),
        ("inline: [{id: a, stream: s, when: soon}]", "inline[0].when", "this value is not known here"),
        ("inline: [{id: a, stream: s, ops: [x]}]", "inline[0].ops[0]", "there is no operation 'x'"),
        ("inline: [{stream: s}]", "inline[0].id", "`id` is missing"),
        ("{from: {source: shop, table: t}}", "", "`streams` is missing"),
        ("{from: {source: shp, table: t}, streams: {s: all}}", "from.source", "'shp' is no database"),
        ("{from: {source: shop, table: t, status: Id}, streams: {s: all}}", "from.status", "'Id' is a column that"),
        ("{from: {source: shop, table: t}, streams: {x: all}}", "streams.x", "there is no stream 'x'"),
        ("{inline: [{id: a, stream: s}], deliver: [hook]}", "deliver[0]", "there is no sink 'hook'"),
        (
            "{inline: [{id: a, stream: s}], deliver: [all]}",
            "deliver[0]",
            "sink all gets all events of stream s already",
        ),
        ("{inline: [{id: a, stream: s}], deliver: [copy]}", "deliver[0]", "sink copy accepts only the next number"),
        ("{inline: [{id: a, stream: s}], deliver: [lake]}", "deliver[0]", "sink lake accepts only the next number"),
        ("{inline: [{id: a, stream: s}], deliver: [ice]}", "deliver[0]", "sink ice accepts only the next number"),
        ("{inline: [{id: a, stream: s}], deliver: [bus]}", "deliver[0]", "sink bus accepts only the next number"),
        ("{inline: [{id: a, stream: s}], deliver: [late]}", "deliver[0]", "sink late begins with all rows"),
        ("{streams: {s: all}}", "", "there are neither `from` nor `inline`"),
        ("{inline: [{id: a, stream: s}], quotas: 1}", "quotas", "unknown key 'quotas'"),
    ],
)
def test_errors_name_their_line(written: str, place: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "qbcd.yaml"
    indented = written if written.startswith("{") else f"{{{written}}}"
    file.write_text(
        "version: 1\nsources: {shop: {url: postgresql://me@localhost/shop}}\n"
        "sinks:\n  all: {type: jsonl, path: out}\n  copy: {type: database, url: 'sqlite:///x.db'}\n"
        "  late: {type: jsonl, path: late, initial: replica}\n  lake: {type: delta, path: lake, mode: log}\n"
        "  ice: {type: iceberg, mode: log, catalog: {type: sql, uri: 'sqlite:///i.db', warehouse: i}}\n"
        "  bus: {type: kafka, servers: 'localhost:9092'}\n"
        "tables: [{source: shop, table: s, strategy: id_rcs, sinks: [all]}]\n"
        f"subscriptions: {indented}\n"
    )
    with pytest.raises(ConfigError) as caught:
        qbcd.open(file)
    assert f"{file}:11: subscriptions{'.' * bool(place)}{place}" in str(caught.value)
    assert problem.replace("'", '"') in str(caught.value).replace("'", '"')


def test_the_command_lists_and_tries(
    database: str, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place, run = place_of(database), Cli(capsys)
    data = made(place, {**relation(place), "inline": [{"id": "one", "stream": "s", "condition": "status = 'late'"}]})
    (workspace / "qbcd.yaml").parent.mkdir(exist_ok=True)
    (workspace / "qbcd.yaml").write_text(json.dumps(data))
    monkeypatch.chdir(workspace)
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        subscribe(place, ("bad", "s", "status ="), ("astray", "t", "id = 1"), ("off", "s", "id = 1"))
        subscribe(place, ("x", "s", "status = 'x' AND id = 1"), ("y", "s", "status = 'y' AND id = 2", "old"))
        place.sql("UPDATE subscription SET active = 0 WHERE id = 'off'")
        states = {one["id"]: one["state"] for one in run("subscriptions", "--json").data["subscriptions"]}
        assert "cannot be parsed" in states.pop("bad")
        assert "none that may be subscribed to" in states.pop("astray")
        assert states == {"one": "active", "x": "active", "y": "active", "off": "not active"}
        shapes = run("subscriptions", "--shapes", "--json").data
        assert [(one["text"], one["subscriptions"]) for one in shapes["shapes"]] == [
            ("status = ? AND id = ?", 2),
            ("status = ?", 1),
        ]
        assert shapes["needs"] == [
            {"stream": "s", "columns": None, "where": "status IN ('late', 'x', 'y')"}
            | {"narrowed": "", "why_wide": "`narrow` is off"}
        ]
        assert "s needs all columns, rows where status IN ('late', 'x', 'y')" in run("subscriptions", "--shapes").out
        place.sql("UPDATE orders SET status = 'y' WHERE id = 2; INSERT INTO orders VALUES (5, 'late', 1.5, NULL, 'Ä')")
        poll(project, "s")
        place.sql("UPDATE orders SET status = 'late' WHERE id = 2")
        poll(project, "s")
        for event in lines(workspace / "out/all"):
            (workspace / "event.json").write_text(json.dumps(event))
            assert run("subscriptions", "--test", "event.json").out.split() == event["subscriptions"] or (
                not event["subscriptions"] and "matches no" in run("subscriptions", "--test", "event.json").out
            )
            assert run("subscriptions", "--test", "event.json", "--json").data == {"matches": event["subscriptions"]}
    assert matched(workspace) == {"one": {"c5", "u2"}, "y": {"u2"}}
    (workspace / "event.json").write_text("{}")
    assert "the event has no `event_id`" in run("subscriptions", "--test", "event.json").err
    assert "event.yaml cannot be read" in run("subscriptions", "--test", "event.yaml").err
