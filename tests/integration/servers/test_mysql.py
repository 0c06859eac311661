"""MySQL of today: what it does otherwise than MariaDB, and one project with everything on it.

The tests of both servers run on MySQL in the campaign.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qbcd.connectors.catalog import SupportsIndexes
from qbcd.connectors.mysql import MySQL
from qbcd.connectors.mysql_family.partitions import encoded
from qbcd.connectors.mysql_family.plans import steps_by_json
from qbcd.connectors.statistics import SupportsStatistics
from qbcd.errors import EnvironmentMissing, QbcdError, Refused
from qbcd.model import Statement
from tests.support.maria_source import connector_of, probe, reading
from tests.support.mysql_server import BIN_VARIABLE, MySQLServer, find_mysql
from tests.support.places import Place, must_own
from tests.support.project import config, opened, poll

ON_MYSQL = pytest.mark.parametrize("database", ["mysql"], indirect=True)
LAG = {"lag": "1s", "margin": "1ms", "timestamp": "at"}
STRATEGIES: dict[str, Any] = {
    "id_rcs": "id_rcs",
    "mds": "mds",
    "ts": {"type": "ts", **LAG},
    "atdi": {"type": "atdi", "delete_flag": "off", "deleted_value": 1, **LAG},
}
TABLE = """
CREATE TABLE {} (id int PRIMARY KEY, v varchar(20), at timestamp(6) NOT NULL DEFAULT current_timestamp(6)
  ON UPDATE current_timestamp(6), off tinyint NOT NULL DEFAULT 0, KEY covering (at, off, v)) {}
"""
PARTS = "PARTITION BY RANGE (id) (PARTITION low VALUES LESS THAN (3), PARTITION `größte` VALUES LESS THAN MAXVALUE)"


def copies(place: Place, names: list[str]) -> list[list[Any]]:
    """Return the rows of the mirrors."""
    return [place.sql(f"SELECT id, v FROM copy_{name} ORDER BY id") for name in names]


@ON_MYSQL
def test_source_sink_and_state_in_one_server(place: Place, workspace: Path) -> None:
    """Four strategies, one of them with partitions too; a mirror of each stream, and the state next to them."""
    tables = []
    for name, parts in (("plain", ""), ("parted", PARTS)):
        place.sql(TABLE.format(name, parts))
        place.sql(f"INSERT INTO {name} (id, v) VALUES (1, 'one'), (2, 'two'), (3, 'Größe'), (4, NULL)")
        for strategy, written in STRATEGIES.items():
            if parts and strategy != "ts":
                continue
            stream = f"{name}_{strategy}"
            tables.append(
                {"name": stream, "table": place.table(name), "strategy": written, "sinks": [stream], "engine": "local"}
            )
    names = [str(one["name"]) for one in tables]
    sinks = {n: {"type": "database", "url": place.url, "mode": "mirror", "table": f"copy_{n}"} for n in names}
    state = place.at(f"{place.name}_state").url
    place.at(f"{place.name}_state").create()
    with opened(config(place.url, *tables, sinks=sinks, state=state), workspace) as project:
        for prepared in project.streams:
            prepared.prepare()
        poll(project)
        rows = place.sql("SELECT id, v FROM plain ORDER BY id")
        assert copies(place, names) == [rows] * len(names)
        for name in ("plain", "parted"):
            place.sql(f"UPDATE {name} SET v = 'zwei' WHERE id = 2; INSERT INTO {name} (id, v) VALUES (5, 'five')")
            place.sql(f"UPDATE {name} SET off = 1 WHERE id = 3; DELETE FROM {name} WHERE id = 1")
        place.sql("DO sleep(1.2)")
        poll(project)
        found = dict(zip(names, copies(place, names), strict=True))
    rest = place.sql("SELECT id, v FROM plain ORDER BY id")
    for name in names:
        if "atdi" in name:
            expected = sorted(
                [*(row for row in rest if row[0] != 3), (1, "one")]
            )  # a delete without the flag is missed
        else:
            expected = sorted([*rest, (1, "one")]) if name.endswith("_ts") else rest
        assert found[name] == expected, name


@ON_MYSQL
def test_every_form_of_a_plan_says_the_same(place: Place) -> None:
    """A tree of text is the default; JSON has two versions; the hypergraph optimizer has no table."""
    place.sql("CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(20), KEY lean (a))")
    place.sql(f"INSERT INTO t SELECT n, n, concat('v', n) FROM {place.numbers(900)}; ANALYZE TABLE t")
    settings = ("explain_json_format_version = 1", "explain_json_format_version = 2", "explain_format = TREE")
    forms = [*settings, "optimizer_switch = 'hypergraph_optimizer=on'"]
    found = []
    for form in forms:
        with reading(place) as session:
            conn, table = session.connection, probe(session, place, "t")
            conn.exec_driver_sql(f"SET {form}")
            one = [
                steps_by_json(conn, sql)
                for sql in (
                    f"SELECT q.id FROM {place.table('t')} AS q WHERE q.a > 890",
                    f"SELECT b FROM {place.table('t')} WHERE a > 890",
                    f"SELECT b FROM {place.table('t')}",
                )
            ]
            assert [(s.table, s.index.removeprefix("PRIMARY"), s.covered, s.whole) for [s] in one] == [
                ("q", "lean", True, False),
                ("t", "lean", False, False),
                ("t", "", False, True),
            ]
            access = connector_of(place).require(SupportsIndexes)
            whole = f"SELECT q.b FROM {connector_of(place).quoted_table(table)} AS `q` WHERE q.a > 890"
            said = access.index_only(conn, table, whole)
            assert said == f"access type range on {place.name}.t by lean, which lacks a column"
            assert access.index_only(conn, table, whole.replace("q.b", "q.id")) == ""
            scan = (
                connector_of(place)
                .require(SupportsStatistics)
                .planned_scan(conn, table, Statement(f"SELECT b FROM {place.table('t')} WHERE a > 890"))
            )
            found.append((scan.indexes, scan.whole_share, round(scan.rows)))
    assert found == [(("lean",), 0.0, 10)] * len(forms)


@ON_MYSQL
def test_partitions_by_the_names_that_innodb_stores(place: Place) -> None:
    ways = "PARTITION `p Ä` VALUES LESS THAN (10), PARTITION p2 VALUES LESS THAN MAXVALUE"
    place.sql(f"CREATE TABLE `pä-b` (id int PRIMARY KEY) PARTITION BY RANGE (id) ({ways})")
    place.sql("CREATE TABLE h (a int, b int, PRIMARY KEY (a, b)) PARTITION BY RANGE (a) SUBPARTITION BY HASH (b) "
              "SUBPARTITIONS 2 (PARTITION x VALUES LESS THAN MAXVALUE)")  # fmt: skip
    place.sql("CREATE TABLE h2 (a int PRIMARY KEY) PARTITION BY HASH (a) PARTITIONS 2; INSERT INTO `pä-b` VALUES (3)")
    with reading(place) as session:
        tables = [probe(session, place, name) for name in ("pä-b", "h", "h2")]
        names = [sorted(part.partition(".")[2] for part in table.parts or ()) for table in tables]
        assert names == [["p Ä", "p2"], ["xsp0", "xsp1"], ["p0", "p1"]]
        catalog = connector_of(place).catalog
        filled = catalog.filled_parts(session.connection, tables[0], tables[0].parts or ())
        assert [part.label for part in filled] == [f"{place.name}.pä-b PARTITION (p Ä)"]
        unnamed = catalog.filled_parts(session.connection, replace(tables[0]), ["17."])
        assert [part.label for part in unnamed] == [f"{place.name}.pä-b partition"]
    assert encoded("a_1-ä") == "a_1@002d@(?:[0-9a-f]{4}|[^#/]{2})"


@contextmanager
def user(place: Place, words: str) -> Iterator[str]:
    """Yield the URL of a user with a password, of which the server has cached nothing."""
    with place.user("secret") as name:
        place.sql(f"GRANT SELECT ON {place.quote(place.name)}.* TO {name}; {words.format(name)}; FLUSH PRIVILEGES")
        yield place.url_as(name, "secret")


@ON_MYSQL
@pytest.mark.parametrize(
    ("words", "problem", "remedy"),
    [
        ("DO 0", "", ""),
        ("ALTER USER {} PASSWORD EXPIRE", "Your password has expired", "ALTER USER .. IDENTIFIED BY"),
        ("ALTER USER {} ACCOUNT LOCK", "Account is locked", "ACCOUNT UNLOCK"),
        ("ALTER USER {} REQUIRE SSL", "Access denied", "REQUIRE SSL"),
        ("DO 0", "insecure transport are prohibited", "ssl_mode=verify_identity"),
    ],
)
def test_a_login_that_the_server_refuses(place: Place, words: str, problem: str, remedy: str) -> None:
    """The first password of `caching_sha2_password` goes through the server's key, without TLS."""
    must_own(place)
    with user(place, words) as url, place.connect(autocommit=True) as before:
        place.run(before, "SET GLOBAL require_secure_transport = " + ("ON" if "transport" in problem else "OFF"))
        try:
            with reading(place, url) as session:
                assert session.rows("SELECT 1") == [(1,)]
                assert problem == ""
        except QbcdError as error:
            assert problem, error
            assert problem in str(error)
            assert remedy in error.remedy
        finally:
            place.run(before, "SET GLOBAL require_secure_transport = OFF")


