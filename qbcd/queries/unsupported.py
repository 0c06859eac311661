"""Constructs of a query whose changes cannot be computed from those of its base tables.

All other constructs are supported by `qbcd.strategies.incremental.delta_query`, which may recompute more rows than
changed, but never fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from qbcd.queries.syntax_tree import Tree, conjuncts, expressions, nested, relations, selects

_BOUNDS = ("limit", "offset", "fetch")
# The supported parts of each kind of node. All other parts are refused, also those that this version does not know.
_FOLLOWED: dict[type[exp.Expression], tuple[str, ...]] = {
    exp.Select: ("expressions", "from_", "joins", "where", "group", "having", "distinct", "order"),
    exp.SetOperation: ("this", "expression", "distinct", "order"),
    exp.Subquery: ("this", "alias"),
    exp.Join: ("this", "on", "side", "kind"),
}
_GROUPINGS = (exp.GroupingSets, exp.Rollup, exp.Cube, exp.Tuple)
_PLAIN_TABLE = ("this", "db", "catalog", "alias")
_KINDS = ("", "INNER", "CROSS", "OUTER")


def refusals(tree: exp.Query, plain: Callable[[str], bool] = lambda name: False) -> list[str]:
    """Return the reasons why a query's changes cannot be followed.

    Each follows the words "the query".

    Args:
        tree: The result of :func:`~qbcd.queries.qualify.prepare_query`.
        plain: Returns True if a function that is not standard returns exactly one value per row: it is no aggregate and
            returns no set.
    """
    found: dict[str, None] = {}
    for node in tree.find_all(*_FOLLOWED):
        found.update(dict.fromkeys(_beyond(node)))
    for select in tree.find_all(exp.Select):
        found.update(dict.fromkeys(_of_select(select)))
    for call in tree.find_all(exp.Func):
        own = isinstance(call.parent, exp.Dot)  # with a schema it may be a user's function of any kind
        if own or (isinstance(call, exp.Anonymous) and not plain(str(call.this))):
            found[f"calls {call.name or call.key}, which may not return exactly one value per row"] = None
    if tree.find(exp.Window) is not None:
        found["has window functions, whose values depend on other rows"] = None
    return list(found)


def _beyond(node: Tree) -> Iterator[str]:
    followed = next(parts for kind, parts in _FOLLOWED.items() if isinstance(node, kind))
    for part in (name for name, value in node.args.items() if value and name not in followed):
        clause = part.strip("_").upper()
        yield "keeps some rows only (LIMIT)" if part in _BOUNDS else f"has a clause that qbcd cannot follow ({clause})"


def _of_select(select: exp.Select) -> Iterator[str]:
    group = select.args.get("group")
    if group is not None and (
        any(value for name, value in group.args.items() if name != "expressions")
        or any(isinstance(by, _GROUPINGS) for by in group.expressions)
    ):
        yield "groups in several ways at once (GROUPING SETS, CUBE, ROLLUP)"
    yield from _of_relations(select)
    yield from _of_subqueries(select)
    sets = (exp.UDTF, exp.Explode, exp.GenerateSeries, exp.Inline, exp.GenerateDateArray)
    if any(isinstance(n, sets) for part in expressions(select) for n in _flat(part)):
        yield "has a function that returns several rows"


def _of_relations(select: exp.Select) -> Iterator[str]:
    for item in relations(select):
        if isinstance(item, exp.Subquery):
            continue
        elif not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier):
            yield "reads from something other than a table (a function, VALUES or LATERAL)"
        elif any(value for name, value in item.args.items() if name not in _PLAIN_TABLE):
            yield "reads a part of a table (ONLY, TABLESAMPLE)"
    plain_comma = False
    for join in select.args.get("joins") or ():
        kind, side = join.kind.upper(), join.side.upper()
        if kind not in _KINDS or side not in ("", "LEFT", "RIGHT", "FULL"):
            yield f"has a join that qbcd cannot follow ({' '.join(filter(None, (side, kind)))} JOIN)"
        if any(any(nested(c)) for c in conjuncts(join.args.get("on"))):
            yield "has a subquery in the condition of an outer join, or below one"
        if side in ("RIGHT", "FULL") and plain_comma:
            yield f"mixes a comma in FROM with a {side} JOIN"
        plain_comma |= not side and not kind and join.args.get("on") is None


def _of_subqueries(select: exp.Select) -> Iterator[str]:
    mine, shown = {item.alias_or_name for item in relations(select)}, [*select.expressions, select.args.get("having")]
    if is_total(select) and any(any(nested(part)) for part in shown if part is not None):
        yield "has a subquery next to aggregates without GROUP BY"
    for part in expressions(select):
        for query in nested(part):
            if isinstance(part, exp.Group):
                yield "groups by a subquery"
            if _is_wider(query):
                yield "compares a row with a subquery in another way than (a, b) IN (SELECT c, d ..)"
            inner = {table.alias_or_name for table in query.find_all(exp.Table, exp.Subquery)}
            outer = [column for column in query.find_all(exp.Column) if column.table not in inner]
            if not outer and not isinstance(query.parent, exp.In):
                yield "has a subquery that does not depend on the outer row, so that one change may affect every row"
            for column in outer:
                above = column.find_ancestor(exp.AggFunc)
                if column.table in mine and above is not None and _within(above, query):
                    yield "aggregates rows of the outer query in a subquery"


def _is_wider(query: exp.Query) -> bool:
    """Return True if a subquery of IN has another number of columns than the left side."""
    test = query.parent
    if not isinstance(test, exp.In):
        return False
    compared = len(test.this.expressions) if isinstance(test.this, exp.Tuple) else 1
    return compared != len(selects(query)[0].expressions)


def _within(node: Tree, query: exp.Query) -> bool:
    at = node
    while at is not None and at is not query:
        at = at.parent
    return at is query


def _flat(part: Tree) -> Iterator[Tree]:
    """Yield the nodes of an expression outside of its subqueries."""
    yield from part.walk(prune=lambda n: isinstance(n, exp.Query))


def without_key(positions: list[int], known: list[bool], names: list[str]) -> Iterator[str]:
    """Yield the reasons why key columns cannot be computed from rows of the base tables."""
    for position in positions:
        if not known[position]:
            yield (
                f"computes its key column {names[position]} from more than one row, or not only from its GROUP BY "
                "columns"
            )


def is_total(select: exp.Select) -> bool:
    """Return True if a SELECT has one group of all rows: always one row, or none by HAVING."""
    if select.args.get("group") is not None:
        return False
    having, order = select.args.get("having"), select.args.get("order")
    if having is not None:
        return True
    parts = [*select.expressions, *([order] if order is not None else [])]
    return any(isinstance(node, exp.AggFunc) for part in parts for node in _flat(part))
