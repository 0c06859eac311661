"""A continuous run that is watched from outside: scrapes during polls, a hook that hangs, the state in a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.support import wait_until
from tests.support.cli import finished, spawn
from tests.support.hook_server import hook_server
from tests.support.places import Place, over
from tests.support.watched_project import STREAMS, change, differences, samples, watched

PATIENCE = 120.0  # seconds


def status(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = finished(spawn(folder, "status", "--json"), PATIENCE).data["streams"]
    return found


@pytest.mark.campaign
@over()
def test_a_hundred_scrapes_agree_with_status(place: Place, workspace: Path) -> None:
    with hook_server() as server:
        watched(place, workspace, f"{server.url}/hang", every="20s")
        assert finished(spawn(workspace, "prepare"), PATIENCE).code == 0
        run = spawn(workspace, "run", "--metrics", "127.0.0.1:0", "--log-format", "json")
        assert run.stderr is not None
        url = re.search(r"http://\S+/metrics", run.stderr.readline())
        assert url is not None

        def scrape() -> dict[tuple[str, ...], float]:
            with urlopen(url[0], timeout=PATIENCE) as answer:
                return samples(answer.read().decode())

        agreed, scrapes, before = set[str](), 0, dict[tuple[str, ...], float]()
        until = time.monotonic() + 5 * PATIENCE
        while (scrapes < 100 or len(agreed) < len(STREAMS)) and time.monotonic() < until:
            now, scrapes = scrape(), scrapes + 1
            falling = [name for name, value in before.items() if name[0].endswith("_total") and now[name] < value]
            assert falling == []
            before = now
            if scrapes % 5 == 0:
                change(place, scrapes)
            if scrapes % 10 == 0:
                found = status(workspace)
                after = scrape()
                for one in found:  # no poll of it may end between the two scrapes
                    last = ("qbcd_last_poll_timestamp_seconds", one["stream"])
                    poll = one["last_poll"]
                    if poll and not one["polling"] and now.get(last) == after.get(last) == poll["finished_at"]:
                        assert differences(after, [one]) == []
                        agreed.add(one["stream"])
        wait_until(lambda: bool(server.at("/hang")), timeout=PATIENCE)
        polls = [scrape()["qbcd_polls_total", "well", outcome] for outcome in ("ok", "empty")]
        run.send_signal(signal.SIGTERM)
        ended = finished(run, PATIENCE)
    assert ended.code == 0
    assert "the hook does not answer" in ended.err
    assert sum(polls) >= 2
    assert agreed == set(STREAMS)
    starts = _starts(workspace)
    assert max(b - a for a, b in pairwise(starts)) < 45  # seconds; the hook hangs for 60


def _starts(folder: Path) -> list[float]:
    from qbcd.state import ProjectState

    with ProjectState(f"sqlite:///{folder}/.qbcd/state.db") as state:
        return sorted(run.started_at for run in state.runs("well", 1000))


@pytest.mark.campaign
@over(elsewhere=[])
def test_the_state_is_shown_again_and_again_in_a_terminal(place: Place, workspace: Path) -> None:
    watched(place, workspace, "http://127.0.0.1:1/", every="1h")
    outer, inner = pty.openpty()
    shown = subprocess.Popen(
        [sys.executable, "-m", "qbcd", "status", "--watch"],
        cwd=workspace,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=inner,
        stderr=inner,
        start_new_session=True,
    )
    os.close(inner)
    seen = ""

    def read() -> str:
        nonlocal seen
        while select.select([outer], [], [], 0.1)[0]:
            try:
                seen += os.read(outer, 65536).decode(errors="replace")
            except OSError:  # the other end is closed
                break
        return seen

    try:
        wait_until(lambda: "not prepared" in read() and "Ctrl-C ends it" in read(), timeout=PATIENCE)
        assert finished(spawn(workspace, "prepare"), PATIENCE).code == 0
        wait_until(lambda: re.search(r"well +\S*ok", read()) is not None, timeout=PATIENCE)
        shown.send_signal(signal.SIGINT)
        wait_until(lambda: read() is not None and shown.poll() is not None, timeout=PATIENCE)
        assert shown.returncode == 0
    finally:
        shown.kill()
        shown.wait()
        os.close(outer)
