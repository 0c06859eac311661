"""The tables of a query that variant delta follows, also behind views, and its skeleton."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import sqlglot
from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.base import Connector
from qbcd.connectors.queries import SupportsIncrementalQueries
from qbcd.model import Table
from qbcd.queries import base_tables
from qbcd.queries.qualify import prepare_query
from qbcd.queries.syntax_tree import Name, NotIncremental
from qbcd.queries.views import check_view, check_written_again
from qbcd.strategies.incremental.affected_keys import Skeleton
from qbcd.strategies.incremental.comparison_types import Kinds
from qbcd.strategies.incremental.lineage import MOST, key_of

STORED = ("table", "partitioned")
_KINDS = {
    "matview": "materialized view",
    "foreign": "foreign table",
    "view": "view whose definition cannot be read: the role may not see it (SHOW VIEW), or the view makes texts of its "
    "own, which would differ in place of the view",
}


def stored(query: Table) -> list[Table]:
    """Return the distinct tables that a query reads, and views without a known definition."""
    return [table for table in query.reads if not table.definition]


def view_over(query: Table, table: Table) -> str:
    """Return the view of a query that reads `table`; empty if the query reads it directly."""
    names = [(t.schema, t.name) for t in query.bases]
    over = [view for view in query.reads if (table.schema, table.name) in [(t.schema, t.name) for t in view.bases]]
    return over[0].label if over and (table.schema, table.name) not in names else ""


def hidden_table(query: Table) -> Table | None:
    """Return a table behind a view that the role may not read; None if it may read all."""
    return next((table for table in stored(query) if table.grant), None)


def unfit_table(query: Table) -> str:
    """Return why changes of a table that a query reads cannot be followed; empty if they can."""
    tables = stored(query)
    for table in tables:
        view = view_over(query, table)
        name = f"{table.label} (behind view {view})" if view else table.label
        if table.kind not in STORED:
            return f"it reads {name}, which is a {_KINDS.get(table.kind, table.kind)}"
        if table.grant:
            return f"the role may not read {name}: {table.grant}"
        if table.row_security:
            return f"row-level security hides rows of {name} from the role"
        if not key_of(table):
            return f"{name} has no key that identifies its rows"
    return f"the query reads more than {MOST} tables" if len(tables) > MOST else ""


def skeleton_of(connector: Connector, query: Table, key: tuple[str, ...]) -> Skeleton:
    """Return the skeleton of a query; cached, since each step needs it.

    Args:
        query: The query, with all tables that it reads.
        key: Columns of the result that identify its rows.

    Raises:
        NotIncremental: The query's changes cannot be derived.
    """
    bases = tuple((t.schema, t.name) for t in query.bases)
    return _skeleton(connector, query.query, bases, tuple(map(_Known, query.reads)), key)


class _Known:
    """The properties of a table that a skeleton depends on: equal if only its size changed."""

    def __init__(self, table: Table) -> None:
        self.table = table
        columns = tuple((c.name, c.sql_type, c.comparison, c.facts, c.travel) for c in table.columns)
        self._identity = (table.label, columns, table.definition)

    @override
    def __hash__(self) -> int:
        return hash(self._identity)

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self._identity == other._identity


@lru_cache(maxsize=64)
def _skeleton(
    connector: Connector, text: str, bases: tuple[Name, ...], known: tuple[_Known, ...], key: tuple[str, ...]
) -> Skeleton:
    dialect, plain = (
        connector.dialect,
        lambda called: called.lower() in connector.require(SupportsIncrementalQueries).plain_functions,
    )
    written = connector.require(SupportsIncrementalQueries).written_again
    misread = connector.require(SupportsIncrementalQueries).misread(text, [one.table for one in known])
    if misread:
        raise NotIncremental(misread)
    tree = cast(exp.Query, sqlglot.parse_one(text, read=dialect))
    for (_, node), (schema, name) in zip(base_tables(tree, dialect), bases, strict=True):
        node.set("db", exp.to_identifier(schema, quoted=True))
        if node.args.get("alias") is None:
            node.set("alias", exp.TableAlias(this=node.this.copy()))
        node.set("this", exp.to_identifier(name, quoted=True))
    columns = {(one.table.schema, one.table.name): [c.name for c in one.table.columns] for one in known}
    views: dict[Name, exp.Query] = {}
    for table in (one.table for one in known if one.table.definition):
        problem = connector.require(SupportsIncrementalQueries).misread(table.definition, table.bases)
        if problem:
            raise NotIncremental(f"reads view {table.label}, which {problem}")
        views[table.schema, table.name] = check_view(table, columns, views, dialect, plain, written)
    every = {((one.table.schema, one.table.name), c.name): c for one in known for c in one.table.columns}
    alike = {
        name: connector.require(SupportsIncrementalQueries).equality_class(column) for name, column in every.items()
    }
    prepared = prepare_query(tree, dialect, columns, views)
    kinds = Kinds(prepared, lambda table, column: every[table, column])
    made = Skeleton(
        prepared,
        key,
        plain,
        lambda table, column: alike[table, column],
        connector.require(SupportsIncrementalQueries).texts_alike,
        kinds,
    )
    check_written_again(text, dialect, written)
    return made
