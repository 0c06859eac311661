"""Limits that a restriction sets to a key of whole numbers, and the ranges they exclude.

Only what the text proves counts: conditions that all rows must meet (joined by AND), which compare the first column of
the key with a whole number. For keys of other types the order of the restriction may not be that of the ranges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlglot
from sqlglot import exp

from qbcd.connectors.base import Connector
from qbcd.model import KeyRange, Statement, StreamPlan

WHOLE = ("int8", "int16", "int32", "int64")  # as values travel; an unsigned 64-bit integer is a decimal
_MIRRORED: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
}
# By comparison of the key with a number: the condition under which no key of [lo, hi) meets it.
_BEYOND: dict[type[exp.Expression], str] = {
    exp.GT: "q.hi {until} {n}",
    exp.GTE: "q.hi {until} {n}",
    exp.LT: "q.lo >= {n}",
    exp.LTE: "q.lo > {n}",
    exp.EQ: "(q.hi {until} {n} OR q.lo > {n})",
}


def excluded_ranges(connector: Connector, plan: StreamPlan, ranges: Sequence[KeyRange]) -> Statement | None:
    """Return the query for (range_id) of `ranges` that the restriction excludes.

    None if it sets no limit.

    The source compares.
    """
    beyond = list(_conditions(connector, plan))
    if not beyond or not ranges:
        return None
    rows = "\nUNION ALL ".join(
        f"SELECT {r.range_id:d} AS range_id, {_number(r.lo)} AS lo, {_number(r.hi)} AS hi" for r in ranges
    )
    return Statement(f"SELECT q.range_id FROM (\n{rows}\n) AS q WHERE {' OR '.join(beyond)}")


def _conditions(connector: Connector, plan: StreamPlan) -> Iterator[str]:
    """Yield conditions on the bounds ``q.lo`` and ``q.hi``, each of which excludes a range."""
    if not plan.where or not plan.key or plan.key[0].travel.kind not in WHOLE:
        return
    # rows of a composite key can have the first value of the upper bound
    until = "<=" if len(plan.key) == 1 else "<"
    parsed: Any = sqlglot.parse_one(plan.where, read=connector.dialect)
    for comparison, number in _limits(parsed, plan.key[0].name):
        yield _BEYOND[comparison].format(until=until, n=number)


def _limits(tree: Any, key: str) -> Iterator[tuple[type[exp.Expression], int]]:
    tree = tree.unnest()
    if isinstance(tree, exp.And):
        yield from _limits(tree.left, key)
        yield from _limits(tree.right, key)
    elif isinstance(tree, exp.Between) and _is_key(tree.this, key):
        for side, comparison in (("low", exp.GTE), ("high", exp.LTE)):
            number = _whole(tree.args[side])
            if number is not None and not tree.args.get("symmetric"):
                yield comparison, number
    elif type(tree) in _BEYOND:
        left, right = tree.this, tree.expression
        if _is_key(left, key) and (number := _whole(right)) is not None:
            yield type(tree), number
        elif _is_key(right, key) and (number := _whole(left)) is not None:
            yield _MIRRORED[type(tree)], number


def _is_key(tree: exp.Expression, key: str) -> bool:
    """Return True if the expression is surely the key's column.

    Servers fold unquoted names in different ways.
    """
    if not isinstance(tree, exp.Column):
        return False
    name = tree.this
    if isinstance(name, exp.Identifier) and name.quoted:
        return name.name == key
    return tree.name.lower() == key == key.lower()


def _whole(tree: exp.Expression) -> int | None:
    """Return the whole number that a literal is, or None."""
    sign = 1
    if isinstance(tree, exp.Neg):
        sign, tree = -1, tree.this
    return sign * int(tree.name) if isinstance(tree, exp.Literal) and tree.is_int else None


def _number(bound: Sequence[str] | None) -> str:
    return f"CAST({int(bound[0]) if bound else 'NULL'} AS DECIMAL(20, 0))"
