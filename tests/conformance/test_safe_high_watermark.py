"""The connectors' reads of the safe high watermark: clock, open transactions, other writers."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import psycopg2
import pymysql
import pytest

from qbcd.connectors.facts import HighWater
from qbcd.connectors.watermarks import SupportsSystemMarks, SupportsWatermarks
from qbcd.demo.server import EmbeddedPostgres
from tests.support.maria_server import MariaServer
from tests.support.pg_place import PostgresPlace
from tests.support.places import Place, new_place, over
from tests.support.watermark_cases import connector_of, probed, session

NOW = {
    "postgresql": "SELECT to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')",
    "family": "SELECT date_format(convert_tz({}, @@session.time_zone, '+00:00'), '%Y-%m-%d %H:%i:%s.%f')",
}
SECOND = timedelta(seconds=1)


def read_high_water(place: Place, url: str = "") -> HighWater:
    with session(place, url) as reading:
        return connector_of(place).require(SupportsWatermarks).high_water(reading.connection)


def clock(place: Place, conn: Any = None) -> datetime:
    """Return the server's clock, or the beginning of the transaction on `conn`."""
    what = "clock_timestamp()" if place.kind == "postgresql" else "sysdate(6)"
    if conn is not None:
        what = "now()" if place.kind == "postgresql" else "now(6)"
    query = NOW["postgresql" if place.kind == "postgresql" else "family"].format(what)
    rows = place.sql(query) if conn is None else place.run(conn, query)
    return datetime.fromisoformat(rows[0][0])


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


@over()
def test_the_clock_is_a_text_of_the_source_in_utc(place: Place) -> None:
    before, found, after = clock(place), read_high_water(place), clock(place)
    assert before <= datetime.fromisoformat(found.clock) <= after
    assert len(found.clock) == len("2031-02-03 04:05:06.123456")
    assert found.held == ""
    assert found.oldest is None or len(found.oldest) == len(found.clock)


@over(elsewhere=[])
def test_an_open_transaction_is_not_younger_than_its_own_clock(place: Place) -> None:
    place.sql("CREATE TABLE t (k integer PRIMARY KEY)")
    with place.connect() as writer:
        place.run(writer, "INSERT INTO t VALUES (1)")
        began = clock(place, writer)
        time.sleep(0.3)  # the server refreshes its list of transactions every tenth of a second
        found = read_high_water(place)
        assert found.oldest is not None
        assert datetime.fromisoformat(found.oldest) <= began < datetime.fromisoformat(found.clock)
        assert began - datetime.fromisoformat(found.oldest) < 3 * SECOND


@over(elsewhere=[])
def test_a_statement_that_runs_is_open_too(place: Place) -> None:
    begun = clock(place)
    sleep = "SELECT pg_sleep(60)" if place.kind == "postgresql" else "SELECT sleep(60)"
    with place.connect(autocommit=True) as conn:
        number = place.run(conn, "SELECT pg_backend_pid()" if place.kind == "postgresql" else "SELECT connection_id()")

        def run() -> None:
            with contextlib.suppress(psycopg2.Error, pymysql.err.Error):  # the test stops it
                place.run(conn, sleep)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            until(
                lambda: (at := read_high_water(place).oldest) is not None and datetime.fromisoformat(at) < clock(place)
            )
            oldest = read_high_water(place).oldest
            assert oldest is not None
            assert begun - 3 * SECOND < datetime.fromisoformat(oldest)
        finally:
            stop = "SELECT pg_terminate_backend({})" if place.kind == "postgresql" else "KILL QUERY {}"
            place.sql(stop.format(number[0][0]))
            thread.join()


@over(elsewhere=[])
def test_a_prepared_transaction_holds_the_watermark_after_its_session(place: Place) -> None:
    place.sql("CREATE TABLE t (k integer PRIMARY KEY)")
    name = place.name
    if place.kind == "postgresql":
        prepare = f"BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION '{name}'"
        end = f"COMMIT PREPARED '{name}'"
    else:
        prepare = f"XA START '{name}'; INSERT INTO t VALUES (1); XA END '{name}'; XA PREPARE '{name}'"
        end = f"XA COMMIT '{name}'"
    with place.connect(autocommit=True) as conn:
        place.run(conn, prepare)
    try:
        assert read_high_water(place).held == "1 prepared transactions are open"
    finally:
        until(lambda: ended(place, end))
    assert read_high_water(place).held == ""
    assert len(place.sql("SELECT k FROM t")) == 1


def ended(place: Place, statement: str) -> bool:
    """Run `statement` on a prepared transaction; return False if the server refuses it.

    The server refuses while the session that prepared the transaction still holds it.
    """
    try:
        with place.connect(autocommit=True) as conn:
            place.run(conn, statement)
    except (psycopg2.Error, pymysql.err.Error):
        return False
    return True


