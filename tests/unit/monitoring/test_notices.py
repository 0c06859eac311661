"""Changes of state of streams: one notice per change, none per poll; a source that is down has one for all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from qbcd.config.masking import Masking
from qbcd.errors import DeliveryError, GuardTripped, LeaseHeld, QbcdError, SchemaChanged, SourceError
from qbcd.monitoring.notices import Notice, States
from qbcd.polling.outcome import Outcome
from qbcd.state import Run
from qbcd.stream import Report

SECRET = "c4n4ry-Zz9%hook"
ERRORS: Mapping[str, QbcdError] = {
    "refused": GuardTripped("deletes", remedy="look"),
    "schema": SchemaChanged("column gone", remedy="reset"),
    "down": SourceError("unreachable"),
}


def states(*names: str, **recorded: str) -> States:
    """Return the states of streams of one source; the history has the outcomes `recorded`."""

    def runs(stream: str, n: int = 20) -> list[Run]:
        return [Run(stream, 1, 2, recorded[stream])] if stream in recorded else []  # type: ignore[arg-type]

    streams: list[Any] = [
        SimpleNamespace(name=name, source=SimpleNamespace(name="shop"), project=SimpleNamespace(runs=runs))
        for name in names
    ]
    return States(streams)


def polled(what: str, stream: str, at: float, waiting: tuple[str, ...]) -> Outcome:
    """Return the outcome of a poll: ok, empty, busy, a failed sink, an error, or a source that is down for all."""
    if what == "busy":
        return Outcome(stream, None, LeaseHeld("busy"), "shop")
    word = {
        "schema": "refused",
        "sink": "failed",
        "down": "failed",
        "source": "failed",
        "back": "ok",
        "hurt": "failed",
    }.get(what, what)
    run = Run(stream, at - 1, at, word)  # type: ignore[arg-type]
    report = Report(stream, failures={"lake": DeliveryError("full")} if what == "sink" else {})
    outcome = Outcome(stream, report, ERRORS.get("down" if what == "source" else what), "shop", run=run)
    if what == "source":
        outcome.reached, outcome.waiting = False, waiting
    elif what in ("back", "hurt"):  # the source answers; then a sink fails
        outcome.reached = True
    return outcome


@pytest.mark.parametrize(
    ("polls", "said"),
    [
        ("ok empty ok busy ok", ""),
        ("refused refused busy refused", "refused:ok"),
        ("refused empty ok", "refused:ok recovered:refused"),
        ("down down sink", "failed:ok"),  # one state, whatever the error
        ("sink refused down ok", "failed:ok refused:failed failed:refused recovered:failed"),
        ("schema schema ok", "schema_changed:ok recovered:refused"),
        ("refused schema", "refused:ok"),  # still refused
    ],
)
def test_one_notice_per_change(polls: str, said: str) -> None:
    made = states("a")
    found = [n for at, what in enumerate(polls.split()) for n in made.add(polled(what, "a", at, ("a",)))]
    assert " ".join(f"{one.event}:{one.previous}" for one in found) == said


def test_a_change_that_a_poll_applies_is_no_change_of_state() -> None:
    made, found = states("a"), list[Notice]()
    for at, what in enumerate(("ok", "refused", "sink", "ok")):
        outcome = polled(what, "a", at, ())
        assert outcome.report is not None
        outcome.report.change = "column n is captured from now on"
        found += made.add(outcome)
    assert [(one.event, one.previous, one.outcome) for one in found] == [
        ("schema_changed", "ok", "ok"),
        ("refused", "ok", "refused"),  # a refused poll applies nothing
        ("schema_changed", "failed", "failed"),
        ("failed", "refused", "failed"),
        ("schema_changed", "ok", "ok"),
        ("recovered", "failed", "ok"),
    ]
    data = found[0].data(Masking())
    assert (data["what"], data["error_type"]) == ("column n is captured from now on", None)
    assert data["text"] == "qbcd: stream a schema changed: column n is captured from now on"


def test_a_change_that_is_only_reported_has_one_notice() -> None:
    made, found = states("a"), list[Notice]()
    for at, uncaptured in enumerate(([], ["n was added"], ["n was added"], ["n was added", "m was added"], [], ["m"])):
        outcome = polled("empty", "a", at, ())
        assert outcome.report is not None
        outcome.report.uncaptured = uncaptured
        found += made.add(outcome)
    assert [(one.event, one.change, one.outcome) for one in found] == [
        ("schema_changed", change, "ok") for change in ("n was added", "m was added", "m")
    ]


@pytest.mark.parametrize(
    ("recorded", "what", "said"),
    [
        ("refused", "refused", []),
        ("refused", "ok", ["recovered"]),
        ("failed", "schema", ["schema_changed"]),
        ("empty", "ok", []),
    ],
)
def test_the_history_is_the_state_before(recorded: str, what: str, said: list[str]) -> None:
    made = states("a", a=recorded)
    found = list(made.add(polled(what, "a", 9, ("a",))))
    assert [one.event for one in found] == said
    assert all(one.lasted is None for one in found)  # another process saw it begin


@pytest.mark.parametrize(
    ("polls", "said"),
    [
        ("source:a source:b source:c source:a", ["failed a b c"]),
        ("source:a back:b ok:a ok:c", ["failed a b c", "recovered a b c"]),
        ("refused:b source:a source:b back:a refused:b", ["refused b", "failed a c", "recovered a c"]),
        ("source:a back:a refused:b ok:c", ["failed a b c", "recovered a b c", "refused b"]),
        ("source:a sink:a", ["failed a b c"]),
        ("source:a hurt:b", ["failed a b c", "recovered a c"]),
        ("source:a back:b sink:a", ["failed a b c", "recovered a b c", "failed a"]),
    ],
)
def test_a_source_that_is_down_has_one_notice(polls: str, said: list[str]) -> None:
    made, found = states("a", "b", "c"), list[Notice]()
    for at, (what, stream) in enumerate(one.split(":") for one in polls.split()):
        found += made.add(polled(what, stream, at, ("a", "b", "c")))
    assert [f"{one.event} {' '.join(one.streams)}" for one in found] == said


def test_a_notice_as_json_has_what_a_person_needs_and_no_secret() -> None:
    made = states("a")
    list(made.add(polled("ok", "a", 1_795_770_000, ())))
    outcome = polled("refused", "a", 1_795_770_060, ())
    outcome.error = GuardTripped(f"password={SECRET} deletes", remedy=f"ask {SECRET}", stream="a")
    [notice] = made.add(outcome)
    data = notice.data(Masking([SECRET]))
    assert SECRET not in json.dumps(data)
    assert data == {
        "version": 1,
        "event": "refused",
        "at": "2026-11-27T09:01:00.000+00:00",
        "source": "shop",
        "stream": "a",
        "streams": ["a"],
        "previous": "ok",
        "outcome": "refused",
        "lasted_seconds": None,
        "error_type": "GuardTripped",
        "exit_code": 3,
        "what": "password=*** deletes",
        "remedy": "ask ***",
        "sinks": {},
        "text": "qbcd: stream a refused: password=*** deletes (ask ***)",
    }
    [notice] = made.add(polled("sink", "a", 1_795_770_090, ()))
    data = notice.data(Masking())
    assert (data["lasted_seconds"], data["error_type"], data["sinks"]) == (30, "DeliveryError", {"lake": "full"})
