"""Lines of `qbcd run`: results, recoveries and heartbeats, for people, as logs and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from qbcd.cli.output import Output
from qbcd.cli.run_lines import RunLines
from qbcd.errors import DeliveryError, LeaseHeld, QbcdError, SourceError
from qbcd.model import BatchHeader, Cost
from qbcd.polling.outcome import Outcome
from qbcd.stream import Report

EPOCH = 1795706452
TS = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
LONG = 10**9  # seconds


def output(**given: Any) -> Output:
    return Output(**{"config": Path("qbcd.yaml"), "verbose": False, "as_json": False, "progress": True, **given})


def lines_of(made: Output, heartbeat: float = LONG, *, once: bool = False, polls_too: bool = True) -> RunLines:
    return RunLines(made, once=once, polls_too=polls_too, heartbeat=heartbeat)


def header(seq: int, counts: dict[str, int]) -> BatchHeader:
    return BatchHeader(
        "orders", EPOCH, seq, 0, counts, (), "f", "shop", "t", "mds", "statement", ("id",), columns=(), location={}
    )


def polled(*counts: dict[str, int], stream: str = "orders", **more: Any) -> Outcome:
    headers = [header(number, one) for number, one in enumerate(counts, 3)]
    return Outcome(stream, Report(stream, headers, Cost(400, 2, 80, 8, 1, 0.5), **more))


def failed(error: QbcdError, stream: str = "orders") -> Outcome:
    error.stream = stream
    return Outcome(stream, None, error)


COSTS = "(scanned 400 rows · shipped 2 rows (80 B) · 1 of 8 ranges differs · 0.50 s · without Spark)"


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (polled({"c": 2, "u": 1}), f"orders: {EPOCH}/3: 2 inserts, 1 update {COSTS}"),
        (polled({"c": 2}, {"d": 1}), f"orders: {EPOCH}/3 to {EPOCH}/4: 2 inserts, 1 delete {COSTS}"),
        (polled(), f"orders: no change {COSTS}"),
        (polled(delivered=1), f"orders: no change, 1 earlier delivery made {COSTS}"),
        (failed(SourceError("is down", remedy="start it")), "error: stream orders: is down (start it)"),
    ],
)
def test_a_poll_is_one_line_where_nobody_watches(
    outcome: Outcome, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines_of(output(), once=True).add(outcome)
    assert capsys.readouterr() == ("", f"{said}\n")


def test_a_terminal_gets_lines_that_fit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    made = output(progress=False)
    for outcome in (polled({"c": 2, "u": 1}), polled()):
        lines_of(made).add(outcome)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().err).splitlines()
    costs = ["  scanned 400 rows · shipped 2 rows (80 B) · 1 of 8 ranges differs · 0.50 s", "  without Spark"]
    assert shown == [f"orders: {EPOCH}/3: 2 inserts, 1 update", *costs, "orders: no change", *costs]


def test_log_lines_have_time_level_and_stream(capsys: pytest.CaptureFixture[str]) -> None:
    made = output()
    made.log_lines(as_json=False)
    lines = lines_of(made)
    lines.add(polled({"c": 2}, warnings=["the table is wide\nand long"]))
    lines.add(polled())  # without changes
    lines.add(failed(SourceError("is down", remedy="start it")))
    lines.add(polled(failures={"lake": DeliveryError("sink lake: full", stream="orders")}))
    made.say("[bold]stopping[/]")
    said = capsys.readouterr().err.splitlines()
    assert [re.sub(f"^{TS}Z", "T", line) for line in said] == [
        "T WARNING orders the table is wide and long",
        f"T INFO    orders {EPOCH}/3: 2 inserts {COSTS}",
        "T ERROR   orders is down (start it)",
        "T ERROR   orders sink lake: full",
        "T INFO    - stopping",
    ]


def test_json_log_lines_have_the_numbers_of_the_poll(capsys: pytest.CaptureFixture[str]) -> None:
    made = output()
    made.log_lines(as_json=True)
    lines = lines_of(made)
    lines.add(polled({"c": 2}))
    lines.add(failed(SourceError("is down", remedy="start it")))
    found, error = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert re.fullmatch(rf"{TS}\.\d\d\dZ", found.pop("ts"))
    assert found == {
        "level": "info",
        "stream": "orders",
        "message": f"{EPOCH}/3: 2 inserts {COSTS}",
        "outcome": "ok",
        "epoch": EPOCH,
        "batch_seq": 3,
        "counts": {"c": 2},
        "delivered": 0,
        "cost": {
            "rows_scanned": 400,
            "rows_shipped": 2,
            "bytes_shipped": 80,
            "ranges": 8,
            "dirty": 1,
            "seconds": 0.5,
            "spark": False,
            "why_spark": "",
            "statements": 0,
            "round_trips": 0,
        },
    }
    wanted = ("error", "orders", "is down (start it)", "start it", "failed", 1)
    assert tuple(error[n] for n in ("level", "stream", "message", "remedy", "outcome", "exit_code")) == wanted


def test_the_first_success_after_failures_shows_their_duration(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("qbcd.cli.run_lines.time.time", lambda: now[0])
    lines = lines_of(output(), polls_too=False)
    for outcome in (
        failed(SourceError("is down")),
        polled(stream="other"),
        polled(failures={"lake": DeliveryError("full")}),
        failed(SourceError("is down")),
    ):
        lines.add(outcome)
        now[0] += 65
    capsys.readouterr()
    lines.add(polled())
    lines.add(polled())
    assert capsys.readouterr().err == "orders: recovered after 4 min and 3 failed polls\n"


def down(stream: str, *, answered: bool = False) -> Outcome:
    error = SourceError("source shop cannot be reached", remedy="start it")
    error.stream, error.source = stream, "shop"
    more = {"source": "shop", "reached": False, "answered": answered, "waiting": ("a", "b", "c", "d")}
    return Outcome(stream, None, error, **more)  # type: ignore[arg-type]


def up(stream: str, error: QbcdError | None = None) -> Outcome:
    return Outcome(stream, None if error else Report(stream), error, source="shop", reached=True)


def test_a_source_that_is_down_has_one_line_a_round_and_one_when_it_answers(capsys: pytest.CaptureFixture[str]) -> None:
    made = output()
    made.log_lines(as_json=False)
    lines = lines_of(made)
    lines.add(failed(SourceError("locked"), "c"))
    for _ in range(2):
        for number, name in enumerate("abcd"):
            lines.add(down(name, answered=number > 0))
    lines.add(up("b", SourceError("locked", stream="b")))
    for name in "abcd":
        lines.add(up(name))
    said = [line.partition(" ")[2] for line in capsys.readouterr().err.splitlines()]
    error = "ERROR   - streams a, b, c and 1 more: source shop cannot be reached (start it)"
    assert [re.sub("after [^a]* and", "after .. and", line) for line in said] == [
        "ERROR   c locked",
        error,
        error,
        "ERROR   b locked",
        "INFO    - source shop recovered after .. and 2 failed attempts",
        "INFO    b recovered after .. and 1 failed poll",
        "INFO    c recovered after .. and 1 failed poll",
    ]


@pytest.mark.parametrize("once", [False, True])
def test_a_stream_that_another_process_holds_is_busy(once: bool, capsys: pytest.CaptureFixture[str]) -> None:
    made = output()
    made.log_lines(as_json=False)
    lines = lines_of(made, once=once)
    for _ in range(2):
        lines.add(failed(LeaseHeld("process 7 on db1 works on this stream")))
    if not once:
        lines.add(polled())
    said = [line.partition(" ")[2] for line in capsys.readouterr().err.splitlines()]
    words = "orders process 7 on db1 works on this stream"
    assert said == ([f"ERROR   {words}"] * 2 if once else [f"INFO    {words.replace(' ', ' busy: ', 1)}"])


def test_times_without_changes_have_a_heartbeat(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qbcd.cli.run_lines.time.time", lambda: 1795701900.0)
    now = [0.0]
    monkeypatch.setattr("qbcd.cli.run_lines.time.monotonic", lambda: now[0])
    made = output()
    made.log_lines(as_json=False)
    lines = lines_of(made, heartbeat=10)
    for number in range(12):
        lines.add(polled(stream="abc"[number % 3]))
        now[0] += 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.partition(" ")[2] == "INFO    - 11 polls of 3 streams since 14:05Z, no change"
    lines.add(polled({"u": 1}))  # begins another time without changes
    now[0] += 9
    lines.add(polled())
    assert len(capsys.readouterr().err.splitlines()) == 1
    now[0] += 1
    lines.add(polled())
    assert "2 polls of 1 stream since 14:05Z" in capsys.readouterr().err


def test_polls_on_stdout_are_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(output(as_json=True), heartbeat=0, polls_too=False)
    lines.add(polled({"c": 2}))
    lines.add(polled())
    shown = capsys.readouterr()
    assert [json.loads(line)["outcome"] for line in shown.out.splitlines()] == ["ok", "empty"]
    assert shown.err == ""


def test_a_warning_that_polls_repeat_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(output())
    for warnings in (["n is new"], ["n is new"], [], ["n is new", "m is new"], ["m is new"]):
        lines.add(polled(warnings=warnings))
    said = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert said == [f"warning: stream orders: {name} is new" for name in "nnm"]
