"""Columns of base tables from which the columns of a captured query come, for data catalogs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, lineage
from sqlglot.schema import MappingSchema

from qbcd.model import Table

log = logging.getLogger("qbcd")
IDENTITY, AGGREGATION, TRANSFORMATION = "IDENTITY", "AGGREGATION", "TRANSFORMATION"  # OpenLineage's words


class Origin(NamedTuple):
    """A column of a base table, and what the query does with its values."""

    table: Table
    column: str
    use: str


def column_origins(query: Table, dialect: str) -> dict[str, tuple[Origin, ...]]:
    """Return by column of a query the columns of its tables from which it is computed.

    Those that only filter, join or order rows are not among them. A column is missing if the text does not show its
    origins.
    """
    known: dict[str, Any] = {}
    for base in query.bases:
        known.setdefault(base.schema, {})[base.name] = {c.name: c.sql_type for c in base.columns}
    schema = MappingSchema(known, dialect=dialect, normalize=False)
    found = {}
    for column in query.columns:
        try:
            wanted = exp.column(exp.to_identifier(column.name, quoted=True))
            top = lineage(wanted, _with_schemas(query, dialect), schema, dialect=dialect)
            origins = tuple(dict.fromkeys(_origins(top, query.bases)))
        except (SqlglotError, LookupError) as error:
            log.debug("query %s: no origin of column %s: %s", query.name, column.name, error)
            continue
        found[column.name] = origins
    return found


def _with_schemas(query: Table, dialect: str) -> Any:
    """Return the query with the schemas of tables that it names without one."""
    from sqlglot import parse_one

    tree = parse_one(query.query, dialect=dialect)
    named = {base.name: base.schema for base in query.bases}
    inner = {cte.alias for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if not table.db and table.name in named and table.name not in inner:
            table.set("db", exp.to_identifier(named[table.name], quoted=True))
    return tree


def _origins(top: Node, bases: Sequence[Table]) -> Iterator[Origin]:
    """Yield the leaves below a column of the result.

    Raises:
        LookupError: One is no column of a base table.
    """
    tables = {(base.schema, base.name): base for base in bases}
    waiting = [(top, IDENTITY)]
    while waiting:
        node, use = waiting.pop()
        if not node.downstream:
            if not isinstance(node.expression, exp.Table):
                if _reads(node.expression):
                    raise LookupError(f"{node.name} has no table")
                continue  # a constant, or a number of rows
            place = (node.expression.db, node.expression.name)
            name = exp.to_column(node.name).name if "." in node.name else node.name
            if place not in tables or all(c.name != name for c in tables[place].columns):
                raise LookupError(f"{node.name} is no column of a known table")
            yield Origin(tables[place], name, use)
            continue
        waiting += [(below, max(use, _use(node.expression), key=_ORDER.index)) for below in node.downstream]


def _reads(expression: Any) -> bool:
    """Return True if an expression has a column, or a star that is not `count(*)`."""
    stars = [star for star in expression.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
    return bool(stars) or expression.find(exp.Column) is not None


_ORDER = (IDENTITY, TRANSFORMATION, AGGREGATION)


def _use(expression: Any) -> str:
    """Return what an expression of a select list does with the values of its columns."""
    inner = expression.unalias()
    if isinstance(inner, (exp.Column, exp.Query, exp.Table)):
        return IDENTITY
    return AGGREGATION if inner.find(exp.AggFunc) else TRANSFORMATION
