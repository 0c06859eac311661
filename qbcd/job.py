"""The polling job: due streams, back-off after failures, an orderly end on request.

Each source has a thread of its own and a :class:`Schedule`, so that no source waits for another. A round is the due
polls of one source, one after another. If the source opens no session, the first attempt answers for all polls of the
round; then the source waits, and one attempt shows if it answers again.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Literal

from qbcd.catalog.source import Round
from qbcd.error_messages import one_message
from qbcd.errors import LeaseHeld, QbcdError, Refused
from qbcd.run import run_stream
from qbcd.side_by_side import side_by_side
from qbcd.state import Run
from qbcd.stream import Report, Stream

log = logging.getLogger("qbcd")
MAX_BACKOFF_S = 300.0
MOST_DOUBLINGS = 9  # 2 ** 9 s exceeds MAX_BACKOFF_S
LEAST_JITTER = 0.5  # of a wait: sources that were down together do not all get their pollers back at the same moment


@dataclass
class Outcome:
    """The outcome of one poll: a report, the error that ended it, or both.

    Report and error are both there if the poll found or delivered a batch before the error.

    Attributes:
        source: The stream's source.
        reached: True if the source opened a session, False if it opened none, None if none was needed.
        answered: An earlier connection of the same round failed, and no other was tried.
        waiting: All streams that wait for the source if it was not reached.
        run: The poll as in the history; None if another process worked on the stream.
        pending: By sink, the batches that wait for it after the poll; empty if the poll ended before its deliveries.
        attempts: By sink, the failed deliveries in a row of its next batch; empty as `pending`.
        epoch: UTC second of the stream's `prepare`; 0 if the poll did not read it.
    """

    stream: str
    report: Report | None = None
    error: QbcdError | None = None
    source: str = ""
    reached: bool | None = None
    answered: bool = False
    waiting: tuple[str, ...] = ()
    run: Run | None = None
    pending: Mapping[str, int] = field(default_factory=dict)
    attempts: Mapping[str, int] = field(default_factory=dict)
    epoch: int = 0

    @property
    def exit_code(self) -> int:
        """The exit code: 0 done, 1 failed (also a delivery), 3 refused, 2 configuration."""
        if self.error is not None:
            return self.error.exit_code
        failures = self.report.failures.values() if self.report is not None else ()
        return max((failure.exit_code for failure in failures), default=0)


@dataclass
class JobReport:
    """The outcomes of a job: of all polls with `once`, otherwise of each stream's last poll."""

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """The first of 3, 1, 2, 0 that occurred."""
        codes = {outcome.exit_code for outcome in self.outcomes}
        return next((code for code in (3, 1, 2) if code in codes), 0)


def poll(stream: Stream) -> Outcome:
    """Poll once and record it in the history; an error of qbcd is part of the outcome."""
    started, report = time.time(), Report(stream.name)
    outcome = Outcome(stream.name, report)
    try:
        with one_message(stream):
            run_stream(stream, report)
    except QbcdError as error:
        error.stream = error.stream or stream.name
        did = bool(report.headers or report.delivered or report.failures)
        outcome = Outcome(stream.name, report if did else None, error)
    outcome.run = _record(stream, outcome, report, started)
    outcome.pending, outcome.attempts, outcome.epoch = report.pending, report.attempts, report.epoch
    return outcome


def _record(stream: Stream, outcome: Outcome, report: Report, started: float) -> Run | None:
    """Add the poll to the history and return it. A failure is only logged: polls do not need the history.

    An attempt while another process works on the stream is not recorded: it shows nothing about the stream.
    """
    header, error = report.header, outcome.error
    if isinstance(error, LeaseHeld) and outcome.report is None:
        return None
    result: Literal["ok", "empty", "failed", "refused"] = "ok" if header else "empty"
    if error or report.failures:
        result = "refused" if isinstance(error, Refused) else "failed"
    messages = [*([str(error)] if error else map(str, report.failures.values())), *report.lifted]
    run = Run(
        stream.name,
        started,
        time.time(),
        result,
        epoch=header.epoch if header else 0,
        batch_seq=header.seq if header else 0,
        counts=report.counts,
        cost=asdict(report.cost),
        message="; ".join(messages),
    )
    try:
        stream.project.record_run(run, report.cost)
    except QbcdError as error:
        log.warning("stream %s: this poll is missing in the history: %s", stream.name, error)
    return run


def _reached_result(outcome: Outcome) -> bool:
    """Return True if the poll ended with a result.

    It has none if the source was unreachable or another process held the lease.
    """
    error = outcome.error
    return error is None or (isinstance(error, Refused) and not isinstance(error, LeaseHeld))


