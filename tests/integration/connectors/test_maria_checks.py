"""Checks of MariaDB and MySQL before a stream begins.

They cover engines, safety of commits, the server's identity and the safe high watermark.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pymysql
import pytest

from qbcd.connectors import connector_for
from qbcd.connectors.watermarks import SupportsWatermarks
from qbcd.errors import ConfigError, MissingPrivilege, QbcdError, Refused
from qbcd.strategies.outbox import outbox_name
from tests.support import wait_until
from tests.support.maria_server import MariaServer
from tests.support.maria_source import KINDS, connector_of, probe, reading
from tests.support.places import Place, must_own, new_place, server_of
from tests.support.project import config, opened, poll
from tests.support.watched_polls import Watched, stamped


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A new database."""
    with new_place(server_of(request, request.param), request.param) as made:
        yield made


# -- tables of a source replica ---------------------------------------------------------------------------------------
def refusal(place: Place, name: str, url: str = "") -> str:
    """Return the reason why a table or view can have no source replica, or an empty string."""
    with reading(place, url) as session:
        try:
            connector_of(place).catalog.check_in_source(
                session.connection, probe(session, place, name), stream="orders"
            )
        except Refused as error:
            return str(error)
    return ""


def test_only_innodb_is_compared_in_the_source(place: Place) -> None:
    engines = ["MyISAM", "MEMORY", "CSV", *(["Aria"] if place.kind == "mariadb" else [])]
    place.sql("CREATE TABLE good (k int PRIMARY KEY); CREATE TABLE split (k int) PARTITION BY HASH (k) PARTITIONS 2")
    place.sql("""
        CREATE VIEW fine AS SELECT g.k FROM good g JOIN split s ON s.k = g.k;
        CREATE VIEW finer AS SELECT * FROM fine UNION SELECT k FROM good WHERE k IN (SELECT k FROM split)
        """)
    assert [refusal(place, name) for name in ("good", "split", "fine", "finer")] == [""] * 4
    for engine in engines:
        name = f"bad_{engine.lower()}"
        place.sql(f"CREATE TABLE {name} (k int NOT NULL) ENGINE = {engine}")
        place.sql(f"""
            CREATE VIEW {name}_1 AS SELECT good.k FROM good LEFT JOIN {name} b ON b.k = good.k;
            CREATE VIEW {name}_2 AS
              WITH q AS (SELECT * FROM {name}_1) SELECT k FROM good WHERE k > (SELECT max(k) FROM q)
            """)
        for relation in (name, f"{name}_1", f"{name}_2"):
            said = refusal(place, relation)
            assert f"{place.schema}.{name} has storage engine {engine}" in said, relation
            assert "id_rcs" in said


def test_a_view_whose_tables_are_hidden_is_refused(place: Place) -> None:
    place.sql("CREATE TABLE t (k int PRIMARY KEY); CREATE VIEW v AS SELECT k FROM t; CREATE VIEW w AS SELECT k FROM v")
    with place.user() as user:
        for view in "vw":
            place.grant("SELECT", view, user)
        for view in "vw":
            said = refusal(place, view, place.url_as(user))
            assert "is hidden from the role" in said
            assert "SHOW VIEW" in said
        for view in "vw":
            place.grant("SHOW VIEW", view, user)
        assert "is hidden from the role" in refusal(place, "w", place.url_as(user))  # `t` is still hidden
        place.grant("SELECT", "t", user)
        assert [refusal(place, view, place.url_as(user)) for view in "vw"] == ["", ""]


def test_a_server_that_may_lose_commits_is_refused(place: Place) -> None:
    must_own(place)
    place.sql("CREATE TABLE t (k int PRIMARY KEY)")
    before = place.sql("SELECT @@innodb_flush_log_at_trx_commit")[0][0]
    try:
        for setting in (0, 2):
            place.sql(f"SET GLOBAL innodb_flush_log_at_trx_commit = {setting}")
            assert f"innodb_flush_log_at_trx_commit is {setting}" in refusal(place, "t")
    finally:
        place.sql(f"SET GLOBAL innodb_flush_log_at_trx_commit = {before}")
    assert refusal(place, "t") == ""


