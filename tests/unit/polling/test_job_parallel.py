"""Several polls of one source at the same time: no stream twice, none waits for a slow one, an orderly end."""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import timedelta

import pytest

from qbcd.config.cron import CronLine
from qbcd.errors import GuardTripped
from qbcd.polling import job, outcome, schedule
from qbcd.polling.job import JobEvents
from qbcd.polling.outcome import Outcome
from qbcd.polling.schedule import Schedule
from qbcd.stream import Report, Stream
from tests.unit.polling.test_job_sources import PATIENCE, URL, connect, listener, streams


class Counting:
    """A poll that counts how many run at the same time, and refuses to be the second one of a stream."""

    def __init__(self, wanted: int) -> None:
        self.now, self.most, self.polls, self.twice = Counter[str](), 0, Counter[str](), list[str]()
        self._lock, self._full, self._wanted = threading.Lock(), threading.Event(), wanted

    def __call__(self, stream: Stream, report: Report) -> None:
        with self._lock:
            self.now[stream.name] += 1
            self.polls[stream.name] += 1
            if self.now[stream.name] > 1:
                self.twice.append(stream.name)
            self.most = max(self.most, sum(self.now.values()))
            if self.most == self._wanted:
                self._full.set()
        assert self._full.wait(PATIENCE), f"never {self._wanted} polls at the same time"
        with self._lock:
            self.now[stream.name] -= 1


@pytest.mark.parametrize("once", [True, False])
def test_polls_run_side_by_side_and_no_stream_twice(once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    poll, stop = Counting(3), threading.Event()
    monkeypatch.setattr(outcome, "run_stream", poll)
    work = streams("abcdefg", "shop")
    for one in work:
        one.config.every = timedelta(milliseconds=1)  # type: ignore[misc]

    def seen(outcome: Outcome) -> None:
        if sum(poll.polls.values()) > 60:
            stop.set()

    events = JobEvents(seen, jobs=lambda source: 3)
    report = job.run_once(work, events, stop) if once else job.run_always(work, events, stop)
    assert (poll.most, poll.twice) == (3, [])
    assert {one.stream for one in report.outcomes} == set("abcdefg")
    assert poll.polls == Counter("abcdefg") if once else min(poll.polls.values()) > 3, "each has its turn"


def test_a_slow_stream_and_a_refused_one_delay_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, polls, release = threading.Event(), Counter[str](), threading.Event()

    def poll(stream: Stream, report: Report) -> None:
        polls[stream.name] += 1
        if polls["a"] > 1:  # a second poll of the stream: the test has failed
            stop.set()
            release.set()
        if stream.name == "a":
            assert release.wait(PATIENCE)
        if stream.name == "b":
            raise GuardTripped("too many deletes")
        if polls["c"] >= 5 and polls["d"] >= 5:
            stop.set()
            release.set()  # the step in hand is finished before the job ends

    monkeypatch.setattr(outcome, "run_stream", poll)
    work = streams("abcd", "shop")
    for one in work:
        one.config.every = timedelta(milliseconds=1)  # type: ignore[misc]
    report = job.run_always(work, JobEvents(jobs=lambda source: 2), stop)
    assert (polls["a"], polls["b"] >= 1) == (1, True)
    assert {one.stream for one in report.outcomes} == set("abcd")


def test_the_stream_that_waits_longest_is_polled_first(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule(streams("abc", "shop"))
    began = time.monotonic()
    for number, name in enumerate("cab"):
        schedule.polled(Outcome(name, Report(name)), began + number)
    assert schedule.due(began + 100) == ["c", "a", "b"]
    assert schedule.next_due(in_hand=["c"]) == began + 11.0


def test_a_source_that_is_down_has_one_error_for_all_polls_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "run_stream", connect)
    monkeypatch.setattr(schedule, "back_off", lambda failures: 0.0)
    stop, seen = threading.Event(), list[Outcome]()

    def note(outcome: Outcome) -> None:
        seen.append(outcome)
        if len(seen) >= 40:
            stop.set()

    with listener() as server:
        work = streams("abcde", "down", URL.format(port=server.port))
        job.run_always(work, JobEvents(note, jobs=lambda source: 3), stop)
        tried = [one for one in seen if not one.answered]
    assert {one.reached for one in seen} == {False}
    # in the first round three polls may try; then one finds out whether the source answers again
    assert len(tried) <= 2 + len(seen) / 5 + 1


def test_streams_can_be_added_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, polls = threading.Event(), Counter[str]()

    def poll(stream: Stream, report: Report) -> None:
        polls[stream.name] += 1
        if polls["c"] >= 2:
            stop.set()

    monkeypatch.setattr(outcome, "run_stream", poll)
    monkeypatch.setattr(job, "RENEW_S", 0.01)
    work = {one.name: one for one in streams("abc", "shop")}
    for one in work.values():
        one.config.every = timedelta(milliseconds=1)  # type: ignore[misc]
    later = {name: work[name] for name in "bc"}
    events = JobEvents(renew=lambda source, now: None if set(now) == set(later) or polls["a"] < 2 else later)
    job.run_always([work["a"], work["b"]], events, stop)
    assert polls["a"] == 2
    assert polls["b"] >= 2


def test_a_cron_line_is_polled_at_its_moments_and_again_soon_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qbcd.polling.schedule.time.time", lambda: 1_700_000_000.0)  # 22:13:20
    monkeypatch.setattr("qbcd.polling.schedule.time.monotonic", lambda: 1000.0)
    monkeypatch.setattr("qbcd.polling.schedule.random.uniform", lambda least, most: most)
    work = streams("a", "shop")
    work[0].config.every = CronLine.parse("20 22 * * *")  # type: ignore[misc]
    schedule = Schedule(work)
    assert schedule.next_due() == 1000.0 + 400
    failed = Outcome("a", None, GuardTripped("too many deletes"))
    schedule.polled(failed, 1000.0)
    assert schedule.next_due() == 1002.0
    schedule.polled(Outcome("a", Report("a")), 1000.0)
    assert schedule.next_due() == 1000.0 + 400
