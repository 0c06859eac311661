"""A source that holds streams of another project, or of a state that is lost: the report, and the way out."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from qbcd.api import parts_of
from qbcd.errors import StateConflict
from qbcd.state import Owner, takeover
from tests.support.cli import Cli
from tests.support.places import Place, over, place_of
from tests.support.project import config, opened, poll

TABLE = """
CREATE TABLE t (id integer PRIMARY KEY, v integer, at {instant} NOT NULL DEFAULT current_timestamp(6), off boolean);
INSERT INTO t (id, v, off) VALUES (1, 1, false), (2, 2, false), (3, 3, false)
"""
FLAG = {"timestamp": "at", "delete_flag": "off"}
WAYS: dict[str, Any] = {
    "mds": "mds",
    "id": "id",
    "tlcs": "tlcs",
    "ts": {"type": "ts", "timestamp": "at", "lag": "2s"},
    "tdi": {"type": "tdi", "lag": "2s", **FLAG},
    "atdi": {"type": "atdi", "lag": "2s", **FLAG},
    "delta": {"type": "vbd", "variant": "delta", "timestamps": {"t": "at"}, "lag": "2s"},
    "compare": {"type": "vbd", "variant": "compare"},
}
QUESTIONS = ("Forget replica and checkpoint of s?", "holds s for another project")


class Case:
    """A project with one stream, and its command line."""

    def __init__(self, place: Place, workspace: Path, cli: Cli, way: str = "mds") -> None:
        self.place, self.folder, self.cli = place, workspace, cli
        place.sql(TABLE.format(instant="timestamptz" if place.kind == "postgresql" else "timestamp(6)"))
        strategy, table = WAYS[way], place.table("t")
        if way == "delta":
            strategy = {**strategy, "timestamps": {table: "at"}}
        of = {"query": f"SELECT id, v FROM {table}", "key": ["id"]} if way in ("delta", "compare") else {"table": table}
        self.data = config(place.url, {"name": "s", "strategy": strategy, **of}, source={"schema": place.own_schema})
        self.data["defaults"] |= {"baseline": "silent", "sinks": []}
        self.write()

    def write(self, **more: Any) -> None:
        """Write the configuration, changed by `more`."""
        self.data |= more
        (self.folder / "qbcd.yaml").write_text(json.dumps(self.data))

    def lose_state(self) -> None:
        """Delete the state database."""
        for file in (self.folder / ".qbcd").glob("state.db*"):
            file.unlink()

    def good(self, *arguments: str) -> None:
        """Run a command that succeeds."""
        ran = self.cli(*arguments)
        assert ran.code == 0, ran.err

    def refused(self, *arguments: str, code: int = 3) -> str:
        """Run a command that is refused; return its errors."""
        ran = self.cli(*arguments)
        assert ran.code == code, (arguments, ran.err)
        return ran.err


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path) -> Cli:
    monkeypatch.chdir(workspace)
    return Cli(capsys)


TAKE_OVER = ("reset", "s", "--yes", "--discard", "--take-over")


@over(
    "way",
    ["mds", *(pytest.param(way, marks=pytest.mark.campaign) for way in WAYS if way != "mds")],
    elsewhere=[],
    without={"mysql": ["delta"]},
)
def test_a_lost_state_is_reported_and_its_streams_begin_again(
    way: str, place: Place, workspace: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takeover, "QUIET_S", 0.0)
    case = Case(place, workspace, cli, way)
    case.good("prepare")
    case.lose_state()
    for command in (("check",), ("status",), ("run", "--once"), ("prepare",), ("reset", "s", "--yes", "--discard")):
        said = case.refused(*command)
        assert "holds stream 's' prepared by another project" in said, command
        assert "qbcd reset s --discard --take-over" in said, command
    assert "drops the batches" in case.refused("reset", "s", "--yes", "--take-over", code=2)
    case.good(*TAKE_OVER)
    left = place.sql(f"SELECT count(*) FROM {place.own_schema}.stream WHERE prepared")
    assert left[0][0] == 0
    assert "so there is nothing to take over" in case.refused(*TAKE_OVER)
    case.good("check")
    case.good("prepare")
    place.sql("INSERT INTO t (id, v, off) VALUES (4, 4, false)")
    ran = cli("run", "--once", "--json")
    assert (ran.code, ran.lines[0]["outcome"] in ("ok", "empty")) == (0, True), ran.err


@over(elsewhere=[])
def test_a_second_project_is_seen_and_its_streams_are_taken_one_by_one(
    place: Place, workspace: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another name in the same schema is enough; a stream that is no longer configured can be taken too."""
    monkeypatch.setattr(takeover, "QUIET_S", 0.0)
    case = Case(place, workspace, cli)
    case.good("prepare")
    other = {**case.data["tables"][0], "name": "other"}
    case.write(state="sqlite:///second.db", tables=[other])
    for command in (("check",), ("prepare",)):
        said = case.refused(*command)
        assert "stream other: schema" in said
        assert "qbcd reset s --discard --take-over" in said
    assert "no source holds it for another project" in case.refused(
        "reset", "other", "--yes", "--discard", "--take-over"
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("y\nn\n"))
    asked = case.refused(*(one for one in TAKE_OVER if one != "--yes"), code=1)
    assert [question for question in QUESTIONS if question not in asked] == []
    case.refused("check")
    case.good(*TAKE_OVER)
    case.good("prepare")


