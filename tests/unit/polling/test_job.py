"""The polling loop: effects of a failure of one stream or sink on all streams."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.engine import make_url
from typing_extensions import override

from qbcd.catalog.source import Source
from qbcd.connectors import connector_for
from qbcd.errors import ConfigError, DeliveryError, GuardTripped, LeaseHeld, QbcdError, SourceError
from qbcd.polling import job, outcome, schedule
from qbcd.polling.job import JobEvents
from qbcd.polling.outcome import JobReport, Outcome
from qbcd.sites import Settings
from qbcd.state import Run
from qbcd.stream import Report, Stream

EVERY = 10.0  # seconds


class PollLimit(threading.Event):
    """A stop event that is set after some polls; it records wait times and does not wait."""

    def __init__(self, polls: int) -> None:
        super().__init__()
        self.left, self.waited = polls, list[float]()

    @override
    def wait(self, timeout: float | None = None) -> bool:
        self.waited.append(timeout or 0.0)
        return self.is_set()

    def count(self, outcome: Outcome) -> None:
        """Count a poll."""
        self.left -= 1
        if self.left == 0:
            self.set()


class History:
    """A project's state that records polls and does nothing else."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    def record_run(self, run: Run) -> None:
        """See :class:`~qbcd.state.ProjectState`."""
        self.runs.append(run)


def stream(name: str, history: History, of: str = "shop", **settings: Any) -> Stream:
    table = {"query": "", "table_schema": "", "table_name": name}
    config: Any = SimpleNamespace(name=name, every=timedelta(seconds=EVERY), **table)
    nothing: Any = None
    url = make_url("postgresql://reader@127.0.0.1/shop")
    source = Source(of, url, connector_for(url), "qbcd")
    made = Settings(config, **settings)
    return Stream(config, source, nothing, history, {}, made)  # type: ignore[arg-type]


def polled(
    monkeypatch: pytest.MonkeyPatch, poll: Callable[[Stream, Report], None], polls: int, *streams: Stream
) -> PollLimit:
    """Run the loop over `streams` until the given number of polls; return the wait times."""
    monkeypatch.setattr(outcome, "run_stream", poll)
    limit = PollLimit(polls)
    job.run_always(streams, JobEvents(limit.count), limit)
    return limit


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device", "/data/x"), "/data/x: No space left on device (check the workdir's"),
        (ZeroDivisionError("by zero"), "unexpected ZeroDivisionError: by zero (run with -v for the traceback)"),
    ],
)
def test_one_stream_ends_no_other(error: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History()

    def poll(one: Stream, report: Report) -> None:
        if one.name == "b":
            raise error

    polled(monkeypatch, poll, 6, *(stream(name, history) for name in "abc"))
    assert {run.stream for run in history.runs} == {"a", "b", "c"}
    for run in history.runs:
        assert run.outcome == ("failed" if run.stream == "b" else "empty")
        assert said in run.message or run.stream != "b"


def test_a_stream_that_fails_waits_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def poll(one: Stream, report: Report) -> None:
        raise SourceError("down")

    monkeypatch.setattr("qbcd.polling.schedule.random.uniform", lambda least, most: most)
    waited = polled(monkeypatch, poll, 8, stream("a", History())).waited
    assert waited[3] <= EVERY < waited[4] < waited[6]


def test_a_stream_that_fails_for_weeks_is_still_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def poll(one: Stream, report: Report) -> None:
        raise SourceError("down")

    waited = polled(monkeypatch, poll, 1100, stream("a", History())).waited
    assert schedule.LEAST_JITTER * schedule.MAX_BACKOFF_S - 1 <= waited[-1] <= schedule.MAX_BACKOFF_S


def test_a_stream_is_rebuilt_before_each_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a lifted guard stays lifted while the stream is rebuilt before each poll.

    A state database that fails once does not end the job.
    """
    limit, history, made = PollLimit(4), History(), list[bool]()

    def renewed(one: Stream) -> Stream:
        if len(made) == 1:
            made.append(False)
            raise SourceError("locked")
        made.append(one.settings.accept_deletes)
        return replace(one, guessed=True)

    monkeypatch.setattr(outcome, "run_stream", lambda one, report: None)
    job.run_always([stream("a", history, accept_deletes=True)], JobEvents(limit.count, renewed), limit)
    assert made == [True, False, False, False]
    assert len(history.runs) == 4


def test_a_sink_that_fails_slows_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    history = History()

    def poll(one: Stream, report: Report) -> None:
        report.failures = {"lake": DeliveryError("full")}

    waited = polled(monkeypatch, poll, 12, stream("a", history)).waited
    assert max(waited) <= EVERY
    assert {run.outcome for run in history.runs} == {"failed"}


@pytest.mark.parametrize("judged", [None, GuardTripped("too many deletes")])
def test_a_lifted_guard_holds_for_the_first_poll_that_completes(
    judged: QbcdError | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused poll counts too: the user has not seen its changes when lifting the guard."""
    seen: list[tuple[bool, bool]] = []

    def poll(one: Stream, report: Report) -> None:
        seen.append((one.settings.accept_deletes, one.settings.accept_source))
        errors = [SourceError("down"), LeaseHeld("another process"), judged]
        error = errors[len(seen) - 1] if len(seen) <= len(errors) else None
        if error is not None:
            raise error

    polled(monkeypatch, poll, 4, stream("a", History(), accept_deletes=True, accept_source=True))
    assert seen == [(True, True), (True, True), (True, True), (False, False)]


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ([], 0),
        ([ConfigError("a")], 2),
        ([ConfigError("a"), SourceError("down")], 1),
        ([SourceError("down"), GuardTripped("too many deletes"), ConfigError("a")], 3),
    ],
)
def test_the_exit_code_of_a_job_is_the_worst(errors: list[QbcdError], code: int) -> None:
    outcomes = [Outcome("ok", Report("ok")), *(Outcome("s", error=error) for error in errors)]
    assert JobReport(outcomes).exit_code == code
