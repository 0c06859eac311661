"""Columns that inner queries pass on unchanged: derived tables, WITH queries, subqueries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from sqlglot import exp

from qbcd.queries.tables import folded

Item = TypeVar("Item")
Find = Callable[[exp.Column], Item | None]


def handed_on(tree: Any, base: Find[Item], every: Mapping[str, Item], dialect: str) -> dict[str, Item]:
    """Return the items of the columns that inner queries pass on unchanged, by output name.

    Scopes are not distinguished: a name without a table counts wherever it occurs.

    Args:
        base: Returns the item of a column of a base table, or None if the column is not relevant.
        every: All relevant items by column name, since an asterisk passes on every column.
        dialect: sqlglot's name of the query's dialect.
    """
    found: dict[str, Item] = {}

    def known(column: exp.Column) -> Item | None:
        of_base = base(column)
        return of_base if of_base is not None else found.get(folded(column.this, dialect))

    while True:
        before = len(found)
        for inner in tree.find_all(exp.Subquery, exp.CTE):
            for name, item in _outputs(inner, known, every, dialect):
                found.setdefault(name, item)
        if len(found) == before:
            return found


def bare(node: Any, known: Find[Item]) -> Item | None:
    """Return the item of an expression that is a plain column, or a subquery with such a result."""
    while isinstance(node, (exp.Paren, exp.Alias, exp.Subquery)):
        node = node.this
    if isinstance(node, exp.SetOperation):
        left = bare(node.this, known)
        return left if left is not None else bare(node.expression, known)
    if isinstance(node, exp.Select):
        return next((item for output in node.expressions if (item := bare(output, known)) is not None), None)
    return known(node) if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier) else None


def _outputs(inner: Any, known: Find[Item], every: Mapping[str, Item], dialect: str) -> Iterator[tuple[str, Item]]:
    """Yield (name, item) for the columns that a subquery passes on; its first SELECT names them."""
    alias = inner.args.get("alias")
    renamed = [folded(c.this if isinstance(c, exp.Column) else c, dialect) for c in (alias.columns if alias else ())]
    selects = list(_selects(inner.this))
    first = selects[0].expressions if selects else []
    for select in selects:
        for place, output in enumerate(select.expressions):
            if output.is_star:
                yield from every.items()
                yield from ((name, item) for item in every.values() for name in renamed)
                continue
            item = bare(output, known)
            if item is None:
                continue
            yield from ((folded(n, dialect), item) for n in map(_name, (output, *first[place : place + 1])) if n)
            yield from ((name, item) for name in renamed[place : place + 1])


def _name(output: Any) -> exp.Identifier | None:
    named = output.args.get("alias") or (output.this if isinstance(output, exp.Column) else None)
    return named if isinstance(named, exp.Identifier) else None


def _selects(query: Any) -> Iterator[exp.Select]:
    if isinstance(query, exp.Subquery):
        yield from _selects(query.this)
    elif isinstance(query, exp.SetOperation):
        yield from _selects(query.this)
        yield from _selects(query.expression)
    elif isinstance(query, exp.Select):
        yield query
