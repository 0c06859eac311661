"""Sessions on PostgreSQL: rights, visible state, life time, and one message per failure."""

from __future__ import annotations

import socket
import time
import traceback
from collections.abc import Iterator

import pytest
from sqlalchemy import make_url

from qbcd.catalog.source import Source
from qbcd.connectors import connector_for
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.errors import ConfigError, MissingPrivilege, QbcdError, Refused, SchemaChanged, SourceError
from qbcd.model import Statement
from tests.support import sql
from tests.support.pg_source import PG, probe, source_of


@pytest.fixture
def shop(database: str) -> Iterator[Source]:
    sql(database, "CREATE TABLE t (k int PRIMARY KEY, v text); INSERT INTO t VALUES (1, '50% off')")
    source = source_of(database)
    yield source
    source.close()


def test_a_reader_cannot_write_and_sees_one_state(shop: Source, database: str) -> None:
    with shop.read("orders") as session:
        assert session.one("SELECT v, v LIKE '%off' AS off FROM public.t") == ("50% off", True)
        sql(database, "INSERT INTO t VALUES (2, 'b')")
        assert session.one("SELECT count(*) FROM public.t")[0] == 1
        name = session.one("SELECT current_setting('application_name'), current_setting('search_path')")
        assert tuple(name) == ("qbcd/orders", "pg_catalog")
    for attempt in (
        "INSERT INTO public.t VALUES (3)",
        "SELECT 1; SET TRANSACTION READ WRITE; DELETE FROM public.t",
        "DROP TABLE public.t",
    ):
        with pytest.raises(SourceError, match=r"read-only|read-write"), shop.read("orders") as session:
            session.run(attempt)
    with shop.read("orders") as session:
        assert session.one("SELECT count(*) FROM public.t")[0] == 2
        # a second transaction of the same session would be read-only too
        assert session.one("SELECT current_setting('default_transaction_read_only')")[0] == "on"


def test_settings_of_the_role_damage_no_value_and_hide_no_row(shop: Source, database: str) -> None:
    sql(database, "CREATE TABLE g (j jsonb); INSERT INTO g SELECT '{\"a\": 1}' FROM generate_series(1, 5000)")
    sql(database, "CREATE INDEX ON g USING gin (j)")
    place = database.rsplit("/", 1)[1]
    for setting in ("standard_conforming_strings = off", "gin_fuzzy_search_limit = 1", "enable_seqscan = off"):
        sql(database, f"ALTER DATABASE {place} SET {setting}")
    found = "SELECT count(*) FROM g WHERE j @> '{\"a\": 1}'"
    assert sql(database, found)[0][0] < 5000
    with shop.read("orders") as session:
        assert session.one(found.replace("FROM ", "FROM public."))[0] == 5000
    with shop.write("orders") as session:
        value = {"v": '{"a\\\\b": "c\\\\n"}'}
        assert dict(session.one(Statement("SELECT CAST(%(v)s AS text) AS v", value))._mapping) == value


@pytest.mark.parametrize("error", [Refused("by itself"), ValueError("by itself")])
def test_an_error_is_reported_though_the_session_has_ended(error: Exception, shop: Source, database: str) -> None:
    """Otherwise a refusal would look like an unreachable source, which is retried."""
    with pytest.raises(type(error), match="by itself") as caught, shop.read("orders") as session:
        sql(database, f"SELECT pg_terminate_backend({session.one('SELECT pg_backend_pid()')[0]}, 5000)")
        raise error
    assert caught.value is error


def _all_ended(database: str) -> None:
    until = time.monotonic() + 10
    ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'qbcd/orders'"
    while sql(database, ours)[0][0] and time.monotonic() < until:
        time.sleep(0.05)
    assert sql(database, ours)[0][0] == 0


