"""What the catalog of MariaDB and MySQL tells of a table, a role and the server; reads information_schema alone.

Names are compared again in Python, since information_schema compares them by a collation that equates case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import sqlglot
from sqlalchemy.engine import Connection
from sqlglot import exp
from sqlglot.errors import SqlglotError

from qbcd.connectors.facts import Privileges
from qbcd.connectors.mysql_family.expressions import DIALECT
from qbcd.connectors.mysql_family.types import make_column
from qbcd.model import Table

PAGE = 16384  # bytes of an InnoDB page unless the server was built otherwise
SYSTEM_SCHEMAS = ("information_schema", "performance_schema", "mysql", "sys")
_KINDS = {"BASE TABLE": "table", "SYSTEM VERSIONED": "table", "VIEW": "view"}

_TABLE = """
SELECT table_schema AS "schema", table_name AS name, table_type AS kind, engine, table_rows AS row_count,
       data_length AS bytes, avg_row_length AS width, create_options AS options, create_time AS made,
       @@lower_case_table_names AS folded
FROM information_schema.tables WHERE table_schema = %(schema)s AND table_name = %(name)s
"""

# One row a column, as `types.make_column` reads it.
COLUMNS = """
SELECT column_name AS name, column_type AS sql_type, data_type AS base_type, is_nullable = 'YES' AS nullable,
       numeric_precision AS "precision", numeric_scale AS scale, character_set_name AS charset,
       collation_name AS collation, character_maximum_length AS characters, character_octet_length AS octets,
       {no_pad} AS no_pad, privileges
FROM information_schema.columns WHERE table_schema = %(schema)s AND table_name = %(name)s ORDER BY ordinal_position
"""

_KEYS = """
SELECT index_name AS "index", column_name AS "column", sub_part AS prefix, nullable = 'YES' AS nullable
FROM information_schema.statistics
WHERE table_schema = %(schema)s AND table_name = %(name)s AND non_unique = 0 ORDER BY index_name, seq_in_index
"""

_NAMES = """
SELECT concat(table_schema, '.', table_name) FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') AND table_schema NOT IN %(system)s ORDER BY 1
"""
_GRANT = re.compile(
    r"GRANT (?P<rights>.+?) ON (?P<schema>`(?:[^`]|``)*`|\*)\.(?P<table>`(?:[^`]|``)*`|\*) TO ", re.DOTALL
)


def rows_of(conn: Connection, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The rows of a catalog query, as dicts with the names in lower case."""
    found = conn.exec_driver_sql(sql.replace('"', "`"), dict(params or {})).mappings()
    return [{str(name).lower(): value for name, value in row.items()} for row in found]


