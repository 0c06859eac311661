"""Joins in brackets, ``a LEFT JOIN (b JOIN c ON ..) ON ..``, rewritten for the analysis."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from qbcd.queries.syntax_tree import Tree


def leaves(item: Tree) -> Iterator[Tree]:
    """Yield the tables and derived tables that an item of FROM joins, or the item itself."""
    if is_bracket(item):
        yield from leaves(item.this)
    else:
        yield item
    for join in item.args.get("joins") or ():
        yield from leaves(join.this)


def inner_joins(item: Tree) -> Iterator[exp.Join]:
    """Yield the joins inside an item of FROM."""
    if is_bracket(item):
        yield from inner_joins(item.this)
    for join in item.args.get("joins") or ():
        yield from inner_joins(join.this)
        yield join


def is_bracket(item: Tree) -> bool:
    """Return True if an item of FROM is another item, or a join, in brackets without an alias."""
    return isinstance(item, exp.Subquery) and not item.alias and isinstance(item.this, (exp.Table, exp.Subquery))


def joins_of(select: exp.Select) -> list[exp.Join]:
    """Return the joins inside the first brackets of a FROM, then the other joins of the SELECT."""
    source = select.args.get("from_")
    within = opened(source.this)[1] if source is not None else []
    return [*within, *(select.args.get("joins") or ())]


def open_first(tree: Tree) -> None:
    """Remove the brackets around the first item of each FROM, since joins associate to the left."""
    for select in tree.find_all(exp.Select):
        source = select.args.get("from_")
        if source is not None and _is_joined(source.this):
            (first, within), joins = opened(source.this), joins_of(select)
            first.set("joins", None)
            for join in within:
                if not any(join.args.get(part) for part in ("side", "kind", "method", "on", "using")):
                    join.set("kind", "CROSS")  # a comma in brackets joins before the items after them
            source.set("this", first)
            select.set("joins", joins)


def opened(item: Tree) -> tuple[Tree, list[exp.Join]]:
    """Return the first relation of an item of FROM and the joins after it; change nothing."""
    first, joins = opened(item.this) if is_bracket(item) else (item, [])
    return first, [*joins, *(item.args.get("joins") or ())]


def _is_joined(item: Tree) -> bool:
    return is_bracket(item) or bool(item.args.get("joins"))


def derive_others(tree: Tree, count: int) -> None:
    """Replace every other join in brackets by a derived table with the used columns.

    Args:
        tree: A query in which each relation has a unique alias, and each column has its relation's alias.
        count: Number of these aliases; new ones are `q` and a number from `count` upwards.
    """
    for join in list(tree.find_all(exp.Join, bfs=True)):  # outer joins come first
        item = join.this
        if _is_joined(item):
            alias, count = f"q{count}", count + 1
            inside = {id(column) for column in item.find_all(exp.Column)}
            mine = {leaf.alias_or_name for leaf in leaves(item)}
            listed: dict[tuple[str, str], Tree] = {}
            for column in list(tree.find_all(exp.Column)):
                if column.table in mine and id(column) not in inside:
                    of = (column.table, column.name)
                    name = listed[of].alias if of in listed else f"c{len(listed)}"
                    listed.setdefault(of, exp.alias_(column.copy(), name, quoted=True))
                    column.set("this", exp.to_identifier(name, quoted=True))
                    column.set("table", exp.to_identifier(alias, quoted=True))
            first, joins = opened(item)
            first.set("joins", None)
            made = exp.select(*(listed.values() or [exp.alias_(exp.Literal.number(1), "one", quoted=True)]), copy=False)
            made.set("from_", exp.From(this=first))
            made.set("joins", joins)
            join.set("this", exp.Subquery(this=made, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True))))
