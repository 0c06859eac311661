"""States of streams in one line each, and in one word."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qbcd.cli.output import Output
from qbcd.cli.status import _is_unhealthy, _show_lines
from qbcd.errors import SourceError
from qbcd.model import BatchHeader
from qbcd.state import Run
from qbcd.status import StreamStatus, status_data

EPOCH = 1795706452
LONG = "invoices_of_customers_of_the_northern_region"


def status(name: str, outcome: Any = "ok", **more: Any) -> StreamStatus:
    now = time.time()
    given = {
        "prepared": True,
        "lag": 12.0,
        "last_batch": header(17),
        "last_poll": Run(name, now - 13, now - 12, outcome),
    }
    return StreamStatus(name, "id_rcs", timedelta(seconds=30), **{**given, **more})


def header(seq: int) -> BatchHeader:
    return BatchHeader(
        "s", EPOCH, seq, 0, {"c": 1}, (), "f", "shop", "t", "mds", "statement", ("id",), columns=(), location={}
    )


def streams() -> list[StreamStatus]:
    """Return streams in every state; their ages count from this call."""
    return [
        status("orders"),
        status("late", lag=91.0),
        status("not late", lag=90.0),
        status("broken", "failed", pending={"lake": 2, "changes": 12345}),
        status("guarded", "refused", polling=True),
        status("busy", polling=True, polling_since=EPOCH),
        status("older", polling=True),
        status("new", prepared=False, lag=None, last_batch=None, last_poll=None),
        status(
            "starting", prepared=False, lag=None, last_batch=None, last_poll=None, polling=True, polling_since=EPOCH
        ),
        status("away", failed=SourceError("cannot be reached"), lag=None, last_batch=None),
        status(f"{LONG}_1", last_batch=header(123_456)),
        status(f"{LONG}_2"),
    ]


BATCH = f"{EPOCH}/17"
LINES = [
    ("stream", "state", "last poll", "last batch", "lag", "waiting"),
    ("orders", "ok", "12 s ago", BATCH, "12 s", "0"),
    ("late", "late", "12 s ago", BATCH, "1 min", "0"),
    ("not late", "ok", "12 s ago", BATCH, "1 min", "0"),
    ("broken", "failed", "12 s ago", BATCH, "12 s", "12,345"),
    ("guarded", "refused", "polling now", BATCH, "12 s", "0"),
    ("busy", "polling", "since 15:20Z", BATCH, "12 s", "0"),
    ("older", "polling", "now", BATCH, "12 s", "0"),
    ("new", "not prepared", "-", "-", "-", "-"),
    ("starting", "preparing", "since 15:20Z", "-", "-", "-"),
    ("away", "error", "12 s ago", "-", "-", "0"),
]


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    _show_lines(Output(config=Path("qbcd.yaml"), verbose=False, as_json=False, progress=False), streams())
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()


def test_one_line_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys)
    assert [tuple(re.split(r"  +", line)) for line in lines[: len(LINES)]] == LINES
    assert [line.partition(" ")[0] for line in lines[len(LINES) :]] == [f"{LONG}_1", f"{LONG}_2"]


def test_on_a_terminal_long_names_are_shortened_in_their_middle(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    lines = shown(capsys)
    assert len(lines) == len(streams()) + 1
    assert max(map(len, lines)) == 80
    assert [line.partition(" ")[0] for line in lines[-2:]] == ["invoices…region_1", "invoices…region_2"]


def test_the_state_is_part_of_json() -> None:
    found = {one.stream: status_data(one) for one in streams()}
    assert [found[s]["state"] for s in ("orders", "late", "broken", "guarded", "new", "away")] == [
        "ok",
        "late",
        "failed",
        "refused",
        "not prepared",
        "error",
    ]
    assert (found["busy"]["polling"], found["busy"]["polling_since"]) == (True, EPOCH)
    assert (found["orders"]["polling"], found["orders"]["polling_since"]) == (False, None)


def test_an_error_of_several_streams_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    away = "source shop cannot be reached (start it)"
    found = [
        status("a", failed=SourceError("away"), error=f"stream a: {away}"),
        status("lake", "failed", error=f"stream lake: {away}"),
        status("own", "failed", error="stream own: locked"),
    ]
    _show_lines(Output(config=Path("qbcd.yaml"), verbose=False, as_json=False, progress=False), found)
    assert capsys.readouterr().err.splitlines() == [f"error: streams a, lake: {away}", "error: stream own: locked"]


@pytest.mark.parametrize(
    ("more", "healthy"),
    [
        ({}, True),
        ({"lag": 91.0}, False),
        ({"prepared": False}, False),
        ({"prepared": False, "polling": True}, True),
        ({"failed": SourceError("away")}, False),
    ],
)
def test_health(more: dict[str, Any], healthy: bool) -> None:
    assert _is_unhealthy(status("orders", **more)) is not healthy
