"""Facts about the rows of a relation, and about expressions, as far as they need no database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from qbcd.model import Column, Table
from qbcd.queries.tables import folded

Keys = tuple[tuple[str, ...], ...]
NUMBERS = frozenset({"int16", "int32", "int64", "uint64", "decimal"})


@dataclass(frozen=True)
class OutputColumn:
    """A column of a relation.

    Attributes:
        origin: The column of a base table whose values it has, None where it is computed.
        nullable: Nothing proves that it is never NULL.
    """

    name: str
    origin: Column | None = None
    nullable: bool = True


@dataclass(frozen=True)
class Relation:
    """Facts about the rows of a table, a subquery or the whole query.

    Attributes:
        columns: In order; None where they are not known.
        keys: Each tells rows apart, the best first, NULL being a value like others.
        likely: Keys too, unless a function of the select list gives several rows for one, which its name does not tell.
        one_row: There is one row at most.
    """

    columns: tuple[OutputColumn, ...] | None
    keys: Keys = ()
    likely: Keys = ()
    one_row: bool = False

    def column(self, name: str) -> OutputColumn | None:
        """The column called `name`, or None."""
        return next((c for c in self.columns or () if c.name == name), None)


UNKNOWN = Relation(None)


def renamed(relation: Relation, alias: exp.TableAlias | None, dialect: str) -> Relation:
    """The relation with the names that an alias gives its columns, the first of them where it gives fewer."""
    if alias is None or not alias.columns:
        return relation
    given = [c.this if isinstance(c, exp.Column) else c for c in alias.columns]
    before = names_of(relation.columns or ())
    if len(given) > len(before) or not all(isinstance(c, exp.Identifier) for c in given):
        return UNKNOWN
    after = (*(folded(c, dialect) for c in given), *before[len(given) :])
    if len(set(before)) < len(before) or len(set(after)) < len(after):  # which of two a key names would not be known
        return UNKNOWN
    new = dict(zip(before, after, strict=True))
    keys, likely = (
        tuple(tuple(map(new.__getitem__, key)) for key in some) for some in (relation.keys, relation.likely)
    )
    columns = tuple(replace(c, name=new[c.name]) for c in relation.columns or ())
    return replace(relation, columns=columns, keys=keys, likely=likely)


def of_table(table: Table) -> Relation:
    """Return the facts that the catalog has about a table."""
    columns = tuple(OutputColumn(c.name, c, c.nullable) for c in table.columns)
    return Relation(columns, tuple(k for k in (table.primary_key, *table.unique_keys) if k))


def comparable(one: OutputColumn | None, other: OutputColumn | None) -> bool:
    """Return True if `=` between two columns is the equality of either: same type and collation, no cast."""
    a, b = one.origin if one is not None else None, other.origin if other is not None else None
    return a is not None and b is not None and (a.base_type, a.collation) == (b.base_type, b.collation)


def first_with(name: str, joined: Sequence[Relation]) -> int:
    """Return the index of the joined relation that USING means, the first with a column `name`; -1 if unknown.

    (Of RIGHT and FULL JOIN, after which it may be another, nothing is proven beside other joins.)
    """
    at = next((n for n, one in enumerate(joined) if one.columns is None or one.column(name)), -1)
    return at if at >= 0 and joined[at].columns is not None else -1


def takes(column: OutputColumn, constant: exp.Literal) -> bool:
    """Return True if a column is compared with a constant by its own equality."""
    numeric = column.origin is not None and column.origin.travel.kind in NUMBERS
    return column.origin is not None and (constant.is_string or numeric)


def conjuncts(node: Any) -> Iterator[Any]:
    """The parts of a condition all of which must hold."""
    if node is None:
        return
    if isinstance(node, (exp.And, exp.Paren)):
        for part in (node.this, node.args.get("expression")):
            yield from conjuncts(part)
    else:
        yield node


def aggregates(tree: exp.Select, kinds: tuple[type[Any], ...]) -> Iterator[bool]:
    """True for each aggregate, of `kinds`, of the select list and of HAVING, not of subqueries or windows."""
    having = tree.args.get("having")
    for part in (*tree.expressions, *([having] if having is not None else [])):
        for node in part.walk(prune=lambda n: isinstance(n, (exp.Query, exp.Window))):
            if isinstance(node, kinds):
                yield True


def has_sets(group: exp.Group) -> bool:
    """Return True if rows are grouped in several ways at once, or by something that the text does not name."""
    return group.find(*_SETS) is not None or any(group.args.get(part) for part in ("all", "totals"))


def names_of(columns: Sequence[OutputColumn]) -> tuple[str, ...]:
    """The names of columns."""
    return tuple(c.name for c in columns)


def plain(identifier: exp.Identifier) -> str:
    """A name as names of common table expressions are compared."""
    return str(identifier.this) if identifier.quoted else str(identifier.this).lower()


def same(one: Any, other: Any, dialect: str) -> bool:
    """Return True if two expressions are equal, or name one column, with its table or without."""
    if isinstance(one, exp.Column) and isinstance(other, exp.Column):
        alike = folded(one.this, dialect) == folded(other.this, dialect)
        return alike and (not one.table or not other.table or one.table.lower() == other.table.lower())
    return bool(one == other)


# Aggregates on every database, whose names no function of the user's own can take.
EVERYWHERE: tuple[type[Any], ...] = (
    exp.Count,
    exp.Sum,
    exp.Avg,
    exp.Min,
    exp.Max,
    exp.Stddev,
    exp.StddevPop,
    exp.StddevSamp,
    exp.Variance,
    exp.VariancePop,
    exp.BitwiseAndAgg,
    exp.BitwiseOrAgg,
    exp.BitwiseXorAgg,
    exp.GroupConcat,
)
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
# Functions of one value for one row, whatever the database.
_ONE_VALUE = (
    exp.AggFunc,
    exp.Cast,
    exp.TryCast,
    exp.Coalesce,
    exp.Case,
    exp.If,
    exp.Nullif,
    exp.Lower,
    exp.Upper,
    exp.Round,
    exp.Abs,
    exp.Ceil,
    exp.Floor,
    exp.Extract,
    exp.Concat,
    exp.ConcatWs,
    exp.Substring,
    exp.Trim,
    exp.Length,
    exp.Greatest,
    exp.Least,
    exp.TimestampTrunc,
    exp.DateTrunc,
    exp.Date,
    exp.Year,
    exp.Month,
    exp.Day,
    exp.And,
    exp.Or,
    exp.Xor,
    exp.RowNumber,
    exp.Rank,
    exp.DenseRank,
    exp.Exists,
    exp.Mod,
    exp.Sign,
    exp.Sqrt,
    exp.Pow,
    exp.Replace,
    exp.Left,
    exp.Right,
    exp.Quarter,
    exp.DateAdd,
    exp.DateSub,
    exp.DateDiff,
    exp.Collate,
)


def multiplies(tree: exp.Select) -> bool:
    """Return True if a function of the select list may give several rows for one."""
    for item in tree.expressions:
        for node in item.walk(prune=lambda n: isinstance(n, exp.Query)):
            if isinstance(node, (exp.Func, exp.UDTF)) and not isinstance(node, _ONE_VALUE):
                return True
    return False
