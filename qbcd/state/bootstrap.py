"""Making tables and first rows while another process may be making the same.

Where DDL commits by itself, a process can be killed between two tables. So tables come first and rows last, together:
tables none of which holds a row are a making that never ended, and whoever comes next goes on with it. Nothing can be
lost by that, since nothing is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Table, inspect, literal, select
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql import FromClause, Insert

from qbcd.state.dialects import facts_of


def present(conn: Connection, schema: str | None) -> set[str]:
    """Names of the tables in `schema` (None is the connection's own); none where there is no such schema."""
    seen = inspect(conn)  # a new one each time: it remembers what it was told
    if schema is not None and not facts_of(conn).lists_any_schema and not seen.has_schema(schema):
        return set()
    return set(seen.get_table_names(schema=schema))


def create_missing(conn: Connection, tables: Sequence[Table]) -> None:
    """Creates those of `tables`, all of one schema, that are not there."""
    there = present(conn, tables[0].schema)
    for table in tables:
        # IF NOT EXISTS asks for the right to create even where the table is there
        if table.name not in there:
            conn.execute(CreateTable(table, if_not_exists=True))


def holds_rows(conn: Connection, tables: Iterable[FromClause]) -> bool:
    """Whether any of `tables`, which are all there, has a row."""
    queries = (select(literal(1)).select_from(table).limit(1) for table in tables)
    return any(conn.execute(query).first() is not None for query in queries)


def insert_once(conn: Connection, statement: Insert) -> bool:
    """Inserts a row, or finds that another process was faster; returns whether it was inserted here."""
    before = conn.begin_nested()
    try:
        made = conn.execute(statement).rowcount > 0
    except IntegrityError:
        before.rollback()
        return False
    # After any other error nothing goes back to `before`: a deadlock has ended the transaction, savepoint and all.
    before.commit()
    return made
