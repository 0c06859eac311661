"""A poll of half the ranges.

Hot ranges first, the others in rotation within `max_staleness`.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.api import Project, parts_of
from qbcd.common import hooks
from qbcd.sites.context import StreamContext
from qbcd.sites.database import range_poll
from qbcd.sites.database.range_poll import RangePoll
from qbcd.state import StoredRange, StreamStore
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RANGES, ROWS = 20, 8  # ranges, and rows in each
EVERY, STALENESS = 10, 90  # seconds: between polls, and the maximal age of a range
LEARNING, POLLS = 3, 9
PER_POLL = 20  # changes
STOPPED_AFTER = 3  # ranges


class Clock:
    """The store's clock, which moves only when the test sets it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 1_000_000.0
        monkeypatch.setattr(StreamStore, "now", lambda store, conn: self.seconds)


def unseen(project: Project) -> set[int]:
    """Return the keys whose changes no poll has found yet."""
    return {int(difference.key) for difference in project.stream("s").verify()}


def ranges_of(project: Project) -> list[StoredRange]:
    site = parts_of(project).open_stream("s").site
    with site.context.reading() as conn:
        return site.context.store.ranges(conn, "s")


def change(place: Place, keys: Iterable[int]) -> None:
    place.sql(f"UPDATE t SET n = n + 1 WHERE id IN ({', '.join(map(str, keys))})")


@over("kind", ["id", *(pytest.param(kind, marks=pytest.mark.campaign) for kind in ("tlcs", "id_rcs"))], elsewhere=[])
def test_half_the_ranges_find_most_changes_and_all_in_time(
    kind: str, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """80 % of the changes are in 20 % of the ranges."""
    clock, drawn = Clock(monkeypatch), random.Random(7)
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, n integer)")
    place.insert("t", [(i, 0) for i in range(RANGES * ROWS)])
    strategy = {"type": kind, "rows_per_range": ROWS, "per_poll": RANGES // 2, "max_staleness": f"{STALENESS}s"}
    table = {"name": "s", "table": place.table("t"), "strategy": strategy, "every": f"{EVERY}s", "sinks": []}
    since: dict[int, float] = {}
    made = found = 0
    with opened(config(place.url, table), workspace, spark) as project:
        project.stream("s").prepare()
        assert len(ranges_of(project)) == RANGES
        for number in range(LEARNING + POLLS):
            hot = {drawn.randrange(4) * ROWS + drawn.randrange(ROWS) for _ in range(PER_POLL * 8 // 10)}
            cold = {drawn.randrange(4 * ROWS, RANGES * ROWS) for _ in range(PER_POLL - PER_POLL * 8 // 10)}
            change(place, hot | cold)
            new = (hot | cold) - since.keys()
            since |= dict.fromkeys(new, clock.seconds)
            clock.seconds += EVERY
            [outcome] = poll(project, "s")
            assert outcome.report is not None
            left = unseen(project)
            assert left <= since.keys()
            late = {key for key in since.keys() - left if clock.seconds - since[key] > STALENESS}
            assert not late, f"found after {STALENESS} seconds only: {late}"
            since = {key: when for key, when in since.items() if key in left}
            assert all(clock.seconds - r.last_visited <= STALENESS - EVERY for r in ranges_of(project))
            if number:  # all are overdue at the first poll
                assert outcome.report.cost.ranges <= RANGES // 2
            if number >= LEARNING:
                made, found = made + len(new), found + len(new - left)
    assert found / made >= 0.8


@pytest.mark.campaign
@over(elsewhere=[])
def test_a_pass_goes_on_after_a_stop(place: Place, workspace: Path) -> None:
    """A poll stopped between two ranges leaves the others to the next one.

    No change is found twice.
    """
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, n integer)")
    place.insert("t", [(i, 0) for i in range(RANGES * ROWS)])
    strategy = {"type": "id", "rows_per_range": 2 * ROWS, "pace": {"per_second": 1000}}  # each range is a step
    table = {"name": "s", "table": place.table("t"), "strategy": strategy, "sinks": []}
    commits, stop = itertools.count(1), threading.Event()
    with opened(config(place.url, table), workspace) as project:
        project.stream("s").prepare()
        change(place, range(RANGES * ROWS))
        hooks.register("after_commit", lambda: stop.set() if next(commits) == STOPPED_AFTER else None)
        try:
            [outcome] = project.run(["s"], once=True, stop=stop).outcomes
        finally:
            hooks.register("after_commit", None)
        assert outcome.report is not None
        assert outcome.report.counts == {"u": STOPPED_AFTER * 2 * ROWS}
        assert unseen(project) == set(range(STOPPED_AFTER * 2 * ROWS, RANGES * ROWS))
        [status] = project.status()
        assert status.visits is not None
        assert (status.visits.ranges, status.visits.visited) == (RANGES // 2, STOPPED_AFTER)
    with opened(config(place.url, table), workspace) as project:
        change(place, range(ROWS))  # in a range that this pass has visited: the next pass finds it
        for expected in ((RANGES - 2 * STOPPED_AFTER) * ROWS, ROWS):
            [outcome] = poll(project, "s")
            assert outcome.report is not None
            assert outcome.report.counts == {"u": expected}
        assert unseen(project) == set()


@over(elsewhere=[])
def test_rests_are_multiples_of_the_steps_before_them(
    place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `nice_ratio: 2`, a poll rests after each step but the last, twice as long as it took."""
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, n integer)")
    place.insert("t", [(i, 0) for i in range(RANGES * ROWS)])
    strategy = {"type": "id", "rows_per_range": ROWS, "pace": {"target": "1ms", "nice_ratio": 2}}
    table = {"name": "s", "table": place.table("t"), "strategy": strategy, "sinks": []}
    steps: list[float] = []
    rests: list[float] = []
    step = RangePoll._step

    def timed(visit: RangePoll, ranges: Sequence[StoredRange]) -> float:
        began = time.monotonic()
        spent = step(visit, ranges)
        steps.append(time.monotonic() - began)
        return spent

    monkeypatch.setattr(range_poll, "FIRST_ROWS", ROWS)
    monkeypatch.setattr(RangePoll, "_step", timed)
    monkeypatch.setattr(StreamContext, "rest", lambda site, seconds: rests.append(seconds))
    with opened(config(place.url, table), workspace) as project:
        project.stream("s").prepare()
        poll(project, "s")
    assert len(steps) > 2
    assert len(rests) == len(steps) - 1
    assert all(2 * took <= rest for took, rest in zip(steps[:-1], rests, strict=True))
