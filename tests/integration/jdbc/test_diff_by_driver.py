"""`qbcd diff` with tables that a JDBC driver alone reads: equal only if equal as typed values, else refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import qbcd
from qbcd.errors import ConfigError, UnsupportedType
from tests.support import sql
from tests.support.jdbc_places import JdbcPlace, file_place, source_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = (
    "id bigint PRIMARY KEY, name varchar(40), amount decimal(12, 2), stamp timestamp, day date, clock time, "
    "one uuid, ratio {double}, small smallint, whole {numeric}, moment timestamptz, yes boolean, bytes {binary}"
)
ROW = (
    "SELECT i, 'n' || i, i * 1.5, TIMESTAMP '2024-01-01 00:00:00.5' + i * INTERVAL '1 second', DATE '2024-01-01', "
    "TIME '12:00:00.5', CAST('8f14e45f-ceea-467f-a8f5-3d1b1b1b1b1b' AS uuid), i * 0.1, 7, i * 1.50, "
    "CAST('2024-01-01 00:00:00+02' AS timestamptz), i % 2 = 0, {bytes}"
)
DUCKDB = {"double": "double", "numeric": "decimal(30, 4)", "binary": "blob", "bytes": "'\\x00\\xff'::BLOB"}
POSTGRESQL = {"double": "double precision", "numeric": "numeric", "binary": "bytea", "bytes": "'\\x00ff'::bytea"}


@pytest.fixture
def duckdb(jdbc_spark: SparkSession, tmp_path: Path) -> JdbcPlace:
    place = file_place(jdbc_spark, "duckdb", tmp_path)
    place.execute(
        f"CREATE TABLE orders ({COLUMNS.format(**DUCKDB)})",
        f"INSERT INTO orders {ROW.format(**DUCKDB)} FROM range(200) AS t(i)",
    )
    return place


@pytest.fixture
def shop(database: str, workspace: Path) -> str:
    """The URL of the same table in PostgreSQL."""
    sql(
        database,
        f"CREATE TABLE orders ({COLUMNS.format(**POSTGRESQL)}); "
        f"INSERT INTO orders {ROW.format(**POSTGRESQL)} FROM generate_series(0, 199) AS t(i)",
    )
    return database


@pytest.mark.campaign
def test_postgresql_and_duckdb_differ_in_the_changed_rows_alone(duckdb: JdbcPlace, shop: str) -> None:
    other = f"{duckdb.url}#main.orders"
    with qbcd.diff(f"{shop}#public.orders", other) as found:
        assert found.counts == {}
        assert found.rows == (200, 200)
        assert found.key == ("id",)
    sql(
        shop,
        "UPDATE orders SET amount = amount + 0.01 WHERE id = 3; UPDATE orders SET name = NULL WHERE id = 4; "
        "UPDATE orders SET stamp = stamp + INTERVAL '1 microsecond' WHERE id = 5; DELETE FROM orders WHERE id = 6; "
        "UPDATE orders SET whole = whole + 0.0001 WHERE id = 7; UPDATE orders SET bytes = '\\x00fe' WHERE id = 8; "
        "UPDATE orders SET moment = moment + INTERVAL '1 hour' WHERE id = 9; "
        "UPDATE orders SET ratio = ratio + 1e-15 WHERE id = 10; INSERT INTO orders (id) VALUES (-1)",
    )
    with qbcd.diff(other, f"{shop}#public.orders") as found:
        assert {(event["op"], event["key"]["id"]) for event in found} == {
            ("d", 6),
            ("c", -1),
            *(("u", i) for i in (3, 4, 5, 7, 8, 9, 10)),
        }
        changed = {event["key"]["id"]: event["changed"] for event in found if event["op"] == "u"}
    assert changed == {
        3: ["amount"],
        4: ["name"],
        5: ["stamp"],
        7: ["whole"],
        8: ["bytes"],
        9: ["moment"],
        10: ["ratio"],
    }


@pytest.mark.campaign
def test_tables_of_two_sources_of_a_project(duckdb: JdbcPlace, shop: str, tmp_path: Path) -> None:
    path = tmp_path / "qbcd.yaml"
    sources = {"shop": {"url": shop}, "lake": source_lines(duckdb)}
    entry = {"source": "shop", "table": "public.orders", "strategy": "id_rcs"}
    path.write_text(json.dumps({"version": 1, "sources": sources, "tables": [entry]}), encoding="utf-8")
    duckdb.execute("UPDATE orders SET name = 'other' WHERE id = 11")
    with qbcd.diff("shop#public.orders", "lake#main.orders", project=path, exclude=["whole"]) as found:
        assert [event["key"] for event in found] == [{"id": 11}]
    with pytest.raises(ConfigError, match=r'there is no source "lakes".*did you mean "lake"'):
        qbcd.diff("shop#public.orders", "lakes#main.orders", project=path)


@pytest.mark.parametrize(
    ("postgresql", "duckdb_type", "said"),
    [
        ("interval", "interval", "equal values may have other texts"),
        ("text", "timestamp", "equal values may have other texts"),
        ("text", "bigint", "equal values may have other texts"),
        ("integer[]", "integer[]", "equal values may have other texts"),
        ("timestamptz", "timestamp", "equal values may have other texts"),
        ("numeric(10, 2)", "double", "may not be exactly one of the other"),
    ],
)
def test_pairs_in_doubt_are_refused(duckdb: JdbcPlace, shop: str, postgresql: str, duckdb_type: str, said: str) -> None:
    sql(shop, f"CREATE TABLE pairs (id bigint PRIMARY KEY, value {postgresql})")
    duckdb.execute(f"CREATE TABLE pairs (id bigint PRIMARY KEY, value {duckdb_type})")
    with pytest.raises(ConfigError, match=said) as caught:
        qbcd.diff(f"{shop}#public.pairs", f"{duckdb.url}#main.pairs")
    assert "--exclude value" in caught.value.remedy


@pytest.mark.campaign
def test_a_text_that_has_no_common_form_is_refused(duckdb: JdbcPlace, shop: str) -> None:
    sql(shop, "CREATE TABLE years (id bigint PRIMARY KEY, stamp timestamp); INSERT INTO years VALUES (1, '2024-01-01')")
    duckdb.execute(
        "CREATE TABLE years (id bigint PRIMARY KEY, stamp timestamp)",
        "INSERT INTO years VALUES (1, TIMESTAMP '0044-03-15 (BC) 12:00:00')",
    )
    with pytest.raises(UnsupportedType, match="column stamp: 1 values of type TIMESTAMP"):
        qbcd.diff(f"{shop}#public.years", f"{duckdb.url}#main.years")
