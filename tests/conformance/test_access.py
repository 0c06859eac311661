"""Indexes for polls, proof that a plan uses them, and rights on the source's own tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qbcd.connectors.catalog import SupportsIndexes, SupportsTableWrites
from qbcd.connectors.facts import Index
from qbcd.connectors.statistics import SupportsStatistics
from qbcd.errors import UnsupportedPrimitive
from qbcd.model import Column, Statement, Travel
from tests.support.maria_source import KINDS
from tests.support.oracle import events
from tests.support.places import Place, over
from tests.support.project import config, opened, poll
from tests.support.watermark_cases import connector_of, probed, session

FAMILY = pytest.mark.parametrize("database", KINDS, indirect=True)
NAME = 'a\n`b`"%s'


def indexes(place: Place, name: str) -> dict[str, Index]:
    table = probed(place, name)
    with session(place) as reading:
        return {
            index.name: index
            for index in connector_of(place).require(SupportsIndexes).indexes(reading.connection, table)
        }


@over()
def test_an_index_that_was_created_is_found_again(place: Place) -> None:
    """An index and its columns may have any name.

    A second creation is a no-op on servers that can do that.
    """
    place.sql(
        f"CREATE TABLE {place.quote(NAME)} (k integer, {place.quote('k%')} integer, {place.quote(NAME)} integer, "
        f"flag integer, extra varchar(20), PRIMARY KEY (k, {place.quote('k%')}))"
    )
    table, connector = probed(place, NAME), connector_of(place)
    made = connector.require(SupportsIndexes).create_index("i " + NAME, table, [NAME, "flag"], ["k", "k%", "extra"])
    for _ in range(1 if place.kind == "mysql" else 2):
        with session(place, write=True) as writing:
            writing.run(made)
    found = indexes(place, NAME)
    if place.kind == "postgresql":
        wanted = Index("i " + NAME, (NAME, "flag"), ("k", "k%", "extra"), True, False, False)
    else:
        wanted = Index("i " + NAME, (NAME, "flag", "k", "k%", "extra"), (), True, False, False)
    assert found.pop("i " + NAME) == wanted
    (key,) = found.values()
    assert (key.columns, key.unique, key.ordered, key.partial) == (("k", "k%"), True, True, False)
    assert key.included == (() if place.kind == "postgresql" else (NAME, "flag", "extra"))
    place.sql(f"CREATE VIEW v AS SELECT * FROM {place.quote(NAME)}")
    assert indexes(place, "v") == {}


def test_indexes_that_answer_no_interval_or_not_for_every_row(place: Place) -> None:
    place.sql("""CREATE TABLE t (k integer PRIMARY KEY, a integer, b text, "c" integer) ;
        CREATE INDEX hashed ON t USING hash (a); CREATE INDEX part ON t (a) WHERE b = 'x';
        CREATE INDEX bytes ON t (b COLLATE "C"); CREATE INDEX pattern ON t (b text_pattern_ops);
        CREATE INDEX computed ON t (a, lower(b), c); CREATE UNIQUE INDEX sole ON t (c DESC) INCLUDE (b);
        CREATE TABLE p (k integer, a integer) PARTITION BY LIST (k); CREATE INDEX whole ON p (a);
        CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); CREATE INDEX lone ON ONLY p (k)""")
    found = indexes(place, "t")
    assert found.pop("t_pkey").unique
    assert list(found.values()) == [
        Index("hashed", ("a",), (), False, False, False),
        Index("part", ("a",), (), True, False, True),
        Index("bytes", ("b",), (), False, False, False),
        Index("pattern", ("b",), (), False, False, False),
        Index("computed", ("a", "", "c"), (), True, False, False),
        Index("sole", ("c",), ("b",), True, True, False),
    ]
    assert list(indexes(place, "p")) == ["whole"]  # the other index has no valid part on every partition yet


def test_indexes_that_each_partition_has_by_itself(place: Place) -> None:
    place.sql("""CREATE TABLE p (k integer, at integer, b integer) PARTITION BY RANGE (k);
        CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
        CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (k);
        CREATE TABLE p21 PARTITION OF p2 FOR VALUES FROM (10) TO (20);
        CREATE INDEX one ON p1 (at, k) INCLUDE (b); CREATE INDEX part ON p21 (k) WHERE k > 5;
        CREATE INDEX two ON p21 (at, b, k); CREATE INDEX lone ON p1 (b); CREATE INDEX again ON p1 (k)""")
    assert indexes(place, "p") == {"one": Index("one", ("at",), ("k", "b"), True, False, False)}
    place.sql("CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20) TO (30)")
    assert indexes(place, "p") == {}
    place.sql("""CREATE TABLE parent (k integer, at integer); CREATE TABLE child () INHERITS (parent);
        CREATE INDEX ON child (at)""")
    assert [one.columns for one in indexes(place, "parent").values()] == [("at",)]  # the parent has no rows
    place.sql("INSERT INTO parent VALUES (1, 1)")
    assert indexes(place, "parent") == {}


@FAMILY
def test_a_prefix_index_or_an_invisible_index_proves_nothing(place: Place) -> None:
    ignored = "IGNORED" if place.kind == "mariadb" else "INVISIBLE"
    place.sql(
        f"CREATE TABLE t (k integer PRIMARY KEY, b text, c integer, INDEX begun (c, b(9)), INDEX gone (c) {ignored})"
    )
    assert indexes(place, "t")["begun"] == Index("begun", ("c", ""), ("k",), True, False, False)
    assert sorted(indexes(place, "t")) == ["PRIMARY", "begun"]
    table, connector = probed(place), connector_of(place)
    with pytest.raises(UnsupportedPrimitive, match=r"column b, whose type text"):
        connector.require(SupportsIndexes).create_index("i", table, ["c"], ["b"])
    wide = Column("w", "varchar(999)", "varchar", True, "", "typed", Travel("text"), facts=(("octets", "3996"),))
    with pytest.raises(UnsupportedPrimitive, match="columns of 4005 bytes in total"):
        connector.require(SupportsIndexes).create_index(
            "i", replace(table, columns=(*table.columns, wide)), ["c"], ["w"]
        )
    many = [Column(f"c{i}", "int", "int", True, "", "typed", Travel("int32")) for i in range(17)]
    with pytest.raises(UnsupportedPrimitive, match="17 columns"):
        connector.require(SupportsIndexes).create_index(
            "i", replace(table, columns=tuple(many)), ["c0"], [c.name for c in many]
        )


# -- cost of a plan ---------------------------------------------------------------------------------------------------
def spoiled(place: Place, sql: str, name: str = "t") -> str:
    table = probed(place, name)
    with session(place) as reading:
        said = connector_of(place).require(SupportsIndexes).index_only(reading.connection, table, sql)
        if place.kind == "postgresql":
            assert [tuple(reading.one(f"SHOW enable_{scan}scan")) for scan in ("seq", "bitmap")] == [("on",)] * 2
    return said


def test_changes_that_spoil_an_index_only_read(place: Place) -> None:
    place.sql("""CREATE TABLE t (k integer PRIMARY KEY, ts timestamp, flag boolean, rest text)
        WITH (autovacuum_enabled = off);
        INSERT INTO t SELECT g, '2031-01-01', FALSE, 'x%s' FROM generate_series(1, 500) g;
        CREATE SCHEMA other; CREATE TABLE other.t (k integer)""")
    poll = (
        "SELECT a.k, a.flag FROM public.t AS a LEFT JOIN other.t AS b ON a.k = b.k "
        "WHERE a.ts >= '2031-02-03' AND 'x%s' <> 'y%'"
    )
    assert spoiled(place, poll) == "Seq Scan on public.t"
    place.sql("CREATE INDEX lean ON t (ts, k)")
    assert spoiled(place, poll) == "Index Scan on public.t by lean, which lacks a column"
    place.sql("CREATE INDEX fit ON t (ts) INCLUDE (k, flag); DROP INDEX lean")
    assert spoiled(place, poll) == "4 of 4 pages are not all-visible: VACUUM"
    place.sql("VACUUM t")
    assert spoiled(place, poll) == ""
    assert spoiled(place, poll.replace("a.flag", "a.rest")) == "Index Scan on public.t by fit, which lacks a column"
    place.sql("INSERT INTO t SELECT g, '2031-01-01', FALSE, 'x' FROM generate_series(501, 1000) g")
    assert "of 7 pages are not all-visible: VACUUM" in spoiled(place, poll)
    place.sql("CREATE VIEW v AS SELECT k, flag, ts, rest FROM t")
    place.sql("VACUUM t")
    assert spoiled(place, "SELECT k FROM public.v WHERE ts >= '2031-02-03'", "v") == ""
    assert "Index Scan" in spoiled(place, "SELECT rest FROM public.v WHERE ts >= '2031-02-03'", "v")


def test_every_partition_is_to_be_read_by_index(place: Place) -> None:
    place.sql("""CREATE TABLE p (k integer, ts timestamp) PARTITION BY LIST (k);
        CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); CREATE TABLE "p 2" PARTITION OF p FOR VALUES IN (2);
        INSERT INTO p SELECT 1 + g % 2, '2031-01-01' FROM generate_series(1, 500) g; CREATE INDEX ON p1 (ts, k)""")
    place.sql("VACUUM p")
    poll = "SELECT k FROM public.p WHERE ts >= '2031-02-03'"
    assert spoiled(place, poll, "p") == "Seq Scan on public.p 2"
    place.sql('CREATE INDEX ON "p 2" (ts, k)')
    assert spoiled(place, poll, "p") == ""


@FAMILY
def test_changes_that_spoil_an_index_only_read_of_these_servers(place: Place) -> None:
    place.sql(
        "CREATE TABLE t (k integer PRIMARY KEY, ts datetime, flag integer, rest text); CREATE TABLE o (k integer)"
    )
    place.sql(
        f"INSERT INTO t VALUES {', '.join(f'({g}, 20310101000000, 0, repeat(9, 99))' for g in range(2000))}; "
        "INSERT INTO o VALUES (1), (2); ANALYZE TABLE t"
    )
    table = f"{place.quote(place.name)}.`t`"
    for alias in ("", " AS `a%s```", " AS a"):
        name = alias.removeprefix(" AS ") or "`t`"
        poll = (
            f"SELECT o.k, {name}.flag FROM {table}{alias}\nLEFT JOIN o ON {name}.k = o.k "
            f"WHERE {name}.ts >= 20310203000000 AND 'x%s' <> 'y%'"
        )
        assert spoiled(place, poll) == f"access type ALL on {place.name}.t"
        place.sql("CREATE INDEX lean ON t (ts)")
        assert spoiled(place, poll) == f"access type range on {place.name}.t by lean, which lacks a column"
        place.sql("CREATE INDEX fit ON t (ts, flag); DROP INDEX lean ON t")
        assert spoiled(place, poll) == ""
        place.sql("DROP INDEX fit ON t")


# MariaDB escapes nothing in a plan as JSON, and the rest of a name or value could be taken for the plan itself.
ODD = ['x"y', "x\\\\y", 'x", "access_type": "ALL', "x\ny\tz", "x\\0y", "x\\'y", "ü", "😀"]


@FAMILY
@pytest.mark.parametrize("odd", ["plain", 'a"b', "a\\b", "a\nb\tc", 'a", "key": "c'])
def test_odd_names_and_values_change_no_plan(place: Place, odd: str) -> None:
    quoted, numbers = place.quote(odd), place.numbers(2000)
    place.sql(
        f"CREATE TABLE {quoted} (k int PRIMARY KEY, {quoted} varchar(40), v varchar(99), KEY {quoted} ({quoted}))"
    )
    place.sql(f"INSERT INTO {quoted} SELECT n, n, repeat('v', 90) FROM {numbers}; ANALYZE TABLE {quoted}")
    table, connector = probed(place, odd), connector_of(place)
    for value in ODD:
        found = f"FROM {connector.quoted_table(table)} AS a WHERE a.{quoted} = '{value}'"
        said = f"access type ref on {place.name}.{odd} by {odd}, which lacks a column"
        assert spoiled(place, f"SELECT a.v {found}", odd) == said
        assert spoiled(place, f"SELECT a.k {found}", odd) == ""
        with session(place) as reading:
            known = connector.require(SupportsStatistics)
            scan = known.planned_scan(reading.connection, table, Statement(f"SELECT a.v {found}"))
        assert (scan.indexes, scan.rows) == ((odd,), 1.0)


@FAMILY
def test_a_restriction_with_quotes_is_advised_and_polled(place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (id int PRIMARY KEY, `w\"\\o` varchar(40), at timestamp(6) NOT NULL DEFAULT now(6), "
              "gone tinyint NOT NULL DEFAULT 0, KEY fit (at, gone, `w\"\\o`))")  # fmt: skip
    strategy = {"type": "atdi", "timestamp": "at", "delete_flag": "gone", "deleted_value": 1, "lag": "1s",
                "margin": "1ms"}  # fmt: skip
    stream = {"table": place.table("t"), "where": "`w\"\\o` <> 'x\"y\\\\'", "engine": "local"}
    written: dict[str, Any] = {"polled": strategy, "advised": "auto"}
    tables = [{"name": name, "strategy": one, **stream} for name, one in written.items()]
    with opened(config(place.url, *tables), workspace) as project:
        assert [one.stream for one in project.advise(["advised"])] == ["advised"]
        project.stream("polled").prepare()
        place.sql("INSERT INTO t (id, `w\"\\o`) VALUES (1, 'x\"y'), (2, 'z'), (3, 'x\"y\\\\'); DO sleep(1.2)")
        poll(project, "polled")
    assert sorted(e["key"]["id"] for e in events(workspace / "out" / "changes", "polled")) == [1, 2]


def test_a_prediction_goes_by_the_indexes_that_are_there(place: Place, workspace: Path) -> None:
    place.sql("""CREATE TABLE t (id integer PRIMARY KEY, v text, at timestamptz NOT NULL, gone boolean NOT NULL);
        INSERT INTO t SELECT g, repeat('x', 90), now(), FALSE FROM generate_series(1, 4000) g; ANALYZE t""")
    flag = {"ts": {}, "spark": {"replica": "spark"}, "tdi": {"delete_flag": "gone"}, "atdi": {"delete_flag": "gone"}}
    fixed = {"table": place.table("t"), "columns": ["v"], "sinks": []}
    tables = [
        {"name": name, "strategy": {"type": "ts" if name == "spark" else name, "timestamp": "at", **more}, **fixed}
        for name, more in flag.items()
    ]
    with opened(config(place.url, *tables), workspace) as project:

        def predicted() -> list[tuple[str, bool]]:
            """Return by strategy the formula, and True if a poll without changes reads less than the table."""
            found = [project.stream(name).predict() for name in flag]
            return [(cost.formula, cost.quiet.high < facts.pages.low / 2) for cost, facts in filter(None, found)]

        scan, lake_scan = ("S + delta*M + own", False), ("S", False)
        by_index, lake = ("(S + M + I)*delta + K + own", True), ("(S + I)*delta + K", True)
        assert predicted() == [scan, lake_scan, scan, scan]
        place.sql("CREATE INDEX ON t (at)")
        assert predicted() == [by_index, lake, by_index, by_index]
        place.sql("CREATE INDEX ON t (at) INCLUDE (gone, id, v)")
        assert predicted() == [by_index, lake, by_index, ("(M + I)*delta + K + (0 to S)*delta + own", True)]


# -- rights ------------------------------------------------------------------------------------------------------------
@over(elsewhere=[])
def test_rights_that_a_role_lacks_to_write_and_to_index(place: Place) -> None:
    place.sql("CREATE TABLE t (k integer PRIMARY KEY, flag integer, other integer)")
    table, connector = probed(place), connector_of(place)
    with place.user() as user:
        place.grant("SELECT", "t", user)
        role = user if place.kind == "postgresql" else f"{user}@%"

        def lacking() -> tuple[str, str, str]:
            with session(place, place.url_as(user)) as reading:
                conn = reading.connection
                return (
                    connector.require(SupportsTableWrites).write_rights(conn, table, update=["flag", "other"]),
                    connector.require(SupportsTableWrites).write_rights(conn, table, delete=True),
                    connector.require(SupportsIndexes).index_right(conn, table),
                )

        named = place.table("t")
        update, delete, index = lacking()
        assert update == f"role {role} may not UPDATE flag, other of {named}"
        assert delete == f"role {role} may not DELETE from {named}"
        assert role in index
        place.grant("UPDATE (flag)", "t", user)
        assert lacking() == (f"role {role} may not UPDATE other of {named}", delete, index)
        place.grant("UPDATE, DELETE", "t", user)
        assert lacking() == ("", "", index)
        if place.kind == "postgresql":
            place.sql(f"ALTER TABLE t OWNER TO {user}; REVOKE CREATE ON SCHEMA public FROM PUBLIC")  # as since 15
            assert lacking()[2] == f"role {user} may not CREATE in schema public"
            place.sql(f"GRANT CREATE ON SCHEMA public TO {user}")
        else:
            place.grant("INDEX", "t", user)
        assert lacking() == ("", "", "")
        with session(place, place.url_as(user), write=True) as writing:
            writing.run(connector.require(SupportsIndexes).create_index("i", table, ["flag"], ["k"]))
        if place.kind == "postgresql":
            place.sql("ALTER TABLE t OWNER TO postgres")


@over(elsewhere=[])
def test_a_view_is_written_where_the_server_can(place: Place) -> None:
    place.sql(
        "CREATE TABLE t (k integer PRIMARY KEY, flag integer); CREATE VIEW v AS SELECT * FROM t; "
        "CREATE VIEW w AS SELECT count(*) AS flag FROM t"
    )
    connector = connector_of(place)
    with session(place) as reading:
        conn = reading.connection
        for name, said in (("v", False), ("w", True)):
            view = probed(place, name)
            assert (
                bool(connector.require(SupportsTableWrites).write_rights(conn, view, update=["flag"], delete=True))
                is said
            )
            assert connector.require(SupportsTableWrites).write_rights(conn, view) == ""
            assert "is a view" in connector.require(SupportsIndexes).index_right(conn, view)
