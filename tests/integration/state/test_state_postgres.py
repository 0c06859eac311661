"""State on PostgreSQL: the project's state database, and schema `qbcd` of a source."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import SourceError, StateConflict
from qbcd.state import Owner, ProjectState, StreamStore, acquire
from tests.support import sql, wait_until
from tests.support.places import new_place
from tests.support.project_suite import ProjectSuite
from tests.support.server_suite import Fresh, MakingSuite, StepSuite
from tests.support.state_place import PROJECT, STREAM, Place, open_place
from tests.support.state_suite import LeaseSuite, OutboxSuite, StreamRowSuite, registered


@pytest.fixture(params=[None, pytest.param("qbcd", marks=pytest.mark.campaign)], ids=["state database", "schema qbcd"])
def place(database: str, request: pytest.FixtureRequest) -> Iterator[Place]:
    with open_place(database, request.param) as opened:
        yield opened


@pytest.fixture
def fresh(server: EmbeddedPostgres) -> Fresh:
    return lambda: new_place(server, "postgresql")


@pytest.fixture
def url(database: str) -> str:
    return database


@pytest.fixture
def state(url: str) -> Iterator[ProjectState]:
    with ProjectState(url) as opened:
        yield opened


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


class TestMaking(MakingSuite):
    """On a server."""


def test_a_lock_from_an_older_snapshot_is_refused(database: str) -> None:
    with open_place(database, "qbcd") as place:
        row = registered(place)
        engine = create_engine(
            make_url(database).set(drivername="postgresql+psycopg2"), isolation_level="REPEATABLE READ"
        )
        with pytest.raises(StateConflict, match="row"), engine.begin() as conn:
            conn.execute(text("SELECT 1"))
            with place.write() as other:
                place.store.advance(other, row)
            place.store.lock(conn, STREAM, PROJECT, 0, 0)
        engine.dispose()


def test_a_lease_that_was_acquired_between_the_reads_and_the_lock_of_a_claim_is_seen(database: str) -> None:
    """A policy lets the claim wait after its snapshot, while another poller acquires the lease."""
    found: list[object] = []
    with open_place(database, "qbcd") as place:
        registered(place)
        sql(database, "CREATE ROLE claimer; GRANT USAGE ON SCHEMA qbcd TO claimer")
        sql(database, "GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA qbcd TO claimer")
        body = "SELECT pg_advisory_xact_lock_shared(77); SELECT TRUE"
        sql(database, f"CREATE FUNCTION public.waits() RETURNS bool VOLATILE LANGUAGE sql AS '{body}'")
        sql(database, "CREATE POLICY slow ON qbcd.stream USING (public.waits())")
        sql(database, "ALTER TABLE qbcd.stream ENABLE ROW LEVEL SECURITY")
        engine = create_engine(make_url(database).set(drivername="postgresql+psycopg2"))

        def claim() -> None:
            with engine.begin() as conn:
                place.store.exists(conn)
                conn.execute(text("SET ROLE claimer"))
                found.append(place.store.claim(conn, PROJECT, STREAM, None))

        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        with engine.begin() as gate:
            gate.execute(text("SELECT pg_advisory_xact_lock(77)"))
            thread = threading.Thread(target=claim)
            thread.start()
            wait_until(lambda: sql(database, waiting) == [(1,)], what="the claim, which waits")
            with place.write() as conn:
                acquire(conn, place.store, STREAM, Owner.mine(), 30.0)
        thread.join()
        engine.dispose()
        assert found == [None]
        sql(database, "DROP OWNED BY claimer; DROP ROLE claimer")


def test_create_needs_no_right_to_create_where_all_is_there(database: str) -> None:
    with open_place(database, "qbcd"):
        pass
    sql(database, "CREATE ROLE poller; GRANT USAGE ON SCHEMA qbcd TO poller")
    sql(database, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA qbcd TO poller")
    engine = create_engine(make_url(database).set(drivername="postgresql+psycopg2"))
    try:
        with engine.begin() as conn:
            conn.execute(text("SET ROLE poller"))
            StreamStore("qbcd").create(conn)
            StreamStore("qbcd").register(conn, PROJECT, STREAM)
            acquire(conn, StreamStore("qbcd"), STREAM, Owner.mine(), 30.0)
    finally:
        engine.dispose()
        sql(database, "DROP OWNED BY poller; DROP ROLE poller")


def test_a_session_is_durable_and_does_not_wait_for_ever(state: ProjectState) -> None:
    with state.write() as conn:
        assert conn.execute(text("SHOW synchronous_commit")).scalar() == "on"
        assert conn.execute(text("SHOW lock_timeout")).scalar() == "30s"


def test_settings_of_the_url_are_kept_except_durability(database: str) -> None:
    sql(database, "CREATE SCHEMA elsewhere")
    query = {"options": "-c search_path=elsewhere -c synchronous_commit=off", "application_name": "mine"}
    with ProjectState(make_url(database).update_query_dict(query)) as state, state.write() as conn:
        shown = [conn.execute(text(f"SHOW {name}")).scalar() for name in ("application_name", "synchronous_commit")]
    assert shown == ["mine", "on"]
    assert sql(database, "SELECT count(*) FROM elsewhere.qbcd_meta") == [(1,)]


def test_other_tables_in_a_shared_database_do_not_matter(database: str) -> None:
    sql(database, "CREATE TABLE stream (n int); CREATE TABLE meta (n int)")
    with ProjectState(database) as state, state.write() as conn:
        state.store.register(conn, state.project_id, STREAM)
    assert sql(database, "SELECT count(*) FROM qbcd_stream") == [(1,)]


def test_a_cut_connection_is_an_error_once_and_then_forgotten(state: ProjectState, database: str) -> None:
    with pytest.raises(SourceError, match=r"\*\*\*|state database .* failed"), state.write() as conn:
        pid = conn.execute(text("SELECT pg_backend_pid()")).scalar()
        sql(database, "SELECT pg_terminate_backend(%s)", [pid])
        state.store.register(conn, PROJECT, STREAM)
    with state.write() as conn:
        assert state.store.read(conn, STREAM) is None


def test_a_connection_cut_while_idle_is_not_even_noticed(state: ProjectState, database: str) -> None:
    with state.read() as conn:
        pid = conn.execute(text("SELECT pg_backend_pid()")).scalar()
    sql(database, "SELECT pg_terminate_backend(%s, 5000)", [pid])
    with state.write() as conn:
        state.store.register(conn, PROJECT, STREAM)


def test_a_password_in_the_servers_own_words_is_masked(database: str) -> None:
    with (
        ProjectState(make_url(database).set(password="hunter2")) as state,
        pytest.raises(SourceError, match=r'invalid input syntax for type integer: "\*\*\*"'),
        state.write() as conn,
    ):
        conn.execute(text("SELECT 'hunter2'::int"))
    with (
        ProjectState(make_url(database).set(password="qbcd")) as state,
        pytest.raises(SourceError, match='relation "qbcd_nowhere" does not exist'),
        state.write() as conn,
    ):
        conn.execute(text("SELECT * FROM qbcd_nowhere"))


def test_only_the_first_line_of_a_message_of_the_server_is_shown(state: ProjectState) -> None:
    with pytest.raises(SourceError) as caught, state.write() as conn:
        conn.execute(text("SELECT 1\nFROM qbcd_nowhere"))
    assert caught.value.what.endswith(' failed: relation "qbcd_nowhere" does not exist')


def test_missing_database_and_missing_rights_are_distinguished(database: str) -> None:
    parsed = make_url(database)
    with pytest.raises(SourceError, match='database "nowhere" does not exist'):
        ProjectState(parsed.set(database="nowhere"))
    sql(database, "CREATE ROLE guest LOGIN PASSWORD 'hunter2'")
    try:
        with pytest.raises(SourceError, match="permission denied") as caught:
            ProjectState(parsed.set(username="guest", password="hunter2"))
        assert "hunter2" not in str(caught.value)
    finally:
        sql(database, "DROP ROLE guest")
