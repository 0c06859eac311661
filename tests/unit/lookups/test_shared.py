"""Searches that wait while one runs become one search; a failed one does not fail the others."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from qbcd.lookups.shared import SharedSearches, WaitingSearch
from tests.support import wait_until

KEYS = pa.table({"k0": ["1"]})


class Searches:
    """A first search that runs until `go`, and others that come meanwhile."""

    def __init__(self) -> None:
        self.shared, self.go, self.groups = SharedSearches(), threading.Event(), list[int]()
        self.failing = 0

    def work(self, group: Sequence[WaitingSearch]) -> None:
        self.groups.append(len(group))
        if len(self.groups) == 1:
            self.go.wait(60)
        if len(self.groups) <= self.failing:
            raise OSError("the source is gone")
        for one in group:
            one.partners = KEYS

    def search(self, relation: str) -> bool:
        return self.shared.join(relation, WaitingSearch(KEYS), self.work)

    def waiting(self) -> int:
        return len(self.shared._relations["r"].waiting)


def test_those_that_come_meanwhile_are_one_search() -> None:
    some = Searches()
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(some.search, "r")
        wait_until(lambda: bool(some.groups))
        others = [pool.submit(some.search, "r") for _ in range(3)]
        wait_until(lambda: some.waiting() == 3)
        assert not pool.submit(some.search, "another").result(), "another relation does not wait"
        some.go.set()
        assert not first.result()
        assert sorted(one.result() for one in others) == [False, True, True]
    assert some.groups == [1, 1, 3]


def test_after_a_failure_the_others_go_on() -> None:
    some = Searches()
    some.failing = 2
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(some.search, "r")
        wait_until(lambda: bool(some.groups))
        others = [pool.submit(some.search, "r") for _ in range(3)]
        wait_until(lambda: some.waiting() == 3)
        some.go.set()
        failed = [one for one in (first, *others) if one.exception() is not None]
        with pytest.raises(OSError, match="gone"):
            failed[0].result()
    assert len(failed) == 2
    assert some.groups == [1, 3, 2]
