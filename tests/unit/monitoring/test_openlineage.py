"""OpenLineage events, made and sent by the real client into a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qbcd.config import config_from_dict
from qbcd.config.masking import masking_of
from qbcd.errors import ConfigError, EnvironmentMissing
from qbcd.monitoring.openlineage_events import openlineage
from qbcd.polling.outcome import Outcome
from qbcd.state import Run

SECRET = "c4n4ry-Zz9%pw"
NOW = 1_795_770_000.0


def parts(kind: str = "postgresql", **more: Any) -> Any:
    """Return the parts that the events need, of two streams with three sinks."""
    schema = "public" if kind == "postgresql" else "shop"
    config = config_from_dict(
        {
            "version": 1,
            "sources": {"shop": {"url": f"{kind}://reader:{SECRET.replace('%', '%25')}@localhost:5433/shop"}},
            "sinks": {
                "changes": {"type": "jsonl", "path": "/out"},
                "screen": {"type": "console"},
                "house": {"type": "database", "url": "postgresql://w@localhost/dwh", "schema": "raw", "mode": "log"},
            },
            "defaults": {"source": "shop", "sinks": ["changes", "screen", "house"]},
            "tables": [
                {"name": "orders", "table": f"{schema}.orders", "strategy": "mds"},
                {"name": "sums", "query": "SELECT 1 AS n", "strategy": "vbd", "key": "n"},
            ],
            **more,
        }
    )
    return SimpleNamespace(config=config, masking=masking_of(config))


def sent(made: Any, folder: Path, *polls: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the events of polls, given by stream and outcome."""
    file = folder / "events.json"
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(file))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
    streams: list[Any] = [SimpleNamespace(name=one.name, config=one) for one in made.config.streams]
    with openlineage(made, streams) as add:
        for stream, outcome in polls:
            counts = {"c": 3, "d": 1} if outcome == "ok" else {}
            run = Run(stream, NOW, NOW + 2, outcome, counts=counts, message=f"no login: {SECRET}")  # type: ignore[arg-type]
            add(Outcome(stream, run=run))
        add(Outcome("orders"))  # another process works on it
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("postgresql", ("postgres://localhost:5433", "shop.public.orders")),
        ("mariadb", ("mariadb://localhost:5433", "shop.orders")),
        ("mysql", ("mysql://localhost:5433", "shop.orders")),
    ],
)
def test_a_poll_has_two_events(
    kind: str, table: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    polls = (("orders", "ok"), ("orders", "empty"), ("sums", "failed"), ("orders", "refused"))
    found = sent(parts(kind, openlineage={"namespace": "prod"}), tmp_path, *polls, monkeypatch=monkeypatch)
    assert [(one["job"]["name"], one["eventType"]) for one in found] == [
        ("orders", "START"),
        ("orders", "COMPLETE"),
        ("sums", "START"),
        ("sums", "FAIL"),
        ("orders", "START"),
        ("orders", "FAIL"),
    ]
    start, complete = found[:2]
    assert start["run"]["runId"] == complete["run"]["runId"] != found[4]["run"]["runId"]
    assert (start["eventTime"], complete["eventTime"]) == ("2026-11-27T09:00:00+00:00", "2026-11-27T09:00:02+00:00")
    assert {one["job"]["namespace"] for one in found} == {"prod"}
    assert [(one["namespace"], one["name"]) for one in complete["inputs"]] == [table]
    schema = "public" if kind == "postgresql" else "shop"
    assert [(one["namespace"], one["name"]) for one in complete["outputs"]] == [
        ("file", "/out/orders"),
        ("postgres://localhost", f"dwh.raw.{schema}_orders"),
    ]
    assert complete["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 4
    assert found[3]["job"]["facets"]["sql"]["query"] == "SELECT 1 AS n"
    assert found[3]["run"]["facets"]["errorMessage"]["message"] == "no login: ***"
    assert SECRET not in json.dumps(found)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("jdbc:h2:mem:x;MODE=ORACLE", ("h2:mem:x", "APP.T")),
        ("jdbc:oracle:thin:me/hidden@//host:1521/shop", ("oracle://host:1521/shop", "APP.T")),
        ("jdbc:sqlserver://host:1433;databaseName=shop;password=hidden", ("sqlserver://host:1433", "shop.APP.T")),
    ],
)
def test_a_source_with_a_driver(
    url: str, place: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {"name": "t", "source": "j", "table": "APP.T", "key": ["ID"], "strategy": "id_rcs", "sinks": "changes"}
    made = parts(openlineage={}, sources={"j": {"url": url, "user": "sa"}}, tables=[table], defaults={})
    found = sent(made, tmp_path, ("t", "ok"), ("t", "failed"), monkeypatch=monkeypatch)
    assert [one["eventType"] for one in found] == ["START", "COMPLETE", "START", "FAIL"]
    assert {(one["inputs"][0]["namespace"], one["inputs"][0]["name"]) for one in found} == {place}
    assert "hidden" not in json.dumps(found)


def test_polls_without_changes_are_reported_if_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = parts(openlineage={"empty_polls": True})
    found = sent(made, tmp_path, ("orders", "empty"), monkeypatch=monkeypatch)
    assert [one["eventType"] for one in found] == ["START", "COMPLETE"]


def test_nothing_is_sent_unless_it_is_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openlineage.client", None)
    assert sent(parts(), tmp_path, ("orders", "ok"), monkeypatch=monkeypatch) == []
    with pytest.raises(EnvironmentMissing, match=r"pip install 'qbcd\[openlineage\]'"):
        sent(parts(openlineage={}), tmp_path, ("orders", "ok"), monkeypatch=monkeypatch)


def test_a_client_without_a_place_for_events_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    made = parts(openlineage={})
    with pytest.raises(ConfigError, match="openlineage: OpenLineage has no place for events"), openlineage(made, []):
        pass


def test_a_server_that_is_down_delays_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "http")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__URL", "http://127.0.0.1:1")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__RETRY", '{"total": 0}')
    made = parts(openlineage={})
    streams: list[Any] = [SimpleNamespace(name=one.name, config=one) for one in made.config.streams]
    with openlineage(made, streams) as add:
        add(Outcome("orders", run=Run("orders", NOW, NOW + 1, "ok")))
    said = [record.getMessage() for record in caplog.records if record.name == "qbcd"]
    assert len(said) == 1
    assert said[0].startswith("OpenLineage: events are lost: ")
