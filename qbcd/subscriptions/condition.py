"""Conditions of subscriptions, parsed once per shape, and refused if not exact.

Two conditions that differ only in literals have one *shape*; their literals are rows of constants (Carnes & Hanson,
future work: conditions are placed into a relation).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from qbcd.subscriptions.definition import ConditionRefused

Tree = Any  # a node of sqlglot, whose types change between versions
Kind = str  # of a column: number, float, text, boolean, set, or a DuckDB type that texts are cast to
_LITERAL = re.compile(r"""("(?:[^"]|"")*")|('(?:[^']|'')*')|(?<![\w.$])(\d+(?:\.\d+)?)(?![\w.])""")
_TEXT_OR_NUMBER = re.compile(r"""('(?:[^']|'')*'|(?<![\w.$])\d+(?:\.\d+)?(?![\w.]))""")
PARAMETER = "qbcd_p"
_NAMES = [f":{PARAMETER}{place}" for place in range(64)]
_SETS = {"CONTAINS_ALL", "CONTAINS_ANY", "CONTAINED_IN"}
NUMBERS = {"number", "float"}
MOST_DIGITS = 30  # of a literal
COMMON_DIGITS = 38  # of DuckDB's longest DECIMAL
LONGEST = 20_000  # characters without literals
MOST_NODES = 1_000  # of a tree; more cost every poll, and a stack
TOO_LARGE = "the condition is too large"
DIVIDE = "divide it into several subscriptions"
BYTES = "subscriptions.equality: bytes compares them as they are delivered"
_ORDERED = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
_COMPARED = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In, *_ORDERED)
_ALLOWED = (
    *_COMPARED,
    exp.And,
    exp.Or,
    exp.Not,
    exp.Paren,
    exp.Is,
    exp.Null,
    exp.Boolean,
    exp.Column,
    exp.Identifier,
    exp.Placeholder,
    exp.Neg,
    exp.Like,
    exp.Anonymous,
)


@dataclass(frozen=True)
class Columns:
    """The captured columns of a stream.

    Attributes:
        kinds: By name, in order: ``number``, ``float``, ``text``, ``boolean``, ``set``, another DuckDB type, or empty
            for a column that conditions cannot use.
        folded: Text columns whose database has an equality of its own, such as one that ignores case.
        digits: Of numbers, the digits before and after the point.
        barred: Columns that subscriptions may not use.
    """

    kinds: Mapping[str, Kind]
    folded: frozenset[str] = frozenset()
    digits: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    barred: frozenset[str] = frozenset()

    def place(self, name: str) -> int:
        """Return the position of a column.

        Raises:
            ConditionRefused: The stream does not capture it.
        """
        for place, known in enumerate(self.kinds):
            if known == name and name not in self.barred:
                return place
        free = ", ".join(one for one in self.kinds if one not in self.barred)
        what = "may not be used in subscriptions" if name in self.barred else "is not captured"
        remedy = f"use one of: {free}" if free else "name captured columns under `subscriptions.streams`"
        raise ConditionRefused(f"column {name!r} {what}", remedy=remedy)


@dataclass(frozen=True)
class Anchor:
    """A conjunct that finds the events of a subscription by a join of equality.

    Attributes:
        column: Position of the column.
        parameters: The literals of which one must equal the column's value, or be an element of it.
        element: The column is a set: one of its elements must equal, and with `every` all literals are elements.
    """

    column: int
    parameters: tuple[int, ...]
    element: bool = False
    every: bool = False


@dataclass(frozen=True)
class Bound:
    """A conjunct that bounds a column by literals: its values, or an end of an interval.

    Attributes:
        column: Its name.
        form: ``in``, ``low`` or ``high``; of the elements of a set ``any`` or ``all``.
        parameters: The places of the literals; a negative number has a minus sign in the condition: ``-1 - place``.
    """

    column: str
    form: str
    parameters: tuple[int, ...]


@dataclass(frozen=True)
class SetTest:
    """A conjunct about the elements of a set.

    Attributes:
        column: Its name.
        function: ``CONTAINS_ALL``, ``CONTAINS_ANY`` or ``CONTAINED_IN``.
        parameters: The places of the literals.
    """

    column: str
    function: str
    parameters: tuple[int, ...]


