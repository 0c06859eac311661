"""Tests of a stream store; the modules of each kind of store subclass them."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import replace

import pytest
from sqlalchemy import select

from qbcd.errors import LeaseHeld, QbcdError, Refused, StateConflict
from qbcd.state import (
    Claim,
    LeaseKeeper,
    LeaseLost,
    Owner,
    RangePages,
    Segment,
    StoredRange,
    StreamRow,
    Visits,
    acquire,
    holder,
    release,
    renew,
)
from qbcd.state.lease import acquire_row
from tests.support import wait_until
from tests.support.state_place import PROJECT, STREAM, Place, child, header, open_place


def registered(place: Place) -> StreamRow:
    with place.write() as conn:
        return place.store.register(conn, PROJECT, STREAM)


def take(place: Place, ttl: float = 30.0) -> tuple[Owner, int]:
    owner = Owner.mine()
    with place.write() as conn:
        return owner, acquire(conn, place.store, STREAM, owner, ttl)


def taken_later(place: Place) -> tuple[Owner, int]:
    """Acquire the lease as soon as it is free."""
    found: list[tuple[Owner, int]] = []

    def try_it() -> bool:
        with suppress(LeaseHeld):
            found.append(take(place))
        return bool(found)

    wait_until(try_it, what="the end of the other's lease")
    return found[0]


def lease_end(place: Place) -> float:
    """Return the time at which the lease ends, by the store's clock."""
    table = place.store.tables.lease
    with place.write() as conn:
        return float(conn.execute(table.select().where(table.c.stream == STREAM)).one().until)


def is_lost(keeper: LeaseKeeper) -> bool:
    try:
        keeper.check()
    except LeaseLost:
        return True
    return False


def current(place: Place) -> StreamRow:
    with place.write() as conn:
        row = place.store.read(conn, STREAM)
    assert row is not None
    return row


def parts(*bounds: str, first_id: int = 1) -> list[StoredRange]:
    edges = [None, *((b,) for b in bounds), None]
    return [
        StoredRange(first_id + i, edges[i], edges[i + 1], rows=i, checksum=(-1) ** i * 10**30 + i)
        for i in range(len(edges) - 1)
    ]