def test_sessions_of_a_poll_go_on_where_others_have_ended(shop: Source, database: str) -> None:
    me, left = "SELECT pg_backend_pid()", "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    wide = "SELECT current_setting('search_path'), current_setting('work_mem'), to_regclass('pg_temp.own') IS NULL"
    with shop.pooled():
        with shop.write("orders") as session:
            first, plain = session.one(me)[0], session.one("SELECT current_setting('work_mem')")[0]
            session.run("CREATE TEMP TABLE own (k int)")
            session.run("SET work_mem = '77MB'; SELECT pg_advisory_lock(7)")
        with shop.write("orders") as session:
            assert session.one(me)[0] == first
            assert tuple(session.one(wide)) == ("pg_catalog", plain, True)
            assert session.one(left)[0] == 0
            with shop.write("orders") as other:  # at the same time
                assert other.one(me)[0] != first
            session.run("INSERT INTO public.t VALUES (2, 'b')")
            session.rollback()
        with shop.read("orders") as session:
            assert session.one(me)[0] != first
            assert session.one("SELECT count(*), current_setting('transaction_read_only') FROM public.t") == (1, "on")
        with shop.write("orders", steady=True) as session:
            assert session.one("SELECT current_setting('transaction_isolation')")[0] == "repeatable read"
        with pytest.raises(SourceError), shop.write("orders") as session:
            session.run("SELECT 1 / 0")
        sql(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'qbcd/orders'")
        _all_ended(database)  # the server ends sessions asynchronously
        with shop.write("orders") as session:
            assert session.one("SELECT current_setting('transaction_isolation')")[0] == "read committed"
    _all_ended(database)
    with shop.read("orders", level="READ COMMITTED") as session:
        assert session.one("SELECT current_setting('transaction_isolation')")[0] == "read committed"
    with shop.write("orders") as session:
        again = session.one(me)[0]
    with shop.write("orders") as session:
        assert session.one(me)[0] != again


def test_readers_on_an_exported_snapshot_see_its_state(shop: Source, database: str) -> None:
    with shop.read("orders") as exporter:
        table = probe(exporter, "t")
        exporter.run(PG.sessions.lock_against_rewrite(table) or "")
        name = PG.require(SupportsSnapshots).export_snapshot(exporter.connection)
        sql(database, "INSERT INTO t VALUES (2, 'b')")
        with shop.read("orders", snapshot=name) as reader:
            seen = reader.one(
                "SELECT count(*), current_setting('transaction_isolation'), current_setting('DateStyle') FROM public.t"
            )
        assert tuple(seen) == (1, "repeatable read", "ISO, YMD")
    with pytest.raises(SourceError, match="next poll starts again"), shop.read("orders", snapshot=name) as reader:
        reader.one("SELECT 1")
    for bad in ("", "x'; DROP TABLE t; --"):
        with pytest.raises(ValueError, match="exported snapshot"):
            PG.require(SupportsSnapshots).snapshot_pins(bad)


def test_a_writer_commits_at_the_end_or_not_at_all(shop: Source) -> None:
    with shop.write("orders") as session:
        sent = Statement("INSERT INTO public.t VALUES (%(k)s, %(v)s || '%%')", {"k": 2, "v": "x"})
        assert session.run(sent) == 1
        level = session.one("SELECT current_setting('transaction_isolation'), current_setting('synchronous_commit')")
        assert tuple(level) == ("read committed", "on")
    with pytest.raises(RuntimeError), shop.write("orders") as session:
        session.run("INSERT INTO public.t VALUES (3, '')")
        raise RuntimeError
    with pytest.raises(SourceError), shop.write("orders") as session:
        session.run("INSERT INTO public.t VALUES (4, '')")
        session.run("INSERT INTO public.t VALUES (4, '')")
    with shop.write("orders") as session:
        session.run("INSERT INTO public.t VALUES (5, '')")
        session.rollback()
    with shop.read("orders") as session:
        assert [tuple(r) for r in session.rows("SELECT k, v FROM public.t ORDER BY k")] == [(1, "50% off"), (2, "x%")]


def test_no_session_is_left_behind(shop: Source, database: str) -> None:
    for _ in range(3):
        with shop.read("orders"), shop.write("orders"):
            pass
    open_sessions = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'qbcd/%%' AND datname = current_database()"
    )
    deadline = time.monotonic() + 5
    while sql(database, open_sessions.replace("%%", "%"))[0][0] and time.monotonic() < deadline:
        time.sleep(0.02)
    assert sql(database, open_sessions.replace("%%", "%")) == [(0,)]


