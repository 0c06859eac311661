"""Tests of stores on a server that several sessions create and write at once.

The modules of each kind of server subclass them.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.engine import Connection

from qbcd.errors import LeaseHeld, QbcdError, Refused, SourceError, StateConflict, StateMissing
from qbcd.state import LeaseLost, Owner, ProjectState, Segment, StreamStore, acquire, lease, release, renew
from qbcd.state.dialects import facts_of
from tests.support import places
from tests.support.state_place import PROJECT, STREAM, Place, header, in_source
from tests.support.state_suite import current, current_in, parts, registered, take

Fresh = Callable[[], AbstractContextManager[places.Place]]


def at_once(number: int, act: Callable[[], Any]) -> list[Any]:
    """Run `act` in `number` threads that begin together; return its results or errors."""
    gate, results = threading.Barrier(number), []

    def run() -> None:
        gate.wait()
        try:
            results.append(act())
        except Exception as error:  # noqa: BLE001 - a thread's failure must reach the assertion
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class StepSuite:
    def test_a_step_in_hand_makes_acquire_give_up_and_does_not_hinder_its_own_renewal(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lease, "LOCK_WAIT_MS", 300)
        registered(place)
        owner, token = take(place, ttl=0.0)
        with place.write() as step:
            place.store.lock(step, STREAM, PROJECT, 0, token)
            began = time.monotonic()
            with pytest.raises(LeaseHeld, match="in the middle of a step"):
                take(place)
            assert 0.25 < time.monotonic() - began < 5
            with place.write() as conn:
                renew(conn, place.store, STREAM, owner, token, 30.0)
        with pytest.raises(LeaseHeld, match="works on this stream"):
            take(place)

    def test_a_step_in_hand_hinders_no_other_stream(self, place: Place) -> None:
        registered(place)
        with place.write() as step:
            row = place.store.lock(step, STREAM, PROJECT, 0, 0)
            row = place.store.replace_ranges(step, row, parts("k", "m"))
            place.store.add_segments(step, STREAM, [Segment("s", 100, (), 0, 1, 0)])
            place.store.add_batch(step, header(1), 0)
            pin = place.store.add_pin(step, STREAM, 60.0)
            place.store.advance(step, row, last_batch_seq=1)
            for name in ("a", "z"):  # before and after it in every index
                live(place, name)
            place.store.check_pin(step, pin)
        assert current(place).last_batch_seq == 1

    def test_a_reader_sees_nothing_that_a_running_collector_deletes(self, place: Place) -> None:
        """A pin is added before the collector reads pins, or the manifest is read after its commit."""
        registered(place)
        with place.write() as conn:
            row = place.store.lock(conn, STREAM, PROJECT, 0, 0)
            place.store.add_batch(conn, header(1), 0)
            place.store.advance(conn, row, last_batch_seq=1)
        found: list[list[int]] = []

        def read() -> None:
            with place.write() as conn:
                place.store.add_pin(conn, STREAM, 60.0)
            with place.write() as conn:
                found.append([b.seq for b in place.store.batches(conn, STREAM)])

        reader = threading.Thread(target=read)
        with place.write() as step:
            place.store.lock(step, STREAM, PROJECT, 1, 0)
            place.store.delete_batch(step, STREAM, 100, 1)
            assert place.store.pins(step, STREAM) == []
            reader.start()
            reader.join(2)
        reader.join(30)
        assert found == [[]]

    def test_of_two_steps_from_one_version_one_commits(self, place: Place) -> None:
        registered(place)

        def step() -> str:
            with place.write() as conn:
                row = place.store.lock(conn, STREAM, PROJECT, 0, 0)
                time.sleep(0.1)
                place.store.advance(conn, row, last_batch_seq=1)
            return "committed"

        outcomes = at_once(4, step)
        assert outcomes.count("committed") == 1
        assert [type(o) for o in outcomes if o != "committed"] == [StateConflict] * 3

    def test_two_pollers_take_turns_and_lose_no_step(self, place: Place) -> None:
        registered(place)

        def poll() -> int:
            steps = 0
            while steps < 8:
                try:
                    owner, token = take(place)
                except LeaseHeld:
                    continue
                with place.write() as conn:
                    seen = current_in(place, conn)
                with place.write() as conn:
                    row = place.store.lock(conn, STREAM, PROJECT, seen.version, token)
                    place.store.add_batch(conn, header(row.last_batch_seq + 1), token)
                    place.store.advance(conn, row, last_batch_seq=row.last_batch_seq + 1)
                with place.write() as conn:
                    release(conn, place.store, STREAM, owner, token)
                steps += 1
            return steps

        assert at_once(2, poll) == [8, 8]
        row = current(place)
        assert (row.version, row.last_batch_seq, row.fencing_token) == (16, 16, 16)
        with place.write() as conn:
            assert [b.seq for b in place.store.batches(conn, STREAM)] == list(range(1, 17))

    def test_many_register_a_stream_at_once(self, place: Place) -> None:
        rows = at_once(6, partial(registered, place))
        assert rows == [current(place)] * 6

    def test_a_registration_that_is_undone_leaves_the_stream_to_those_who_wait(self, place: Place) -> None:
        results: list[Any] = []

        def register() -> None:
            try:
                results.append(registered(place))
            except QbcdError as error:
                results.append(error)

        waiting = [threading.Thread(target=register) for _ in range(3)]
        with pytest.raises(ZeroDivisionError), place.write() as conn:
            place.store.register(conn, PROJECT, STREAM)
            for thread in waiting:
                thread.start()
            time.sleep(0.5)
            raise ZeroDivisionError
        for thread in waiting:
            thread.join()
        row = current(place)
        assert row in results
        busy = [result for result in results if result != row]
        assert [type(error) for error in busy] == [SourceError] * len(busy)  # sessions that the server chose to end


def live(place: Place, name: str) -> None:
    """Write all that a stream writes in its life; no session waits for a lock over a second."""

    @contextmanager
    def write() -> Iterator[Connection]:
        with place.write() as conn:
            facts_of(conn).limit_lock_waits(conn, 1000)
            yield conn

    store, owner = place.store, Owner.mine()
    with write() as conn:
        store.register(conn, PROJECT, name)
    with write() as conn:
        token = acquire(conn, store, name, owner, 30.0)
        renew(conn, store, name, owner, token, 30.0)
    with write() as conn:
        row = store.lock(conn, name, PROJECT, 0, token)
        row = store.replace_ranges(conn, row, parts("k"))
        store.update_ranges(conn, name, store.ranges(conn, name)[:1])
        store.add_segments(conn, name, [Segment("s", 100, (), 0, 1, token)])
        store.delete_segments(conn, name, ["s"])
        store.mark_folded(conn, name, (100, 1))
        store.delete_batch(conn, name, 100, 1)
        row = store.advance(conn, row)
    with write() as conn:
        store.forget(conn, row)
        store.drop_pin(conn, store.add_pin(conn, name, 60.0))
        release(conn, store, name, owner, token)
        with pytest.raises(LeaseLost):
            renew(conn, store, name, owner, token, 30.0)


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_before(number: int) -> Iterator[None]:
    """Lose the statement with this number among commits and those that create something."""
    left = itertools.count(number - 1, -1)

    def count(conn: Connection) -> None:
        if next(left) == 0:
            conn.invalidate()  # leaves the server alone with what was begun
            raise Killed

    def statement(conn: Connection, _cursor: object, text: str, *_: object) -> None:
        if text.split(None, 1)[0] in ("CREATE", "INSERT"):
            count(conn)

    event.listen(Engine, "before_cursor_execute", statement)
    event.listen(Engine, "commit", count)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", statement)
        event.remove(Engine, "commit", count)


class MakingSuite:
    def test_many_make_a_state_at_once(self, fresh: Fresh) -> None:
        def make(url: str) -> str:
            with ProjectState(url) as state, state.write() as conn:
                state.store.register(conn, PROJECT, STREAM)
                return state.project_id

        for _ in range(3):
            with fresh() as base:
                found = at_once(6, partial(make, base.url))
                assert [type(f) for f in found] == [str] * 6, found
                assert len(set(found)) == 1

    def test_many_make_the_tables_in_a_source_at_once(self, fresh: Fresh) -> None:
        def make(base: places.Place) -> int:
            store = StreamStore(base.own_schema)
            with in_source(base.url, base.own_schema) as write:
                with write() as conn:
                    store.create(conn)
                with write() as conn:
                    return store.register(conn, PROJECT, STREAM).version

        for _ in range(3):
            with fresh() as base:
                assert at_once(6, partial(make, base)) == [0] * 6

    def test_a_state_whose_making_was_killed_is_made_by_the_next(self, fresh: Fresh) -> None:
        for number in itertools.count(1):
            with fresh() as base:
                try:
                    with killed_before(number):
                        ProjectState(base.url).close()
                    break
                except Killed:
                    with pytest.raises(StateMissing, match="does not exist"):
                        ProjectState(base.url, create=False)
                with ProjectState(base.url) as state, state.write() as conn:
                    assert len(state.project_id) == 32
                    state.store.register(conn, PROJECT, STREAM)
                with ProjectState(base.url, create=False) as again:
                    assert again.project_id == state.project_id
        assert number > 14  # tables, two rows, a commit

    def test_tables_in_a_source_whose_making_was_killed_are_made_by_the_next(self, fresh: Fresh) -> None:
        for number in itertools.count(1):
            with fresh() as base, in_source(base.url, base.own_schema) as write:
                store = StreamStore(base.own_schema)
                try:
                    with killed_before(number), write() as conn:
                        store.create(conn)
                    break
                except Killed:
                    with write() as conn:
                        assert not store.exists(conn)
                with write() as conn:
                    store.create(conn)
                with write() as conn:
                    assert store.exists(conn)
                    store.register(conn, PROJECT, STREAM)
        assert number > 9  # schema, tables, a row, a commit

    def test_a_store_that_lost_its_format_is_not_taken_for_one_half_made(self, fresh: Fresh) -> None:
        with fresh() as base, in_source(base.url, base.own_schema) as write:
            store = StreamStore(base.own_schema)
            with write() as conn:
                store.create(conn)
                store.register(conn, PROJECT, STREAM)
                conn.execute(store.tables.layout.delete())
            with pytest.raises(Refused, match="has no valid format version"), write() as conn:
                assert store.exists(conn)
                store.create(conn)

    def test_the_ddl_for_a_dba_makes_the_tables(self, fresh: Fresh) -> None:
        with fresh() as base, in_source(base.url, base.own_schema) as write:
            store = StreamStore(base.own_schema)
            with write() as conn:
                statements = store.ddl(conn)
            base.sql(";\n".join(statements))
            with write() as conn:
                assert store.exists(conn)
                store.create(conn)
                store.register(conn, PROJECT, STREAM)
