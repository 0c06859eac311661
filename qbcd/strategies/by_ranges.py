"""What strategies that go range by range share (ID and TLCS): key ranges, picked by the source, and their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from qbcd.connectors.ranges import SupportsPages
from qbcd.errors import UnsupportedPrimitive
from qbcd.model import Column, Consistency, KeyRange, Statement
from qbcd.ranges.partition import ROWS_PER_RANGE
from qbcd.sql import compile_sql, render
from qbcd.strategies.in_source import InSource, PollMode, sql_name


class ByRanges(InSource):
    """A strategy that visits key ranges, each in a short transaction (paper, 3.4)."""

    poll_mode: PollMode = "ranges"
    consistency: Consistency = "range"
    by_ranges = True  # some poll of it goes range by range
    tells_gone = True  # rows whose keys are gone are told
    paged: ClassVar[tuple[str, ...]] = ("table", "partitioned", "matview")

    def bounds(self, within: KeyRange | None = None) -> Statement:
        """The first key of every range but the first, by pages touched in key order or by rows, picked by the source.

        A range never splits equal keys, since a bound is a key (docs/paper.md#c16 to #c18).
        """
        pages, rows = self.plan.option("pages_per_range"), self.plan.option("rows_per_range")
        if pages and not rows and self.plan.table.kind in self.paged:
            try:
                return Statement(
                    self.connector.require(SupportsPages).page_bounds(
                        self.plan.table, self.plan.key, self._condition(within), pages_per_range=int(pages)
                    )
                )
            except UnsupportedPrimitive:
                rows = self._rows_of(int(pages))
        relation, columns = self._keys(within)
        return Statement(
            self.connector.ranges.range_bounds(relation, columns, rows_per_range=int(rows or ROWS_PER_RANGE))
        )

    def _rows_of(self, pages: int) -> int:
        """About how many rows so many pages hold, where they are clustered by key."""
        table = self.plan.table
        return max(1, round(pages * table.rows / table.pages)) if table.pages and table.rows > 0 else ROWS_PER_RANGE

    def _condition(self, within: KeyRange | None) -> str:
        parts = [f"(\n{self.plan.where}\n)"] if self.plan.where else []
        if within is not None:
            parts.append(self.connector.ranges.key_between(self.plan.key, "", within))
        return " AND ".join(parts)

    def _keys(self, within: KeyRange | None) -> tuple[str, Sequence[Column]]:
        """The keys of the table or of one range as a FROM item, with the columns by the names they have there."""
        plan, connector = self.plan, self.connector
        relation = f"({compile_sql(render('row_keys', table=plan.table, key=plan.key), connector, plan).sql})"
        if within is None:
            return relation, plan.key
        # under names of our own: a key column may be called range_id
        named = [f"t.{connector.quote(c.name)} AS qbcd_{i}" for i, c in enumerate(plan.key)]
        ranged = f"({connector.ranges.per_range(named, relation, plan.key, [within], aggregate=False)})"
        return ranged, tuple(replace(c, name=f"qbcd_{i}") for i, c in enumerate(plan.key))

    def adopt(self, within: KeyRange) -> list[Statement]:
        """Statements that take rows of a range into the replica before it is compared; of most strategies none."""
        return []

    def counted(self, ranges: Sequence[KeyRange]) -> Statement:
        """Rows (range_id, n) of the replica, which is the table as it was last seen."""
        names = ", ".join(self.connector.quote(c.name) for c in self.plan.key)
        relation = f"(SELECT {names} FROM {sql_name(self.connector, self.replica)})"
        return Statement(
            self.connector.ranges.per_range(["COUNT(*) AS n"], relation, self.plan.key, ranges, aggregate=True)
        )

    def row_count(self) -> Statement:
        """One row (n) with the table's rows under the restriction: the guard's look before a pass."""
        return self._compiled("row_count")
