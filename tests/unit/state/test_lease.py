"""Owners of a lease, and the check that the owner's process runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy.engine import Connection

from qbcd.errors import LeaseHeld, SourceError
from qbcd.state import LeaseKeeper, LeaseLost, Owner, ProjectState, lease
from tests.support import wait_until
from tests.support.state_place import PROJECT, STREAM
from tests.support.state_suite import is_lost


def test_an_owner_is_identified_by_its_text() -> None:
    owner = Owner.mine()
    assert Owner.parse(str(owner)) == owner
    assert owner.pid == os.getpid()
    assert Owner.mine() != owner
    with pytest.raises(ValueError, match="unpack"):
        Owner.parse("a|b")


def test_a_living_process_is_not_dead_but_its_reused_id_is() -> None:
    owner = Owner.mine()
    assert not owner.is_dead()
    assert replace(owner, start="1").is_dead()
    assert not replace(owner, start="-").is_dead()


def test_an_ended_process_is_dead_here_and_unknown_elsewhere() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    mine = Owner.mine()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, not reaped
    assert replace(mine, pid=process.pid, start="5").is_dead()
    process.wait()
    assert replace(mine, pid=process.pid).is_dead()
    assert not replace(mine, pid=process.pid, host="elsewhere").is_dead()


def test_without_proc_the_kernel_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    monkeypatch.setattr(lease, "_started", lambda _pid: None)
    monkeypatch.setattr(lease, "_own_start", lease._own_start.__wrapped__)
    mine = Owner.mine()
    assert mine.start == "-"
    assert not mine.is_dead()
    assert replace(mine, pid=process.pid).is_dead()
    assert not replace(mine, pid=1).is_dead()  # also if this process may not signal it


@pytest.fixture
def state(tmp_path: Path) -> Iterator[ProjectState]:
    with ProjectState(f"sqlite:///{tmp_path}/state.db") as opened:
        with opened.write() as conn:
            opened.store.register(conn, PROJECT, STREAM)
        yield opened


class Line:
    """Transactions of a store that can be cut off."""

    def __init__(self, state: ProjectState) -> None:
        self.state = state
        self.cut = False
        self.tried = 0

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        self.tried += 1
        if self.cut:
            raise SourceError("cut")
        with self.state.write() as conn:
            yield conn


def test_a_short_outage_costs_no_lease(state: ProjectState) -> None:
    line = Line(state)
    with LeaseKeeper(state.store, STREAM, line.transaction, ttl=3.0) as keeper:
        line.cut, tried = True, line.tried
        wait_until(lambda: line.tried > tried, what="a renewal that fails")
        keeper.check()
        line.cut, tried = False, line.tried
        wait_until(lambda: line.tried > tried + 1, what="renewals that do not")
        keeper.check()


def test_a_long_outage_stops_the_holder_before_anybody_else_may_begin(state: ProjectState) -> None:
    line = Line(state)
    with LeaseKeeper(state.store, STREAM, line.transaction, ttl=0.6) as keeper:
        line.cut = True
        wait_until(lambda: is_lost(keeper), what="the end of the lease")
        with pytest.raises(LeaseLost, match="lost the stream's lease"):
            keeper.check()
    with state.read() as conn:
        assert lease.holder(conn, state.store, STREAM) is None


def test_a_process_that_was_paused_beyond_its_lease_stops(state: ProjectState) -> None:
    """Its own renewals were paused too, so it has no sign yet that the lease has ended."""
    with LeaseKeeper(state.store, STREAM, Line(state).transaction) as keeper:
        keeper.check()
        keeper._renewed -= keeper.ttl + 0.001
        with pytest.raises(LeaseLost, match="lost the stream's lease"):
            keeper.check()


def test_a_failed_release_is_reported_and_hides_nothing_of_the_block(
    state: ProjectState, caplog: pytest.LogCaptureFixture
) -> None:
    line = Line(state)
    with pytest.raises(ZeroDivisionError), LeaseKeeper(state.store, STREAM, line.transaction):
        line.cut = True
        raise ZeroDivisionError
    assert "the lease could not be released: cut" in caplog.text


def test_a_process_does_not_wait_for_a_lease_that_it_could_not_give_back(state: ProjectState) -> None:
    line = Line(state)
    with LeaseKeeper(state.store, STREAM, line.transaction) as first:
        line.cut = True
    line.cut = False
    with LeaseKeeper(state.store, STREAM, line.transaction) as second:
        assert second.token == first.token + 1
        with pytest.raises(LeaseHeld, match=f"process {os.getpid()} on .* works on this stream"):
            LeaseKeeper(state.store, STREAM, line.transaction).__enter__()
    with state.read() as conn:
        assert lease.holder(conn, state.store, STREAM) is None


def test_a_process_does_not_wait_for_a_lease_whose_commit_was_unanswered(state: ProjectState) -> None:
    @contextmanager
    def mute() -> Iterator[Connection]:
        with state.write() as conn:
            yield conn
        raise SourceError("no answer")

    with pytest.raises(SourceError, match="no answer"):
        LeaseKeeper(state.store, STREAM, mute).__enter__()
    with LeaseKeeper(state.store, STREAM, state.write) as keeper:
        assert keeper.token == 2


def test_an_owner_knows_since_when_it_works() -> None:
    before, mine, after = time.time(), Owner.mine(), time.time()
    assert mine.since is not None
    assert before - 0.001 <= mine.since <= after + 0.001
    assert Owner.parse(str(mine)).since == mine.since
    assert len({Owner.mine().uuid for _ in range(1000)}) == 1000
    for earlier in (uuid.uuid4().hex, "x"):  # of earlier versions, and an invalid one
        assert Owner("h", 1, "2", earlier).since is None
