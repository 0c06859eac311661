"""Ranges and buckets in SQL that most databases share.

Each range is an arm of a UNION ALL.
A connector whose database has a faster form overrides the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.buckets import Words
from qbcd.connectors.facts import DatabaseFacts
from qbcd.connectors.range_case import range_case
from qbcd.connectors.ranges import Ranges, check_ranges, numbered_bounds
from qbcd.model import Column, KeyRange


class PlainRanges(Ranges):
    """Ranges that are compared column by column, in any database.

    Args:
        text: The canonical text of a value, as `Expressions.canonical_text`.
        literal: A literal of a column's type, from such a text.
        bucket: SQL of the number of the bucket of a signed 64-bit number, at a depth of 1 or more.
    """

    def __init__(
        self,
        facts: DatabaseFacts,
        text: Callable[[Column, exp.Expression], exp.Expression],
        literal: Callable[[Column, str], exp.Expression],
        bucket: Callable[[str, int], str],
    ) -> None:
        super().__init__(facts)
        self._text, self._literal = text, literal
        self.bucket_words = Words(bucket, self._choice, summed_once="", read_once="")

    @staticmethod
    def _choice(value: str, ranges: Sequence[KeyRange]) -> str:
        return f"CAST({range_case(ranges, lambda lo: f'{value} < {lo[0]}')} AS BIGINT)"

    @override
    def bound(self, column: Column, text: str) -> exp.Expression:
        return self._literal(column, text)

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
        check_ranges(key, ranges)
        return "\nUNION ALL\n".join(
            f"SELECT CAST({one.range_id:d} AS BIGINT) AS range_id, {', '.join(select)}\n"
            f"FROM {relation} AS t WHERE {self.key_between(key, 't', one)}"
            for one in ranges
        )

    @override
    def range_bounds(self, relation: str, key: Sequence[Column], *, rows_per_range: int) -> str:
        names = [self.facts.quote(column.name) for column in key]
        texts = [
            self._text(column, exp.Var(this=f"o.{name}")).sql(dialect=self.facts.dialect)
            for column, name in zip(key, names, strict=True)
        ]
        return numbered_bounds(relation, [f"t.{name}" for name in names], texts, rows_per_range)

    @override
    def key_between(self, key: Sequence[Column], alias: str, within: KeyRange) -> str:
        check_ranges(key, [within])
        names = [self.facts.quote(column.name) for column in key]
        columns = [f"{alias}.{name}" if alias else name for name in names]
        ends = [(end, operator) for end, operator in ((within.lo, ">="), (within.hi, "<")) if end is not None]
        return " AND ".join(self._compared(key, columns, operator, end) for end, operator in ends) or "1 = 1"

    def _compared(self, key: Sequence[Column], columns: Sequence[str], operator: str, texts: Sequence[str]) -> str:
        """Return a comparison of whole keys, column by column."""
        values = [self._literal(c, text).sql(dialect=self.facts.dialect) for c, text in zip(key, texts, strict=True)]
        alternatives = []
        for i, column in enumerate(columns):
            equal = [f"{columns[j]} = {values[j]}" for j in range(i)]
            last = operator if i == len(key) - 1 else operator[0]
            alternatives.append(" AND ".join([*equal, f"{column} {last} {values[i]}"]))
        return alternatives[0] if len(alternatives) == 1 else f"({' OR '.join(f'({one})' for one in alternatives)})"
