"""Queries in a form for which these planners start with the few rows that an EXISTS names.

They turn IN into a join, in either direction. An EXISTS inside an outer join they evaluate for each row of the outer
table. They merge a joined derived table, with its conditions, into the query.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlglot import exp

from qbcd.connectors.mysql_family.ranges import MOST_ROWS

_OTHERS = ("group", "having", "limit", "offset", "distinct", "order", "qualify", "with_")


def planned(query: exp.Query, *, first: bool = False) -> exp.Query:
    """See :meth:`~qbcd.connectors.queries.SupportsIncrementalQueries.planned`."""
    for test in list(query.find_all(exp.Exists)):
        among = _among(test) if _must_hold(test) else None
        if among is not None:
            test.replace(among)
    return query.limit(exp.Literal.number(MOST_ROWS), copy=False) if first else query


def _must_hold(test: exp.Exists) -> bool:
    """Return True if the condition selects rows, so that false and NULL have the same effect."""
    above: Any = test.parent
    while isinstance(above, (exp.And, exp.Paren)):
        above = above.parent
    return isinstance(above, exp.Where)


def _among(test: exp.Exists) -> exp.In | None:
    """Return ``(x, ..) IN (SELECT k, ..)`` for an EXISTS of rows with k equal to x, or None."""
    select: Any = test.this
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    if (
        where is None
        or any(item.find(exp.AggFunc) for item in select.expressions)
        or any(select.args.get(part) for part in _OTHERS)
        or select.args.get("from_") is None
    ):
        return None
    inner = {
        item.alias_or_name for item in (select.args["from_"].this, *(j.this for j in select.args.get("joins") or ()))
    }
    pairs, local = list[tuple[Any, Any]](), list[Any]()
    for condition in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        if _aliases(condition) <= inner and condition.find(exp.Query) is None:
            local.append(condition)
            continue
        pair = _pair(condition, inner)
        if pair is None:
            return None
        pairs.append(pair)
    if not pairs:
        return None
    made = select.copy().select(*(theirs.copy() for _, theirs in pairs), append=False, copy=False)
    made.set("where", exp.Where(this=exp.and_(*(c.copy() for c in local))) if local else None)
    outer = [mine.copy() for mine, _ in pairs]
    return exp.In(this=exp.Tuple(expressions=outer) if len(outer) > 1 else outer[0], query=made.subquery(copy=False))


def _pair(condition: Any, inner: Collection[str]) -> tuple[Any, Any] | None:
    """Return (a value of the outer row, an inner column) that a condition compares by ``=``."""
    if not isinstance(condition, exp.EQ) or condition.find(exp.Query) is not None:
        return None
    for mine, theirs in ((condition.this, condition.expression), (condition.expression, condition.this)):
        if isinstance(theirs, exp.Column) and theirs.table in inner and not _aliases(mine) & set(inner):
            return mine, theirs
    return None


def _aliases(part: Any) -> set[str]:
    return {column.table for column in part.find_all(exp.Column)}
