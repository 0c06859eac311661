"""A query in the form that its analysis needs: names resolved, views and common table expressions in their places.

Every relation gets an alias of its own in the whole query, so that a column tells by its alias alone whose it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from qbcd.queries.names import shadowed, whole_row, wrongly_merged
from qbcd.queries.tables import base_tables, folded

Tree = Any  # of sqlglot, whose own types change from one version to the next
Name = tuple[str, str]  # schema and name of a table
Columns = Mapping[Name, Sequence[str]]
MENTIONS = 200  # of tables in one query, once views are in their places
_MENTION = ("this", "db", "catalog", "alias", "joins")  # what a mention of a view may have


class NotIncremental(Exception):
    """Why a query's changes cannot be told from those of its base tables; goes after "the query"."""


@dataclass(frozen=True)
class Prepared:
    """A query made ready for analysis.

    Attributes:
        tree: Fully qualified, without common table expressions, views or ORDER BY.
        bases: The table of every mention, by its alias.
    """

    tree: exp.Query
    bases: Mapping[str, Name]

    def tables(self) -> list[Name]:
        """The base tables, each once, in the order of their first mention."""
        return list(dict.fromkeys(self.bases.values()))

    def used(self) -> dict[Name, list[str]]:
        """Columns of each base table that the query speaks of, in its order."""
        found: dict[Name, dict[str, None]] = {table: {} for table in self.tables()}
        for column in self.tree.find_all(exp.Column, bfs=False):
            if column.table in self.bases:
                found[self.bases[column.table]][column.name] = None
        return {table: list(names) for table, names in found.items()}


def prepare_query(
    tree: exp.Query, dialect: str, columns: Columns, views: Mapping[Name, exp.Query] | None = None
) -> Prepared:
    """The query ready for analysis.

    Args:
        tree: As parsed; left as it is.
        dialect: sqlglot's name of its dialect.
        columns: Of every base table, and of every view.
        views: What defines those of them that are views.

    Raises:
        NotIncremental: Its names cannot be resolved.
    """
    made = _with_schemas(tree.copy(), dialect, [*columns, *(views or {})])
    for _ in range(32):
        if not _inline_views(made, dialect, columns, views or {}):
            break
        _check_size(made)
    else:
        raise NotIncremental("goes through views that go too deep")
    _name_columns(made, dialect, columns)
    _refuse(wrongly_merged(made, dialect, columns))
    made = _qualified(made, dialect, columns)
    _refuse(whole_row(made))
    made.set("order", None)
    _inline_ctes(made, {})
    left = next((t for t in made.find_all(exp.Table) if isinstance(t.this, exp.Identifier) and not t.db), None)
    _refuse(f"names {left.name} otherwise than its WITH does" if left is not None else "")
    bases: dict[str, Name] = {}
    _Renaming(bases).query(made, {})
    _move_subqueries(made)
    return Prepared(made, bases)


def selects(query: Tree) -> list[exp.Select]:
    """The SELECTs whose rows are those of `query`: itself, or the arms of its set operations."""
    if isinstance(query, exp.Subquery):
        return selects(query.this)
    if isinstance(query, exp.SetOperation):
        return [*selects(query.this), *selects(query.expression)]
    return [query]


def relations(select: exp.Select) -> list[Tree]:
    """Tables and derived tables that a SELECT joins, in order."""
    source = select.args.get("from_")
    return [source.this, *(join.this for join in select.args.get("joins") or ())] if source is not None else []


def conjuncts(condition: Tree | None) -> list[Tree]:
    """The parts of a condition that must all hold."""
    if condition is None:
        return []
    bare = condition.unnest()
    return [*conjuncts(bare.left), *conjuncts(bare.right)] if isinstance(bare, exp.And) else [bare]


def operand(node: Tree) -> Tree:
    """A copy of an expression that an operator can take, whatever it is made of."""
    return node.copy() if isinstance(node, (exp.Column, exp.Paren)) else exp.paren(node.copy())


def nested(node: Tree) -> Iterator[exp.Query]:
    """The outermost queries within an expression."""
    for found in node.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(found, exp.Query):
            yield found