class StreamRowSuite:
    def test_a_new_stream_has_a_row_and_keeps_it(self, place: Place) -> None:
        with place.write() as conn:
            assert place.store.exists(conn)
            assert place.store.read(conn, STREAM) is None
        assert registered(place) == StreamRow(PROJECT, STREAM, 0, 0, 0, 0, False)
        assert registered(place) == current(place)
        with place.write() as conn:
            assert place.store.streams(conn) == [current_in(place, conn)]

    def test_creating_again_changes_nothing(self, place: Place) -> None:
        registered(place)
        with place.write() as conn:
            place.store.create(conn)
            assert place.store.read(conn, STREAM) is not None

    def test_advance_moves_what_is_given_and_one_version(self, place: Place) -> None:
        row = registered(place)
        with place.write() as conn:
            locked = place.store.lock(conn, STREAM, PROJECT, 0, 0)
            done = place.store.advance(
                conn,
                locked,
                checkpoint={"w": "2024-01-01 \u0000 é", "n": None},
                epoch=7,
                last_batch_seq=3,
                prepared=True,
            )
        assert done == replace(
            row, version=1, epoch=7, last_batch_seq=3, prepared=True, checkpoint={"w": "2024-01-01 \u0000 é", "n": None}
        )
        assert current(place) == done

    def test_names_that_differ_in_case_are_two_streams(self, place: Place) -> None:
        with place.write() as conn:
            rows = {name: place.store.register(conn, PROJECT, name) for name in ("orders", "Orders", "ORDERS")}
            place.store.advance(conn, rows["Orders"], last_batch_seq=5)
            place.store.add_batch(conn, replace(header(5), stream="Orders"), 1)
            place.store.replace_ranges(conn, rows["orders"], parts("k"))
            place.store.add_segments(conn, "orders", [Segment(name, 1, (), 0, 0, 0) for name in ("s", "S")])
            assert [s.segment_id for s in place.store.segments(conn, "orders")] == ["S", "s"]
            assert place.store.ranges(conn, "Orders") == []
            assert place.store.batches(conn, "ORDERS") == []
            assert acquire(conn, place.store, "Orders", Owner.mine(), 30.0) == 1
            assert holder(conn, place.store, "orders") is None
        with place.write() as conn:
            last = {row.stream: (row.last_batch_seq, row.fencing_token) for row in place.store.streams(conn)}
        assert last == {"ORDERS": (0, 0), "Orders": (5, 1), "orders": (0, 0)}

    def test_a_checkpoint_of_megabytes_is_kept(self, place: Place) -> None:
        row, large = registered(place), {"kept": ["é\U0001f600" * 50_000, "x" * 2**20]}
        with place.write() as conn:
            done = place.store.advance(conn, row, checkpoint=large)
        assert current(place) == done
        assert done.checkpoint == large

    def test_a_stale_version_is_refused_and_writes_nothing(self, place: Place) -> None:
        row = registered(place)
        with place.write() as conn:
            moved = place.store.advance(conn, row, last_batch_seq=1)
        with pytest.raises(StateConflict, match="another poller advanced"), place.write() as conn:
            place.store.advance(conn, row, last_batch_seq=50)
        with pytest.raises(StateConflict, match="another poller advanced"), place.write() as conn:
            place.store.lock(conn, STREAM, PROJECT, 0, 0)
        assert current(place) == moved

    def test_a_stale_token_is_refused(self, place: Place) -> None:
        row = registered(place)
        take(place)
        with pytest.raises(StateConflict, match="another poller"), place.write() as conn:
            place.store.advance(conn, row)
        with pytest.raises(StateConflict, match="another poller"), place.write() as conn:
            place.store.lock(conn, STREAM, PROJECT, 0, 0)

    def test_a_foreign_project_is_refused(self, place: Place) -> None:
        registered(place)
        with place.write() as conn:
            place.store.foreign_project(conn, PROJECT, "s")
        for action in ("foreign_project", "register", "lock"):
            with pytest.raises(StateConflict, match=r"by another project.*`schema:`"), place.write() as conn:
                if action == "foreign_project":
                    place.store.foreign_project(conn, "p2", "s")
                elif action == "register":
                    place.store.register(conn, "p2", STREAM)
                else:
                    place.store.lock(conn, STREAM, "p2", 0, 0)

    def test_an_unknown_stream_cannot_be_locked(self, place: Place) -> None:
        with pytest.raises(StateConflict, match="has no such stream"), place.write() as conn:
            place.store.lock(conn, STREAM, PROJECT, 0, 0)
        with pytest.raises(StateConflict, match="has no such stream"):
            take(place)

    def test_numbers_never_go_back_and_outlive_a_reset(self, place: Place) -> None:
        registered(place)
        owner, token = take(place)
        with place.write() as conn:
            row = place.store.advance(conn, current_in(place, conn), epoch=100, last_batch_seq=2, prepared=True)
            row = place.store.replace_ranges(conn, row, parts("k"))
            place.store.add_segments(conn, STREAM, [Segment("s", 100, (), 0, 2, token)])
            place.store.add_batch(conn, header(2), token)
            row = place.store.advance(conn, row, checkpoint={"a": 1})
            reset = place.store.forget(conn, row)
            assert place.store.ranges(conn, STREAM) == []
            assert place.store.segments(conn, STREAM) == []
            assert place.store.batches(conn, STREAM) == []
        kept = (reset.epoch, reset.version, reset.fencing_token, reset.last_batch_seq, reset.next_range_id)
        assert kept == (100, 3, token, 2, 3)
        assert (reset.checkpoint, reset.prepared) == ({}, False)
        assert current(place) == reset
        assert reset.next_epoch(50) == 101
        for wrong in ({"epoch": 99}, {"last_batch_seq": 1}):
            with pytest.raises(StateConflict, match="never go back"), place.write() as conn:
                place.store.advance(conn, reset, **wrong)  # type: ignore[arg-type]
        with pytest.raises(StateConflict, match="range id 1 was used"), place.write() as conn:
            place.store.replace_ranges(conn, reset, parts("k"))
        with place.write() as conn:
            release(conn, place.store, STREAM, owner, token)
        assert take(place)[1] == token + 1

    def test_a_lost_reply_is_answered_by_the_row(self, place: Place) -> None:
        """`version` and `advanced_by` show if a step was committed, and by whom."""
        registered(place)
        _owner, first = take(place, ttl=0.0)
        with place.write() as conn:
            row = current_in(place, conn)
            assert (row.version, row.advanced_by) == (0, 0)
            place.store.advance(conn, row)
            row = current_in(place, conn)
            assert (row.version, row.advanced_by) == (1, first)
        _owner, second = take(place)
        with place.write() as conn:
            row = current_in(place, conn)
            assert (row.version, row.advanced_by, row.fencing_token) == (1, first, second)
            place.store.advance(conn, row)
            row = current_in(place, conn)
            assert (row.version, row.advanced_by) == (2, second)

    def test_a_damaged_row_is_refused(self, place: Place) -> None:
        row = registered(place)
        with place.write() as conn:
            conn.execute(place.store.tables.stream.update().values(last_batch_seq=row.last_batch_seq + 1))
        with pytest.raises(Refused, match="damaged"):
            current(place)

    def test_a_newer_layout_is_refused(self, place: Place) -> None:
        with place.write() as conn:
            conn.execute(place.store.tables.layout.update().values(format_version=2))
        with pytest.raises(Refused, match="newer qbcd"), place.write() as conn:
            place.store.create(conn)

    def test_ddl_creates_what_create_creates(self, place: Place) -> None:
        with place.write() as conn:
            text = "\n".join(place.store.ddl(conn))
        for table in place.store.tables.metadata.tables.values():
            assert table.name in text


