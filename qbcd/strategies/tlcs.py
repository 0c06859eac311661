"""TLCS, tuple-level checksum (Carnes & Hanson 3.3): the source keeps one digest a row instead of a copy of it.

Variant (b), the default, keeps key and digest in a table of qbcd's own; variant (a) keeps the digest in a column of the
captured table itself. Stored is the digest that was last *reported*: staging and write-back are one transaction, so a
row that changes in between differs from its digest at the next visit (docs/design/protocol.md#rule-12). Inserts and
deletes are decided by keys, never by a digest that is missing. Variant (d) leaves deletes out and saves the look at the
keys that are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qbcd.connectors.base import Connector
from qbcd.errors import ConfigError
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.strategies.base import Estimate, ReplicaContent
from qbcd.strategies.by_ranges import ByRanges
from qbcd.strategies.in_source import OutboxSlice

TYPES = ("int8", "bigint")


class Tlcs(ByRanges):
    """Statements of TLCS for one stream."""

    name = "tlcs"
    needs = "SELECT on the table; a schema of qbcd's own in the source, with room for key and digest of each row"

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan, schema)
        self.deletes = self.tells_gone = bool(plan.option("deletes"))
        self.column = str(plan.option("checksum_column") or "") if plan.option("checksums") == "column" else ""
        self.keeps: ReplicaContent = "digests" if not self.column else "keys" if self.deletes else "nothing"
        gone = "every insert, update and delete" if self.deletes else "every insert and update"
        self.sees = f"{gone}, without old values, as the net change between two visits of a range"
        self.misses = "old values and the names of changed columns; states between two visits" + (
            "" if self.deletes else "; deletes"
        )
        if self.column:
            self.needs = f"SELECT on the table and UPDATE of its column {self.column}, a bigint that may be NULL" + (
                "; a schema of qbcd's own in the source, with room for the keys" if self.deletes else ""
            )

    def check(self, place: Callable[[str], str] | None = None) -> None:
        """The checksum column is a nullable 64-bit integer that is not captured.

        Raises:
            ConfigError: It is not.
        """
        super().check(place)
        if not self.column:
            return
        column, name = self.plan.table.column(self.column), f"{self.plan.table.schema}.{self.plan.table.name}"
        where = place("checksum_column") if place else ""
        if column is None or column.base_type not in TYPES or not column.nullable:
            what = "does not exist" if column is None else f"is {column.sql_type}"
            what += " NOT NULL" if column is not None and not column.nullable else ""
            ddl = self.connector.ddl.missing_column(self.plan.table, self.column, "checksum")
            raise ConfigError(
                f'checksum column "{self.column}" of {name} {what}; it has to be a bigint that may be NULL',
                stream=self.plan.stream,
                where=where,
                remedy=f"add one: {ddl}" if column is None else "name one that is, or the name of one to be added",
            )
        if column in self.plan.captured:
            raise ConfigError(
                f'checksum column "{self.column}" is captured, so it would be part of its own checksum',
                stream=self.plan.stream,
                where=where,
                remedy=f"exclude: [{self.column}]",
            )

    def change_problem(self, *, columns: bool, where: bool) -> str:
        """Digests of other columns say nothing about these, and there are no values."""
        told = "checksums of other columns cannot be compared, and checksums in the source are all that is kept"
        return told if columns else ""

    def estimate(self) -> Estimate:
        """N + delta*W = 1.001 N (paper, 3.3; docs/paper.md#c15), and the table of digests beside it."""
        return self._scan_and_copy("N + W, W the pages of key and digest" if self.keeps != "nothing" else "N")

    def differences(self, part: OutboxSlice, within: KeyRange | None = None) -> Statement:
        """Rows whose digest is not the one last reported, or whose key is new or gone, into the outbox."""
        return self._part("changes", part, within)

    def apply(self, part: OutboxSlice, within: KeyRange | None = None) -> list[Statement]:
        """Digests and keys as reported now; in variant (a) written back into the table, whatever the row is by then."""
        if not self.column:
            return super().apply(part, within)
        return [*super().apply(part, within), self._part("checksum_write_back", part, within)]

    def baseline(self, part: OutboxSlice, *, events: bool) -> list[Statement]:
        """Fills the table of digests, or the column."""
        found = super().baseline(part, events=events)
        if not self.column:
            return found
        if events:
            return [*found, self._part("checksum_write_back", part)]
        return [self._compiled("checksum_column"), *found]

    def moved(self) -> Statement:
        """One row (n): rows whose captured values were changed by the write of their checksum, by a trigger say."""
        return self._compiled("checksum_moved")

    def _context(self) -> dict[str, Any]:
        pairs = "changed_only" if self.keeps == "nothing" else "full_join" if self.connector.full_join else "anti_join"
        return {"fresh": True, "checksum": self.column, "deletes": self.deletes, "pairs": pairs}
