"""Catalog queries that several modules use, and their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import sqlglot
from sqlalchemy.engine import Connection
from sqlglot import exp
from sqlglot.errors import SqlglotError

from qbcd.connectors.mysql_family.expressions import DIALECT
from qbcd.model import Table

KINDS = {"BASE TABLE": "table", "SYSTEM VERSIONED": "table", "VIEW": "view"}

TABLE = """
SELECT table_schema AS "schema", table_name AS name, table_type AS kind, engine, table_rows AS row_count,
       data_length AS bytes, avg_row_length AS width, create_options AS options, create_time AS made,
       @@lower_case_table_names AS folded
FROM information_schema.tables WHERE table_schema = %(schema)s AND table_name = %(name)s
"""

# One row per column, as `types.make_column` reads it.
COLUMNS = """
SELECT column_name AS name, column_type AS sql_type, data_type AS base_type, is_nullable = 'YES' AS nullable,
       numeric_precision AS "precision", numeric_scale AS scale, character_set_name AS charset,
       collation_name AS collation, character_maximum_length AS characters, character_octet_length AS octets,
       {no_pad} AS no_pad, privileges
FROM information_schema.columns WHERE table_schema = %(schema)s AND table_name = %(name)s ORDER BY ordinal_position
"""


# Of a statement without parameters, whose percent signs are its own.
UNBOUND: Mapping[str, bool] = {"no_parameters": True}


Query: TypeAlias = tuple[str, Mapping[str, Any] | None]  # text and parameters; None if percent signs are its own


def rows_of(conn: Connection, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the rows of a catalog query as dicts, with names in lower case."""
    return _dicts(conn.exec_driver_sql(sql.replace('"', "`"), dict(params or {})).mappings())


def _dicts(rows: Iterable[Mapping[Any, Any]]) -> list[dict[str, Any]]:
    return [{str(name).lower(): value for name, value in row.items()} for row in rows]


def rows_of_each(conn: Connection, queries: Sequence[Query]) -> list[list[dict[str, Any]]]:
    """Return the rows of several statements, sent together if the driver can.

    One without a result has none. After an error, none of the later ones was executed.
    """
    if not queries:  # the server refuses a text without a statement
        return []
    driver: Any = conn.connection.driver_connection
    with driver.cursor() as cursor:
        texts = [cursor.mogrify(sql.replace('"', "`").strip(), params) for sql, params in queries]
    if not hasattr(driver, "gather_next"):
        found = [conn.exec_driver_sql(text, execution_options=UNBOUND) for text in texts]
        return [_dicts(one.mappings()) if one.returns_rows else [] for one in found]
    driver.gather_next()
    conn.exec_driver_sql("; ".join(texts), execution_options=UNBOUND).close()
    return [[dict(zip(names, row, strict=True)) for row in rows] for names, rows in driver.gathered]


def place_of(table: Table) -> Mapping[str, Any]:
    """Return the parameters that name `table` in a catalog query."""
    return {"schema": table.schema, "name": table.name}


def role_of(conn: Connection) -> str:
    """Return the session's role."""
    return str(conn.exec_driver_sql("SELECT current_user()").scalar_one())


def engines(conn: Connection, table: Table, seen: frozenset[tuple[str, str]] = frozenset()) -> dict[str, str]:
    """Return the storage engine of `table`, or of each table below a view, by name.

    It is empty if the server does not show it.
    """
    where = {"schema": table.schema, "name": table.name}
    if table.kind != "view":
        return {f"{table.schema}.{table.name}": str(r["engine"] or "") for r in rows_of(conn, TABLE, where)}
    found: dict[str, str] = {}
    for schema, name in sorted(_tables_below(conn, table) - seen):
        below = rows_of(conn, TABLE, {"schema": schema, "name": name})
        kind = KINDS.get(str(below[0]["kind"]), "other") if below else "other"
        inner = Table(schema, name, kind, (), ())
        found |= engines(conn, inner, seen | {(table.schema, table.name)}) if below else {f"{schema}.{name}": ""}
    return found or {f"{table.schema}.{table.name}": ""}


def _tables_below(conn: Connection, view: Table) -> set[tuple[str, str]]:
    """Return (database, name) of the tables in a view's definition; none if it is hidden."""
    sql = (
        "SELECT view_definition AS text FROM information_schema.views WHERE table_schema = %(s)s AND table_name = %(n)s"
    )
    rows = rows_of(conn, sql, {"s": view.schema, "n": view.name})
    try:
        tree: Any = sqlglot.parse_one(str(rows[0]["text"] or "") if rows else "", dialect=DIALECT)
    except SqlglotError:
        return set()
    # the server writes the database before every table; a name without one is a common table expression
    return {(t.db, t.name) for t in tree.find_all(exp.Table) if t.db} if tree else set()
