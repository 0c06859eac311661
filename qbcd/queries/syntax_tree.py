"""A resolved query as a tree: its SELECTs, what they join and what they say; and why one cannot be followed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

Tree = Any  # of sqlglot, whose own types change from one version to the next
Name = tuple[str, str]  # schema and name of a table
Columns = Mapping[Name, Sequence[str]]


class NotIncremental(Exception):
    """Why a query's changes cannot be told from those of its base tables; goes after "the query"."""


def selects(query: Tree) -> list[exp.Select]:
    """The SELECTs whose rows are those of `query`: itself, or the arms of its set operations."""
    if isinstance(query, exp.Subquery):
        return selects(query.this)
    if isinstance(query, exp.SetOperation):
        return [*selects(query.this), *selects(query.expression)]
    return [query]


def set_operations(query: Tree) -> list[exp.SetOperation]:
    """The set operations that make a query of its SELECTs."""
    if isinstance(query, exp.Subquery):
        return set_operations(query.this)
    if not isinstance(query, exp.SetOperation):
        return []
    return [query, *set_operations(query.this), *set_operations(query.expression)]


def relations(select: exp.Select) -> list[Tree]:
    """Tables and derived tables that a SELECT joins, in order."""
    source = select.args.get("from_")
    return [source.this, *(join.this for join in select.args.get("joins") or ())] if source is not None else []


def conjuncts(condition: Tree | None) -> list[Tree]:
    """The parts of a condition that must all hold."""
    if condition is None:
        return []
    bare = condition.unnest()
    return [*conjuncts(bare.left), *conjuncts(bare.right)] if isinstance(bare, exp.And) else [bare]


def operand(node: Tree) -> Tree:
    """A copy of an expression that an operator can take, whatever it is made of."""
    return node.copy() if isinstance(node, (exp.Column, exp.Paren)) else exp.paren(node.copy())


def nested(node: Tree) -> Iterator[exp.Query]:
    """The outermost queries within an expression."""
    for found in node.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(found, exp.Query):
            yield found


def expressions(select: exp.Select) -> Iterator[Tree]:
    """Everything that a SELECT says besides the relations it joins."""
    yield from select.expressions
    for part in ("group", "having", "qualify", "distinct"):
        if isinstance(select.args.get(part), exp.Expression):
            yield select.args[part]
    yield from conditions(select)


def conditions(select: exp.Select) -> Iterator[Tree]:
    """WHERE, and what a SELECT joins by."""
    if select.args.get("where") is not None:
        yield select.args["where"]
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None:
            yield join.args["on"]
