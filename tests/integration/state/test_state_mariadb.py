"""State on MariaDB and MySQL: the project's state database, and qbcd's database in a source."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import create_engine, event, select, update
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import DBAPIError

from qbcd.errors import ConfigError, Refused, SourceError, StateConflict
from qbcd.state import Owner, ProjectState, StreamStore, acquire
from qbcd.state.dialects import facts_of
from qbcd.state.lease import LOCK_WAIT_MS
from tests.support import places
from tests.support.maria_server import MariaServer
from tests.support.maria_source import KINDS
from tests.support.places import new_place, server_of
from tests.support.project_suite import ProjectSuite
from tests.support.server_suite import Fresh, MakingSuite, StepSuite, at_once
from tests.support.state_place import PROJECT, STREAM, Place, in_source, open_place
from tests.support.state_suite import LeaseSuite, OutboxSuite, StreamRowSuite, parts, registered


@pytest.fixture(params=KINDS)
def fresh(request: pytest.FixtureRequest) -> Fresh:
    kind: str = request.param
    server = server_of(request, kind)
    return lambda: new_place(server, kind)


@pytest.fixture
def base(fresh: Fresh) -> Iterator[places.Place]:
    with fresh() as made:
        yield made


@pytest.fixture(params=[pytest.param("state database", marks=pytest.mark.campaign), "schema qbcd"])
def place(base: places.Place, request: pytest.FixtureRequest) -> Iterator[Place]:
    with open_place(base.url, base.own_schema if request.param == "schema qbcd" else None) as opened:
        yield opened


@pytest.fixture
def url(base: places.Place) -> str:
    return base.url


@pytest.fixture
def state(url: str) -> Iterator[ProjectState]:
    with ProjectState(url) as opened:
        yield opened


@pytest.mark.campaign
class TestStreamRows(StreamRowSuite):
    """On a server."""


class TestOutbox(OutboxSuite):
    """On a server."""


@pytest.mark.campaign
class TestLease(LeaseSuite):
    """On a server."""


@pytest.mark.campaign
class TestProject(ProjectSuite):
    """On a server."""


class TestSteps(StepSuite):
    """On a server."""


@pytest.mark.campaign
class TestMaking(MakingSuite):
    """On a server."""


@contextmanager
def setting(base: places.Place, name: str, value: str) -> Iterator[None]:
    """Set a server variable for the sessions that begin in the block."""
    [(before,)] = base.sql(f"SELECT @@global.{name}")
    base.sql(f"SET GLOBAL {name} = %s", [value])
    try:
        yield
    finally:
        base.sql(f"SET GLOBAL {name} = %s", [before])


def variables_of(conn: Connection, *names: str) -> list[object]:
    return [conn.exec_driver_sql(f"SELECT @@{name}").scalar() for name in names]


def test_tables_are_durable_whatever_the_servers_defaults(base: places.Place) -> None:
    base.sql(f"ALTER DATABASE {base.name} CHARACTER SET latin1 COLLATE latin1_swedish_ci")
    with setting(base, "default_storage_engine", "MyISAM"), setting(base, "innodb_default_row_format", "compact"):
        with ProjectState(base.url) as state, state.write() as conn:
            state.store.register(conn, PROJECT, "Zürich")
        with in_source(base.url, base.own_schema) as write, write() as conn:
            StreamStore(base.own_schema).create(conn)
    found = base.sql(
        "SELECT engine, row_format, table_collation, count(*) > 20 FROM information_schema.tables "
        "WHERE table_schema LIKE %s GROUP BY 1, 2, 3",
        [f"{base.name}%"],
    )
    collation = "utf8mb4_nopad_bin" if base.kind == "mariadb" else "utf8mb4_bin"
    assert found == [("InnoDB", "Dynamic", collation, 1)]
    columns = base.sql(
        "SELECT DISTINCT character_set_name FROM information_schema.columns WHERE table_schema LIKE %s AND "
        "character_set_name IS NOT NULL",
        [f"{base.name}%"],
    )
    assert columns == [("utf8mb4",)]


MODES = ["ANSI", "NO_BACKSLASH_ESCAPES", "PAD_CHAR_TO_FULL_LENGTH,PIPES_AS_CONCAT", ""]
ODD_NAME = "back\\slash 'quoted' \"twice\" %s `"


@pytest.mark.parametrize("mode", MODES)
def test_a_servers_sql_mode_does_not_matter_for_a_state(base: places.Place, mode: str) -> None:
    with setting(base, "sql_mode", mode), ProjectState(base.url) as state, state.write() as conn:
        row = state.store.register(conn, PROJECT, ODD_NAME)
        state.store.replace_ranges(conn, row, parts("k"))
        assert state.store.ranges(conn, ODD_NAME) == parts("k")
        with pytest.raises(DBAPIError, match="Data too long"):
            state.store.register(conn, PROJECT, "x" * 300)


@pytest.mark.parametrize("mode", MODES)
def test_a_servers_sql_mode_does_not_matter_for_tables_in_a_source(base: places.Place, mode: str) -> None:
    with setting(base, "sql_mode", mode), open_place(base.url, base.own_schema) as place, place.write() as conn:
        row = place.store.register(conn, PROJECT, ODD_NAME)
        place.store.replace_ranges(conn, row, parts("k"))
        assert place.store.ranges(conn, ODD_NAME) == parts("k")


def test_a_session_waits_for_locks_thirty_seconds_also_after_one_with_a_limit(state: ProjectState) -> None:
    waits = ("innodb_lock_wait_timeout", "lock_wait_timeout")
    with state.write() as conn:
        state.facts.limit_lock_waits(conn, LOCK_WAIT_MS)
        assert variables_of(conn, *waits) == [5, 30]
        session = variables_of(conn, "pseudo_thread_id")
    with state.write() as conn:
        assert variables_of(conn, *waits) == [30, 30]
        assert variables_of(conn, "pseudo_thread_id") == session  # of the pool


def test_writers_read_what_is_committed_and_readers_one_state(state: ProjectState) -> None:
    level = "tx_isolation" if state.facts.drivername.startswith("mariadb") else "transaction_isolation"
    for _ in range(2):
        with state.write() as conn:
            assert variables_of(conn, level) == ["READ-COMMITTED"]
        with state.read() as conn:
            assert variables_of(conn, level) == ["REPEATABLE-READ"]


def test_a_lock_finds_the_newest_row_whatever_the_transaction_has_read(base: places.Place) -> None:
    with open_place(base.url, base.own_schema) as place:
        row = registered(place)
        engine = create_engine(base.url.replace("://", "+pymysql://", 1), isolation_level="REPEATABLE READ")
        with pytest.raises(StateConflict, match=r"row|advanced the stream"), engine.begin() as conn:
            assert place.store.read(conn, STREAM) == row
            with place.write() as other:
                place.store.advance(other, row)
            assert place.store.read(conn, STREAM) == row
            place.store.lock(conn, STREAM, PROJECT, 0, 0)
        engine.dispose()


def test_an_update_counts_the_rows_that_it_found(place: Place) -> None:
    registered(place)
    with place.write() as conn:
        assert conn.execute(place.store.tables.layout.update().values(format_version=1)).rowcount == 1


def test_the_clock_is_the_servers_whatever_the_sessions_zone(place: Place) -> None:
    with place.write() as conn:
        clock = select(facts_of(conn).clock)
        for zone in ("+00:00", "+13:00", "-09:30", "SYSTEM"):
            conn.exec_driver_sql(f"SET time_zone = '{zone}'")
            before = time.time()
            first, second = conn.execute(clock).scalar_one(), conn.execute(clock).scalar_one()
            assert before - 1 < first < second < time.time() + 1
        conn.exec_driver_sql("SET timestamp = 1729988999.25")
        assert conn.execute(clock).scalar_one() == 1729988999.25
        conn.exec_driver_sql("SET timestamp = DEFAULT")


def test_create_needs_no_right_to_create_where_all_is_there(base: places.Place) -> None:
    with open_place(base.url, base.own_schema), base.user() as user:
        base.sql(f"GRANT SELECT ON {base.name}.* TO {user}@'%'")
        base.sql(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {base.own_schema}.* TO {user}@'%'")
        with in_source(base.url_as(user), base.own_schema) as write:
            store = StreamStore(base.own_schema)
            with write() as conn:
                store.create(conn)
                store.register(conn, PROJECT, STREAM)
            with write() as conn:
                acquire(conn, store, STREAM, Owner.mine(), 30.0)


def test_settings_of_the_url_are_kept(base: places.Place) -> None:
    query = {"init_command": "SET @mine = 7", "program_name": "mine", "read_timeout": "20"}
    with ProjectState(make_url(base.url).update_query_dict(query)) as state, state.write() as conn:
        assert conn.exec_driver_sql("SELECT @mine").scalar() == 7
        assert "STRICT_ALL_TABLES" in str(variables_of(conn, "sql_mode"))


def test_a_url_must_name_a_database(base: places.Place) -> None:
    with pytest.raises(ConfigError, match="`state` must name a database"):
        ProjectState(base.url.removesuffix(base.name))


def test_other_tables_in_a_shared_database_do_not_matter(base: places.Place) -> None:
    base.sql("CREATE TABLE stream (n int); CREATE TABLE meta (n int)")
    with ProjectState(base.url) as state, state.write() as conn:
        state.store.register(conn, state.project_id, STREAM)
    assert base.sql("SELECT count(*) FROM qbcd_stream") == [(1,)]


def test_a_cut_connection_is_an_error_once_and_then_forgotten(state: ProjectState, base: places.Place) -> None:
    with pytest.raises(SourceError, match=r"state database .* failed"), state.write() as conn:
        base.sql(f"KILL {conn.exec_driver_sql('SELECT connection_id()').scalar()}")
        state.store.register(conn, PROJECT, STREAM)
    with state.write() as conn:
        assert state.store.read(conn, STREAM) is None


def test_a_connection_cut_while_idle_is_not_even_noticed(state: ProjectState, base: places.Place) -> None:
    with state.read() as conn:
        session = conn.exec_driver_sql("SELECT connection_id()").scalar()
    base.sql(f"KILL {session}")
    with state.write() as conn:
        state.store.register(conn, PROJECT, STREAM)


def test_a_connection_cut_before_its_first_setting_is_an_error_of_the_state(
    state: ProjectState, base: places.Place
) -> None:
    def cut(driver: Any, *_: object) -> None:
        base.sql(f"KILL {driver.thread_id()}")

    event.listen(state._engine, "checkout", cut)
    with pytest.raises(SourceError, match=r"the state database .* failed: "), state.read():
        pass
    event.remove(state._engine, "checkout", cut)
    with state.read() as conn:
        assert conn.execute(select(1)).scalar_one() == 1


def test_a_deadlock_is_reported_as_busy(state: ProjectState) -> None:
    with state.write() as conn:
        for name in ("a", "b"):
            state.store.register(conn, PROJECT, name)
    gate = threading.Barrier(2)

    orders = iter([("a", "b"), ("b", "a")])

    def both() -> str:
        first, second = next(orders)
        rows = state.store.tables.stream
        with state.write() as conn:
            conn.execute(update(rows).where(rows.c.stream == first).values(version=1))
            gate.wait()
            conn.execute(update(rows).where(rows.c.stream == second).values(version=1))
        return "written"

    outcomes = sorted(at_once(2, both), key=str)
    assert outcomes[1] == "written"
    with pytest.raises(SourceError, match=r"is busy: .*(end the process that holds it, or try again)"):
        raise outcomes[0]


def test_a_table_dropped_while_the_state_is_open_is_damage(state: ProjectState, base: places.Place) -> None:
    base.sql("DROP TABLE qbcd_ack")
    with pytest.raises(Refused, match=r"qbcd_ack.*restore it from a backup"):
        state.acknowledged(STREAM)


def test_a_password_in_the_servers_own_words_is_masked(base: places.Place) -> None:
    with base.user("hunter2") as user:
        base.sql(f"GRANT ALL ON {base.name}.* TO {user}@'%'")
        with (
            ProjectState(base.url_as(user, "hunter2")) as state,
            pytest.raises(SourceError, match=r"near '\*\*\*'"),
            state.write() as conn,
        ):
            conn.exec_driver_sql("SELECT 1 + hunter2 hunter2 hunter2")


def test_missing_database_and_missing_rights_are_distinguished(base: places.Place) -> None:
    with pytest.raises(SourceError, match="Unknown database 'nowhere'"):
        ProjectState(make_url(base.url).set(database="nowhere"))
    with base.user("hunter2") as user:
        with pytest.raises(SourceError, match=r"Access denied for user .* to database") as caught:
            ProjectState(base.url_as(user, "hunter2"))
        assert "hunter2" not in str(caught.value)
        base.sql(f"GRANT SELECT ON {base.name}.* TO {user}@'%'")
        with pytest.raises(SourceError, match="CREATE command denied"):
            ProjectState(base.url_as(user, "hunter2"))


def test_a_state_on_mariadb_opens_by_the_scheme_mysql_too(mariadb: MariaServer) -> None:
    with new_place(mariadb, "mariadb") as base:
        with ProjectState(base.url.replace("mariadb:", "mysql:", 1)) as state, state.write() as conn:
            row = state.store.register(conn, PROJECT, STREAM)
            state.store.replace_ranges(conn, row, parts("k"))
        with ProjectState(base.url, create=False) as again, again.read() as conn:
            assert again.project_id == state.project_id
            assert again.store.ranges(conn, STREAM) == parts("k")


def test_a_server_that_may_lose_commits_keeps_no_state(mariadb: MariaServer) -> None:
    with new_place(mariadb, "mariadb") as base:
        base.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
        try:
            with pytest.raises(Refused, match=r"may lose commits: innodb_flush_log_at_trx_commit is 2 \(set it to 1"):
                ProjectState(base.url)
        finally:
            base.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
        ProjectState(base.url).close()
