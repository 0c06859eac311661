"""Statements over the leaves of ranges: what each adds up to, and the rows of some (`qbcd.leaves`)."""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.connectors import buckets
from qbcd.connectors.postgresql import statements
from qbcd.model import Column, KeyRange

# OFFSET 0 keeps the digest from being computed anew by every aggregate that takes it.
_OF_LEAF = ("count(*) AS n", "count(t.qbcd_digest) AS digests", "sum(t.qbcd_digest) AS checksum")
_OF_RANGE = (
    "coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, "
    "coalesce(string_agg(g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0), ' '), '') AS leaves"
)


def range_leaves(relation: str, key: Sequence[Column], ranges: Sequence[KeyRange], key_names: Sequence[str]) -> str:
    """See :meth:`~qbcd.connectors.optional.OptionalPrimitives.range_leaves`."""

    def body(condition: str) -> str:
        rows = f"(SELECT t.* FROM {relation} AS t WHERE {condition} OFFSET 0) AS t"
        return (
            f"SELECT {_OF_RANGE} FROM (SELECT t.qbcd_leaf, {', '.join(_OF_LEAF)} FROM {rows} GROUP BY t.qbcd_leaf) AS g"
        )

    return statements.arms_of(body, key, ranges, key_names)


def bucket_leaves(relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
    """See :meth:`~qbcd.connectors.optional.OptionalPrimitives.bucket_leaves`."""
    words, sums = statements.BUCKETS, list(_OF_LEAF)
    of_range, groups = buckets.grouped(words, sums, relation, hashed, ranges, beside=statements.LEAF)
    return f"SELECT {of_range} AS range_id, {_OF_RANGE}\nFROM {groups} AS g\nGROUP BY 1"
