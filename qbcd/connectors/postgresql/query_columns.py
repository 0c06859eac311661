"""The columns of a query's result, without reading a row of it and with SELECT alone.

A join that never holds gives one row of NULLs of the query's own types, which no scan is begun for: of that row
`pg_typeof` names the types, domains included, and `pg_collation_for` the collations of those that have any. Modifiers
come with the description of the result; a driver gives those of numbers alone, and no other decides how a value
travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.engine import Connection

from qbcd.connectors.postgresql.catalog import RESULT
from qbcd.connectors.postgresql.rows import rows_of
from qbcd.connectors.postgresql.types import make_column
from qbcd.model import Column

_NUMERIC, _NUMERICS = 1700, 1231  # oids of numeric and of its arrays
_TYPE = "pg_typeof(q.{name})::oid::bigint"
_COLLATION = """CASE WHEN (SELECT t.typcollation <> 0 FROM pg_type t WHERE t.oid = pg_typeof(q.{name}))
     THEN to_regcollation(pg_collation_for(q.{name}))::oid::bigint END"""


def query_columns(conn: Connection, query: str) -> list[Column]:
    """The columns of a query's result; nothing vouches that any is never NULL, nor for a modifier."""
    described = _described(conn, f"SELECT * FROM (\n{query}\n) AS q LIMIT 0")
    quoted = [_quoted(name) for name, _ in described]
    if len(set(quoted)) < len(quoted):  # the caller says so; here nothing could tell them apart
        return [make_column(_untyped(name)) for name, _ in described]
    types, collations = _one_row(conn, query, [_each(asked, quoted) for asked in (_TYPE, _COLLATION)])
    rows = rows_of(
        conn,
        RESULT,
        {
            "names": [name for name, _ in described],
            "types": types,
            "modifiers": [modifier for _, modifier in described],
            "collations": [oid or 0 for oid in collations],
        },
    )
    return [make_column(row) for row in rows]


def _described(conn: Connection, sql: str) -> list[tuple[str, int]]:
    """(name, type modifier) of a statement's columns; -1 where there is none that matters."""
    result = conn.exec_driver_sql(sql, execution_options={"no_parameters": True})
    cursor: Any = result.cursor
    found = []
    for column in cursor.description:
        modifier = -1
        if column.type_code == _NUMERIC and column.precision not in (None, 0xFFFF):
            modifier = (int(column.precision) << 16 | int(column.scale)) + 4
        elif column.type_code == _NUMERICS and int(column.internal_size) > 0:
            modifier = int(column.internal_size) + 4
        found.append((str(column.name), modifier))
    result.close()
    return found


def _each(asked: str, names: Sequence[str]) -> str:
    # a row has no more columns than a table, of which the result may have as many
    return f"ARRAY[{', '.join(asked.format(name=name) for name in names)}]::bigint[]"


def _one_row(conn: Connection, query: str, select: Sequence[str]) -> list[Any]:
    sql = f"SELECT {', '.join(select)} FROM (SELECT 1) AS one LEFT JOIN (\n{query}\n) AS q ON FALSE"
    return list(conn.exec_driver_sql(sql, execution_options={"no_parameters": True}).one())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _untyped(name: str) -> dict[str, Any]:
    fields = dict.fromkeys(("operators", "element", "element_type", "element_kind", "collation"))
    told = {"name": name, "sql_type": "text", "base_type": "text", "storage_type": "text", "kind": "b"}
    return {**fields, **told, "loose": True, "deterministic": True, "nullable": True, "width": 0, "modifier": -1}
