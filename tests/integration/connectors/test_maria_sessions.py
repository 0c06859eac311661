"""Sessions on MariaDB: pins override the server's settings.

Timeouts and wrong servers are reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pymysql
import pytest
from sqlalchemy import make_url

from qbcd.catalog.source import SessionOptions, Source
from qbcd.connectors import connector_for
from qbcd.connectors.limited_family import LimitedFamilyConnection
from qbcd.connectors.wait_limits import WaitLimit
from qbcd.errors import ConfigError, QbcdError, SourceError
from qbcd.spark.jdbc import read_query
from tests.support.maria_server import MariaServer
from tests.support.places import Place, new_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOSTILE = {
    "sql_mode": "'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,NO_ZERO_DATE'",
    "time_zone": "'-07:00'",
    "tx_isolation": "'READ-UNCOMMITTED'",
    "div_precision_increment": "9",
    "sql_select_limit": "2",
    "wait_timeout": "2",
    "idle_transaction_timeout": "1",
    "idle_readonly_transaction_timeout": "1",
    "character_set_server": "latin1",
    "collation_connection": "latin1_german2_ci",
}


@pytest.fixture
def maria(mariadb: MariaServer) -> Iterator[Place]:
    with new_place(mariadb, "mariadb") as made:
        yield made


@contextmanager
def hostile(place: Place) -> Iterator[None]:
    """A server whose defaults are the opposite of those that qbcd needs."""
    old = {name: place.sql(f"SELECT @@global.{name}")[0][0] for name in HOSTILE}
    place.sql(f"SET {', '.join(f'GLOBAL {name} = {value}' for name, value in HOSTILE.items())}")
    try:
        yield
    finally:
        for name, value in old.items():
            place.sql(f"SET GLOBAL {name} = %s", [value])


def source_of(url: str, *, statement_timeout: int = 0) -> Source:
    options = SessionOptions(statement_timeout=statement_timeout)
    return Source("shop", make_url(url), connector_for(url), "qbcd", options=options)


def test_nothing_of_the_servers_defaults_reaches_a_session(maria: Place, spark: SparkSession) -> None:
    """Both drivers see no uncommitted rows, no limits and no zones of the server.

    Double quotes are texts.
    """
    limited = "SELECT x FROM t"
    query = (
        'SELECT (SELECT count(*) FROM t) AS n, "a\\tb" AS quoted, concat(1 / 3) AS third, @@time_zone AS zone, '
        "(SELECT group_concat(x ORDER BY x) FROM (SELECT x FROM t) AS d) AS all_rows, @@tx_read_only AS ro, "
        "@@wait_timeout AS idle, @@idle_transaction_timeout AS idle_tx"
    )
    maria.sql("CREATE TABLE t (x int PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3)")
    source = source_of(maria.url)
    with maria.connect() as writer, hostile(maria):
        maria.run(writer, "INSERT INTO t VALUES (4)")
        with source.read("s") as session:
            native = [str(value) for value in session.one(query)]
            assert len(session.rows(limited)) == 3
        url, options = source.jdbc("s")
        frame = read_query(spark, url, options, query, init=source.connector.sessions.pins())
        [row] = frame.collect()
        assert read_query(spark, url, options, limited, init=source.connector.sessions.pins()).count() == 3
        assert native == ["3", "a\tb", "0.3333", "+00:00", "1,2,3", "1", "86400", "0"]
        assert [str(value) for value in row] == native
        writer.rollback()
    source.close()


def test_a_statement_that_takes_too_long_is_cancelled_and_reported(maria: Place) -> None:
    source = source_of(maria.url, statement_timeout=1)
    with (
        pytest.raises(SourceError, match=r"stream s: source shop .*max_statement_time.*raise `statement_timeout`"),
        source.read("s") as session,
    ):
        session.rows("SELECT sleep(5) FROM (SELECT 1 UNION SELECT 2) AS d")
    source.close()


def test_a_server_of_the_other_family_is_refused_by_name(maria: Place) -> None:
    source = source_of(maria.url.replace("mariadb:", "mysql:", 1))
    message = r"not the kind of server.*start the source's url with mariadb://"
    with pytest.raises(ConfigError, match=message), source.read("s"):
        pass
    source.close()


def test_a_kept_session_is_as_new(maria: Place) -> None:
    source = source_of(maria.url)
    level = f"SELECT @@{source.connector.sessions.facts.spelling.isolation}, @@wait_timeout"  # type: ignore[attr-defined]
    with hostile(maria), source.pooled():
        with source.write("orders") as session:
            first = session.one("SELECT connection_id()")[0]
            session.run("CREATE TEMPORARY TABLE own (k int)")
            session.run("SET @x = 7, SESSION div_precision_increment = 9")
            assert session.one("SELECT get_lock('qbcd_kept', 0)")[0] == 1
        with source.write("customers") as session:
            assert session.one("SELECT connection_id()")[0] == first
            assert tuple(session.one("SELECT @x, @@div_precision_increment, is_free_lock('qbcd_kept')")) == (None, 4, 1)
            assert tuple(session.one(level)) == ("READ-COMMITTED", 86_400)
        with pytest.raises(QbcdError, match="own"), source.write("orders") as session:
            session.rows("SELECT * FROM own")
        with source.read("orders", level="READ COMMITTED") as session:
            assert tuple(session.one(level)) == ("READ-COMMITTED", 86_400)
        with source.read("orders") as session:
            assert session.one(level)[0] == "REPEATABLE-READ"
    assert not maria.sql("SELECT 1 FROM information_schema.processlist WHERE id = %s", [first])


def test_a_reset_that_fails_ends_the_session(maria: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the reply to the statement that travels with it would be taken for that of the next one."""
    url = make_url(maria.url)
    login = {"host": url.host, "port": url.port, "user": url.username, "password": url.password or ""}
    connection = LimitedFamilyConnection(WaitLimit(10, "socket_timeout"), login)
    connection.reset_session()
    connection.query("SELECT 7")
    monkeypatch.setattr("qbcd.connectors.limited_family._RESET", b"\1\0\0\0\x7e")  # no such command
    connection.reset_session()
    with pytest.raises(pymysql.err.Error, match="Unknown command"):
        connection.query("SELECT 8")
    assert not connection.open