def test_a_binary_log_by_statements_is_refused(mariadb: MariaServer) -> None:
    """With a server of its own, because the binary log cannot be enabled while a server runs."""
    settings: dict[str, str | int] = {"log_bin": "binlog", "server_id": 7, "binlog_format": "STATEMENT"}
    with MariaServer.start(settings=settings) as server, new_place(server, "mariadb") as place:
        place.sql("CREATE TABLE t (k int PRIMARY KEY)")
        assert "binlog_format = STATEMENT" in refusal(place, "t")
        with pytest.raises(Exception, match="READ COMMITTED"), place.connect() as conn:
            place.run(conn, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; INSERT INTO t VALUES (1)")
        for better in ("ROW", "MIXED"):
            place.sql(f"SET GLOBAL binlog_format = '{better}'")
            assert refusal(place, "t") == ""


# -- qbcd's own tables -------------------------------------------------------------------------------------------------
@contextmanager
def set_globally(place: Place, name: str, value: str) -> Iterator[None]:
    """Set a server variable during the block, for sessions that begin then."""
    (before,) = place.sql(f"SELECT @@global.{name}")[0]
    place.sql(f"SET GLOBAL {name} = {value}")
    try:
        yield
    finally:
        place.sql(f"SET GLOBAL {name} = {before or 'NULL'}")


def engines_of(place: Place) -> set[str]:
    """Return the engines of qbcd's own tables."""
    sql = "SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = %s"
    return {engine for (engine,) in place.sql(sql, [place.own_schema])}


def test_own_tables_are_of_innodb(place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (k int PRIMARY KEY, v int) ENGINE = InnoDB; INSERT INTO t VALUES (1, 1)")
    written = config(place.url, {"name": "s", "table": place.table("t"), "strategy": "mds", "baseline": "silent"})
    with opened(written, workspace) as project:
        if place.kind == "mariadb":
            with set_globally(place, "enforce_storage_engine", "Aria"), pytest.raises(Refused) as raised:
                project.stream("s").prepare()
            assert "need InnoDB" in str(raised.value)
            assert "enforce_storage_engine" in str(raised.value)
        with set_globally(place, "default_storage_engine", "MyISAM"):
            project.stream("s").prepare()
    assert engines_of(place) == {"InnoDB"}


@pytest.mark.parametrize(("which", "engine"), [("stream", "Aria"), (outbox_name("s"), "MyISAM")])
def test_own_tables_of_another_engine_are_refused(place: Place, workspace: Path, which: str, engine: str) -> None:
    if place.kind != "mariadb" and engine == "Aria":
        pytest.skip("no such engine, and keys of the others are too short for this table")
    with Watched(place, workspace, {"s": stamped(place, "tdi", purge=True)}).fill() as seen:
        seen.flag(5)
        assert seen.ops() == [[(5, "d")]]
        name = f"{place.own_schema}.{which}"
        place.sql(f"ALTER TABLE {name} ENGINE = {engine}")
        with pytest.raises(Refused, match=rf"own table {name} has storage engine {engine}") as raised:
            seen.poll()
        assert raised.value.remedy == f"ALTER TABLE {name} ENGINE = InnoDB"
        assert seen.there(5)
        place.sql(raised.value.remedy)
        assert seen.poll() == []
        assert not seen.there(5)


def test_a_schema_that_the_server_writes_in_lower_case(mariadb: MariaServer, workspace: Path) -> None:
    """With a server of its own, because the rule is fixed when a server starts."""
    with MariaServer.start(settings={"lower_case_table_names": 1}) as server, new_place(server, "mariadb") as place:
        place.sql("CREATE TABLE T (k int PRIMARY KEY); INSERT INTO T VALUES (1)")
        tables = {"name": "s", "table": place.table("T"), "strategy": "mds", "baseline": "silent", "sinks": []}
        data = config(place.url, tables)
        lower = data["sources"]["shop"]["schema"]
        data["sources"]["shop"]["schema"] = lower.upper()
        with opened(data, workspace) as project:
            with pytest.raises(Refused, match=rf"schema {lower.upper()} has capitals") as raised:
                project.stream("s").prepare()
            assert f"schema: {lower} " in raised.value.remedy
            errors = [str(finding.error) for finding in project.check(["s"]) if finding.error]
            assert str(raised.value) in errors
        assert engines_of(place) == set()
        data["sources"]["shop"]["schema"] = lower
        with opened(data, workspace) as project:
            project.stream("s").prepare()
            place.sql("INSERT INTO T VALUES (2)")
            [outcome] = poll(project, "s")
            assert outcome.report is not None
            assert outcome.report.counts == {"c": 1}


# -- identity and position --------------------------------------------------------------------------------------------
def test_server_identity(place: Place) -> None:
    connector = connector_of(place)
    with reading(place) as session:
        one = connector.catalog.server_identity(session.connection)
    place.sql("CREATE TABLE t (k int); INSERT INTO t VALUES (1)")
    with new_place(place, place.kind) as other_place, reading(other_place) as session:
        other = connector.catalog.server_identity(session.connection)
    wait_until(lambda: position(place) > one.position, what="the server's position")
    with reading(place) as session:
        two = connector.catalog.server_identity(session.connection)
    assert (one.identity, one.meaning, one.product) == (two.identity, two.meaning, two.product)
    assert two.position > one.position > 0
    assert other.identity.split("/")[0] == one.identity.split("/")[0]
    assert other.identity != one.identity
    assert one.product.startswith(f"{connector.name} ")
    assert one.meaning.split(";")[0] == ".".join(one.product.split(" ")[1].split(".")[:2])
    with place.user() as user:
        place.sql(f"GRANT SELECT ON {place.quote(place.schema)}.* TO {user}@'%'")
        with reading(place, place.url_as(user)) as session:
            assert connector.catalog.server_identity(session.connection).identity == one.identity


def position(place: Place) -> int:
    with reading(place) as session:
        return connector_of(place).catalog.server_identity(session.connection).position


def test_another_server_has_another_identity(mariadb: MariaServer) -> None:
    with MariaServer.start(settings={"server_id": 77}) as other:
        found = set()
        for server in (mariadb, other):
            with new_place(server, "mariadb") as place, reading(place) as session:
                found.add(connector_of(place).catalog.server_identity(session.connection).identity.split("/")[0])
    assert len(found) == 2


def test_a_url_of_the_other_family_is_refused(place: Place) -> None:
    """The first read of the server shows it, or a setting that the other family does not know."""
    other = {"mariadb": "mysql", "mysql": "mariadb"}[place.kind]
    url = place.url.replace(f"{place.kind}://", f"{other}://")
    with pytest.raises(ConfigError, match=f"{place.kind}://"), reading(place, url) as session:
        connector_for(url).catalog.server_identity(session.connection)


@contextmanager
def sleeping(place: Place) -> Iterator[None]:
    """Run a statement in another session during the block."""
    with place.connect(autocommit=True) as conn:
        number = conn.thread_id()

        def run() -> None:
            with contextlib.suppress(pymysql.err.OperationalError):  # the test stops it
                place.run(conn, "SELECT sleep(60)")

        thread = threading.Thread(target=run)
        thread.start()
        try:
            running = "SELECT 1 FROM information_schema.processlist WHERE id = %s AND command = 'Query'"
            wait_until(lambda: bool(place.sql(running, [number])), what="the other session's statement")
            yield
        finally:
            place.sql(f"KILL QUERY {number}")
            thread.join()


def test_safe_high_watermark(place: Place) -> None:
    """The clock is the source's, in UTC; any open transaction of another session is before it."""
    place.sql("CREATE TABLE t (k int PRIMARY KEY)")
    connector = connector_of(place)

    def high_water() -> tuple[str, str | None]:
        with reading(place) as session:
            found = connector.require(SupportsWatermarks).high_water(session.connection)
            assert found.held == ""
            assert found.blind
            assert session.one("SELECT @@time_zone AS zone").zone == "+00:00"
            return found.clock, found.oldest

    def now() -> str:
        return str(place.sql("SELECT date_format(utc_timestamp(6), '%Y-%m-%d %H:%i:%s.%f')")[0][0])

    before = now()
    assert before <= high_water()[0] <= now()
    with place.connect() as writer:
        before = now()
        place.run(writer, "SET time_zone = '-05:00'; INSERT INTO t (k) VALUES (1)")
        time.sleep(2.2)
        clock, oldest = high_water()
        assert oldest is not None
        assert oldest <= before < clock
        assert seconds(clock) - seconds(oldest) < 10
    before = now()
    with sleeping(place):
        time.sleep(2.2)
        clock, oldest = high_water()
    assert oldest is not None
    assert oldest <= before < clock
    assert seconds(clock) - seconds(oldest) < 10


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_safe_high_watermark_needs_process(place: Place) -> None:
    place.sql("CREATE TABLE t (k int PRIMARY KEY)")
    with place.user() as user:
        place.grant("SELECT", "t", user)
        with pytest.raises(QbcdError) as raised, reading(place, place.url_as(user)) as session:
            connector_of(place).require(SupportsWatermarks).high_water(session.connection)
        assert isinstance(raised.value, MissingPrivilege)
        assert "PROCESS" in str(raised.value)
        place.sql(f"GRANT PROCESS ON *.* TO {user}@'%'")
        if place.kind == "mysql":
            place.sql(f"GRANT SELECT ON performance_schema.* TO {user}@'%'")
        with reading(place, place.url_as(user)) as session:
            assert connector_of(place).require(SupportsWatermarks).high_water(session.connection).clock
