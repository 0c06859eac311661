"""Polls of several sources: none waits for another, and one failed connection answers for all streams of its source."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from qbcd.catalog.source import Round, Source
from qbcd.connectors import connector_for
from qbcd.errors import LeaseHeld, QbcdError, SourceError
from qbcd.polling import job, outcome, schedule
from qbcd.polling.job import JobEvents
from qbcd.polling.outcome import Outcome
from qbcd.polling.schedule import Schedule
from qbcd.sites import Settings
from qbcd.stream import Report, Stream

PATIENCE = 60.0  # seconds after which a test has failed
URL = "postgresql://reader@127.0.0.1:{port}/shop"


class Listener:
    """A server that accepts connections, counts them, and ends each at once."""

    def __init__(self) -> None:
        self.accepted = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept no more connections."""
        self._socket.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                self.accepted += 1
                client.close()


@contextmanager
def listener() -> Iterator[Listener]:
    made = Listener()
    try:
        yield made
    finally:
        made.close()


def streams(names: str, source: str, url: str = URL.format(port=1)) -> list[Stream]:
    """Return a stream for each letter, all of one source."""
    parsed, nothing = make_url(url), Any
    of = Source(source, parsed, connector_for(parsed), "qbcd")
    history: Any = SimpleNamespace(record_run=lambda run: None)
    table = {"query": "", "table_schema": "", "table_name": "t"}
    configs: list[Any] = [SimpleNamespace(name=name, every=timedelta(seconds=10), **table) for name in names]
    return [Stream(config, of, nothing, history, {}, Settings(config)) for config in configs]  # type: ignore[arg-type]


def connect(stream: Stream, report: Report) -> None:
    """Poll: open a session on the source."""
    with stream.source.read(stream.name):
        pass


def test_a_source_that_hangs_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, others = threading.Event(), threading.Semaphore(0)

    def poll(stream: Stream, report: Report) -> None:
        if stream.source.name == "silent":  # it answers only after the other source was polled three times
            assert all(others.acquire(timeout=PATIENCE) for _ in range(3))
            stop.set()
        else:
            others.release()

    monkeypatch.setattr(outcome, "run_stream", poll)
    work = [*streams("ab", "silent"), *streams("c", "healthy")]
    work[2].config.every = timedelta(0)  # type: ignore[misc]
    report = job.run_always(work, JobEvents(), stop)
    assert {one.stream for one in report.outcomes} == {"a", "c"}
    assert report.exit_code == 0


@pytest.mark.parametrize("kind", ["postgresql", "mariadb", "mysql"])
def test_one_failed_connection_answers_for_all_streams_of_its_source(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcome, "run_stream", connect)
    with listener() as server:
        work = streams("abcde", "down", f"{kind}://reader@127.0.0.1:{server.port}/shop")
        seen: list[Outcome] = []
        report = job.run_once(work, JobEvents(seen.append), threading.Event())
        assert server.accepted == 1
    assert report.outcomes == seen
    assert [type(one.error) for one in seen] == [SourceError] * 5
    assert [one.error.stream for one in seen if one.error] == list("abcde")
    assert [(one.reached, one.answered, one.waiting) for one in seen] == [
        (False, number > 0, tuple("abcde")) for number in range(5)
    ]
    assert report.exit_code == 1


def test_a_source_that_is_down_is_tried_once_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "run_stream", connect)
    monkeypatch.setattr(schedule, "back_off", lambda failures: 0.0)
    stop, polls = threading.Event(), list[str]()

    def seen(outcome: Outcome) -> None:
        polls.append(outcome.stream)
        if len(polls) == 12:
            stop.set()

    with listener() as server:
        job.run_always(streams("abc", "down", URL.format(port=server.port)), JobEvents(seen), stop)
        assert server.accepted == 4
    assert polls == list("abc") * 4


def test_other_threads_still_connect_by_themselves() -> None:
    """A lease is renewed although a poll could not connect once."""
    polls = Round()
    with listener() as server:
        [stream] = streams("a", "down", URL.format(port=server.port))
        with stream.source.within(polls):
            for _ in range(2):
                with pytest.raises(SourceError) as failed, stream.source.read("a"):
                    pass
                assert failed.value.source == "down"
            assert (server.accepted, polls.opened) == (1, 0)
            keeper = threading.Thread(target=_connect_quietly, args=(stream,))
            keeper.start()
            keeper.join(PATIENCE)
        assert server.accepted == 2


def _connect_quietly(stream: Stream) -> None:
    with suppress(SourceError):
        connect(stream, Report(stream.name))


def failed(stream: str, error: QbcdError) -> Outcome:
    return Outcome(stream, None, error)


def test_streams_are_due_again_at_once_when_their_source_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("qbcd.polling.schedule.time.monotonic", lambda: now[0])
    monkeypatch.setattr("qbcd.polling.schedule.random.uniform", lambda least, most: most)
    schedule = Schedule(streams("abc", "shop"))
    waits = []
    schedule.polled(failed("c", SourceError("locked")), now[0])  # its own error: it waits for its interval
    for _ in range(10):
        polls = Round(failed=SourceError("down"))
        for name in schedule.due(now[0]):
            outcome = failed(name, SourceError("down"))
            outcome.reached = False
            schedule.polled(outcome, now[0])
        schedule.ended(polls)
        waits.append(schedule.next_due() - now[0])
        now[0] = schedule.next_due()
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert schedule.due(now[0]) == ["a", "b", "c"]
    schedule.polled(Outcome("a", Report("a"), reached=True), now[0])
    schedule.ended(Round(opened=1))
    assert (schedule.next_due() <= now[0], schedule.due(now[0])) == (True, ["b", "c"])


def test_a_stream_that_failed_alone_is_due_when_its_source_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("qbcd.polling.schedule.time.monotonic", lambda: now[0])
    schedule = Schedule(streams("ab", "shop"))
    for _ in range(9):
        schedule.polled(failed("a", SourceError("the session ended")), now[0])
    assert schedule.due(now[0] + 100) == ["b"]
    schedule.ended(Round(failed=SourceError("down")))
    schedule.polled(Outcome("b", Report("b"), reached=True), now[0])
    assert schedule.due(now[0]) == ["a"]


def test_a_stream_that_another_process_holds_does_not_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qbcd.polling.schedule.time.monotonic", lambda: 1000.0)
    schedule = Schedule(streams("a", "shop"))
    for _ in range(9):
        schedule.polled(failed("a", LeaseHeld("a verify works on it")), 1000.0)
    assert schedule.next_due() == 1010.0


def test_waits_are_bounded_and_differ() -> None:
    assert schedule.back_off(0) == 0.0
    for failures, most in ((1, 2.0), (3, 8.0), (8, 256.0), (9, 300.0), (10_000, 300.0)):
        waits = [schedule.back_off(failures) for _ in range(50)]
        assert most / 2 <= min(waits) < max(waits) <= most


def test_an_exception_of_a_callback_ends_the_polls_of_all_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "run_stream", lambda stream, report: None)
    stop = threading.Event()

    def broken(outcome: Outcome) -> None:
        if outcome.stream == "b":
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        job.run_always([*streams("a", "one"), *streams("b", "two")], JobEvents(broken), stop)
    assert stop.is_set()
