"""A match of few events in Python: a look-up per shape of condition, instead of one join.

It gives the same matches as the join, and costs microseconds for one event, but takes time to build.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from qbcd.matching import SetIndex, SetRelation, Workload, index_for
from qbcd.subscriptions.condition import PARAMETER, Columns, Shape, bare
from qbcd.subscriptions.definition import Subscription

MOST_TRIED = 5_000  # candidates of one call; a join is faster for more
MOST_UNANCHORED = 500  # subscriptions of shapes without a look-up
EVENT_ELEMENTS = 8  # of a set, as the cost model assumes

Row = Sequence[Any]
Test = Callable[[Row, Row], Any]  # row and literals -> True, False or None
Tree = Any
Values = Any  # a column of Arrow


class TooMany(Exception):
    """More candidates than `MOST_TRIED`."""


class ShapeIndex:
    """The subscriptions of one shape by the values that find them.

    Args:
        rows: Of each subscription number and literals.
        anchors: Of each anchor its number and value; a number may have several.
    """

    def __init__(
        self, shape: Shape, columns: Columns, rows: Sequence[tuple[Any, ...]], anchors: Sequence[tuple[int, Any]]
    ) -> None:
        self._literals = {row[0]: row[1:] for row in rows}
        self._sets = _set_search(shape, columns, self._literals)
        self._places: tuple[int, ...] = ()
        self._found: dict[Any, list[int]] = {}
        self._all = list(self._literals) if shape.anchor is None else []
        decided = shape.conjuncts == 1 and self._sets is not None
        if self._sets is None and shape.anchor is not None:
            if shape.equal and len(shape.anchor.parameters) == 1:
                self._places = tuple(column for column, _ in shape.equal)
                parameters = [parameter for _, parameter in shape.equal]
                for number, literals in self._literals.items():
                    self._found.setdefault(tuple(literals[one] for one in parameters), []).append(number)
                decided = shape.conjuncts == len(shape.equal)
            else:
                self._places = (shape.anchor.column,)
                for number, value in anchors:
                    self._found.setdefault((value,), []).append(number)
        self._test = None if decided else _compiled(shape.tree, columns)

    def matches(self, row: Row) -> Iterable[int]:
        """Return the numbers of subscriptions whose condition a row meets.

        Args:
            row: Its values; sets are frozen, without NULL.

        Raises:
            TooMany: There are too many candidates.
        """
        found, test, literals = self._candidates(row), self._test, self._literals
        if test is None:
            return found
        return [number for number in found if test(row, literals[number]) is True]

    def _candidates(self, row: Row) -> Collection[int]:
        found: Collection[int]
        if self._sets is not None:
            column, relation, index = self._sets
            found = () if row[column] is None else index.find(relation, row[column])
        elif self._places:
            found = self._found.get(tuple([row[place] for place in self._places]), ())
        else:
            found = self._all
        if len(found) > MOST_TRIED and self._test is not None:
            raise TooMany
        return found


def _set_search(
    shape: Shape, columns: Columns, literals: Mapping[int, Sequence[Any]]
) -> tuple[int, SetRelation, SetIndex[int]] | None:
    """Return column, relation and index of a conjunct about a set; None without one."""
    one = shape.of_set
    if one is None or (shape.anchor is not None and not shape.anchor.element):
        return None
    sets = {number: frozenset(values[place] for place in one.parameters) for number, values in literals.items()}
    domain = len(frozenset().union(*sets.values()))
    size = sum(map(len, sets.values())) / len(sets)
    relation = _RELATIONS[one.function]
    index: SetIndex[int] = index_for(Workload(len(sets), size, domain, EVENT_ELEMENTS, {relation: 1.0}))
    for number, elements in sets.items():
        index.insert(number, elements)
    return columns.place(one.column), relation, index


_RELATIONS = {  # of the set of a subscription to that of the event
    "CONTAINS_ALL": SetRelation.CONTAINED_IN,
    "CONTAINS_ANY": SetRelation.OVERLAPS,
    "CONTAINED_IN": SetRelation.CONTAINS_ALL,
}


class FewEvents:
    """An index of all subscriptions of a matcher.

    Args:
        subscriptions: By their numbers.
        used: Positions of the columns of all conditions.
    """

    def __init__(
        self, shapes: Sequence[ShapeIndex], subscriptions: Mapping[int, Subscription], used: frozenset[int]
    ) -> None:
        self._shapes, self._subscriptions, self._used = shapes, subscriptions, used

    def matches(self, ops: Values, old: Values, new: Values, changed: Values) -> list[tuple[int, str]]:
        """Return position and id of each match, in order.

        Args:
            ops: A column of the events, as the others.

        Raises:
            TooMany: There are too many candidates.
        """
        found: list[tuple[int, str]] = []
        olds, news = self._rows(old), self._rows(new)
        for position, (op, before, after) in enumerate(zip(ops.to_pylist(), olds, news, strict=True)):
            is_new, is_old = self._met(after), self._met(before)
            names: list[str] | None = None
            for number in is_new | is_old:
                one = self._subscriptions[number]
                if not _meets(one.when, number in is_new, number in is_old) or (one.ops and op not in one.ops):
                    continue
                if one.columns and op == "u":
                    names = names or changed[position].as_py() or []
                    if set(one.columns).isdisjoint(names):
                        continue
                found.append((position, one.id))
        return sorted(found)

    def _rows(self, images: Values) -> list[Row | None]:
        """Return the values of used columns, in the places of all; None for a missing row."""
        rows: list[Row | None] = []
        for piece in images.chunks:
            valid = piece.is_valid().to_pylist()
            values = [
                [_frozen(one) for one in piece.field(place).to_pylist()] if place in self._used else [None] * len(piece)
                for place in range(piece.type.num_fields)
            ]
            made = zip(*values, strict=True)
            rows += [row if there else None for there, row in zip(valid, made, strict=True)]
        return rows

    def _met(self, row: Row | None) -> set[int]:
        if row is None:
            return set()
        return {number for shape in self._shapes for number in shape.matches(row)}


def _frozen(value: Any) -> Any:
    return frozenset(one for one in value if one is not None) if isinstance(value, list) else value


def is_supported(shape: Shape, columns: Columns, size: int) -> bool:
    """Return True if the conditions of a shape can be evaluated here."""
    kinds = list(columns.kinds.values())
    floats = any(kinds[columns.place(name)] == "float" for name in shape.columns)
    found = shape.anchor is not None or shape.of_set is not None
    return not floats and not shape.tree.find(exp.Like) and (found or size <= MOST_UNANCHORED)


def _meets(when: str, new: bool, old: bool) -> bool:
    if when == "new":
        return new
    if when == "old":
        return old
    return (new and not old) if when == "enters" else (old and not new) if when == "leaves" else new or old


# -- conditions with the logic of SQL, in which None is unknown --------------------------------------------------------
def _compiled(tree: Tree, columns: Columns) -> Test:
    node = bare(tree)
    if isinstance(node, (exp.And, exp.Or)):
        left, right = _compiled(node.this, columns), _compiled(node.expression, columns)
        return _both(left, right) if isinstance(node, exp.And) else _either(left, right)
    if isinstance(node, exp.Not):
        inner = _compiled(node.this, columns)
        return lambda row, literals: _negated(inner(row, literals))
    if isinstance(node, (exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is)):
        left, right = _value(node.this, columns), _value(node.expression, columns)
        same = not isinstance(node, exp.NullSafeNEQ)
        return lambda row, literals: (left(row, literals) == right(row, literals)) is same
    if isinstance(node, exp.Between):
        value, low, high = (_value(node.args[key], columns) for key in ("this", "low", "high"))
        return _both(_ordered(exp.GTE, value, low), _ordered(exp.LTE, value, high))
    if isinstance(node, exp.In):
        value, items = _value(node.this, columns), [_value(one, columns) for one in node.expressions]
        tests = [_ordered(exp.EQ, value, item) for item in items]
        return lambda row, literals: _any(test(row, literals) for test in tests)
    if isinstance(node, exp.Anonymous):
        return _of_set(node, columns)
    if type(node) in _COMPARES:
        return _ordered(type(node), _value(node.this, columns), _value(node.expression, columns))
    return _value(node, columns)


def _value(tree: Tree, columns: Columns) -> Test:
    node = bare(tree)
    if isinstance(node, exp.Column):
        place = columns.place(node.name)
        return lambda row, literals: row[place]
    if isinstance(node, exp.Placeholder):
        parameter = int(node.name.removeprefix(PARAMETER))
        return lambda row, literals: literals[parameter]
    if isinstance(node, exp.Neg):
        inner = _value(node.this, columns)
        return lambda row, literals: -inner(row, literals)
    if isinstance(node, exp.Boolean):
        constant = bool(node.this)
        return lambda row, literals: constant
    assert isinstance(node, exp.Null)
    return lambda row, literals: None


_COMPARES: Mapping[Any, Callable[[Any, Any], bool]] = {
    exp.EQ: lambda x, y: x == y,
    exp.NEQ: lambda x, y: x != y,
    exp.GT: lambda x, y: x > y,
    exp.GTE: lambda x, y: x >= y,
    exp.LT: lambda x, y: x < y,
    exp.LTE: lambda x, y: x <= y,
}


def _ordered(kind: Any, left: Test, right: Test) -> Test:
    compare = _COMPARES[kind]

    def test(row: Row, literals: Row) -> Any:
        x, y = left(row, literals), right(row, literals)
        return None if x is None or y is None else compare(x, y)

    return test


def _of_set(node: Tree, columns: Columns) -> Test:
    column, *elements = node.expressions
    value, listed = _value(column, columns), [_value(one, columns) for one in elements]
    kind = node.name.upper()

    def test(row: Row, literals: Row) -> Any:
        found = value(row, literals)
        if found is None:
            return None
        have, wanted = found, {one(row, literals) for one in listed}
        if kind == "CONTAINS_ALL":
            return wanted <= have
        return have <= wanted if kind == "CONTAINED_IN" else not have.isdisjoint(wanted)

    return test


def _both(left: Test, right: Test) -> Test:
    def test(row: Row, literals: Row) -> Any:
        x = left(row, literals)
        if x is False:
            return False
        y = right(row, literals)
        return False if y is False else None if x is None or y is None else True

    return test


def _either(left: Test, right: Test) -> Test:
    return lambda row, literals: _any(test(row, literals) for test in (left, right))


def _any(values: Iterator[Any]) -> Any:
    unknown = False
    for value in values:
        if value is True:
            return True
        unknown = unknown or value is None
    return None if unknown else False


def _negated(value: Any) -> Any:
    return None if value is None else not value
