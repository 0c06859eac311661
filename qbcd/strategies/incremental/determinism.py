"""Values of a query that single rows of its relations decide.

Equality forms groups, and equal values need not be identical: a group shows one of several texts that differ in case,
or of numbers written differently (1.0, 1.00). Such a column is *loose*: it is decided up to equality. It may be used
unchanged, and compared. Every other expression over it depends on the value that the group happens to show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from qbcd.connectors.facts import Alike
from qbcd.queries.syntax_tree import Tree, selects, set_operations
from qbcd.queries.unsupported import is_total


@dataclass(frozen=True)
class Trait:
    """Properties of a column.

    Attributes:
        known: Single rows decide the column.
        loose: They decide it only up to equality.
        alike: Properties that equal values share.
    """

    known: bool = True
    loose: bool = False
    alike: Alike = Alike.SAME


@dataclass(frozen=True)
class Unknown:
    """Properties of the columns of a query's relations.

    Attributes:
        derived: Traits of columns, by alias of a derived table and name.
        base: Returns the properties that equal values of a base table's column share, by alias and name.
        texts: Properties that equal texts share if the query itself computes them.
    """

    derived: Mapping[str, Mapping[str, Trait]] = field(default_factory=dict)
    base: Callable[[str, str], Alike] = lambda alias, name: Alike.SAME
    texts: Alike = Alike.SAME

    def trait(self, alias: str, name: str) -> Trait:
        """Return the properties of a column."""
        if alias in self.derived:
            return self.derived[alias].get(name, Trait(known=False))
        return Trait(alike=self.base(alias, name))


BY_OTHERS = (Alike.OWN, Alike.VARIED)  # a comparison may distinguish equal values
_COMPARING = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is)
_OPERANDS = (exp.Column, exp.Literal, exp.Null, exp.Boolean)
_SAME = frozenset(
    exp.DataType.Type[name]
    for name in (
        "TEXT",
        "VARCHAR",
        "SMALLINT",
        "INT",
        "BIGINT",
        "DATE",
        "DATETIME",
        "TIMESTAMP",
        "TIMESTAMPTZ",
        "TIME",
        "BOOLEAN",
        "UUID",
    )
)
_NO_TEXTS = (
    exp.And,
    exp.Or,
    exp.Coalesce,
    exp.Case,
    exp.If,
    exp.Nullif,
    exp.Greatest,
    exp.Least,
    exp.Abs,
    exp.Mod,
    exp.Extract,
    exp.Year,
    exp.Month,
    exp.Day,
    exp.Date,
)
_TEXTS = (exp.Lower, exp.Upper, exp.JSONExtractScalar, exp.TimeToStr)  # always texts


def decided(node: Tree, unknown: Unknown) -> bool:
    """Return True if one row of each relation decides the value of `node`."""
    if node.find(exp.Query, exp.AggFunc, exp.Window) is not None:
        return False
    for column in node.find_all(exp.Column):
        trait = unknown.trait(column.table, column.name)
        if not trait.known or (trait.loose and not _taken_as_it_is(column, node, trait)):
            return False
    return True


def known_columns(query: Tree, unknown: Unknown) -> list[bool]:
    """Return by position True if single rows decide the column of `query` in all its arms."""
    return [trait.known for trait in _traits(query, unknown)]


def unknown_columns(tree: Tree, base: Callable[[str, str], Alike] | None = None, texts: Alike = Alike.SAME) -> Unknown:
    """Return the properties of the columns of a query's relations."""
    found: dict[str, Mapping[str, Trait]] = {}
    unknown = Unknown(found, base, texts) if base is not None else Unknown(found, texts=texts)
    derived = [node for node in tree.find_all(exp.Subquery, bfs=True) if node.alias]
    for node in reversed(derived):  # inner tables first
        names = [item.alias_or_name for item in selects(node)[0].expressions]
        found[node.alias] = dict(zip(names, _traits(node, unknown), strict=True))
    return unknown


