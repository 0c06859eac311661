"""Whole rows: captured rows travel and are compared here.

For databases that a JDBC driver alone reaches, under the names of the strategies whose changes it finds (`id_rcs`, and
`vbd` for a query). Ranges are those of an integer key, or buckets of a hash of the key: nothing depends on the order or
the equality of the database. If the database adds up row digests, only rows of ranges that differ travel; else all rows
do, and Spark digests and adds them up while it reads. Unchanged ranges are neither compared nor written.
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


def plan_sweeps(plan: StreamPlan) -> bool:
    """Return True if polls of windows look for deletes at an interval."""
    return bool(plan.option("deletes"))


class WholeRows(Strategy):
    """Facts about a stream whose rows travel, all or those of ranges that differ.

    Attributes:
        added_up: The fingerprint of the database's row digest; empty if rows are digested here.
        divided: ``key`` for ranges of an integer key, ``hash`` for hash buckets.
        readers: Connections that read at the same time.
        windows: Polls read the rows of a window of timestamps, and sweeps compare all.
        at_once: Each poll reads all rows by one statement, so that a batch is one state.
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
            self.ships_unchanged = "count and checksum of each range"
        self.at_once = plan.option("consistency") == "snapshot"
        if self.added_up or self.readers > 1 or (self.divided == "key" and not self.at_once):
            self.consistency = "range"
        self.windows = plan.strategy == "ts"
        if self.windows:
            self.ships_unchanged = "rows of the last `lag`"
            self.sees = "every insert and update, with old and new values"
            self.misses = f"{type(self).misses}; rows that are written without moving their timestamp, and deletes"
            if plan.option("deletes"):
                self.misses += ", until the next sweep"
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
        """The rows and bytes that travel, in words; empty if unknown."""
        rows, width = self.plan.table.rows, self.plan.table.row_width
        return f" ({rows:,} rows, about {rows * width:,} bytes)" if rows >= 0 else ""

    @override
    def frozen_options(self) -> dict[str, Any]:
        return {DIVIDED: self.divided, **({ADDED_UP: self.added_up} if self.added_up else {})}

    @override
    def warnings(self) -> list[str]:
        if self.windows and not plan_sweeps(self.plan):
            return ["a timestamp cannot show a deleted row, and nothing else looks for it (deletes: {every: 1h} does)"]
        if self.windows:
            return [f"each sweep reads {type(self).ships_unchanged}{self.size}; {LESS}"] if not self.added_up else []
        if self.added_up:
            return []
        return [f"each poll reads {type(self).ships_unchanged}{self.size}; {LESS}"]
