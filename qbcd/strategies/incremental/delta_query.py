"""A relaxed query: it finds rows that changed rows of one mention of a table may affect.

It keeps only conditions that single rows of the base tables decide. Conditions on aggregates, HAVING and subqueries of
other mentions are dropped, so it may find more rows than changed, never fewer (docs/paper.md#c27). With D the old and
D' the
new state, let a relaxation "find" rows of a relation. For every relation E of the query, each row that is in only one
of E(D) and E(D') is found by the relaxation for some mention, evaluated in D or in D':

* A row of a join that is in one state only contains a changed base row, and is found in that state.
* A row whose outer join found no partner appears when the last partner disappears. It is found as a *crossed* arm: by
  the changed partner, in the other state. Joins over a crossed arm assume no partner as certain: for each
  row with partners there is also one without. The same holds for joins within derived tables next to it. (Several rows
  may lose their NULLs at once. The first of them, in the order in which relations are read, is found; nothing before
  it has changed, and relations after it may be unchanged.)
* A row whose subquery (EXISTS, IN, a scalar one) has changed is found together with the changed inner row.
* A group, or a DISTINCT row, changes only if one of its rows does, and its key is that row's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from sqlglot import exp

from qbcd.queries.syntax_tree import Tree, conjuncts, expressions, nested, operand, selects
from qbcd.queries.unsupported import is_total
from qbcd.strategies.incremental.determinism import Unknown, decided, holds, known_columns, united
from qbcd.strategies.incremental.join_deltas import Chain, rejects

Extra = Callable[[exp.Select], list[Tree]]
ONE = "qbcd_one"


class State(Protocol):
    """A state of the base tables' rows: the tables themselves, or their rows as last seen.

    Attributes:
        exact: The rows are exactly those that the tables had in this state, with all columns.
    """

    exact: bool

    def relation(self, alias: str, *, changed: bool) -> Tree:
        """Return the mention `alias` as an item of FROM: all its rows, or the changed ones only."""


class Relaxed:
    """Relaxations of one query in one state.

    Args:
        unknown: The result of :func:`unknown_columns`.
        state: The state of its base tables' rows.
        lean: Omit joins that only look up a row, which may find more rows.
        exact: Rely on the attribute `exact` of the state.
    """

    def __init__(self, unknown: Unknown, state: State, *, lean: bool = False, exact: bool = True) -> None:
        self._unknown = unknown
        self._state = state
        self._exact = exact and state.exact
        self.lean = lean

    def query(
        self, query: Tree, target: str | None, positions: Sequence[int] | None = None, extra: Extra | None = None
    ) -> list[exp.Select]:
        """Return SELECTs that together have all rows of `query` that changes of `target` may affect.

        Args:
            target: A mention of a base table within; None for all rows.
            positions: Positions of output columns; by default all that single rows decide.
            extra: Further conditions on the rows of each arm.
        """
        positions, found = self._known(query) if positions is None else positions, []
        for select in selects(query):
            if target is None or holds(select, target):
                shown = _shown(select, query, positions)
                found += self._select(select, target, shown, extra(select) if extra else [])
        return found

    def _known(self, query: Tree) -> list[int]:
        return [n for n, known in enumerate(known_columns(query, self._unknown)) if known]

    def _rowless(self, part: Tree, query: Tree) -> Tree:
        """Return a set operation without rows, whose columns get their types from all arms together."""
        if isinstance(part, exp.Subquery):
            return self._rowless(part.this, query)
        if not isinstance(part, exp.SetOperation):
            return self._select(part, None, _shown(part, query, self._known(query)), [])[0].where(exp.false())
        left, right = (self._rowless(side, query) for side in (part.this, part.expression))
        return exp.union(left, exp.Subquery(this=right), distinct=False, copy=False)

    def _select(
        self, select: exp.Select, target: str | None, shown: list[Tree], conditions: list[Tree]
    ) -> list[exp.Select]:
        shown = shown or [exp.alias_(exp.Literal.number(1), ONE, quoted=True)]
        if target is None and is_total(select):
            return [exp.select(*shown)]
        inner = None if target is None else next((q for q in _subqueries(select) if holds(q, target)), None)
        where = select.args.get("where")
        kept = self._kept([*conjuncts(where.this if where is not None else None), *conditions])[0]
        if inner is not None and target is not None:
            kept.append(self._exists(inner, target))
        chain = Chain(self, select, None if inner is not None else target, [*shown, *kept])
        return [arm.built(shown, kept) for arm in chain.arms() if not rejects(kept, arm.empty)]

    def _exists(self, query: exp.Query, target: str) -> Tree:
        """Return the condition that a changed inner row exists for the outer one."""
        test = query.parent
        extra = self._membership(test) if isinstance(test, exp.In) and test.args.get("query") is query else None
        return exp.Exists(this=united(self.query(query, target, [], extra)))

    def _membership(self, test: exp.In) -> Extra:
        """Return the equality of IN.

        It also accepts NULL on either side, unless the IN must be true.
        """
        left = test.this.expressions if isinstance(test.this, exp.Tuple) else [test.this]
        positive = isinstance(test.find_ancestor(exp.Where, exp.Query), exp.Where) and _asserted(test)

        def conditions(select: exp.Select) -> list[Tree]:
            if is_total(select):
                return []
            found = []
            for outer, item in zip(left, select.expressions, strict=True):
                mine, theirs = operand(outer), operand(item.unalias())
                equal: Tree = exp.EQ(this=mine, expression=theirs)
                if not decided(equal, self._unknown):
                    continue
                if not positive:
                    nulls = [exp.Is(this=side.copy(), expression=exp.null()) for side in (mine, theirs)]
                    equal = exp.paren(exp.or_(equal, *nulls))
                found.append(equal)
            return found

        return conditions

    def _kept(self, conditions: Sequence[Tree]) -> tuple[list[Tree], bool]:
        """Return the conditions that single rows decide, and True if those are all conditions."""
        kept = [c for c in conditions if decided(c, self._unknown)]
        return kept, len(kept) == len(conditions)

    def condition(self, on: Tree | None) -> tuple[Tree | None, bool]:
        """Return the kept part of a join's condition, and True if that is the whole condition."""
        kept, whole = self._kept(conjuncts(on))
        return (exp.and_(*(c.copy() for c in kept)) if kept else None), whole

    def relation(self, item: Tree, target: str | None, *, crossed: bool = False) -> Tree:
        """Return an item of FROM, relaxed; with `crossed`, no partner in it is certain."""
        alias = item.alias_or_name
        if isinstance(item, exp.Table):
            return self._state.relation(alias, changed=alias == target)
        inside = target if target is not None and holds(item, target) else None
        if crossed and self._exact:
            return Relaxed(self._unknown, self._state, lean=self.lean, exact=False).relation(item, target)
        typed = [self._rowless(item, item)] if isinstance(item.this, exp.SetOperation) else []
        rows = united([*typed, *self.query(item, inside)])
        return exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))

    def certain(self, item: Tree) -> bool:
        """Return True for a table whose rows are exactly those of the state."""
        return self._exact and isinstance(item, exp.Table)


def _shown(select: exp.Select, query: Tree, positions: Sequence[int]) -> list[Tree]:
    """Return columns of one arm of a query, with the query's column names."""
    names = [item.alias_or_name for item in selects(query)[0].expressions]
    return [exp.alias_(select.expressions[n].unalias().copy(), names[n], quoted=True) for n in positions]


def _subqueries(select: exp.Select) -> list[exp.Query]:
    return [query for part in expressions(select) for query in nested(part)]


def _asserted(test: exp.In) -> bool:
    """Return True if a condition is one of those that must all hold."""
    above = test.parent
    while isinstance(above, (exp.And, exp.Paren)):
        above = above.parent
    return isinstance(above, exp.Where)
