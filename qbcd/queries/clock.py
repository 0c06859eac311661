"""Text literals that a database reads as the present time: 'now', 'today'."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlglot import exp

from qbcd.queries.syntax_tree import Tree

TIMES = ("date", "time", "timestamp", "timestamptz")  # as values travel
_COMPARING = (exp.Binary, exp.In, exp.Between, exp.Coalesce, exp.Greatest, exp.Least, exp.Nullif)
_TIMES = exp.DataType.TEMPORAL_TYPES


def moment_in(tree: Tree, words: Collection[str], is_time: Callable[[exp.Column], bool]) -> str:
    """Return a text literal that means the present time, with its quotes; or an empty string.

    Args:
        words: The words that the database reads as a time if they are cast to one, or compared with one.
        is_time: Returns True if a column is a time.
    """
    for text in tree.find_all(exp.Literal):
        first, _, rest = text.name.strip().lower().partition(" ") if text.is_string else ("", "", "")
        if first in words and (not rest or rest[0].isdigit()) and _is_time(text, is_time):
            return f"'{text.name}'"
    return ""


def _is_time(text: exp.Literal, is_time: Callable[[exp.Column], bool]) -> bool:
    """Return True if a text is cast to a time, or compared with a column of a time."""
    above: Tree = text.parent
    while isinstance(above, (exp.Paren, exp.Tuple)):
        above = above.parent
    if isinstance(above, exp.Cast):
        return above.to.this in _TIMES
    operands = above.iter_expressions() if isinstance(above, _COMPARING) else ()
    return any(isinstance(part, exp.Column) and is_time(part) for part in (one.unnest() for one in operands))
