"""Texts that a database reads as the present time: 'now', 'today'."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from sqlglot import exp

Tree = Any
TIMES = ("date", "time", "timestamp", "timestamptz")  # as values travel
_TIMES = exp.DataType.TEMPORAL_TYPES


def moment_in(tree: Tree, words: Collection[str], is_time: Callable[[exp.Column], bool]) -> str:
    """A text in a query or a condition that is the time at which it is read, as it is written; or an empty string.

    Args:
        tree: Of either.
        words: That the database reads so where they are cast to a time, or compared with one.
        is_time: Whether a column is one.
    """
    for text in tree.find_all(exp.Literal):
        first = text.name.strip().lower().split(" ")[0] if text.is_string else ""
        if first in words and _is_time(text, is_time):
            return f"'{text.name}'"
    return ""


def _is_time(text: exp.Literal, is_time: Callable[[exp.Column], bool]) -> bool:
    above: Tree = text.parent
    while isinstance(above, (exp.Paren, exp.Tuple)):
        above = above.parent
    if isinstance(above, exp.Cast):
        return above.to.this in _TIMES
    beside = [] if above is None or isinstance(above, (exp.Query, exp.Alias)) else above.iter_expressions()
    return any(is_time(column) for part in beside for column in part.find_all(exp.Column))