def probe_table(conn: Connection, schema: str, name: str, no_pad: str, all_digits: str) -> Table | None:
    """The table, or None where there is none of that name (or, without a schema, none in the session's database).

    Args:
        conn: A session.
        schema: Its database, or empty.
        name: Its name.
        no_pad: SQL that tells whether ``collation_name`` tells trailing spaces apart.
        all_digits: SQL template of a floating point number's text.
    """
    where = {"schema": schema or conn.exec_driver_sql("SELECT database()").scalar_one(), "name": name}
    rows = rows_of(conn, _TABLE, where)
    found = [r for r in rows if r["folded"] or (r["schema"], r["name"]) == tuple(where.values())]
    if not found or found[0]["kind"] not in _KINDS:
        return None
    row = found[0]
    described = rows_of(conn, COLUMNS.format(no_pad=no_pad), where)
    columns = tuple(make_column({**r, "all_digits": all_digits}) for r in described)
    primary, unique = _keys(conn, where) if row["kind"] != "VIEW" else ((), ())
    size, width = int(row["bytes"] or 0), int(row["width"] or 0)
    return Table(
        schema=row["schema"],
        name=row["name"],
        kind="partitioned" if "partitioned" in str(row["options"]).lower() else _KINDS[row["kind"]],
        columns=columns,
        primary_key=primary,
        unique_keys=unique,
        rows=-1 if row["row_count"] is None else int(row["row_count"]),
        pages=-(-size // PAGE),
        row_width=width,
        # rows of InnoDB are stored in the order of the primary key; nothing is known of other columns
        key_correlation=1.0 if primary else None,
        made=str(row["made"] or ""),
    )


def _keys(conn: Connection, where: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Primary key and other unique keys that vouch for whole values, none NULL."""
    indexes: dict[str, list[dict[str, Any]]] = {}
    for row in rows_of(conn, _KEYS, where):
        indexes.setdefault(row["index"], []).append(row)
    usable = {
        name: tuple(str(r["column"]) for r in rows)
        for name, rows in indexes.items()
        if all(r["column"] and r["prefix"] is None and not r["nullable"] for r in rows)
    }
    primary = usable.pop("PRIMARY", ())
    return primary, tuple(usable.values())


def table_names(conn: Connection) -> list[str]:
    """Qualified names of all readable tables and views."""
    return [str(r[0]) for r in conn.exec_driver_sql(_NAMES, {"system": SYSTEM_SCHEMAS})]


def privileges(
    conn: Connection, table: Table, columns: Sequence[str], schema: str, grants: Sequence[str]
) -> Privileges:
    """What the role may do with `columns` of `table` and with database `schema`, by the text of its `grants`."""
    rows = rows_of(conn, COLUMNS.format(no_pad="0"), {"schema": table.schema, "name": table.name})
    readable = {r["name"] for r in rows if "select" in str(r["privileges"]).lower().split(",")}
    missing = tuple(c for c in columns if c not in readable)
    own = all(granted(grants, r, schema) for r in ("CREATE", "DROP", "SELECT", "INSERT", "UPDATE", "DELETE"))
    role = str(conn.exec_driver_sql("SELECT current_user()").scalar_one())
    # A column that the role may not read is no different from one that is not there.
    whole = granted(grants, "SELECT", table.schema, table.name)
    return Privileges(not missing, missing, own, own, role, lock=whole)


def granted(grants: Sequence[str], right: str, schema: str, table: str = "") -> bool:
    """Whether a grant holds `right` on all databases, on one whose pattern `schema` matches, or on `table` itself."""
    for grant in grants:
        found = _GRANT.match(grant)
        if found is None:
            continue
        rights = {r.strip().upper() for r in found["rights"].split(",")}
        place = (
            _covers(found["schema"], schema)
            if found["table"] == "*"
            else (bool(table) and (_plain(found["schema"]), _plain(found["table"])) == (schema, table))
        )
        if place and rights & {right, "ALL PRIVILEGES", "ALL"}:
            return True
    return False


def granted_everywhere(grants: Sequence[str], right: str) -> bool:
    """Whether a grant holds `right`, one over the whole server, on it."""
    found = [match for match in map(_GRANT.match, grants) if match and (match["schema"], match["table"]) == ("*", "*")]
    return any({r.strip().upper() for r in m["rights"].split(",")} & {right, "ALL PRIVILEGES"} for m in found)


def _covers(written: str, schema: str) -> bool:
    """Whether a database as a grant names it, a pattern with ``%`` and ``_``, is or matches `schema`."""
    if written == "*":
        return True
    parts = re.split(r"(\\.|%|_)", _plain(written))
    wild = {"%": ".*", "_": "."}
    pattern = "".join(wild.get(p) or re.escape(p[1:] if p.startswith("\\") else p) for p in parts)
    return re.fullmatch(pattern, schema, re.DOTALL) is not None


def _plain(quoted: str) -> str:
    return quoted[1:-1].replace("``", "`")


# -- what may be compared in the source ------------------------------------------------------------------------------
def engines(conn: Connection, table: Table, seen: frozenset[tuple[str, str]] = frozenset()) -> dict[str, str]:
    """Storage engine of `table`, or of every table beneath a view: name to engine; empty text where it is hidden."""
    where = {"schema": table.schema, "name": table.name}
    if table.kind != "view":
        return {f"{table.schema}.{table.name}": str(r["engine"] or "") for r in rows_of(conn, _TABLE, where)}
    found: dict[str, str] = {}
    for schema, name in sorted(_beneath(conn, table) - seen):
        below = rows_of(conn, _TABLE, {"schema": schema, "name": name})
        kind = _KINDS.get(str(below[0]["kind"]), "other") if below else "other"
        inner = Table(schema, name, kind, (), ())
        found |= engines(conn, inner, seen | {(table.schema, table.name)}) if below else {f"{schema}.{name}": ""}
    return found or {f"{table.schema}.{table.name}": ""}


def _beneath(conn: Connection, view: Table) -> set[tuple[str, str]]:
    """(database, name) of what a view's definition reads; empty where the role may not see the definition."""
    sql = (
        "SELECT view_definition AS text FROM information_schema.views WHERE table_schema = %(s)s AND table_name = %(n)s"
    )
    rows = rows_of(conn, sql, {"s": view.schema, "n": view.name})
    try:
        tree: Any = sqlglot.parse_one(str(rows[0]["text"] or "") if rows else "", dialect=DIALECT)
    except SqlglotError:
        return set()
    # the server writes the database before every table; what has none is a common table expression
    return {(t.db, t.name) for t in tree.find_all(exp.Table) if t.db} if tree else set()