def expressions(select: exp.Select) -> Iterator[Tree]:
    """Everything that a SELECT says besides the relations it joins."""
    yield from select.expressions
    for part in ("where", "group", "having", "qualify", "distinct"):
        if isinstance(select.args.get(part), exp.Expression):
            yield select.args[part]
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None:
            yield join.args["on"]


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
    """Puts definitions in the place of views, one level deep; whether there were any."""
    found = False
    for base, node in base_tables(tree, dialect):
        name = (base.schema, base.name)
        if name not in views:
            continue
        body = _with_schemas(views[name].copy(), dialect, [*columns, *views])
        if any(value for part, value in node.args.items() if part not in _MENTION):
            raise NotIncremental(f"reads view {base.schema}.{base.name} in a way that is not followed")
        given = node.args["alias"].columns if node.args.get("alias") is not None else []
        named = [*given, *(exp.to_identifier(c, quoted=True) for c in columns[name][len(given) :])]
        alias = exp.TableAlias(this=exp.to_identifier(base.alias, quoted=True), columns=named)
        node.replace(exp.Subquery(this=body, alias=alias, joins=node.args.get("joins")))
        found = True
    return found


def _name_columns(tree: exp.Query, dialect: str, columns: Columns) -> None:
    """Puts a derived table in the place of a table that is joined under other names for its columns.

    All columns that such a list counts off are named, so that one cannot go without being missed.
    """
    mentions = {node: base for base, node in base_tables(tree, dialect)}
    said = {folded(name, dialect) for name in tree.find_all(exp.Identifier)}
    every = any(select.is_star for select in tree.find_all(exp.Select))
    for node in list(tree.find_all(exp.Table)):
        alias, base = node.args.get("alias"), mentions.get(node)
        if alias is None or not alias.columns or not isinstance(node.this, exp.Identifier):
            continue
        if any(value for part, value in node.args.items() if part not in _MENTION):
            raise NotIncremental(f"reads {node.name} in a way that is not followed")
        bare = exp.Table(this=node.this, db=node.args.get("db"), catalog=node.args.get("catalog"))
        listed: list[Tree] = [exp.Star()]
        if base is not None:
            names = columns[base.schema, base.name]
            counted = len(alias.columns)
            kept = [n for number, n in enumerate(names) if every or number < counted or n in said]
            listed = [exp.column(name, quoted=True) for name in kept]
        inner = exp.select(*listed).from_(bare)
        node.replace(exp.Subquery(this=inner, alias=alias, joins=node.args.get("joins")))


def _check_size(tree: exp.Query) -> None:
    mentions = sum(1 for _ in tree.find_all(exp.Table))
    if mentions > MENTIONS:
        raise NotIncremental(f"mentions tables more than {MENTIONS} times, with what its views stand for")


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
            if any(value for part, value in child.args.items() if part not in ("this", "alias")):
                raise NotIncremental("has joins in brackets")
            alias = exp.TableAlias(this=exp.to_identifier(child.alias or child.name, quoted=True))
            child.replace(exp.Subquery(this=scope[child.name].copy(), alias=alias))
        else:
            _inline_ctes(child, scope)


class _Renaming:
    """Gives every relation an alias of its own, and its columns with it."""

    def __init__(self, bases: dict[str, Name]) -> None:
        self._bases = bases
        self._count = 0

    def query(self, query: Tree, scope: Mapping[str, str]) -> None:
        """Renames within a query; `scope` has the new names of what stands around it."""
        for select in selects(query):
            self._select(select, scope)

    def _select(self, select: exp.Select, scope: Mapping[str, str]) -> None:
        distinct = select.args.get("distinct")
        if isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None:
            raise NotIncremental("keeps one row of several (DISTINCT ON)")
        mine: dict[str, str] = {}
        for item in relations(select):
            new = f"q{self._count}"
            self._count += 1
            if isinstance(item, exp.Table):
                self._bases[new] = (item.db, item.name)
            elif isinstance(item, exp.Subquery):
                if not isinstance(item.this, exp.Query) or item.args.get("joins"):
                    raise NotIncremental("has joins in brackets")
                self.query(item, scope)
            mine[item.alias_or_name] = new
            item.set("alias", exp.TableAlias(this=exp.to_identifier(new, quoted=True)))
        scope = {**scope, **mine}
        order = select.args.get("order")
        for column in order.find_all(exp.Column) if order is not None else ():
            if column.table in scope:  # else it is one of the select list
                column.set("table", exp.to_identifier(scope[column.table], quoted=True))
        for part in expressions(select):
            for node in list(part.walk(prune=lambda n: isinstance(n, exp.Query))):
                if isinstance(node, exp.Query):
                    self.query(node, scope)
                elif isinstance(node, exp.Column):
                    if node.table not in scope:
                        raise NotIncremental(f"speaks of {node.sql()} in a way that is not followed")
                    node.set("table", exp.to_identifier(scope[node.table], quoted=True))


def _move_subqueries(tree: exp.Query) -> None:
    """Conditions of inner joins that hold a subquery become conditions of the whole, which is the same."""
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