def test_the_clock_is_the_sources(shop: Source) -> None:
    with shop.read("orders") as session:
        one = PG.catalog.clock_ms(session.connection)
        session.one("SELECT pg_sleep(0.02)")
        two = PG.catalog.clock_ms(session.connection)
    assert 20 <= two - one < 5000
    assert abs(two / 1000 - time.time()) < 60


def failure(source: Source, statement: str = "SELECT 1") -> QbcdError:
    with pytest.raises(QbcdError) as raised, source.read("orders") as session:
        session.rows(statement)
    return raised.value


def test_messages_of_the_server(shop: Source, database: str) -> None:
    cases = {
        "SELECT nothing FROM public.t": (SchemaChanged, 'column "nothing" does not exist', "qbcd reset"),
        "SELECT 1 FROM public.gone": (SchemaChanged, 'relation "public.gone" does not exist', "qbcd reset"),
        "SET statement_timeout = 20; SELECT pg_sleep(5)": (SourceError, "statement timeout", "`statement_timeout`"),
        "SELECT 1 / 0": (SourceError, "division by zero", ""),
        "SELECT 1 FROM": (SourceError, "syntax error at end of input", ""),
    }
    for statement, (kind, what, remedy) in cases.items():
        error = failure(shop, statement)
        assert type(error) is kind
        assert (error.stream, what in error.what, remedy in error.remedy) == ("orders", True, True), error
        assert "shop (127.0.0.1" in str(error)
        assert "\n" not in str(error)


def test_messages_hold_no_detail_and_no_parameters(shop: Source) -> None:
    canary = "".join(["CAN", "ARY"])  # tracebacks show source lines
    with pytest.raises(SourceError) as raised, shop.write("orders") as session:
        session.run(Statement("INSERT INTO public.t VALUES (%(k)s, %(v)s)", {"k": 1, "v": canary}))
    assert "duplicate key" in str(raised.value)
    assert "(k)=(1)" not in str(raised.value)
    assert canary not in "".join(traceback.format_exception(raised.value))


