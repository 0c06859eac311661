"""Ranges of MariaDB and MySQL: many ranges in one statement, range bounds.

MariaDB has no LATERAL, and MySQL reads a correlated range again for every row of bounds. For a comparison of row values
both scan the whole index. So bounds are literals, each range is an arm of a UNION ALL, and a comparison of composite
keys is written column by column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.buckets import Words
from qbcd.connectors.mysql_family import expressions, types
from qbcd.connectors.range_case import range_case
from qbcd.connectors.ranges import Ranges, check_ranges, numbered_bounds
from qbcd.model import Column, KeyRange

_INTEGER = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_FLOAT = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
_BYTES = re.compile(r"0x([0-9A-F]{2})*")
_PLAIN = re.compile(r"[\x20-\x26\x28-\x5b\x5d-\x7e]*")  # ASCII without quote, backslash and control characters
# The largest row count. A derived table with a LIMIT is not merged, so that its columns are computed once.
MOST_ROWS = 18446744073709551615
NO_MERGE = f"LIMIT {MOST_ROWS}"
RELATION = "qbcd_relation"
KNOWN_BOUNDS = 20_000  # cached: each poll writes the same bounds, each of them twice
LISTED = 64  # most members of an enum whose numbers a comparison lists


def _bucket(value: str, depth: int) -> str:
    # shifts are unsigned; with the highest bit flipped, the order is that of signed numbers
    return f"(({value} ^ {1 << 63}) >> {64 - depth})"


def _choice(value: str, ranges: Sequence[KeyRange]) -> str:
    """Return SQL that uses the server's binary search, which evaluates the value once."""
    if len(ranges) == 1:
        return str(ranges[0].range_id)
    ids, beyond = ", ".join(str(r.range_id) for r in ranges), ", ".join(r.lo[0] for r in ranges[1:] if r.lo)
    return f"cast(elt(1 + interval({value}, {beyond}), {ids}) AS SIGNED)"


# For rows no derived table: the server would write it to a temporary table first.
BUCKETS = Words(_bucket, _choice, summed_once=NO_MERGE, read_once="")


# -- bounds ----------------------------------------------------------------------------------------------------------
def bound_text(column: Column, value: exp.Expression) -> exp.Expression:
    """Return the text as which a bound of `column` is stored; `bound` reads it."""
    if column.base_type in types.CHOICES:
        return expressions.sql("cast({v} AS CHAR)", v=value)  # it is a number here, see `_ordered`
    if column.base_type in types.STRINGS and column.fact("charset") not in types.ROUND_TRIP:
        return expressions.sql("concat('0x', hex({v}))", v=value)
    return expressions.canonical_text(column, value)


def bound(column: Column, text: str) -> exp.Expression:
    """Return a key bound as a literal.

    A number is a number literal: a text would be compared as floating point.

    Raises:
        ValueError: The text is no value of the column's type.
    """
    base = column.base_type
    if base in types.INTEGERS or base in types.CHOICES or base == "bit":
        return _number(column, text, _INTEGER)
    if base == "decimal":
        return _number(column, text, _DECIMAL)
    if base in types.FLOATS:
        number = _number(column, text, _FLOAT)
        return number if "e" in text else exp.Var(this=f"{text}e0")
    if base in types.BINARIES:
        return exp.Var(this=f"X'{_hex(column, text)}'")
    if base in types.STRINGS and column.fact("charset") not in types.ROUND_TRIP:
        return exp.Var(this=f"_{column.fact('charset')} X'{_hex(column, text)}'")
    return exp.Var(this=literal_text(text))


def literal_text(text: str) -> str:
    """Return SQL of a text that does not depend on the session's meaning of backslashes."""
    return f"'{text}'" if _PLAIN.fullmatch(text) else f"_utf8mb4 X'{text.encode().hex().upper()}'"


def _number(column: Column, text: str, pattern: re.Pattern[str]) -> exp.Expression:
    if not pattern.fullmatch(text):
        raise ValueError(f"{text!r} is no bound of key column {column.name} of type {column.sql_type}")
    return exp.Var(this=text)


def _hex(column: Column, text: str) -> str:
    if not _BYTES.fullmatch(text):
        raise ValueError(f"{text!r} is no bound of key column {column.name} of type {column.sql_type}")
    return text[2:]


def _ordered(column: Column, name: str) -> str:
    """Return a key column for ORDER BY.

    Enum and set are cast to their number: without a cast a sort may lose it, or read it as signed.
    """
    return f"cast(t.{name} AS UNSIGNED)" if column.base_type in types.CHOICES else f"t.{name}"


# -- many ranges -----------------------------------------------------------------------------------------------------
def _aggregate(select: Sequence[str], key: Sequence[Column], columns: Sequence[str], one: KeyRange) -> str:
    condition = _within(key, columns, one.lo, one.hi)
    return (
        f"SELECT {one.range_id} AS range_id, {', '.join(select)}\n"
        f"FROM (SELECT t.* FROM {RELATION} AS t WHERE {condition} {NO_MERGE}) AS t"
    )


