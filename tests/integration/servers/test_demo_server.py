"""``qbcd demo --serve`` and ``--stop``: a server that outlives its command, one per user."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.cli import Cli


@pytest.mark.campaign
def test_a_server_to_try_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run = Cli(capsys)
    try:
        started = run("demo", "--serve")
        assert (started.code, "psql connects to it" in started.err) == (0, True)
        again = run("demo", "--serve")
        assert (again.out, "already runs" in again.err) == (started.out, True)
        query = "SELECT current_user || ' in ' || current_database()"
        shell = f'{started.out}psql -tA -c "{query}"'  # as eval "$(qbcd demo --serve)" does
        ran = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True, env=dict(os.environ))
        assert ran.stdout == "postgres in postgres\n"
    finally:
        stopped = run("demo", "--stop")
    assert (stopped.code, "PostgreSQL is stopped" in stopped.err) == (0, True)
    refused = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert "Connection refused" in refused.stderr
    assert "no server was running" in run("demo", "--stop").err
