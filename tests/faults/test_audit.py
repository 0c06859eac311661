"""Audits find exactly the changes that a timestamp missed; guards count them.

See docs/design/protocol.md#rule-2, #rule-14, #rule-17, #rule-19.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.api import parts_of
from qbcd.errors import GuardTripped
from qbcd.status import stream_status
from tests.support.places import Place, over
from tests.support.stamped_scene import StampedScene
from tests.support.watched_polls import Watched, at_nth, stamped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AUDIT = {"every": "1ms"}
OLD = "'2001-01-01 00:00:00'"


def ops_of(found: list[list[Any]]) -> list[list[tuple[str, int, str | None]]]:
    """Return op, key and reason of every event, batch by batch."""
    return [[(e.op, e.key, e.reason) for e in sorted(batch, key=lambda e: e.key)] for batch in found]


def unseen(seen: Watched) -> None:
    """Make an update, an exit, a delete and an insert that no timestamp shows."""
    seen.run("UPDATE t SET v = 'by hand' WHERE id = 5")
    seen.run("UPDATE t SET n = 9 WHERE id = 6")
    seen.delete(7)
    seen.run(f"INSERT INTO t (id, v, at) VALUES (300, 'restored', {OLD})")


# Rules 14 and 19: rows at or past the watermark belong to the window; deleted keys are a batch of their own.
@over("name", ["ts", "tdi"], elsewhere=["ts"])
def test_changes_that_no_window_shows(name: str, place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, name)}, where="n < 5", audit=AUDIT) as seen:
        seen.fill()
        unseen(seen)

        def pending() -> None:
            seen.update(8, "past the watermark")
            seen.insert(301, "past it too")
            seen.run(f"UPDATE t SET n = 9, at = {seen.clock} WHERE id = 9")

        with at_nth("after_commit", 1, pending):  # of the window, whose watermark always advances
            first, deletes = seen.poll()
        assert ops_of([first, deletes]) == [
            [("u", 5, "audit"), ("d", 6, "audit"), ("c", 300, "audit")],
            [("d", 7, "audit")],
        ]
        assert [e.before for e in first] == [(6, "old 6", 0), (5, "old 5", 0), None]
        assert ops_of(seen.poll()) == [[("u", 8, None), ("d", 9, "restriction_exit"), ("c", 301, None)]]
        seen.check()
        assert seen.poll() == []
        assert seen.project.stream("s").verify() == []


@over(elsewhere=[])
def test_keys_alone_are_audited_by_keys(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, "ts", replica="keys")}, audit=AUDIT) as seen:
        seen.fill()
        seen.poll()
        unseen(seen)
        assert ops_of(seen.poll()) == [[("c", 300, "audit")], [("d", 7, "audit")]]
        assert seen.poll() == []


@over(elsewhere=[])
def test_it_comes_at_its_interval(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, "ts")}, audit={"every": "1h"}) as seen:
        seen.fill()
        unseen(seen)
        assert seen.poll() == []
        ago = stream_status(parts_of(seen.project).open_stream("s")).audited_ago
        assert ago is not None
        assert ago < 3600
        titles = [step.title for step in seen.project.stream("s").explain()]
        assert [t for t in titles if t.startswith("audit")] == [
            "audit: compare all rows before the watermark with the replica, into the outbox",
            "audit: find deleted keys, into the outbox",
        ]
        found = seen.project.stream("s").verify()
        assert {(d.op, d.key) for d in found} == {("u", "5"), ("u", "6"), ("c", "300")}
        assert found.unseen is not None
        assert (found.unseen.keys, found.unseen.by) == (("7",), "audit")


# Rule 17: rows that a sweep finds outside `where` do not count as deleted; the audit after it counts them.
@pytest.mark.parametrize("way", ["ts", pytest.param("ts_spark", marks=pytest.mark.campaign)])
def test_the_guards_of_a_sweep_count_no_rows_that_left_the_restriction(
    way: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    guards = {"max_delete_fraction": 0.2}
    with StampedScene(database, workspace, way, spark, where="n < 5", guards=guards) as scene:
        scene.begin()
        scene.place.sql("UPDATE t SET n = 9 WHERE id IN (2, 4, 5, 6, 7)")  # their timestamps stay
        scene.poll()
        before = len(scene.seen())
    with StampedScene(database, workspace, way, spark, where="n < 5", guards=guards, audit=AUDIT) as scene:
        with pytest.raises(GuardTripped, match="would deliver 5 deletes of"):
            scene.poll()
        scene.poll(accept_deletes=True)
        events = [(e["op"], e["key"]["id"], e["reason"]) for b in list(scene.seen().values())[before:] for e in b]
        assert events == [("d", key, "audit") for key in (2, 4, 5, 6, 7)]
        assert scene.project.stream("s").verify() == []


# Rule 17: guards count two steps as one audit, even if a process dies between them.
@over(elsewhere=[])
def test_guards_count_both_steps(place: Place, workspace: Path) -> None:
    guards = {"max_delete_fraction": 0.3}
    with Watched(place, workspace, {"s": stamped(place, "ts")}, where="n < 5", audit=AUDIT, guards=guards) as seen:
        seen.fill()
        seen.run("UPDATE t SET n = 9 WHERE id IN (1, 2)")
        seen.run("DELETE FROM t WHERE id IN (3, 4)")
        for _ in range(2):
            with pytest.raises(GuardTripped, match="4 deletes of 12 rows"):
                seen.poll()
        assert ops_of(seen.fresh()) == [[("d", 1, "audit"), ("d", 2, "audit")]]
        assert ops_of(seen.poll(accept_deletes=True)) == [[("d", 3, "audit"), ("d", 4, "audit")]]
        seen.check()
        seen.run("DELETE FROM t WHERE id = 8")
        assert ops_of(seen.poll()) == [[("d", 8, "audit")]]


@pytest.mark.campaign
@over(elsewhere=[])
def test_a_lake_replica(place: Place, workspace: Path, spark: SparkSession) -> None:
    with StampedScene(place.url, workspace, "ts_spark", spark, where="n < 5", audit=AUDIT) as scene:
        scene.begin()
        scene.change()
        scene.poll()
        before = scene.source()
        place.sql("UPDATE t SET v = 'by hand' WHERE id = 5; UPDATE t SET n = 9 WHERE id = 6")
        place.sql(f"INSERT INTO t (id, v, at) VALUES (300, 'restored', {OLD})")

        def pending() -> None:
            place.sql(f"UPDATE t SET v = 'past it', at = {scene.now} WHERE id = 8")
            place.sql(f"UPDATE t SET n = 9, at = {scene.now} WHERE id = 9; DELETE FROM t WHERE id = 10")

        seen = len(scene.seen())
        with at_nth("after_commit", 2, pending):  # of the sweep
            scene.poll()
        assert scene.project.stream("s").verify() == []  # rows past the watermark are pending
        (found,) = list(scene.seen().values())[seen:]
        assert {(e["op"], e["key"]["id"], e["reason"]) for e in found} == {
            ("u", 5, "audit"),
            ("d", 6, "audit"),
            ("d", 10, "audit"),
            ("c", 300, "audit"),
        }
        assert [e["before"]["v"] for e in found if e["key"]["id"] == 5] == [r[1] for r in before if r[0] == 5]
        scene.poll()
        *_, last = scene.seen().values()
        assert {(e["op"], e["key"]["id"], e["reason"]) for e in last} == {("u", 8, None), ("d", 9, "restriction_exit")}
        scene.poll()
        assert len(scene.seen()) == seen + 2
        assert "for an audit" in " ".join(step.title for step in scene.project.stream("s").explain()[-2:])
        assert scene.project.stream("s").verify() == []