def _rows(select: Sequence[str], key: Sequence[Column], columns: Sequence[str], run: Sequence[KeyRange]) -> str:
    condition = _within(key, columns, run[0].lo, run[-1].hi)
    range_id = range_case(run, lambda hi: _compare(key, columns, "<", _literals(key, hi)))
    return f"SELECT {range_id} AS range_id, {', '.join(select)}\nFROM {RELATION} AS t WHERE {condition}"


def _runs(ranges: Sequence[KeyRange]) -> list[list[KeyRange]]:
    """Return `ranges` in runs: in a run each range begins at the end of the one before it."""
    runs: list[list[KeyRange]] = []
    for one in ranges:
        if runs and one.lo is not None and runs[-1][-1].hi == one.lo:
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


def _within(
    key: Sequence[Column], columns: Sequence[str], lo: tuple[str, ...] | None, hi: tuple[str, ...] | None
) -> str:
    low = [_compare(key, columns, ">=", _literals(key, lo))] if lo is not None else []
    high = [_compare(key, columns, "<", _literals(key, hi))] if hi is not None else []
    return " AND ".join(low + high) or "TRUE"


def _compare(key: Sequence[Column], left: Sequence[str], operator: str, right: Sequence[str]) -> str:
    """Return a comparison of whole keys, column by column.

    The index is used for the leading condition on the first column.
    """
    if len(key) == 1:
        return _one(key[0], left[0], operator, right[0])
    strict = operator[0]
    alternatives = []
    for i in range(len(key)):
        equal = [_one(key[j], left[j], "=", right[j]) for j in range(i)]
        last = operator if i == len(key) - 1 else strict
        alternatives.append(" AND ".join([*equal, _one(key[i], left[i], last, right[i])]))
    leading = _one(key[0], left[0], f"{strict}=", right[0])
    return f"({leading} AND ({' OR '.join(f'({a})' for a in alternatives)}))"


def _one(column: Column, left: str, operator: str, right: str) -> str:
    """Return a comparison with a bound.

    An index finds numbers of an enum only by equality; so an order comparison of an enum is a list of numbers.
    """
    members = types.members(column)
    if column.base_type not in types.CHOICES:
        return f"{left} {operator} {right}"
    if not 0 < members <= LISTED:
        return f"cast({left} AS UNSIGNED) {operator} {right}"
    number = int(right)
    numbers = {
        "=": range(number, number + 1),
        "<": range(number),
        "<=": range(number + 1),
        ">": range(number + 1, members + 1),
        ">=": range(number, members + 1),
    }[operator]
    return f"{left} IN ({', '.join(map(str, numbers))})" if numbers else "FALSE"


def _literals(key: Sequence[Column], values: Sequence[str]) -> list[str]:
    return [_literal(column, text) for column, text in zip(key, values, strict=True)]


@lru_cache(KNOWN_BOUNDS)
def _literal(column: Column, text: str) -> str:
    return _sql(bound(column, text))


def _sql(tree: exp.Expression) -> str:
    return tree.sql(dialect=expressions.DIALECT)


class FamilyRanges(Ranges):
    """Ranges as arms of a UNION ALL."""

    bucket_words = BUCKETS
    bound = staticmethod(bound)

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

        With aggregates each range is an arm. Otherwise each run of adjoining ranges is an arm, and a balanced CASE
        returns the ids: a single arm streams, while a UNION inside a derived table goes to a temporary table first.
        """
        check_ranges(key, ranges)
        columns = [f"t.{name}" for name in self._names(key)]
        arms = (
            [_aggregate(select, key, columns, r) for r in ranges]
            if aggregate
            else [_rows(select, key, columns, run) for run in _runs(ranges)]
        )
        # The relation is written once, since max_allowed_packet limits the statement; each arm evaluates it separately.
        head = f"WITH {RELATION} AS (SELECT r.* FROM {relation} AS r)\n"
        return head + "\nUNION ALL\n".join(arms)

    @override
    def range_bounds(self, relation: str, key: Sequence[Column], *, rows_per_range: int) -> str:
        key_names = self._names(key)
        inner = [_ordered(column, name) for column, name in zip(key, key_names, strict=True)]
        # a name of the user's is no alias: MariaDB removes spaces at its start
        plain = [value == f"t.{name}" for value, name in zip(inner, key_names, strict=True)]
        names = [name if same else f"qbcd_k{i}" for i, (name, same) in enumerate(zip(key_names, plain, strict=True))]
        named = ", ".join(
            value if same else f"{value} AS {name}" for value, same, name in zip(inner, plain, names, strict=True)
        )
        columns = [exp.Var(this=f"o.{name}") for name in names]
        texts = [_sql(bound_text(c, value)) for c, value in zip(key, columns, strict=True)]
        return numbered_bounds(relation, inner, texts, rows_per_range, named)

    @override
    def key_between(self, key: Sequence[Column], alias: str, within: KeyRange) -> str:
        check_ranges(key, [within])
        columns = [f"{alias}.{name}" if alias else name for name in self._names(key)]
        return _within(key, columns, within.lo, within.hi)

    def _names(self, key: Sequence[Column]) -> list[str]:
        return [self.facts.quote(c.name) for c in key]
