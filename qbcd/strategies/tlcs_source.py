"""TLCS, tuple-level checksum (Carnes & Hanson 3.3): digests show which rows changed.

Variant (b), the default, keeps key and digest in a table of qbcd's own; variant (a) keeps the digest in a column of the
captured table itself, and with the keys too: a row that is deleted and inserted again has lost its column. Stored is
the digest that was last *reported*: staging and write-back are one transaction, so a
row that changes in between differs from its digest at the next poll (docs/design/protocol.md#rule-12). Keys decide
inserts and deletes, never a missing digest. Variant (d) does not report deletes and saves the search for deleted keys.
With ``checksums: remote`` key and digest are in the lake, on the replica and the ranges of ID/RCS.

Old values are those of a copy (W in the paper's N + delta*W): with ``replica: source`` it is a table next to the
digests, of which a poll reads only the rows whose digest differs. Without a copy events have no old values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from typing_extensions import override

from qbcd.connectors.base import Connector
from qbcd.errors import ConfigError
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.strategies.amounts import NONE, Amount
from qbcd.strategies.base import ReplicaContent, WriteRight, table_name
from qbcd.strategies.by_ranges import ByRanges
from qbcd.strategies.in_source import OutboxSlice, OwnTable
from qbcd.strategies.reads import TableFacts, Term

TYPES = ("int8", "bigint")
KEPT = "kept"  # in a plan and a checkpoint, for a column: what the replica keeps; only keys if an early version made it


class Tlcs(ByRanges):
    """Statements of TLCS for one stream."""

    name = "tlcs"
    needs = "SELECT on the table; a schema of qbcd's own in the source, with room for key and digest of each row"

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan, schema)
        self.deletes = self.reports_deletes = bool(plan.option("deletes"))
        self.blind_to_deletes = not self.deletes
        self.column = str(plan.option("checksum_column") or "") if plan.option("checksums") == "column" else ""
        kept: ReplicaContent = "digests" if plan.option(KEPT) == "digests" else "keys"
        self.keeps: ReplicaContent = "digests" if not self.column else kept if self.deletes else "nothing"
        self.copy = (schema, table_name("copy", plan.stream)) if plan.option("replica") == "source" else None
        changes = "every insert, update and delete" if self.deletes else "every insert and update"
        values = "with" if self.copy else "without"
        self.sees = f"{changes}, {values} old values, as the net change between two polls of a range"
        self.misses = "" if self.copy else "old values and the names of changed columns; "
        self.misses += "states between two polls of a range" + ("" if self.deletes else "; deletes")
        room = f"key and digest of each row{', and a copy of the captured rows' if self.copy else ''}"
        own = f"; a schema of qbcd's own in the source, with room for {room}" if self.deletes or not self.column else ""
        writes = f" and UPDATE of its column {self.column}, a bigint that may be NULL" if self.column else ""
        self.needs = f"SELECT on the table{writes}{own}"

    @override
    def freeze_options(self, remembered: Mapping[str, Any] | None) -> StreamPlan:
        """Return the plan with the part of a row that the replica keeps.

        This is for a stream with a checksum column.
        """
        if not (self.column and self.deletes):
            return self.plan
        return self.plan.with_options(**{KEPT: "digests" if remembered is None else remembered.get(KEPT, "keys")})

    @override
    def frozen_options(self) -> dict[str, Any]:
        """Return the part of a row that the replica keeps, if there is a checksum column too."""
        return {KEPT: "digests"} if self.column and self.keeps == "digests" else {}

    @override
    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Check that the checksum column is a nullable 64-bit integer that is not captured.

        Raises:
            ConfigError: The column does not fit.
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

    @override
    def change_problem(self, *, columns: bool, where: bool) -> str:
        """Return the problem of other columns: digests are not comparable, and there are no values."""
        if not columns:
            return ""
        if self.copy:
            return (
                "checksums of other columns cannot be compared, and they decide which rows are compared with the copy"
            )
        return "checksums of other columns cannot be compared, and checksums in the source are all that is kept"

    @property
    @override
    def gives_old_values(self) -> bool:
        """True with a copy next to the digests."""
        return self.copy is not None

    @override
    def _terms(self, facts: TableFacts) -> list[Term]:
        """Return N + D + delta*W (paper, 3.3; docs/paper.md#c15).

        D is the digests, W the copy, for ranges.
        """
        found = super()._terms(facts)
        if self.copy is None:
            return found
        whole, keys = self._copy_pages(facts), facts.key_index(self.plan.key, self.plan.table)
        return [*found, Term("delta*W", (("W", whole),), changing=(whole, keys))]

    @override
    def kept_pages(self, facts: TableFacts) -> Amount:
        return super().kept_pages(facts) + (self._copy_pages(facts) if self.copy else NONE)

    def _copy_pages(self, facts: TableFacts) -> Amount:
        return facts.copied(self.plan.captured, self.plan.table)

    @override
    def tables(self) -> list[OwnTable]:
        """Return the stream's own tables; a copy is the last."""
        if self.copy is None:
            return super().tables()
        columns = tuple((c.name, self.connector.ddl.column_type(c)) for c in self.plan.captured)
        return [*super().tables(), OwnTable(self.copy, columns, self._key_names)]

    @property
    @override
    def replicas(self) -> tuple[tuple[str, str], ...]:
        """The digests, and the copy."""
        return super().replicas if self.copy is None else (*super().replicas, self.copy)

    @override
    def differences(self, part: OutboxSlice, within: KeyRange | None = None) -> Statement:
        """Write rows with a changed digest, a new key or a deleted key into the outbox.

        The replica's digests decide where there are some: a row may have lost its own, or have that of an older state.
        """
        return self._part("changes", part, within, checksum="" if self.keeps == "digests" else self.column)

    @override
    def complete(self, part: OutboxSlice, within: KeyRange | None = None) -> list[Statement]:
        """Read old values of changed and deleted rows from the copy, by key.

        This is the delta*W of the paper.
        """
        return [] if self.copy is None else [self._of_copy("outbox_old_values", part, within)]

    def _of_copy(self, template: str, part: OutboxSlice, within: KeyRange | None = None) -> Statement:
        """Return a statement about the copy, which keeps whole rows."""
        return self._part(template, part, within, replica=self.copy, keeps="rows", kept=self._images)

    @override
    def apply(self, part: OutboxSlice, within: KeyRange | None = None) -> list[Statement]:
        """Store digests, keys and copied rows as reported now.

        Variant (a) writes digests into the table, even if the row has changed since.
        """
        found = super().apply(part, within)
        if self.copy:
            found += [self._of_copy("replica_delete", part, within), self._of_copy("replica_insert", part)]
        return [*found, self._part("checksum_write_back", part, within)] if self.column else found

    @override
    def baseline(self, part: OutboxSlice, *, events: bool) -> list[Statement]:
        """Fill the table of digests, or the column, and the copy."""
        found = super().baseline(part, events=events)
        if self.copy:
            # both tables come from one read: a row that is written between two reads would differ from its digest
            staged = [*super().baseline(part, events=True), self._of_copy("replica_insert", part)]
            found = (
                staged
                if events
                else [*staged, self._compiled("outbox_forget", {"epoch": part.epoch, "batch_seq": part.seq})]
            )
        if not self.column:
            return found
        if events:
            return [*found, self._part("checksum_write_back", part)]
        return [self._compiled("checksum_column"), *found]

    @override
    def written_rows(self) -> Statement | None:
        """Count rows (n) whose captured values changed when their checksum was written.

        A trigger may do that.
        """
        return self._compiled("checksum_moved") if self.column else None

    @override
    def write_rights(self) -> list[WriteRight]:
        """Return UPDATE of the checksum column."""
        why = "to keep the checksums, and nothing else of the table"
        return [WriteRight("checksum_column", why, update=(self.column,))] if self.column else []

    @override
    def _context(self) -> dict[str, Any]:
        pairs = "changed_only" if self.keeps == "nothing" else "full_join" if self.connector.full_join else "anti_join"
        return {"fresh": True, "checksum": self.column, "deletes": self.deletes, "pairs": pairs}
