"""Unique aliases for the relations of a query."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from qbcd.queries.nested_joins import inner_joins, leaves
from qbcd.queries.syntax_tree import Name, NotIncremental, Tree, expressions, relations, selects


class Renaming:
    """A renaming of all relations to unique aliases, with their columns."""

    def __init__(self, bases: dict[str, Name]) -> None:
        self._bases = bases
        self.count = 0

    def query(self, query: Tree, scope: Mapping[str, str]) -> None:
        """Rename within a query; `scope` maps old to new aliases of the outer queries."""
        for select in selects(query):
            self._select(select, scope)

    def _select(self, select: exp.Select, scope: Mapping[str, str]) -> None:
        distinct = select.args.get("distinct")
        if isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None:
            raise NotIncremental("keeps one row of several (DISTINCT ON)")
        mine: dict[str, str] = {}
        joined = relations(select)
        for item in (leaf for one in joined for leaf in leaves(one)):
            new = f"q{self.count}"
            self.count += 1
            if isinstance(item, exp.Table):
                self._bases[new] = (item.db, item.name)
            elif isinstance(item, exp.Subquery):
                if not isinstance(item.this, exp.Query):
                    raise NotIncremental("gives an alias to joins in brackets")
                self.query(item, scope)
            mine[item.alias_or_name] = new
            item.set("alias", exp.TableAlias(this=exp.to_identifier(new, quoted=True)))
        scope = {**scope, **mine}
        order = select.args.get("order")
        for column in order.find_all(exp.Column) if order is not None else ():
            if column.table in scope:  # else it is a name of the select list
                column.set("table", exp.to_identifier(scope[column.table], quoted=True))
        within = [join.args["on"] for one in joined for join in inner_joins(one) if join.args.get("on") is not None]
        for part in (*expressions(select), *within):
            for node in list(part.walk(prune=lambda n: isinstance(n, exp.Query))):
                if isinstance(node, exp.Query):
                    self.query(node, scope)
                elif isinstance(node, exp.Column):
                    if node.table not in scope:
                        raise NotIncremental(f"uses {node.sql()} in a way that qbcd cannot follow")
                    node.set("table", exp.to_identifier(scope[node.table], quoted=True))
