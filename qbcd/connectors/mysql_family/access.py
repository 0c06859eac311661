"""Counters and indexes of a table of MariaDB and MySQL, and the role's rights on it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from qbcd.connectors.catalog import SupportsIndexes, SupportsTableWrites
from qbcd.connectors.facts import Counter, Index
from qbcd.connectors.mysql_family import types
from qbcd.connectors.mysql_family.facts import FamilyFacts
from qbcd.connectors.mysql_family.grants import granted
from qbcd.connectors.mysql_family.rows import COLUMNS, place_of, role_of, rows_of
from qbcd.errors import UnsupportedPrimitive
from qbcd.model import Column, Table

_NEXTVAL = re.compile(r"nextval\(`((?:[^`]|``)+)`\.`((?:[^`]|``)+)`\)")


_NEXT = """
SELECT auto_increment AS next FROM information_schema.tables WHERE table_schema = %(schema)s AND table_name = %(name)s
"""


def counter_problem(conn: Connection, table: Table, column: Column) -> Counter:
    """See :meth:`~qbcd.connectors.watermarks.SupportsWatermarks.counter_problem`.

    All sessions of the server share the cache of a sequence, so that its numbers are in order.
    """
    sql = (
        "SELECT column_name AS name, extra, column_default AS made_by FROM information_schema.columns "
        "WHERE table_schema = %(schema)s AND table_name = %(name)s"
    )
    rows = rows_of(conn, sql, place_of(table)) if table.kind != "view" else []
    row = next((r for r in rows if r["name"] == column.name), None)
    if row is None:
        return Counter(False)
    if "auto_increment" in str(row["extra"]).lower():
        found = rows_of(conn, _NEXT, place_of(table))
        return Counter(True, reached=int(found[0]["next"]) - 1 if found and found[0]["next"] is not None else None)
    sequence = _NEXTVAL.fullmatch(str(row["made_by"] or ""))
    if sequence is None:
        return Counter(False)
    try:
        made = rows_of(conn, f"SELECT increment, cycle_option FROM `{sequence[1]}`.`{sequence[2]}`".replace("%", "%%"))
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        return Counter(False)  # the role may not read the sequence
    subject = f"sequence {sequence[2].replace('``', '`')}, which numbers column {column.name},"
    if int(made[0]["increment"]) < 0:
        return Counter(False, f"{subject} counts down, by {-int(made[0]['increment'])}")
    if int(made[0]["cycle_option"]):
        return Counter(False, f"{subject} starts again after its last number")
    return Counter(True)


class FamilyAccess(SupportsTableWrites, SupportsIndexes):
    """Indexes, and the role's rights on a table."""

    facts: FamilyFacts

    @override
    def indexes(self, conn: Connection, table: Table) -> list[Index]:
        if table.kind == "view":
            return []
        sql = "SELECT * FROM information_schema.statistics WHERE table_schema = %(schema)s AND table_name = %(name)s"
        rows = [
            r for r in rows_of(conn, sql, place_of(table)) if r.get("ignored") != "YES" and r.get("is_visible") != "NO"
        ]
        found = []
        for name in dict.fromkeys(str(r["index_name"]) for r in rows):
            parts = sorted((r for r in rows if r["index_name"] == name), key=lambda r: int(r["seq_in_index"]))
            whole = tuple("" if p["sub_part"] is not None else str(p["column_name"] or "") for p in parts)
            held = [c.name for c in table.columns] if name == "PRIMARY" else table.primary_key
            included = tuple(c for c in held if c not in whole)
            ordered = str(parts[0]["index_type"]).upper() == "BTREE"
            found.append(Index(name, whole, included, ordered, not int(parts[0]["non_unique"]), False))
        return found

    @override
    def create_index(self, name: str, table: Table, columns: Sequence[str], included: Sequence[str]) -> str:
        """Return an index over all columns: these servers have no included columns."""
        listed = [table.column(c) for c in dict.fromkeys([*columns, *included])]
        problem = types.index_problem([c for c in listed if c is not None])
        if problem:
            raise UnsupportedPrimitive(self.facts.name, f"index over {problem}")
        keys = ", ".join(self.facts.quote(c.name) for c in listed if c is not None)
        quoted = f"{self.facts.index_exists}{self.facts.quote(name)}"
        return f"CREATE INDEX {quoted} ON {self.facts.quoted_table(table)} ({keys})"

    @override
    def index_only(self, conn: Connection, table: Table, sql: str) -> str:
        called = {
            (found[1] or found[2] or "").replace("``", "`") or table.name
            for found in re.finditer(
                rf"{re.escape(self.facts.quoted_table(table))}(?:\s+AS\s+(?:`((?:[^`]|``)+)`|(\w+)))?", sql
            )
        }
        for step in self.facts.plan_steps(conn, sql):
            if step.table not in called or step.covered:
                continue
            by = f" by {step.index}, which lacks a column" if step.index else ""
            return f"access type {step.access} on {table.schema}.{table.name}{by}"
        return ""

    @override
    def write_rights(self, conn: Connection, table: Table, *, update: Sequence[str] = (), delete: bool = False) -> str:
        role, place = role_of(conn), f"{table.schema}.{table.name}"
        lacking = []
        rows = rows_of(conn, COLUMNS.format(no_pad="0"), place_of(table))
        may = {r["name"] for r in rows if "update" in str(r["privileges"]).lower().split(",")}
        missing = [name for name in update if name not in may]
        if table.kind == "view" and (update or delete):
            sql = (
                "SELECT is_updatable AS yes FROM information_schema.views "
                "WHERE table_schema = %(schema)s AND table_name = %(name)s"
            )
            if [r["yes"] for r in rows_of(conn, sql, place_of(table))] != ["YES"]:
                lacking.append(f"{place} is a view that is not updatable")
        if missing:
            lacking.append(f"role {role} may not UPDATE {', '.join(missing)} of {place}")
        if delete and not granted(self.facts.grants_of(conn), "DELETE", table.schema, table.name):
            lacking.append(f"role {role} may not DELETE from {place}")
        return "; ".join(lacking)

    @override
    def index_right(self, conn: Connection, table: Table) -> str:
        place = f"{table.schema}.{table.name}"
        if table.kind == "view":
            return f"{place} is a view, which has no indexes of its own"
        if granted(self.facts.grants_of(conn), "INDEX", table.schema, table.name):
            return ""
        return f"role {role_of(conn)} lacks INDEX on {place}"
