"""The ranges a poll visits.

It visits the whole pass, or hot ranges first and the others in rotation, within a limit of age.
"""

from __future__ import annotations

import json
import random
from datetime import timedelta

import pytest

from qbcd.model import KeyRange
from qbcd.ranges import schedule
from qbcd.ranges.schedule import Pass


def ranges(*rows: int) -> list[KeyRange]:
    """Return adjoining ranges with these row counts, ids from 1.

    The first and the last are open.
    """
    edges = [None, *((str(i),) for i in range(1, len(rows))), None]
    return [KeyRange(i + 1, edges[i], edges[i + 1], rows=n) for i, n in enumerate(rows)]


# -- a pass ------------------------------------------------------------------------------------------------------------
def test_a_poll_without_number_visits_what_the_pass_has_not_seen() -> None:
    visits = {3: 10.0, 1: 99.0, 2: 100.0, 4: 0.0}
    assert schedule.chosen(visits, Pass(began=100.0), now=101, per_poll=None, overdue=None) == [3, 1, 4]
    assert schedule.chosen(visits, Pass(began=100.0), now=1e9, per_poll=None, overdue=1.0) == [3, 1, 4]


def test_a_pass_is_finished_when_every_range_was_seen_since_it_began() -> None:
    assert schedule.finished({}, Pass(began=100.0))
    assert schedule.finished({1: 100.0, 2: 101.0}, Pass(began=100.0))
    assert not schedule.finished({1: 100.0, 2: 99.999}, Pass(began=100.0))
    assert not schedule.finished({1: 0.0}, Pass(began=100.0))


def test_a_stopped_pass_continues() -> None:
    state, visits = Pass(began=100.0), dict.fromkeys(range(1, 8), 50.0)
    seen: list[int] = []
    for now in (100.0, 110.0, 120.0):  # three processes, each killed after some steps
        state = Pass.from_checkpoint(json.loads(json.dumps(state.as_json())))
        for one in schedule.chosen(visits, state, now=now, per_poll=None, overdue=None)[:3]:
            visits[one] = now
            state = state.visited({one: 0})
            seen.append(one)
    assert seen == list(range(1, 8)), "visited twice, left out, or in another order"
    assert schedule.finished(visits, state)


def test_a_pass_as_the_checkpoint_has_it() -> None:
    state = Pass(began=1_700_000_000.123456, rows=10**12, deletes=5, accepted=7, heat={1: 2.5, 900: 0.123})
    assert Pass.from_checkpoint(json.loads(json.dumps(state.as_json()))) == state
    assert Pass.from_checkpoint(None) == Pass()
    assert Pass.from_checkpoint({}) == Pass()


# -- heat --------------------------------------------------------------------------------------------------------------
def test_heat_grows_with_what_was_found_and_fades() -> None:
    state = Pass().visited({1: 1, 2: 1000, 3: 0})
    assert set(state.heat) == {1, 2}, "a range that never changed has heat"
    assert state.heat[1] == 1.0
    assert state.heat[1] < state.heat[2] < 20, "a bulk load outweighs all else"
    for _ in range(8):
        state = state.visited({1: 0})
    assert 0 < state.heat[1] < 0.1
    state = state.visited({1: 0})
    assert 1 not in state.heat, "a quiet range is remembered for ever"
    assert state.heat[2] == Pass().visited({2: 1000}).heat[2], "a range that was not visited has cooled"


def test_a_range_that_changes_at_every_visit_stays_below_a_bound() -> None:
    state = Pass()
    for _ in range(100):
        state = state.visited({1: 3})
    assert state.heat[1] == pytest.approx(2 / (1 - schedule.COOLING))


# -- some ranges per poll ----------------------------------------------------------------------------------------------
def test_without_heat_the_oldest_come_first_in_key_order() -> None:
    visits = {5: 30.0, 4: 10.0, 3: 20.0, 2: 10.0, 1: 40.0}
    assert schedule.chosen(visits, Pass(), now=50, per_poll=2, overdue=None) == [4, 2]
    assert schedule.chosen(visits, Pass(), now=50, per_poll=3, overdue=None) == [4, 3, 2]
    assert schedule.chosen(visits, Pass(), now=50, per_poll=9, overdue=None) == [5, 4, 3, 2, 1]


def test_hot_ranges_take_their_share_and_no_more() -> None:
    visits = {i: float(i) for i in range(1, 13)}
    state = Pass(heat={i: float(i) for i in range(5, 13)})
    taken = schedule.chosen(visits, state, now=100, per_poll=4, overdue=None)
    assert taken == [1, 10, 11, 12], "three quarters of four for the hottest, the rest for the oldest"
    assert schedule.chosen(visits, state, now=100, per_poll=1, overdue=None) == [1], "the rotation does not move"


def test_heat_of_a_removed_range_uses_no_space() -> None:
    taken = schedule.chosen({1: 1.0, 2: 2.0, 3: 3.0}, Pass(heat={77: 9.0, 3: 1.0}), now=9, per_poll=2, overdue=None)
    assert taken == [1, 3]


def test_every_overdue_range_is_visited_whatever_the_number() -> None:
    visits = {1: 0.0, 2: 95.0, 3: 10.0, 4: 40.0, 5: 40.1}
    state = Pass(heat={2: 3.0})
    assert schedule.chosen(visits, state, now=100, per_poll=2, overdue=60.0) == [1, 3, 4]
    assert schedule.chosen(visits, state, now=100, per_poll=4, overdue=60.0) == [1, 3, 4, 5]
    assert schedule.chosen(visits, state, now=100, per_poll=9, overdue=0.0) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("per_poll", [1, 2, 3, 7, 20])
