"""Variant delta on MariaDB: one state in all statements of a step, nobody's rows locked, values as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import qbcd
from qbcd.errors import Refused
from qbcd.sites import stepping
from qbcd.strategies.base import table_name
from tests.support.places import Place
from tests.support.project import config, opened
from tests.support.query_streams import detect, replica_differs

pytestmark = pytest.mark.parametrize("database", ["mariadb"], indirect=True)

NOW = "sysdate(6)"
TABLES = f"""
CREATE TABLE orders (id integer PRIMARY KEY, region varchar(20) NOT NULL, amount integer, note text,
  at timestamp(6) NOT NULL DEFAULT {NOW});
CREATE TABLE regions (name varchar(20) PRIMARY KEY, zone varchar(20) NOT NULL, at timestamp(6) NOT NULL DEFAULT {NOW});
INSERT INTO regions (name, zone) VALUES ('east', 'e'), ('west', 'w'), ('north', 'n'), ('south', 's');
INSERT INTO orders (id, region, amount) SELECT seq, IF(seq MOD 2 = 0, 'east', 'west'), seq * 10 FROM seq_1_to_9
"""


def by_zone(place: Place) -> str:
    """A result whose groups are found through a join."""
    return (
        f"SELECT r.zone, COUNT(*) AS n, SUM(o.amount) AS total FROM {place.table('orders')} AS o "
        f"JOIN {place.table('regions')} AS r ON r.name = o.region GROUP BY r.zone"
    )


def configured(place: Place, query: str, *tables: str, **more: Any) -> dict[str, Any]:
    stamps = {place.table(table): "at" for table in tables}
    how = {"type": "vbd", "variant": "delta", "timestamps": stamps, "lag": "2ms", "margin": "1ms", **more}
    return config(place.url, {"name": "q", "query": query, "strategy": how, "baseline": "silent"})


def found(project: qbcd.Project) -> dict[str, int]:
    """Events by op of one poll."""
    return {op: n for d in detect(project, "q") if d.header for op, n in d.header.counts.items()}


def test_a_poll_sees_one_state_and_locks_nobody(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An order moves twice while a poll is between its statements: the group that it was in meanwhile is not told."""
    place.sql(TABLES)
    find = stepping._find

    def overtaken(*args: Any) -> int:
        with place.connect() as writer:
            place.run(writer, place.impatient)
            place.run(writer, f"UPDATE orders SET region = 'north', at = {NOW} WHERE id < 5")
            place.run(writer, f"INSERT INTO orders (id, region, amount) VALUES ({100 + len(moves)}, 'north', 1)")
        moves.append(place.sql("SELECT count(*) FROM orders WHERE region = 'north'")[0][0])
        return find(*args)

    moves: list[int] = []
    query = by_zone(place)
    with opened(configured(place, query, "orders", "regions"), workspace) as project:
        project.stream("q").prepare()
        place.sql(f"UPDATE orders SET region = 'south', at = {NOW} WHERE id IN (1, 2)")
        with monkeypatch.context() as between:
            between.setattr(stepping, "_find", overtaken)
            assert found(project) == {"c": 1, "u": 2}, "south is new, of north nobody knows yet"
        assert moves == [5], "written and committed while the poll was at work"
        place.sql(f"UPDATE orders SET region = 'east', at = {NOW} WHERE region = 'north'")
        assert found(project) == {"d": 1, "u": 2}, "south is gone, of north nothing was ever told"
        assert not replica_differs(place, "q", query)
        assert found(project) == {}


