"""Expressions asked for as they are, and as qbcd writes them for variant delta: both must give the same values."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlglot
from sqlglot import exp

from qbcd.queries.syntax_tree import NotIncremental
from qbcd.queries.views import check_written_again
from tests.support.places import Place


def listed(text: str) -> list[str]:
    """The expressions of a text, of which two semicolons stand between each."""
    return [one.strip() for line in text.strip().splitlines() for one in line.split(";;")]


def told(place: Place, conn: Any, query: str) -> str:
    """Its values with their types."""
    return repr([bytes(x) if isinstance(x, memoryview) else x for (x,) in place.run(conn, query)])


def functions_of(
    texts: Collection[str], scalars: Collection[str], place: Place, dialect: str, known: Collection[str]
) -> set[str]:
    """Asks for each expression over table v both ways; which functions they call.

    Args:
        texts: The expressions.
        scalars: Those of them that have a value for each row.
        place: Where table v is.
        dialect: sqlglot's name of its dialect.
        known: As :func:`~qbcd.queries.views.check_written_again` takes it.
    """
    seen = set[str]()
    with place.connect() as conn:
        for text in texts:
            query = f"SELECT {text} AS x FROM v"
            tree = sqlglot.parse_one(query, read=dialect)
            again, order = tree.sql(dialect=dialect), " ORDER BY id" if text in scalars else ""
            written, rewritten = (told(place, conn, one + order) for one in (query, again))
            assert written == rewritten, (query, again)
            try:
                check_written_again(query, dialect, known)
            except NotIncremental as refused:
                raise AssertionError(f"{query} is refused: {refused}") from None
            calls = tree.find_all(exp.Func)
            seen |= {call.name.lower() if isinstance(call, exp.Anonymous) else call.key for call in calls}
    return seen


def is_another_value(text: str, place: Place, dialect: str) -> bool:
    """Return True if an expression has other values when it is written again."""
    query = f"SELECT {text} AS x FROM v"
    again = sqlglot.parse_one(query, read=dialect).sql(dialect=dialect)
    with place.connect() as conn:
        return told(place, conn, f"{query} ORDER BY id") != told(place, conn, f"{again} ORDER BY id")
