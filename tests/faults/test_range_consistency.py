"""Polls without a shared snapshot: one statement reads each range, in a state of its own.

See docs/design/protocol.md#rule-9, #rule-10 and #rule-19. The server is PostgreSQL, whose connector exports no snapshot
here; each reader sees the state of its own statement, as on databases without that ability. Tears between ranges must
heal, and nothing may be stored that was not read together with its rows.
"""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg2
import pytest

from qbcd.check import check_stream
from qbcd.connectors import CONNECTORS
from qbcd.errors import GuardTripped
from qbcd.state import ProjectState, StoredRange
from tests.support import connect, sql
from tests.support.by_range import GATED, ByRange, meanwhile
from tests.support.oracle import batches, copy_of
from tests.support.pausing import at
from tests.support.project import config, opened, poll
from tests.support.scene import STREAM, Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _by_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONNECTORS.places, "postgresql", "tests.support.by_range:ByRange")


def ranges_of(folder: Path) -> list[StoredRange]:
    """Return the stored ranges of the stream, in key order."""
    with ProjectState(f"sqlite:///{folder}/.qbcd/state.db") as state, state.read() as conn:
        return state.store.ranges(conn, STREAM)


@pytest.fixture
def gated(database: str) -> str:
    """The database with `gate` in it."""
    sql(database, GATED)
    return database


