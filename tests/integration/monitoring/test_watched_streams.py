"""Metrics, status, notifications and report of one project agree: a dead sink, a refused stream, one that is well."""

from __future__ import annotations

import json
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from qbcd.common import hooks
from qbcd.common.phases import PHASES
from tests.support import wait_until
from tests.support.cli import Cli
from tests.support.hook_server import hook_server
from tests.support.places import Place, over
from tests.support.project import config, opened, poll
from tests.support.watched_project import change, differences, samples, watched


@over(elsewhere=[])
def test_all_show_the_same(
    place: Place, workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    cli = Cli(capsys)
    with hook_server() as server:
        watched(place, workspace, f"{server.url}/hook", every="1h")
        assert cli("prepare").code == 0
        change(place, 1)
        for _ in range(2):
            assert cli("run", "--once", "--metrics-file", "qbcd.prom").code == 3
            metrics = samples((workspace / "qbcd.prom").read_text())
            status = cli("status", "--json").data["streams"]
            assert [one["state"] for one in status] == ["ok", "failed", "refused"]
            assert differences(metrics, status) == []
        assert [cli("status", "well", "--max-lag", limit).code for limit in ("1h", "1ms")] == [0, 5]
        assert (
            metrics["qbcd_polls_total", "refused", "refused"] == metrics["qbcd_polls_total", "dead_sink", "failed"] == 2
        )
        assert metrics["qbcd_pending_batches", "dead_sink", "gone"] == 1
        wait_until(lambda: len(server.at("/hook")) == 2)
        sent = {one["stream"]: one for one in server.at("/hook")}  # of two polls one each
        assert {name: one["event"] for name, one in sent.items()} == {"dead_sink": "failed", "refused": "refused"}
        assert sent["refused"]["remedy"].endswith("--accept-deletes")
        assert list(sent["dead_sink"]["sinks"]) == ["gone"]
    report = cli("report", "-o", "report.html")
    assert (report.code, report.out) == (0, "report.html: 3 streams\n")
    page = ElementTree.fromstring((workspace / "report.html").read_text())
    shown = [json.loads(one.text or "") for one in page.iter("pre")]
    for mine, now in zip(shown, cli("status", "--json").data["streams"], strict=True):
        assert {**mine, "lag_seconds": 0, "pass": 0} == {**now, "lag_seconds": 0, "pass": 0}
    assert "Ranges by last visit" in [one.text for one in page.iter("h3")]


@over(elsewhere=[])
@pytest.mark.parametrize("strategy", ["mds", "id_rcs"])
def test_phases_add_up_to_the_poll(place: Place, workspace: Path, strategy: str) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, n integer)")
    with opened(
        config(place.url, {"name": "s", "table": place.table("t"), "strategy": strategy}), workspace
    ) as project:
        project.stream("s").prepare()
        place.sql("INSERT INTO t VALUES (1, 1)")
        for point in ("before_commit", "before_publish"):
            hooks.register(point, lambda: time.sleep(0.3))
        began = time.monotonic()
        try:
            (outcome,) = poll(project, "s")
        finally:
            for point in ("before_commit", "before_publish"):
                hooks.register(point, None)
        took = time.monotonic() - began
        assert outcome.phases["commit"] >= 0.3
        assert outcome.phases["deliver"] >= 0.3
        assert 0.6 <= sum(outcome.phases.values()) <= took
        assert {*outcome.phases} <= {*PHASES}
        assert {"lease", "plan", "fetch", "compact", "unfinished"} <= {*outcome.phases}
        place.sql("DROP TABLE t")
        failed = project.run("s", once=True).outcomes[0]
        assert failed.error is not None
        assert {*failed.phases} == {"lease", "deliver", "unfinished"}


