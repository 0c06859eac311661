"""The key of a query's rows, proved from its text and its base tables' keys, if possible.

Rows of a join are identified by the keys of those relations that the others do not determine. A relation is determined
if the join, or a condition that all rows fulfill, makes a whole key of it equal to columns of determined relations:
then each of their rows meets at most one of its rows. Groups are identified by their GROUP BY expressions, rows of
DISTINCT by all their columns. A result of one row, as of an aggregate without GROUP BY, has an empty key. If these
rules prove no key, the user must name it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from sqlglot import exp

from qbcd.model import Table
from qbcd.queries import relations
from qbcd.queries.name_conflicts import is_comma, using
from qbcd.queries.nested_joins import inner_joins, is_bracket, joins_of, opened
from qbcd.queries.relations import UNKNOWN, Keys, OutputColumn, Relation, plain
from qbcd.queries.tables import base_tables, folded
from qbcd.queries.text import Unfit
from qbcd.queries.views import parse_view

_PLAIN = ("this", "db", "catalog", "alias", "only", "partition", "hints", "joins")  # parts that do not affect keys


def relation_of(tree: exp.Query, tables: Sequence[Table], dialect: str, *, bare_names: bool = False) -> Relation:
    """Return the facts about the rows of a query.

    Args:
        tables: The tables that it reads, one for each mention, in the order of `base_tables`.
        dialect: sqlglot's name of its dialect.
        bare_names: A name without a schema may be a user's own function.
    """
    mentions = {id(node): table for (_, node), table in zip(base_tables(tree, dialect), tables, strict=True)}
    return _KeyReader(mentions, dialect, bare_names=bare_names).query(tree, {})


@dataclass(eq=False)
class _Source:
    """A relation in a FROM clause.

    Attributes:
        conditions: Conditions that are true for each row of the join with a row of this relation.
        preserved: No outer join replaces its columns by NULL.
    """

    alias: str
    relation: Relation
    conditions: list[Any]
    preserved: bool = True


class _KeyReader:
    """Derives facts about relations from a query's tree.

    Args:
        mentions: The base table of a node, by the node's identity.
        dialect: The dialect whose rules fold names.
        bare_names: As in `relation_of`.
    """

    def __init__(self, mentions: Mapping[int, Table], dialect: str, *, bare_names: bool) -> None:
        self._mentions = mentions
        self._dialect = dialect
        self._bare_names = bare_names
        self._aggregates = relations.EVERYWHERE if bare_names else (exp.AggFunc,)

    def query(self, tree: Any, outer: Mapping[str, Relation]) -> Relation:
        """Return the facts about a SELECT, a set operation, or one of them in brackets."""
        known = dict(outer)
        for cte in tree.args["with_"].expressions if tree.args.get("with_") else ():
            alias = cte.args["alias"]
            found = UNKNOWN if tree.args["with_"].args.get("recursive") else self.query(cte.this, known)
            known[plain(alias.this)] = relations.renamed(found, alias, self._dialect)
        if isinstance(tree, exp.Subquery) and not tree.args.get("joins"):
            return self.query(tree.this, known)
        if isinstance(tree, exp.SetOperation):
            left = self.query(tree.left, known)
            columns = None if left.columns is None else tuple(OutputColumn(c.name) for c in left.columns)
            return Relation(columns, (relations.names_of(columns),) if columns and tree.args.get("distinct") else ())
        return self._select(tree, known) if isinstance(tree, exp.Select) else UNKNOWN

    def _select(self, tree: exp.Select, known: Mapping[str, Relation]) -> Relation:
        group, distinct = tree.args.get("group"), tree.args.get("distinct")
        likely = relations.multiplies(tree)
        total = group is None and any(relations.aggregates(tree, self._aggregates))
        sources = self._sources(tree, known)
        if sources is None:
            return Relation(None, one_row=total and not likely)
        pairs = list(self._outputs(tree, sources))
        columns = None if any(output is None for _, output in pairs) else tuple(o for _, o in pairs if o is not None)
        if group is not None and columns and relations.has_sets(group):
            columns = tuple(OutputColumn(c.name) for c in columns)  # NULL where a set leaves a column out
        if total or (group is None and all(source.relation.one_row for source in sources)):
            return Relation(columns, one_row=not likely)
        keys = self._grouped(group, sources, pairs) if group is not None else self._joined(sources, pairs)
        sure = () if likely else keys
        if isinstance(distinct, exp.Distinct):
            on = distinct.args.get("on")
            by = [self._output_for(e, sources, pairs) for e in on.expressions] if on else [o for _, o in pairs]
            sure = (*sure, *((tuple(o.name for o in by if o is not None),) if by and None not in by else ()))
        return Relation(columns, sure, keys)

    # -- FROM ----------------------------------------------------------------------------------------------------------
    def _sources(self, tree: exp.Select, known: Mapping[str, Relation]) -> list[_Source] | None:
        """Return the joined relations; None if the rows of a join are not understood."""
        first = tree.args.get("from_")
        found = [self._source(opened(first.this)[0], known)] if first is not None else []
        joins, start = joins_of(tree), 0
        for join in joins:
            if is_bracket(join.this) or any(inner_joins(join.this)):
                return None
            start = len(found) if is_comma(join) else start  # a comma ends the items that JOIN combines
            one = self._source(join.this, known)
            side, kind, method = (str(join.args.get(part) or "").upper() for part in ("side", "kind", "method"))
            if method or kind not in ("", "INNER", "OUTER", "CROSS") or side not in ("", "LEFT", "RIGHT"):
                return None
            on = list(relations.conjuncts(join.args.get("on")))
            for name in using(join, self._dialect):
                at = relations.first_with(name, [s.relation for s in found[start:]])
                on += [(name, one, found[start + at] if at >= 0 else None)]
            if side == "RIGHT" and len(joins) > 1:
                return None
            if side == "RIGHT":
                found[0].preserved, found[0].conditions = False, on
            elif side == "LEFT":
                one.preserved, one.conditions = False, on
            else:
                one.conditions = on
                for other in found:  # all rows of an inner join fulfill its condition
                    other.conditions = [*other.conditions, *on]
            found.append(one)
        aliases = [one.alias for one in found]
        if len(set(aliases)) < len(aliases):
            return None  # only the database knows to which of the two a column belongs
        where = tree.args.get("where")
        for one in found:
            one.conditions = [*one.conditions, *(relations.conjuncts(where.this) if where is not None else ())]
        return found

    def _source(self, node: Any, known: Mapping[str, Relation]) -> _Source:
        alias = node.args.get("alias")
        named = alias.this if alias is not None and alias.this is not None else node.this
        name = folded(named, self._dialect) if isinstance(named, exp.Identifier) else ""
        return _Source(name, relations.renamed(self._relation(node, known), alias, self._dialect), [])

    def _relation(self, node: Any, known: Mapping[str, Relation]) -> Relation:
        if any(value for part, value in node.args.items() if part not in _PLAIN):  # for instance FOR SYSTEM_TIME ALL
            return UNKNOWN
        if isinstance(node, exp.Table) and id(node) in self._mentions:
            return self._table(self._mentions[id(node)])
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return known.get(plain(node.this), UNKNOWN)
        return self.query(node.this, known) if isinstance(node, exp.Subquery) else UNKNOWN

    def _table(self, table: Table) -> Relation:
        """Return the facts about the rows of a table, or of a view's query."""
        known = relations.of_table(table)
        try:
            tree = parse_view(table.definition, self._dialect).tree if table.definition else None
        except Unfit:  # then nothing is proven
            tree = None
        if tree is None:
            return known
        found = relation_of(tree, table.bases, self._dialect, bare_names=self._bare_names)
        named = found.columns is not None and [c.name for c in found.columns] == [c.name for c in table.columns]
        return found if named else known

    # -- columns -------------------------------------------------------------------------------------------------------
    def _outputs(self, tree: exp.Select, sources: Sequence[_Source]) -> Iterator[tuple[Any, OutputColumn | None]]:
        """Yield (expression, column) of the result; column is None for a star over unknown columns."""
        joined = any(join.args.get("using") for join in joins_of(tree))
        for item in tree.expressions:
            if item.is_star:
                of = folded(item.args["table"], self._dialect) if isinstance(item, exp.Column) else ""
                chosen = [s for s in sources if not of or s.alias == of]
                if (joined and not of) or not chosen or any(s.relation.columns is None for s in chosen):
                    yield item, None
                for one in chosen:
                    for column in one.relation.columns or ():
                        node = exp.column(column.name, table=one.alias, quoted=True)
                        yield node, replace(column, nullable=column.nullable or not one.preserved)
                continue
            inner = item.this if isinstance(item, exp.Alias) else item
            named = item.args.get("alias") if isinstance(item, exp.Alias) else item.this
            name = folded(named, self._dialect) if isinstance(named, exp.Identifier) else ""
            found = self._place(inner, sources)
            if found is None:
                yield inner, OutputColumn(name)
            else:
                source, column = found
                yield inner, OutputColumn(name, column.origin, column.nullable or not source.preserved)

    def _place(self, node: Any, sources: Sequence[_Source]) -> tuple[_Source, OutputColumn] | None:
        """Return the source and column of an expression that is a plain column, or None."""
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            return None
        name, of = folded(node.this, self._dialect), node.args.get("table")
        alias = folded(of, self._dialect) if of is not None else ""
        for source in sources:
            column = source.relation.column(name) if not alias or source.alias == alias else None
            if column is not None:
                return source, column
        return None

    # -- keys ----------------------------------------------------------------------------------------------------------
    def _grouped(
        self, group: exp.Group, sources: Sequence[_Source], pairs: Sequence[tuple[Any, OutputColumn | None]]
    ) -> Keys:
        if relations.has_sets(group):
            return ()
        found = [self._output_for(by, sources, pairs) for by in group.expressions]
        return () if not found or None in found else (tuple(dict.fromkeys(o.name for o in found if o is not None)),)

    def _output_for(
        self, node: Any, sources: Sequence[_Source], pairs: Sequence[tuple[Any, OutputColumn | None]]
    ) -> OutputColumn | None:
        """Return the result's column for an expression, a name or a position, or None."""
        if isinstance(node, exp.Literal) and node.is_int:
            number = int(node.this)
            return pairs[number - 1][1] if 0 < number <= len(pairs) else None
        found = next((o for inner, o in pairs if o is not None and relations.same(inner, node, self._dialect)), None)
        known = all(source.relation.columns is not None for source in sources)
        if found is not None or not known or not isinstance(node, exp.Column) or node.table:
            return found
        if self._place(node, sources) is not None:  # a table's column has precedence over one of the select list
            return None
        return next((o for _, o in pairs if o is not None and o.name == folded(node.this, self._dialect)), None)

    def _joined(self, sources: list[_Source], pairs: Sequence[tuple[Any, OutputColumn | None]]) -> Keys:
        """Return the combined key of the fewest relations that determine all others.

        Empty if the result does not have its columns.
        """
        kept = list(sources)
        if not all(s.relation.keys or s.relation.one_row for s in kept):
            return ()  # a relation without a key cannot be determined
        for one in reversed(sources):
            fewer = [s for s in kept if s is not one]
            if fewer and self._determined(fewer, sources):
                kept = fewer
        if not all(s.preserved for s in kept):
            return ()
        found: list[str] = []
        for one in kept:
            key = next((k for k in (self._carried(one, key, sources, pairs) for key in one.relation.keys) if k), None)
            if key is None:
                return ()
            found += key
        return (tuple(dict.fromkeys(found)),) if found else ()

    def _carried(
        self,
        one: _Source,
        key: Sequence[str],
        sources: Sequence[_Source],
        pairs: Sequence[tuple[Any, OutputColumn | None]],
    ) -> list[str] | None:
        """Return the result's names of the columns `key` of a source, or None if one is missing."""
        names: list[str] = []
        for part in key:
            placed = ((o, self._place(inner, sources)) for inner, o in pairs if o is not None)
            found = next((o.name for o, at in placed if at and at[0] is one and at[1].name == part), None)
            if found is None:
                return None
            names.append(found)
        return names

    def _determined(self, kept: Sequence[_Source], sources: Sequence[_Source]) -> bool:
        """Return True if a row of `kept` meets at most one row of every other source."""
        known = list(kept)
        while True:
            more = [s for s in sources if s not in known and (s.relation.one_row or self._fixed(s, known, sources))]
            if not more:
                return len(known) == len(sources)
            known += more

    def _fixed(self, one: _Source, known: Sequence[_Source], sources: Sequence[_Source]) -> bool:
        """Return True if conditions make a whole key of a source equal to columns of `known`."""
        fixed = set(chain.from_iterable(self._equal(c, one, known, sources) for c in one.conditions))
        return any(set(key) <= fixed for key in one.relation.keys if key)

    def _equal(self, condition: Any, one: _Source, known: Sequence[_Source], sources: Sequence[_Source]) -> list[str]:
        """Return the column of `one` that a condition makes equal to one of `known`, or a constant."""
        if isinstance(condition, tuple):  # USING
            name, *sides = condition
            other = sides[1] if one is sides[0] else sides[0]
            if other not in known or one not in sides:
                return []
            return [name] if relations.comparable(one.relation.column(name), other.relation.column(name)) else []
        if not isinstance(condition, exp.EQ):
            return []
        for left, right in ((condition.this, condition.expression), (condition.expression, condition.this)):
            at = self._place(left, sources)
            if at is None or at[0] is not one:
                continue
            other_side = self._place(right, sources)
            constant = isinstance(right, exp.Literal) and relations.has_own_equality(at[1], right)
            if constant or (
                other_side is not None and other_side[0] in known and relations.comparable(at[1], other_side[1])
            ):
                return [at[1].name]
        return []
