"""A query prepared for analysis: names resolved, views and common table expressions inlined.

Every relation gets an alias that is unique in the whole query, so that the alias alone identifies a column's relation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from qbcd.queries.name_conflicts import shadowed, whole_row, wrongly_merged
from qbcd.queries.nested_joins import derive_others, open_first
from qbcd.queries.renaming import Renaming
from qbcd.queries.syntax_tree import Columns, Name, NotIncremental, Tree, conjuncts, nested, selects, set_operations
from qbcd.queries.tables import base_tables

MENTIONS = 200  # most tables in one query after views are inlined
_MENTION = ("this", "db", "catalog", "alias", "joins")  # allowed parts of a mention of a view


@dataclass(frozen=True)
class Prepared:
    """A query prepared for analysis.

    Attributes:
        tree: Fully qualified, without common table expressions, views or ORDER BY.
        bases: The base table of every mention, by its alias.
    """

    tree: exp.Query
    bases: Mapping[str, Name]

    def tables(self) -> list[Name]:
        """Return the base tables, each once, in the order of their first mention."""
        return list(dict.fromkeys(self.bases.values()))

    def used(self) -> dict[Name, list[str]]:
        """Return the columns of each base table that the query uses, in the order of their use."""
        found: dict[Name, dict[str, None]] = {table: {} for table in self.tables()}
        for column in self.tree.find_all(exp.Column, bfs=False):
            if column.table in self.bases:
                found[self.bases[column.table]][column.name] = None
        return {table: list(names) for table, names in found.items()}


def prepare_query(
    tree: exp.Query, dialect: str, columns: Columns, views: Mapping[Name, exp.Query] | None = None
) -> Prepared:
    """Return the query prepared for analysis.

    Args:
        tree: The parsed query; it is not changed.
        dialect: sqlglot's name of its dialect.
        columns: Columns of every base table and every view.
        views: The definitions of the views.

    Raises:
        NotIncremental: Its names cannot be resolved, or it has a form that qbcd cannot follow.
    """
    made = _with_schemas(tree.copy(), dialect, [*columns, *(views or {})])
    for _ in range(32):
        if not _inline_views(made, dialect, columns, views or {}):
            break
        _check_size(made)
    else:
        raise NotIncremental("reads views that are nested too deeply")
    _name_columns(made, dialect, columns)
    open_first(made)
    _open_exists(made)
    _refuse(wrongly_merged(made, dialect, columns))
    made = _qualified(made, dialect, columns)
    _refuse(whole_row(made))
    made.set("order", None)
    _inline_ctes(made, {})
    left = next((t for t in made.find_all(exp.Table) if isinstance(t.this, exp.Identifier) and not t.db), None)
    _refuse(f"spells {left.name} differently than its WITH does" if left is not None else "")
    bases: dict[str, Name] = {}
    renaming = Renaming(bases)
    renaming.query(made, {})
    derive_others(made, renaming.count)
    _move_subqueries(made)
    _prune(made)
    return Prepared(made, bases)


# -- names -------------------------------------------------------------------------------------------------------------
def _with_schemas(tree: exp.Query, dialect: str, known: Sequence[Name]) -> exp.Query:
    for base, node in base_tables(tree, dialect):
        if not base.schema:
            schemas = [schema for schema, name in known if name == base.name]
            if len(schemas) != 1:
                raise NotIncremental(f"names table {base.name} without its schema")
            node.set("db", exp.to_identifier(schemas[0], quoted=True))
    return tree


def _inline_views(tree: exp.Query, dialect: str, columns: Columns, views: Mapping[Name, exp.Query]) -> bool:
    """Replace views by their definitions, one level deep; return True if there were any."""
    found = False
    for base, node in base_tables(tree, dialect):
        name = (base.schema, base.name)
        if name not in views:
            continue
        body = _with_schemas(views[name].copy(), dialect, [*columns, *views])
        if any(value for part, value in node.args.items() if part not in _MENTION):
            raise NotIncremental(f"reads view {base.schema}.{base.name} in a way that qbcd cannot follow")
        given = node.args["alias"].columns if node.args.get("alias") is not None else []
        named = [*given, *(exp.to_identifier(c, quoted=True) for c in columns[name][len(given) :])]
        alias = exp.TableAlias(this=exp.to_identifier(base.alias, quoted=True), columns=named)
        node.replace(exp.Subquery(this=body, alias=alias, joins=node.args.get("joins")))
        found = True
    return found


def _name_columns(tree: exp.Query, dialect: str, columns: Columns) -> None:
    """Replace a table whose alias renames columns by a derived table."""
    mentions = {node: base for base, node in base_tables(tree, dialect)}
    for node in list(tree.find_all(exp.Table)):
        alias, base = node.args.get("alias"), mentions.get(node)
        if alias is None or not alias.columns or not isinstance(node.this, exp.Identifier):
            continue
        if any(value for part, value in node.args.items() if part not in _MENTION):
            raise NotIncremental(f"reads {node.name} in a way that qbcd cannot follow")
        bare = exp.Table(this=node.this, db=node.args.get("db"), catalog=node.args.get("catalog"))
        listed: list[Tree] = [exp.Star()]
        if base is not None:
            listed = [exp.column(name, quoted=True) for name in columns[base.schema, base.name]]
        inner = exp.select(*listed).from_(bare)
        node.replace(exp.Subquery(this=inner, alias=alias, joins=node.args.get("joins")))


def _check_size(tree: exp.Query) -> None:
    mentions = sum(1 for _ in tree.find_all(exp.Table))
    if mentions > MENTIONS:
        raise NotIncremental(f"mentions tables more than {MENTIONS} times, including those of its views")


def _open_exists(tree: exp.Query) -> None:
    """Remove the LIMIT of an EXISTS, which needs only one row anyway."""
    for test in tree.find_all(exp.Exists):
        if isinstance(test.this, exp.Select) and not test.this.args.get("distinct"):
            test.this.set("expressions", [exp.Literal.number(1) if e.is_star else e for e in test.this.expressions])
        limit = test.this.args.get("limit") if isinstance(test.this, exp.Select) else None
        number = limit.expression if isinstance(limit, exp.Limit) else None
        whole = isinstance(number, exp.Literal) and number.is_int and int(number.this) > 0
        if whole and not test.this.args.get("offset"):
            test.this.set("limit", None)


def _qualified(tree: exp.Query, dialect: str, columns: Columns) -> exp.Query:
    schema: dict[str, Any] = {}
    for (place, name), names in columns.items():
        schema.setdefault(place, {})[name] = dict.fromkeys(names, "unknown")
    known = MappingSchema(schema, dialect=Dialect.get_or_raise(dialect), normalize=False)
    try:
        made: Any = qualify(tree.copy(), dialect=dialect, schema=known)
        plain: Any = qualify(
            tree, dialect=dialect, schema=known, expand_alias_refs=False, validate_qualify_columns=False
        )
    except (SqlglotError, RecursionError) as error:
        raise NotIncremental(f"has names that cannot be resolved ({str(error).splitlines()[0]})") from None
    _refuse(shadowed(made, plain))
    found: exp.Query = made
    return found


def _refuse(reason: str) -> None:
    if reason:
        raise NotIncremental(reason)


def _inline_ctes(node: Tree, scope: Mapping[str, Tree]) -> None:
    given = node.args.get("with_") if isinstance(node, exp.Query) else None
    if given is not None:
        if given.args.get("recursive"):
            raise NotIncremental("is recursive")
        scope = dict(scope)
        for cte in given.expressions:
            _inline_ctes(cte.this, scope)
            scope[cte.alias] = cte.this
        node.set("with_", None)
    for child in list(node.iter_expressions()):
        if isinstance(child, exp.Table) and not child.db and child.name in scope:
            if any(value for part, value in child.args.items() if part not in ("this", "alias", "joins")):
                raise NotIncremental(f"reads {child.name} in a way that qbcd cannot follow")
            alias = exp.TableAlias(this=exp.to_identifier(child.alias or child.name, quoted=True))
            joins = child.args.get("joins")
            for join in joins or ():
                _inline_ctes(join, scope)
            child.replace(exp.Subquery(this=scope[child.name].copy(), alias=alias, joins=joins))
        else:
            _inline_ctes(child, scope)


def _move_subqueries(tree: exp.Query) -> None:
    """Move conditions of inner joins with a subquery into WHERE, which is equivalent."""
    for select in list(tree.find_all(exp.Select)):
        sides = [join.side for join in select.args.get("joins") or ()]
        for number, join in enumerate(select.args.get("joins") or ()):
            on = conjuncts(join.args.get("on"))
            moved = [c for c in on if any(nested(c))]
            if not moved or sides[number] or {"RIGHT", "FULL"} & set(sides[number:]):
                continue
            left = [c for c in on if c not in moved]
            join.set("on", exp.and_(*left, copy=False) if left else None)
            select.where(*moved, copy=False)


def _prune(tree: exp.Query) -> None:
    """Remove unused columns of derived tables, above all those of a star, and their ORDER BY.

    Columns remain if they identify rows (DISTINCT and set operations except UNION ALL), and if they are aggregates,
    since these may make the SELECT one row. The order of rows has no effect.
    """
    for item in [node for node in tree.find_all(exp.Subquery, bfs=True) if node.alias]:  # outer queries come first
        used = {column.name for column in tree.find_all(exp.Column) if column.table == item.alias}
        arms = selects(item)
        names = [one.alias_or_name for one in arms[0].expressions]
        united = set_operations(item)
        if any(map(_needs_all, arms)) or not all(map(_keeps_all, united)):
            continue
        kept = [n for n, name in enumerate(names) if name in used or any(_matters(arm, n) for arm in arms)] or [0]
        for arm in arms:
            arm.set("expressions", [arm.expressions[n] for n in kept])
        for node in (*arms, *united):
            node.set("order", None)


def _needs_all(select: exp.Select) -> bool:
    order, group = select.args.get("order"), select.args.get("group")
    if group is not None and any(isinstance(by, exp.Literal) for by in group.expressions):
        return True  # the constant is a position in the select list
    return bool(select.args.get("distinct")) or (order is not None and order.find(exp.AggFunc) is not None)


def _keeps_all(united: exp.SetOperation) -> bool:
    return isinstance(united, exp.Union) and united.args.get("distinct") is False


def _matters(select: exp.Select, position: int) -> bool:
    # an aggregate makes one row of all, a function may make several rows of one, a subquery reads further tables
    return not isinstance(select.expressions[position].unalias(), (exp.Column, exp.Literal))
