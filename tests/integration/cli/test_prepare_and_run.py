"""`qbcd run --prepare`, and a process that runs on while its source is down."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import pytest

from tests.support import sql, wait_until
from tests.support.cli import Cli, spawn

CONFIG = """\
version: 1
sources:
  shop: {{url: "{url}"}}
defaults: {{every: 1s, strategy: mds}}
tables:
  - {{source: shop, table: public.customers}}
  - {{source: shop, table: public.orders}}
  - {{source: shop, table: public.loose, key: [a]}}
"""


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path, database: str) -> Cli:
    monkeypatch.chdir(workspace)
    sql(
        database,
        """CREATE TABLE customers (id int PRIMARY KEY, name text); INSERT INTO customers VALUES (1, 'a'), (2, 'b');
        CREATE TABLE orders (id int PRIMARY KEY); CREATE TABLE loose (a int); INSERT INTO loose VALUES (1), (1)""",
    )
    (workspace / "qbcd.yaml").write_text(CONFIG.format(url=database))
    return Cli(capsys)


def test_unprepared_streams_are_prepared_first(cli: Cli) -> None:
    ran = cli("run", "--once", "--prepare")
    assert (ran.code, ran.out) == (3, "")
    lines = [re.sub(r" \(.*", "", line) for line in ran.err.splitlines()]
    assert lines[:2] == ["customers: baseline of 2 rows taken", "orders: baseline of 0 rows taken"]
    assert [line for line in lines if "loose" in line] == [lines[2]]
    assert "stream loose: key (a)" in ran.err
    assert lines[3:] == ["customers: no change", "orders: no change"]
    again = cli("run", "--once", "--prepare", "customers", "--json")
    assert (again.code, again.err, [line["outcome"] for line in again.lines]) == (0, "", ["empty"])


def test_after_the_last_result_nothing_is_waited_for(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("prepare", "customers", "orders").code == 0
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, with progress
    ran = cli("run", "--once", "customers", "orders")
    assert ran.code == 0
    assert "polling" in ran.err
    assert "waiting for the next poll" not in ran.err


@pytest.mark.campaign
def test_a_stream_that_cannot_be_prepared_has_one_line_for_each_attempt(cli: Cli, workspace: Path) -> None:
    """The error of `prepare`, and no second one of a poll that finds no baseline."""
    process, log = spawn(workspace, "run", "--prepare", "loose", "customers"), list[str]()
    assert process.stderr is not None
    try:
        while sum("duplicate or NULL" in line for line in log) < 2:
            log.append(process.stderr.readline().rstrip())
            assert log[-1], log
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    said = [line.split(maxsplit=3) for line in log if " ERROR " in line]
    assert [text[:18] for *_, text in said] == ["key (a) has duplic"] * 2
    assert said[0][0] < said[1][0]


@pytest.mark.campaign
def test_a_source_that_is_away_at_the_start(cli: Cli, workspace: Path, database: str) -> None:
    """The process goes on, prepares the stream as soon as it can, and logs both."""
    name = f"r_{time.monotonic_ns()}"
    sql(database, f"CREATE ROLE {name} NOLOGIN; GRANT SELECT ON customers TO {name}")
    sql(database, f"GRANT CREATE ON DATABASE {database.rpartition('/')[2]} TO {name}")
    (workspace / "qbcd.yaml").write_text(CONFIG.format(url=database.replace("postgres@", f"{name}@")))
    process, log = spawn(workspace, "run", "--prepare", "customers"), list[str]()
    assert process.stderr is not None

    def read_until(said: str) -> None:
        while not log or said not in log[-1]:
            line = process.stderr.readline()  # type: ignore[union-attr]
            assert line, log
            log.append(line.rstrip())

    try:
        read_until("ERROR   customers source shop")
        sql(database, f"ALTER ROLE {name} LOGIN")
        read_until("recovered")
        process.send_signal(signal.SIGINT)
        read_until("stopping after the current step")
        assert process.wait(60) == 0
    finally:
        process.kill()
        wait_until(lambda: process.poll() is not None, what="the end of the process")
        sql(database, f"DROP OWNED BY {name}; DROP ROLE {name}")
    for line in log:
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (INFO   |ERROR  ) (customers|-) ", line)
    said = [line.split(maxsplit=3)[3] for line in log]
    assert not any(one.startswith("is not prepared") for one in said)
    assert any(one.startswith("baseline of 2 rows taken (") for one in said)
    assert re.match(r"recovered after \d+ s and \d failed polls", said[-2])
