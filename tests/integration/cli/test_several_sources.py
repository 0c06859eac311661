"""`qbcd run` with several sources: they work side by side, and share one Spark session and the sinks."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.state import ProjectState
from tests.support import wait_until
from tests.support.cli import spawn
from tests.support.oracle import events
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCES = ("one", "two", "three")
TABLE = "CREATE TABLE t{0} (id integer PRIMARY KEY, v integer); INSERT INTO t{0} VALUES (1, 1), (2, 2), (3, 3)"


def configured(place: Place, *strategies: str, **sources: Any) -> dict[str, Any]:
    """Return a stream of each strategy for each source; all sources are one database, with schemas of their own."""
    made = {name: {**place.source, "schema": f"{place.own_schema}{name}"} for name in SOURCES} | sources
    tables = [
        {"name": f"{strategy}_{name}", "table": place.table(f"t{name}"), "source": name, "strategy": strategy}
        for name in made
        for strategy in strategies
    ]
    data = config(place.url, *tables)
    data["defaults"] |= {"every": "1s", "baseline": "silent"}
    return {**data, "sources": made}


@pytest.mark.campaign
@over()
def test_sources_share_spark_and_sinks(place: Place, workspace: Path, spark: SparkSession) -> None:
    for name in SOURCES:
        place.sql(TABLE.format(name))
    data = configured(place, "id_rcs", "mds")
    stop, outcomes = threading.Event(), dict[str, int]()
    with opened(data, workspace, spark) as project:
        for stream in project.streams:
            stream.prepare()

        def change(number: int) -> None:
            for name in SOURCES:
                place.sql(f"UPDATE t{name} SET v = v + 1 WHERE id = 2; INSERT INTO t{name} VALUES ({number}, 0)")

        def count(outcome: Any) -> None:
            assert outcome.exit_code == 0, outcome.error
            outcomes[outcome.stream] = outcomes.get(outcome.stream, 0) + 1
            change(10 + sum(outcomes.values()))
            if len(outcomes) == len(project.streams) and min(outcomes.values()) >= 4:
                stop.set()

        project.run(on_outcome=count, stop=stop)
        poll(project)
        for name in SOURCES:
            for strategy in ("id_rcs", "mds"):
                copy = {1: 1, 2: 2, 3: 3}
                for event in events(workspace / "out" / "changes", f"{strategy}_{name}"):
                    copy[event["after"]["id"]] = event["after"]["v"]
                assert copy == dict(place.sql(f"SELECT id, v FROM t{name}")), (strategy, name)


LOCKED = {"postgresql": "ALTER ROLE {} NOLOGIN", "mariadb": "ALTER USER {}@'%' ACCOUNT LOCK"}
OPEN = {"postgresql": "ALTER ROLE {} LOGIN", "mariadb": "ALTER USER {}@'%' ACCOUNT UNLOCK"}


@pytest.mark.campaign
@over()
def test_a_source_that_stops_and_starts_again_has_a_line_for_each(place: Place, workspace: Path) -> None:
    """The others are polled meanwhile; then all streams of the source are polled at once."""
    kind = "mariadb" if place.kind == "mysql" else place.kind
    for name in (*SOURCES, "away"):
        place.sql(TABLE.format(name))
    with place.user("secret") as user:
        place.grant("SELECT", "taway", user)
        place.grant_own_schema(user)
        away = {"url": place.url_as(user), "password": "secret", "schema": place.own_schema}
        data = configured(place, "mds", "id", away=away)
        data["defaults"]["sinks"] = []
        (workspace / "qbcd.yaml").write_text(json.dumps(data))
        with opened(data, workspace) as project:
            for stream in project.streams:
                stream.prepare()
        process, log = spawn(workspace, "run"), list[str]()
        assert process.stderr is not None
        reader = threading.Thread(target=lambda: log.extend(map(str.rstrip, process.stderr)), daemon=True)  # type: ignore[arg-type]
        reader.start()
        try:
            wait_until(lambda: _polls(workspace, "id_away") > 0, what="the first polls")
            place.sql(LOCKED[kind].format(user))
            place.end_sessions(user)  # a round keeps its sessions for the next one
            wait_until(lambda: sum("source away" in line for line in log) >= 2, what="two failed attempts")
            before = _polls(workspace, "mds_one")
            wait_until(lambda: _polls(workspace, "mds_one") > before + 2, what="polls of another source")
            place.sql(OPEN[kind].format(user))
            wait_until(lambda: any("recovered" in line for line in log), what="the recovery")
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            reader.join(60)
    # a warning says that a lease could not be released, if the source stopped in the middle of a poll
    lines = [line.split(maxsplit=3) for line in log if "away" in line and " WARNING " not in line]
    said = [line for line in lines if line[2] not in ("mds_away", "id_away")]  # its poll was in progress
    assert {(level, stream) for _, level, stream, _ in said} == {("ERROR", "-"), ("INFO", "-")}
    assert said[0][3].startswith("streams mds_away, id_away: source away ")
    assert [text.partition(" after ")[0] for _, level, _, text in said if level == "INFO"] == ["source away recovered"]


def _polls(workspace: Path, stream: str) -> int:
    """Return the number of successful polls in the history."""
    with ProjectState(f"sqlite:///{workspace}/.qbcd/state.db", create=False) as state:
        return sum(run.outcome == "empty" for run in state.runs(stream, 1000))
