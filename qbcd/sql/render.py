"""Templates to canonical SQL: sqlglot's base dialect with `QBCD_` primitives.

The compiler expands the primitives. Templates are named by the shape of the query, and contain only SELECT, joins,
WHERE, plain aggregates, and INSERT, UPDATE and DELETE. A missing variable is an error (`StrictUndefined`), never empty
text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from sqlglot import exp

from qbcd.model import Table


@lru_cache(maxsize=4096)
def quoted(name: str) -> str:
    """Return `name` as a quoted identifier of canonical SQL."""
    return exp.to_identifier(name, quoted=True).sql()


@lru_cache(maxsize=4096)
def literal(text: str) -> str:
    """Return `text` as a string literal of canonical SQL."""
    return exp.Literal.string(text).sql()


def relation(table: Table | tuple[str, str]) -> str:
    """Return a table's qualified, quoted name in canonical SQL.

    For a query it is ``QBCD_QUERY()``, which the compiler replaces by the query's text.
    """
    if isinstance(table, Table) and table.query:
        return "QBCD_QUERY() AS qbcd_query"
    schema, name = (table.schema, table.name) if isinstance(table, Table) else table
    return f"{quoted(schema)}.{quoted(name)}"


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the Jinja environment of the package's templates."""
    env = Environment(
        loader=PackageLoader("qbcd", "sql_templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        autoescape=False,
    )
    env.filters.update(ident=quoted, lit=literal, relation=relation)
    return env


def render(template: str, **context: Any) -> str:
    """Return canonical SQL of ``sql_templates/<template>.sql.j2``.

    Raises:
        jinja2.UndefinedError: The template uses a variable that `context` lacks.
    """
    return environment().get_template(f"{template}.sql.j2").render(**context)