@dataclass(frozen=True)
class Shape:
    """A condition without its literals.

    Attributes:
        text: The condition with a name for each literal, for people.
        kinds: The DuckDB type of each literal.
        anchor: The conjunct that the join uses; None if there is none.
        sql: DuckDB's SQL of the condition, given the prefix of the row's columns and of constants.
        columns: The names of its columns.
        equal: The columns that must equal a literal, with its place.
        patterns: The literals that are patterns of LIKE.
        bounds: Conjuncts that bound a text or an exact number.
        conjuncts: Their number.
        of_set: The first conjunct about a set; None without one.
    """

    text: str
    kinds: tuple[Kind, ...]
    anchor: Anchor | None
    sql: Callable[[str, str], str]
    columns: frozenset[str] = frozenset()
    equal: tuple[tuple[int, int], ...] = ()
    tree: Tree = None
    patterns: tuple[int, ...] = ()
    bounds: tuple[Bound, ...] = ()
    conjuncts: int = 0
    of_set: SetTest | None = None


def _name(place: int) -> str:
    return f":{PARAMETER}{place}"


def divided(condition: str) -> tuple[str, tuple[str, ...]]:
    """Return a condition without literals, and its literals: numbers as written, quoted texts."""
    if '"' not in condition:
        parts = _TEXT_OR_NUMBER.split(condition)
        literals = parts[1::2]
        parts[1::2] = _NAMES[: len(literals)] if len(literals) <= len(_NAMES) else map(_name, range(len(literals)))
        return "".join(parts), tuple(literals)
    literals = []

    def named(match: re.Match[str]) -> str:
        if match[1]:  # a quoted identifier
            return match[1]
        literals.append(match[0])
        return _name(len(literals) - 1)

    return _LITERAL.sub(named, condition), tuple(literals)


def shape_of(skeleton: str, columns: Columns, literals: tuple[str, ...]) -> Shape:
    """Return the shape of a condition without its literals.

    Args:
        skeleton: As :func:`divided` returns it.
        literals: Of one condition; others of the shape have literals of the same kinds.

    Raises:
        ConditionRefused: It cannot be parsed, or cannot be matched exactly.
    """
    if ";" in skeleton or "--" in skeleton or "/*" in skeleton:
        raise ConditionRefused("a condition is one expression, without comments")
    if len(skeleton) > LONGEST:
        raise ConditionRefused(f"{TOO_LARGE}: more than {LONGEST:,} characters without literals", remedy=DIVIDE)
    try:
        tree = sqlglot.parse_one(skeleton, into=exp.Condition)
        if sum(1 for _ in tree.walk()) > MOST_NODES:
            raise ConditionRefused(f"{TOO_LARGE}: more than {MOST_NODES:,} names, values and operators", remedy=DIVIDE)
        return _Reader(columns, literals).shape(tree)
    except SqlglotError as error:
        raise ConditionRefused(f"{_shown(skeleton)} is no condition: it cannot be parsed") from error
    except RecursionError as error:
        raise ConditionRefused(f"{TOO_LARGE}: its parts are nested too deeply", remedy=DIVIDE) from error


def kind_of_literal(literal: str) -> Kind:
    """Return the DuckDB type that holds a number exactly, or ``text``."""
    if literal.startswith("'"):
        return "text"
    whole, _, fraction = literal.partition(".")
    digits = len(whole) + len(fraction)
    if digits > MOST_DIGITS:
        raise ConditionRefused(f"{literal} has more than {MOST_DIGITS} digits")
    return f"DECIMAL({digits}, {len(fraction)})" if fraction or digits > 18 else "BIGINT"


