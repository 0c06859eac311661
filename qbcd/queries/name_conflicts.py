"""Names of a query that would be taken for other ones once sqlglot has resolved them; each is a reason to refuse it."""

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
    """Why a join by equal names would be written as another one, or an empty string.

    sqlglot takes the column of the first relation that has it. That is the one that is meant, unless it stands before
    a comma, which joins later than JOIN does, or has met a RIGHT or FULL JOIN by the same name, by which the column is
    the other side's, or of either. Of a RIGHT JOIN itself the column that the query speaks of is the other side's.

    Args:
        tree: The query, not resolved yet.
        dialect: sqlglot's name of its dialect.
        columns: Of every table that it reads.
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
            return f"has a {join.method} JOIN, which does not say by which columns: write ON"
        bracketed |= any(inner_joins(join.this))
        if bracketed and join.args.get("using"):
            return "has JOIN .. USING beside joins in brackets: write ON"
        if is_comma(join):
            before, here, sided = [*before, *here], [], set()
        for name in using(join, dialect):
            if name in sided or join.side == "RIGHT" or any(_may_have(one, name, dialect, columns) for one in before):
                return f"has JOIN .. USING ({name}) where {name} may be the column of several tables: write ON"
            if join.side == "FULL":
                sided.add(name)
        here.append(join.this)
    return ""


def is_comma(join: exp.Join) -> bool:
    """Return True if a join is a comma in FROM."""
    return not any(join.args.get(part) for part in ("side", "kind", "method", "on", "using"))


def using(join: exp.Join, dialect: str) -> list[str]:
    """The names by which a join has USING."""
    named = (name.this if isinstance(name, exp.Column) else name for name in join.args.get("using") or ())
    return [folded(name, dialect) for name in named]


def _may_have(item: Tree, name: str, dialect: str, columns: Columns) -> bool:
    """Return True if a relation has a column called `name`, or may have one."""
    alias = item.args.get("alias")
    if not isinstance(item, exp.Table) or not item.db or (alias is not None and alias.columns):
        return True
    known = columns.get((folded(item.args["db"], dialect), folded(item.this, dialect)))
    return known is None or name in known


# -- whole rows --------------------------------------------------------------------------------------------------------
def whole_row(tree: Tree) -> str:
    """Describe where a resolved query uses a row as a value, which hides its columns; empty if nowhere."""
    taken = tree.find(exp.TableColumn)
    if taken is None:
        taken = next((column for column in tree.find_all(exp.Column) if column.is_star), None)
    return f"takes a whole row for one value ({taken.sql()}): name its columns" if taken is not None else ""


# -- names of the select list ------------------------------------------------------------------------------------------
def shadowed(expanded: Tree, plain: Tree) -> str:
    """Describe where sqlglot took an outer query's column for one of the select list; empty if nowhere.

    Outside GROUP BY and ORDER BY, and HAVING where no relation has such a column, no database that is followed knows
    the names of the select list.

    Args:
        expanded: The query resolved, with the select list's names in their places.
        plain: The same without.
    """
    pairs = list(zip(expanded.find_all(exp.Select), plain.find_all(exp.Select), strict=False))
    for one, other in pairs:
        name = next(_shadowed(one, other), None)
        if name is not None:
            told = "where a column of the select list beside it has that name"
            return f"speaks of {name} {told}: write whose it is, or what it stands for"
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
    """The HAVING of a SELECT, with what stands for names of its list that are no columns of its relations.

    Such a name is one of the list where the database takes any there (MariaDB does, PostgreSQL refuses the query), and
    no query stands around it.
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
    """Return True if a SELECT may use names of the query around it: it is no relation, nor an arm of one."""
    above: Tree = select.parent
    while isinstance(above, (exp.SetOperation, exp.Subquery, exp.Paren)):
        above = above.parent
    return not (above is None or isinstance(above, (exp.From, exp.Join, exp.CTE)))


def _differing(mine: Sequence[Tree], theirs: Sequence[Tree], local: Collection[str]) -> Iterator[str]:
    """Names that are not the same column; what only one side has resolved is where it is one of `local`."""
    for number, column in enumerate(theirs):
        at = mine[number] if number < len(mine) else exp.Column()
        taken = column.table or (at.table if at.table in local else "")
        if (at.name, at.table) != (column.name, taken):
            yield str(column.name)


def _columns(part: Tree) -> list[Tree]:
    """Columns of an expression that are in none of its subqueries, in order."""
    if part is None:
        return []
    return [node for node in part.walk(bfs=False, prune=lambda n: isinstance(n, exp.Query)) if _is_column(node)]


def _is_column(node: Tree) -> bool:
    return isinstance(node, exp.Column)
