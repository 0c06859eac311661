"""TLCS, tuple-level checksum (Carnes & Hanson 3.3): one digest a row instead of a copy.

Variant (b), the default, keeps key and digest in a table of qbcd's own; variant (a) keeps the digest in a column of the
captured table itself, and with the keys too: a row that is deleted and inserted again has lost its column. Stored is
the digest that was last *reported*: staging and write-back are one transaction, so a
row that changes in between differs from its digest at the next poll (docs/design/protocol.md#rule-12). Keys decide
inserts and deletes, never a missing digest. Variant (d) does not report deletes and saves the search for deleted keys.
Variant (c) keeps key and digest in the lake, on the replica and the ranges of ID/RCS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import model_validator

from qbcd.config.document import Problem, dotted
from qbcd.config.fields import Filled, Switch, split_table, wrong
from qbcd.config.strategy_base import StrategyClass, StrategyUse
from qbcd.connectors.base import Connector, Index
from qbcd.errors import ConfigError
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.strategies.base import Estimate, ReplicaContent
from qbcd.strategies.by_ranges import ByRanges, RangeOptions
from qbcd.strategies.id_rcs import SEES_BY_DIGEST, IdRcs
from qbcd.strategies.in_source import OutboxSlice, WriteRight

TYPES = ("int8", "bigint")
KEPT = "kept"  # in a plan and a checkpoint, for a column: what the replica keeps; only keys if an early version made it


class TlcsOptions(RangeOptions):
    """Options of the strategy that compares a checksum per row (paper section 3.3).

    Attributes:
        checksums: Their place: a table of qbcd's own, a column of the captured table, or the lake.
        checksum_column: That column.
        deletes: True if keys are compared as well, to find deleted rows.
    """

    meaning = ("checksums", "checksum_column", "deletes")

    type: Literal["tlcs"] = "tlcs"
    checksums: Literal["table", "column", "remote"] = "table"
    checksum_column: Filled | None = None
    deletes: Switch = True

    @model_validator(mode="after")
    def _column_named(self) -> TlcsOptions:
        if self.checksums == "column" and self.checksum_column is None:
            raise wrong("`checksum_column` is missing", "name the column that holds the checksums", at="checksums")
        given = self.model_fields_set & {"pages_per_range", "pace", "per_poll", "max_staleness"}
        if self.checksums == "remote" and given:
            what = "this is for ranges that are visited in the source, and `checksums: remote` compares under Spark"
            raise wrong(what, "remove it", at=min(given))
        if self.checksums != "column" and self.checksum_column is not None:
            what = "`checksum_column` goes with `checksums: column` only"
            raise wrong(what, "write `checksums: column`, or remove it", at="checksum_column")
        return self

    @property
    def options(self) -> dict[str, Any]:
        """All options; in the lake wing there is no pace."""
        values = super().options
        return {**values, "target": None} if self.checksums == "remote" else values

    @property
    def without_old_values(self) -> str:
        """The reason; a replica of digests never has old values."""
        return "keys and checksums are all that it keeps"

    @property
    def compares_digests(self) -> bool:
        """True in the lake wing: polls compare sums of digests, an audit each row's digest."""
        return self.checksums == "remote"

    def problems(self, use: StrategyUse) -> Iterator[Problem]:
        """Yield a problem if the column of the checksums is captured."""
        yield from super().problems(use)
        if self.checksum_column is None:
            return
        for key, names in (("key", use.key), ("columns", use.columns)):
            if self.checksum_column in (names or ()):
                what = f"the column of the checksums is listed in `{key}`: it would be part of its own checksum"
                yield use.option_problem("checksum_column", what, f"name another column, or take it out of `{key}`")

    @classmethod
    def problems_between(cls, uses: Sequence[tuple[Any, StrategyUse]]) -> Iterator[Problem]:
        """Yield a problem if two streams write one checksum column: each would miss changes."""
        first: dict[tuple[str, ...], StrategyUse] = {}
        for options, use in uses:
            if options.checksum_column is None or use.table is None:
                continue
            place = (use.source, *split_table(use.table), options.checksum_column)
            if first.setdefault(place, use) is not use:
                what = (
                    f"{dotted(first[place].path)} has its checksums in column {options.checksum_column!r} of "
                    f"{use.table} too: what one of them has seen the other would not find"
                )
                here = use.path if use.inherited else (*use.options_path, "checksum_column")
                yield Problem(here, what, "name a column of its own for each")

    @classmethod
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """Return TLCS with its checksums in the source or in the lake."""
        return LakeTlcs if options.get("checksums") == "remote" else Tlcs


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
        changes = "every insert, update and delete" if self.deletes else "every insert and update"
        self.sees = f"{changes}, without old values, as the net change between two polls of a range"
        self.misses = "old values and the names of changed columns; states between two polls of a range" + (
            "" if self.deletes else "; deletes"
        )
        if self.column:
            self.needs = f"SELECT on the table and UPDATE of its column {self.column}, a bigint that may be NULL" + (
                "; a schema of qbcd's own in the source, with room for key and digest of each row"
                if self.deletes
                else ""
            )

    def freeze_options(self, remembered: Mapping[str, Any] | None) -> StreamPlan:
        """Return the plan with the part of a row that the replica of a stream with a checksum column keeps."""
        if not (self.column and self.deletes):
            return self.plan
        return self.plan.with_options(**{KEPT: "digests" if remembered is None else remembered.get(KEPT, "keys")})

    def frozen_options(self) -> dict[str, Any]:
        """Return the part of a row that the replica keeps, if there is a checksum column too."""
        return {KEPT: "digests"} if self.column and self.keeps == "digests" else {}

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

    def change_problem(self, *, columns: bool, where: bool) -> str:
        """Return the problem of other columns: digests are not comparable, and there are no values."""
        problem = "checksums of other columns cannot be compared, and checksums in the source are all that is kept"
        return problem if columns else ""

    def estimate(self, indexes: Sequence[Index] = ()) -> Estimate:
        """Estimate N + delta*W = 1.001 N (paper, 3.3; docs/paper.md#c15), and the table of digests."""
        return self._scan_and_copy("N + W, W the pages of key and digest" if self.keeps != "nothing" else "N")

    def differences(self, part: OutboxSlice, within: KeyRange | None = None) -> Statement:
        """Write rows with a changed digest, a new key or a deleted key into the outbox.

        The replica's digests decide where there are some: a row may have lost its own, or have that of an older state.
        """
        return self._part("changes", part, within, checksum="" if self.keeps == "digests" else self.column)

    def apply(self, part: OutboxSlice, within: KeyRange | None = None) -> list[Statement]:
        """Store digests and keys as reported now.

        Variant (a) writes them into the table, even if the row has changed since.
        """
        if not self.column:
            return super().apply(part, within)
        return [*super().apply(part, within), self._part("checksum_write_back", part, within)]

    def baseline(self, part: OutboxSlice, *, events: bool) -> list[Statement]:
        """Fill the table of digests, or the column."""
        found = super().baseline(part, events=events)
        if not self.column:
            return found
        if events:
            return [*found, self._part("checksum_write_back", part)]
        return [self._compiled("checksum_column"), *found]

    def written_rows(self) -> Statement | None:
        """Count rows (n) whose captured values changed when their checksum was written.

        A trigger may do that.
        """
        return self._compiled("checksum_moved") if self.column else None

    def write_rights(self) -> list[WriteRight]:
        """Return UPDATE of the checksum column."""
        why = "to keep the checksums, and nothing else of the table"
        return [WriteRight("checksum_column", why, update=(self.column,))] if self.column else []

    def _context(self) -> dict[str, Any]:
        pairs = "changed_only" if self.keeps == "nothing" else "full_join" if self.connector.full_join else "anti_join"
        return {"fresh": True, "checksum": self.column, "deletes": self.deletes, "pairs": pairs}


class LakeTlcs(IdRcs):
    """Statements of TLCS with ``checksums: remote``."""

    name = "tlcs"
    by_hash = False
    needs = "SELECT on the table, and a key that the database can order; nothing is written to the source"

    def __init__(self, connector: Connector, plan: StreamPlan) -> None:
        super().__init__(connector, plan)
        self.keeps = "digests"
        self.deletes = bool(plan.option("deletes"))
        self.sees = SEES_BY_DIGEST if self.deletes else SEES_BY_DIGEST.replace(", update and delete", " and update")
        self.misses = "old values and the names of changed columns; states between two polls" + (
            "" if self.deletes else "; deletes"
        )
