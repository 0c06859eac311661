"""Statements over the leaves of ranges: their sums, and the rows found by them.

See `qbcd.ranges.leaves`.
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from qbcd.connectors import buckets
from qbcd.connectors.facts import Collaborator
from qbcd.connectors.postgresql import expressions, scans
from qbcd.connectors.postgresql import ranges as key_ranges
from qbcd.connectors.ranges import SupportsLeafChecksums
from qbcd.model import Column, KeyRange
from qbcd.ranges.key_recovery import LOW
from qbcd.ranges.leaves import NUMBER

_WHOLE_NUMBERS = {"int2": 2, "int4": 4, "int8": 8}
# With OFFSET 0 the digest is computed once, not again by every aggregate that uses it.
_OF_LEAF = ("count(*) AS n", "count(t.qbcd_digest) AS digests", "sum(t.qbcd_digest) AS checksum")
_OF_RANGE = (
    "coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, "
    "coalesce(string_agg({leaf}, ' '), '') AS leaves"
)
_LEAF = "g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0)"
_WEIGHT = " || ':' || coalesce(g.weighted, 0)"


def _weighted(key: str) -> str:
    # a wide digest is a numeric, which has no bits
    return f"sum(((t.qbcd_digest % {LOW + 1})::bigint & {LOW}) * (t.{key}::bigint & {LOW})) AS weighted"


class PostgresLeaves(Collaborator, SupportsLeafChecksums):
    """Checksums of leaves."""

    key_leaf = staticmethod(expressions.key_leaf)

    @override
    def whole_number_bytes(self, key: Sequence[Column]) -> int | None:
        return _WHOLE_NUMBERS.get(key[0].fact("digested") or key[0].base_type) if len(key) == 1 else None

    @override
    def of_whole_numbers(
        self, select: Sequence[str], relation: str, key: Column, asked: Sequence[tuple[int, int]]
    ) -> str:
        # All keys are in two texts: the server would need longer to parse a list of values than to look them up. With
        # OFFSET 0 each key is looked up by the index; without it the server may scan the whole index, once for each
        # connection.
        ids, keys = (f"'{{{','.join(map(str, column))}}}'" for column in zip(*asked, strict=True))
        equal = f"t.{self.facts.quote(key.name)} = r.k"
        return (
            f"SELECT r.range_id, q.* FROM unnest({ids}::bigint[], {keys}::{key.base_type}[]) AS r(range_id, k)\n"
            f"CROSS JOIN LATERAL (SELECT {', '.join(select)} FROM {relation} AS t WHERE {equal} OFFSET 0) AS q"
        )

    @override
    def range_leaves(self, relation: str, key: Sequence[Column], ranges: Sequence[KeyRange]) -> str:
        names = [self.facts.quote(c.name) for c in key]
        sums, leaf = list(_OF_LEAF), _LEAF
        if self.whole_number_bytes(key):
            sums.append(_weighted(names[0]))
            leaf += _WEIGHT
        of_range, of_leaf = _OF_RANGE.format(leaf=leaf), ", ".join(sums)

        def body(condition: str) -> str:
            rows = f"(SELECT t.* FROM {relation} AS t WHERE {condition} OFFSET 0) AS t"
            return f"SELECT {of_range} FROM (SELECT t.qbcd_leaf, {of_leaf} FROM {rows} GROUP BY t.qbcd_leaf) AS g"

        return key_ranges.arms_of(body, key, ranges, names)

    @override
    def scanned_leaves(self, relation: str, key: Sequence[Column], ranges: Sequence[KeyRange]) -> str:
        name = self.facts.quote(key[0].name)
        inside, place = scans.searched(key[0], f"t.{name}", ranges)
        groups = (
            f"SELECT ({place}) * {NUMBER} + t.qbcd_leaf AS one, {', '.join([*_OF_LEAF, _weighted(name)])}\n"
            f"FROM (SELECT t.* FROM {relation} AS t WHERE {inside} OFFSET 0) AS t GROUP BY 1"
        )
        parted = f"SELECT h.one / {NUMBER} AS place, h.one % {NUMBER} AS qbcd_leaf, h.* FROM ({groups}) AS h"
        placed = f"SELECT g.place, {_OF_RANGE.format(leaf=_LEAF + _WEIGHT)}\nFROM ({parted}) AS g GROUP BY 1"
        numbers = ", ".join(f"coalesce(g.{sum_of}, 0) AS {sum_of}" for sum_of in ("n", "digests", "checksum"))
        return scans.by_range(f"{numbers}, coalesce(g.leaves, '') AS leaves", placed, ranges)

    @override
    def bucket_leaves(self, relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
        words, sums = key_ranges.BUCKETS, list(_OF_LEAF)
        of_range, groups = buckets.grouped(words, sums, relation, hashed, ranges, divided_by=key_ranges.LEAF)
        return f"SELECT {of_range} AS range_id, {_OF_RANGE.format(leaf=_LEAF)}\nFROM {groups} AS g\nGROUP BY 1"
