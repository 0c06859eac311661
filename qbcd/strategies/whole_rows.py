"""Whole rows: captured rows travel and are compared here.

For databases that a JDBC driver alone reaches, under the names of the strategies whose changes it finds (`id_rcs`, and
`vbd` for a query). Ranges are those of an integer key, or buckets of a hash of the key: nothing depends on the order or
the equality of the database. If the database adds up row digests, only rows of ranges that differ travel; else all rows
do, and are digested here. Unchanged ranges are neither compared nor written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from qbcd.model import Column, Consistency, StreamPlan
from qbcd.strategies.base import Strategy
from qbcd.strategies.id_rcs import SEES_BY_DIGEST

LESS = "fewer columns, `where`, a longer `every` or a connector of its own would make it less"
ADDED_UP, DIVIDED = "digests", "buckets"  # options that are fixed at `prepare`
READERS = "readers"


class WholeRows(Strategy):
    """Facts about a stream whose rows travel, all or those of ranges that differ.

    Attributes:
        added_up: The fingerprint of the database's row digest; empty if rows are digested here.
        divided: ``key`` for ranges of an integer key, ``hash`` for hash buckets.
        readers: Connections that read at the same time.
    """

    name = "id_rcs"
    site = "lake"
    consistency: Consistency = "statement"
    ships_unchanged = "all captured values of all rows of the table"
    needs = "SELECT, a JDBC driver, and a key or `key: none`; all captured rows travel at each poll"
    sees = "every insert, update and delete, with old and new values, as the net change between two polls"
    misses = "states between two polls (a row inserted and deleted again leaves no event)"

    def __init__(self, plan: StreamPlan) -> None:
        super().__init__(plan)
        self.added_up: str = plan.option(ADDED_UP) or ""
        self.divided: str = plan.option(DIVIDED) or "hash"
        self.readers: int = plan.option(READERS) or 1
        if self.added_up:
            self.needs = "SELECT, a JDBC driver, and a key or `key: none`"
        if self.added_up or self.readers > 1:
            self.consistency = "range"
        if plan.option("replica") == "digest":
            self.keeps = "digests"
            self.sees = SEES_BY_DIGEST
            self.misses = f"{type(self).misses}; old values and the names of changed columns"

    @property
    @override
    def label(self) -> str:
        return self.plan.strategy

    @property
    def stored_columns(self) -> Sequence[Column]:
        """The captured columns whose values the replica keeps."""
        return self.plan.captured if self.keeps == "rows" else self.plan.key

    @override
    def change_problem(self, *, columns: bool, where: bool) -> str:
        return "the replica has only the rows and columns that were captured before" if columns or where else ""

    @property
    def size(self) -> str:
        """The rows and bytes that travelled at the last poll, in words; empty before the first one."""
        rows, width = self.plan.table.rows, self.plan.table.row_width
        return f" ({rows:,} rows, about {rows * width:,} bytes at the last poll)" if rows >= 0 else ""

    @override
    def frozen_options(self) -> dict[str, Any]:
        return {DIVIDED: self.divided, **({ADDED_UP: self.added_up} if self.added_up else {})}

    @override
    def warnings(self) -> list[str]:
        if self.added_up:
            return []
        return [f"each poll reads {self.ships_unchanged}{self.size}; {LESS}"]