def test_the_rotation_reaches_every_range(per_poll: int) -> None:
    """No matter how hot the others are."""
    visits, state = dict.fromkeys(range(20), 0.0), Pass(heat=dict.fromkeys(range(15), 50.0))
    for now in range(1, 200):
        taken = schedule.chosen(visits, state, now=now, per_poll=per_poll, overdue=None)
        assert len(taken) == len(set(taken)) == per_poll
        visits |= dict.fromkeys(taken, float(now))
        state = state.visited({one: 5 if one < 15 else 0 for one in taken})
    cold = per_poll - int(per_poll * schedule.HOT_SHARE)
    assert min(visits.values()) >= 199 - 20 / cold - 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("per_range", [0.2, 1.0, 10.0])
def test_half_the_ranges_find_four_fifths_of_skewed_changes_at_once(per_range: float, seed: int) -> None:
    """80 % of the changes in 20 % of the ranges; few per poll, or some in every range."""
    drawn, number = random.Random(seed), 100
    hot = drawn.sample(range(number), number // 5)
    cold = sorted(set(range(number)) - set(hot))
    visits, state, waiting = dict.fromkeys(range(number), 0.0), Pass(), dict.fromkeys(range(number), 0)
    made = found = 0
    for poll in range(1, 31):
        new = [drawn.choice(hot if drawn.random() < 0.8 else cold) for _ in range(int(number * per_range))]
        for one in new:
            waiting[one] += 1
        taken = schedule.chosen(visits, state, now=poll, per_poll=number // 2, overdue=8)
        assert max(poll - seen for seen in visits.values()) <= 8
        if poll > 10:  # before that, the heat is not learned yet
            made, found = made + len(new), found + sum(one in set(taken) for one in new)
        state = state.visited({one: waiting[one] for one in taken})
        visits |= dict.fromkeys(taken, float(poll))
        waiting |= dict.fromkeys(taken, 0)
    assert found / made >= 0.8


# -- steps -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rows", "wanted", "expected"),
    [
        ((5, 5, 5, 5), 10, 2),
        ((5, 5, 5, 5), 14.9, 2),
        ((5, 5, 5, 5), 1e9, 4),
        ((50, 5, 5), 10, 1),
        ((0, 0, 0, 7), 1, 3),
        ((5,), 1, 1),
    ],
)
def test_a_step_has_about_the_requested_rows(rows: tuple[int, ...], wanted: float, expected: int) -> None:
    assert [r.range_id for r in schedule.next_step(ranges(*rows), wanted)] == list(range(1, expected + 1))


def test_a_step_is_of_adjoining_ranges_only() -> None:
    one, two, _, four, five = ranges(1, 1, 1, 1, 1)
    assert schedule.next_step([one, two, four, five], 100) == [one, two]
    assert schedule.next_step([five, one], 100) == [five], "the last range ends nowhere, so none adjoins it"
    assert schedule.next_step([], 100) == []


def test_adjoining_ranges_are_read_as_one() -> None:
    step = ranges(3, 4, 5, 6)
    assert schedule.as_one(step) == KeyRange(1, None, None, 18)
    assert schedule.as_one(step[1:3]) == KeyRange(2, ("1",), ("3",), 9)
    assert schedule.as_one(step[3:]) == KeyRange(4, ("3",), None, 6)


@pytest.mark.parametrize(
    ("rows", "seconds", "expected"),
    [
        (1000, 0.5, 1000),
        (1000, 0.4, 1250),
        (1000, 0.01, 2000),  # grows at most to the double
        (1000, 0.0, 2000),
        (1000, 0.8, 625),
        (1000, 60, 500),  # and shrinks at most to the half
        (1, 60, 1),
    ],
)
def test_the_next_step_takes_about_as_long_as_wanted(rows: float, seconds: float, expected: float) -> None:
    assert schedule.paced(rows, seconds=seconds, target=0.5) == pytest.approx(expected)


def test_the_pace_settles() -> None:
    rows = 10_000.0
    for _ in range(20):
        rows = schedule.paced(rows, seconds=0.05 + rows / 100_000, target=0.5)
    assert 0.05 + rows / 100_000 == pytest.approx(0.5, rel=0.05)


# -- a clock that goes back --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("per_poll", [None, 2])
def test_a_clock_that_goes_back_stops_no_visits(per_poll: int | None) -> None:
    """An hour earlier than the last visits: all ranges are due, each once, and then again."""
    visits, state = dict.fromkeys(range(1, 6), 7200.0), Pass(began=7000.0)
    for now in (3600.0, 3610.0, 3620.0):
        counted: list[int] = []
        while len(counted) < 5:
            known = schedule.seen_by(visits, now)
            state = schedule.begun(state, known, now=now, rows=5)
            chosen = schedule.chosen(known, state, now=now, per_poll=per_poll, overdue=None)
            assert chosen
            counted += chosen
            visits |= dict.fromkeys(chosen, max(now, state.began))
            now += 1
        assert sorted(set(counted)) == [1, 2, 3, 4, 5]
        assert len(counted) <= 6


def test_due_ranges_stay_due_when_the_clock_goes_back() -> None:
    hour = timedelta(hours=1)
    assert [schedule.is_due(7200.0, hour, now) for now in (7200.0, 10799.0, 10800.0, 7199.0, 0.0)] == [
        False,
        False,
        True,
        True,
        True,
    ]
