"""The tables whose rows a relation of MariaDB contains, through views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sqlglot
from sqlalchemy.engine import Connection
from sqlglot import exp
from sqlglot.errors import SqlglotError

from qbcd.connectors.mysql_family.expressions import DIALECT
from qbcd.connectors.mysql_family.rows import rows_of
from qbcd.model import Table

_RELATION = """
SELECT t.table_type AS kind, v.view_definition AS text FROM information_schema.tables AS t
LEFT JOIN information_schema.views AS v ON v.table_schema = t.table_schema AND v.table_name = t.table_name
WHERE t.table_schema = %(schema)s AND t.table_name = %(name)s
"""
_TABLE = "BASE TABLE"


def kin(conn: Connection, table: Table, relations: Sequence[str]) -> dict[str, str]:
    """See :meth:`~qbcd.connectors.catalog.Catalog.kin`. A hidden relation may be a view."""
    own = f"{table.schema}.{table.name}"
    known: dict[str, set[str] | None] = {}
    mine = _behind(conn, own, known)
    found = {}
    for label in relations:
        theirs = _behind(conn, label, known)
        apart = mine is not None and theirs is not None and not mine & theirs
        found[label] = "same" if label == own else "" if apart else "through"
    return found


def _behind(conn: Connection, label: str, known: dict[str, set[str] | None]) -> set[str] | None:
    """Return the tables whose rows a relation contains, in lower case; None if they are unknown."""
    if label not in known:
        known[label] = None  # a view cannot read itself
        rows = [row for schema, name in _spelled(label) for row in rows_of(conn, _RELATION, _named(schema, name))]
        parts = [{label.lower()} if row["kind"] == _TABLE else _of_view(conn, row["text"], known) for row in rows]
        found = [part for part in parts if part is not None]
        known[label] = set().union(*found) if rows and len(found) == len(rows) else None
    return known[label]


def _of_view(conn: Connection, text: str | None, known: dict[str, set[str] | None]) -> set[str] | None:
    try:
        tree = sqlglot.parse_one(text, read=DIALECT) if text else None
    except SqlglotError:
        return None
    if tree is None:
        return None
    ctes = {cte.alias for cte in tree.find_all(exp.CTE)}
    read = [f"{one.db}.{one.name}" for one in tree.find_all(exp.Table) if one.db or one.name not in ctes]
    parts = [_behind(conn, label, known) for label in dict.fromkeys(read)]
    found = [part for part in parts if part is not None]
    return set().union(*found) if len(found) == len(parts) else None


def _spelled(label: str) -> Iterator[tuple[str, str]]:
    """Yield each schema and name that a label may mean."""
    for place, letter in enumerate(label):
        if letter == ".":
            yield label[:place], label[place + 1 :]


def _named(schema: str, name: str) -> dict[str, str]:
    return {"schema": schema, "name": name}