def current_in(place: Place, conn: object) -> StreamRow:
    row = place.store.read(conn, STREAM)  # type: ignore[arg-type]
    assert row is not None
    return row


class OutboxSuite:
    def test_batches_come_back_as_they_were_in_order(self, place: Place) -> None:
        registered(place)
        all_headers = [header(9), header(10), header(11, epoch=101), header(2, epoch=1000)]
        with place.write() as conn:
            for item in reversed(all_headers):
                place.store.add_batch(conn, item, 1)
            assert place.store.batches(conn, STREAM) == all_headers
            assert place.store.batches(conn, STREAM, after=(100, 10)) == all_headers[2:]
            assert place.store.batches(conn, "other") == []
            place.store.delete_batch(conn, STREAM, 100, 9)
            assert place.store.batches(conn, STREAM) == all_headers[1:]

    def test_a_number_is_given_once(self, place: Place) -> None:
        registered(place)
        with place.write() as conn:
            place.store.add_batch(conn, header(1), 1)
        with pytest.raises(StateConflict, match="batch 100/1 exists already"), place.write() as conn:
            place.store.add_batch(conn, header(1, fingerprint="x"), 1)

    def test_only_old_compacted_acknowledged_batches_expire_without_a_gap(self, place: Place) -> None:
        registered(place)
        with place.write() as conn:
            for seq in (1, 2, 3, 4):
                place.store.add_batch(conn, header(seq), 1, folded=seq in (2, 4))
            assert place.store.expired_batches(conn, STREAM, (100, 4), -1.0) == []
            place.store.mark_folded(conn, STREAM, (100, 2))
            assert [b.seq for b in place.store.expired_batches(conn, STREAM, (100, 4), -1.0)] == [1, 2]
            assert [b.seq for b in place.store.expired_batches(conn, STREAM, (100, 1), -1.0)] == [1]
            assert place.store.expired_batches(conn, STREAM, (100, 4), 60.0) == []

    def test_ranges_come_in_key_order_with_all_they_carry(self, place: Place) -> None:
        row = registered(place)
        odd = parts("10", "9", "é\u0000'")  # the source's order, not that of texts
        with place.write() as conn:
            row = place.store.replace_ranges(conn, row, odd)
            assert row.next_range_id == 5
            assert place.store.ranges(conn, STREAM) == odd
            seen = [replace(odd[2], rows=7, checksum=-(10**37), segment="s1", last_visited=12.5)]
            place.store.update_ranges(conn, STREAM, seen)
            assert place.store.ranges(conn, STREAM) == [*odd[:2], *seen, odd[3]]
            visits = [place.store.visits(conn, STREAM, since) for since in (0.0, 12.5, 13.0)]
            assert visits == [Visits(4, 1, 0.0), Visits(4, 1, 0.0), Visits(4, 0, 0.0)]
            place.store.update_ranges(conn, STREAM, [replace(r, last_visited=14.0) for r in (*odd[:2], odd[3])])
            assert place.store.visits(conn, STREAM, 13.0) == Visits(4, 3, 12.5)
            assert place.store.visits(conn, "none", 0.0) == Visits(0, 0, 0.0)

    def test_page_counts_of_ranges_are_kept_apart(self, place: Place) -> None:
        row, some = registered(place), [replace(r, pages=3, moved=1) for r in parts("b", "c")]
        some[1] = replace(some[1], pages=None, moved=0)
        with place.write() as conn:
            row = place.store.replace_ranges(conn, row, some)
            assert place.store.ranges(conn, STREAM) == some
            assert place.store.visits(conn, STREAM, 0.0).pages == RangePages(2, 6, 3)
            place.store.update_ranges(conn, STREAM, [replace(some[0], rows=9)])
            place.store.set_pages(conn, STREAM, [replace(some[1], pages=7)])
            assert [(r.rows, r.pages, r.moved) for r in place.store.ranges(conn, STREAM)] == [
                (9, 3, 1),
                (1, 7, 0),
                (2, 3, 1),
            ]
            row = place.store.replace_ranges(conn, row, parts("x", first_id=4))
            assert place.store.visits(conn, STREAM, 0.0).pages is None
            place.store.set_pages(conn, STREAM, [replace(r, pages=1) for r in parts("x", first_id=4)])
            place.store.forget(conn, row)
            assert conn.execute(select(place.store.tables.range_pages)).first() is None

    def test_a_store_of_an_older_version_has_no_page_counts(self, place: Place) -> None:
        row, some = registered(place), parts("b")
        table = place.store.tables.range_pages
        with place.write() as conn:
            row = place.store.replace_ranges(conn, row, some)
            table.drop(conn)
        with open_place(place.url, place.schema) as later, later.write() as conn:
            assert later.store.exists(conn)
            if place.schema is None:
                return  # a state database gets the table when it is opened
            assert not later.store.keeps_pages(conn)
            later.store.set_pages(conn, STREAM, [replace(some[0], pages=1)])
            assert later.store.ranges(conn, STREAM) == some
            assert later.store.visits(conn, STREAM, 0.0) == Visits(2, 0, 0.0)
            later.store.add_pages(conn)
            later.store.set_pages(conn, STREAM, [replace(some[0], pages=1)])
            assert [r.pages for r in later.store.ranges(conn, STREAM)] == [1, None]

    def test_long_texts_are_kept(self, place: Place) -> None:
        row, long = registered(place), "é" * 70_000
        ranges = parts(long, long + "x")
        segments = [Segment("s", 100, ({"path": long},), 1, 0, 1)]
        batch = replace(header(1), location={"file": long})
        with place.write() as conn:
            place.store.replace_ranges(conn, row, ranges)
            place.store.add_segments(conn, STREAM, segments)
            place.store.add_batch(conn, batch, 1)
        with place.write() as conn:
            assert place.store.ranges(conn, STREAM) == ranges
            assert place.store.segments(conn, STREAM) == segments
            assert place.store.batches(conn, STREAM) == [batch]

    def test_a_split_takes_new_ids(self, place: Place) -> None:
        row = registered(place)
        with place.write() as conn:
            row = place.store.replace_ranges(conn, row, parts("m"))
            first, last = place.store.ranges(conn, STREAM)
            low = replace(first, range_id=row.next_range_id, hi=("f",))
            high = replace(first, range_id=row.next_range_id + 1, lo=("f",))
            for clash in (replace(low, range_id=first.range_id), replace(low, range_id=0)):
                with pytest.raises(StateConflict, match="was used for another range"):
                    place.store.replace_ranges(conn, row, [clash, high, last])
            row = place.store.replace_ranges(conn, row, [last, high, low])
            assert place.store.ranges(conn, STREAM) == [low, high, last]
            merged = replace(low, range_id=5, hi=last.hi)
            row = place.store.replace_ranges(conn, row, [merged])
            assert row.next_range_id == 6
            with pytest.raises(StateConflict, match="was used for another range"):
                place.store.replace_ranges(conn, row, [low, high, last])
            assert place.store.replace_ranges(conn, row, []).next_range_id == 6

    def test_ranges_that_do_not_cover_all_keys_once_are_refused(self, place: Place) -> None:
        row = registered(place)
        good = parts("a", "b")
        for bad in (good[:2], good[1:], [good[0], good[2]], [*good, replace(good[1], range_id=9)]):
            with pytest.raises(StateConflict, match="gap or overlap"), place.write() as conn:
                place.store.replace_ranges(conn, row, bad)
        with place.write() as conn:
            place.store.replace_ranges(conn, row, good)
        with pytest.raises(StateConflict, match="no longer exists"), place.write() as conn:
            place.store.update_ranges(conn, STREAM, [replace(good[1], range_id=77)])

    def test_many_ranges(self, place: Place) -> None:
        row = registered(place)
        many = parts(*(f"{i}" for i in range(1500)))
        with place.write() as conn:
            place.store.replace_ranges(conn, row, many)
            seen = [replace(item, rows=5) for item in many[:1200]]
            place.store.update_ranges(conn, STREAM, seen)
            assert place.store.ranges(conn, STREAM) == [*seen, *many[1200:]]

    def test_segments(self, place: Place) -> None:
        registered(place)
        both = [Segment(f"s{i}", 100, ({"path": f"p{i}", "size": 2**40},), 2**40, i, 1) for i in (1, 2)]
        with place.write() as conn:
            place.store.add_segments(conn, STREAM, both)
            assert place.store.segments(conn, STREAM) == both
            place.store.delete_segments(conn, STREAM, ["s1"])
            assert place.store.segments(conn, STREAM) == both[1:]

    def test_pins_hold_a_version_until_they_end(self, place: Place) -> None:
        row = registered(place)
        with place.write() as conn:
            long = place.store.add_pin(conn, STREAM, 60)
            place.store.advance(conn, row)
            short = place.store.add_pin(conn, STREAM, 60)
            assert place.store.pins(conn, STREAM) == [long, short]
            assert (long.version, short.version) == (0, 1)
            place.store.check_pin(conn, short)
            pins = place.store.tables.pin
            conn.execute(pins.update().where(pins.c.version == short.version).values(until=0.0))
        with place.write() as conn:
            assert place.store.pins(conn, STREAM) == [long]
            with pytest.raises(StateConflict, match="read again"):
                place.store.check_pin(conn, short)
            assert place.store.expire_pins(conn, STREAM) == 1
            place.store.drop_pin(conn, long)
            assert place.store.pins(conn, STREAM) == []


