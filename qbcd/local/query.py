"""Queries of a local database, composed from templates.

A query is not run until its rows are needed. It is deterministic: its rows come from files that no one changes, or from
tables of the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import ErrorLevel, exp

from qbcd.connectors.dialects import loaded
from qbcd.model.wire import Fields
from qbcd.sql.render import render

DIALECT = loaded("duckdb")
DUCKDB_TYPES = {
    "string": "VARCHAR",
    "binary": "BLOB",
    "float": "FLOAT",
}  # by the name of a wire type; DuckDB has the others by the same name
CONCAT = "QBCD_CONCAT"


@dataclass(frozen=True)
class Query:
    """A SELECT in DuckDB's dialect.

    Attributes:
        sql: Its text, without a final semicolon.
        columns: The names of its columns, in order.
    """

    sql: str
    columns: tuple[str, ...]


def derived(template: str, columns: Sequence[str], inputs: Mapping[str, Query], /, **context: Any) -> Query:
    """Return the query of a template over other queries.

    Args:
        template: Name of a template; it reads the inputs by their names.
        columns: The names of its columns.
        inputs: Queries by name.
        context: Variables of the template.
    """
    text = duckdb_sql(render(template, **context))
    # not materialized, so that conditions on rows reach the files
    parts = ",\n".join(f'"{name}" AS NOT MATERIALIZED (\n{query.sql}\n)' for name, query in inputs.items())
    return Query(f"WITH {parts}\n{text}" if parts else text, tuple(columns))


def duckdb_type(kind: str) -> str:
    """Return DuckDB's name of a wire type."""
    return DUCKDB_TYPES.get(kind, kind.upper())


def columns_of(fields: Fields) -> tuple[str, ...]:
    """Return the names of fields."""
    return tuple(name for name, _ in fields)


@lru_cache(maxsize=512)
def duckdb_sql(canonical: str) -> str:
    """Return canonical SQL in DuckDB's dialect.

    ``QBCD_CONCAT(..)`` is DuckDB's function: many texts at once, and NULL adds nothing.
    """
    tree = sqlglot.parse_one(canonical)
    for call in tree.find_all(exp.Anonymous):
        if call.name.upper() == CONCAT:
            call.set("this", "CONCAT")  # sqlglot would write `a || b || ..`, which copies the text for each part
    return tree.sql(dialect=DIALECT, unsupported_level=ErrorLevel.RAISE)
