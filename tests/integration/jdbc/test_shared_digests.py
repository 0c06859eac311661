"""PostgreSQL and DuckDB compute one digest of equal rows, so that `qbcd diff` reads only ranges that differ."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

import qbcd
from qbcd.connectors.jdbc.digests import shared_digest
from qbcd.connectors.jdbc.profiles import PROFILES
from qbcd.model import Column, Travel
from tests.support import sql
from tests.support.jdbc_places import JdbcPlace, file_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# (type of PostgreSQL, type of DuckDB, literals of both)
VALUES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("smallint", "smallint", ("-32768", "0", "32767")),
    ("integer", "integer", ("-2147483648", "2147483647")),
    ("bigint", "bigint", ("-9223372036854775808", "9223372036854775807")),
    ("bigint", "uinteger", ("4294967295",)),
    ("numeric(20)", "ubigint", ("18446744073709551615",)),
    ("boolean", "boolean", ("TRUE", "FALSE")),
    (
        "text",
        "varchar",
        ("''", "' a '", "'-'", "'1:a'", "'日本ß😀'", "'e\u0301'", "'line\nbreak'", "repeat('x', 100000)"),
    ),
    ("varchar(40)", "varchar", ("'a'",)),
    ("numeric(38, 10)", "decimal(38, 10)", ("9999999999999999999999999999.9999999999", "-0.5", "0", "-0.0000000001")),
    ("numeric(12, 2)", "decimal(12, 2)", ("1.5", "-1", "0.05")),
    ("numeric(9)", "decimal(9, 0)", ("-999999999", "5")),
    ("date", "date", ("'0001-01-01'", "'1582-10-04'", "'9999-12-31'", "'infinity'")),
    (
        "timestamp",
        "timestamp",
        (
            "'0001-01-01 00:00:00'",
            "'1582-10-04 23:59:59.999999'",
            "'1969-12-31 23:59:59.000001'",
            "'2024-03-31 02:30:00.123456'",
            "'9999-12-31 23:59:59.999999'",
            "'infinity'",
            "'-infinity'",
        ),
    ),
    ("uuid", "uuid", ("'8F14E45F-CEEA-467F-A8F5-3D1B1B1B1B1B'",)),
    ("bytea", "blob", ("''", "'\\x00\\xff'")),
)
BYTES = {"'\\x00\\xff'": "'\\x00ff'"}  # of DuckDB and of PostgreSQL
OF_H2 = {"uinteger": "bigint", "ubigint": "numeric(20)", "blob": "varbinary", "timestamp": "timestamp(9)"}
NOT_IN_H2 = ("'infinity'", "'-infinity'")


@pytest.fixture
def place_of_duckdb(jdbc_spark: SparkSession, tmp_path: Path) -> JdbcPlace:
    return file_place(jdbc_spark, "duckdb", tmp_path)


def corpus(name: str) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return type and literals of PostgreSQL, and of the other database."""
    found = []
    for postgresql, duckdb_type, literals in VALUES:
        kind, named = duckdb_type, [(BYTES.get(one, one), one) for one in literals]
        if name == "h2":
            kind = OF_H2.get(duckdb_type, duckdb_type)
            named = [(one, "X'00ff'" if one in BYTES.values() else other) for one, other in named]
            named = [(one, other) for one, other in named if one not in NOT_IN_H2]
            named = [(one, "X''" if kind == "varbinary" and other == "''" else other) for one, other in named]
        found.append((postgresql, kind, named))
    return found


