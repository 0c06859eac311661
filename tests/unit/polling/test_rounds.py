"""Work on the streams of several sources: as many at a time as their jobs, and an orderly end."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from sqlalchemy.engine import make_url
from typing_extensions import override

from qbcd.catalog.rounds import SourceWork, in_rounds
from qbcd.catalog.source import Source
from qbcd.connectors import connector_for
from qbcd.errors import QbcdError
from tests.unit.polling.test_job_sources import PATIENCE, URL, listener


def source(name: str, port: int = 1) -> Source:
    url = make_url(URL.format(port=port))
    return Source(name, url, connector_for(url), "qbcd")


def test_each_source_has_its_number_of_threads() -> None:
    full, now, most, lock = threading.Barrier(3), Counter[str](), Counter[str](), threading.Lock()
    first = iter(range(3))

    def work(name: str) -> None:
        with lock:
            of = name[0]
            now[of] += 1
            most[of] = max(most[of], now[of])
            meets = next(first, None) is not None
        if meets:
            full.wait(PATIENCE)
        with lock:
            now[of] -= 1

    works = [SourceWork(source("a"), [f"a{n}" for n in range(9)], 2), SourceWork(source("b"), ["b1", "b2"], 1)]
    in_rounds(works, work)
    assert most == {"a": 2, "b": 1}


def test_a_source_that_is_down_answers_once() -> None:
    errors = list[QbcdError]()
    with listener() as server:
        down = source("a", server.port)

        def work(name: str) -> None:
            try:
                with down.read(name):
                    pass
            except QbcdError as error:
                errors.append(error)

        in_rounds([SourceWork(down, list("xyz"), 1)], work)
    assert [error.stream for error in errors] == list("xyz")
    assert server.accepted == 1


def test_an_error_begins_no_other_stream() -> None:
    begun = list[str]()

    def work(name: str) -> None:
        begun.append(name)
        if name == "b":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_rounds([SourceWork(source("a"), list("abcdefg"), 1), SourceWork(source("b"), [], 1)], work)
    assert begun == ["a", "b"]


class Interrupted(Source):
    """A source that notes which streams are to wait no longer."""

    def __init__(self) -> None:
        url = make_url(URL.format(port=1))
        super().__init__("a", url, connector_for(url), "qbcd")
        self.names, self.event = list[str](), threading.Event()

    @override
    def interrupt(self, stream: str, reason: str) -> None:
        self.names.append(stream)
        self.event.set()


def test_an_error_of_one_thread_ends_what_another_waits_for() -> None:
    waits, begun = Interrupted(), list[str]()
    both = threading.Barrier(2)

    def work(name: str) -> None:
        begun.append(name)
        if name != "z":
            both.wait(PATIENCE)
        if name == "y":
            raise KeyboardInterrupt
        assert waits.event.wait(PATIENCE)

    with pytest.raises(KeyboardInterrupt):
        in_rounds([SourceWork(waits, list("xyz"), 2)], work)
    assert "x" in waits.names
    assert sorted(begun) == ["x", "y"]
