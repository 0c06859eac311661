"""Canonical SQL to the source's dialect: parse, expand primitives, generate, insert texts.

Primitives of canonical SQL (the connector expands all of them):

============================  =========================================================================================
``QBCD_DISTINCT('c', x, y)``  TRUE if two values of column c differ, NULL-safe
``QBCD_EQUAL('k', x, y)``     TRUE if two values of key column k are one key, by the column's own equality
``QBCD_DIGEST()``             the row digest over key and captured columns, which must be in scope
``QBCD_DIGEST_OF('c', x, ..)``  the digest of values x .. of columns c ..
``QBCD_SHARED_DIGEST()``      the same as a digest that other databases compute alike
``QBCD_KEY_ID()``             the key's binary identity
``QBCD_KEY_HASH()``           an evenly distributed 64-bit hash of that identity
``QBCD_KEY_LEAF()``           the last byte of that identity, a whole number
``QBCD_PAGE()``               the place of the row, by which ranges of pages find it
``QBCD_SHARE(i, n)``          TRUE if the row is in part i of n of the table's storage
``QBCD_TRAVEL('c', x)``       value x of column c in wire form
``QBCD_TEXT('c', x)``         value x of column c as text that casts back to it
``QBCD_UNITED('c', x)``       value x of column c in a form that survives a UNION with NULL
``QBCD_KEY_TEXT('c', x)``     value x of key column c as the text by which its row can be looked up
``QBCD_TRAVELS('c', x)``      TRUE if a typed sink can hold x
``QBCD_MARK('c', x)``         the watermark over column c from text x
``QBCD_MARK_TEXT('c', x)``    value x of column c as the text of a watermark
``QBCD_CHANGED_SINCE(x, 'a')``  TRUE if the row was written at or after the watermark in text x, by the database's own
                              row version; the row is of relation a, or of the one in scope
``QBCD_FLAGGED('c', x)``      TRUE if value x of delete flag c equals the strategy's ``deleted_value``
``QBCD_WITHIN('a')``          TRUE if the key of relation a, or of the one in scope, is in the range, or without one
``QBCD_RESTRICTION()``        the user's restriction in brackets, verbatim; TRUE without one
``QBCD_QUERY()``              the user's query in brackets, verbatim
``:name``                     a bound value
============================  =========================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import ErrorLevel, exp

from qbcd.connectors.base import Connector
from qbcd.connectors.expressions import SupportsWideDigests
from qbcd.connectors.queries import SupportsIncrementalQueries
from qbcd.connectors.ranges import SupportsKeyLookup, SupportsLeafChecksums, SupportsPages, SupportsScans
from qbcd.connectors.shared_digests import SupportsSharedDigests
from qbcd.connectors.watermarks import SupportsDeleteFlags, SupportsSystemMarks, SupportsWatermarks
from qbcd.model import Column, KeyRange, Statement, StreamPlan

Tree = exp.Expression
_DELETED = True  # the value of a delete flag without option `deleted_value`

# Primitives of a column and one value.
_VALUES: Mapping[str, Callable[[Connector, Column, Tree], Tree]] = {
    "QBCD_TEXT": lambda connector, column, x: connector.expressions.canonical_text(column, x),
    "QBCD_UNITED": lambda connector, column, x: connector.expressions.united_form(column, x),
    "QBCD_KEY_TEXT": lambda connector, column, x: connector.require(SupportsKeyLookup).key_text(column, x),
    "QBCD_TRAVEL": lambda connector, column, x: connector.expressions.travel_form(column, x),
    "QBCD_TRAVELS": lambda connector, column, x: connector.expressions.fits_typed_sink(column, x) or exp.true(),
    "QBCD_MARK": lambda connector, column, x: connector.require(SupportsWatermarks).mark(column, x),
    "QBCD_MARK_TEXT": lambda connector, column, x: connector.require(SupportsWatermarks).mark_text(column, x),
}
# Primitives of a column and two values.
_PAIRS: Mapping[str, Callable[[Connector, Column, Tree, Tree], Tree]] = {
    "QBCD_DISTINCT": lambda connector, column, x, y: connector.expressions.null_safe_distinct(column, x, y),
    "QBCD_EQUAL": lambda connector, column, x, y: connector.expressions.key_equal(column, x, y),
}


def compile_sql(
    canonical: str,
    connector: Connector,
    plan: StreamPlan | None,
    params: Mapping[str, Any] | None = None,
    *,
    within: KeyRange | None = None,
    as_seen: bool = False,
) -> Statement:
    """Return the statement in the connector's dialect.

    Args:
        canonical: Canonical SQL, as from `render`.
        connector: Defines dialect and primitives.
        plan: Columns of the primitives, and the restriction; None if no primitive is used.
        params: Values of the statement's ``:name`` placeholders; exactly those that it uses.
        within: The range of ``QBCD_WITHIN``; None for all keys.
        as_seen: It is an INSERT from a query that must see the state of its transaction.

    Raises:
        qbcd.errors.UnsupportedPrimitive: The connector lacks a primitive.
        ValueError: A placeholder has no value, or a value no placeholder.
    """
    # Only QBCD_SHARE depends on the size of the table.
    sized = plan.unsized if plan and "QBCD_SHARE" not in canonical else plan
    expanded = _expanded(canonical, connector, sized, within is not None, as_seen)
    verbatim = [_text(item, connector, plan, within) for item in expanded.verbatim]
    return _filled(expanded, verbatim, dict(params or {}))


@dataclass(frozen=True)
class _Verbatim:
    """A verbatim part of the finished statement: a text, or the key condition of `alias`."""

    text: str = ""
    alias: str | None = None


@dataclass(frozen=True)
class _Expanded:
    """A statement without the parts that are inserted last.

    Attributes:
        verbatim: Verbatim parts of the finished statement, by the numbers of their places.
        place: Prefix of the names that mark the places of these parts, and of bound values.
    """

    text: str
    counted: bool
    verbatim: tuple[_Verbatim, ...]
    place: str


@lru_cache(maxsize=256)
def _expanded(canonical: str, connector: Connector, plan: StreamPlan | None, ranged: bool, as_seen: bool) -> _Expanded:
    """Parse, expand and generate.

    The result is cached: the steps of a pass differ only in the parts that are inserted last, and polls in sizes.
    """
    parsed: Any = sqlglot.parse_one(canonical)
    expansion = _Expansion(connector, plan, ranged, _unused(canonical, plan))
    tree = connector.expressions.statement_form(parsed.transform(expansion.of))
    # Pretty printing would indent the second line of a name with a line break.
    pretty = plan is None or not any("\n" in name for name in (plan.table.name, *(c.name for c in plan.captured)))
    if as_seen:
        text, counted = connector.require(SupportsIncrementalQueries).insert_as_seen(tree, pretty=pretty)
    else:
        text, counted = tree.sql(dialect=connector.dialect, unsupported_level=ErrorLevel.RAISE, pretty=pretty), False
    return _Expanded(text, counted, tuple(expansion.verbatim), expansion.place)


def _text(item: _Verbatim, connector: Connector, plan: StreamPlan | None, within: KeyRange | None) -> str:
    if item.alias is None or plan is None or within is None:
        return item.text
    return f"({connector.ranges.key_between(plan.key, item.alias, within)})"


class _Expansion:
    """The expansion of the primitives of one statement; attributes as in :class:`_Expanded`."""

    def __init__(self, connector: Connector, plan: StreamPlan | None, ranged: bool, place: str) -> None:
        self._connector = connector
        self._plan = plan
        self._ranged = ranged
        self.place = place
        self.verbatim: list[_Verbatim] = []

    def of(self, node: Tree) -> Tree:
        """Return the replacement of `node`: `node` itself unless it is a primitive or a placeholder."""
        if isinstance(node, exp.Placeholder) and node.name:
            return exp.Var(this=f"{self.place}_BOUND_{node.name}_END")
        if not isinstance(node, exp.Anonymous) or not str(node.this).upper().startswith("QBCD_"):
            return node
        primitive = str(node.this).upper()
        if self._plan is None:
            raise ValueError(f"{primitive} needs a stream's plan")
        args: list[Any] = [argument.transform(self.of) for argument in node.expressions]
        return self._of_row(primitive, args, self._plan) or self._of_values(primitive, args, self._plan)

    def _of_row(self, primitive: str, args: list[Tree], plan: StreamPlan) -> Tree | None:
        """Return the expansion of a primitive about the whole row, or None."""
        if primitive == "QBCD_RESTRICTION":
            # The newlines end a comment that the check did not find.
            return self._verbatim(_Verbatim(f"(\n{plan.where}\n)")) if plan.where else exp.true()
        if primitive == "QBCD_QUERY":
            return self._verbatim(_Verbatim(f"(\n{plan.table.query}\n)"))
        if primitive == "QBCD_WITHIN":
            return self._verbatim(_Verbatim(alias=args[0].name)) if self._ranged else exp.true()
        if primitive in ("QBCD_DIGEST", "QBCD_SHARED_DIGEST"):
            values = [(c, exp.column(c.name, quoted=True)) for c in plan.captured]
            if primitive == "QBCD_DIGEST":
                return self._digest(values, plan)
            return self._connector.require(SupportsSharedDigests).shared_digest(values)
        if primitive == "QBCD_DIGEST_OF":
            named = zip(args[::2], args[1::2], strict=True)
            columns = [(_column(plan, name.name), value) for name, value in named]
            return self._digest(columns, plan)
        if primitive == "QBCD_KEY_ID":
            return self._connector.expressions.key_identity([(c, exp.column(c.name, quoted=True)) for c in plan.key])
        if primitive == "QBCD_KEY_LEAF":
            return self._connector.require(SupportsLeafChecksums).key_leaf(
                plan.key[-1], exp.column(plan.key[-1].name, quoted=True)
            )
        if primitive == "QBCD_KEY_HASH":
            return self._connector.expressions.key_hash([(c, exp.column(c.name, quoted=True)) for c in plan.key])
        if primitive == "QBCD_PAGE":
            return self._connector.require(SupportsPages).row_page()
        if primitive == "QBCD_SHARE":
            return self._connector.require(SupportsScans).page_share(plan.table, *(int(a.name) for a in args))
        if primitive == "QBCD_CHANGED_SINCE":
            return self._connector.require(SupportsSystemMarks).changed_since_mark(
                args[0], args[1].name if len(args) > 1 else ""
            )
        return None

    def _digest(self, columns: Sequence[tuple[Column, Tree]], plan: StreamPlan) -> Tree:
        if plan.wide:
            return self._connector.require(SupportsWideDigests).wide_digest(columns)
        return self._connector.expressions.row_digest(columns)

    def _of_values(self, primitive: str, args: list[Tree], plan: StreamPlan) -> Tree:
        """Return the expansion of a primitive about values of a column."""
        if primitive not in (*_VALUES, *_PAIRS, "QBCD_FLAGGED"):
            raise ValueError(f"canonical SQL has no primitive {primitive}")
        column = _column(plan, args[0].name)
        if primitive == "QBCD_FLAGGED":
            deleted = plan.option("deleted_value")
            return self._connector.require(SupportsDeleteFlags).flag_form(
                column, args[1], _DELETED if deleted is None else deleted
            )
        if primitive in _PAIRS:
            return _PAIRS[primitive](self._connector, column, args[1], args[2])
        return _VALUES[primitive](self._connector, column, args[1])

    def _verbatim(self, what: _Verbatim) -> Tree:
        self.verbatim.append(what)
        return exp.Var(this=f"{self.place}_VERBATIM_{len(self.verbatim) - 1}_END")


def _column(plan: StreamPlan, name: str) -> Column:
    """Return a captured column, or another column of the table, such as a watermark or a flag."""
    found = next((c for c in plan.captured if c.name == name), None) or plan.table.column(name)
    if found is None:
        raise ValueError(f"stream {plan.stream} captures no column {name!r}")
    return found


def _unused(canonical: str, plan: StreamPlan | None) -> str:
    """Return a word that does not occur in any name or literal of the statement."""
    word, taken = "QBCD_PLACE", [canonical, *([c.name for c in plan.captured] if plan else [])]
    while any(word in text for text in taken):
        word += "X"
    return word


def _filled(expanded: _Expanded, verbatim: list[str], params: dict[str, Any]) -> Statement:
    """Return the statement with all parts inserted.

    It is done in one pass, so that no text of a user is taken for a place.
    """
    places = re.compile(rf"\b{expanded.place}_(?:BOUND_(?P<bound>\w+?)|VERBATIM_(?P<verbatim>\d+))_END\b")
    text = expanded.text
    used = {place["bound"] for place in places.finditer(text) if place["bound"]}
    if used != set(params):
        raise ValueError(f"placeholders {sorted(used)} do not match values {sorted(params)}")

    def fill(place: re.Match[str]) -> str:
        if place["bound"]:
            return f"%({place['bound']})s"
        inserted = verbatim[int(place["verbatim"])]
        return inserted.replace("%", "%%") if params else inserted

    # pyformat: a literal percent sign is doubled, also in the user's restriction.
    return Statement(places.sub(fill, text.replace("%", "%%") if params else text), params, expanded.counted)