def back_off(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row: 2, 4, 8 .. 300, of which up to half are left out."""
    if not failures:
        return 0.0
    return min(MAX_BACKOFF_S, 2.0 ** min(failures, MOST_DOUBLINGS)) * random.uniform(LEAST_JITTER, 1.0)


class Schedule:
    """The streams of one source: due times, and back-off of each stream and of the source.

    It does no work, so it does not matter which thread polls. Times are those of the monotonic clock.
    """

    def __init__(self, streams: Sequence[Stream]) -> None:
        self.streams = {stream.name: stream for stream in streams}
        self._due = dict.fromkeys(self.streams, 0.0)
        self._failures = dict.fromkeys(self.streams, 0)
        self._source_due, self._source_failures = 0.0, 0

    def next_due(self) -> float:
        """Return the time of the next round."""
        return max(self._source_due, min(self._due.values()))

    def due(self, now: float) -> list[str]:
        """Return the streams that are due, the longest due first."""
        return sorted((name for name, at in self._due.items() if at <= now), key=self._due.__getitem__)

    def polled(self, outcome: Outcome, began: float) -> None:
        """Set the stream's next poll.

        After each failure a stream waits twice as long as before, and at least its interval. A stream whose source was
        not reached stays due. A source that answers again makes streams due that failed meanwhile.
        """
        name, now = outcome.stream, time.monotonic()
        if outcome.reached is False:
            return
        if outcome.reached and self._source_failures:
            self._source_failures = 0
            for failed in (one for one, failures in self._failures.items() if failures):
                self._due[failed] = min(self._due[failed], now)
        busy = isinstance(outcome.error, LeaseHeld)
        self._failures[name] = self._failures[name] + 1 if outcome.error and not busy else 0
        every = self.streams[name].config.every.total_seconds()
        # Intervals count from the start of a poll; polls do not accumulate behind a slow one.
        self._due[name] = max(began + max(every, back_off(self._failures[name])), now)

    def ended(self, polls: Round) -> None:
        """End a round: if a connection failed, the whole source waits."""
        if polls.failed is not None:
            self._source_failures += 1
            self._source_due = time.monotonic() + back_off(self._source_failures)


@dataclass
class JobEvents:
    """The callbacks of a job.

    Attributes:
        on_outcome: Called after every poll, one call at a time; from the thread of the stream's source.
        refresh: Updates a stream before each of its polls.
        then: Called after `on_outcome`, while other sources go on; may take long.
    """

    on_outcome: Callable[[Outcome], None] = lambda outcome: None
    refresh: Callable[[Stream], Stream] = lambda stream: stream
    then: Callable[[Outcome], None] = lambda outcome: None


class _Polls:
    """The polls of one job, by the threads of its sources."""

    def __init__(self, events: JobEvents, stop: threading.Event) -> None:
        self._events, self._stop = events, stop
        self._lock = threading.Lock()

    def once(self, streams: Sequence[Stream], outcomes: dict[int, Outcome], places: Sequence[int]) -> None:
        """Poll each stream of a source once, in one round."""
        polls, siblings = Round(), tuple(stream.name for stream in streams)
        for place, stream in zip(places, streams, strict=True):
            if self._stop.is_set():
                return
            _, outcomes[place] = self._poll(stream, polls, siblings)

    def always(self, schedule: Schedule, last: dict[str, Outcome]) -> None:
        """Poll the streams of a source in rounds until the job is to stop."""
        siblings = tuple(schedule.streams)
        while not self._stop.is_set():
            until = schedule.next_due()
            if self._stop.wait(max(0.0, until - time.monotonic())):
                return
            polls = Round()
            for name in schedule.due(max(until, time.monotonic())):
                if self._stop.is_set():
                    return
                began = time.monotonic()
                stream, outcome = self._poll(schedule.streams[name], polls, siblings)
                last[name] = outcome
                if _reached_result(outcome):  # a confirmation lifts a refusal for one poll only
                    once = replace(stream.settings, accept_deletes=False, accept_source=False)
                    stream = replace(stream, settings=once)
                schedule.streams[name] = stream
                schedule.polled(outcome, began)
                self._events.then(outcome)
            schedule.ended(polls)

    def _poll(self, stream: Stream, polls: Round, siblings: tuple[str, ...]) -> tuple[Stream, Outcome]:
        """Return the stream as it was polled, and the outcome."""
        answered, opened = polls.failed is not None, polls.opened
        with stream.source.within(polls):
            with suppress(QbcdError):  # errors of the stores: the poll gets and reports the same error
                stream = self._events.refresh(stream)
            outcome = poll(stream)
        outcome.source, outcome.answered = stream.source.name, answered
        if outcome.error is not None and outcome.error.source == outcome.source:
            outcome.reached, outcome.waiting = False, siblings
        elif polls.opened > opened:
            outcome.reached = True
        with self._lock:
            self._events.on_outcome(outcome)
        return stream, outcome


def run_once(streams: Sequence[Stream], events: JobEvents, stop: threading.Event) -> JobReport:
    """Poll each stream once; those of one source in order. A failed stream does not stop the others."""
    polls, outcomes = _Polls(events, stop), dict[int, Outcome]()
    works = [
        partial(polls.once, [streams[place] for place in places], outcomes, places)
        for places in _by_source(streams).values()
    ]
    side_by_side(works, stop.set)
    return JobReport([outcomes[place] for place in sorted(outcomes)])


def run_always(streams: Sequence[Stream], events: JobEvents, stop: threading.Event) -> JobReport:
    """Poll each stream at its interval until `stop` is set; the current step is finished first.

    If only a sink fails, stream and sink are tried again at the stream's interval, so that its other sinks do not wait.

    Args:
        streams: The streams, as they were when the job began.
        events: What the job calls.
        stop: Set it to end the job; an exception of a callback sets it too.
    """
    polls, last = _Polls(events, stop), dict[str, Outcome]()
    works = [
        partial(polls.always, Schedule([streams[place] for place in places]), last)
        for places in _by_source(streams).values()
    ]
    side_by_side(works, stop.set)
    return JobReport([last[name] for name in dict.fromkeys(stream.name for stream in streams) if name in last])


def _by_source(streams: Sequence[Stream]) -> dict[str, list[int]]:
    """Return the places of each source's streams."""
    groups: dict[str, list[int]] = {}
    for place, stream in enumerate(streams):
        groups.setdefault(stream.source.name, []).append(place)
    return groups
