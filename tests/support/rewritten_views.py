"""Comparison of expressions with the form in which qbcd writes them for variant delta."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlglot
from sqlglot import exp

from qbcd.queries.syntax_tree import NotIncremental
from qbcd.queries.views import check_written_again
from tests.support.places import Place


def listed(text: str) -> list[str]:
    """Return the expressions of a text; two semicolons separate them."""
    return [one.strip() for line in text.strip().splitlines() for one in line.split(";;")]


def typed_values(place: Place, conn: Any, query: str) -> str:
    """Return the values of a query with their types."""
    return repr([bytes(x) if isinstance(x, memoryview) else x for (x,) in place.run(conn, query)])


def functions_of(
    texts: Collection[str], scalars: Collection[str], place: Place, dialect: str, known: Collection[str]
) -> set[str]:
    """Compare the values of each expression over table v in both forms.

    Return the functions that the expressions call.

    Args:
        texts: The expressions.
        scalars: The expressions that have a value for each row.
        place: The database that has table v.
        dialect: sqlglot's name of its dialect.
        known: See :func:`~qbcd.queries.views.check_written_again`.
    """
    seen = set[str]()
    with place.connect() as conn:
        for text in texts:
            query = f"SELECT {text} AS x FROM v"
            tree = sqlglot.parse_one(query, read=dialect)
            again, order = tree.sql(dialect=dialect), " ORDER BY id" if text in scalars else ""
            written, rewritten = (typed_values(place, conn, one + order) for one in (query, again))
            assert written == rewritten, (query, again)
            try:
                check_written_again(query, dialect, known)
            except NotIncremental as refused:
                raise AssertionError(f"{query} is refused: {refused}") from None
            calls = tree.find_all(exp.Func)
            seen |= {call.name.lower() if isinstance(call, exp.Anonymous) else call.key for call in calls}
    return seen


def is_another_value(text: str, place: Place, dialect: str) -> bool:
    """Return True if the rewritten expression has other values."""
    query = f"SELECT {text} AS x FROM v"
    again = sqlglot.parse_one(query, read=dialect).sql(dialect=dialect)
    with place.connect() as conn:
        return typed_values(place, conn, f"{query} ORDER BY id") != typed_values(place, conn, f"{again} ORDER BY id")