# -- PostgreSQL's own --------------------------------------------------------------------------------------------------
def test_an_idle_session_and_those_of_other_databases_hold_nothing(place: Place) -> None:
    other = place.at("postgres")
    with place.connect(autocommit=True) as idle, other.connect() as elsewhere:
        place.run(idle, "SELECT 1")
        place.run(elsewhere, "SELECT 1")
        assert read_high_water(place).oldest is None
        assert read_high_water(other).oldest is not None


def test_a_second_read_in_one_transaction_is_fresh(place: Place) -> None:
    with session(place) as reading, place.connect() as writer:
        connector = connector_of(place)
        assert connector.require(SupportsWatermarks).high_water(reading.connection).oldest is None
        place.run(writer, "SELECT 1")
        assert connector.require(SupportsWatermarks).high_water(reading.connection).oldest is not None


def test_a_session_of_the_replication_protocol_is_reported_once_it_writes(place: Place) -> None:
    place.sql("CREATE TABLE t (k integer PRIMARY KEY)")
    conn = psycopg2.connect(place.url, replication="database")
    try:
        place.run(conn, "SELECT 1")
        assert read_high_water(place).blind == ""
        place.run(conn, "INSERT INTO t VALUES (1)")
        assert "1 sessions do not show when they began" in read_high_water(place).blind  # the server does not show it
        conn.commit()
        assert read_high_water(place).blind == ""
    finally:
        conn.close()


def test_sessions_that_a_role_may_not_see_are_reported(place: Place) -> None:
    with place.user() as user:
        own = place.url_as(user)
        with place.at(place.name).connect() as writer:
            place.run(writer, "SELECT 1")
            until(lambda: read_high_water(place, own).blind.startswith("1 "))  # the creator's session has ended by then
            found = read_high_water(place, own)
            assert (
                found.blind == "1 sessions do not show when they began (pg_read_all_stats shows those of other roles)"
            )
            assert found.oldest is None
            place.sql(f"GRANT pg_read_all_stats TO {user}")
            found = read_high_water(place, own)
            assert found.blind == ""
            assert found.oldest is not None
            place.sql(f"REVOKE pg_read_all_stats FROM {user}")
        until(lambda: read_high_water(place, own).blind == "")


def test_a_session_that_hides_its_activity_is_reported(place: Place) -> None:
    with place.connect() as writer:
        place.run(writer, "SET track_activities = off")
        place.run(writer, "SELECT 1")
        assert "1 sessions do not show" in read_high_water(place).blind
        # It reports again, but did not when this transaction began.
        place.run(writer, "SET track_activities = on")
        place.run(writer, "SELECT 1")
        assert "1 sessions do not show" in read_high_water(place).blind
        writer.commit()
        place.run(writer, "SELECT 1")
        assert read_high_water(place).blind == ""
        assert read_high_water(place).oldest is not None


# -- other writers ----------------------------------------------------------------------------------------------------
def other_writer(place: Place, table: str = "t", url: str = "") -> str:
    described = probed(place, table)
    with session(place, url) as reading:
        return connector_of(place).require(SupportsWatermarks).not_only_writer(reading.connection, described)


@over(elsewhere=[])
def test_a_server_by_itself_is_its_tables_only_writer(place: Place) -> None:
    place.sql("CREATE TABLE t (k integer PRIMARY KEY); CREATE VIEW v AS SELECT * FROM t")
    assert other_writer(place) == other_writer(place, "v") == ""
    with place.user() as user:
        place.grant("SELECT", "t", user)
        if place.kind == "mysql":
            place.sql(f"GRANT SELECT ON performance_schema.* TO {user}@'%'")
        assert other_writer(place, url=place.url_as(user)) == ""


def test_foreign_tables_and_stored_queries_are_written_elsewhere(place: Place) -> None:
    place.sql("""CREATE EXTENSION file_fdw; CREATE SERVER f FOREIGN DATA WRAPPER file_fdw;
        CREATE FOREIGN TABLE "a ""f" (k integer) SERVER f OPTIONS (filename '/dev/null');
        CREATE TABLE p (k integer) PARTITION BY LIST (k); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
        CREATE FOREIGN TABLE p2 PARTITION OF p FOR VALUES IN (2) SERVER f OPTIONS (filename '/dev/null');
        CREATE VIEW v AS SELECT * FROM p UNION ALL SELECT * FROM p1; CREATE VIEW w AS SELECT * FROM v;
        CREATE TABLE parent (k integer); CREATE TABLE child (); ALTER TABLE child ADD k integer;
        ALTER TABLE child INHERIT parent; CREATE MATERIALIZED VIEW m AS SELECT * FROM parent""")
    foreign = "public.p2 is a foreign table, to which another server writes"
    assert [other_writer(place, name) for name in ("p", "v", "w")] == [foreign] * 3
    assert other_writer(place, 'a "f') == 'public.a "f is a foreign table, to which another server writes'
    assert [other_writer(place, name) for name in ("p1", "parent", "child")] == [""] * 3
    assert other_writer(place, "m") == "public.m is a materialized view, whose rows are older than their timestamps"
    place.sql("""CREATE VIEW r AS WITH RECURSIVE c(k) AS (SELECT k FROM parent UNION SELECT k + 1 FROM c WHERE k < 3)
        SELECT * FROM c; ALTER FOREIGN TABLE "a ""f" INHERIT parent""")
    assert "foreign table" in other_writer(place, "r")


