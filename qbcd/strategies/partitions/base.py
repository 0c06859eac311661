"""Base class for the kinds of ranges into which a table's rows are divided.

Each kind has statements for the bounds of ranges, for count and checksum of each range, and for the rows of some.
Ranges of the key (`qbcd.strategies.partitions.key`) are read by its index, which is cheap if the key follows the
storage order. Ranges of a hash of the key, buckets, are in `qbcd.strategies.partitions.hash`, ranges of pages in
`qbcd.strategies.partitions.page`.
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

Share = tuple[int, int]  # (number from 0, number of shares)
WHOLE: Share = (0, 1)
Range = TypeVar("Range", bound=KeyRange)
Query = Callable[[Sequence[KeyRange], Share], Statement]
# Below it, rows found by an index are so scattered that a scan which finds the range of each row costs less. Measured
# (benchmarks/README.md, `moved_rows`), this is so if more than a twentieth of the rows have moved.
FOLLOWED = 0.95
# n and digests are the same, or a digest was NULL
SUMS = {"n": "COUNT(*)", "digests": "COUNT(t.qbcd_digest)", "checksum": "COALESCE(SUM(t.qbcd_digest), 0)"}
TOTAL = "COUNT(*) AS n, COALESCE(SUM(t.qbcd_digest), 0) AS checksum"  # the digest is computed once a row


class Partitioning(ABC):
    """Ranges of one stream and the statements that read them.

    Args:
        checksum_template: Template of the rows that checksums add up.

    Attributes:
        hashed: Ranges are of the key's hash.
        paged: Ranges are of the table's pages; an unchanged row may move to another range.
        one_state: A poll sees one state of the table; otherwise each statement sees its own.
        per_statement: Maximal number of ranges in one statement.
        answers_all: The result includes ranges without rows.
    """

    hashed: ClassVar[bool] = False
    paged: ClassVar[bool] = False
    answers_all: ClassVar[bool]
    per_statement: int

    def __init__(self, connector: Connector, plan: StreamPlan, checksum_template: str) -> None:
        self.connector = connector
        self.plan = plan
        self.checksum_template = checksum_template
        shared = connector.supports(SupportsSnapshots) and not plan.table.remote
        self.one_state = shared and plan.option("consistency") != "range"

    def row_count(self) -> Statement:
        """Return the query for one row (n), the table's rows in the restriction."""
        return compile_sql(render("row_count", table=self.plan.table, flag=""), self.connector, self.plan)

    @abstractmethod
    def bounds(self, rows_per_range: int, within: KeyRange | None = None) -> Statement | None:
        """Return the query to run before the table or one range is divided; None if none is needed."""

    @abstractmethod
    def ranges(self, found: Sequence[Any], rows_per_range: int, first_id: int, most: int | None) -> list[KeyRange]:
        """Return the ranges of the whole table.

        Args:
            found: Rows of `bounds`.
            rows_per_range: Intended rows of a range.
            most: Maximal number of ranges, or None.
        """

    @abstractmethod
    def parts(
        self, found: Sequence[Any], rows_per_range: int, first_id: int, within: KeyRange, total: int
    ) -> list[KeyRange]:
        """Divide one range; return its parts.

        Args:
            found: Rows of `bounds`; none if it has no query.
            rows_per_range: Intended rows of a range.
            within: The range, with its present row count.
            total: Rows of the table.
        """

    @abstractmethod
    def counted(self, found: Sequence[Any], rows_per_range: int) -> int:
        """Estimate the table's rows from the rows of `bounds` for ranges of `rows_per_range`."""

    def excluded(self, ranges: Sequence[KeyRange]) -> Statement | None:
        """Return the query for (range_id) of `ranges` in which the restriction allows no row.

        None if it cannot exclude any, as with ranges that are not of the key.
        """
        return None

    @abstractmethod
    def joined(self, known: Sequence[Range], rows_per_range: int, small: float = SMALL) -> list[list[Range]]:
        """Group all ranges, in order; each group becomes one range, so that small ranges are merged.

        Args:
            rows_per_range: Intended rows of a range.
            small: Share of `rows_per_range` below which a range is small.
        """

    @abstractmethod
    def checksums(self, asked: Sequence[KeyRange], *, leaves: bool = False) -> Statement:
        """Return the query for rows (range_id, n, digests, checksum) of `asked`.

        If a digest was NULL, n > digests.

        With `leaves` there is also ``leaves``, in which a leaf of a bucket may appear twice.
        """

    @abstractmethod
    def rows(
        self, asked: Sequence[KeyRange], select: Sequence[str], template: str, part: Share = WHOLE, **extra: Any
    ) -> Statement:
        """Return the query for `select` over a template's rows in `asked`, with range_id.

        Args:
            select: Output columns over alias ``t``.
            template: A query of rows.
            part: Part of the storage to read, if these ranges can be read in parts.
            extra: Further variables of the template.
        """

    def passes(self, known: Sequence[KeyRange], connections: int, *, leaves: bool = False) -> list[list[Statement]]:
        """Return by connection the statements of a checksum pass.

        Results of several for one range add up.

        With `leaves` rows also have the checksums of the range's leaves (`qbcd.ranges.leaves`).
        """
        asked = partition.statements(known, connections, self.per_statement)
        return [[self.checksums(part, leaves=leaves) for part in own] for own in asked]

    def totals(self, connections: int) -> list[list[Statement]]:
        """Return by connection the statement for its part of the storage: one row (n, checksum).

        A row without a digest is counted but not added, so the totals never match those of ranges.
        """
        parts = [self.digests(part) for part in self.parts_of_storage(connections)]
        return [[Statement(f"SELECT {TOTAL}\nFROM {relation} AS t")] for relation in parts]

    def shared(self, query: Query, asked: Sequence[KeyRange], readers: int, rows: float = math.inf) -> list[Statement]:
        """Return `query` over `asked` as statements for `readers` to share.

        Each range is in one of them.

        Args:
            query: Makes the statement over some ranges, or over a part of the storage.
            readers: Number of connections.
            rows: Maximal rows of a statement, unless it is a scan or one range has more.
        """
        shares = partition.statements(asked, readers, self.per_statement, rows)
        return [query(some, WHOLE) for own in shares for some in own]

    @property
    def is_parted(self) -> bool:
        """True if each connection can scan a part: all see one state, and the table is stored."""
        return self.one_state and self.connector.ranges.has_shares(self.plan.table)

    @property
    def is_placed(self) -> bool:
        """True if such scans can find the range of each row by its key."""
        return self.is_parted and self.connector.require(SupportsScans).places_keys(self.plan.key)

    def parts_of_storage(self, wanted: int) -> list[Share]:
        """Return parts of the storage for `wanted` connections, or the whole if not divisible."""
        number = max(1, min(wanted, self.plan.table.pages)) if self.is_parted else 1
        return [(i, number) for i in range(number)]

    def key_follows(self) -> float | None:
        """Return the correlation of storage order and key, 0..1, by the catalog; None if unknown."""
        table = self.plan.table
        known = table.primary_key or next(iter(table.unique_keys), ())
        is_known = bool(self.plan.key) and known[:1] == (self.plan.key[0].name,) and table.key_correlation is not None
        return abs(table.key_correlation or 0.0) if is_known else None

    def digests(self, part: Share = WHOLE, *, leaves: bool = False) -> str:
        """Return captured rows, or a part of them, as a FROM item.

        It has the key or its hash, and `qbcd_digest`.
        """
        return self.relation(self.checksum_template, part, leaves=leaves)

    def relation(self, template: str, part: Share = WHOLE, **extra: Any) -> str:
        """Return a template's rows, or those of a part of the storage, as a FROM item."""
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
        """Return statements for ``range_id, *select`` over a template's rows, looked up by key."""
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