class LeaseSuite:
    def test_one_owner_at_a_time_even_in_one_process(self, place: Place) -> None:
        registered(place)
        owner, token = take(place)
        assert (token, current(place).fencing_token) == (1, 1)
        with pytest.raises(LeaseHeld, match=rf"process {os.getpid()} on .*ends in \d+ s"):
            take(place)
        assert current(place).fencing_token == 1
        with place.write() as conn:
            found = holder(conn, place.store, STREAM)
            assert found is not None
            assert found[0] == owner
            assert 25 < found[1] <= 30
            renew(conn, place.store, STREAM, owner, token, 300.0)
            found = holder(conn, place.store, STREAM)
            assert found is not None
            assert found[1] > 290
            release(conn, place.store, STREAM, owner, token)
            assert holder(conn, place.store, STREAM) is None
        assert take(place)[1] == 2

    def test_an_expired_lease_is_taken_over_and_its_owner_is_refused(self, place: Place) -> None:
        registered(place)
        owner, token = take(place)
        with pytest.raises(LeaseHeld):
            take(place)
        with place.write() as conn:
            conn.execute(place.store.tables.lease.update().values(until=0.0))
        assert take(place)[1] == 2
        with pytest.raises(LeaseLost, match="lost the stream's lease"), place.write() as conn:
            renew(conn, place.store, STREAM, owner, token, 30.0)
        with place.write() as conn:
            release(conn, place.store, STREAM, owner, token)
            assert holder(conn, place.store, STREAM) is not None

    def test_of_many_threads_one_wins(self, place: Place) -> None:
        registered(place)
        gate = threading.Barrier(6)
        results: list[int | str] = []

        def race() -> None:
            gate.wait()
            try:
                results.append(take(place)[1])
            except QbcdError as error:
                results.append(type(error).__name__)

        threads = [threading.Thread(target=race) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(str, results)) == ["1", *["LeaseHeld"] * 5]
        assert current(place).fencing_token == 1

    def test_a_killed_process_loses_its_lease_at_once(self, place: Place) -> None:
        registered(place)
        with child(place, "commit", 600.0) as process:
            with pytest.raises(LeaseHeld, match=f"process {process.pid} on "):
                take(place)
            os.kill(process.pid, signal.SIGKILL)
            owner, token = taken_later(place)  # the kernel needs a moment; nobody has reaped the process yet
            assert token == 2
            with place.write() as conn:
                release(conn, place.store, STREAM, owner, token)
        with child(place, "commit", 600.0) as process:
            process.kill()
            process.wait()
            assert take(place)[1] == 4

    @pytest.mark.parametrize(("mode", "answer"), [("commit", "StateConflict"), ("check", "LeaseLost")])
    def test_a_paused_holder_cannot_commit_after_a_takeover(self, place: Place, mode: str, answer: str) -> None:
        registered(place)
        with child(place, mode, 3.0) as process:
            os.kill(process.pid, signal.SIGSTOP)
            assert taken_later(place)[1] == 2
            os.kill(process.pid, signal.SIGCONT)
            assert result_of(process) == answer
        assert (current(place).last_batch_seq, current(place).version) == (0, 0)

    def test_a_living_holder_keeps_its_lease_past_the_ttl(self, place: Place) -> None:
        registered(place)
        with child(place, "check", 2.0) as process:
            first = lease_end(place)
            wait_until(lambda: lease_end(place) > first + 2.0, what="renewals past the first end")
            with pytest.raises(LeaseHeld):
                take(place)
            assert result_of(process) == "committed"
            process.wait()
        assert current(place).last_batch_seq == 99
        with place.write() as conn:
            assert holder(conn, place.store, STREAM) is None  # released at the end

    def test_a_keeper_that_lost_its_lease_reports_it_and_spares_the_new_owner(self, place: Place) -> None:
        registered(place)
        with LeaseKeeper(place.store, STREAM, place.write, ttl=0.6) as keeper:
            keeper.check()
            with place.write() as conn:
                conn.execute(place.store.tables.lease.update().values(until=0.0))
                new_owner = Owner.mine()
                acquire(conn, place.store, STREAM, new_owner, 60.0)
            wait_until(lambda: is_lost(keeper), what="the keeper's next renewal, which fails")
        with place.write() as conn:
            found = holder(conn, place.store, STREAM)
        assert found is not None
        assert found[0] == new_owner

    def test_one_statement_claims_a_row_with_its_lease_and_batches(self, place: Place) -> None:
        row = registered(place)
        with place.write() as conn:
            assert place.store.claim(conn, "another", STREAM, None) is None  # it is foreign
            assert place.store.claim(conn, PROJECT, "another", None) is None
            claim = place.store.claim(conn, PROJECT, STREAM, None)
            assert claim == Claim(row, None, 0.0, has_batches=False)
            owner = Owner.mine()
            assert acquire_row(conn, place.store, STREAM, owner, 30.0, claim).fencing_token == 1
            place.store.add_batch(conn, header(3), 1)
        with place.write() as conn:
            found = [place.store.claim(conn, PROJECT, STREAM, after) for after in ((100, 2), (100, 3))]
            assert [one.has_batches for one in found if one] == [True, False]
            held = found[1]
            assert held is not None
            assert held.owner == str(owner)
            assert 25 < held.left <= 30
        with place.write() as conn, pytest.raises(LeaseHeld, match="works on this stream"):
            acquire_row(conn, place.store, STREAM, Owner.mine(), 30.0, held)
        with place.write() as conn:
            release(conn, place.store, STREAM, owner, 1)
        with place.write() as conn:
            claim = place.store.claim(conn, PROJECT, STREAM, None)
            assert claim is not None
            assert acquire_row(conn, place.store, STREAM, owner, 30.0, claim).fencing_token == 2
            assert holder(conn, place.store, STREAM) is not None

    def test_a_keeper_gives_its_lease_back(self, place: Place) -> None:
        registered(place)
        for token in (1, 2):
            with LeaseKeeper(place.store, STREAM, place.write) as keeper:
                assert keeper.token == token
                with place.write() as conn:
                    assert holder(conn, place.store, STREAM) is not None
            with place.write() as conn:
                assert holder(conn, place.store, STREAM) is None

    def test_an_owner_nobody_can_read_is_not_overrun(self, place: Place) -> None:
        registered(place)
        take(place)
        with place.write() as conn:
            conn.execute(place.store.tables.lease.update().values(owner="damaged"))
        with pytest.raises(StateConflict, match="cannot be read"):
            take(place)


def result_of(process: subprocess.Popen[str]) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    return process.stdout.readline().strip()
