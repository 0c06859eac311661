"""Timestamps find rows, a sweep finds deletes, and they do not disturb each other.

See docs/design/protocol.md#rule-2 and #rule-14.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import LeaseHeld
from tests.support.places import Place, over
from tests.support.project import opened, poll
from tests.support.watched_polls import ROWS, Watched, at_nth, brief, stamped

SWEEP = {"deletes": {"every": "1ms"}}


# Rule 2: the sweep has read that the key is missing; it comes back before the sweep's commit, and others want to poll.
@over()
def test_a_row_that_returns_during_its_sweep(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, "ts", **SWEEP)}) as seen:
        seen.fill()
        seen.delete(5)

        def returns() -> None:
            seen.insert(5, "back")
            with opened(seen.data, workspace) as other, pytest.raises(LeaseHeld):
                poll(other, "s")

        with at_nth("after_fetch", 2, returns):  # the first is the window's
            assert seen.ops() == [[(5, "d")]]
        assert seen.ops() == [[(5, "c")]]
        assert seen.copies["s"][5] == (5, "back", 0)
        seen.check()
        assert seen.poll() == []


# Rules 2 and 14: deleted and inserted again, each before window and sweep (0), between (1) and after them (2).
MOMENTS = {1: (0, 0), 2: (0, 1), 3: (0, 2), 4: (1, 1), 5: (1, 2), 6: (2, 2)}


@over("replica", ["source", "keys"], elsewhere=["source"])
def test_deleted_and_inserted_again_around_the_sweep(replica: str, place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, "ts", **SWEEP, replica=replica)}) as seen:
        seen.fill()

        def now(moment: int) -> None:
            for key, (deleted_at, back) in MOMENTS.items():
                if deleted_at == moment:
                    seen.delete(key)
                if back == moment:
                    seen.insert(key, f"back {moment}")

        now(0)
        with at_nth("after_commit", 1, lambda: now(1)):  # of the window, whose watermark always advances
            assert seen.ops() == [[(1, "u")], [(3, "d"), (5, "d")]]
        now(2)
        assert seen.ops() == [[(2, "u"), (3, "c"), (4, "u"), (5, "c"), (6, "u")]]
        seen.check()
        assert seen.poll() == []


# Rule 14: window and sweep make batches of their own.
def test_the_sweep_is_a_batch_of_its_own_and_only_deletes(place: Place, workspace: Path) -> None:
    ways: dict[str, dict[str, Any]] = {"s": SWEEP, "keys": {**SWEEP, "replica": "keys"}, "only": {"deletes": "only"}}
    with Watched(place, workspace, {name: stamped(place, "ts", **how) for name, how in ways.items()}) as seen:
        seen.fill()
        seen.update(3, "changed")
        seen.insert(100, "new")
        seen.delete(7)
        assert seen.ops() == seen.ops("keys") == [[(3, "u"), (100, "c")], [(7, "d")]]
        assert seen.ops("only") == [[(7, "d")]]
        seen.check()
        seen.check("keys")
        assert seen.poll() == seen.poll("keys") == seen.poll("only") == []


# Rule 14: a window has one event per key, whatever happened to it meanwhile.
@over(elsewhere=[])
def test_a_key_occurs_once_in_a_batch(place: Place, workspace: Path) -> None:
    where, ways = "n < 5", {name: stamped(place, name) for name in ("ts", "tdi")}
    with Watched(place, workspace, ways, where=where) as seen:
        seen.fill()
        for value in ("one", "two", "three"):
            seen.update(3, value)
        seen.run(f"UPDATE t SET n = 9, at = {seen.clock} WHERE id IN (4, 5)")
        seen.run(f"UPDATE t SET n = 1, at = {seen.clock} WHERE id = 4")
        seen.insert(100, "new")
        seen.update(100, "newer")
        for name in ways:
            found = seen.poll(name)
            assert brief(found) == [[(3, "u"), (4, "u"), (5, "d"), (100, "c")]]
            assert [event.reason for event in found[0]] == ["restriction_exit", None, None, None]
            assert seen.copies[name] == seen.source(where)
        assert len(seen.source()) == ROWS + 1


# The events of several steps become one batch, in the order that a consumer with unique columns needs.
@over(elsewhere=[])
def test_a_batch_of_several_steps_has_deletes_first(place: Place, workspace: Path) -> None:
    by_range = {"type": "id", "rows_per_range": 4, "pace": {"per_second": 1000}}  # each step visits one range
    with Watched(place, workspace, {"s": by_range}) as seen:
        seen.fill()
        seen.insert(0, "new")
        seen.update(5, "changed")
        seen.delete(12)
        with at_nth("after_commit", 3, lambda: None):
            [batch] = seen.poll()
        assert [(event.key, event.op) for event in batch] == [(12, "d"), (5, "u"), (0, "c")]
        seen.check()
        assert seen.poll() == []
        assert seen.outcome.report is not None
        assert seen.outcome.report.headers == []  # the batch is not open any more


# Rule 14: a row that leaves the restriction between window and sweep is not deleted.
def test_a_row_outside_of_the_restriction_is_not_swept(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, "ts", **SWEEP)}, where="n < 5") as seen:
        seen.fill()

        def leaves() -> None:
            seen.run(f"UPDATE t SET n = 9, at = {seen.clock} WHERE id = 4")

        with at_nth("after_commit", 1, leaves):
            assert seen.poll() == []
        (batch,) = seen.poll()
        assert [(event.op, event.key, event.reason) for event in batch] == [("d", 4, "restriction_exit")]
        seen.run(f"UPDATE t SET n = 0, at = {seen.clock} WHERE id = 4")
        assert seen.ops() == [[(4, "c")]]
        seen.check()
