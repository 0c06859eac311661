"""Kinds of a query's values; values of one kind are always compared in the same way.

Equality across kinds is not transitive: a `bigint` is compared with another one exactly, but with a floating point
number as floating point, where different numbers beyond 2^53 are equal. The same is true of a UNION with arms of both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from qbcd.model import Column
from qbcd.queries.qualify import Prepared
from qbcd.queries.relations import NUMBERS
from qbcd.queries.syntax_tree import Name, Tree, nested, selects

_EXACT = (*exp.DataType.INTEGER_TYPES, exp.DataType.Type.DECIMAL)
_EXACTLY = "exact number"


class Kinds:
    """Kinds of a query's values.

    Args:
        column_of: Returns a column of a base table; without it, all such columns are of one kind.
    """

    def __init__(self, prepared: Prepared, column_of: Callable[[Name, str], Column] | None = None) -> None:
        self._bases, self._column_of = prepared.bases, column_of
        self._tree = prepared.tree
        self._derived = {node.alias: node for node in prepared.tree.find_all(exp.Subquery) if node.alias}

    def mixed(self) -> str:
        """Return why IN may treat a whole UNION differently from each arm, or an empty string."""
        for test in self._tree.find_all(exp.In):
            for query in nested(test.args["query"]) if test.args.get("query") is not None else ():
                if any(self.differ(query, position) for position in range(len(selects(query)[0].expressions))):
                    return "compares by IN with a UNION whose arms are of several types: cast them all to one"
        return ""

    def differ(self, query: Tree, position: int) -> bool:
        """Return True if a column of a query may have another type than in one of its arms."""
        return len(selects(query)) > 1 and len(self._of_column(query, position)) > 1

    def alike(self, one: Tree, other: Tree) -> bool:
        """Return True if two expressions are of one kind."""
        return len(self._of(one) | self._of(other)) == 1

    def _of_column(self, query: Tree, position: int) -> set[Any]:
        items = [select.expressions[position].unalias() for select in selects(query)]
        return set[Any]().union(*map(self._of, items))

    def _of(self, item: Tree) -> set[Any]:
        """Return the kind, or the kinds of all arms.

        It is empty for a constant that adapts to other values.
        """
        item = item.unnest()
        if isinstance(item, exp.Null) or (isinstance(item, exp.Literal) and item.is_string):
            return set()
        if isinstance(item, exp.Literal) and item.is_int:
            return {_EXACTLY}
        if isinstance(item, exp.Cast):
            return {_EXACTLY if item.to.this in _EXACT else item.to.sql()}
        if isinstance(item, exp.Column) and item.table in self._bases:
            return {self._of_base(self._bases[item.table], item.name)}
        if isinstance(item, exp.Column) and item.table in self._derived:
            within = self._derived[item.table]
            names = [one.alias_or_name for one in selects(within)[0].expressions]
            return self._of_column(within, names.index(item.name))
        return self._of_function(item)

    def _of_function(self, item: Tree) -> set[Any]:
        """Return the kind of a computed value: one function over one kind of values gives one kind."""
        if isinstance(item, (exp.Count, exp.Length)):
            return {_EXACTLY}
        if isinstance(item, (exp.Max, exp.Min, exp.Lower, exp.Upper, exp.Trim, exp.Neg)):
            return self._of(item.this)
        made = [self._of(part) for part in item.find_all(exp.Column, exp.Cast) if part is not item]
        return {(type(item).__name__, item.name if isinstance(item, exp.Anonymous) else "", frozenset().union(*made))}

    def _of_base(self, table: Name, name: str) -> Any:
        if self._column_of is None:
            return _EXACTLY
        column = self._column_of(table, name)
        if column.travel.kind in NUMBERS:
            return _EXACTLY
        return ("text", column.collation) if column.collation else column.base_type