# Rule 10 and docs/design/pitfalls.md#b3: writes between checksum and fetch are in the batch and in the stored checksum.
@pytest.mark.parametrize(
    "points",
    [
        ("after_checksums",),
        pytest.param(("after_snapshot", "after_fetch", "before_commit"), marks=pytest.mark.campaign),
    ],
)
def test_writes_during_a_poll(points: tuple[str, ...], database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        for point in points:
            scene.change()
            between = scene.source()
            with at(point, scene.change):
                scene.poll()
            scene.poll()
            scene.check()
            now = scene.source()
            scene.put(between)
            with at(point, lambda now=now: scene.put(now)):  # type: ignore[misc]
                scene.poll()
            scene.poll()
            scene.check()
        assert scene.project.stream(STREAM).verify() == []


def test_stored_checksums_are_those_of_the_fetched_rows(database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.make_table()
        scene.prepare()
        sql(database, "UPDATE t SET v = 'one' WHERE id IN (2, 7, 11)")
        with at("after_checksums", lambda: sql(database, "UPDATE t SET v = 'two' WHERE id IN (2, 7)")):
            first = scene.poll()
        assert first.report is not None
        assert first.report.cost.dirty == 3
        [events] = scene.check().values()
        assert {e["key"]["id"]: e["after"]["v"] for e in events} == {2: "two", 7: "two", 11: "one"}
        assert {e["source"]["consistency"] for e in events} == {"range"}
        again = scene.poll()
        assert again.report is not None
        assert (again.report.header, again.report.cost.dirty) == (None, 0)

        # A-B-A: the checksum saw a change, the fetch none
        sql(database, "UPDATE t SET v = 'three' WHERE id = 2")
        with at("after_checksums", lambda: sql(database, "UPDATE t SET v = 'two' WHERE id = 2")):
            none = scene.poll()
        assert none.report is not None
        assert (none.report.header, none.report.cost.dirty) == (None, 1)
        assert len(scene.check()) == 1


# docs/design/pitfalls.md#b2: between the reads of two ranges, one key moves ahead of the reader and one behind it.
def test_keys_that_move_between_ranges_mid_read(
    gated: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CONNECTORS.places, "postgresql", "tests.support.by_range:OneByOne")

    def move() -> None:
        sql(gated, "UPDATE t SET id = 15 WHERE id = 3; UPDATE t SET id = 0 WHERE id = 10")

    with Scene(gated, workspace, "id_rcs", spark, where="public.gate(id)") as scene:
        scene.make_table()
        scene.prepare()
        sql(gated, "UPDATE t SET n = 1; INSERT INTO stop VALUES (6)")
        poller = threading.Thread(target=scene.poll, daemon=True)
        with meanwhile(gated, lambda: None, move):  # the checksum of the middle range waits first, then its rows
            poller.start()
            poller.join(60)
        assert not poller.is_alive()
        [torn] = scene.seen().values()
        found = {(e["op"], e["key"]["id"]) for e in torn}
        assert {("u", 3), ("c", 15), ("d", 10)} < found, "the reads were not torn, so nothing is shown"
        assert ("c", 0) not in found
        scene.poll()
        healed = scene.check()
        assert {(e["op"], e["key"]["id"]) for e in list(healed.values())[-1]} == {("d", 3), ("c", 0)}
        assert scene.project.stream(STREAM).verify() == []


# Guards count the fetched rows, not those of the checksums.
def test_guards_use_what_was_read(database: str, workspace: Path, spark: SparkSession) -> None:
    guards = {"max_delete_fraction": 0.3, "allow_empty": False}
    with Scene(database, workspace, "id_rcs", spark, guards=guards) as scene:
        scene.make_table()
        scene.prepare()
        rows = scene.source()
        scene.put([])
        with at("after_checksums", lambda: scene.put(rows)):
            outcome = scene.poll()  # all rows seemed deleted
        assert outcome.report is not None
        assert outcome.report.header is None

        sql(database, "UPDATE t SET v = 'new'")
        rows = scene.source()
        before = scene.fingerprint()
        with (
            at("after_checksums", lambda: sql(database, "DELETE FROM t WHERE id > 6")),
            pytest.raises(GuardTripped, match="6 deletes of 12 rows"),
        ):
            scene.poll()
        assert scene.fingerprint() == before
        sql(database, "UPDATE t SET v = 'newer'")
        with at("after_checksums", lambda: scene.put([])), pytest.raises(GuardTripped, match="is empty now"):
            scene.poll()
        assert scene.fingerprint() == before
        scene.put(rows)
        scene.poll()
        assert len(scene.check()) == 1


# Rule 11: ranges are split in one state and fetched in another, here an empty one.
def test_children_are_fetched_in_another_state(gated: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(gated, workspace, "id_rcs", spark, where="public.gate(id)") as scene:
        scene.make_table()
        scene.prepare()
        before = ranges_of(workspace)
        sql(gated, "INSERT INTO t SELECT g, 'grown' FROM generate_series(100, 139) g; UPDATE t SET n = 2 WHERE id = 1")
        sql(gated, "INSERT INTO stop VALUES (120)")
        poller = threading.Thread(target=scene.poll, daemon=True)
        with meanwhile(gated, lambda: None, lambda: sql(gated, "DELETE FROM t WHERE id > 4")):  # checksum, then bounds
            poller.start()
            poller.join(60)
        assert not poller.is_alive()
        after = ranges_of(workspace)
        assert len(after) > len(before), "nothing was cut"
        assert after[0].range_id == before[0].range_id
        children = [r for r in after if r.range_id > before[-1].range_id]
        assert [(r.rows, r.checksum) for r in children] == [(0, 0)] * len(children)
        assert sum(r.rows for r in after) == 8, "the middle range, whose checksum was unchanged, is not read"
        scene.poll()
        assert sum(r.rows for r in ranges_of(workspace)) == 4
        scene.check()
        sql(gated, "INSERT INTO t SELECT g, 'back' FROM generate_series(90, 150) g")
        scene.poll()
        scene.check()
        assert scene.project.stream(STREAM).verify() == []


# Rule 16: a confirmed change of the captured definition compares values, even if rows change meanwhile.
def test_accepted_source(database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        monkeypatch.setattr(ByRange, "encoder_version", 2)
        scene.change()
        with at("after_snapshot", scene.change):
            scene.poll(accept_source=True)
        scene.poll()
        scene.check()
        scene.change()
        scene.poll()
        scene.check()
        assert scene.project.stream(STREAM).verify() == []


# Rule 19: only differences that remain when they are read again are reported. A row that changes back while it is read
# the second time has remained.
@pytest.mark.parametrize(("waits", "listed"), [(1, "4"), pytest.param(2, "24", marks=pytest.mark.campaign)])
def test_verify_reads_again(waits: int, listed: str, gated: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(gated, workspace, "id_rcs", spark, where="public.gate(id)") as scene:
        scene.make_table()
        scene.prepare()
        sql(gated, "UPDATE t SET v = 'away' WHERE id = 2; UPDATE t SET v = 'changed' WHERE id = 4")
        sql(gated, "INSERT INTO stop VALUES (3)")
        found: list[Any] = []
        reader = threading.Thread(target=lambda: found.extend(scene.project.stream(STREAM).verify()), daemon=True)
        back = [lambda: None] * (waits - 1) + [lambda: sql(gated, "UPDATE t SET v = 'old 2' WHERE id = 2")]
        with meanwhile(gated, *back):
            reader.start()
            reader.join(60)
        assert not reader.is_alive()
        assert sorted((d.op, d.key) for d in found) == [("u", key) for key in listed]


def test_reports_of_the_consistency(database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        steps = scene.project.stream(STREAM).explain()
        assert [s.title for s in steps if s.title.startswith("checksums")] == [
            "checksums, connection 1 of 2",
            "checksums, connection 2 of 2",
        ]
        assert "each range by one statement" in steps[-1].title
        assert [f.message for f in check_stream(scene.work()) if f.message.startswith("id_rcs: each key range")]
        assert [h.consistency for h in scene.sealed()] == ["range"]


SLOTS = 40


def write(url: str, seed: int, stop: threading.Event, failed: list[BaseException]) -> None:
    """Run a writer: inserts, which make ranges grow, updates, deletes, and key changes."""
    draw = random.Random(seed)
    fresh = 10_000 * (seed + 1)
    try:
        with connect(url, autocommit=True) as conn, conn.cursor() as cursor:
            while not stop.is_set():
                key, kind = draw.randint(1, 900), draw.randint(1, 10)
                if kind <= 3:
                    fresh += 1
                    cursor.execute("INSERT INTO w VALUES (%s, %s, 0)", (fresh, f"new {fresh}"))
                elif kind <= 6:
                    cursor.execute("UPDATE w SET v = v || 'x', n = n + 1 WHERE id BETWEEN %s AND %s", (key, key + 3))
                elif kind <= 7:
                    cursor.execute("DELETE FROM w WHERE id = %s", (key,))
                else:  # mostly into another range, and sometimes back
                    there = -(SLOTS * seed + draw.randint(1, SLOTS))
                    old, new = (key, there) if draw.random() < 0.6 else (there, key)
                    try:
                        cursor.execute("UPDATE w SET id = %s WHERE id = %s", (new, old))
                    except psycopg2.errors.UniqueViolation:
                        continue
                time.sleep(0.002)
    except BaseException as error:  # noqa: BLE001 -- raised again in the test
        failed.append(error)


@pytest.mark.campaign
def test_polls_among_writers_converge(database: str, workspace: Path, spark: SparkSession) -> None:
    sql(database, "CREATE TABLE w (id bigint PRIMARY KEY, v text, n int)")
    sql(database, "INSERT INTO w SELECT g, 'old', 0 FROM generate_series(1, 900) g")
    copy = copy_of(database, "w", ["id"])
    table = {
        "name": STREAM,
        "table": "public.w",
        "strategy": {"type": "id_rcs", "rows_per_range": 60},
        "baseline": "events",
    }
    stop, failed = threading.Event(), []  # type: ignore[var-annotated]
    team = [threading.Thread(target=write, args=(database, n, stop, failed), daemon=True) for n in range(3)]
    with opened(config(database, table, source={"connections": 2}), workspace, spark) as project:
        for one in team:
            one.start()
        try:
            project.stream(STREAM).prepare()
            first = len(ranges_of(workspace))
            for _ in range(5):
                poll(project, STREAM)
        finally:
            stop.set()
            for one in team:
                one.join(30)
        assert not failed
        grown = len(ranges_of(workspace))
        assert grown > first, "no range was cut"
        poll(project, STREAM)
        [idle] = poll(project, STREAM)
        assert idle.report is not None
        assert (idle.report.header, idle.report.cost.dirty) == (None, 0)
        copy.replay(batches(workspace / "out/changes", STREAM))
        assert copy.differences() == []
        assert project.stream(STREAM).verify() == []
