"""Ranges of a table's pages: rows are grouped by their place in the storage, not by key.

A checksum pass reads the table in its own order, as a plain scan does. Rows that were written one after another are in
few ranges; the hash of a uuid would scatter them. The cost: an update may move a row from one range to another, so
ranges are valid for one state of the whole table only. Therefore a poll reads all rows of all dirty ranges, and they
replace these ranges in the replica in one commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from typing_extensions import override

from qbcd.connectors.ranges import SupportsPages
from qbcd.model import KeyRange, Statement
from qbcd.ranges import partition
from qbcd.ranges.partition import SMALL
from qbcd.strategies.partitions.base import SUMS, WHOLE, Partitioning, Share

Range = TypeVar("Range", bound=KeyRange)


class PagePartitioning(Partitioning):
    """Ranges of pages, whose bounds are page numbers; the last range ends with the table."""

    paged = True
    answers_all = True
    per_statement = 100_000

    @override
    def bounds(self, rows_per_range: int, within: KeyRange | None = None) -> Statement:
        """Return the query for the number of pages, and for the whole table also the number of rows."""
        pages = self.connector.require(SupportsPages).page_count(self.plan.table)
        if within is not None:
            return Statement(f"SELECT {pages} AS pages")
        return Statement(f"SELECT q.n, {pages} AS pages FROM ({self.row_count().sql}) AS q")

    @override
    def counted(self, found: Sequence[Any], rows_per_range: int) -> int:
        return int(found[0].n)

    @override
    def ranges(self, found: Sequence[Any], rows_per_range: int, first_id: int, most: int | None) -> list[KeyRange]:
        """Return ranges with equal numbers of pages."""
        wanted = -(-int(found[0].n) // rows_per_range)
        edges = _edges(0, int(found[0].pages), min(wanted, most or wanted))
        return partition.build(edges, first_id=first_id)

    @override
    def parts(
        self, found: Sequence[Any], rows_per_range: int, first_id: int, within: KeyRange, total: int
    ) -> list[KeyRange]:
        """Return parts with equal numbers of pages."""
        low = int(within.lo[0]) if within.lo else 0
        high = int(within.hi[0]) if within.hi else int(found[0].pages)
        return partition.build(_edges(low, high, -(-within.rows // rows_per_range)), first_id=first_id, within=within)

    @override
    def joined(self, known: Sequence[Range], rows_per_range: int, small: float = SMALL) -> list[list[Range]]:
        return partition.merge(known, rows_per_range, small)

    @override
    def checksums(self, asked: Sequence[KeyRange], *, leaves: bool = False) -> Statement:
        """Return a read of each range by its pages; there are no leaves."""
        if leaves:
            raise ValueError("ranges of pages have no leaves")
        select = [f"{sql} AS {name}" for name, sql in SUMS.items()]
        return Statement(self.connector.require(SupportsPages).per_pages(select, self.digests(), asked))

    @override
    def rows(
        self, asked: Sequence[KeyRange], select: Sequence[str], template: str, part: Share = WHOLE, **extra: Any
    ) -> Statement:
        """Return a read of each range by its pages."""
        return Statement(
            self.connector.require(SupportsPages).per_pages(select, self.relation(template, **extra), asked)
        )


def _edges(low: int, high: int, parts: int) -> list[tuple[str, ...]]:
    """Divide pages `low` to `high` into about `parts`; return all first pages but the first."""
    steps = (low + (high - low) * i // max(1, parts) for i in range(1, parts))
    return [(str(page),) for page in dict.fromkeys(steps) if low < page < high]
