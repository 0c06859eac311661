"""Waits with an end: the watchdog ends a wait once its time has passed, and only that wait."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from qbcd.common import waits

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two ends of a connection over which nothing is sent."""
    here, there = socket.socketpair()
    with closing(here), closing(there):
        yield here, there


def test_a_silent_socket_is_shut_down(pair: Pair) -> None:
    began = time.monotonic()
    with waits.on_socket(pair[0].fileno(), 0.2, reason="nothing for {s} s") as wait:
        assert pair[0].recv(1) == b""
    assert 0.2 <= time.monotonic() - began < 10
    assert wait.ended == "nothing for 0.2 s"


def test_a_wait_that_ends_in_time_is_left_alone(pair: Pair) -> None:
    ended: list[str] = []
    with waits.limited(0.05, lambda: ended.append("late")):
        pass
    with waits.on_socket(pair[0].fileno(), 60):  # the number of a closed socket may be used again
        time.sleep(0.2)
    pair[1].send(b"x")
    assert pair[0].recv(1) == b"x"
    assert ended == []


def test_a_thread_can_have_a_shorter_limit(pair: Pair) -> None:
    with waits.at_most(0.1), waits.at_most(60), waits.on_socket(pair[0].fileno(), 60) as wait:
        assert pair[0].recv(1) == b""
    assert wait.ended == "no answer for 0.1 s"
    assert waits.capped(60) == 60


def test_waits_of_one_owner_end_together(pair: Pair) -> None:
    threading.Timer(0.1, waits.interrupt, ("mine", "the lease is lost")).start()
    number = pair[0].fileno()
    with waits.limited(60, lambda: None, owner="yours") as other, waits.on_socket(number, 60, owner="mine") as wait:
        assert pair[0].recv(1) == b""
    assert (wait.ended, other.ended) == ("the lease is lost", "")


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_process_has_a_watchdog_of_its_own(pair: Pair) -> None:
    with waits.limited(60, lambda: None):  # its thread runs
        child = os.fork()
        if child == 0:
            with waits.on_socket(pair[0].fileno(), 0.1):
                os._exit(len(pair[0].recv(1)))
    assert os.waitpid(child, 0)[1] == 0


def test_a_paused_wait_counts_from_the_start_again(pair: Pair) -> None:
    with waits.on_socket(pair[0].fileno(), 0.3, reason="nothing for {s} s") as wait:
        with waits.paused(wait):
            time.sleep(0.5)
            assert wait.ended == ""
            began = time.monotonic()  # before the count begins again
        assert pair[0].recv(1) == b""
    assert time.monotonic() - began >= 0.3
    assert wait.ended == "nothing for 0.3 s"
    with waits.on_socket(pair[1].fileno(), 60, owner="mine") as wait, waits.paused(wait):
        waits.interrupt("mine", "the lease is lost")
        assert wait.ended == "the lease is lost"


def test_the_waits_of_a_thread_end_together(pair: Pair) -> None:
    threading.Timer(0.1, waits.interrupt, ("reader", "the other readers have ended")).start()
    with waits.limited(60, lambda: None, owner="mine") as other, waits.of_thread("reader"):
        with waits.on_socket(pair[0].fileno(), 60, owner="mine") as wait:
            assert pair[0].recv(1) == b""
        assert (wait.ended, other.ended) == ("the other readers have ended", "")
    with waits.limited(60, lambda: None) as later:
        waits.interrupt("reader", "too late")
    assert later.ended == ""
