"""Create tables and first rows while another process may be creating the same ones.

If DDL commits implicitly, a process can be killed between two tables. So all tables are created first, and the first
rows are inserted last, together. Tables without any row are therefore an unfinished creation, which the next process
continues. No data can be lost, since there are no rows yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Table, inspect, literal, select
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql import FromClause, Insert

from qbcd.state.dialects import facts_of, keeps_state


def present(conn: Connection, schema: str | None) -> set[str]:
    """Return the names of the tables in `schema` (None is the connection's own).

    Empty if there is no such schema, or the database is of a kind in which qbcd keeps no tables.
    """
    if not keeps_state(conn):
        return set()
    seen = inspect(conn)  # a new inspector each time: it caches its answers
    if schema is not None and not facts_of(conn).lists_any_schema and not seen.has_schema(schema):
        return set()
    return set(seen.get_table_names(schema=schema))


def create_missing(conn: Connection, tables: Sequence[Table]) -> None:
    """Create the missing tables of `tables`, which are all in one schema."""
    existing = present(conn, tables[0].schema)
    for table in tables:
        # IF NOT EXISTS needs the right to create even if the table exists
        if table.name not in existing:
            conn.execute(CreateTable(table, if_not_exists=True))


def holds_rows(conn: Connection, tables: Iterable[FromClause]) -> bool:
    """Return True if any of `tables` has a row; all must exist."""
    queries = (select(literal(1)).select_from(table).limit(1) for table in tables)
    return any(conn.execute(query).first() is not None for query in queries)


def insert_once(conn: Connection, statement: Insert) -> bool:
    """Insert a row, unless another process was faster; return True if this call inserted it."""
    before = conn.begin_nested()
    try:
        made = conn.execute(statement).rowcount > 0
    except IntegrityError:
        before.rollback()
        return False
    # No rollback to `before` after any other error: a deadlock has ended the transaction, and the savepoint with it.
    before.commit()
    return made
