"""The columns of a query's result. No row is read, and SELECT is enough.

A join with a condition that is always false returns one row of NULLs of the query's types, and starts no scan. For that
row `pg_typeof` returns the types, domains included, and `pg_collation_for` the collations. Type modifiers come from the
description of the result. The driver shows only those of numbers; no others decide how a value travels.
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
    """Return the columns of a query's result.

    Nothing proves that a column is never NULL, or that a modifier is enforced.
    """
    described = _described(conn, f"SELECT * FROM (\n{query}\n) AS q LIMIT 0")
    quoted = [_quoted(name) for name, _ in described]
    if len(set(quoted)) < len(quoted):  # the caller reports it; here equal names are ambiguous
        return [make_column(_untyped(name)) for name, _ in described]
    types, collations = _one_row(conn, query, [_each(template, quoted) for template in (_TYPE, _COLLATION)])
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
    """Return (name, type modifier) of a statement's columns; -1 if the modifier has no effect."""
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


def _each(template: str, names: Sequence[str]) -> str:
    # an array: one row cannot have more columns than a table, and the query's result may already have as many
    return f"ARRAY[{', '.join(template.format(name=name) for name in names)}]::bigint[]"


def _one_row(conn: Connection, query: str, select: Sequence[str]) -> list[Any]:
    sql = f"SELECT {', '.join(select)} FROM (SELECT 1) AS one LEFT JOIN (\n{query}\n) AS q ON FALSE"
    return list(conn.exec_driver_sql(sql, execution_options={"no_parameters": True}).one())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _untyped(name: str) -> dict[str, Any]:
    fields = dict.fromkeys(("operators", "element", "element_type", "element_kind", "collation"))
    text = {"name": name, "sql_type": "text", "base_type": "text", "storage_type": "text", "kind": "b"}
    return {**fields, **text, "loose": True, "deterministic": True, "nullable": True, "width": 0, "modifier": -1}