def test_values_are_as_they_were(place: Place, workspace: Path) -> None:
    """They go from the query into the replica through a loop in the server, and not through a text."""
    columns = {
        "f": ("float", ["0.1", "1e-20", "-3.4e38"]), "d": ("double", ["0.1", "-0e0", "1.7976931348623157e308"]),
        "n": ("decimal(38,10)", ["1234567890123456789012345678.0123456789", "-0.0000000001", "1"]),
        "b": ("bit(9)", ["b'101010101'", "b'0'", "b'1'"]), "t": ("time(6)", ["'-10:11:12.000001'", "'838:59:59'", "0"]),
        "day": ("date", ["'0000-00-00'", "'2024-02-31'", "'9999-12-31'"]), "y": ("year", ["1999", "0", "2155"]),
        "x": ("varbinary(9)", ["x'00ff'", "x''", "x'27'"]), "e": ("enum('a','b''c')", ["'a'", "'b''c'", "NULL"]),
        "many": ("set('a','b')", ["'a,b'", "''", "'b'"]), "j": ("json", ["'[1.00]'", "'[]'", "'null'"]),
        "u": ("bigint unsigned", ["18446744073709551615", "0", "7"]), "s": ("text", ["'%s :x ?'", "''", r"'🙂 \\'"]),
        "c": ("char(5)", ["'a '", "''", "'é'"]),
    }  # fmt: skip
    place.sql(f"CREATE TABLE v (id integer PRIMARY KEY, {', '.join(f'{n} {t}' for n, (t, _) in columns.items())})")
    rows = [f"({i}, {', '.join(values[i % 3] for _, values in columns.values())})" for i in range(3)]
    place.sql(f"INSERT INTO v VALUES {', '.join(rows)}")
    query = f"SELECT id, {', '.join(columns)} FROM {place.table('v')}"
    replica = f"{place.own_schema}.{table_name('replica', 'q')}"
    same = " AND ".join(f"CAST(v.{n} AS BINARY) <=> CAST(r.{n} AS BINARY) AND v.{n} <=> r.{n}" for n in columns)
    with opened(configured(place, query), workspace) as project:
        project.stream("q").prepare()
        assert place.sql(f"SELECT count(*) FROM v JOIN {replica} AS r ON r.id = v.id AND {same}") == [(3,)]
        place.sql("INSERT INTO v SELECT id + 10, " + ", ".join(columns) + " FROM v; DELETE FROM v WHERE id < 10")
        assert found(project) == {"c": 3, "d": 3}
        assert place.sql(f"SELECT count(*) FROM v JOIN {replica} AS r ON r.id = v.id AND {same}") == [(3,)]
        assert place.sql("SELECT CAST(d AS CHAR) FROM v WHERE d = 0") == [("0",)], "there is but one zero"
        place.sql("UPDATE v SET s = NULL, n = n + 1 WHERE id = 12")
        assert found(project) == {"u": 1}


def test_what_is_refused(place: Place, workspace: Path) -> None:
    place.sql(f"{TABLES}; CREATE VIEW big AS SELECT id, region FROM orders WHERE amount > 50")
    orders = place.table("orders")
    cases = {
        f"SELECT id, region FROM {place.table('big')}": "is a view",
        f"SELECT id, log10(amount) AS l FROM {orders}": "calls log10, which qbcd may not write as you did",
        f"SELECT id, amount + 0x41 AS x FROM {orders}": "has bytes as 0x41",
    }
    for query, reason in cases.items():
        data = configured(place, query)
        data["tables"][0]["key"] = ["id"]
        with opened(data, workspace) as project, pytest.raises(Refused, match=reason):
            project.stream("q").prepare()


def test_a_column_that_no_index_can_hold_is_joined_by_all_the_same(place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE a (id integer PRIMARY KEY, note text); CREATE TABLE b (id integer PRIMARY KEY, note text)")
    place.sql("INSERT INTO a VALUES (1, 'x'), (2, 'y'); INSERT INTO b VALUES (1, 'x'), (2, 'x')")
    query = f"SELECT a.id, b.id AS other FROM {place.table('a')} AS a JOIN {place.table('b')} AS b ON b.note = a.note"
    data = configured(place, query)
    with opened(data, workspace) as project:
        project.stream("q").prepare()
        place.sql("UPDATE b SET note = 'y' WHERE id = 2")
        assert found(project) == {"c": 1, "d": 1}
        assert not replica_differs(place, "q", query)
