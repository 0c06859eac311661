"""What of a query single rows of its relations decide, and what hangs on more than one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from qbcd.queries.prepared import Tree, selects
from qbcd.queries.refusals import is_total

Unknown = Mapping[str, frozenset[str]]  # by alias of a derived table: columns that no single row decides


def decided(node: Tree, unknown: Unknown) -> bool:
    """Whether one row of each relation decides what `node` is."""
    if node.find(exp.Query, exp.AggFunc, exp.Window) is not None:
        return False
    return not any(column.name in unknown.get(column.table, ()) for column in node.find_all(exp.Column))


def known_columns(query: Tree, unknown: Unknown) -> list[bool]:
    """By position, whether single rows decide a column of `query` in all its arms."""
    arms = selects(query)
    return [
        all(not is_total(arm) and decided(arm.expressions[n], unknown) for arm in arms)
        for n in range(len(arms[0].expressions))
    ]


def unknown_columns(tree: Tree) -> Unknown:
    """Of every derived table of a query, the columns that no single row decides."""
    found: dict[str, frozenset[str]] = {}
    derived = [node for node in tree.find_all(exp.Subquery, bfs=True) if node.alias]
    for node in reversed(derived):  # what is further in comes first
        known = known_columns(node, found)
        names = [item.alias_or_name for item in selects(node)[0].expressions]
        found[node.alias] = frozenset(name for name, ok in zip(names, known, strict=True) if not ok)
    return found


def holds(node: Tree, alias: str) -> bool:
    """Whether a mention of a base table is within `node`."""
    return any(table.alias_or_name == alias for table in node.find_all(exp.Table))


def united(arms: Sequence[exp.Select]) -> exp.Query:
    """The rows of all `arms`."""
    made: Tree = arms[0]
    for arm in arms[1:]:
        made = exp.union(made, arm, distinct=False, copy=False)
    found: exp.Query = made
    return found
