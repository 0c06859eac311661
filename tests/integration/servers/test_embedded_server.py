"""The embedded server of demo and tests: its settings, and its end with its owner."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg2
import pytest

from qbcd.demo import server as server_module
from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import EnvironmentMissing, SourceError
from tests.support import sql, wait_until

ROOT = Path(__file__).parents[3]

OWNER = """
import sys, time
from qbcd.demo.server import EmbeddedPostgres
server = EmbeddedPostgres.start()
print(server.url, server.directory, flush=True)
time.sleep(60)
"""


def test_settings_and_encoding(server: EmbeddedPostgres) -> None:
    shown = {
        name: sql(server.url, f"SHOW {name}")[0][0]
        for name in ("max_prepared_transactions", "fsync", "server_encoding", "listen_addresses", "TimeZone")
    }
    assert shown == {
        "max_prepared_transactions": "10",
        "fsync": "off",
        "server_encoding": "UTF8",
        "listen_addresses": "127.0.0.1",
        "TimeZone": "UTC",
    }
    assert sql(server.url, "SELECT upper('\u00e4\u00f1') = '\u00c4\u00d1', '\u00e4' > 'z'") == [(True, True)]


def test_programs_are_there(server: EmbeddedPostgres) -> None:
    assert all((server.bin / name).is_file() for name in ("psql", "pgbench", "pg_ctl"))


def test_stop_ends_the_server_and_removes_everything(tmp_path: Path) -> None:
    with EmbeddedPostgres.start() as running:
        assert sql(running.url, "SELECT 1") == [(1,)]
    assert not running.directory.exists()
    running.stop()
    with pytest.raises(psycopg2.OperationalError):
        sql(running.url, "SELECT 1")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_dead_owner_leaves_nothing(number: signal.Signals) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert owner.stdout is not None
    with owner.stdout:
        url, directory = owner.stdout.readline().split()
    assert sql(url, "SELECT 1") == [(1,)]
    os.kill(owner.pid, number)
    owner.wait(timeout=30)
    wait_until(lambda: not Path(directory).exists(), timeout=15, what="the removal of the server's directory")
    with pytest.raises(psycopg2.OperationalError):
        sql(url, "SELECT 1")


def test_a_taken_port_is_tried_elsewhere(server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    free = server_module._free_port(server.host)
    answers = [server.port, free]
    monkeypatch.setattr(server_module, "_free_port", lambda host: answers.pop(0))
    with EmbeddedPostgres.start() as second:
        assert second.port == free


def test_a_wrong_setting_shows_the_servers_message() -> None:
    with pytest.raises(SourceError, match="no_such_parameter"):
        EmbeddedPostgres.start(settings={"no_such_parameter": "x"})


def test_a_used_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(SourceError, match="new or empty"):
        EmbeddedPostgres.start(tmp_path)
    assert (tmp_path / "precious").exists()


def test_programs_in_a_closed_home_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A virtual environment in a home with mode 0700: only its owner, perhaps root, can read it."""
    installed = server_module._installed_programs()
    package = installed.parent.parent
    with tempfile.TemporaryDirectory() as home:
        for part in (package, package.with_name(f"{package.name}.libs")):
            if part.exists():
                shutil.copytree(part, Path(home) / part.name)
        closed = Path(home) / package.name / "pginstall" / "bin"
        monkeypatch.setattr(server_module, "_installed_programs", lambda: closed)
        with EmbeddedPostgres.start() as running:
            assert sql(running.url, "SELECT 1") == [(1,)]
            assert (running.bin == closed) == (os.geteuid() != 0)


def test_missing_wheel_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EnvironmentMissing, match=r"qbcd\[demo\]"):
        EmbeddedPostgres.start()
