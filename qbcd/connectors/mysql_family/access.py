"""What MariaDB and MySQL tell of who writes a table, of its counters and indexes, and of the role's rights on it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from qbcd.connectors.facts import Counter, Index
from qbcd.connectors.mysql_family.catalog import COLUMNS, engines, granted, rows_of
from qbcd.model import Column, Table

# Storage engines whose rows are another server's.
_ELSEWHERE = frozenset({"federated", "connect", "spider", "s3", "ndbcluster", "ndb"})
_REMOTE = re.compile(r"nextval\(`((?:[^`]|``)+)`\.`((?:[^`]|``)+)`\)")


def not_only_writer(conn: Connection, table: Table, applying: Sequence[tuple[str, str]]) -> str:
    """See :meth:`~qbcd.connectors.base.Connector.not_only_writer`.

    Args:
        conn: A session.
        table: The table that is read.
        applying: Queries for how much of another server's log this one writes, each with what it means.
    """
    for sql, why in applying:
        if any(str(r["value"]).upper() not in ("0", "OFF", "NO", "", "NONE") for r in rows_of(conn, sql)):
            return why
    for name, engine in engines(conn, table).items():
        if engine.lower() in _ELSEWHERE:
            return f"{name} is stored by engine {engine}, whose rows are written elsewhere"
    return ""


_NEXT = """
SELECT auto_increment AS next FROM information_schema.tables WHERE table_schema = %(schema)s AND table_name = %(name)s
"""


def counter_problem(conn: Connection, table: Table, column: Column) -> Counter:
    """See :meth:`~qbcd.connectors.base.Connector.counter_problem`.

    What a sequence caches, all sessions of the server share, so that its numbers come in order.
    """
    sql = (
        "SELECT column_name AS name, extra, column_default AS made_by FROM information_schema.columns "
        "WHERE table_schema = %(schema)s AND table_name = %(name)s"
    )
    rows = rows_of(conn, sql, _named(table)) if table.kind != "view" else []
    row = next((r for r in rows if r["name"] == column.name), None)
    if row is None:
        return Counter(False)
    if "auto_increment" in str(row["extra"]).lower():
        found = rows_of(conn, _NEXT, _named(table))
        return Counter(True, reached=int(found[0]["next"]) - 1 if found and found[0]["next"] is not None else None)
    sequence = _REMOTE.fullmatch(str(row["made_by"] or ""))
    if sequence is None:
        return Counter(False)
    try:
        made = rows_of(conn, f"SELECT increment, cycle_option FROM `{sequence[1]}`.`{sequence[2]}`".replace("%", "%%"))
    except DBAPIError:
        return Counter(False)  # the role may not read the sequence
    said = f"sequence {sequence[2].replace('``', '`')}, which numbers column {column.name},"
    if int(made[0]["increment"]) < 0:
        return Counter(False, f"{said} counts down, by {-int(made[0]['increment'])}")
    if int(made[0]["cycle_option"]):
        return Counter(False, f"{said} begins again at its end")
    return Counter(True)


def indexes(conn: Connection, table: Table) -> list[Index]:
    """See :meth:`~qbcd.connectors.base.Connector.indexes`; entries of InnoDB hold the primary key too, or the row."""
    if table.kind == "view":
        return []
    sql = "SELECT * FROM information_schema.statistics WHERE table_schema = %(schema)s AND table_name = %(name)s"
    rows = [r for r in rows_of(conn, sql, _named(table)) if r.get("ignored") != "YES" and r.get("is_visible") != "NO"]
    found = []
    for name in dict.fromkeys(str(r["index_name"]) for r in rows):
        parts = sorted((r for r in rows if r["index_name"] == name), key=lambda r: int(r["seq_in_index"]))
        whole = tuple("" if p["sub_part"] is not None else str(p["column_name"] or "") for p in parts)
        held = [c.name for c in table.columns] if name == "PRIMARY" else table.primary_key
        beside = tuple(c for c in held if c not in whole)
        ordered = str(parts[0]["index_type"]).upper() == "BTREE"
        found.append(Index(name, whole, beside, ordered, not int(parts[0]["non_unique"]), False))
    return found


def index_only(conn: Connection, table: Table, sql: str, quoted: str) -> str:
    """See :meth:`~qbcd.connectors.base.Connector.index_only`.

    Args:
        conn: A session.
        table: The table that is read.
        sql: The statement.
        quoted: The table as the statement writes it.
    """
    explained = conn.exec_driver_sql(f"EXPLAIN {sql}", execution_options={"no_parameters": True})
    called = {
        (found[1] or found[2] or "").replace("``", "`") or table.name
        for found in re.finditer(rf"{re.escape(quoted)}(?:\s+AS\s+(?:`((?:[^`]|``)+)`|(\w+)))?", sql)
    }
    for row in explained.mappings():
        step = {str(name).lower(): value for name, value in row.items()}
        if step["table"] not in called or "using index" in re.split(r"\s*;\s*", str(step["extra"] or "").lower()):
            continue
        by = f" by {step['key']}, which lacks a column" if step["key"] else ""
        return f"access of type {step['type']} on {table.schema}.{table.name}{by}"
    return ""


# -- rights ----------------------------------------------------------------------------------------------------------
def write_rights(conn: Connection, table: Table, update: Sequence[str], delete: bool, grants: Sequence[str]) -> str:
    """See :meth:`~qbcd.connectors.base.Connector.write_rights`; `grants` is the text of all that the role was given."""
    role, place = _role(conn), f"{table.schema}.{table.name}"
    lacking = []
    rows = rows_of(conn, COLUMNS.format(no_pad="0"), _named(table))
    may = {r["name"] for r in rows if "update" in str(r["privileges"]).lower().split(",")}
    missing = [name for name in update if name not in may]
    if table.kind == "view" and (update or delete):
        sql = (
            "SELECT is_updatable AS yes FROM information_schema.views "
            "WHERE table_schema = %(schema)s AND table_name = %(name)s"
        )
        if [r["yes"] for r in rows_of(conn, sql, _named(table))] != ["YES"]:
            lacking.append(f"{place} is a view that cannot be written")
    if missing:
        lacking.append(f"role {role} may not UPDATE {', '.join(missing)} of {place}")
    if delete and not granted(grants, "DELETE", table.schema, table.name):
        lacking.append(f"role {role} may not DELETE from {place}")
    return "; ".join(lacking)


def index_right(conn: Connection, table: Table, grants: Sequence[str]) -> str:
    """See :meth:`~qbcd.connectors.base.Connector.index_right`; `grants` is the text of all that the role was given."""
    place = f"{table.schema}.{table.name}"
    if table.kind == "view":
        return f"{place} is a view, which has no indexes of its own"
    return "" if granted(grants, "INDEX", table.schema, table.name) else f"role {_role(conn)} lacks INDEX on {place}"


def _role(conn: Connection) -> str:
    return str(conn.exec_driver_sql("SELECT current_user()").scalar_one())


def _named(table: Table) -> Mapping[str, Any]:
    return {"schema": table.schema, "name": table.name}
