"""Queries of a local database, composed from templates.

A query is not run until its rows are needed. It is deterministic: its rows come from files that no one changes, or from
tables of the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from qbcd.connectors.dialects import loaded
from qbcd.event_sql.duckdb import CONCAT
from qbcd.model.plans import HALF
from qbcd.model.wire import Fields
from qbcd.sql.engine_sql import EngineSql
from qbcd.sql.render import render

DIALECT = loaded("duckdb")
DUCKDB_TYPES = {
    "string": "VARCHAR",
    "binary": "BLOB",
    "float": "FLOAT",
}  # by the name of a wire type; DuckDB has the others by the same name


def _content(*values: str) -> str:
    fields = ", ".join(f"v{i} := {value}" for i, value in enumerate(values))
    return f"SHA256(CAST(TO_JSON(STRUCT_PACK({fields})) AS VARCHAR))"


SPELLING = EngineSql(
    DIALECT,
    {
        CONCAT: lambda *texts: f"CONCAT({', '.join(texts)})",
        "QBCD_CONTENT": _content,
        "QBCD_FINGERPRINT": lambda seed, *values: f"CAST(HASH({seed}, {', '.join(values)}) >> 1 AS BIGINT)",
        "QBCD_MATCHED": lambda value, pattern: f"REGEXP_EXTRACT_ALL({value}, {pattern})",
        "QBCD_HIGH": lambda digest: f"CAST({digest} AS HUGEINT) // {HALF}",
        "QBCD_LOW": lambda digest: f"CAST({digest} AS HUGEINT) % {HALF}",
        "QBCD_LAST_BYTE": lambda value: f"ARRAY_SLICE({value}, -1, -1)",
        "QBCD_LEAF": lambda value: f"COALESCE(TRY_CAST('0x' || RIGHT(HEX({value}), 2) AS BIGINT), 0)",
    },
    lambda number: f"CAST({number:d} AS BIGINT)",
)


@dataclass(frozen=True)
class Query:
    """A SELECT in DuckDB's dialect.

    Attributes:
        sql: Its text, without a final semicolon.
        columns: The names of its columns, in order.
    """

    sql: str
    columns: tuple[str, ...]
    judges_first: ClassVar[bool] = True

    def over(
        self,
        template: str,
        columns: Sequence[str],
        inputs: Mapping[str, Query],
        numbers: Mapping[str, int],
        /,
        **context: Any,
    ) -> Query:
        """Return the query of a template over queries of this database.

        The arguments are those of :func:`derived`.
        """
        return derived(template, columns, inputs, numbers, **context)

    def hinted(self, hint: str) -> Query:
        """Return the query itself: DuckDB takes no hints."""
        return self


def derived(
    template: str,
    columns: Sequence[str],
    inputs: Mapping[str, Query],
    numbers: Mapping[str, int] | None = None,
    /,
    **context: Any,
) -> Query:
    """Return the query of a template over other queries.

    Args:
        template: Name of a template; it reads the inputs by their names.
        numbers: Values of the template's ``:name``.
        context: Variables of the template.
    """
    text = SPELLING.text(render(template, **context), numbers)
    # not materialized, so that conditions on rows reach the files
    parts = ",\n".join(f'"{name}" AS NOT MATERIALIZED (\n{query.sql}\n)' for name, query in inputs.items())
    return Query(f"WITH {parts}\n{text}" if parts else text, tuple(columns))


def duckdb_type(kind: str) -> str:
    """Return DuckDB's name of a wire type."""
    return DUCKDB_TYPES.get(kind, kind.upper())


def columns_of(fields: Fields) -> tuple[str, ...]:
    """Return the names of fields."""
    return tuple(name for name, _ in fields)


def duckdb_sql(canonical: str) -> str:
    """Return canonical SQL in DuckDB's dialect."""
    return SPELLING.text(canonical)
