"""Ranges of an even hash of the key (buckets): one scan reads them in any row order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from typing_extensions import override

from qbcd.connectors.base import Connector
from qbcd.connectors.ranges import SupportsLeafChecksums
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.ranges import hash_buckets, partition, row_selection
from qbcd.ranges.leaves import are_some
from qbcd.ranges.partition import SMALL
from qbcd.strategies.partitions.base import SUMS, WHOLE, Partitioning, Query, Share

Range = TypeVar("Range", bound=KeyRange)
HASH, DIGEST = "qbcd_hash", "qbcd_digest"  # the relations' columns of the key's hash, and of the row's digest
UNEVEN = 3  # levels that a bucket may be deeper than its table needs


class HashPartitioning(Partitioning):
    """Ranges of the key's hash: split without a query, all read by one scan.

    A row without a key is identified by its digest, which is already a hash of it.
    """

    hashed = True
    answers_all = False
    per_statement = 100_000

    def __init__(self, connector: Connector, plan: StreamPlan, checksum_template: str) -> None:
        super().__init__(connector, plan, checksum_template)
        self._hash = HASH if plan.key else DIGEST

    @override
    def bounds(self, rows_per_range: int, within: KeyRange | None = None) -> Statement | None:
        """Return the query for the table's row count; None for one range, whose count is known."""
        if within is not None:
            return None
        return self.row_count()

    @override
    def counted(self, found: Sequence[Any], rows_per_range: int) -> int:
        return int(found[0].n)

    @override
    def ranges(self, found: Sequence[Any], rows_per_range: int, first_id: int, most: int | None) -> list[KeyRange]:
        """Return halves of all hashes, halves of halves, and so on."""
        depth = hash_buckets.depth_for(int(found[0].n), rows_per_range)
        return hash_buckets.divided(min(depth, most.bit_length() - 1) if most else depth, first_id=first_id)

    @override
    def parts(
        self, found: Sequence[Any], rows_per_range: int, first_id: int, within: KeyRange, total: int
    ) -> list[KeyRange]:
        """Return halves of the range, halves of these, and so on."""
        # a bucket that is still large this deep has rows of one hash, which cannot be divided
        depth = hash_buckets.depth_of([within]) + hash_buckets.depth_for(within.rows, rows_per_range)
        depth = min(depth, hash_buckets.depth_for(total, rows_per_range) + UNEVEN, hash_buckets.DEEPEST)
        if depth <= hash_buckets.depth_of([within]):
            return [within]
        return hash_buckets.divided(depth, first_id=first_id, within=within)

    @override
    def joined(self, known: Sequence[Range], rows_per_range: int, small: float = SMALL) -> list[list[Range]]:
        """Group the halves of one bucket."""
        return hash_buckets.joined(
            known, lambda rows, others: partition.should_merge(rows, others, rows_per_range, small)
        )

    @override
    def checksums(self, asked: Sequence[KeyRange], *, leaves: bool = False) -> Statement:
        """Return one scan for all ranges."""
        return self._sums(asked, WHOLE, leaves=leaves)

    @override
    def passes(self, known: Sequence[KeyRange], connections: int, *, leaves: bool = False) -> list[list[Statement]]:
        """Return one scan, divided among connections if they see one snapshot."""
        parts = self.parts_of_storage(connections)
        if len(parts) == 1:
            return super().passes(known, 1, leaves=leaves)
        return [[self._sums(known, part, leaves=leaves)] for part in parts]

    @override
    def rows(
        self, asked: Sequence[KeyRange], select: Sequence[str], template: str, part: Share = WHOLE, **extra: Any
    ) -> Statement:
        """Return one scan for all ranges, except for rows that are looked up."""
        found = row_selection.parted(asked)
        arms = []
        if found.whole:
            relation = self.relation(template, part, leaves=are_some(found.whole), **extra)
            arms.append(self.connector.ranges.bucket_rows(select, relation, self._hash, found.whole))
        arms += self.looked_up(found, select, template, **extra)
        return Statement("\nUNION ALL\n".join(arms))

    @override
    def shared(self, query: Query, asked: Sequence[KeyRange], readers: int, rows: float = math.inf) -> list[Statement]:
        """Return one scan, divided among readers of one snapshot, otherwise one scan for each.

        Rows that are looked up by key are distributed over the same statements.
        """
        parts = self.parts_of_storage(readers)
        if len(parts) == 1:
            return super().shared(query, asked, readers)
        whole, by_key = ([r for r in asked if row_selection.is_by_key(r) is looked_up] for looked_up in (False, True))
        shares = [by_key[number::total] for number, total in parts]
        return [query([*whole, *own], part) for part, own in zip(parts, shares, strict=True) if whole or own]

    def _sums(self, asked: Sequence[KeyRange], part: Share, *, leaves: bool) -> Statement:
        relation = self.digests(part, leaves=leaves)
        if leaves:
            return Statement(self.connector.require(SupportsLeafChecksums).bucket_leaves(relation, self._hash, asked))
        return Statement(self.connector.ranges.bucket_sums(SUMS, relation, self._hash, asked))
