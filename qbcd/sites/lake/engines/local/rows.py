"""Shapes of queries: columns, conditions, keys, unions; tables that hold the rows of a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query, derived, duckdb_type
from qbcd.model.wire import Fields
from qbcd.sql.render import quoted

LIMITS: Mapping[str, Any] = {"having": "", "most": 0}
TABLE = "qbcd_"  # names of tables begin with it (`LocalDatabase.new_name`)


def selected(rows: Query, values: Mapping[str, str], where: str = "", *, by: Sequence[str] = (), **more: Any) -> Query:
    """Return columns or aggregates of rows.

    Args:
        rows: The rows.
        values: Canonical SQL of each column, by its name.
        where: Canonical SQL of a condition; default: all rows.
        by: Columns of groups.
        more: ``having``, a condition of groups; ``most``, a number of rows.
    """
    return derived("local_rows", list(values), {"rows": rows}, values=values, where=where, by=by, **{**LIMITS, **more})


def of_columns(rows: Query, names: Sequence[str], where: str = "") -> Query:
    """Return the columns `names` of the rows for which `where` holds."""
    return rows if tuple(names) == rows.columns and not where else selected(rows, {n: n for n in names}, where)


def filtered(rows: Query, where: str) -> Query:
    """Return the rows for which `where` holds."""
    return of_columns(rows, rows.columns, where)


def without(rows: Query, *names: str) -> Query:
    """Return the rows without some columns."""
    return of_columns(rows, [c for c in rows.columns if c not in names])


def of_keys(rows: Query, others: Query, on: Sequence[str] = ("key_id",)) -> Query:
    """Return those of `rows` whose key is among the keys of `others`."""
    return derived("local_of_keys", rows.columns, {"rows": rows, "others": others}, join="SEMI", on=on)


def without_keys(rows: Query, others: Query, on: Sequence[str] = ("key_id",)) -> Query:
    """Return those of `rows` whose key is not among the keys of `others`."""
    return derived("local_of_keys", rows.columns, {"rows": rows, "others": others}, join="ANTI", on=on)


def union(parts: Sequence[Query]) -> Query:
    """Return the rows of all `parts` (at least one), which have the same columns."""
    if len(parts) == 1:
        return parts[0]
    inputs = {f"part_{i}": part for i, part in enumerate(parts)}
    return derived("local_union", parts[0].columns, inputs, parts=list(inputs), columns=parts[0].columns)


def cast_to(rows: Query, fields: Fields) -> Query:
    """Return `rows` with these fields."""
    return selected(rows, {name: f"CAST({name} AS {duckdb_type(kind)})" for name, kind in fields})


def no_rows(fields: Fields) -> Query:
    """Return no rows, with these fields."""
    nothing = {name: f"CAST(NULL AS {duckdb_type(kind)})" for name, kind in fields}
    return selected(numbers(), nothing, "FALSE")


def numbers(**values: int) -> Query:
    """Return one row of numbers: in a template, each number would be another text to compile."""
    listed = ", ".join(f"CAST({value:d} AS BIGINT) AS {name}" for name, value in values.items())
    return Query(f"SELECT {listed or 'NULL'}", tuple(values))


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
