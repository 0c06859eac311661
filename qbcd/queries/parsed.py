"""The text of a `query:` as a frozen value: tree, base tables and properties.

The text runs as the user wrote it, in brackets, without comments and without an ORDER BY that has no effect. So it is
first tokenized by the source's rules, like a restriction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from qbcd.errors import ConfigError
from qbcd.queries.tables import BaseTable, base_tables, folded
from qbcd.queries.text import Unfit, tokens, without_comments, without_order

_WRITING = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock)
_BOUND = (exp.Placeholder, exp.Parameter, exp.SessionParameter)
_REMEDY = "write one SELECT that only reads, every column with a name of its own, tables with their schema"
# Aggregates whose result depends on the order of rows.
_ORDERED = (exp.ArrayAgg, exp.GroupConcat, exp.JSONArrayAgg, exp.JSONObjectAgg, exp.JSONBObjectAgg)


@dataclass(frozen=True)
class CapturedQuery:
    """A SELECT that can be captured.

    Attributes:
        text: The text as it runs: the user's own, without comments and without an ORDER BY that has no effect.
        dialect: sqlglot's name of its dialect.
        tree: The tree of `text`; it must not be changed.
        bases: Every mention of a table or view, also in subqueries and common table expressions.
        outputs: Names of the result's columns, folded; None if a ``*`` leaves them to the catalog.
        order_dropped: There was an ORDER BY without LIMIT.
        order: Folded names of the result's columns that order a LIMIT.
        limit: LIMIT, OFFSET or FETCH limits the result itself.
        inner_limit: One of them limits a subquery, or DISTINCT ON keeps one row of several.
        windows: There are window functions.
        distinct: The result itself is DISTINCT.
        groups: The result itself is grouped or aggregated.
        set_operation: The result itself is a UNION, INTERSECT or EXCEPT.
        unordered: SQL of aggregates that depend on the order of rows and have no ORDER BY.
    """

    text: str
    dialect: str
    tree: exp.Query = field(compare=False, repr=False)
    bases: tuple[BaseTable, ...]
    outputs: tuple[str, ...] | None
    order_dropped: bool = False
    order: tuple[str, ...] = ()
    limit: bool = False
    inner_limit: bool = False
    windows: bool = False
    distinct: bool = False
    groups: bool = False
    set_operation: bool = False
    unordered: tuple[str, ...] = ()


def parse_query(text: str, dialect: str, *, stream: str = "", place: str = "") -> CapturedQuery:
    """Parse the query in `text`.

    Args:
        text: The text as the user wrote it.
        dialect: sqlglot's name of the source's dialect.
        stream: Name of the stream, for the error.
        place: ``file:line: key path``, for the error.

    Raises:
        ConfigError: It is not one SELECT that only reads, has placeholders, or has columns without a unique name.
    """
    try:
        return parsed(text, dialect)
    except Unfit as error:
        raise ConfigError(f"the query {error}", remedy=_REMEDY, stream=stream, where=place) from None


def parsed(text: str, dialect: str) -> CapturedQuery:
    """Parse the query in `text`, as :func:`parse_query`.

    Raises:
        Unfit: It cannot be captured.
    """
    bare = without_comments(text, dialect)
    tree = _tree(bare, dialect)
    limit = any(tree.args.get(part) for part in ("limit", "offset", "fetch"))
    dropped = tree.args.get("order") is not None and not limit and not _takes_first_rows(tree)
    if _is_one_row_by_its_order(tree):
        raise Unfit("has one row only because of an aggregate in its ORDER BY: move the aggregate into the select list")
    if dropped:
        bare = without_order(bare, dialect)
        tree = _tree(bare, dialect)
    _check_reads(tree)
    bases = tuple(base for base, _ in base_tables(tree, dialect))
    if not bases:
        raise Unfit("reads no table")
    outputs = _outputs(tree, dialect)
    select = tree if isinstance(tree, exp.Select) else None
    aggregates = select is not None and any(_own(select, exp.AggFunc))
    return CapturedQuery(
        text=bare,
        dialect=dialect,
        tree=tree,
        bases=bases,
        outputs=outputs,
        order_dropped=dropped,
        order=_order(tree, dialect) if limit else (),
        limit=limit,
        inner_limit=any(_inner_limits(tree)),
        windows=tree.find(exp.Window) is not None,
        distinct=select is not None and select.args.get("distinct") is not None,
        groups=select is not None and (select.args.get("group") is not None or aggregates),
        set_operation=isinstance(tree, exp.SetOperation),
        unordered=tuple(dict.fromkeys(_unordered(tree, dialect))),
    )


# -- the tree -------------------------------------------------------------------------------------------------------
def _tree(text: str, dialect: str) -> exp.Query:
    first = next(iter(tokens(text, dialect)), None)
    if first is not None and first.token_type == TokenType.L_PAREN:
        raise Unfit("begins with a bracket")
    if first is None or first.token_type not in (TokenType.SELECT, TokenType.WITH):
        raise Unfit("is not a SELECT")
    try:
        found: list[Any] = [tree for tree in sqlglot.parse(text, read=dialect) if tree is not None]
    except (SqlglotError, RecursionError) as error:
        raise Unfit(f"is not one SELECT that qbcd can read{_where(error)}") from None
    if len(found) != 1:
        raise Unfit("is not one statement")
    tree = found[0]
    if not isinstance(tree, (exp.Select, exp.SetOperation)):
        raise Unfit("is not a SELECT")
    return tree


def _where(error: Exception) -> str:
    """Return the word at which the parser stopped, as the end of a message; empty if unknown."""
    [first, *_] = getattr(error, "errors", None) or [{}]
    if not first.get("highlight"):
        return ""
    return f": reading stops at {first['highlight']!r} in line {first['line']} of it"


def _check_reads(tree: exp.Query) -> None:
    written = next(
        (node for node in tree.walk() if isinstance(node, _WRITING) and not isinstance(node, exp.Query)), None
    )
    if written is not None or any(query.args.get("into") for query in tree.find_all(exp.Select)):
        raise Unfit("does more than read")
    if tree.find(exp.TableSample) is not None:
        raise Unfit("takes a sample, which is different in each poll")
    bound = tree.find(*_BOUND)
    if bound is not None:
        raise Unfit("holds a placeholder or a variable, which has no value here")


# -- what it is made of ----------------------------------------------------------------------------------------------
def _outputs(tree: exp.Query, dialect: str) -> tuple[str, ...] | None:
    """Return the names of the columns, by the first arm of a set operation; None with a star."""
    arm: Any = tree
    while isinstance(arm, (exp.SetOperation, exp.Subquery)):
        arm = arm.this
    found, star = [], False
    for number, item in enumerate(arm.expressions, start=1):
        if item.is_star:
            star = True
            continue
        named = item.args.get("alias") if isinstance(item, exp.Alias) else item.this
        if not isinstance(item, (exp.Alias, exp.Column)) or not isinstance(named, exp.Identifier):
            raise Unfit(f"gives its column {number} no name ({_short(item, dialect)}): write .. AS name")
        found.append(folded(named, dialect))
    if not found and not star:
        raise Unfit("has no columns")
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise Unfit(f'has two columns called "{twice}"')
    return None if star else tuple(found)


def _order(tree: exp.Query, dialect: str) -> tuple[str, ...]:
    """Return the result's columns in its ORDER BY; other expressions there are ignored."""
    order, found = tree.args.get("order"), list[str]()
    arm: Any = tree if isinstance(tree, exp.Select) else None
    items = arm.expressions if arm is not None else []
    names = _outputs(tree, dialect) or ()
    by_source = {(item.this if isinstance(item, exp.Alias) else item).sql(): item for item in items if not item.is_star}
    for ordered in order.expressions if order is not None else ():
        by = ordered.this
        if isinstance(by, exp.Column) and not by.table and folded(by.this, dialect) in names:
            found.append(folded(by.this, dialect))  # a name of the result has precedence over a table's column
            continue
        if isinstance(by, exp.Literal) and by.is_int and int(by.this) <= len(items):
            by = items[int(by.this) - 1]
        elif by.sql() in by_source:
            by = by_source[by.sql()]
        elif isinstance(by, exp.Column) and by.table:
            continue  # a table's column, which a star may or may not include in the result
        named = by.args.get("alias") if isinstance(by, exp.Alias) else by.this
        found += [folded(named, dialect)] if isinstance(named, exp.Identifier) else []
    return tuple(found)