def test_missing_rights_and_row_security(shop: Source, database: str) -> None:
    name = database.rsplit("/", 1)[1] + "_r"
    sql(database, f"CREATE ROLE {name} LOGIN; GRANT SELECT ON t TO {name}; CREATE TABLE hidden (k int)")
    sql(database, "ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    source = source_of(database.replace("//postgres@", f"//{name}@"))
    try:
        hides = failure(source, "SELECT * FROM public.t")
        denied = failure(source, "SELECT * FROM public.hidden")
    finally:
        source.close()
        sql(database, f"DROP OWNED BY {name}; DROP ROLE {name}")
    assert type(hides) is Refused
    assert "row-level security" in str(hides)
    assert "BYPASSRLS" in str(hides)
    assert type(denied) is MissingPrivilege
    assert "permission denied for table hidden" in str(denied)


def unreachable(url: str) -> QbcdError:
    source = Source("shop", make_url(url), connector_for(url), "qbcd", place="qbcd.yaml:7: sources.shop")
    error = failure(source)
    assert "CANARY" not in "".join(traceback.format_exception(error)) + repr(source) + str(error)
    return error


def test_servers_that_do_not_answer(database: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        refused = unreachable(f"postgresql://u:CANARY@127.0.0.1:{port}/d")
    assert type(refused) is SourceError
    assert f"127.0.0.1:{port}" in str(refused)
    assert "cannot be reached" in str(refused)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        began = time.monotonic()
        slow = unreachable(f"postgresql://u:CANARY@127.0.0.1:{silent.getsockname()[1]}/d?connect_timeout=2")
        assert time.monotonic() - began < 8
    assert "cannot be reached" in str(slow)
    nowhere = unreachable("postgresql://u:CANARY@no-such-host.invalid:5432/d?sslmode=require")
    assert "no-such-host.invalid:5432" in str(nowhere)
    missing = unreachable(database.replace("//postgres@", "//postgres:CANARY@") + "_gone")
    assert type(missing) is ConfigError
    assert str(missing).startswith("qbcd.yaml:7: sources.shop")
    role = unreachable(database.replace("//postgres@", "//nobody_here:CANARY@"))
    assert "nobody_here" in str(role)
    assert "check the user and the password" in str(role)


def test_a_wrong_password_is_reported_and_never_shown(server: object, database: str) -> None:
    """The test server needs no password, so the message of one that does is written out here."""
    wrong = 'connection to server at "h", port 5432 failed: FATAL:  password authentication failed for user "u"'
    error = PG.errors.explain_error(Exception(wrong + "\npassword=CANARY"), stream="s", source="shop (h:5432)")
    assert type(error) is SourceError
    assert str(error) == (
        'stream s: source shop (h:5432): password authentication failed for user "u" '
        "(check the user and the password of the source, and the server's pg_hba.conf)"
    )
    leak = PG.errors.explain_error(
        Exception("bad dsn: host=h password='CANARY 1' postgresql://u:CANARY@h/d"), stream="", source="shop"
    )
    assert "CANARY" not in str(leak)


@pytest.mark.parametrize(
    ("password", "statement", "said"),
    [
        ("hunter2", "SELECT 'hunter2'::int", 'invalid input syntax for type integer: "***"'),
        ("secret", "SELECT 'secret'::int", 'invalid input syntax for type integer: "***"'),
        ("secret", "SELECT secret", 'column "secret" does not exist'),
        ("shop", "SELECT * FROM shop", 'relation "shop" does not exist'),
        ("orders", "SELECT * FROM ordersz", 'relation "ordersz" does not exist'),
        ("a", "SELECT a", 'column "a" does not exist'),
    ],
)
def test_only_the_password_in_a_message_of_the_server_is_masked(
    database: str, password: str, statement: str, said: str
) -> None:
    """The test server requires no password, and accepts any."""
    url = make_url(database).set(password=password)
    source = Source("shop", url, connector_for(url), "qbcd")
    with pytest.raises(QbcdError) as raised, source.read("s") as session:
        session.rows(statement)
    source.close()
    assert f": {said}" in raised.value.what


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        (
            "org.postgresql.util.PSQLException: ERROR: permission denied for table t\n  Detail: x",
            MissingPrivilege,
            "permission",
        ),
        (
            'org.postgresql.util.PSQLException: FATAL: password authentication failed for user "u"',
            SourceError,
            "password",
        ),
        (
            'x: org.postgresql.util.PSQLException: ERROR: invalid snapshot identifier: "1"',
            SourceError,
            "invalid snapshot",
        ),
        (
            "org.postgresql.util.PSQLException: ERROR: query would be affected by row-level security policy",
            Refused,
            "row-level",
        ),
        ("org.postgresql.util.PSQLException: The connection attempt failed.", SourceError, "cannot be reached"),
        (
            "org.postgresql.util.PSQLException: ERROR: canceling statement due to conflict with recovery",
            SourceError,
            "recovery",
        ),
    ],
)
def test_messages_that_come_through_spark(text: str, kind: type[QbcdError], what: str) -> None:
    error = PG.errors.explain_error(Exception(text), stream="s", source="shop")
    assert type(error) is kind
    assert what in str(error)
    assert "Detail" not in str(error)
