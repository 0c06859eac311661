"""The tables and views that a query mentions, without names that the query itself defines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect


@dataclass(frozen=True)
class BaseTable:
    """One mention of a table or view in a query.

    Attributes:
        schema: The schema; empty if none is written.
        name: The name. Like schema and alias, it is in the database's spelling (`folded`).
        alias: The alias that the query's columns use; the name itself if none is given.
        occurrence: Number of the mention, from 0, in the order of `base_tables`.
    """

    schema: str
    name: str
    alias: str
    occurrence: int


def base_tables(tree: Any, dialect: str) -> list[tuple[BaseTable, exp.Table]]:
    """Return every mention of a table or view, with its node; not of common table expressions."""
    found: list[tuple[BaseTable, exp.Table]] = []
    for node in tree.find_all(exp.Table, bfs=False):
        if isinstance(node.this, exp.Identifier) and not (not node.db and _is_cte(node)):
            schema, alias = node.args.get("db"), node.args.get("alias")
            given = alias.this if alias is not None and alias.this is not None else node.this
            named = [folded(name, dialect) if name is not None else "" for name in (schema, node.this, given)]
            found.append((BaseTable(named[0], named[1], named[2], len(found)), node))
    return found


def folded(identifier: exp.Identifier, dialect: str) -> str:
    """Return a name in the database's spelling: lower case if the database folds unquoted names."""
    return str(Dialect.get_or_raise(dialect).normalize_identifier(identifier.copy()).this)


def _is_cte(table: exp.Table) -> bool:
    """Return True if a name without a schema is a common table expression in scope."""
    wanted, inner = _plain(table.this), table
    outer: Any = table.parent
    while outer is not None:
        seen: list[Any] = []
        if isinstance(outer, exp.With):  # a common table expression sees earlier ones; with RECURSIVE all of them
            ctes = outer.expressions
            seen = ctes if outer.args.get("recursive") else ctes[: [cte is inner for cte in ctes].index(True)]
        elif not isinstance(inner, exp.With) and outer.args.get("with_") is not None:
            seen = outer.args["with_"].expressions
        if any(_plain(cte.args["alias"].this) == wanted for cte in seen):
            return True
        inner, outer = outer, outer.parent
    return False


def _plain(identifier: exp.Identifier) -> str:
    return str(identifier.this) if identifier.quoted else str(identifier.this).lower()


def compared_values(tree: Any) -> Iterator[Any]:
    """Yield columns and subqueries that are uncast operands of an operator or a function."""
    for value in tree.find_all(exp.Column, exp.Subquery):
        inner: Any = value
        while isinstance(inner.parent, (exp.Paren, exp.Tuple, exp.Any, exp.All)):
            inner = inner.parent
        operand = isinstance(inner.parent, (exp.Binary, exp.Predicate, exp.Func))
        if operand and not isinstance(inner.parent, (exp.Cast, exp.Count, exp.Operator, exp.Is, exp.Dot, exp.Exists)):
            yield value


def joined_names(tree: Any, dialect: str, common: Iterable[str]) -> Iterator[str]:
    """Yield the column names of USING; for a NATURAL JOIN all names in `common`."""
    for join in tree.find_all(exp.Join):
        if str(join.args.get("method") or "").upper() == "NATURAL":
            yield from common
        for name in join.args.get("using") or ():
            yield folded(name.this if isinstance(name, exp.Column) else name, dialect)