def _inner_limits(tree: exp.Query) -> Iterator[bool]:
    for query in tree.find_all(exp.Select, exp.SetOperation):
        yield query is not tree and any(query.args.get(part) for part in ("limit", "offset", "fetch"))
        yield _takes_first_rows(query)


def _takes_first_rows(query: exp.Query) -> bool:
    """Return True if it is DISTINCT ON, whose ORDER BY decides which rows remain."""
    distinct = query.args.get("distinct")
    return isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None


def _is_one_row_by_its_order(tree: exp.Query) -> bool:
    order = tree.args.get("order")
    if not isinstance(tree, exp.Select) or order is None or tree.args.get("group") or any(_own(tree, exp.AggFunc)):
        return False
    return any(_within(order, exp.AggFunc))


def _unordered(tree: exp.Query, dialect: str) -> Iterator[str]:
    for call in tree.find_all(*_ORDERED):
        if call.find(exp.Order) is None and not isinstance(call.parent, exp.WithinGroup):
            yield _short(call, dialect)


def _own(select: exp.Select, kind: Any) -> Iterator[Any]:
    """Yield nodes of a kind in select list and HAVING, but not in subqueries or windows."""
    having = select.args.get("having")
    for part in (*select.expressions, *([having] if having is not None else [])):
        yield from _within(part, kind)


def _within(part: exp.Expression, kind: Any) -> Iterator[Any]:
    for node in part.walk(prune=lambda n: isinstance(n, (exp.Query, exp.Window))):
        if isinstance(node, kind):
            yield node


def _short(node: Any, dialect: str) -> str:
    text = node.sql(dialect=dialect, comments=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
