"""Ranges of PostgreSQL: many key ranges or buckets in one statement, bounds, rows by key.

Bounds are literals, cast to the key column's type, so that the server compares them exactly as it orders the column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.buckets import Words
from qbcd.connectors.postgresql import expressions, types
from qbcd.connectors.range_case import range_case
from qbcd.connectors.ranges import Ranges, SupportsKeyLookup, check_ranges, numbered_bounds
from qbcd.model import Column, KeyRange, Table
from qbcd.ranges.leaves import are_some, bits_of

KNOWN_BOUNDS = 20_000  # cached: each poll writes the same bounds, each of them twice
_PLAIN = re.compile(r"[0-9A-Za-z .:+-]*")
_TEXT = "the text"
LEAF = "t.qbcd_leaf"


def _bucket(value: str, depth: int) -> str:
    return f"(({value} >> {64 - depth}) + {1 << (depth - 1)})"


def _choice(value: str, ranges: Sequence[KeyRange]) -> str:
    return f"CAST({range_case(ranges, lambda lo: f'{value} < {lo[0]}')} AS BIGINT)"


def _bytes(bits: bytes) -> str:
    return f"'\\x{bits.hex()}'::bytea"


def _is_set(number: str, bits: str) -> str:
    return f"get_bit({bits}, {number}) = 1"


def _among(number: str, bits: bytes) -> str:
    return _is_set(number, _bytes(bits))


# With OFFSET 0 the planner also does not expect a group for each key, which it would sort.
BUCKETS = Words(_bucket, _choice, summed_once="OFFSET 0", read_once="OFFSET 0", among=_among)


def bound(column: Column, text: str) -> exp.Expression:
    """Return a key bound: its canonical text as a literal, cast to the column's type.

    The type is the one below all domains.

    Raises:
        ValueError: The text contains a NUL character, which a PostgreSQL value cannot contain.
    """
    if "\x00" in text:
        raise ValueError(f"a bound of key column {column.name} contains a NUL character")
    literal = expressions.cast(exp.Literal.string(text), types.storage_type(column))
    return expressions.collate(literal, column.collation) if column.collation else literal


def arms_of(
    body: Callable[[str], str], key: Sequence[Column], ranges: Sequence[KeyRange], key_names: Sequence[str]
) -> str:
    """Return a statement with `body` for each of many ranges, and ``range_id``.

    `body` gets the condition that a row of ``t`` is in a range. If a range requests only some of its leaves, ``t`` must
    have ``qbcd_leaf``.

    Raises:
        ValueError: As `per_range`.
    """
    check_ranges(key, ranges)
    columns, in_leaves = [f"t.{name}" for name in key_names], are_some(ranges)
    closed = [r for r in ranges if r.lo is not None and r.hi is not None]
    arms = [_closed_arm(body, key, columns, closed, in_leaves=in_leaves)] if closed else []
    for r in ranges:
        if r.lo is not None and r.hi is not None:
            continue
        condition = "TRUE"
        if r.lo is not None:
            condition = _compare(key, columns, ">=", _literals(key, r.lo))
        elif r.hi is not None:
            condition = _compare(key, columns, "<", _literals(key, r.hi))
        if r.only:
            condition += f" AND {_among(LEAF, bits_of(r))}"
        arms.append(f"SELECT CAST({r.range_id} AS BIGINT) AS range_id, q.* FROM ({body(condition)}) AS q")
    return "\nUNION ALL\n".join(arms)


def _closed_arm(
    body: Callable[[str], str],
    key: Sequence[Column],
    columns: Sequence[str],
    ranges: Sequence[KeyRange],
    *,
    in_leaves: bool,
) -> str:
    lows = [f"lo{i}" for i in range(len(key))]
    highs = [f"hi{i}" for i in range(len(key))]
    rows = ",\n".join(
        f"(CAST({r.range_id} AS BIGINT), "
        f"{', '.join([*_literals(key, (r.lo or ()) + (r.hi or ())), *([_bytes(bits_of(r))] if in_leaves else [])])})"
        for r in ranges
    )
    names = [*lows, *highs, *(["leaves"] if in_leaves else [])]
    low = _compare(key, columns, ">=", [f"r.{n}" for n in lows])
    high = _compare(key, columns, "<", [f"r.{n}" for n in highs])
    condition = " AND ".join([low, high, *([_is_set(LEAF, "r.leaves")] if in_leaves else [])])
    return (
        f"SELECT r.range_id, q.* FROM (VALUES\n{rows}\n) AS r(range_id, {', '.join(names)})\n"
        f"CROSS JOIN LATERAL ({body(condition)}) AS q"
    )


def _literals(key: Sequence[Column], values: Sequence[str]) -> list[str]:
    return [literal(key[i % len(key)], text) for i, text in enumerate(values)]


def literal(column: Column, text: str) -> str:
    """Return `bound` as SQL; for a text without characters to escape it builds no tree."""
    if not _PLAIN.fullmatch(text):
        return _escaped(column, text)
    before, after = _around(column)
    return f"{before}{text}{after}"


@lru_cache(KNOWN_BOUNDS)
def _escaped(column: Column, text: str) -> str:
    return _sql(bound(column, text))


@lru_cache(KNOWN_BOUNDS)
def _around(column: Column) -> tuple[str, str]:
    """Return the SQL before and after the text in a literal of `column`."""
    before, after = _sql(bound(column, _TEXT)).split(f"'{_TEXT}'")
    return f"{before}'", f"'{after}"


def _compare(key: Sequence[Column], left: Sequence[str], operator: str, right: Sequence[str]) -> str:
    """Return a comparison of whole keys.

    It is a row comparison, for which the server can use the index of a composite key.
    """
    if len(key) == 1:
        return f"{left[0]} {_operator(key[0], operator)} {right[0]}"
    if not any(c.fact("operators") for c in key):
        return f"({', '.join(left)}) {operator} ({', '.join(right)})"
    # A row comparison has one operator name for all columns. If a column's operators are in another schema, the columns
    # are compared one by one, after a condition for which the server can use an index on the first column.
    strict = operator[0]
    alternatives = []
    for i in range(len(key)):
        equal = [f"{left[j]} {_operator(key[j], '=')} {right[j]}" for j in range(i)]
        last = operator if i == len(key) - 1 else strict
        alternatives.append(" AND ".join([*equal, f"{left[i]} {_operator(key[i], last)} {right[i]}"]))
    first = f"{left[0]} {_operator(key[0], strict + '=')} {right[0]}"
    return f"({first} AND ({' OR '.join(f'({a})' for a in alternatives)}))"


def _operator(column: Column, operator: str) -> str:
    schema = column.fact("operators")
    return f"OPERATOR({schema}.{operator})" if schema else operator


def _sql(tree: exp.Expression) -> str:
    return tree.sql(dialect=expressions.DIALECT)


class PostgresRanges(Ranges, SupportsKeyLookup):
    """Ranges that are looked up by the key's index."""

    bucket_words = BUCKETS
    bound = staticmethod(bound)
    key_text = staticmethod(expressions.canonical_text)

    @override
    def per_range(
        self,
        select: Sequence[str],
        relation: str,
        key: Sequence[Column],
        ranges: Sequence[KeyRange],
        *,
        aggregate: bool,
    ) -> str:
        """See the base class.

        Closed ranges are rows of one VALUES list, each looked up by the key's index. A range with an open end is an arm
        of its own: with a bound that may be NULL the server could not use the index. Aggregates have no GROUP BY, so
        that empty ranges have a row too.
        """

        def body(condition: str) -> str:
            outputs = ", ".join(select)
            if not aggregate:
                return f"SELECT {outputs} FROM {relation} AS t WHERE {condition}"
            # With OFFSET 0 the relation's columns are computed once, not again by every aggregate that uses them.
            return f"SELECT {outputs} FROM (SELECT t.* FROM {relation} AS t WHERE {condition} OFFSET 0) AS t"

        return arms_of(body, key, ranges, self._names(key))

    @override
    def range_bounds(self, relation: str, key: Sequence[Column], *, rows_per_range: int) -> str:
        names = self._names(key)
        columns = [exp.Column(this=exp.Var(this=name), table=exp.Var(this="o")) for name in names]
        texts = [_sql(expressions.canonical_text(c, column)) for c, column in zip(key, columns, strict=True)]
        return numbered_bounds(relation, [f"t.{name}" for name in names], texts, rows_per_range)

    @override
    def key_between(self, key: Sequence[Column], alias: str, within: KeyRange) -> str:
        columns = [f"{alias}.{name}" if alias else name for name in self._names(key)]
        check_ranges(key, [within])
        low = [_compare(key, columns, ">=", _literals(key, within.lo))] if within.lo is not None else []
        high = [_compare(key, columns, "<", _literals(key, within.hi))] if within.hi is not None else []
        return " AND ".join(low + high) or "TRUE"

    @override
    def of_keys(
        self,
        select: Sequence[str],
        relation: str,
        key: Sequence[Column],
        keys: Sequence[Sequence[str]],
        ids: Sequence[int] = (),
    ) -> str:
        names, head = [f"k{i}" for i in range(len(key))], ["range_id"] if ids else []
        places = [[f"CAST({one} AS BIGINT)"] for one in ids] if ids else [[]] * len(keys)
        rows = ",\n".join(f"({', '.join([*at, *_literals(key, one)])})" for at, one in zip(places, keys, strict=True))
        equal = [
            f"t.{column} {_operator(c, '=')} k.{name}"
            for c, column, name in zip(key, self._names(key), names, strict=True)
        ]
        return (
            f"SELECT {', '.join([*(f'k.{name}' for name in head), 'q.*'])} FROM (VALUES\n{rows}\n) "
            f"AS k({', '.join([*head, *names])})\n"
            f"CROSS JOIN LATERAL (SELECT {', '.join(select)} FROM {relation} AS t WHERE {' AND '.join(equal)}) AS q"
        )

    @override
    def has_shares(self, table: Table) -> bool:
        if any(c.fact("loose") for c in table.columns):  # a child may be a foreign table, whose rows have no ctid here
            return False
        return table.kind in ("table", "matview") and table.pages > 0

    def _names(self, key: Sequence[Column]) -> list[str]:
        return [self.facts.quote(c.name) for c in key]