@pytest.fixture(params=["duckdb", pytest.param("h2", marks=pytest.mark.campaign)])
def place(jdbc_spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> JdbcPlace:
    return file_place(jdbc_spark, request.param, tmp_path)


def filled(place: JdbcPlace, shop: str, rows: int) -> None:
    """Create a table with a column for each type in both databases: a row for each value, and rows of NULL."""
    tables, series = [], {"duckdb": "range({n}, {rows} + 1)", "h2": "SYSTEM_RANGE({n}, {rows})"}[place.name]
    q = place.quoted if place.name == "h2" else str
    for side in (0, 1):
        name = (str, q)[side]
        named = ", ".join(f"{name(f'v{i}')} {one[side]}" for i, one in enumerate(corpus(place.name)))
        inserts = [f"CREATE TABLE {name('corpus')} ({name('id')} bigint PRIMARY KEY, {named})"]
        number = 0
        for i, (*types, literals) in enumerate(corpus(place.name)):
            for literal in literals:
                value = f"CAST({literal[side]} AS {types[side]})"
                columns = f"{name('corpus')} ({name('id')}, {name(f'v{i}')})"
                inserts.append(f"INSERT INTO {columns} VALUES ({number}, {value})")
                number += 1
        more = (f"generate_series({number}, {rows})", series.format(n=number, rows=rows))[side]
        inserts.append(f"INSERT INTO {name('corpus')} ({name('id')}, {name('v2')}) SELECT i, i FROM {more} AS t(i)")
        tables.append(inserts)
    sql(shop, "; ".join(tables[0]))
    place.execute(*tables[1])


def test_equal_values_have_one_digest(place: JdbcPlace, database: str, workspace: Path) -> None:
    filled(place, database, 2_500)
    other = f"{place.url}#{'PUBLIC' if place.name == 'h2' else 'main'}.corpus"
    with qbcd.diff(f"{database}#public.corpus", other) as found:
        assert found.ranges is not None, found.complete_because
        assert (found.method, found.ranges.dirty, found.counts) == ("checksums", 0, {})
        assert found.ranges.compared > 1
        assert found.rows == (2_501, 2_501)
        assert [one.rows for one in found.amounts] == [0, 0]
    removed = 0
    if place.name == "h2":  # its driver shifts such dates, so rows with one are not read
        old = "{v} < DATE '1582-10-15'"
        place.execute(f"DELETE FROM {place.quoted('corpus')} WHERE {old.format(v=place.quoted('v11'))}")
        removed = len(sql(database, f"DELETE FROM corpus WHERE {old.format(v='v11')} RETURNING id"))
    changes = [
        f"UPDATE corpus SET v{i} = NULL WHERE v{i} IS NOT NULL AND id < 1000" for i in range(len(VALUES)) if i != 2
    ]
    sql(database, "; ".join([*changes, "DELETE FROM corpus WHERE id = 2000", "INSERT INTO corpus (id) VALUES (-7)"]))
    with qbcd.diff(other, f"{database}#public.corpus") as found:
        assert found.method == "checksums"
        assert found.counts == {"c": 1, "d": 1, "u": sum(len(one[2]) for one in corpus(place.name)) - 2 - removed}
        assert 0 < found.amounts[1].rows < 1_000


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("postgresql", "duckdb_type", "why"),
    [
        ("double precision", "double", "of which the databases compute no common digest"),
        ("text", "char(3)", ""),
        ("numeric(9, 1)", "decimal(9, 2)", "with different digests of equal values"),
    ],
)
def test_other_types_travel(
    place_of_duckdb: JdbcPlace, database: str, workspace: Path, postgresql: str, duckdb_type: str, why: str
) -> None:
    sql(database, f"CREATE TABLE pairs (id bigint PRIMARY KEY, v {postgresql}); INSERT INTO pairs VALUES (1, '1')")
    place = place_of_duckdb
    place.execute(f"CREATE TABLE pairs (id bigint PRIMARY KEY, v {duckdb_type})", "INSERT INTO pairs VALUES (1, '1')")
    with qbcd.diff(f"{database}#public.pairs", f"{place.url}#main.pairs") as found:
        assert found.counts == {}
        assert why in found.complete_because
        assert (found.ranges is None) == bool(why)


def test_the_digest_is_the_one_that_its_module_describes() -> None:
    columns = [
        Column("a", "BIGINT", "BIGINT", True, "", "typed", Travel("int64")),
        Column("b", "VARCHAR", "VARCHAR", True, "", "typed", Travel("text")),
    ]
    rows = [(1, "x"), (-5, ""), (None, None), (12, "日本😀")]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (a BIGINT, b VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        found = connection.execute(f"SELECT {shared_digest(PROFILES['duckdb'], columns)} FROM t").fetchall()
    for row, (digest,) in zip(rows, found, strict=True):
        number, text = row
        content = ":" if number is None else f"{number},"
        content += ":" if text is None else f"{len(text.encode())}:{text}"
        assert digest == int.from_bytes(hashlib.md5(content.encode()).digest()[:8], "big") - (1 << 63)
