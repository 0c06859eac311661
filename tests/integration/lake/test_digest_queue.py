"""TLCS with digests in the source and a lake replica: only changed rows travel, and no change is lost.

The lake commits before the digests advance; what can happen in between is tried here and in
`tests.faults.test_kill_in_lake`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from qbcd.api import parts_of
from qbcd.common import hooks
from qbcd.errors import QbcdError, StateConflict
from qbcd.orphans import ForeignStream
from qbcd.sites.lake import digest_queue
from qbcd.sites.lake.digest_queue import DigestQueue
from qbcd.sites.lake.poll import LakePoll, TablePoll
from qbcd.sites.lake.replica.files import FileSet
from qbcd.state import takeover
from tests.support import wait_until
from tests.support.oracle import batches
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

LAKE = {"type": "tlcs", "replica": "lake", "rows_per_range": 40}
TABLE = "CREATE TABLE t (id integer PRIMARY KEY, v integer, w varchar(200))"
ROWS = 200


class Stopped(Exception):
    """Ends a poll at a hook point."""


class Queued:
    """A table of `ROWS` rows and a project with one stream of it."""

    def __init__(self, place: Place, folder: Path, **more: Any) -> None:
        self.place, self.folder = place, folder
        place.sql(TABLE)
        place.insert("t", [(i, i, "x" * 100) for i in range(ROWS)])
        self.data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": LAKE, **more})
        self.data["defaults"] |= {"baseline": "silent"}
        self.project = opened(self.data, folder)

    def prepare(self) -> Queued:
        self.project.stream("s").prepare()
        return self

    def poll(self) -> list[tuple[str, Any, Any, Any]]:
        """Poll once; return (op, id, v before, v after) of each event."""
        seen = len(self.batches())
        poll(self.project, "s")
        return [
            (e["op"], e["key"]["id"], *((e[side] or {}).get("v") for side in ("before", "after")))
            for _, batch in self.batches()[seen:]
            for e in batch
        ]

    def batches(self) -> list[tuple[str, list[dict[str, Any]]]]:
        return batches(self.folder / "out" / "changes", "s")

    def own_tables(self) -> set[str]:
        """Return the tables of qbcd's own in the source."""
        schema = self.place.own_schema
        found = self.place.sql(f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'")
        return {name.split("_")[0] for (name,) in found} & {"replica", "outbox", "queue"}


@contextmanager
def at(point: str, action: Callable[[], None]) -> Iterator[None]:
    """Run `action` once, when a poll first reaches `point`."""

    def once() -> None:
        hooks.register(point, None)
        action()

    hooks.register(point, once)
    try:
        yield
    finally:
        hooks.register(point, None)


def run(place: Place, statement: str) -> None:
    place.sql(statement)


def stop() -> None:
    raise Stopped


@over("change", [pytest.param("", id="table")])
def test_only_changed_rows_travel_and_have_old_values(change: str, place: Place, workspace: Path) -> None:
    seen = Queued(place, workspace).prepare()
    assert seen.own_tables() == {"replica", "outbox", "queue"}
    assert seen.poll() == []
    place.sql("UPDATE t SET v = -7 WHERE id = 7; DELETE FROM t WHERE id = 9; INSERT INTO t VALUES (500, 5, 'new')")
    outcome = poll(seen.project, "s")[0]
    assert outcome.report is not None
    assert outcome.report.cost.rows_shipped == 3, "three rows changed"
    (_, events), *_ = seen.batches()
    assert [(e["op"], e["key"]["id"], e["changed"]) for e in events] == [
        ("d", 9, None),
        ("u", 7, ["v"]),
        ("c", 500, None),
    ]
    assert events[0]["before"]["v"] == 9
    assert (events[1]["before"]["v"], events[1]["after"]["v"]) == (7, -7)
    assert seen.poll() == []
    assert seen.project.stream("s").verify() == []
    seen.project.stream("s").reset()
    assert seen.own_tables() == set(), "reset removes them"
    seen.project.close()


@over(
    "key", ["enum('a','b','c')", pytest.param("set('a','b')", marks=pytest.mark.campaign)], without={"postgresql": None}
)
def test_keys_that_an_expression_would_make_texts(key: str, place: Place, workspace: Path) -> None:
    """MariaDB and MySQL compare and identify them by their numbers."""
    place.sql(f"CREATE TABLE t (id {key} PRIMARY KEY, v integer); INSERT INTO t VALUES ('a', 1), ('b', 2)")
    data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": LAKE, "baseline": "silent"})
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET v = 3 WHERE id = 'b'; DELETE FROM t WHERE id = 'a'")
        poll(project, "s")
        assert project.stream("s").verify() == []
    [(_, events)] = batches(workspace / "out" / "changes", "s")
    assert [(e["op"], e["key"]["id"], e["before"]["v"]) for e in events] == [("d", "a", 1), ("u", "b", 2)]


@over("at_point", ["after_snapshot"], elsewhere=[])
def test_a_row_that_changes_while_it_travels(at_point: str, place: Place, workspace: Path) -> None:
    """The stored digest is that of the version that travelled, so the next version and the return of it are found."""
    seen = Queued(place, workspace).prepare()
    place.sql("UPDATE t SET v = -1 WHERE id = 1")
    with at(at_point, lambda: run(place, "UPDATE t SET v = -2 WHERE id = 1")):
        assert seen.poll() == [("u", 1, 1, -1)]
    assert seen.poll() == [("u", 1, -1, -2)]
    place.sql("UPDATE t SET v = 1 WHERE id = 1")
    assert seen.poll() == [("u", 1, -2, 1)]
    assert seen.poll() == []
    seen.project.close()


@over(
    "back",
    [pytest.param(True, id="reverted"), pytest.param(False, id="kept", marks=pytest.mark.campaign)],
    elsewhere=[],
)
def test_a_poll_that_stops_between_the_two_commits(back: bool, place: Place, workspace: Path) -> None:
    """The next poll finishes the digests from the queue, and compares no row that did not change."""
    seen = Queued(place, workspace).prepare()
    place.sql("UPDATE t SET v = -1 WHERE id = 1")
    with at("after_commit", stop), pytest.raises(QbcdError, match="Stopped"):
        poll(seen.project, "s")
    if back:
        place.sql("UPDATE t SET v = 1 WHERE id = 1")
    assert seen.poll() == [("u", 1, 1, -1), *([("u", 1, -1, 1)] if back else [])]
    assert seen.poll() == []
    assert seen.project.stream("s").verify() == []
    seen.project.close()


@over("kind", [pytest.param("", id="state")], elsewhere=[])
def test_a_restored_state_compares_all_rows(kind: str, place: Place, workspace: Path) -> None:
    """The digests are ahead of the replica: a row that has its digest again would otherwise be missed."""
    seen = Queued(place, workspace).prepare()
    seen.project.close()
    shutil.copytree(workspace / ".qbcd", workspace / "older")
    seen.project = opened(seen.data, workspace)
    place.sql("UPDATE t SET v = -1 WHERE id = 1")
    assert seen.poll() == [("u", 1, 1, -1)]
    seen.project.close()
    for name in (".qbcd", "out"):
        shutil.rmtree(workspace / name)
    (workspace / "older").rename(workspace / ".qbcd")
    seen.project = opened(seen.data, workspace)
    outcome = poll(seen.project, "s")[0]
    assert outcome.report is not None
    assert any("all rows were compared" in line for line in outcome.report.warnings)
    (_, events), *_ = seen.batches()
    assert [(e["op"], e["key"]["id"], e["after"]["v"]) for e in events] == [("u", 1, -1)]
    assert seen.poll() == []
    seen.project.close()


class Woken:
    """What a poller does that was overtaken while it was paused: statements for a commit of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at_read: Callable[[DigestQueue, LakePoll], object] | None = None
        read = DigestQueue.read

        def read_once(queue: DigestQueue, poll: TablePoll, asked: Any) -> FileSet:
            found, action, self.at_read = read(queue, poll, asked), self.at_read, None
            if action is not None:
                action(DigestQueue(queue.poll, queue.strategy), queue.poll)
            return found

        monkeypatch.setattr(DigestQueue, "read", read_once)


def test_a_paused_poller_fills_the_queue_while_it_is_read(
    place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, woken = Queued(place, workspace).prepare(), Woken(monkeypatch)
    place.sql("UPDATE t SET v = -1 WHERE id IN (1, 2)")

    def find(other: DigestQueue, poll: LakePoll) -> None:
        place.sql("UPDATE t SET v = 1 WHERE id = 1; UPDATE t SET v = -3 WHERE id = 3")
        other.find(poll.known_ranges(), "another commit")

    woken.at_read = find
    with pytest.raises(StateConflict, match="another poller"):
        poll(seen.project, "s")
    assert sorted(seen.poll()) == [("u", 2, 2, -1), ("u", 3, 3, -3)]
    assert seen.poll() == []
    assert seen.project.stream("s").verify() == []
    seen.project.close()


def _applies(other: DigestQueue, poll: LakePoll) -> None:
    with pytest.raises(StateConflict, match="another poller"), other._restarted("another commit"):
        raise AssertionError("it may write")


@over(
    "action, overtakes",
    [
        pytest.param(_applies, False, id="fetches"),
        pytest.param(lambda other, _: other.settle("another commit"), False, id="settles"),
        pytest.param(lambda other, _: other.restart("another commit"), True, id="restarts"),
    ],
    elsewhere=[],
)
def test_a_paused_poller_wakes_while_all_rows_travel(
    action: Callable[[DigestQueue, LakePoll], object],
    overtakes: bool,
    place: Place,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(digest_queue, "STEP_ROWS", 80)
    seen, woken = Queued(place, workspace).prepare(), Woken(monkeypatch)
    schema = place.own_schema
    found = place.sql(f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'")
    (position,) = [name for (name,) in found if name.startswith("queue_")]
    place.sql(f"UPDATE {schema}.{place.quote(position)} SET applied = 'older'")
    place.sql("UPDATE t SET v = -1 WHERE id = 1")
    woken.at_read = action
    with at("before_commit", stop), pytest.raises(QbcdError, match="another poller" if overtakes else "Stopped"):
        poll(seen.project, "s")
    place.sql("UPDATE t SET v = -2 WHERE id = 2")
    assert sorted(seen.poll()) == [("u", 1, 1, -1), ("u", 2, 2, -2)]
    assert seen.poll() == []
    assert seen.project.stream("s").verify() == []
    seen.project.close()


@over("audit", [pytest.param("1ms", id="audit", marks=pytest.mark.campaign)])
def test_an_audit_leaves_digests_of_the_rows_that_it_read(audit: str, place: Place, workspace: Path) -> None:
    seen = Queued(place, workspace, audit={"every": audit}).prepare()
    assert seen.poll() == []
    place.sql("UPDATE t SET v = -1 WHERE id = 1")
    assert seen.poll() == [("u", 1, 1, -1)]
    place.sql("UPDATE t SET v = 1 WHERE id = 1")
    assert seen.poll() == [("u", 1, -1, 1)]
    assert seen.project.stream("s").verify() == []
    seen.project.close()


@over("where", [pytest.param("v >= 0", id="where", marks=pytest.mark.campaign)])
def test_another_restriction(where: str, place: Place, workspace: Path) -> None:
    seen = Queued(place, workspace).prepare()
    place.sql("UPDATE t SET v = -1 WHERE id = 1")
    seen.project.close()
    seen.data["tables"][0]["where"] = where
    seen.project = opened(seen.data, workspace)
    assert seen.poll() == [("d", 1, 1, None)]
    place.sql("UPDATE t SET v = 1 WHERE id = 1")
    assert seen.poll() == [("c", 1, None, 1)]
    assert seen.poll() == []
    seen.project.close()


def test_tables_of_another_project_are_refused(place: Place, workspace: Path) -> None:
    seen = Queued(place, workspace).prepare()
    other = opened(seen.data, workspace / "other")
    with pytest.raises(StateConflict, match="are not this project's") as refused:
        other.stream("s").prepare()
    assert "another `schema`" in refused.value.remedy
    assert "qbcd reset s --discard --take-over" in refused.value.remedy
    other.close()
    place.sql("UPDATE t SET v = -1 WHERE id = 1")
    assert seen.poll() == [("u", 1, 1, -1)], "the refusal changed nothing"
    seen.project.close()


@over(elsewhere=[])
def test_tables_of_a_lost_state_are_taken_over(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Queued(place, workspace).prepare()
    other = opened(seen.data, workspace / "other")
    with pytest.raises(StateConflict, match="this project prepared it, so there is nothing to take over"):
        seen.project.to_reset("s", take_over=True)
    monkeypatch.setattr(takeover, "QUIET_S", 3600.0)
    foreign, watching = other.to_reset("s", take_over=True), list[str]()
    parts_of(other).progress = lambda stream, what: watching.append(what)
    assert isinstance(foreign, ForeignStream)
    assert foreign.question.startswith("schema")
    place.sql("UPDATE t SET v = -1 WHERE id = 1")
    with ThreadPoolExecutor(1) as pool, pytest.raises(StateConflict, match="has just polled it"):
        waiting = pool.submit(foreign.reset, discard=True)
        wait_until(lambda: bool(watching))
        assert seen.poll() == [("u", 1, 1, -1)]
        waiting.result()
    assert seen.own_tables() == {"replica", "outbox", "queue"}
    monkeypatch.setattr(takeover, "QUIET_S", 0.0)
    foreign.reset(discard=True)
    assert seen.own_tables() == set()
    with pytest.raises(QbcdError):
        seen.poll()  # the old project loses nothing in silence
    other.stream("s").prepare()
    assert seen.own_tables() == {"replica", "outbox", "queue"}
    assert other.stream("s").verify() == []
    for project in (seen.project, other):
        project.close()


@pytest.mark.campaign
def test_a_large_table_travels_in_steps(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step has its own transaction; the queue of a baseline holds one step at a time."""
    monkeypatch.setattr("qbcd.sites.lake.digest_queue.STEP_ROWS", 80)
    seen = Queued(place, workspace).prepare()
    place.sql("UPDATE t SET v = -v WHERE id IN (3, 150)")
    assert seen.poll() == [("u", 3, 3, -3), ("u", 150, 150, -150)]
    assert seen.project.stream("s").verify() == []
    seen.project.close()


def test_ddl_for_a_dba_and_what_check_says(place: Place, workspace: Path) -> None:
    seen = Queued(place, workspace)
    statements = "\n".join(seen.project.stream("s").ddl())
    for kind in ("replica_s_", "outbox_s_", "queue_s_"):
        assert kind in statements
    explained = [step.title for step in parts_of(seen.project).open_stream("s").site.explain(*_planned(seen), None)]
    assert "rows that differ from their digest, into the queue" in explained
    seen.project.close()


def _planned(seen: Queued) -> tuple[Any, Any]:
    from qbcd.planning import plan_of

    stream = parts_of(seen.project).open_stream("s")
    return plan_of(stream, None)[0], stream.settings