def test_another_servers_log_written_by_a_tool_is_reported(place: Place) -> None:
    place.sql("CREATE TABLE t (k integer PRIMARY KEY)")
    place.sql("SELECT pg_replication_origin_create('tool_1')")
    try:
        assert "replication origin tool_1" in other_writer(place)
    finally:
        place.sql("SELECT pg_replication_origin_drop('tool_1')")
    assert other_writer(place) == ""


@contextmanager
def subscribed(url: Callable[[str], str]) -> Iterator[tuple[Place, Place]]:
    """Make two databases; the second one subscribes to table p of the first, by partition."""
    first, second = PostgresPlace(url("one")), PostgresPlace(url("two"))
    first.create()
    second.create()
    for place in (first, second):
        place.sql("""CREATE TABLE p (k integer PRIMARY KEY, ts timestamptz DEFAULT now()) PARTITION BY LIST (k);
            CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); CREATE TABLE t (k integer PRIMARY KEY)""")
    first.sql("CREATE PUBLICATION pub FOR TABLE p")
    first.sql("SELECT pg_create_logical_replication_slot('slot', 'pgoutput')")
    options = "create_slot = false, slot_name = 'slot'"
    second.sql(f"CREATE SUBSCRIPTION \"su%b\" CONNECTION '{first.url}' PUBLICATION pub WITH ({options})")
    yield first, second
    second.sql('ALTER SUBSCRIPTION "su%b" DISABLE; ALTER SUBSCRIPTION "su%b" SET (slot_name = NONE)')
    second.sql('DROP SUBSCRIPTION "su%b"')


@pytest.mark.campaign
def test_replication_and_standbys_are_reported() -> None:
    with EmbeddedPostgres.start(settings={"wal_level": "logical", "fsync": False}) as server:
        with subscribed(server.url_of) as (first, second):
            first.sql("INSERT INTO p VALUES (1)")
            until(lambda: second.sql("SELECT k FROM p") == [(1,)])
            said = "subscription su%b writes changes of another server to public.{}"
            assert [other_writer(second, name) for name in ("p", "p1", "t")] == [
                said.format("p"),
                said.format("p1"),
                "",
            ]
            assert other_writer(first, "p") == ""
            # the one long statement of a walsender is not a transaction
            until(lambda: read_high_water(first).oldest is None)
            assert read_high_water(first).blind == ""
        signal = server.directory / "data" / "standby.signal"
        signal.touch()
        signal.chmod(0o666)
        assert server._pg_ctl("restart", "-m", "fast").returncode == 0
        assert other_writer(first, "p") == "this server is a standby, to which only its primary writes"
        found = read_high_water(first)
        assert found.blind == "this server is a standby, which does not show the primary's transactions"
        with session(first) as reading:
            problem = connector_of(first).require(SupportsSystemMarks).system_mark_problem(reading.connection, "")
        assert "standby" in problem


@pytest.mark.usefixtures("mariadb")  # skips if none is installed
@pytest.mark.campaign
def test_replicas_of_these_servers_are_reported() -> None:
    with MariaServer.start(settings={"server_id": 2}) as server, new_place(server, "mariadb") as place:
        place.sql("CREATE TABLE t (k integer PRIMARY KEY)")
        assert other_writer(place) == ""
        place.sql("SET GLOBAL read_only = ON")
        assert other_writer(place) == "this server is read-only, as a replica is"
        place.sql("SET GLOBAL read_only = OFF")
        place.sql("CHANGE MASTER 'far' TO master_host = '127.0.0.1', master_port = 1, master_user = 'x'")
        assert other_writer(place) == ""
        place.sql("START SLAVE 'far'")
        until(lambda: other_writer(place) == "this server is a replica, which applies changes of another server")
        place.sql("STOP SLAVE 'far'")
    cluster: dict[str, str | bool] = {"wsrep_on": True, "wsrep_provider": "none", "binlog_format": "ROW"}
    with MariaServer.start(settings=cluster) as server, new_place(server, "mariadb") as place:
        place.sql("CREATE TABLE t (k integer PRIMARY KEY)")
        assert other_writer(place) == "this server is a Galera node, and other nodes write too"
