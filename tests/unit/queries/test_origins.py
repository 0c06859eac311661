"""Origins of a query's columns: DuckDB runs the query with other values in one column after another."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from qbcd.model import Column, Table, Travel
from qbcd.queries import column_origins
from qbcd.queries.origins import AGGREGATION, IDENTITY, TRANSFORMATION

TABLES = {"orders": ("id", "customer", "amount", "Odd Name"), "customers": ("no", "name", "region")}


def column(name: str) -> Column:
    return Column(name, "integer", "integer", True, "", "typed", Travel("int32"))


def base(name: str, schema: str = "main") -> Table:
    return Table(schema, name, "table", tuple(map(column, TABLES[name])), primary_key=())


def query(text: str, *columns: str) -> Table:
    bases = tuple(map(base, TABLES))
    return Table("", "q", "query", tuple(map(column, columns)), primary_key=(), query=text, bases=bases)


# The query, its columns, and the columns that only filter, join or group.
QUERIES = {
    "join": (
        "SELECT o.id, name, o.amount * 2 AS twice, 1 AS one FROM main.orders o JOIN main.customers ON no = o.customer "
        "WHERE region > 0",
        ("id", "name", "twice", "one"),
        {"no", "customer", "region"},
    ),
    "quoted": ('SELECT "Odd Name" AS "X y", customer FROM main.orders', ("X y", "customer"), set()),
    "with": (
        "WITH t AS (SELECT customer AS k, sum(amount) AS s, count(*) AS n FROM main.orders GROUP BY 1) "
        "SELECT t.k, s, n, c.region, (SELECT max(o.id) FROM main.orders o WHERE o.customer = t.k) AS last "
        "FROM t LEFT JOIN main.customers c ON c.no = t.k",
        ("k", "s", "n", "region", "last"),
        {"customer", "no"},
    ),
    "union": ("SELECT no, name FROM main.customers UNION ALL SELECT id, NULL FROM main.orders", ("no", "name"), set()),
    "star": ("SELECT * FROM main.customers", ("no", "name", "region"), set()),
    "case": ("SELECT id, CASE WHEN amount > 4 THEN customer END AS z FROM main.orders", ("id", "z"), set()),
    "window": ("SELECT id, sum(amount) OVER (ORDER BY id) AS w FROM main.orders", ("id", "w"), set()),
    "nested": (
        "SELECT d.v + 1 AS more FROM (SELECT amount - coalesce(customer, 0) AS v FROM main.orders) d",
        ("more",),
        set(),
    ),
}


@pytest.fixture(scope="module")
def session() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        yield made


def rows(session: duckdb.DuckDBPyConnection, text: str, changed: tuple[str, str] | None = None) -> dict[str, list[str]]:
    """Return the values of each column of the result, sorted, with other values in one column of a table."""
    for name, columns in TABLES.items():
        values = [
            f"CASE WHEN n % 4 < 3 THEN (n * 7 + {place}) % 11 "
            f'{"* (n - 5) * (n - 3) + 100" if (name, c) == changed else ""} END AS "{c}"'
            for place, c in enumerate(columns)
        ]
        session.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT {', '.join(values)} FROM range(11) t(n)")
    found = session.sql(text)
    fetched = found.fetchall()
    return {c: sorted(str(row[i]) for row in fetched) for i, c in enumerate(found.columns)}


@pytest.mark.parametrize("name", QUERIES)
def test_a_column_that_changes_has_the_changed_one_as_origin(name: str, session: duckdb.DuckDBPyConnection) -> None:
    text, columns, filters = QUERIES[name]
    origins = column_origins(query(text, *columns), "postgres")
    assert [*origins] == [*columns]
    before = rows(session, text)
    for table, names in TABLES.items():
        for changed in set(names) - filters:
            after = rows(session, text, (table, changed))
            moved = {c for c in columns if before[c] != after[c]}
            assert moved == {c for c in columns if (table, changed) in {(o.table.name, o.column) for o in origins[c]}}


def test_the_use_of_values_is_named() -> None:
    origins = column_origins(query(*QUERIES["with"][:1], *QUERIES["with"][1]), "postgres")
    assert [[(o.column, o.use) for o in found] for found in origins.values()] == [
        [("customer", IDENTITY)],
        [("amount", AGGREGATION)],
        [],
        [("region", IDENTITY)],
        [("id", AGGREGATION)],
    ]
    twice = column_origins(query(*QUERIES["join"][:1], *QUERIES["join"][1]), "postgres")["twice"]
    assert [(o.column, o.use) for o in twice] == [("amount", TRANSFORMATION)]


def test_a_column_whose_origin_is_not_shown_is_left_out() -> None:
    found = column_origins(query("SELECT id, f.* FROM main.orders, main.other f", "id", "x"), "postgres")
    assert [*found] in (["id"], [])