@over(elsewhere=[])
def test_openlineage_events_of_a_query_have_tables_and_columns(
    place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, n integer); CREATE TABLE u (id integer PRIMARY KEY, m integer)")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(workspace / "events.json"))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
    t, u = place.table("t"), place.table("u")
    query = f"SELECT t.id, t.n + u.m AS total FROM {t} AS t JOIN {u} AS u ON u.id = t.id"
    streams = (
        {"name": "q", "query": query, "key": ["id"], "strategy": {"type": "vbd", "variant": "checksum"}},
        {"name": "t", "table": t, "strategy": "id_rcs"},
    )
    with opened(config(place.url, *streams, openlineage={}), workspace) as project:
        for name in ("q", "t"):
            project.stream(name).prepare()
        place.sql("INSERT INTO t VALUES (1, 1); INSERT INTO u VALUES (1, 2)")
        poll(project)
    events = [json.loads(line) for line in (workspace / "events.json").read_text().splitlines()]
    ended = {one["job"]["name"]: one for one in events if one["eventType"] == "COMPLETE"}
    inputs = [one["name"].rpartition(".")[2] for one in ended["q"]["inputs"]]
    assert sorted(inputs) == ["t", "u"]
    fields = {
        name: {
            column: [
                (i["name"].rpartition(".")[2], i["field"], i["transformations"][0]["subtype"]) for i in f["inputFields"]
            ]
            for column, f in one["outputs"][0]["facets"]["columnLineage"]["fields"].items()
        }
        for name, one in ended.items()
    }
    assert {name: sorted(found) for name, found in fields["q"].items()} == {
        "id": [("t", "id", "IDENTITY")],
        "total": [("t", "n", "TRANSFORMATION"), ("u", "m", "TRANSFORMATION")],
    }
    assert fields["t"] == {"id": [("t", "id", "IDENTITY")], "n": [("t", "n", "IDENTITY")]}


@over()
def test_a_column_that_is_only_reported_has_one_message(place: Place, workspace: Path) -> None:
    """One message over several jobs: the history has what the job before reported."""
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, n integer)")
    with hook_server() as server:
        table = {"name": "s", "table": place.table("t"), "strategy": "id_rcs"}
        data = config(place.url, table, notify=[{"url": f"{server.url}/hook"}])
        with opened(data, workspace) as project:
            project.stream("s").prepare()
            place.sql("ALTER TABLE t ADD m integer")
            warnings = [run.report.warnings for _ in range(2) for run in poll(project, "s") if run.report]
        with opened(data, workspace) as project:
            poll(project, "s")
            place.sql("ALTER TABLE t ADD o integer")
            poll(project, "s")
        wait_until(lambda: len(server.at("/hook")) == 2)
        sent = server.at("/hook")
    assert [len(one) for one in warnings] == [1, 1]
    assert [(one["event"], one["outcome"], one["what"].split()[1]) for one in sent] == [
        ("schema_changed", "ok", "'m'"),
        ("schema_changed", "ok", "'o'"),
    ]


@pytest.mark.campaign
@over()
def test_status_tests_the_lag_and_waiting_batches(
    place: Place, workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    cli = Cli(capsys)
    watched(place, workspace, "http://127.0.0.1:1/", every="1h")
    assert cli("prepare", "well", "dead_sink").code == 0
    assert cli("report", "well", "-o", "no/report.html").code == 1
    assert cli("run", "well", "dead_sink", "--once").code == 0
    both = ("status", "well", "dead_sink")
    assert [cli(*both, *limit).code for limit in ((), ("--check",), ("--max-lag", "1h"), ("--max-lag", "1ms"))] == [
        0,
        0,
        0,
        5,
    ]
    assert cli(*both, "--max-lag", "1ms", "--json").data["streams"][0]["state"] == "late"
    before = (workspace / "qbcd.yaml").read_text()
    data = json.loads(before)
    data["tables"][1]["sinks"] = ["changes"]  # the batches of a removed sink wait, and no poll fails
    change(place, 1)
    assert cli("run", "dead_sink", "--once").code == 1
    (workspace / "qbcd.yaml").write_text(json.dumps(data))
    assert cli("run", "dead_sink", "--once").code == 0
    [found] = cli("status", "dead_sink", "--json").data["streams"]
    assert (found["state"], found["pending"]) == ("ok", {"gone": 1})
    assert cli("status", "dead_sink", "--check").code == 0, "a removed sink does not count"
    (workspace / "qbcd.yaml").write_text(before)
    assert (cli("status", "dead_sink").code, cli("status", "dead_sink", "--check").code) == (0, 5)
    for wrong, said in (
        ("--max-lag 5x", "not a duration: '5x'"),
        ("--watch", "needs a terminal"),
        ("--watch --check", "gives one answer"),
    ):
        ran = cli("status", *wrong.split())
        assert (ran.code, said in ran.err) == (2, True), ran.err
