"""The keys of a query's result that changed rows may affect, and the query for them alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain

from sqlglot import exp

from qbcd.connectors.facts import Alike
from qbcd.queries.qualify import Prepared
from qbcd.queries.syntax_tree import Name, NotIncremental, Tree, conditions, selects
from qbcd.queries.unsupported import refusals, without_key
from qbcd.strategies.incremental.comparison_types import Kinds
from qbcd.strategies.incremental.delta_query import Relaxed, State
from qbcd.strategies.incremental.determinism import known_columns, unknown_columns
from qbcd.strategies.incremental.join_deltas import TOO_MANY
from qbcd.strategies.incremental.restriction import Equal, Restriction, equal

LARGEST = 5000  # SELECTs within the statement that finds keys
_GROUPING = (exp.Group, exp.AggFunc, exp.Distinct)
# Expressions that cannot fail for any row.
_SAFE = (
    exp.Alias,
    exp.And,
    exp.Between,
    exp.Boolean,
    exp.Coalesce,
    exp.Column,
    exp.EQ,
    exp.Exists,
    exp.From,
    exp.GT,
    exp.GTE,
    exp.Identifier,
    exp.In,
    exp.Is,
    exp.Join,
    exp.LT,
    exp.LTE,
    exp.Like,
    exp.Literal,
    exp.Lower,
    exp.NEQ,
    exp.Not,
    exp.Null,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Or,
    exp.Order,
    exp.Ordered,
    exp.Paren,
    exp.Query,
    exp.Table,
    exp.TableAlias,
    exp.Tuple,
    exp.Upper,
    exp.Where,
)


class Skeleton:
    """A query whose changes can be derived from those of its base tables.

    Args:
        key: Names of the result's columns that identify its rows; none for a result of one row.
        plain: As for :func:`~qbcd.queries.unsupported.refusals`.
        alike: Properties that equal values of a base table's column share.
        texts: Properties that equal texts share if the query itself computes them.
        kinds: Kinds of the query's values; without it all columns are of one kind.

    Attributes:
        kept: Columns of each base table that lead from old rows to the keys that they affected.

    Raises:
        NotIncremental: They cannot be derived; names the first reason.
    """

    def __init__(
        self,
        prepared: Prepared,
        key: Sequence[str],
        plain: Callable[[str], bool] = lambda name: False,
        alike: Callable[[Name, str], Alike] = lambda table, column: Alike.SAME,
        texts: Alike = Alike.SAME,
        kinds: Kinds | None = None,
    ) -> None:
        self.prepared, self.key = prepared, tuple(key)
        self._kinds = kinds or Kinds(prepared)
        for reason in filter(None, [*refusals(prepared.tree, plain), self._kinds.mixed()]):
            raise NotIncremental(reason)
        self._unknown = unknown_columns(prepared.tree, lambda alias, name: alike(prepared.bases[alias], name), texts)
        self.columns = [item.alias_or_name for item in selects(prepared.tree)[0].expressions]
        self._positions = [self.columns.index(name) for name in key]
        known = known_columns(prepared.tree, self._unknown)
        for reason in without_key(self._positions, known, self.columns):
            raise NotIncremental(reason)
        self.kept = self._kept()

    def mentions(self, table: Name) -> list[str]:
        """Return the aliases by which the query mentions a base table."""
        return [alias for alias, name in self.prepared.bases.items() if name == table]

    def affected(self, alias: str, state: State, types: Mapping[str, str] | None = None) -> list[exp.Select]:
        """Return SELECTs of the distinct keys that changed rows of one mention may affect.

        They are the keys that those rows may affect in one state.

        The arms of a set operation each have their own types. `types` has the types of the key, by column name, if arms
        can be cast to them (otherwise see `typing`).

        A join that only looks up a row is omitted, since the query itself looks it up for the found keys. It is kept if
        rows are grouped, since one extra key is then a whole group, or if an expression may fail for rows that the join
        excludes.
        """
        arms = self._affected(alias, state, lean=self._may_be_lean())
        for item in (item for arm in arms for item in arm.expressions if len(selects(self.prepared.tree)) > 1):
            if types and item.alias in types:
                to = exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=types[item.alias])
                item.set("this", exp.Cast(this=item.this.copy(), to=to))
        return arms

    def _may_be_lean(self) -> bool:
        tree = self.prepared.tree
        if tree.find(*_GROUPING) is not None:
            return False
        keys = [arm.expressions[n] for arm in selects(tree) for n in self._positions]
        parts = chain(keys, *(conditions(select) for select in tree.find_all(exp.Select)))
        return all(isinstance(node, _SAFE) for part in parts for node in part.walk())

    def typing(self) -> list[exp.Subquery]:
        """Return a relation without rows that gives the key's columns the types of all arms.

        It is empty for a query of one SELECT, or without a key.
        """
        if len(selects(self.prepared.tree)) == 1 or not self.key:
            return []
        names = [exp.column(name, "q", quoted=True) for name in self.key]
        whole = exp.Subquery(this=self.prepared.tree.copy(), alias=exp.TableAlias(this=exp.to_identifier("q")))
        return [exp.Subquery(this=exp.select(*names).from_(whole).limit(0))]

    def _affected(self, alias: str, state: State, *, lean: bool) -> list[exp.Select]:
        arms = Relaxed(self._unknown, state, lean=lean).query(self.prepared.tree, alias, self._positions)
        return [arm.distinct() for arm in arms]

    def _kept(self) -> dict[Name, list[str]]:
        """Return by base table the columns that lead from old rows to the keys that they affected."""
        size = 0
        found: dict[Name, dict[str, None]] = {table: {} for table in self.prepared.tables()}
        for alias in self.prepared.bases:
            for arm in self._affected(alias, _Bare(), lean=False):
                size += sum(1 for _ in arm.find_all(exp.Select))
                if size > LARGEST:
                    raise NotIncremental(TOO_MANY)
                for column in arm.find_all(exp.Column, bfs=False):
                    if column.table in self.prepared.bases:
                        found[self.prepared.bases[column.table]][column.name] = None
        return {table: list(names) for table, names in found.items()}

    def joined_by(self) -> dict[Name, list[str]]:
        """Return by base table the columns that are joined by equality; an index serves them."""
        found: dict[Name, dict[str, None]] = {table: {} for table in self.prepared.tables()}
        for test in self.prepared.tree.find_all(exp.EQ):
            sides = [side for side in (test.this, test.expression) if isinstance(side, exp.Column)]
            if len(sides) == 2 and sides[0].table != sides[1].table:
                for side in sides:
                    if side.table in self.prepared.bases:
                        found[self.prepared.bases[side.table]][side.name] = None
        return {table: list(names) for table, names in found.items()}

    def restricted(self, keys: Tree, exact: Collection[str] = (), equal: Equal = equal) -> exp.Query:
        """Return the query for affected keys alone.

        Args:
            keys: The relation of affected keys, with the key's column names.
            exact: Columns of the key whose equal values are the same in every use.
            equal: As for :class:`~qbcd.strategies.incremental.restriction.Restriction`.
        """
        named = list(zip(self.key, self._positions, strict=True))
        return Restriction(keys, self._unknown, self._kinds, exact, equal).restrict(self.prepared.tree, named)


class _Bare:
    """A state in which nothing is certain, to find the columns that a statement would use."""

    exact = False

    def relation(self, alias: str, *, changed: bool) -> Tree:
        return exp.alias_(exp.to_table("t", quoted=True), alias, table=True, quoted=True)
