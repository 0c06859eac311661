"""How the rows of a table are put into ranges, and ranges of the key itself.

Each is asked for the same: bounds, count and checksum of each range, the rows of some. Ranges of the key are looked up
by its index, which is cheap where the key follows the storage order. Ranges of a hash of the key, buckets, are in
`qbcd.strategies.partitions.hash`, those of pages in `qbcd.strategies.partitions.page`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from qbcd.connectors.base import Connector
from qbcd.connectors.ranges import SupportsKeyLookup, SupportsLeafChecksums, SupportsScans
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.ranges import partition, row_selection
from qbcd.ranges.partition import SMALL
from qbcd.sql import compile_sql, render

Share = tuple[int, int]  # number (from 0) and how many there are
WHOLE: Share = (0, 1)
Range = TypeVar("Range", bound=KeyRange)
Query = Callable[[Sequence[KeyRange], Share], Statement]
# Below it an index leads to rows in so many other places that a scan which finds the range of each row costs less. By
# measurement (benchmarks/README.md, `moved_rows`) that is so where more than a twentieth of them have moved.
FOLLOWED = 0.95
# n and digests are the same, or a digest was NULL
SUMS = {"n": "COUNT(*)", "digests": "COUNT(t.qbcd_digest)", "checksum": "COALESCE(SUM(t.qbcd_digest), 0)"}
TOTAL = "COUNT(*) AS n, COALESCE(SUM(t.qbcd_digest), 0) AS checksum"  # the digest is computed once a row


class Partitioning(ABC):
    """Ranges of one stream and the statements that ask for them.

    Args:
        connector: The source's dialect and primitives.
        plan: The stream.
        sums_of: Template of the rows that checksums sum.

    Attributes:
        hashed: Ranges are of the key's hash.
        paged: Ranges are of the table's pages; a row may get into another one without being changed.
        one_state: All that a poll reads is of one state of the table; else each statement sees its own.
        per_statement: How many ranges one statement may answer for.
        answers_all: A range without rows is answered too.
    """

    hashed: ClassVar[bool] = False
    paged: ClassVar[bool] = False
    answers_all: ClassVar[bool]
    per_statement: int

    def __init__(self, connector: Connector, plan: StreamPlan, sums_of: str) -> None:
        self.connector = connector
        self.plan = plan
        self.sums_of = sums_of
        shared = connector.supports(SupportsSnapshots) and not plan.table.remote
        self.one_state = shared and plan.option("consistency") != "range"

    def row_count(self) -> Statement:
        """One row (n) with the table's rows under the restriction."""
        return compile_sql(render("row_count", table=self.plan.table, flag=""), self.connector, self.plan)

    @abstractmethod
    def bounds(self, rows_per_range: int, within: KeyRange | None = None) -> Statement | None:
        """What has to be asked before the table or one range is cut; None where that is nothing."""

    @abstractmethod
    def ranges(self, found: Sequence[Any], rows_per_range: int, first_id: int, most: int | None) -> list[KeyRange]:
        """The ranges of the whole table.

        Args:
            found: Rows of `bounds`.
            rows_per_range: How many rows a range should hold.
            first_id: The first new id.
            most: How many ranges there may be, or None.
        """

    @abstractmethod
    def parts(
        self, found: Sequence[Any], rows_per_range: int, first_id: int, within: KeyRange, total: int
    ) -> list[KeyRange]:
        """What one range is cut into.

        Args:
            found: Rows of `bounds`, none where there was nothing to ask.
            rows_per_range: How many rows a range should hold.
            first_id: The first new id.
            within: The range, whose rows are those of now.
            total: Rows of the table.
        """

    @abstractmethod
    def counted(self, found: Sequence[Any], rows_per_range: int) -> int:
        """About how many rows the table has, by the rows of `bounds` for ranges of so many."""

    @abstractmethod
    def joined(self, known: Sequence[Range], rows_per_range: int, small: float = SMALL) -> list[list[Range]]:
        """All ranges, in order, as groups that had better be one range each, since some of them have become small.

        Args:
            known: The ranges.
            rows_per_range: How many rows a range should hold.
            small: The share of these below which one is small.
        """

    @abstractmethod
    def checksums(self, asked: Sequence[KeyRange], *, leaves: bool = False) -> Statement:
        """Rows (range_id, n, digests, checksum) of `asked`; n = digests or a digest was NULL.

        With `leaves` there is also ``leaves``; of a bucket, one may stand in it twice.
        """

    @abstractmethod
    def rows(
        self, asked: Sequence[KeyRange], select: Sequence[str], template: str, part: Share = WHOLE, **extra: Any
    ) -> Statement:
        """`select` over a template's rows in `asked`, and their range_id; of a part of the storage where that is asked.

        Args:
            asked: The ranges.
            select: Output columns over alias ``t``.
            template: A query of rows.
            part: Of the storage, where a cut can be read in parts.
            extra: What else the template takes.
        """

    def passes(self, known: Sequence[KeyRange], connections: int, *, leaves: bool = False) -> list[list[Statement]]:
        """By connection, the statements of a checksum pass; what several say of one range adds up.

        With `leaves` rows have what the range's leaves add up to as well (`qbcd.ranges.leaves`).
        """
        asked = partition.statements(known, connections, self.per_statement)
        return [[self.checksums(part, leaves=leaves) for part in own] for own in asked]

    def totals(self, connections: int) -> list[list[Statement]]:
        """By connection, the statement that adds up its part of the storage: one row (n, checksum).

        A row without a digest is counted and not added, so that the two are none that ranges ever add up to.
        """
        parts = [self.digests(part) for part in self.parts_of_storage(connections)]
        return [[Statement(f"SELECT {TOTAL}\nFROM {relation} AS t")] for relation in parts]

    def shared(self, query: Query, asked: Sequence[KeyRange], readers: int, rows: float = math.inf) -> list[Statement]:
        """`query` over `asked` by statements that so many readers share; each range is read by one of them.

        Args:
            query: The statement over some ranges, or over the part of the storage that they are read from.
            asked: The ranges.
            readers: How many connections there are.
            rows: How many rows a statement may bring, where it is not a scan and its ranges are not larger.
        """
        shares = partition.statements(asked, readers, self.per_statement, rows)
        return [query(some, WHOLE) for own in shares for some in own]

    @property
    def is_parted(self) -> bool:
        """Whether connections may each scan a part of the storage: they see one state, and the table is stored."""
        return self.one_state and self.connector.ranges.has_shares(self.plan.table)

    @property
    def is_placed(self) -> bool:
        """Whether such scans find the range of each row by its key."""
        return self.is_parted and self.connector.require(SupportsScans).places_keys(self.plan.key)

    def parts_of_storage(self, wanted: int) -> list[Share]:
        """Parts of the storage for so many connections; the whole where a scan cannot be parted."""
        number = max(1, min(wanted, self.plan.table.pages)) if self.is_parted else 1
        return [(i, number) for i in range(number)]

    def key_follows(self) -> float | None:
        """How far rows stand in the order of their keys, 0..1, by the catalog; None where it does not say."""
        table = self.plan.table
        known = table.primary_key or next(iter(table.unique_keys), ())
        told = bool(self.plan.key) and known[:1] == (self.plan.key[0].name,) and table.key_correlation is not None
        return abs(table.key_correlation or 0.0) if told else None

    def digests(self, part: Share = WHOLE, *, leaves: bool = False) -> str:
        """The captured rows as a FROM item with key or hash and `qbcd_digest`; or those of a part of the storage."""
        return self.relation(self.sums_of, part, leaves=leaves)

    def relation(self, template: str, part: Share = WHOLE, **extra: Any) -> str:
        """A template's rows, or those of a part of the storage, as a FROM item."""
        plan, (number, parts) = self.plan, part
        off = dict.fromkeys(("ranged", "windowed", "settled", "keyed", "leaves", "written_since"), False)
        context = {"hashed": self.hashed, "paged": self.paged, "was": (), **off, **extra}
        rendered = render(
            template, table=plan.table, key=plan.key, captured=plan.captured, share=number, shares=parts, **context
        )
        return f"({compile_sql(rendered, self.connector, plan).sql})"

    def looked_up(
        self, found: row_selection.Asked[Any], select: Sequence[str], template: str, **extra: Any
    ) -> list[str]:
        """Statements for ``range_id, *select`` over those of a template's rows that are asked for by key."""
        if not found.numbers and not found.texts:
            return []
        relation, key, arms = self.relation(template, **extra, hashed=False), self.plan.key, list[str]()
        if found.numbers:
            arms.append(
                self.connector.require(SupportsLeafChecksums).of_whole_numbers(select, relation, key[0], found.numbers)
            )
        if found.texts:
            ids, keys = zip(*found.texts, strict=True)
            arms.append(self.connector.require(SupportsKeyLookup).of_keys(select, relation, key, keys, ids))
        return arms