class _Reader:
    """Checks a tree and finds the kinds of its literals."""

    def __init__(self, columns: Columns, literals: tuple[str, ...]) -> None:
        self._columns = columns
        self._kinds: list[Kind] = [kind_of_literal(each) for each in literals]

    def shape(self, tree: Tree) -> Shape:
        for node in tree.walk():
            self._refuse_unknown(node)
        self._refuse_parameters(tree)
        for node in tree.find_all(exp.Is):
            self._check_is(node)
        for node in tree.find_all(*_COMPARED, exp.Like):
            self._compare(node)
        for node in tree.find_all(exp.Anonymous):
            self._check_set(node)
        self._refuse_not_boolean(tree)
        types = tuple("VARCHAR" if kind == "text" else kind for kind in self._kinds)
        columns = frozenset(column.name for column in tree.find_all(exp.Column))
        anchors = [anchor for part in _conjuncts(tree) if isinstance(part, exp.EQ) and (anchor := self._anchored(part))]
        patterns = tuple(_number(bare(node.expression)) for node in tree.find_all(exp.Like))
        equal = tuple((anchor.column, anchor.parameters[0]) for anchor in anchors)
        parts = _conjuncts(tree)
        return Shape(
            _shown(tree),
            types,
            self._anchor(tree),
            partial(self._sql, tree),
            columns,
            equal,
            tree,
            patterns,
            tuple(bound for part in parts for bound in self._bounds(part)),
            len(parts),
            next((_of_set(part) for part in parts if isinstance(part, exp.Anonymous)), None),
        )

    def _refuse_unknown(self, node: Tree) -> None:
        if isinstance(node, exp.Anonymous) and node.name.upper() in _SETS:
            return
        if isinstance(node, exp.Column):
            if node.table:
                raise ConditionRefused(f"column {node.sql()} has a prefix", remedy="write the column's name alone")
            self._kind(node)
        elif not isinstance(node, _ALLOWED) or isinstance(node, exp.Anonymous):
            raise ConditionRefused(
                f"{_shown(node)} cannot be matched exactly",
                remedy="use comparisons, AND, OR, NOT, IN, BETWEEN, IS NULL, LIKE, contains_all, contains_any, "
                "contained_in",
            )

    def _refuse_parameters(self, tree: Tree) -> None:
        """Refuse parameters that are no literals of the condition."""
        names = sorted(node.name for node in tree.find_all(exp.Placeholder))
        if names != sorted(f"{PARAMETER}{i}" for i in range(len(self._kinds))):
            raise ConditionRefused("a condition has no parameters", remedy="write their values")

    def _check_is(self, node: Tree) -> None:
        column, value = bare(node.this), bare(node.expression)
        truth = isinstance(value, exp.Boolean)
        is_column = isinstance(column, exp.Column) and (not truth or self._kind(column) == "boolean")
        if not is_column or not (truth or isinstance(value, exp.Null)):
            raise ConditionRefused(
                f"{_shown(node)} cannot be matched exactly",
                remedy="IS NULL takes a column, IS TRUE and IS FALSE a boolean column",
            )

    def _kind(self, column: exp.Column) -> Kind:
        place = self._columns.place(column.name)
        kind = list(self._columns.kinds.values())[place]
        if not kind:
            raise ConditionRefused(f"the type of column {column.name!r} cannot be compared")
        return kind

    def _compare(self, node: Tree) -> None:
        if node.args.get("symmetric"):
            raise ConditionRefused(f"{_shown(node)} cannot be matched exactly", remedy="leave SYMMETRIC out")
        sides = [node.this, *node.args.get("expressions", ()), *(node.args.get(key) for key in _OPERANDS)]
        operands = [bare(side) for side in sides if side is not None]
        shown = _shown(node)
        if isinstance(node, exp.In) and not node.expressions:
            raise ConditionRefused(f"{shown} has no values", remedy="name values, or leave it out")
        kinds = {self._of_operand(operand) for operand in operands}
        if "set" in kinds:
            raise ConditionRefused(f"{shown} compares a set", remedy="use contains_all, contains_any or contained_in")
        texts = [each for each in operands if self._of_operand(each) == "text"]
        is_read = not kinds & NUMBERS and all(isinstance(each, exp.Placeholder) for each in texts)
        if len(kinds) == 2 and is_read:  # a literal is read as a date or a time
            kinds.discard("text")
        if len(kinds) > 1 and not kinds <= NUMBERS:
            raise ConditionRefused(f"{shown} compares values of different types")
        kind = "float" if "float" in kinds else kinds.pop()
        names = [each.name for operand in operands for each in operand.find_all(exp.Column)]
        self._refuse_inexact(node, kind, names)
        if kind == "number":
            self._refuse_long(operands, shown)
        for each in operands:
            if isinstance(each, exp.Placeholder) and kind not in NUMBERS:
                self._kinds[_number(each)] = kind

    def _refuse_inexact(self, node: Tree, kind: Kind, names: list[str]) -> None:
        named = repr(names[0]) if names else "literals"
        if isinstance(node, exp.Like) and not isinstance(bare(node.expression), exp.Placeholder):
            raise ConditionRefused(f"{_shown(node)} has no literal as its pattern")
        if isinstance(node, exp.Like) and kind != "text":
            raise ConditionRefused(f"LIKE needs a text, and {named} is none")
        if kind == "float" and not isinstance(node, _ORDERED):
            raise ConditionRefused(f"the equality of floats of {named} depends on the database")
        if kind == "text" and isinstance(node, _ORDERED):
            raise ConditionRefused(f"the order of texts of {named} depends on the database")
        folded = next((name for name in names if name in self._columns.folded), None)
        if kind == "text" and folded is not None:
            raise ConditionRefused(f"the equality of texts of {folded!r} depends on the database", remedy=BYTES)

    def _refuse_long(self, operands: list[Tree], shown: str) -> None:
        """Refuse numbers without a common decimal type: to compare them would fail at some rows."""
        digits = [self._columns.digits.get(each.name, (0, 0)) for each in operands if isinstance(each, exp.Column)]
        for each in operands:
            for written in each.find_all(exp.Placeholder):
                kind = self._kinds[_number(written)]
                total, scale = (18, 0) if kind == "BIGINT" else map(int, kind[8:-1].split(","))
                digits.append((total - scale, scale))
        if max(whole for whole, _ in digits) + max(scale for _, scale in digits) > COMMON_DIGITS:
            raise ConditionRefused(f"{shown} compares numbers that need more than {COMMON_DIGITS} digits")

    def _of_operand(self, operand: Tree) -> Kind:
        if isinstance(operand, exp.Placeholder):
            return "text" if self._kinds[_number(operand)] == "text" else "number"
        if isinstance(operand, exp.Column):
            return self._kind(operand)
        if isinstance(operand, exp.Neg) and isinstance(operand.this, exp.Placeholder):
            return self._of_operand(operand.this)
        if isinstance(operand, exp.Boolean):
            return "boolean"
        raise ConditionRefused(f"{_shown(operand)} cannot be compared")

    def _check_set(self, node: exp.Anonymous) -> None:
        column, *elements = node.expressions or [exp.Null()]
        if not isinstance(column, exp.Column) or self._kind(column) != "set":
            raise ConditionRefused(f"the first argument of {node.name.lower()} must be a set column")
        if not elements or not all(isinstance(each, exp.Placeholder) for each in elements):
            raise ConditionRefused(f"{node.name.lower()} needs its elements as literals")
        if column.name in self._columns.folded:
            raise ConditionRefused(f"the equality of texts of {column.name!r} depends on the database", remedy=BYTES)
        if any(self._kinds[_number(each)] != "text" for each in elements):
            raise ConditionRefused(f"elements of {column.name!r} are texts", remedy="write them in quotes")

    def _refuse_not_boolean(self, tree: Tree) -> None:
        for part in _parts(tree):
            is_boolean = isinstance(part, (*_COMPARED, exp.Like, exp.Is, exp.Boolean, exp.Anonymous))
            if not is_boolean and not (isinstance(part, exp.Column) and self._kind(part) == "boolean"):
                raise ConditionRefused(f"{_shown(part)} is neither true nor false")

    def _anchor(self, tree: Tree) -> Anchor | None:
        anchors = [anchor for part in _conjuncts(tree) if (anchor := self._anchored(part)) is not None]
        return min(anchors, key=lambda anchor: (anchor.element, len(anchor.parameters)), default=None)

    def _anchored(self, part: Tree) -> Anchor | None:
        if isinstance(part, exp.EQ):
            sides = (bare(part.this), bare(part.expression))
            for column, value in (sides, sides[::-1]):
                if isinstance(column, exp.Column) and isinstance(value, exp.Placeholder):
                    return Anchor(self._columns.place(column.name), (_number(value),))
        if isinstance(part, exp.In) and isinstance(part.this, exp.Column):
            values = [bare(each) for each in part.expressions]
            kinds = {self._kinds[_number(each)] for each in values if isinstance(each, exp.Placeholder)}
            if len(kinds) == 1 and all(isinstance(each, exp.Placeholder) for each in values):
                return Anchor(self._columns.place(part.this.name), tuple(map(_number, values)))
        if isinstance(part, exp.Anonymous) and part.name.upper() != "CONTAINED_IN":
            column, *elements = part.expressions
            every = part.name.upper() == "CONTAINS_ALL"
            return Anchor(self._columns.place(column.name), tuple(map(_number, elements)), element=True, every=every)
        return None

    def _bounds(self, part: Tree) -> list[Bound]:
        """Return what a conjunct says about the values of one column; empty if nothing is known."""
        part = bare(part)
        if isinstance(part, exp.Anonymous):
            form = {"CONTAINS_ANY": "any", "CONTAINS_ALL": "all"}.get(part.name.upper())
            found_set = _of_set(part)
            return [Bound(found_set.column, form, found_set.parameters)] if form else []
        column, values, forms = bare(part.this) if part.this is not None else None, [], ["in"]
        if isinstance(part, exp.Between):
            values, forms = [part.args["low"], part.args["high"]], ["low", "high"]
        elif isinstance(part, exp.In):
            values, forms = [list(part.expressions)], ["in"]
        elif type(part) in _BOUNDS:
            column, value, forms = bare(part.this), bare(part.expression), [_BOUNDS[type(part)]]
            if not isinstance(column, exp.Column):
                column, value, forms = value, column, [_TURNED[forms[0]]]
            values = [value]
        if not isinstance(column, exp.Column) or self._kind(column) not in ("text", "number"):
            return []
        wanted = "text" if self._kind(column) == "text" else "number"
        found = []
        for form, value in zip(forms, values, strict=False):
            places = [self._place(each, wanted) for each in (value if isinstance(value, list) else [value])]
            known = tuple(place for place in places if place is not None)
            if known and len(known) == len(places):
                found.append(Bound(column.name, form, known))
        return found

    def _place(self, value: Tree, kind: Kind) -> int | None:
        """Return the place of a literal of a kind, as in `Bound.parameters`; None for anything else."""
        value = bare(value)
        negative = isinstance(value, exp.Neg)
        if negative:
            value = bare(value.this)
        if not isinstance(value, exp.Placeholder):
            return None
        place = _number(value)
        if (self._kinds[place] == "text") != (kind == "text"):
            return None
        return -1 - place if negative else place

    def _sql(self, tree: Tree, row: str, constants: str) -> str:
        def spelled(node: Tree) -> Tree:
            if isinstance(node, exp.Placeholder):
                return exp.column(f"p{_number(node)}", table=constants)
            if isinstance(node, exp.Column):
                return exp.column(f"v{self._columns.place(node.name)}", table=row)
            return node

        # first the functions, since `transform` does not visit what it has replaced
        return str(tree.copy().transform(_functions).transform(spelled).sql("duckdb"))


