"""Ranges of the key itself, found by its index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from qbcd.connectors.base import Connector
from qbcd.connectors.ranges import SupportsLeafChecksums, SupportsScans
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.ranges import partition, row_selection
from qbcd.ranges.leaves import are_some
from qbcd.ranges.partition import SMALL
from qbcd.sql import excluded_ranges
from qbcd.strategies.partitions.base import FOLLOWED, SUMS, WHOLE, Partitioning, Range, Share


class KeyPartitioning(Partitioning):
    """Ranges of the key; the source chooses the bounds and formats them."""

    answers_all = True

    def __init__(self, connector: Connector, plan: StreamPlan, checksum_template: str) -> None:
        super().__init__(connector, plan, checksum_template)
        self.per_statement = connector.ranges_per_statement

    @override
    def bounds(self, rows_per_range: int, within: KeyRange | None = None) -> Statement:
        """Return the query for the first key of every range but the first."""
        keys, connector, columns = self.relation("row_keys"), self.connector, self.plan.key
        if within is not None:
            # under qbcd's own names: a key column may be called range_id
            names = [f"t.{connector.quote(c.name)} AS qbcd_{i}" for i, c in enumerate(columns)]
            keys = f"({connector.ranges.per_range(names, keys, columns, [within], aggregate=False)})"
            columns = tuple(replace(c, name=f"qbcd_{i}") for i, c in enumerate(columns))
        return Statement(connector.ranges.range_bounds(keys, columns, rows_per_range=rows_per_range))

    @override
    def counted(self, found: Sequence[Any], rows_per_range: int) -> int:
        """Estimate by the number of ranges."""
        return (len(found) + 1) * rows_per_range

    @override
    def ranges(self, found: Sequence[Any], rows_per_range: int, first_id: int, most: int | None) -> list[KeyRange]:
        """Return the ranges between the keys that the source chose, or some of them."""
        return partition.build(self._keys(partition.thinned(found, most)), first_id=first_id)

    @override
    def parts(
        self, found: Sequence[Any], rows_per_range: int, first_id: int, within: KeyRange, total: int
    ) -> list[KeyRange]:
        """Return the ranges between the keys that the source chose."""
        return partition.build(self._keys(found), first_id=first_id, within=within)

    @override
    def excluded(self, ranges: Sequence[KeyRange]) -> Statement | None:
        """Return the query if the restriction limits the first column of the key."""
        return excluded_ranges(self.connector, self.plan, ranges)

    def _keys(self, found: Sequence[Any]) -> list[tuple[str, ...]]:
        return [tuple(str(v) for v in row) for row in found]

    @override
    def joined(self, known: Sequence[Range], rows_per_range: int, small: float = SMALL) -> list[list[Range]]:
        return partition.merge(known, rows_per_range, small)

    @override
    def checksums(self, asked: Sequence[KeyRange], *, leaves: bool = False) -> Statement:
        """Return a read of each range by the index of the key."""
        if leaves:
            return Statement(
                self.connector.require(SupportsLeafChecksums).range_leaves(
                    self.digests(leaves=True), self.plan.key, asked
                )
            )
        select = [f"{sql} AS {name}" for name, sql in SUMS.items()]
        return Statement(self.connector.ranges.per_range(select, self.digests(), self.plan.key, asked, aggregate=True))

    @override
    def passes(self, known: Sequence[KeyRange], connections: int, *, leaves: bool = False) -> list[list[Statement]]:
        """Return one scan in storage order if rows do not follow key order, otherwise index reads."""
        key, connector = self.plan.key, self.connector
        if not self._is_scanned(known) or (
            leaves and connector.require(SupportsLeafChecksums).whole_number_bytes(key) is None
        ):
            return super().passes(known, connections, leaves=leaves)
        if leaves:  # each part of the storage would return every leaf
            relation = self.digests(leaves=True)
            shares = partition.shares(known, connections)
            return [
                [Statement(connector.require(SupportsLeafChecksums).scanned_leaves(relation, key, own))]
                for own in shares
            ]
        parts = self.parts_of_storage(connections)
        return [
            [Statement(connector.require(SupportsScans).scanned_sums(SUMS, self.digests(part), key, known))]
            for part in parts
        ]

    def _is_scanned(self, known: Sequence[KeyRange]) -> bool:
        """Return True if a scan costs less than the index, for ranges that are the whole table."""
        if any(self.plan.option(name) for name in ("per_poll", "target")):  # these read some ranges at a time
            return False
        follows = self.key_follows()
        moved = follows is not None and follows < FOLLOWED
        whole = len(partition.runs(known)) == 1 and known[0].lo is None and known[-1].hi is None
        return moved and whole and self.is_placed

    @override
    def rows(
        self, asked: Sequence[KeyRange], select: Sequence[str], template: str, part: Share = WHOLE, **extra: Any
    ) -> Statement:
        """Return a read of each range by the index of the key, or of each row that is looked up."""
        found = row_selection.parted(asked)
        arms = []
        if found.whole:
            relation = self.relation(template, leaves=are_some(found.whole), **extra)
            arms.append(self.connector.ranges.per_range(select, relation, self.plan.key, found.whole, aggregate=False))
        arms += self.looked_up(found, select, template, **extra)
        return Statement("\nUNION ALL\n".join(arms))
