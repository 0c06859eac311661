"""What PostgreSQL's pages are good for: a scan in parts, and ranges of the storage that rows are looked up by.

A row's place is its ctid, page and line. Where a condition bounds it, the server reads the pages between the bounds and
no others, from release 14 on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from qbcd.connectors.base import Connector
from qbcd.connectors.postgresql import expressions, scans, statements
from qbcd.model import Column, KeyRange, Table, Travel

_PLACE = Column("qbcd_page", "tid", "tid", nullable=False, collation="", comparison="typed", travel=Travel("text"))


class Pages(Connector):
    """The primitives that speak of pages."""

    def has_shares(self, table: Table) -> bool:
        if any(c.fact("loose") for c in table.columns):  # a child table may be a foreign one, whose rows stand nowhere
            return False
        return table.kind in ("table", "matview") and table.pages > 0

    def page_share(self, table: Table, number: int, shares: int) -> exp.Expression:
        first, last = (table.pages * n // shares for n in (number, number + 1))
        parts = [f"ctid >= '({first},0)'::tid"] if number else []
        parts += [f"ctid < '({last},0)'::tid"] if number + 1 < shares else []  # the last one goes as far as the table
        return exp.Var(this=" AND ".join(parts) or "TRUE")

    def places_keys(self, key: Sequence[Column]) -> bool:
        return scans.places_keys(key)

    def scanned_sums(
        self, sums: Mapping[str, str], relation: str, key: Sequence[Column], ranges: Sequence[KeyRange]
    ) -> str:
        inside, place = scans.searched(key[0], f"t.{self.quote(key[0].name)}", ranges)
        inner = ", ".join(f"{sql} AS {name}" for name, sql in sums.items())
        outer = ", ".join(f"coalesce(g.{name}, 0) AS {name}" for name in sums)
        # OFFSET 0 keeps the digest from being computed twice, and the planner from sorting rows by their ranges.
        placed = (
            f"SELECT {place} AS place, {inner}\n"
            f"FROM (SELECT t.* FROM {relation} AS t WHERE {inside} OFFSET 0) AS t GROUP BY 1"
        )
        return scans.by_range(outer, placed, ranges)

    def row_page(self) -> exp.Expression:
        return exp.column("ctid")

    def per_pages(self, select: Sequence[str], relation: str, ranges: Sequence[KeyRange]) -> str:
        def body(condition: str) -> str:
            # Without OFFSET 0 the planner joins the list of ranges with the whole table, once for each of them.
            return f"SELECT {', '.join(select)} FROM (SELECT t.* FROM {relation} AS t WHERE {condition} OFFSET 0) AS t"

        placed = [replace(r, lo=_first_line(r.lo), hi=_first_line(r.hi)) for r in ranges]
        return statements.arms_of(body, [_PLACE], placed, [_PLACE.name])


def _first_line(bound: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The place before all rows of a page."""
    return None if bound is None else (f"({int(bound[0])},0)",)


def page_count(named: str) -> str:
    """The pages of a table of that quoted name."""
    regclass = exp.Literal.string(named).sql(dialect=expressions.DIALECT)
    return f"pg_relation_size({regclass}::regclass) / current_setting('block_size')::bigint"
