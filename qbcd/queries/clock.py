"""Texts that a database reads as the present time: 'now', 'today'."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlglot import exp

from qbcd.queries.syntax_tree import Tree

TIMES = ("date", "time", "timestamp", "timestamptz")  # as values travel
_BESIDE = (exp.Binary, exp.In, exp.Between, exp.Coalesce, exp.Greatest, exp.Least, exp.Nullif)
_TIMES = exp.DataType.TEMPORAL_TYPES


def moment_in(tree: Tree, words: Collection[str], is_time: Callable[[exp.Column], bool]) -> str:
    """A text in a query or a condition that is the time at which it is read, as it is written; or an empty string.

    Args:
        tree: Of either.
        words: That the database reads so where they are cast to a time, or compared with one.
        is_time: Whether a column is one.
    """
    for text in tree.find_all(exp.Literal):
        first, _, rest = text.name.strip().lower().partition(" ") if text.is_string else ("", "", "")
        if first in words and (not rest or rest[0].isdigit()) and _is_time(text, is_time):
            return f"'{text.name}'"
    return ""


def _is_time(text: exp.Literal, is_time: Callable[[exp.Column], bool]) -> bool:
    """Return True if a text is cast to a time, or compared with a column that is one."""
    above: Tree = text.parent
    while isinstance(above, (exp.Paren, exp.Tuple)):
        above = above.parent
    if isinstance(above, exp.Cast):
        return above.to.this in _TIMES
    beside = above.iter_expressions() if isinstance(above, _BESIDE) else ()
    return any(isinstance(part, exp.Column) and is_time(part) for part in (one.unnest() for one in beside))
