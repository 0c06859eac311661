"""DDL of qbcd's own tables in PostgreSQL; every name comes as quoted SQL."""

from __future__ import annotations

from collections.abc import Sequence

FILLED = 90  # percent of the pages of a table whose rows are written over


def create_index(name: str, table: str, columns: Sequence[str], included: Sequence[str]) -> str:
    """CREATE INDEX IF NOT EXISTS; all names are quoted SQL, and the index goes to the table's schema."""
    beside = f" INCLUDE ({', '.join(included)})" if included else ""
    return f"CREATE INDEX IF NOT EXISTS {name} ON {table} USING btree ({', '.join(columns)}){beside}"


def create_table(
    name: str, columns: Sequence[tuple[str, str]], primary_key: Sequence[str], *, written_over: bool
) -> str:
    """CREATE TABLE IF NOT EXISTS; `name` and column names are quoted SQL.

    A row that is updated stays in its page, and the indexes as they are, where the page has room for another version.
    """
    lines = [f"{column} {sql_type}" for column, sql_type in columns]
    if primary_key:
        lines.append(f"PRIMARY KEY ({', '.join(primary_key)})")
    body = ",\n  ".join(lines)
    room = f" WITH (fillfactor = {FILLED})" if written_over else ""
    return f"CREATE TABLE IF NOT EXISTS {name} (\n  {body}\n){room}"
