"""Signals to `qbcd run --once`, and to commands that do not finish their step first."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import connect, sql, wait_until
from tests.support.cli import Cli, Ran, finished, spawn

CONFIG = """\
version: 1
sources:
  shop: {{url: "{url}"}}
defaults: {{strategy: mds}}
tables:
  - {{source: shop, table: public.a}}
  - {{source: shop, table: public.b}}
  - {{source: shop, table: public.c}}
"""
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path, database: str) -> Cli:
    monkeypatch.chdir(workspace)
    for table in "abc":
        sql(database, f"CREATE TABLE {table} (id int PRIMARY KEY, n int); INSERT INTO {table} VALUES (1, 1)")
    (workspace / "qbcd.yaml").write_text(CONFIG.format(url=database))
    return Cli(capsys)


@contextmanager
def waiting_for_b(folder: Path, database: str, *command: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command that waits for a lock on table b; release the lock at the end."""
    with connect(database) as lock, lock.cursor() as cursor:
        cursor.execute("LOCK TABLE b IN ACCESS EXCLUSIVE MODE")
        process = spawn(folder, *command)
        try:
            wait_until(lambda: sql(database, WAITING) == [(1,)], what="the poll that waits for the lock")
            yield process
        except BaseException:
            process.kill()
            raise


def stopped(folder: Path, database: str, number: signal.Signals) -> Ran:
    """Run `run --once` of all streams, and send it a signal during the poll of b."""
    with waiting_for_b(folder, database, "run", "--once", "--json") as process:
        process.send_signal(number)
        assert process.stderr is not None
        said = process.stderr.readline()
        while "stopping after the current step" not in said:
            said = process.stderr.readline()
    return finished(process)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.campaign), signal.SIGTERM])
def test_the_step_in_hand_is_finished_and_the_rest_left_out(
    cli: Cli, workspace: Path, database: str, number: signal.Signals
) -> None:
    assert cli("prepare").code == 0
    ran = stopped(workspace, database, number)
    assert [(line["stream"], line["outcome"]) for line in ran.lines] == [("a", "empty"), ("b", "empty")]
    assert ran.code == 0, ran.err


def test_an_earlier_refusal_still_counts(cli: Cli, workspace: Path, database: str) -> None:
    assert cli("prepare", "b", "c").code == 0
    ran = stopped(workspace, database, signal.SIGTERM)
    assert [(line["stream"], line["outcome"]) for line in ran.lines] == [("a", "refused"), ("b", "empty")]
    assert ran.code == 3


def test_other_commands_end_with_the_statement_in_hand(cli: Cli, workspace: Path, database: str) -> None:
    assert cli("prepare").code == 0
    with waiting_for_b(workspace, database, "verify", "b") as process:
        process.send_signal(signal.SIGINT)
    assert finished(process).code == 130
    with waiting_for_b(workspace, database, "verify", "b") as process:
        process.send_signal(signal.SIGTERM)
        assert finished(process).code == -signal.SIGTERM


@pytest.mark.campaign
def test_an_interrupt_while_java_is_starting(database: str, cli: Cli, workspace: Path) -> None:
    """Java must have started before it can be ended, so that no process is left behind."""
    (workspace / "qbcd.yaml").write_text(CONFIG.format(url=database).replace("mds", "id_rcs, engine: spark"))
    process = spawn(workspace, "prepare", "a")
    wait_until(lambda: bool(java_below(process.pid)), what="Java that is starting")
    started = java_below(process.pid)
    process.send_signal(signal.SIGINT)
    ran = finished(process)
    assert ran.code == 130, ran.err
    assert "Exception in thread" not in ran.err + ran.out
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), what="the end of Java")


def java_below(pid: int) -> list[int]:
    """Return the processes below `pid` that run Spark."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes()
        except (OSError, IndexError, ValueError):  # no such process, or it has ended
            continue
        if parent == pid and b"java" in command and b"SparkSubmit" in command:
            found.append(int(entry.name))
    return found
