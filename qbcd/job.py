"""The polling job: due streams, back-off after failures, an orderly end on request.

Each source has threads of its own and a :class:`Schedule`, so that no source waits for another. A round is the due
polls of one source, which its threads take one by one, the longest due first. If the source opens no session, the first
attempt answers for all polls of the round; then the source waits, and one attempt shows if it answers again.
"""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Literal

from qbcd.catalog.source import Round
from qbcd.config.cron import CronLine
from qbcd.error_messages import one_message
from qbcd.errors import LeaseHeld, QbcdError, Refused
from qbcd.run import run_stream
from qbcd.side_by_side import side_by_side
from qbcd.state import UNCAPTURED, Run
from qbcd.stream import Report, Stream

log = logging.getLogger("qbcd")
MAX_BACKOFF_S = 300.0
MOST_DOUBLINGS = 9  # 2 ** 9 s exceeds MAX_BACKOFF_S
IDLE_S = 0.5  # seconds after which a thread looks again if another one has made streams due
RENEW_S = 15.0  # seconds after which a thread asks for other streams
REST_S = 5.0  # seconds without a poll for which a source's sessions are not kept
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
        return self.report.exit_code if self.report is not None else 0


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
        cost={**asdict(report.cost), **({UNCAPTURED: list(report.uncaptured)} if report.uncaptured else {})},
        message="; ".join(messages),
    )
    try:
        stream.project.record_run(run)
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
        self.streams: dict[str, Stream] = {}
        self._due: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._source_due, self._source_failures = 0.0, 0
        self.keep({stream.name: stream for stream in streams})

    def keep(self, streams: Mapping[str, Stream]) -> None:
        """Poll these streams from now on: new ones are due at once, or at the next moment of their cron line."""
        self.streams = dict(streams)
        self._due = {name: self._due.get(name, _first_due(stream)) for name, stream in streams.items()}
        self._failures = {name: self._failures.get(name, 0) for name in streams}

    @property
    def is_source_down(self) -> bool:
        """True if the last attempt to reach the source failed."""
        return self._source_failures > 0

    def next_due(self, in_hand: Collection[str] = ()) -> float:
        """Return the time of the next round; streams `in_hand` are being polled."""
        waiting = (at for name, at in self._due.items() if name not in in_hand)
        return max(self._source_due, min(waiting, default=time.monotonic() + MAX_BACKOFF_S))

    def due(self, now: float) -> list[str]:
        """Return the streams that are due, the longest due first."""
        return sorted((name for name, at in self._due.items() if at <= now), key=self._due.__getitem__)

    def polled(self, outcome: Outcome, began: float) -> None:
        """Set the stream's next poll.

        After each failure a stream waits twice as long as before, and at least its interval. A stream whose source was
        not reached stays due. A source that answers again makes streams due that failed meanwhile.
        """
        name, now = outcome.stream, time.monotonic()
        if outcome.reached is False or name not in self.streams:
            return
        if outcome.reached and self._source_failures:
            self._source_failures = 0
            for failed in (one for one, failures in self._failures.items() if failures):
                self._due[failed] = min(self._due[failed], now)
        busy = isinstance(outcome.error, LeaseHeld)
        self._failures[name] = self._failures[name] + 1 if outcome.error and not busy else 0
        every, wait = self.streams[name].config.every, back_off(self._failures[name])
        if isinstance(every, CronLine):  # a failed poll is tried again before the line's next moment
            following = _next_moment(every, now)
            self._due[name] = min(following, now + wait) if wait else following
            return
        # Intervals count from the start of a poll; polls do not accumulate behind a slow one.
        self._due[name] = max(began + max(every.total_seconds(), wait), now)

    def ended(self, polls: Round) -> None:
        """End a round: if a connection failed, the whole source waits."""
        if polls.failed is not None:
            self._source_failures += 1
            self._source_due = time.monotonic() + back_off(self._source_failures)


def _first_due(stream: Stream) -> float:
    every = stream.config.every
    return _next_moment(every, time.monotonic()) if isinstance(every, CronLine) else 0.0


def _next_moment(line: CronLine, now: float) -> float:
    """Return the next moment of a cron line by the monotonic clock, which is at `now`."""
    wall = time.time()
    return now + line.next_after(wall) - wall


