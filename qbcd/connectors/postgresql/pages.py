"""Pages of PostgreSQL as ranges: rows that are looked up by their pages.

The place of a row is its ctid: page and line. With a condition on the ctid the server reads only the pages between its
bounds, from release 14 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.facts import Collaborator
from qbcd.connectors.postgresql import expressions
from qbcd.connectors.postgresql import ranges as key_ranges
from qbcd.connectors.ranges import SupportsPages
from qbcd.errors import UnsupportedPrimitive
from qbcd.model import Column, KeyRange, Table, Travel

_PLACE = Column("qbcd_page", "tid", "tid", nullable=False, collation="", comparison="typed", travel=Travel("text"))


class PostgresPages(Collaborator, SupportsPages):
    """Ranges of pages."""

    @override
    def page_bounds(self, table: Table, key: Sequence[Column], where: str, *, pages_per_range: int) -> str:
        if table.kind not in ("table", "partitioned", "matview"):
            raise UnsupportedPrimitive(self.facts.name, f"page_bounds of a {table.kind}")
        if pages_per_range < 1:
            raise ValueError("a range must have at least one page")
        keys = [f"q{i}" for i in range(len(key))]
        listed = ", ".join(keys)
        named = ", ".join(f"t.{self.facts.quote(c.name)} AS q{i}" for i, c in enumerate(key))
        texts = ", ".join(
            f"{_sql(expressions.canonical_text(c, exp.column(q, table='o')))} AS k{i}"
            for i, (c, q) in enumerate(zip(key, keys, strict=True))
        )
        restricted = f" WHERE (\n{where}\n)" if where else ""
        return (
            f"SELECT {texts}\n"
            f"FROM (SELECT {listed}, turned, sum(turned) OVER (ORDER BY {listed} ROWS UNBOUNDED PRECEDING) AS turns\n"
            f"FROM (SELECT {listed}, CASE WHEN stored = lag(stored) OVER w AND page = lag(page) OVER w THEN 0 ELSE 1 "
            "END AS turned\n"
            f"FROM (SELECT {named}, t.tableoid AS stored, split_part(t.ctid::text, ',', 1) AS page\n"
            f"FROM {self.facts.quoted_table(table)} AS t{restricted}) AS pages\n"
            f"WINDOW w AS (ORDER BY {listed})) AS steps) AS o\n"
            f"WHERE o.turned = 1 AND o.turns > 1 AND mod(o.turns - 1, {pages_per_range}) = 0 "
            f"ORDER BY {', '.join(f'o.{q}' for q in keys)}"
        )

    @override
    def row_page(self) -> exp.Expression:
        return exp.column("ctid")

    @override
    def page_count(self, table: Table) -> str:
        regclass = _sql(exp.Literal.string(self.facts.quoted_table(table)))
        return f"pg_relation_size({regclass}::regclass) / current_setting('block_size')::bigint"

    @override
    def stored_page(self) -> str:
        return "(tableoid::bigint << 32) + (ctid::text::point)[0]::bigint"

    @override
    def per_pages(self, select: Sequence[str], relation: str, ranges: Sequence[KeyRange]) -> str:
        def body(condition: str) -> str:
            # Without OFFSET 0 the planner joins the list of ranges with the whole table, once for each range.
            return f"SELECT {', '.join(select)} FROM (SELECT t.* FROM {relation} AS t WHERE {condition} OFFSET 0) AS t"

        placed = [replace(r, lo=_first_line(r.lo), hi=_first_line(r.hi)) for r in ranges]
        return key_ranges.arms_of(body, [_PLACE], placed, [_PLACE.name])


def _first_line(bound: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the place before all rows of a page."""
    return None if bound is None else (f"({int(bound[0])},0)",)


def _sql(tree: exp.Expression) -> str:
    return tree.sql(dialect=expressions.DIALECT)