@over(elsewhere=[])
def test_a_living_project_keeps_its_streams(
    place: Place, workspace: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(place, workspace, cli)
    with opened(case.data, workspace) as first:
        first.stream("s").prepare()
        site = parts_of(first).open_stream("s").site
        second = {**case.data, "state": "sqlite:///second.db"}
        with opened(second, workspace) as project:
            taking = parts_of(project).open_stream("s").site.context

            def signs() -> takeover.Signs:
                with taking.reading() as conn:
                    return takeover.signs_of_owner(conn, taking.store, "s", taking.project.project_id)

            seen = signs()
            assert 0 <= seen.quiet < 60, "it has just been prepared"
            with site.context.hold(), pytest.raises(StateConflict, match="works on stream s for the project"):
                signs()
            # a poll in between, which no lease shows any more
            with pytest.raises(StateConflict, match="has just polled s"), taking.hold(reset=True, take_over=seen):
                pass
            monkeypatch.setattr(takeover, "QUIET_S", 3600.0)
            parts_of(project).progress = lambda stream, what: next(None for _ in poll(first, "s"))
            with pytest.raises(StateConflict, match="has just polled s"):
                project.stream("s").reset(discard=True, take_over=True)
            lives = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
            try:
                _leased_by(site.context, lives.pid)
                with pytest.raises(StateConflict, match="polled stream s and still runs"):
                    signs()
            finally:
                lives.communicate(b"\n")
            assert signs().quiet >= 0, "its process has ended"
        poll(first, "s")


def _leased_by(context: Any, pid: int) -> None:
    """Record a process of this host as the last poller."""
    host, _, _, name = str(Owner.mine()).split("|")
    start = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    with context.writing() as conn:
        conn.execute(context.store.tables.lease.update().values(owner=f"{host}|{pid}|{start}|{name}"))


def test_a_source_that_is_down_is_one_line_of_run_and_status(cli: Cli, workspace: Path, database: str) -> None:
    case = Case(place_of(database), workspace, cli)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]  # nobody listens there later
    one = case.data["tables"][0]
    away = [{**one, "name": f"away{number}", "source": "away"} for number in range(4)]
    sources = {**case.data["sources"], "away": {"url": f"postgresql://u@127.0.0.1:{port}/x"}}
    case.write(sources=sources, tables=[*away, one])
    case.good("prepare", "s")
    ran = cli("run", "--once")
    assert ran.code == 1
    [error, result] = sorted(ran.err.splitlines())
    assert error.startswith("error: streams away0, away1, away2 and 1 more: source away (127.0.0.1")
    assert result.startswith("s: no change")
    listed = cli("status")
    assert (listed.code, listed.err.count("cannot be reached")) == (1, 1)
    outcomes = {line["stream"]: line["outcome"] for line in cli("run", "--once", "--json").lines}
    assert outcomes == {"s": "empty", **{f"away{number}": "failed" for number in range(4)}}
