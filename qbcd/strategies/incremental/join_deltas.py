"""The relaxed joins of a SELECT: they find rows that a changed row of a relation may affect.

Joins are relaxed from left to right, for the reasons given in `qbcd.strategies.incremental.delta_query`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sqlglot import exp

from qbcd.queries.syntax_tree import NotIncremental, Tree, conjuncts, expressions, nested, relations
from qbcd.strategies.incremental.determinism import holds

MOST = 64  # arms of one SELECT; each outer join with used columns doubles them
_COMPARING = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
TOO_MANY = "has too many outer joins whose columns its key or conditions use"


class Relations(Protocol):
    """The methods that a chain needs from its query.

    Attributes:
        lean: Omit joins that only look up a row.
    """

    lean: bool

    def relation(self, item: Tree, target: str | None, *, crossed: bool = False) -> Tree:
        """Return an item of FROM, relaxed; with `crossed`, no partner in it is certain."""

    def certain(self, item: Tree) -> bool:
        """Return True if a relation has exactly the rows of its state.

        A row that finds no partner in it then has none.
        """

    def condition(self, on: Tree | None) -> tuple[Tree | None, bool]:
        """Return the kept part of a join's condition, and True if that is the whole condition."""


@dataclass(frozen=True)
class Arm:
    """Rows of a join: relations, each with its join to the relations before it, and conditions.

    Attributes:
        crossed: Rows of the other state may be among them.
        empty: Aliases of relations whose columns are all NULL.
    """

    chain: tuple[tuple[Tree, str, Tree | None], ...]
    where: tuple[Tree, ...] = ()
    crossed: bool = False
    empty: frozenset[str] = frozenset()

    def joined(self, relation: Tree, side: str, on: Tree | None) -> Arm:
        """Return the arm with one more relation."""
        return replace(self, chain=(*self.chain, (relation, side, on)))

    def built(self, shown: Sequence[Tree], where: Sequence[Tree]) -> exp.Select:
        """Return the arm as a SELECT."""
        made = exp.select(*(e.copy() for e in shown))
        for number, (relation, side, on) in enumerate(self.chain):
            if not number:
                made = made.from_(relation.copy())
                continue
            condition = on.copy() if on is not None else exp.true() if side else None
            kind = side if side else "cross" if condition is None else "inner"
            made = made.join(relation.copy(), on=condition, join_type=kind)
        conditions = [c.copy() for c in (*where, *self.where)]
        return made.where(*conditions) if conditions else made