@dataclass
class JobEvents:
    """The callbacks of a job.

    Attributes:
        on_outcome: Called after every poll, one call at a time; from a thread of the stream's source.
        refresh: Updates a stream before each of its polls.
        then: Called after `on_outcome`, while other polls go on; may take long.
        renew: Called now and then with a source and its streams by name; returns those to poll from now on, or None for
            the same. None if no stream can be added.
        jobs: Returns how many streams of a source are polled at the same time.
    """

    on_outcome: Callable[[Outcome], None] = lambda outcome: None
    refresh: Callable[[Stream], Stream] = lambda stream: stream
    then: Callable[[Outcome], None] = lambda outcome: None
    renew: Callable[[str, Mapping[str, Stream]], Mapping[str, Stream] | None] | None = None
    jobs: Callable[[str], int] = lambda source: 1


class _SourcePolls:
    """The polls of one source, which its threads take one by one.

    Args:
        name: The source.
        schedule: Its streams.
        events: What the job calls.
        stop: Set once the job is to end.
    """

    def __init__(self, name: str, schedule: Schedule, events: JobEvents, stop: threading.Event) -> None:
        self.schedule, self.jobs = schedule, events.jobs(name)
        self._name, self._events, self._stop = name, events, stop
        longest = [*([IDLE_S] if self.jobs > 1 else ()), *([RENEW_S] if events.renew else ())]
        self._longest_wait = min(longest, default=math.inf)
        self._lock = threading.Lock()
        self._queue: list[str] = []  # due streams of the round that no thread has taken yet
        self._round = Round()
        self._in_hand: dict[str, Round] = {}  # by stream that is being polled, its round

    def take(self) -> tuple[str, Round] | None:
        """Wait for the next due stream, and return it with its round; None once the job is to end."""
        while not self._stop.is_set():
            with self._lock:
                if self._queue and not self._waits_for_first():
                    name = self._queue.pop(0)
                    self._in_hand[name] = self._round
                    return name, self._round
                now = time.monotonic()
                until = now + IDLE_S if self._queue else self.schedule.next_due(self._in_hand)
                until = min(until, now + self._longest_wait)
            if until - now > REST_S:
                self._rest()
            if self._stop.wait(max(0.0, until - now)):
                return None
            self._renew()
            with self._lock:
                self._begin(max(until, time.monotonic()))
        return None

    def _rest(self) -> None:
        """End the sessions that the source's streams share: none of them is due for some time."""
        for stream in list(self.schedule.streams.values())[:1]:
            stream.source.rest()

    def _begin(self, now: float) -> None:
        """Begin a round of the streams that are due, unless one is in progress or the source waits."""
        if not self._queue and self.schedule.next_due(self._in_hand) <= now:
            self._queue = [name for name in self.schedule.due(now) if name not in self._in_hand]
            self._round = Round()
            _expect_tables([self.schedule.streams[name] for name in self._queue])

    def _renew(self) -> None:
        """Poll other streams from now on if the job has others."""
        if self._events.renew is None:
            return
        streams = self._events.renew(self._name, self.schedule.streams)
        if streams is not None:
            with self._lock:
                self.schedule.keep(streams)
                self._queue = [name for name in self._queue if name in streams]

    def _waits_for_first(self) -> bool:
        """Return True while one poll finds out if a source answers again that was down."""
        return self.schedule.is_source_down and self._round in self._in_hand.values() and self._round.failed is None

    def done(self, stream: Stream, outcome: Outcome, began: float) -> None:
        """Set the next poll of a stream; end a failed round once its last stream was answered."""
        with self._lock:
            of_round = self._in_hand.pop(stream.name)
            if stream.name in self.schedule.streams:
                self.schedule.streams[stream.name] = stream
            self.schedule.polled(outcome, began)
            if of_round is self._round and not self._queue:
                self.schedule.ended(of_round)
                self._round = Round()  # a late failure of the same round does not count again


