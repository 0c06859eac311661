"""Views that a query reads: their queries, and reasons why these cannot be followed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache

from sqlglot import exp

from qbcd.model import Column, Table
from qbcd.queries.derived_columns import bare, handed_on
from qbcd.queries.parsed import CapturedQuery, parsed
from qbcd.queries.qualify import prepare_query
from qbcd.queries.syntax_tree import Columns, Name, NotIncremental
from qbcd.queries.tables import compared_values, folded, joined_names
from qbcd.queries.text import Unfit, level_operators, literals, misread
from qbcd.queries.unsupported import refusals


@lru_cache(maxsize=256)
def parse_view(definition: str, dialect: str) -> CapturedQuery:
    """Parse the query of a view's definition.

    Raises:
        Unfit: It cannot be read, or it is not allowed as the text of a query.
    """
    query = parsed(definition, dialect)
    bare = next((base.name for base in query.bases if not base.schema), None)
    if bare is not None:  # in a definition, the user's own tables have a schema
        raise Unfit(f"reads the server's own {bare}")
    return query


def compared_elsewhere(query: CapturedQuery, bases: Sequence[Table]) -> tuple[Column, bool] | None:
    """Return a column compared by operators outside of qbcd's search path, and True for USING.

    None if there is no such column.

    Args:
        query: A user's query, or a view's.
        bases: The tables that it reads, one for each mention.
    """
    elsewhere = {
        (alias, column.name): column
        for base, table in zip(query.bases, bases, strict=True)
        for column in table.columns
        if column.fact("operators")
        for alias in ("", base.alias)
    }
    if not elsewhere:
        return None
    aliases = {base.alias for base in query.bases}

    def of_base(column: exp.Column) -> Column | None:
        return elsewhere.get(_place(column, query.dialect))

    every = {name: column for (_, name), column in elsewhere.items()}
    inner = handed_on(query.tree, of_base, every, query.dialect)

    def of_any(column: exp.Column) -> Column | None:
        alias, name = _place(column, query.dialect)
        return of_base(column) or (inner.get(name) if alias not in aliases else None)

    for value in compared_values(query.tree):
        found = bare(value, of_any)
        if found is not None:
            return found, False
    shared = [n for n in every if n in inner or sum(t.column(n) is not None for t in bases) > 1]
    for name in joined_names(query.tree, query.dialect, shared):
        if name in every or name in inner:
            return every.get(name) or inner[name], True
    return None


def _place(column: exp.Column, dialect: str) -> tuple[str, str]:
    """Return (alias or empty, name) of a column."""
    of = column.args.get("table")
    return folded(of, dialect) if of is not None else "", folded(column.this, dialect)


def check_written_again(text: str, dialect: str, known: Collection[str]) -> None:
    """Refuse a text whose meaning would change if it is parsed and written by sqlglot.

    Args:
        dialect: sqlglot's name of its dialect.
        known: sqlglot's keys of the functions whose meaning is known to stay the same.

    Raises:
        NotIncremental: Its meaning would change, or may change.
    """
    tree = parsed(text, dialect).tree
    problem = misread(text, dialect)
    if problem:
        raise NotIncremental(problem)
    level = level_operators(text, dialect)
    for node in tree.find_all(exp.Like, exp.ILike, exp.StartsWith) if level else ():
        if any(isinstance(part, exp.DPipe) for part in (node.this, node.args.get("expression"), node.parent)):
            raise NotIncremental(f"has the operator {level[0]} next to ||: write LIKE, or starts_with(..)")
    for negated in tree.find_all(exp.Not):  # sqlglot would write NOT before the whole, as in NOT a IN (..) < b
        above = negated.parent
        if isinstance(above, (exp.Binary, exp.Predicate)) and not isinstance(above, exp.Connector):
            raise NotIncremental(f"compares {negated.sql(dialect=dialect)} with something: write brackets around it")
    for call in tree.find_all(exp.Func):
        if not isinstance(call, exp.Anonymous) and call.key not in known:
            name = text[call.meta["start"] : call.meta["end"] + 1] if "end" in call.meta else call.sql_name()
            raise NotIncremental(f"calls {name}, which qbcd may not reproduce exactly")
    before, after = literals(text, dialect), literals(tree.sql(dialect=dialect), dialect)
    implicit = [call for call in tree.find_all(exp.GroupConcat) if not call.args.get("separator")]
    before = sorted([*before, *("," for _ in implicit)])  # sqlglot writes the default separator
    if before != after:
        dropped, added = (
            [one for one in some if one not in other] for some, other in ((before, after), (after, before))
        )
        literal = f"has the literal {dropped[0]!r}" if dropped else f"would have the literal {(added or after)[0]!r}"
        raise NotIncremental(f"{literal}, which qbcd would not reproduce exactly")


def check_view(
    view: Table,
    columns: Columns,
    views: Mapping[Name, exp.Query],
    dialect: str,
    plain: Callable[[str], bool],
    known: Collection[str],
) -> exp.Query:
    """Return the tree of a view that a query reads; refuse one that cannot be followed.

    Args:
        columns: Columns of the view and of everything behind it.
        views: The trees of the views among these.
        dialect: sqlglot's name of its dialect.
        plain: As in :func:`~qbcd.queries.unsupported.refusals`.
        known: As in :func:`check_written_again`.

    Raises:
        NotIncremental: The view cannot be followed; the message names it.
    """
    try:
        query = parse_view(view.definition, dialect)
        elsewhere = compared_elsewhere(query, view.bases)
        if elsewhere is not None:
            raise NotIncremental(f'compares column "{elsewhere[0].name}" by operators of an extension')
        for reason in refusals(prepare_query(query.tree, dialect, columns, views).tree, plain):
            raise NotIncremental(reason)
        check_written_again(view.definition, dialect, known)
    except (Unfit, NotIncremental) as reason:
        raise NotIncremental(f"reads view {view.label}, which {reason}") from None
    return query.tree
