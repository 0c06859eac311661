"""The SQL of docs/how-to/load-into-a-warehouse.md, translated by sqlglot and executed by DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
import sqlglot
from sqlglot import exp

import qbcd
from tests.support.project import opened, poll

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "load-into-a-warehouse.md"
KINDS = {"snowflake": "jsonl", "bigquery": "parquet"}
READ = {
    "snowflake": """INSERT INTO orders_changes
        SELECT json FROM read_json_objects('{lake}/orders/*.jsonl') WHERE json NOT IN (SELECT event FROM orders_changes)
    """,  # COPY INTO takes a file once
    "bigquery": """CREATE OR REPLACE VIEW shop.orders_changes AS
        SELECT * FROM read_parquet('{lake}/orders/epoch=*/**/*.parquet', hive_partitioning = true)
    """,
}
HEAD = "order_id,customer,status,amount\n"


def blocks(warehouse: str) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the statements that create tables, and those of a load, as trees."""
    section = PAGE.read_text("utf-8").split("\n## ")[1 + list(KINDS).index(warehouse)]
    create, load = re.findall(r"```sql\n(.*?)```", section, re.DOTALL)
    return parsed(create, warehouse), parsed(load, warehouse)


def parsed(text: str, warehouse: str) -> list[exp.Expr]:
    return [found for found in sqlglot.parse(text, dialect=warehouse) if found is not None]


def duckdb_sql(statement: exp.Expr) -> str:
    """Return DuckDB's SQL; a value of a VARIANT is cast to a text without quotes, as Snowflake does."""
    own = statement.transform(
        lambda node: exp.JSONExtractScalar(**node.args) if isinstance(node, exp.JSONExtract) else node
    )
    return own.sql("duckdb").replace("VARIANT", "JSON")


def loader(warehouse: str, lake: Path, database: duckdb.DuckDBPyConnection) -> Callable[[], None]:
    """Create the tables of the recipe; return its load."""
    create, load = blocks(warehouse)
    database.execute("CREATE SCHEMA shop")
    for statement in create:
        if isinstance(statement, exp.Create) and statement.kind == "TABLE":
            database.execute(duckdb_sql(statement))

    def run() -> None:
        database.execute(READ[warehouse].format(lake=lake))
        for statement in load:
            if not isinstance(statement, exp.Copy):
                database.execute(duckdb_sql(statement))
        database.execute("DROP TABLE batch")  # of one session, or one query

    return run


@pytest.mark.parametrize("warehouse", KINDS)
def test_the_table_equals_the_source_after_each_load(tmp_path: Path, warehouse: str) -> None:
    (tmp_path / "in").mkdir()
    table = {"name": "orders", "source": "partner", "key": ["order_id"], "strategy": "dump", "baseline": "events"}
    types = {"order_id": "integer", "amount": "decimal(10,2)"}
    data = {
        "version": 1,
        "sources": {"partner": {"files": "in/orders-*.csv", "quiet": "0s", "format": {"types": types}}},
        "sinks": {"lake": {"type": KINDS[warehouse], "path": "lake"}},
        "tables": [{**table, "sinks": ["lake"], "guards": {"max_delete_fraction": 1.0}}],
    }
    database = duckdb.connect()
    load = loader(warehouse, tmp_path / "lake", database)
    where = "shop.orders" if warehouse == "bigquery" else "orders"

    def rows() -> list[str]:
        found = database.execute(f"SELECT * REPLACE (amount::DECIMAL(10, 2) AS amount) FROM {where} ORDER BY order_id")
        return [",".join("" if value is None else str(value) for value in row) for row in found.fetchall()]

    def put(number: int, *lines: str) -> list[str]:
        (tmp_path / "in" / f"orders-{number}.csv").write_text(HEAD + "".join(f"{line}\n" for line in lines))
        return list(lines)

    with opened(data, tmp_path) as project:
        dump = put(1, "1,Ann,new,1.50", "2,Bob,new,2.25", "3,Cid,new,3.00")
        prepare(project)
        load()
        assert rows() == dump
        put(2, "1,Ann,paid,1.50", "3,Cid,new,3.00", "4,Dan,new,4.00")  # 2 is deleted, and comes back
        dump = put(3, "1,Ann,sent,1.50", "2,Bob,new,9.99", "4,,new,4.00", "5,Eve,new,5.00")
        poll(project, "orders")
        load()
        assert rows() == dump
        load()
        assert rows() == dump
        put(4, "7,Gil,new,7.00")
        poll(project, "orders")
        project.stream("orders").reset()  # before the load: the new epoch comes with events of the old one
        for path in (tmp_path / "in").iterdir():
            path.unlink()
        dump = put(5, "2,Bob,new,9.99", "6,Flo,new,6.00")
        prepare(project)
        load()
        assert rows() == dump
        dump = put(6, "6,Flo,sent,6.00")
        poll(project, "orders")
        load()
        assert rows() == dump


def prepare(project: qbcd.Project) -> None:
    project.stream("orders").prepare()
    poll(project, "orders")