def _of_set(part: Tree) -> SetTest:
    column, *elements = part.expressions
    return SetTest(column.name, part.name.upper(), tuple(map(_number, elements)))


_OPERANDS = ("expression", "low", "high")
_BOUNDS = {exp.EQ: "in", exp.GT: "low", exp.GTE: "low", exp.LT: "high", exp.LTE: "high"}
_TURNED = {"in": "in", "low": "high", "high": "low"}


def _shown(tree: Tree | str) -> str:
    """Return a condition or a part of it for people, with question marks for its literals."""
    text = tree if isinstance(tree, str) else str(tree.sql())
    return re.sub(rf":{PARAMETER}\d+", "?", text)


def _functions(node: Tree) -> Tree:
    """Spell set functions and the escape of LIKE for DuckDB, whose LIKE has none by default."""
    if isinstance(node, exp.Like):
        return exp.Escape(this=node, expression=exp.Literal.string("\\"))
    if not isinstance(node, exp.Anonymous):
        return node
    column, *elements = node.expressions
    listed = exp.Array(expressions=elements)
    if node.name.upper() == "CONTAINS_ANY":
        return exp.Anonymous(this="LIST_HAS_ANY", expressions=[column, listed])
    pair = [column, listed] if node.name.upper() == "CONTAINS_ALL" else [listed, column]
    return exp.Anonymous(this="LIST_HAS_ALL", expressions=pair)


def bare(node: Tree) -> Tree:
    """Return a node without its brackets."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _number(node: Tree) -> int:
    return int(node.name.removeprefix(PARAMETER))


def _conjuncts(tree: Tree) -> list[Tree]:
    tree = bare(tree)
    if isinstance(tree, exp.And):
        return [*_conjuncts(tree.this), *_conjuncts(tree.expression)]
    return [tree]


def _parts(tree: Tree) -> list[Tree]:
    """Return the operands of AND, OR and NOT."""
    tree = bare(tree)
    if isinstance(tree, (exp.And, exp.Or)):
        return [*_parts(tree.this), *_parts(tree.expression)]
    if isinstance(tree, exp.Not):
        return _parts(tree.this)
    return [tree]