def trait_of(select: exp.Select, position: int, unknown: Unknown) -> Trait:
    """Return the properties of a column of one SELECT."""
    item = select.expressions[position].unalias().unnest()
    known, alike = not is_total(select) and decided(item, unknown), _alike(item, unknown)
    loose = isinstance(item, exp.Column) and unknown.trait(item.table, item.name).loose
    group = select.args.get("group")
    rough = [by.unnest() for by in group.expressions if _alike(by, unknown)] if group is not None else []
    if item in rough or (select.args.get("distinct") and alike):
        loose = True
    elif any(part in rough for part in item.walk()):
        known = False
    return Trait(known, loose, alike)


def _traits(query: Tree, unknown: Unknown) -> list[Trait]:
    """Return by position the properties of a column over all arms."""
    arms, found = selects(query), []
    united_as_set = any(made.args.get("distinct") is not False for made in set_operations(query))
    for n in range(len(arms[0].expressions)):
        traits = [trait_of(arm, n, unknown) for arm in arms]
        alike = max(trait.alike for trait in traits)
        loose = any(trait.loose for trait in traits) or (united_as_set and alike > Alike.SAME)
        found.append(Trait(all(trait.known for trait in traits), loose, alike))
    return found


def _alike(node: Tree, unknown: Unknown) -> Alike:
    """Return the known properties that equal values of an expression share."""
    node = node.unnest()
    found = [unknown.trait(column.table, column.name).alike for column in node.find_all(exp.Column)]
    alike = max(found, default=Alike.SAME)
    if unknown.texts > Alike.SAME and _may_be_text(node):
        return max(alike, unknown.texts)
    if isinstance(node, _TEXTS) or (isinstance(node, exp.Cast) and _is_plain(node.to)):
        return alike if alike >= Alike.COLLATED else Alike.SAME
    if isinstance(node, exp.Cast):
        return max(alike, Alike.OWN if node.to.this == exp.DataType.Type.USERDEFINED else Alike.EQUAL)
    if isinstance(node, exp.Collate):
        return Alike.COLLATED
    if isinstance(node, exp.Literal) and not node.is_string and not node.is_int:
        return Alike.EQUAL
    return max(
        [alike, *(_alike(part, unknown) for part in node.iter_expressions() if not isinstance(part, exp.Column))]
    )


def _may_be_text(node: Tree) -> bool:
    """Return True if an expression itself, not a part of it, may compute a new text."""
    if isinstance(node, exp.Literal):
        return bool(node.is_string)
    if isinstance(node, (exp.National, exp.Introducer)):
        return True
    if isinstance(node, exp.Cast):
        return not (_is_plain(node.to) and node.to.this not in exp.DataType.TEXT_TYPES)
    return isinstance(node, (exp.Func, exp.DPipe)) and not isinstance(node, _NO_TEXTS)


def _is_plain(to: exp.DataType) -> bool:
    """Return True if equal values of a type are identical."""
    return to.this in _SAME or (to.this == exp.DataType.Type.DECIMAL and bool(to.expressions))


def _taken_as_it_is(column: exp.Column, node: Tree, trait: Trait) -> bool:
    """Return True if an expression is the column itself, or compares it with plain values."""
    at: Tree = column
    while at is not node and isinstance(at.parent, (exp.Paren, exp.Alias)):
        at = at.parent
    if at is node:
        return True
    operands = [part.unnest() for part in at.parent.iter_expressions()]
    plain = isinstance(at.parent, _COMPARING) and all(isinstance(part, _OPERANDS) for part in operands)
    return plain and trait.alike not in BY_OTHERS


def holds(node: Tree, alias: str) -> bool:
    """Return True if a mention of a base table is within `node`."""
    return any(table.alias_or_name == alias for table in node.find_all(exp.Table))


def united(arms: Sequence[exp.Select]) -> exp.Query:
    """Return the rows of all `arms`."""
    made: Tree = arms[0]
    for arm in arms[1:]:
        made = exp.union(made, arm, distinct=False, copy=False)
    found: exp.Query = made
    return found