@ON_MYSQL
def test_variant_delta_is_never_offered(place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1)")
    query = {"query": f"SELECT id, v FROM {place.table('t')}", "key": ["id"]}
    written = {"auto": "auto", "vbd": {"type": "vbd"}, "delta": {"type": "vbd", "variant": "delta"}}
    tables = [{"name": name, "strategy": strategy, **query} for name, strategy in written.items()]
    with opened(config(place.url, *tables), workspace) as project:
        for found in project.advise(["auto", "vbd"]):
            possible = [one.option.label for one in found.scored if not one.option.why_not]
            assert possible
            assert "delta" not in str(possible)
        with pytest.raises(Refused, match="shows a transaction that writes another state at each statement"):
            project.stream("delta").prepare()
        project.stream("vbd").prepare()
        assert "outbox" in project.stream("vbd").explain()[0].title, "variant compare"


def test_versions_that_were_not_executed_say_so() -> None:
    assert MySQL().version_remark((8, 4)).startswith("qbcd's tests run 9.7; this version is supported by its doc")
    assert [MySQL().version_remark(release) for release in ((9, 7), (10, 0))] == ["", ""]


def test_missing_programs(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(BIN_VARIABLE, str(tmp_path))
        with pytest.raises(EnvironmentMissing, match="make mysql, or name the folder of mysqld"):
            find_mysql()


def test_it_runs_as_somebody_other_than_root(mysql: MySQLServer) -> None:
    if not isinstance(mysql, MySQLServer):
        pytest.skip("a server that is not the run's own keeps its settings")
    owner = (mysql.directory / "data" / "ibdata1").stat().st_uid
    assert owner == os.geteuid() if os.geteuid() else owner != 0
