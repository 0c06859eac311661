"""Tables of a local database that hold the rows of a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query
from qbcd.sql.render import quoted

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "qbcd_"  # names of tables begin with it (`LocalDatabase.new_name`)


def stored(database: LocalDatabase, rows: Query) -> Query:
    """Compute rows once, into a table; rows of a table stay there."""
    return rows if _is_table(rows) else _in_table(database, rows.columns, f"({rows.sql})")


def stored_arrow(database: LocalDatabase, rows: pa.Table) -> Query:
    """Store the rows of an Arrow table."""
    name = database.new_name()
    database.connection.register(name, rows)
    try:
        return _in_table(database, rows.column_names, name)
    finally:
        database.connection.unregister(name)


@contextmanager
def kept(database: LocalDatabase, rows: Query) -> Iterator[Query]:
    """Keep rows in a table for the block, so that they are computed once."""
    table = stored(database, rows)
    try:
        yield table
    finally:
        if table is not rows:
            database.connection.execute(f"DROP TABLE {table.sql.rpartition(' ')[-1]}")


def fetched(database: LocalDatabase, rows: Query) -> list[tuple[Any, ...]]:
    """Run a query whose result is small."""
    return database.connection.execute(rows.sql).fetchall()


def _in_table(database: LocalDatabase, columns: Sequence[str], source: str) -> Query:
    # not a temporary table: other cursors would not see it
    name = database.new_name()
    database.connection.execute(f"CREATE TABLE {name} AS FROM {source}")
    return Query(f"SELECT {', '.join(map(quoted, columns))} FROM {name}", tuple(columns))


def _is_table(rows: Query) -> bool:
    listed, _, table = rows.sql.rpartition(" FROM ")
    name = table.strip('"')
    return name.startswith(TABLE) and name[len(TABLE) :].isdigit() and "FROM" not in listed
