"""Names of a query that sqlglot would resolve to another column; such a query is refused."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from qbcd.queries.nested_joins import inner_joins
from qbcd.queries.tables import folded

Tree = Any
Columns = Mapping[tuple[str, str], Sequence[str]]


# -- JOIN .. USING -----------------------------------------------------------------------------------------------------
def wrongly_merged(tree: Tree, dialect: str, columns: Columns) -> str:
    """Return the reason why sqlglot would change the meaning of a USING, or an empty string.

    sqlglot uses the column of the first relation that has it. This is right, with two exceptions. The relation is
    before a comma, which joins later than JOIN. Or an earlier RIGHT or FULL JOIN used the same name, so that the column
    is that of the other side, or of either side; in a RIGHT JOIN itself, it is that of the other side.

    Args:
        tree: The query, not resolved yet.
        dialect: sqlglot's name of its dialect.
        columns: Columns of every table that it reads.
    """
    for join in tree.find_all(exp.Join):
        if not isinstance(join.parent, exp.Select) and (join.method or join.args.get("using")):
            return "joins by USING or NATURAL within brackets: write ON"
    return next(filter(None, (_merged(select, dialect, columns) for select in tree.find_all(exp.Select))), "")


def _merged(select: exp.Select, dialect: str, columns: Columns) -> str:
    source = select.args.get("from_")
    before, here, sided = list[Tree](), [source.this] if source is not None else [], set[str]()
    bracketed = False
    for join in select.args.get("joins") or ():
        if join.method:
            return f"has a {join.method} JOIN, which does not name its columns: write ON"
        bracketed |= any(inner_joins(join.this))
        if bracketed and join.args.get("using"):
            return "has JOIN .. USING next to joins in brackets: write ON"
        if is_comma(join):
            before, here, sided = [*before, *here], [], set()
        for name in using(join, dialect):
            if name in sided or join.side == "RIGHT" or any(_may_have(one, name, dialect, columns) for one in before):
                return f"has JOIN .. USING ({name}), but {name} may be a column of several tables: write ON"
            if join.side == "FULL":
                sided.add(name)
        here.append(join.this)
    return ""


def is_comma(join: exp.Join) -> bool:
    """Return True if a join is a comma in FROM."""
    return not any(join.args.get(part) for part in ("side", "kind", "method", "on", "using"))


def using(join: exp.Join, dialect: str) -> list[str]:
    """Return the column names in the USING of a join."""
    named = (name.this if isinstance(name, exp.Column) else name for name in join.args.get("using") or ())
    return [folded(name, dialect) for name in named]


def _may_have(item: Tree, name: str, dialect: str, columns: Columns) -> bool:
    """Return True if a relation has, or may have, a column called `name`."""
    alias = item.args.get("alias")
    if not isinstance(item, exp.Table) or not item.db or (alias is not None and alias.columns):
        return True
    known = columns.get((folded(item.args["db"], dialect), folded(item.this, dialect)))
    return known is None or name in known


# -- whole rows --------------------------------------------------------------------------------------------------------
def whole_row(tree: Tree) -> str:
    """Describe a use of a whole row as a value, which hides its columns; empty if there is none."""
    row = tree.find(exp.TableColumn)
    if row is None:
        row = next((column for column in tree.find_all(exp.Column) if column.is_star), None)
    return f"uses a whole row as one value ({row.sql()}): name its columns" if row is not None else ""


# -- names of the select list ------------------------------------------------------------------------------------------
def shadowed(expanded: Tree, plain: Tree) -> str:
    """Describe a name that sqlglot resolved to the select list, not to an outer query's column.

    Empty if there is none. The supported databases know names of the select list only in GROUP BY and ORDER BY, and in
    HAVING if no relation has such a column.

    Args:
        expanded: The resolved query, with names of the select list replaced by their expressions.
        plain: The resolved query without that replacement.
    """
    pairs = list(zip(expanded.find_all(exp.Select), plain.find_all(exp.Select), strict=False))
    for one, other in pairs:
        name = next(_shadowed(one, other), None)
        if name is not None:
            return (
                f"uses {name}, but a column of the select list has that name too: write its table before it, or repeat "
                "the expression"
            )
    return ""


def _shadowed(one: exp.Select, other: exp.Select) -> Iterator[str]:
    joins = list(zip(one.args.get("joins") or (), other.args.get("joins") or (), strict=True))
    parts = [
        *zip(one.expressions, other.expressions, strict=True),
        *((a.args.get("on"), b.args.get("on")) for a, b in joins),
        (one.args.get("where"), other.args.get("where")),
    ]
    groups = [select.args["group"].expressions if select.args.get("group") else [] for select in (one, other)]
    parts += [(a, b) for a, b in zip(*groups, strict=False) if not isinstance(b, exp.Column)]
    for mine, theirs in parts:
        yield from _differing(_columns(mine), _columns(theirs), ())
    source = one.args.get("from_")
    local = [item.alias_or_name for item in ([source.this] if source is not None else [])]
    local += [join.this.alias_or_name for join in one.args.get("joins") or ()]
    yield from _differing(_columns(one.args.get("having")), _columns(_in_full(other)), local)


def _in_full(select: Tree) -> Tree:
    """Return the HAVING of a SELECT, with select list names replaced by their expressions.

    Only names that are not columns of its relations are replaced. HAVING may contain such a name on MariaDB (PostgreSQL
    refuses the query), if the SELECT is not inside an expression of another query.
    """
    having = select.args.get("having")
    listed = {item.alias: item.unalias() for item in select.expressions if isinstance(item, exp.Alias)}
    if _is_in_expression(select):
        return having

    def full(node: Tree) -> Tree:
        named = isinstance(node, exp.Column) and not node.table and node.name in listed
        return exp.paren(listed[node.name].copy()) if named else node

    return having.transform(full) if having is not None else None


def _is_in_expression(select: exp.Select) -> bool:
    """Return True if a SELECT may use names of an outer query, since it is not a relation."""
    above: Tree = select.parent
    while isinstance(above, (exp.SetOperation, exp.Subquery, exp.Paren)):
        above = above.parent
    return not (above is None or isinstance(above, (exp.From, exp.Join, exp.CTE)))


def _differing(mine: Sequence[Tree], theirs: Sequence[Tree], local: Collection[str]) -> Iterator[str]:
    """Yield names that are not the same column on both sides.

    If only `mine` has resolved a column, it counts as the same if its table is one of `local`.
    """
    for number, column in enumerate(theirs):
        at = mine[number] if number < len(mine) else exp.Column()
        table = column.table or (at.table if at.table in local else "")
        if (at.name, at.table) != (column.name, table):
            yield str(column.name)


def _columns(part: Tree) -> list[Tree]:
    """Return the columns of an expression outside of its subqueries, in order."""
    if part is None:
        return []
    return [node for node in part.walk(bfs=False, prune=lambda n: isinstance(n, exp.Query)) if _is_column(node)]


def _is_column(node: Tree) -> bool:
    return isinstance(node, exp.Column)
