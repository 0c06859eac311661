"""Figures in readable form; results unchanged."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from pathlib import Path

import pytest
from rich.markup import escape

from qbcd.cli import formatting
from qbcd.cli.output import Output, worst
from qbcd.cli.status import _errors, _messages
from qbcd.model import Cost
from qbcd.state import DeliveryFailure, Run
from qbcd.status import StreamStatus, status_data


def test_events() -> None:
    assert formatting.events({"u": 1200, "c": 1, "d": 0}) == "1 insert, 1,200 updates"
    assert formatting.events({"r": 2}) == "2 baseline rows"
    assert formatting.events({}) == "no change"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"), (2.5e12, "2,500.0 GB")],
)
def test_size(number: int, text: str) -> None:
    assert formatting.size(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0 s"), (59.9, "59 s"), (60, "1 min"), (3600, "1 h"), (86_399, "23 h"), (86_400, "1 d")]
)
def test_age(seconds: float, text: str) -> None:
    assert formatting.age(seconds) == text


def test_the_problem_of_a_stream_is_reported_once() -> None:
    ago = time.time() - 65
    full = DeliveryFailure(ago, "sink changes: No space left on device: /out", 3)
    down = DeliveryFailure(ago, "sink lake: it is down", 1)
    last_poll = f"stream s: {full.message} (make room)"

    def problems(error: str, **failures: DeliveryFailure) -> list[str]:
        one = StreamStatus("s", "mds", timedelta(minutes=5))
        one.error, one.failures = error, failures
        return list(_errors(one))

    assert problems(last_poll, changes=full, lake=down) == [
        f"{last_poll}; 3 attempts, last 1 min ago",
        "stream s: sink lake: it is down (1 attempt, last 1 min ago)",
    ]
    both = f"{last_poll}; stream s: {down.message}"
    assert problems(both, changes=full, lake=down) == [
        f"{both}; changes: 3 attempts, last 1 min ago; lake: 1 attempt, last 1 min ago"
    ]
    assert problems("no route", lake=down) == [
        "stream s: no route",
        "stream s: sink lake: it is down (1 attempt, last 1 min ago)",
    ]
    assert problems("", lake=down) == ["stream s: sink lake: it is down (1 attempt, last 1 min ago)"]
    assert problems("") == []


def test_messages_that_an_earlier_version_stored_are_found_in_a_status() -> None:
    one = StreamStatus("s", "mds", timedelta(minutes=5))
    assert [(name, holder[name]) for holder, name in _messages(status_data(one))] == [("error", "")]
    one.last_poll = Run("s", 1.0, 2.0, "failed", message="of the poll")
    one.error, one.failures = "of the stream", {"lake": DeliveryFailure(1.0, "of the sink", 1)}
    assert [holder[name] for holder, name in _messages(status_data(one))] == [
        "of the stream",
        "of the poll",
        "of the sink",
    ]


def test_cost() -> None:
    spent = Cost(336_776, 2000, 81_000, 169, 3, 12.345, spark=True)
    assert formatting.cost(spent) == (
        "scanned 336,776 rows · shipped 2,000 rows (81.0 kB) · 3 of 169 ranges differ · 12.3 s · with Spark"
    )
    assert formatting.cost(Cost(1, seconds=0.016)) == "scanned 1 row · shipped nothing · 0.02 s · without Spark"


@pytest.mark.parametrize(
    ("codes", "code"), [([], 0), ([0, 0], 0), ([0, 2], 2), ([2, 1], 1), ([1, 3, 2], 3), ([0, 4], 4)]
)
def test_worst_exit_code(codes: list[int], code: int) -> None:
    assert worst(codes) == code


def test_results_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Rich reads ``:name:`` as an emoji, a tab as blanks and ``[b]`` as bold, also in cells."""
    output = Output(config=Path("qbcd.yaml"), verbose=False, as_json=True, progress=False)
    value = {"v": "a :warning: b", "ratio": "1:100:5 :id:", "markup": "[b]x[/b]", "tab": "x\ty"}
    output.data(value)
    output.text("a\tb :id: [b]")
    output.show(escape("key a:id:b [b]"))
    assert capsys.readouterr().out == f"{json.dumps(value)}\na\tb :id: [b]\nkey a:id:b [b]\n"
