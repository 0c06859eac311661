"""What of a query keeps its changes from being told from those of its base tables, by name.

What is not refused here is followed by `qbcd.queries.relaxed`: more may be recomputed than changed, never less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from qbcd.queries.prepared import Tree, conjuncts, expressions, nested, relations, selects

_BOUNDS = ("limit", "offset", "fetch")
_CLAUSES = ("qualify", "connect", "laterals", "match", "sample", "windows", "pivots")
_GROUPINGS = ("grouping_sets", "cube", "rollup", "totals")
_KINDS = ("", "INNER", "CROSS", "OUTER")


def refusals(tree: exp.Query, plain: Callable[[str], bool] = lambda name: False) -> list[str]:
    """Reasons, each to go after "the query"; none where its changes can be followed.

    Args:
        tree: As :func:`~qbcd.queries.prepared.prepare_query` gives it.
        plain: Whether a function that is no standard one gives one value for a row: no aggregate, no set.
    """
    found: dict[str, None] = {}
    for select in tree.find_all(exp.Select):
        found.update(dict.fromkeys(_of_select(select)))
    for query in tree.find_all(exp.SetOperation):
        if any(query.args.get(part) for part in _BOUNDS):
            found["keeps some rows only (LIMIT)"] = None
    for call in tree.find_all(exp.Func):
        if isinstance(call, exp.Anonymous) and not plain(str(call.this)):
            found[f"calls {call.this}, of which is not known that it gives one value for a row"] = None
    if tree.find(exp.Window) is not None:
        found["has window functions, whose values hang on other rows"] = None
    return list(found)


def _of_select(select: exp.Select) -> Iterator[str]:
    if any(select.args.get(part) for part in _BOUNDS):
        yield "keeps some rows only (LIMIT)"
    for part in _CLAUSES:
        if select.args.get(part):
            yield f"has a clause that is not followed ({part.upper()})"
    if isinstance(select.args.get("distinct"), exp.Distinct) and select.args["distinct"].args.get("on") is not None:
        yield "keeps one row of several (DISTINCT ON)"
    group = select.args.get("group")
    if group is not None and any(group.args.get(part) for part in _GROUPINGS):
        yield "groups in several ways at once (GROUPING SETS, CUBE, ROLLUP)"
    yield from _of_relations(select)
    yield from _of_subqueries(select)
    sets = (exp.UDTF, exp.Explode, exp.GenerateSeries, exp.Inline, exp.GenerateDateArray)
    if any(isinstance(n, sets) for part in expressions(select) for n in _flat(part)):
        yield "has a function that gives several rows"


def _of_relations(select: exp.Select) -> Iterator[str]:
    for item in relations(select):
        if item.args.get("joins") or (isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table)):
            yield "has joins in brackets"
        elif isinstance(item, exp.Subquery) and isinstance(item.this, exp.Query):
            continue
        elif not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier):
            yield "reads from something that is no table (a function, VALUES or LATERAL)"
        elif item.args.get("sample") or item.args.get("pivots"):
            yield "reads a sample of a table"
    plain_comma = False
    for join in select.args.get("joins") or ():
        kind, side, method = join.kind.upper(), join.side.upper(), join.method.upper()
        if kind not in _KINDS or method or join.args.get("using") or side not in ("", "LEFT", "RIGHT", "FULL"):
            yield f"has a join that is not followed ({' '.join(filter(None, (method, side, kind)))} JOIN)"
        if side and any(any(nested(c)) for c in conjuncts(join.args.get("on"))):
            yield "has a subquery in the condition of an outer join"
        if side in ("RIGHT", "FULL") and plain_comma:
            yield f"mixes a comma in FROM with a {side} JOIN"
        plain_comma |= not side and not kind and join.args.get("on") is None


def _of_subqueries(select: exp.Select) -> Iterator[str]:
    mine = {item.alias_or_name for item in relations(select)}
    for part in expressions(select):
        for query in nested(part):
            if isinstance(part, exp.Group):
                yield "groups by a subquery"
            inner = {table.alias_or_name for table in query.find_all(exp.Table, exp.Subquery)}
            outer = [column for column in query.find_all(exp.Column) if column.table not in inner]
            if not outer and not isinstance(query.parent, exp.In):
                yield "has a subquery that is about no row of the rest, so that a change there may touch every row"
            for column in outer:
                above = column.find_ancestor(exp.AggFunc)
                if column.table in mine and above is not None and _within(above, query):
                    yield "aggregates rows of the outer query in a subquery"


def _within(node: Tree, query: exp.Query) -> bool:
    at = node
    while at is not None and at is not query:
        at = at.parent
    return at is query


def _flat(part: Tree) -> Iterator[Tree]:
    """Nodes of an expression that are in none of its subqueries."""
    yield from part.walk(prune=lambda n: isinstance(n, exp.Query))


def without_key(tree: exp.Query, positions: list[int], known: list[bool], names: list[str]) -> Iterator[str]:
    """Why the key's columns cannot be told from rows of the base tables, where they cannot."""
    for position in positions:
        if not known[position]:
            yield f"computes its key column {names[position]} from more than one row"
    if not positions and not all(is_total(select) for select in selects(tree)):
        yield "has no key"


def is_total(select: exp.Select) -> bool:
    """Whether a SELECT gives one row whatever stands in its tables: aggregates without GROUP BY."""
    if select.args.get("group") is not None:
        return False
    having = select.args.get("having")
    parts = [*select.expressions, *([having] if having is not None else [])]
    return any(isinstance(node, exp.AggFunc) for part in parts for node in _flat(part))