class _Polls:
    """The polls of one job, by the threads of its sources."""

    def __init__(self, events: JobEvents, stop: threading.Event) -> None:
        self._events, self._stop = events, stop
        self._lock = threading.Lock()

    def once(self, streams: Sequence[Stream], outcomes: dict[int, Outcome], places: Iterator[int], of: Round) -> None:
        """Poll streams of a source once, in one round, as far as no other thread takes them.

        Args:
            streams: All streams of the job.
            outcomes: Receives the outcome of each, by its place in `streams`.
            places: The places of the source's streams, shared by its threads.
            of: The round.
        """
        while not self._stop.is_set():
            with self._lock:
                place = next(places, None)
            if place is None:
                return
            source = streams[place].source.name
            siblings = tuple(stream.name for stream in streams if stream.source.name == source)
            _, outcomes[place] = self._poll(streams[place], of, siblings)

    def always(self, polls: _SourcePolls, last: dict[str, Outcome]) -> None:
        """Poll the streams of a source in rounds until the job is to stop."""
        while (taken := polls.take()) is not None:
            name, of = taken
            began = time.monotonic()
            stream, outcome = self._poll(polls.schedule.streams[name], of, tuple(polls.schedule.streams))
            last[name] = outcome
            if _reached_result(outcome):  # a confirmation lifts a refusal for one poll only
                once = replace(stream.settings, accept_deletes=False, accept_source=False)
                stream = replace(stream, settings=once)
            polls.done(stream, outcome, began)
            self._events.then(outcome)

    def _poll(self, stream: Stream, of: Round, siblings: tuple[str, ...]) -> tuple[Stream, Outcome]:
        """Return the stream as it was polled, and the outcome."""
        mine = Round(failed=of.failed)  # polls of one round run at the same time, and each counts its own sessions
        with stream.source.within(mine):
            with suppress(QbcdError):  # errors of the stores: the poll gets and reports the same error
                stream = self._events.refresh(stream)
            outcome = poll(stream)
        with self._lock:
            outcome.source, outcome.answered = stream.source.name, of.failed is not None
            of.failed = of.failed or mine.failed
            if outcome.error is not None and outcome.error.source == outcome.source:
                outcome.reached, outcome.waiting = False, siblings
            elif mine.opened:
                outcome.reached = True
            self._events.on_outcome(outcome)
        return stream, outcome


def run_once(streams: Sequence[Stream], events: JobEvents, stop: threading.Event) -> JobReport:
    """Poll each stream once; those of one source in order. A failed stream does not stop the others."""
    polls, outcomes, works = _Polls(events, stop), dict[int, Outcome](), list[Callable[[], object]]()
    with ExitStack() as kept:
        for source, places in _by_source(streams).items():
            kept.enter_context(streams[places[0]].source.pooled())
            _expect_tables([streams[place] for place in places])
            left, of = iter(places), Round()
            threads = min(events.jobs(source), len(places))
            works += [partial(polls.once, streams, outcomes, left, of) for _ in range(threads)]
        side_by_side(works, stop.set)
    return JobReport([outcomes[place] for place in sorted(outcomes)])


def run_always(
    streams: Sequence[Stream], events: JobEvents, stop: threading.Event, sources: Collection[str] = ()
) -> JobReport:
    """Poll each stream at its interval until `stop` is set; the current steps are finished first.

    If only a sink fails, stream and sink are tried again at the stream's interval, so that its other sinks do not wait.

    Args:
        streams: The streams, as they were when the job began.
        events: What the job calls.
        stop: Set it to end the job; an exception of a callback sets it too.
        sources: Further sources, whose streams `events.renew` may find.
    """
    polls, last, works = _Polls(events, stop), dict[str, Outcome](), list[Callable[[], object]]()
    groups = {source: [streams[place] for place in places] for source, places in _by_source(streams).items()}
    with ExitStack() as kept:
        for source in dict.fromkeys((*groups, *sources)):
            of_source = _SourcePolls(source, Schedule(groups.get(source, [])), events, stop)
            for stream in groups.get(source, [])[:1]:
                kept.enter_context(stream.source.pooled())
            works += [partial(polls.always, of_source, last) for _ in range(of_source.jobs)]
        side_by_side(works, stop.set)
    return JobReport(
        [last[name] for name in dict.fromkeys((*(stream.name for stream in streams), *last)) if name in last]
    )


def _expect_tables(streams: Sequence[Stream]) -> None:
    """Let the polls of a round share one question about the tables of a source's streams."""
    if len(streams) > 1:
        named = [(one.config.table_schema, one.config.table_name) for one in streams if not one.config.query]
        streams[0].source.expected.expect(name for name in named if name[0])


def _by_source(streams: Sequence[Stream]) -> dict[str, list[int]]:
    """Return the places of each source's streams."""
    groups: dict[str, list[int]] = {}
    for place, stream in enumerate(streams):
        groups.setdefault(stream.source.name, []).append(place)
    return groups
