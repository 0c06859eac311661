"""Lookups with `missing: hold`: events wait for their partner, in order by key, for every reader."""

from __future__ import annotations

import json
import random
import signal
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from qbcd.api import parts_of
from qbcd.errors import Refused, StateConflict
from qbcd.run import reset_stream
from qbcd.sites import context as site_context
from qbcd.spark_source import register
from qbcd.state import LeaseKeeper, LeaseLost, ProjectState
from qbcd.status import latest_events
from tests.integration.lookups.scene import events, looked_up
from tests.integration.lookups.test_killed import killed_at
from tests.support.pausing import Paused, at
from tests.support.places import Place, over
from tests.support.project import opened, poll

HOLD = {"on": {"customer_no": "no"}, "take": ["sk"], "missing": "hold"}


def made(place: Place) -> None:
    """Create relation and table; customer 1 is there."""
    place.sql(
        "CREATE TABLE customer (sk bigint PRIMARY KEY, no integer);"
        "CREATE TABLE sales (id integer PRIMARY KEY, customer_no bigint, amount integer);"
        "INSERT INTO customer VALUES (1001, 1)"
    )


def shown(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return op, key, amount and partner of events."""
    rows = [(one, one["after"] or one["before"]) for one in found]
    return [
        (one["op"], one["key"]["id"], row["amount"], (one["lookup"]["customer"] or {}).get("sk")) for one, row in rows
    ]


@over("strategy", ["mds", pytest.param("id_rcs", marks=pytest.mark.campaign)], elsewhere=())
def test_events_wait_in_order_by_key(strategy: str, place: Place, workspace: Path) -> None:
    made(place)
    data = looked_up(place, HOLD, strategy=strategy)
    with opened(data, workspace) as project:
        stream = project.stream("sales")
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30), (4, NULL, 40)")
        poll(project)
        assert sorted(shown(events(workspace))) == [("c", 1, 10, 1001), ("c", 4, 40, None)]
        with pytest.raises(Refused, match="contain 2 events that wait"):
            stream.resend("out")
        with pytest.raises(Refused, match="2 events wait for a row of a lookup"):
            stream.reset()
        place.sql("UPDATE sales SET customer_no = 1, amount = 21 WHERE id = 2")
        place.sql("UPDATE sales SET amount = 11 WHERE id = 1")
        poll(project)
        assert shown(events(workspace))[2:] == [("u", 1, 11, 1001)], "the later event of a waiting key waits too"
        place.sql("INSERT INTO customer VALUES (1002, 2)")
        poll(project)
        assert shown(events(workspace))[3:] == [("c", 2, 20, 1002), ("u", 2, 21, 1001)]
        place.sql("DELETE FROM sales WHERE id = 3")
        poll(project)
        assert len(events(workspace)) == 5
        place.sql("INSERT INTO customer VALUES (1003, 3)")
        poll(project)
        found = events(workspace)
        assert shown(found)[5:] == [("c", 3, 30, 1003), ("d", 3, 30, 1003)]
        assert len({one["event_id"] for one in found}) == 7
        assert [one["source"]["batch_seq"] for one in found] == [1, 1, 2, 3, 4, 6, 7]
        lines = latest_events(parts_of(project).stream_to_read("sales"), 9)
        assert [json.loads(line) for _, some in lines for line in some] == found
        batches = [row for batch in stream.poll() for row in batch.rows()]
        assert [one["event_id"] for one in batches] == [one["event_id"] for one in found]
        poll(project)
        assert len(events(workspace)) == 7


def test_events_that_went_without_lookup_do_not_wait_later(place: Place, workspace: Path) -> None:
    """The stream names no lookup for a while: a waiting copy of what was delivered then would come a second time."""
    made(place)
    data = looked_up(place, HOLD)
    for named, rows in ((True, "(1, 1, 10)"), (False, "(2, 2, 20)"), (True, "(3, 1, 30)")):
        config = {**data, "tables": [{**data["tables"][0], "enrich": ["customer"] if named else []}]}
        with opened(config, workspace) as project:
            project.prepare()
            place.sql(f"INSERT INTO sales VALUES {rows}")
            poll(project)
            poll(project)
    place.sql("INSERT INTO customer VALUES (1002, 2)")
    with opened(data, workspace) as project:
        poll(project)
        poll(project)
    assert [one["key"]["id"] for one in events(workspace)] == [1, 2, 3]


@over(elsewhere=())
def test_a_reset_that_was_interrupted(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events that waited would come after the rows of the new epoch; a late reset would forget that epoch."""
    made(place)
    with opened(looked_up(place, HOLD), workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 2, 10)")
        poll(project)
        site = parts_of(project).stream_to_read("sales").site
        with monkeypatch.context() as patched:
            patched.setattr(ProjectState, "forget", killed)
            with pytest.raises(SystemExit):
                reset_stream(site, discard=True)
        place.sql("INSERT INTO customer VALUES (1002, 2)")
        project.prepare()
        place.sql("UPDATE sales SET amount = 11")
        poll(project)
        assert shown(events(workspace)) == [("u", 1, 11, 1002)]
        with monkeypatch.context() as patched:
            patched.setattr(LeaseKeeper, "check", lost)
            patched.setattr(site, "forget", lambda held: None)
            with pytest.raises(LeaseLost):
                reset_stream(site, discard=True)
        assert parts_of(project).state.acknowledged("sales")


def killed(*_args: object) -> None:
    raise SystemExit


def lost(keeper: LeaseKeeper) -> None:
    keeper.check_token(None)


POINTS = (
    "before_enrichment",
    "enrichment_written",
    "after_enrichment",
    "before_release",
    "after_release",
    "before_settlement",
    "before_publish",
    "after_publish",
    "after_acknowledge",
)


@over("point", [pytest.param(one, marks=pytest.mark.campaign) for one in POINTS], elsewhere=())
def test_killed_while_events_go(point: str, place: Place, workspace: Path) -> None:
    """Two events of one key wait; a process that sends them dies at each point in turn, the next one goes on."""
    made(place)
    data = looked_up(place, HOLD)
    with opened(data, workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 2, 10), (2, 1, 20), (3, 2, 30)")
        poll(project)
        place.sql("UPDATE sales SET amount = amount + 1")
        poll(project)
    place.sql("INSERT INTO customer VALUES (1002, 2); INSERT INTO sales VALUES (4, 2, 40), (5, 3, 50)")
    kills = 0
    while killed_at(point, 1, data, workspace) == -signal.SIGKILL and kills < 3:
        kills += 1
    with opened(data, workspace) as project:
        poll(project)
        poll(project)
    found = shown(events(workspace))
    assert kills
    assert len(found) == 7, "each event once"
    assert [one for one in found if one[1] == 1] == [("c", 1, 10, 1002), ("u", 1, 11, 1002)]
    assert [one for one in found if one[1] == 3] == [("c", 3, 30, 1002), ("u", 3, 31, 1002)]


def test_a_paused_poller_stores_nothing_of_a_removed_batch(
    place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lease ended after the check; another one has held the event, sent it, and removed its batch."""
    made(place)
    data = looked_up(place, HOLD, retain="0s")
    with opened(data, workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 2, 10)")
        late = Paused(project, "sales")
        with monkeypatch.context() as patched, at("enrichment_written", late.pause):
            patched.setattr(LeaseKeeper, "_beat", lambda self: self._stop.wait())
            patched.setattr(site_context, "LEASE_SECONDS", 20.0)
            late.start()
        context = parts_of(project).open_stream("sales").site.context
        with context.writing() as conn:
            conn.execute(context.store.tables.lease.update().values(until=0.0))
        for statement in ("SELECT 1", "INSERT INTO customer VALUES (1002, 2)", "INSERT INTO sales VALUES (2, 1, 20)"):
            place.sql(statement)
            with opened(data, workspace) as another:
                poll(another)
        error = late.finish()
    for _ in range(2):
        with opened(data, workspace) as project:
            poll(project)
    assert shown(events(workspace)) == [("c", 1, 10, 1002), ("c", 2, 20, 1001)], "once"
    assert isinstance(error, StateConflict)


def by_key(found: list[dict[str, Any]]) -> dict[int, list[tuple[Any, ...]]]:
    """Return the changes of each key, in order."""
    rows = defaultdict(list)
    for one in found:
        rows[one["key"]["id"]].append((one["op"], one["before"], one["after"]))
    return dict(rows)


class Writes:
    """Drawn writes to `sales`, and customers that come late."""

    def __init__(self, place: Place, drawn: random.Random) -> None:
        self.place, self.drawn = place, drawn
        self.there, self.next_id, self.customers = set[int](), 1, {1}

    def write(self) -> None:
        """Insert, update, delete a sale, or change its key."""
        drawn, choice = self.drawn, self.drawn.random()
        customer, amount = drawn.randrange(1, 6), drawn.randrange(99)
        if not self.there or choice < 0.45:
            self.place.sql(f"INSERT INTO sales VALUES ({self._new()}, {customer}, {amount})")
            return
        one = drawn.choice(sorted(self.there))
        if choice < 0.7:
            self.place.sql(f"UPDATE sales SET customer_no = {customer}, amount = {amount} WHERE id = {one}")
            return
        self.there.remove(one)
        if choice < 0.85:
            self.place.sql(f"UPDATE sales SET id = {self._new()} WHERE id = {one}")
        else:
            self.place.sql(f"DELETE FROM sales WHERE id = {one}")

    def _new(self) -> int:
        self.there.add(self.next_id)
        self.next_id += 1
        return self.next_id - 1

    def come(self, share: float) -> None:
        """Insert a share of the customers that are missing."""
        for no in range(2, 6):
            if no not in self.customers and self.drawn.random() < share:
                self.customers.add(no)
                self.place.sql(f"INSERT INTO customer VALUES ({1000 + no}, {no})")


@over(
    "strategy, seed",
    [pytest.param(strategy, seed, marks=pytest.mark.campaign) for strategy in ("mds", "id_rcs") for seed in range(2)],
)
def test_drawn_histories_with_kills(strategy: str, seed: int, place: Place, workspace: Path) -> None:
    """By key the events are those of a stream that holds none, in order and once; a mirror ends as the table."""
    drawn = random.Random(seed)
    made(place)
    data = looked_up(place, HOLD, strategy=strategy, key_change="pair")
    data["sinks"] |= {
        "plain": {"type": "jsonl", "path": "plain"},
        "copy": {
            "type": "database",
            "url": f"duckdb:///{workspace / 'copy.duckdb'}",
            "table": "sales",
            "mode": "mirror",
        },
    }
    data["defaults"]["sinks"] = ["out", "copy"]
    bare = {key: value for key, value in data["tables"][0].items() if key != "enrich"}
    data["tables"].append({**bare, "name": "bare", "sinks": ["plain"]})
    writes, kills = Writes(place, drawn), 0
    with opened(data, workspace) as project:
        project.prepare()
    for step in range(8):
        for _ in range(drawn.randrange(6)):
            writes.write()
        writes.come(1 if step == 7 else 0.2)
        for _ in range(drawn.randrange(3)):
            kills += killed_at(drawn.choice(POINTS), drawn.randrange(1, 3), data, workspace) == -signal.SIGKILL
        with opened(data, workspace) as project:
            poll(project)
    with opened(data, workspace) as project:
        poll(project)
        status = {one.stream: one.held for one in project.status()}
    assert status == {"sales": 0, "bare": 0}
    assert kills
    found = events(workspace)
    plain = [json.loads(line) for file in sorted((workspace / "plain").rglob("*.jsonl")) for line in file.open()]
    assert by_key(found) == by_key(plain)
    assert len({one["event_id"] for one in found}) == len(found)
    for one in found:
        assert one["lookup"]["customer"]["sk"] == 1000 + (one["after"] or one["before"])["customer_no"]
    pairs = defaultdict(set)
    for one in found:
        if one["pair_id"]:
            pairs[one["pair_id"]].add(one["source"]["batch_seq"])
    assert all(len(batches) == 1 for batches in pairs.values())
    import duckdb

    with duckdb.connect(str(workspace / "copy.duckdb"), read_only=True) as copy:
        rows = copy.execute("SELECT id, customer_no, amount FROM sales ORDER BY id").fetchall()
    assert rows == place.sql("SELECT id, customer_no, amount FROM sales ORDER BY id")


@pytest.mark.campaign
@over(elsewhere=())
def test_what_is_refused_while_events_wait(place: Place, workspace: Path) -> None:
    """Rows of the replica would come before events that wait; without the lookup these would be lost."""
    made(place)
    data = looked_up(place, HOLD)
    with opened(data, workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 2, 10)")
        poll(project)
        stream = project.stream("sales")
        with pytest.raises(Refused, match="contain 1 event that waits"):
            stream.resend("out")
        with pytest.raises(Refused, match="1 event waits for a row of a lookup"):
            stream.reset()
    del data["tables"][0]["enrich"]
    with opened(data, workspace) as project, pytest.raises(Refused, match="that `enrich` no longer names"):
        poll(project)
    one = {"id": "all", "stream": "sales", "condition": "id > 0"}
    data["subscriptions"] = {"streams": {"sales": "all"}, "inline": [one]}
    with opened(data, workspace) as project, pytest.raises(Refused, match="not for subscriptions"):
        poll(project)
    data = looked_up(place, {**HOLD, "missing": "null"})
    with opened(data, workspace) as project:
        poll(project)
    assert shown(events(workspace)) == [("c", 1, 10, None)]


@over(
    "kind",
    ["text", pytest.param("numeric", marks=pytest.mark.campaign)],
    elsewhere=(),
    without={"mariadb": ["numeric"], "mysql": ["numeric"]},
)
def test_keys_that_cannot_be_compared_here(kind: str, place: Place, workspace: Path) -> None:
    """Two numeric values, or texts of many collations, can be equal and look different.

    What subscriptions of another stream take for equal does not change that.
    """
    if place.kind == "postgresql":
        place.sql("CREATE EXTENSION citext")
    folded = "citext" if place.kind == "postgresql" else "varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    place.sql(
        "CREATE TABLE customer (sk bigint PRIMARY KEY, no integer);"
        f"CREATE TABLE sales (id {folded if kind == 'text' else kind} PRIMARY KEY, customer_no bigint, amount integer)"
    )
    data = looked_up(place, HOLD)
    data["tables"].append({"name": "others", "source": "shop", "table": "customer", "strategy": "mds"})
    data["subscriptions"] = {"inline": [{"id": "one", "stream": "others"}], "equality": "bytes"}
    with opened(data, workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES ('1', 2, 10)")
        with pytest.raises(Refused, match=r"cannot wait .* column id can treat different values as equal"):
            poll(project)


@pytest.mark.campaign
@pytest.mark.parametrize("strategy", ["mds", "id_rcs"])
def test_spark_reads_the_same(strategy: str, place: Place, workspace: Path, spark: Any) -> None:
    """A batch without the events that wait, and a later one with them; no rows of the replica meanwhile."""
    made(place)
    register(spark)
    data = looked_up(place, HOLD, strategy=strategy)
    (workspace / "qbcd.yaml").write_text(json.dumps(data))

    def read() -> list[tuple[Any, ...]]:
        reader = spark.read.format("qbcd").option("config", str(workspace / "qbcd.yaml"))
        rows = reader.load("sales").collect()
        return sorted((row["_commit_version"], row["_change_type"], row["id"], row["amount"]) for row in rows)

    with opened(data, workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 1, 10), (2, 2, 20)")
        poll(project)
        assert read() == [(1, "insert", 1, 10)]
        place.sql("INSERT INTO customer VALUES (1002, 2)")
        poll(project)
        assert read() == [(1, "insert", 1, 10), (2, "insert", 2, 20)]


@over(
    "overload",
    ["top", *(pytest.param(one, marks=pytest.mark.campaign) for one in ("first", "sample", "cluster"))],
    elsewhere=(),
)
def test_overload_decides_what_waits(overload: str, place: Place, workspace: Path) -> None:
    """1,000 keys do not fit into the memory; each poll searches as many as fit, until none waits."""
    made(place)
    place.sql("INSERT INTO customer VALUES " + ", ".join(f"({1000 + i}, {i})" for i in range(2, 901)))
    lookup = {"on": {"customer_no": "no"}, "take": ["sk"], "memory": 32 << 10, "overload": overload}
    with opened(looked_up(place, lookup), workspace) as project:
        project.prepare()
        rows = [(i, i % 1000 + 1, i) for i in range(1000)] + [(2000 + i, i % 10 + 500, i) for i in range(200)]
        place.sql("INSERT INTO sales VALUES " + ", ".join(map(str, rows)))
        poll(project)
        first = events(workspace)
        [status] = project.status()
        assert 0 < len(first) < 1200 == len(first) + status.held
        if overload == "top":
            assert sum(one["key"]["id"] >= 2000 for one in first) == 200, "the keys of most events"
        if overload == "sample":
            assert status.estimates[0].startswith("lookup customer: about ")
            assert 700 < int(status.estimates[0].split()[3]) < 1000, "900 of 1,000"
        polls = 0
        while project.status()[0].held:
            poll(project)
            polls += 1
    found = events(workspace)
    assert polls > 1
    assert sorted(one["key"]["id"] for one in found) == sorted(key for key, *_ in rows)
    assert all(
        one["lookup"]["customer"] == ({"sk": 1000 + no} if no <= 900 else None)
        for one in found
        for no in [one["after"]["customer_no"]]
    )
