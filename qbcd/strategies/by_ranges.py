"""Base of strategies that work range by range; the source chooses the bounds of key ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import model_validator
from typing_extensions import override

from qbcd.config.fields import Count, wrong
from qbcd.config.strategy_base import VisitOptions
from qbcd.connectors.ranges import SupportsPages
from qbcd.errors import UnsupportedPrimitive
from qbcd.model import Column, Consistency, KeyRange, Statement
from qbcd.ranges.partition import ROWS_PER_RANGE
from qbcd.sql import compile_sql, render
from qbcd.strategies.amounts import Amount, lifted
from qbcd.strategies.in_source import InSource, OutboxSlice, PollMode, sql_name
from qbcd.strategies.reads import Reads, TableFacts, Term

DEFAULT_PAGES = 200


class RangeOptions(VisitOptions):
    """Options of strategies that poll the source range by range (paper sections 3.4 and 3.5).

    Attributes:
        pages_per_range: Pages that a range touches when ranges are built, unless `rows_per_range` is given.
        rows_per_range: Rows that a range holds when ranges are built, instead of `pages_per_range`.
    """

    pages_per_range: Count | None = None
    rows_per_range: Count | None = None

    @model_validator(mode="after")
    def _one_size(self) -> RangeOptions:
        if self.pages_per_range is not None and self.rows_per_range is not None:
            what = "`pages_per_range` and `rows_per_range` cannot both be given"
            raise wrong(what, "remove one", at="rows_per_range")
        return self

    @property
    @override
    def options(self) -> dict[str, Any]:
        """Every option, with the default pages if no size of ranges is given."""
        values = super().options
        if self.rows_per_range is None and self.pages_per_range is None:
            values["pages_per_range"] = DEFAULT_PAGES
        return values


class ByRanges(InSource):
    """A strategy that polls key ranges, each in a short transaction (paper, 3.4).

    Attributes:
        by_ranges: Some polls read key ranges.
        reports_deletes: Deleted rows are reported.
        sweeps: A poll of a range finds deleted keys only, not the rows that leave the restriction.
        blind_to_deletes: Polls do not show deleted rows; a sweep or an audit finds them, or nothing does.
    """

    poll_mode: PollMode = "ranges"
    consistency: Consistency = "range"
    statements = (30, 31)
    by_ranges = True
    reports_deletes = True
    sweeps = False
    blind_to_deletes = False
    paged: ClassVar[tuple[str, ...]] = ("table", "partitioned", "matview")

    @override
    def reads(self, facts: TableFacts) -> Reads:
        """Return R*N + M + size(aux) (paper, 3.4) and the indexes of both keys, for a whole pass."""
        found = super().reads(facts)
        twice = 1 if self.connector.full_join else 2
        longest = found.longest.at_most(2 * self._range_pages * twice)
        return replace(found, formula=f"{found.formula} for a pass", longest=longest)

    @property
    def _range_pages(self) -> float:
        return float(self.plan.option("pages_per_range") or DEFAULT_PAGES)

    @override
    def _terms(self, facts: TableFacts) -> list[Term]:
        plan, size = self.plan, self._range_pages
        # the index of the key finds the rows of a range, if the table has more than one
        several = Amount(float(facts.scan.low > size), float(facts.scan.high > size))
        keys = (facts.key_pages(plan.key) + facts.key_index(plan.key, plan.table)) * several
        aux = lifted(lambda n: max(1.0, n / size / 80), facts.pages)
        return [*super()._terms(facts), Term("keys", (("keys", keys),), keys), Term("aux", (("aux", aux),), aux)]

    def bounds(self, within: KeyRange | None = None) -> Statement:
        """Return the query for the first key of every range but the first, chosen by the source.

        Ranges are sized by the pages touched in key order, or by rows. They never split equal keys, since a bound is a
        key (docs/paper.md#c16 to #c18).
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
        """Estimate the rows that `pages` pages hold if rows are clustered by key."""
        table = self.plan.table
        return max(1, round(pages * table.rows / table.pages)) if table.pages and table.rows > 0 else ROWS_PER_RANGE

    def _condition(self, within: KeyRange | None) -> str:
        parts = [f"(\n{self.plan.where}\n)"] if self.plan.where else []
        if within is not None:
            parts.append(self.connector.ranges.key_between(self.plan.key, "", within))
        return " AND ".join(parts)

    def _keys(self, within: KeyRange | None) -> tuple[str, Sequence[Column]]:
        """Return the keys of the table or of one range as a FROM item, with its columns."""
        plan, connector = self.plan, self.connector
        relation = f"({compile_sql(render('row_keys', table=plan.table, key=plan.key), connector, plan).sql})"
        if within is None:
            return relation, plan.key
        # under qbcd's own names: a key column may be called range_id
        named = [f"t.{connector.quote(c.name)} AS qbcd_{i}" for i, c in enumerate(plan.key)]
        ranged = f"({connector.ranges.per_range(named, relation, plan.key, [within], aggregate=False)})"
        return ranged, tuple(replace(c, name=f"qbcd_{i}") for i, c in enumerate(plan.key))

    def adopt(self, within: KeyRange) -> list[Statement]:
        """Return statements that add rows of a range to the replica before the comparison.

        Most strategies have none.
        """
        return []

    def sweep(self, part: OutboxSlice, within: KeyRange | None = None, reason: str = "") -> Statement:
        """Write replica rows whose keys the source no longer has into the outbox, as deletes."""
        return self._part("changes", part, within, pairs="gone", after=[], exits=False, reason=reason)

    def counted(self, ranges: Sequence[KeyRange]) -> Statement:
        """Return the query for rows (range_id, n) of the replica."""
        names = ", ".join(self.connector.quote(c.name) for c in self.plan.key)
        relation = f"(SELECT {names} FROM {sql_name(self.connector, self.replica)})"
        return Statement(
            self.connector.ranges.per_range(["COUNT(*) AS n"], relation, self.plan.key, ranges, aggregate=True)
        )

    @property
    def target_pages(self) -> int | None:
        """The pages that a range should have; None if its rows are what counts."""
        plan = self.plan
        pages, rows = plan.option("pages_per_range"), plan.option("rows_per_range")
        return int(pages) if pages and not rows and plan.table.kind in self.paged else None

    @property
    def shows_pages(self) -> bool:
        """True if the database shows the page of each row of the captured table."""
        shown = self.connector.supports(SupportsPages) and self.connector.require(SupportsPages).stored_page()
        return bool(shown) and self.plan.table.kind in self.paged

    def pages(self, ranges: Sequence[KeyRange]) -> Statement:
        """Return the query for rows (range_id, n): the pages that have rows of each range.

        The pages are those of the captured table.

        Only for a table that `shows_pages`.
        """
        plan, connector = self.plan, self.connector
        place = connector.require(SupportsPages).stored_page()
        keys = ", ".join(connector.quote(c.name) for c in plan.key)
        where = f" WHERE (\n{plan.where}\n)" if plan.where else ""
        relation = f"(SELECT {keys}, {place} AS qbcd_stored FROM {connector.quoted_table(plan.table)}{where})"
        select = ["COUNT(DISTINCT t.qbcd_stored) AS n"]
        return Statement(connector.ranges.per_range(select, relation, plan.key, ranges, aggregate=True))

    def estimated_pages(self, rows: int) -> int | None:
        """Return the pages of `rows` rows by the table's statistics; None without statistics."""
        table = self.plan.table
        return -(-rows * table.pages // table.rows) if table.pages > 0 and table.rows > 0 else None

    @override
    def row_count(self) -> Statement:
        """Return the query for one row (n), the table's restricted rows, for guards before a pass."""
        return self._compiled("row_count")
