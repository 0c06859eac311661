"""A resolved query as a tree: its SELECTs, their relations and expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

Tree = Any  # a node of sqlglot, whose types change between versions
Name = tuple[str, str]  # schema and name of a table
Columns = Mapping[Name, Sequence[str]]


class NotIncremental(Exception):
    """A query's changes cannot be computed from those of its base tables.

    The message follows the words "the query".
    """


def selects(query: Tree) -> list[exp.Select]:
    """Return the SELECTs that make up a query: itself, or the arms of its set operations."""
    if isinstance(query, exp.Subquery):
        return selects(query.this)
    if isinstance(query, exp.SetOperation):
        return [*selects(query.this), *selects(query.expression)]
    return [query]


def set_operations(query: Tree) -> list[exp.SetOperation]:
    """Return the set operations that combine the SELECTs of a query."""
    if isinstance(query, exp.Subquery):
        return set_operations(query.this)
    if not isinstance(query, exp.SetOperation):
        return []
    return [query, *set_operations(query.this), *set_operations(query.expression)]


def relations(select: exp.Select) -> list[Tree]:
    """Return the tables and derived tables that a SELECT joins, in order."""
    source = select.args.get("from_")
    return [source.this, *(join.this for join in select.args.get("joins") or ())] if source is not None else []


def conjuncts(condition: Tree | None) -> list[Tree]:
    """Return the parts of a condition that must all be true."""
    if condition is None:
        return []
    bare = condition.unnest()
    return [*conjuncts(bare.left), *conjuncts(bare.right)] if isinstance(bare, exp.And) else [bare]


def operand(node: Tree) -> Tree:
    """Return a copy of an expression that can be an operand: in brackets if necessary."""
    return node.copy() if isinstance(node, (exp.Column, exp.Paren)) else exp.paren(node.copy())


def nested(node: Tree) -> Iterator[exp.Query]:
    """Yield the outermost queries within an expression."""
    for found in node.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(found, exp.Query):
            yield found


def expressions(select: exp.Select) -> Iterator[Tree]:
    """Yield all expressions of a SELECT except its relations."""
    yield from select.expressions
    for part in ("group", "having", "qualify", "distinct"):
        if isinstance(select.args.get(part), exp.Expression):
            yield select.args[part]
    yield from conditions(select)


def conditions(select: exp.Select) -> Iterator[Tree]:
    """Yield WHERE and the join conditions of a SELECT."""
    if select.args.get("where") is not None:
        yield select.args["where"]
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None:
            yield join.args["on"]