class Chain:
    """The joins of one SELECT, relaxed from left to right."""

    def __init__(self, of: Relations, select: exp.Select, target: str | None, used: Sequence[Tree]) -> None:
        self._of, self._target = of, target
        self._items = relations(select)
        self._joins: list[exp.Join] = select.args.get("joins") or []
        self._left_out = set[int]()
        self._used = [*used, *(q for part in expressions(select) for q in nested(part))]

    def arms(self) -> list[Arm]:
        """Return arms that together have all rows that may be affected; all rows without a target."""
        if not self._items:
            return [Arm(())]
        first = self._items[0]
        arms = [self._begun(first)]
        certain, on_left = self._of.certain(first), self._contains_target(first)
        for number in range(len(self._joins), 0, -1):  # a relation that only omitted joins use is omitted too
            if self._joins[number - 1].side == "LEFT" and not self._contains_target(self._items[number]):
                self._left_out |= set() if self._referenced([number], number) else {number}
        for number, join in enumerate(self._joins, start=1):
            if number in self._left_out:
                continue
            if self._looks_up(number, join):
                certain = False
                continue
            on, whole = self._of.condition(join.args.get("on"))
            certain = certain and whole and self._of.certain(join.this)
            step = getattr(self, f"_{join.side.lower() or 'inner'}")
            arms = step(arms, number, on, on_left, certain)
            on_left = on_left or self._contains_target(join.this)
            if len(arms) > MOST:
                raise NotIncremental(TOO_MANY)
        return arms

    def _inner(self, arms: list[Arm], number: int, on: Tree | None, on_left: bool, certain: bool) -> list[Arm]:
        crossed = not isinstance(self._items[number], exp.Table) and self._contains_target(self._items[number])
        return [
            replace(arm.joined(self._relation(number, arm), "", on), crossed=arm.crossed or crossed)
            for arm in arms
            if not rejects(conjuncts(on), arm.empty)
        ]

    def _left(self, arms: list[Arm], number: int, on: Tree | None, on_left: bool, certain: bool) -> list[Arm]:
        seen = self._referenced([number], number)
        if self._contains_target(self._items[number]):
            return [
                *self._inner(arms, number, on, on_left, certain),
                *(self._lone(a, number, on) for a in arms if seen),
            ]
        if not seen:
            return arms
        sure = self._of.certain(self._items[number]) and self._of.condition(self._joins[number - 1].args.get("on"))[1]
        found = []
        for arm in arms:
            if sure and not arm.crossed:
                found.append(arm.joined(self._relation(number), "left", on))
            else:
                found += [*self._inner([arm], number, on, on_left, certain), self._without(arm, number)]
        return found

    def _right(self, arms: list[Arm], number: int, on: Tree | None, on_left: bool, certain: bool) -> list[Arm]:
        seen, right = self._referenced(range(number), number), self._relation(number)
        if on_left:
            return [*self._inner(arms, number, on, on_left, certain), *self._partners(arms, number, on, seen)]
        if not seen:
            return [self._begun(self._items[number])]
        if certain and len(arms) == 1:
            return [arms[0].joined(right, "right", on)]
        return [*self._inner(arms, number, on, on_left, certain), self._alone(number)]

    def _full(self, arms: list[Arm], number: int, on: Tree | None, on_left: bool, certain: bool) -> list[Arm]:
        right = self._relation(number)
        if not on_left and not self._contains_target(self._items[number]) and certain and len(arms) == 1:
            return [arms[0].joined(right, "full", on)]
        pairs = self._inner(arms, number, on, on_left, certain)
        if on_left:
            left = [self._without(arm, number) for arm in arms]
            return [*pairs, *left, *self._partners(arms, number, on, seen=True)]
        if self._contains_target(self._items[number]):
            return [*pairs, *(self._lone(arm, number, on) for arm in arms), self._alone(number)]
        return [*pairs, *(self._without(arm, number) for arm in arms), self._alone(number)]

    # -- parts -------------------------------------------------------------------------------------------------------
    def _looks_up(self, number: int, join: exp.Join) -> bool:
        """Return True if nothing else uses the row that a join looks up.

        Without the join there are the same rows or more, never fewer.
        """
        item, parts = self._items[number], conjuncts(join.args.get("on"))
        if not self._of.lean or join.side or not isinstance(item, exp.Table) or self._contains_target(item):
            return False
        plain = parts and all(_looks_up(part, item.alias_or_name) for part in parts)
        return bool(plain) and not self._referenced([number], number)

    def _begun(self, item: Tree) -> Arm:
        derived = not isinstance(item, exp.Table) and self._contains_target(item)
        return Arm(((self._of.relation(item, self._target), "", None),), crossed=derived)

    def _relation(self, number: int, arm: Arm | None = None) -> Tree:
        """Return an item of FROM; with `arm`, in the form that is joined to it."""
        return self._of.relation(self._items[number], self._target, crossed=arm is not None and arm.crossed)

    def _contains_target(self, item: Tree) -> bool:
        return self._target is not None and holds(item, self._target)

    def _lone(self, arm: Arm, number: int, on: Tree | None) -> Arm:
        """Return rows of the left side whose partner changed, without the partner."""
        partner = Arm(((self._relation(number), "", None),)).built([exp.Literal.number(1)], [on] if on else [])
        lone = replace(arm, where=(*arm.where, exp.Exists(this=partner)), crossed=True)
        return self._without(lone, number)

    def _partners(self, arms: list[Arm], number: int, on: Tree | None, seen: bool) -> list[Arm]:
        """Return rows of the right side whose partner on the left changed, without the partner."""
        found = []
        for arm in arms if seen else ():
            partner = exp.Exists(this=arm.built([exp.Literal.number(1)], [on] if on else []))
            found.append(replace(self._alone(number), where=(partner,), crossed=True))
        return found

    def _alone(self, number: int) -> Arm:
        """Return rows of the right side without a left side."""
        arm = Arm(((self._of.relation(self._items[number], self._target, crossed=True), "", None),), crossed=True)
        for earlier in range(number):
            arm = self._without(arm, earlier)
        return arm

    def _without(self, arm: Arm, number: int) -> Arm:
        """Return rows without a partner in a relation."""
        joined = arm.joined(self._empty(number), "left", None)
        return replace(joined, empty=arm.empty | {self._items[number].alias_or_name})

    def _empty(self, number: int) -> Tree:
        """Return a relation without rows, for the types of its columns."""
        item = self._items[number]
        rows = exp.select("*").from_(self._of.relation(item, None)).where(exp.false())
        return rows.subquery(exp.to_identifier(item.alias_or_name, quoted=True))

    def _referenced(self, numbers: Sequence[int] | range, join: int) -> bool:
        """Return True if another part of the query uses the relations `numbers`.

        The condition of join `join`, and earlier conditions on these relations alone, do not count.
        """
        aliases = {self._items[n].alias_or_name for n in numbers}
        joins = [(n, j) for n, j in enumerate(self._joins, 1) if n != join and n not in self._left_out]
        others = [(n, j.args["on"]) for n, j in joins if j.args.get("on") is not None]
        outer = [on for n, on in others if n > join or not {c.table for c in on.find_all(exp.Column)} <= aliases]
        return any(c.table in aliases for part in [*self._used, *outer] for c in part.find_all(exp.Column))


def rejects(conditions: Sequence[Tree], empty: Collection[str]) -> bool:
    """Return True if a condition compares a column of a relation that is all NULL."""
    tests = [test for test in conditions if isinstance(test, _COMPARING)]
    sides = [side.unnest() for test in tests for side in (test.this, test.expression)]
    return any(isinstance(side, exp.Column) and side.table in empty for side in sides)


def _looks_up(condition: Tree, alias: str) -> bool:
    """Return True if a condition equates a column of `alias` with a value of other relations."""
    if not isinstance(condition, exp.EQ):
        return False
    used = [{c.table for c in side.find_all(exp.Column)} for side in (condition.this, condition.expression)]
    bare = [isinstance(side, exp.Column) for side in (condition.this, condition.expression)]
    return any(bare[n] and used[n] == {alias} and alias not in used[1 - n] for n in (0, 1))
