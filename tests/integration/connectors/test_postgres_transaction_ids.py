"""Transaction ids as watermarks: rows that become visible later are candidates later."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from qbcd.connectors.watermarks import SupportsSystemMarks
from qbcd.demo.server import EmbeddedPostgres
from tests.support.pg_place import PostgresPlace
from tests.support.places import Place
from tests.support.watermark_cases import compiled, connector_of, plan_of, probed, rows, session

TABLE = "CREATE TABLE t (k integer PRIMARY KEY, v integer)"


class Poller:
    """A reader that polls a table as a strategy does.

    It reads the watermark first, then the rows since the one before, and all rows to compare.
    """

    def __init__(self, place: Place, name: str = "t") -> None:
        self.place = place
        self.plan = plan_of(probed(place, name))
        self.mark = ""
        self.known: dict[int, int] = {}
        self.poll()

    def poll(self) -> set[int]:
        """Return k of the candidates; fail if a new or changed row is not a candidate."""
        with session(self.place) as reading:
            watermark = connector_of(self.place).require(SupportsSystemMarks).system_mark(reading.connection)
        with session(self.place) as reading:
            now = dict(rows(reading, compiled(self.place, self.plan, "SELECT k, v FROM {t}")))
            seen: set[int] = set(now)
            if self.mark:
                query = "SELECT k FROM {t} WHERE QBCD_CHANGED_SINCE(:mark)"
                seen = {int(k) for (k,) in rows(reading, compiled(self.place, self.plan, query, mark=self.mark))}
        changed = {k for k, v in now.items() if self.known.get(k) != v}
        assert changed <= seen, (self.mark, changed - seen)
        self.mark, self.known = watermark, now
        return seen

    def problem(self, watermark: str | None = None) -> str:
        with session(self.place) as reading:
            conn = reading.connection
            return (
                connector_of(self.place)
                .require(SupportsSystemMarks)
                .system_mark_problem(conn, self.mark if watermark is None else watermark)
            )


def test_rows_of_finished_transactions_are_candidates_once(place: Place) -> None:
    place.sql(f"{TABLE}; INSERT INTO t VALUES (1, 0), (2, 0)")
    poller = Poller(place)
    poller.poll()
    assert poller.poll() == set()
    place.sql("UPDATE t SET v = 1 WHERE k = 2; INSERT INTO t VALUES (3, 0)")
    assert poller.poll() == {2, 3}
    poller.poll()
    assert poller.poll() == set()
    assert poller.problem() == ""


def test_rows_of_an_open_transaction_are_candidates_when_it_ends(place: Place) -> None:
    """Savepoints have ids of their own.

    A newer transaction that ends first moves no watermark past an older one.
    """
    place.sql(TABLE)
    with place.connect() as old, place.connect() as older:
        place.run(older, "INSERT INTO t VALUES (1, 0)")
        place.run(old, "INSERT INTO t VALUES (2, 0); SAVEPOINT a; INSERT INTO t VALUES (3, 0)")
        place.sql("INSERT INTO t VALUES (4, 0)")
        poller = Poller(place)
        for k in range(10, 20):
            place.sql(f"INSERT INTO t VALUES ({k}, 0)")
        assert {10, 19} <= poller.poll()
        place.run(old, "ROLLBACK TO a; INSERT INTO t VALUES (5, 0); SAVEPOINT b; INSERT INTO t VALUES (6, 0)")
        old.commit()
        assert {2, 5, 6} <= poller.poll()
        assert 3 not in poller.known
        place.run(older, "SAVEPOINT c; UPDATE t SET v = 9 WHERE k = 19")
        older.commit()
        assert {1, 19} <= poller.poll()
    poller.poll()
    assert poller.poll() == set()


def test_a_snapshot_behind_many_open_transactions_loses_none_of_them(place: Place) -> None:
    """Ids are given out far beyond the last one that ended.

    Ages are no distance from the snapshot.
    """
    place.sql(TABLE)
    poller = Poller(place)
    with ExitStack() as stack:
        open_now = [stack.enter_context(place.connect()) for _ in range(20)]
        for k, conn in enumerate(open_now):
            place.run(conn, f"INSERT INTO t VALUES ({k}, 0)")
        open_now[0].commit()
        assert poller.poll() == {0}
        for k in (19, 5):
            open_now[k].commit()
            assert k in poller.poll()
    assert set(range(1, 20)) <= poller.poll()


def test_a_prepared_transaction_keeps_the_watermark_of_transaction_ids(place: Place) -> None:
    place.sql(TABLE)
    with place.connect(autocommit=True) as conn:
        place.run(conn, "BEGIN; INSERT INTO t VALUES (1, 0); SAVEPOINT s; INSERT INTO t VALUES (2, 0)")
        place.run(conn, f"PREPARE TRANSACTION '{place.name}'")
    poller = Poller(place)
    watermark = poller.mark
    for k in range(10, 15):
        place.sql(f"INSERT INTO t VALUES ({k}, 0)")
        poller.poll()
    assert poller.mark == watermark
    place.sql(f"COMMIT PREPARED '{place.name}'")
    assert poller.poll() == {1, 2, 10, 11, 12, 13, 14}


def test_frozen_and_moved_rows_keep_the_transaction_that_wrote_them(place: Place) -> None:
    place.sql(f"{TABLE}; INSERT INTO t SELECT g, 0 FROM generate_series(1, 9) g")
    poller = Poller(place)
    place.sql("UPDATE t SET v = 1 WHERE k = 1")
    for maintenance in ("VACUUM FREEZE t", "VACUUM FULL t", "CLUSTER t USING t_pkey", "VACUUM FREEZE t"):
        place.sql(maintenance)
    assert 1 in poller.poll()
    poller.poll()
    place.sql("VACUUM FULL t")
    assert poller.poll() == set()
    # Rows of a COPY that freezes are visible as soon as they are committed.
    with place.connect() as conn, conn.cursor() as cursor:
        cursor.execute("TRUNCATE t")
        cursor.execute("COPY t FROM PROGRAM 'printf \"21\\t1\\n22\\t1\\n\"' (FREEZE)")
    assert poller.poll() == {21, 22}
    place.sql("ALTER TABLE t ALTER v TYPE bigint")  # rewrites all rows
    assert poller.poll() == {21, 22}


def test_rows_of_every_partition_are_candidates(place: Place) -> None:
    place.sql("""CREATE TABLE p (k integer, v integer, PRIMARY KEY (k)) PARTITION BY RANGE (k);
        CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
        CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20); CREATE VIEW w AS SELECT * FROM p""")
    poller = Poller(place, "p")
    place.sql("INSERT INTO p VALUES (1, 0), (11, 0)")
    assert poller.poll() == {1, 11}
    poller.poll()
    place.sql("UPDATE p SET k = 12 WHERE k = 1")
    assert poller.poll() == {12}
    place.sql("""CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw;
        CREATE TABLE q (k integer) PARTITION BY RANGE (k);
        CREATE FOREIGN TABLE q1 PARTITION OF q FOR VALUES FROM (0) TO (10) SERVER far""")
    with session(place) as reading:
        conn, marks = reading.connection, connector_of(place).require(SupportsSystemMarks)
        assert marks.system_mark_problem(conn, "", probed(place, "p")) == ""
        assert "is a view" in marks.system_mark_problem(conn, "", probed(place, "w"))
        assert "are on another server" in marks.system_mark_problem(conn, "", probed(place, "q"))


@pytest.mark.campaign
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.campaign) for n in (1, 2))])
def test_no_interleaving_hides_a_row(place: Place, seed: int) -> None:
    """Six sessions begin, write, use savepoints, prepare and end in any order, between polls."""
    chance = random.Random(seed)
    place.sql(f"{TABLE}; INSERT INTO t SELECT g, 0 FROM generate_series(0, 59) g")
    poller, prepared = Poller(place), set[str]()
    with ExitStack() as stack:
        sessions = [stack.enter_context(place.connect(autocommit=True)) for _ in range(6)]
        depth = [-1] * 6  # of savepoints; -1 is no transaction
        for step in range(400):
            i = chance.randrange(6)
            for statement in steps(chance, i, step, depth, prepared, place.name):
                place.run(sessions[i], statement)
            if chance.random() < 0.3:
                poller.poll()
        for name in sorted(prepared):
            place.sql(f"COMMIT PREPARED '{name}'")
            poller.poll()
    poller.poll()
    assert max(poller.known.values()) > 300


def steps(chance: random.Random, i: int, step: int, depth: list[int], prepared: set[str], name: str) -> Iterator[str]:
    """Yield the next statements of session `i`.

    Each session writes ten rows of its own, so that no two sessions wait for each other.
    """
    write = f"UPDATE t SET v = {step} WHERE k = {i * 10 + chance.randrange(10)}"
    if depth[i] < 0:
        mine = [p for p in prepared if p.endswith(f"_{i}")]
        if mine:
            prepared.remove(mine[0])
            yield f"{chance.choice(['COMMIT', 'ROLLBACK'])} PREPARED '{mine[0]}'"
            return
        depth[i] = 0
        yield chance.choice(["BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ"])
        return
    what = chance.choice(["write", "write", "savepoint", "back", "release", "end", "prepare"])
    if what == "savepoint":
        depth[i] += 1
        yield f"SAVEPOINT s{depth[i]}"
        yield write
    elif what in ("back", "release") and depth[i] > 0:
        yield f"{'ROLLBACK TO' if what == 'back' else 'RELEASE'} s{depth[i]}"
        depth[i] -= what == "release"
    elif what == "end":
        depth[i] = -1
        yield chance.choice(["COMMIT", "COMMIT", "ROLLBACK"])
    elif what == "prepare":
        depth[i] = -1
        prepared.add(f"{name}_{i}")
        yield f"PREPARE TRANSACTION '{name}_{i}'"
    else:
        yield write


# -- the end of 32 bits ------------------------------------------------------------------------------------------------
@contextmanager
def before_the_wrap(left: int) -> Iterator[Place]:
    """Yield a database on its own server, `left` transaction ids before the wraparound."""
    with EmbeddedPostgres.start(settings={"fsync": False, "max_prepared_transactions": 5}) as server:
        place = PostgresPlace(server.url)
        place.sql("VACUUM FREEZE")  # no row of the catalog needs an earlier id
        assert server._pg_ctl("stop").returncode == 0
        data, first = server.directory / "data", 2**32 - left
        status = data / "pg_xact" / f"{first // 2**20:04X}"
        status.write_bytes(bytes(2**18))
        os.chown(status, data.stat().st_uid, data.stat().st_gid)
        reset = [str(server.bin / "pg_resetwal"), "-f", "-x", str(first), "-u", str(first - 1000), str(data)]
        assert server._run(reset).returncode == 0
        assert server._pg_ctl("start", "-l", str(server.directory / "log")).returncode == 0
        yield place


@pytest.mark.campaign
def test_ids_after_the_wraparound_are_distinguished() -> None:
    with before_the_wrap(60) as place:
        place.sql(f"{TABLE}; INSERT INTO t SELECT g, 0 FROM generate_series(0, 9) g")
        poller = Poller(place)
        assert int(poller.mark) < 2**32
        with place.connect() as old:
            place.run(old, "INSERT INTO t VALUES (100, 0)")
            for k in range(120):
                place.sql(f"UPDATE t SET v = v + 1 WHERE k = {k % 10}")
                assert k % 10 in poller.poll()
            old.commit()
        assert 100 in poller.poll()
        poller.poll()
        assert int(poller.mark) > 2**32
        assert poller.poll() == set()
        now = int(poller.mark)
        assert "it went back" in poller.problem(str(now + 10))
        assert "are ambiguous" in poller.problem(str(now - 1_000_000_001))
        assert poller.problem(str(now - 999_999_000)) == poller.problem("") == ""
