"""The polling job: threads for each source, and an orderly end on request.

Each source has threads of its own and a :class:`Schedule`, so that no source waits for another. Its threads take the
due polls of a round (:class:`qbcd.catalog.source.Round`) one by one, the longest due first. If the source opens no
session, it waits after the round, and one attempt shows if it answers again.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from qbcd.catalog.rounds import turn
from qbcd.catalog.source import Round
from qbcd.common import waits
from qbcd.common.side_by_side import side_by_side
from qbcd.errors import QbcdError
from qbcd.polling.outcome import JobReport, Outcome, has_result, poll
from qbcd.polling.schedule import Schedule
from qbcd.sinks import Sink
from qbcd.stream import Stream

IDLE_S = 0.5  # seconds after which a thread looks again if another one has made streams due
RENEW_S = 15.0  # seconds after which a thread asks for other streams
REST_S = 5.0  # seconds without a poll for which a source's sessions are not kept
GRACE_S = 5.0  # seconds of each wait on a target once the job is to stop
NAP_S = 0.2  # seconds between two checks of `stop`


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
            outcomes: Receives the outcome of each, by its place in `streams`.
            places: The places of the source's streams, shared by its threads.
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
            if has_result(outcome):  # a confirmation lifts a refusal for one poll only
                once = replace(stream.settings, accept_deletes=False, accept_source=False)
                stream = replace(stream, settings=once)
            polls.done(stream, outcome, began)
            self._events.then(outcome)

    def _poll(self, stream: Stream, of: Round, siblings: tuple[str, ...]) -> tuple[Stream, Outcome]:
        """Return the stream as it was polled, and the outcome."""
        with turn(stream.source, of) as mine:
            with suppress(QbcdError):  # errors of the stores: the poll gets and reports the same error
                stream = self._events.refresh(stream)
            outcome = poll(stream)
            outcome.answered = of.failed is not None
        with self._lock:
            outcome.source = stream.source.name
            if outcome.error is not None and outcome.error.source == outcome.source:
                outcome.reached, outcome.waiting = False, siblings
            elif mine.opened:
                outcome.reached = True
            self._events.on_outcome(outcome)
        return stream, outcome


def run_once(streams: Sequence[Stream], events: JobEvents, stop: threading.Event) -> JobReport:
    """Poll each stream once, those of one source in order; a failure does not stop the others."""
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
    """Poll each stream at its interval until `stop` is set; current steps finish first.

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


@contextmanager
def short_waits_after(stop: threading.Event, sinks: Callable[[], Collection[Sink]]) -> Iterator[None]:
    """In the block, limit each wait on the targets of `sinks` to `GRACE_S` once `stop` is set.

    A delivery that ends so is undone by its target, and the next job begins it again. No sink rests when a job begins.
    """
    for sink in sinks():
        sink.rest.end()
    lock, ended, shortened = threading.Lock(), threading.Event(), list[Sink]()

    def watch() -> None:
        while not ended.is_set():
            if stop.wait(NAP_S):
                with lock:
                    shortened.extend(() if ended.is_set() else sinks())
                    for sink in shortened:
                        waits.shorten(sink, GRACE_S, f"no answer within {GRACE_S:g} s after the job was asked to end")
                return

    threading.Thread(target=watch, name="qbcd-stop", daemon=True).start()
    try:
        yield
    finally:
        with lock:
            ended.set()
            for sink in shortened:
                waits.lift(sink)


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
