"""Facts about the rows of a relation, and about expressions, that need no database."""

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
        origin: The base table's column with its values, None if it is computed.
        nullable: False only if it is proven that it is never NULL.
    """

    name: str
    origin: Column | None = None
    nullable: bool = True


@dataclass(frozen=True)
class Relation:
    """Facts about the rows of a table, a subquery or the whole query.

    Attributes:
        columns: The columns in order; None if they are unknown.
        keys: Proven keys, the best first; NULL counts as a value.
        likely: Keys unless a function of the select list returns several rows for one, which its name does not show.
        one_row: There is at most one row.
    """

    columns: tuple[OutputColumn, ...] | None
    keys: Keys = ()
    likely: Keys = ()
    one_row: bool = False

    def column(self, name: str) -> OutputColumn | None:
        """Return the column called `name`, or None."""
        return next((c for c in self.columns or () if c.name == name), None)


UNKNOWN = Relation(None)


def renamed(relation: Relation, alias: exp.TableAlias | None, dialect: str) -> Relation:
    """Return the relation with the column names of an alias, which may rename only the first."""
    if alias is None or not alias.columns:
        return relation
    given = [c.this if isinstance(c, exp.Column) else c for c in alias.columns]
    before = names_of(relation.columns or ())
    if len(given) > len(before) or not all(isinstance(c, exp.Identifier) for c in given):
        return UNKNOWN
    after = (*(folded(c, dialect) for c in given), *before[len(given) :])
    if len(set(before)) < len(before) or len(set(after)) < len(after):  # a name in a key would be ambiguous
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
    """Return True if `=` of two columns is both columns' own equality: same type and collation."""
    a, b = one.origin if one is not None else None, other.origin if other is not None else None
    return a is not None and b is not None and (a.base_type, a.collation) == (b.base_type, b.collation)


def first_with(name: str, joined: Sequence[Relation]) -> int:
    """Return the index of the first joined relation with a column `name`; -1 if unknown.

    USING means this one. After RIGHT and FULL JOIN it may be another, but these prove nothing next to other joins.
    """
    at = next((n for n, one in enumerate(joined) if one.columns is None or one.column(name)), -1)
    return at if at >= 0 and joined[at].columns is not None else -1


def has_own_equality(column: OutputColumn, constant: exp.Literal) -> bool:
    """Return True if a comparison of a column with a constant uses the column's own equality."""
    numeric = column.origin is not None and column.origin.travel.kind in NUMBERS
    return column.origin is not None and (constant.is_string or numeric)


def conjuncts(node: Any) -> Iterator[Any]:
    """Yield the parts of a condition that must all be true."""
    if node is None:
        return
    if isinstance(node, (exp.And, exp.Paren)):
        for part in (node.this, node.args.get("expression")):
            yield from conjuncts(part)
    else:
        yield node


def aggregates(tree: exp.Select, kinds: tuple[type[Any], ...]) -> Iterator[bool]:
    """Yield True for each aggregate of `kinds` in select list and HAVING, not in subqueries."""
    having = tree.args.get("having")
    for part in (*tree.expressions, *([having] if having is not None else [])):
        for node in part.walk(prune=lambda n: isinstance(n, (exp.Query, exp.Window))):
            if isinstance(node, kinds):
                yield True


def has_sets(group: exp.Group) -> bool:
    """Return True if rows are grouped in several ways, or by expressions not in the text."""
    return group.find(*_SETS) is not None or any(group.args.get(part) for part in ("all", "totals"))


def names_of(columns: Sequence[OutputColumn]) -> tuple[str, ...]:
    """Return the names of columns."""
    return tuple(c.name for c in columns)


def plain(identifier: exp.Identifier) -> str:
    """Return a name in the form in which names of common table expressions are compared."""
    return str(identifier.this) if identifier.quoted else str(identifier.this).lower()


def same(one: Any, other: Any, dialect: str) -> bool:
    """Return True if two expressions are equal, or the same column with or without its table."""
    if isinstance(one, exp.Column) and isinstance(other, exp.Column):
        alike = folded(one.this, dialect) == folded(other.this, dialect)
        return alike and (not one.table or not other.table or one.table.lower() == other.table.lower())
    return bool(one == other)


# Aggregates of every database; a user's own function cannot have their names.
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
# Functions that return one value per row on every database.
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
    """Return True if a function of the select list may return several rows for one."""
    for item in tree.expressions:
        for node in item.walk(prune=lambda n: isinstance(n, exp.Query)):
            if isinstance(node, (exp.Func, exp.UDTF)) and not isinstance(node, _ONE_VALUE):
                return True
    return False
