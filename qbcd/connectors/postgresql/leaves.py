"""Statements over the leaves of ranges: what each adds up to, and the rows of some (`qbcd.leaves`)."""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.connectors import buckets
from qbcd.connectors.postgresql import statements
from qbcd.model import Column, KeyRange
from qbcd.traces import LOW

_WHOLE_NUMBERS = {"int2": 2, "int4": 4, "int8": 8}
# OFFSET 0 keeps the digest from being computed anew by every aggregate that takes it.
_OF_LEAF = ("count(*) AS n", "count(t.qbcd_digest) AS digests", "sum(t.qbcd_digest) AS checksum")
_OF_RANGE = (
    "coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, "
    "coalesce(string_agg({leaf}, ' '), '') AS leaves"
)
_LEAF = "g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0)"


def whole_number_bytes(key: Sequence[Column]) -> int | None:
    """See :meth:`~qbcd.connectors.optional.OptionalPrimitives.whole_number_bytes`."""
    return _WHOLE_NUMBERS.get(key[0].base_type) if len(key) == 1 else None


def of_whole_numbers(
    select: Sequence[str], relation: str, name: str, key: Column, asked: Sequence[tuple[int, int]]
) -> str:
    """See :meth:`~qbcd.connectors.optional.OptionalPrimitives.of_whole_numbers`.

    Two texts hold them all: of a list of values the server would take longer to read each than to look it up. OFFSET 0
    has each looked up by the index; else the server may go through all of it, once on each connection.
    """
    ids, keys = (f"'{{{','.join(map(str, column))}}}'" for column in zip(*asked, strict=True))
    return (
        f"SELECT r.range_id, q.* FROM unnest({ids}::bigint[], {keys}::{key.base_type}[]) AS r(range_id, k)\n"
        f"CROSS JOIN LATERAL (SELECT {', '.join(select)} FROM {relation} AS t WHERE t.{name} = r.k OFFSET 0) AS q"
    )


def range_leaves(relation: str, key: Sequence[Column], ranges: Sequence[KeyRange], key_names: Sequence[str]) -> str:
    """See :meth:`~qbcd.connectors.optional.OptionalPrimitives.range_leaves`."""
    sums, leaf = list(_OF_LEAF), _LEAF
    if whole_number_bytes(key):
        sums.append(f"sum((t.qbcd_digest & {LOW}) * (t.{key_names[0]}::bigint & {LOW})) AS weighted")
        leaf += " || ':' || coalesce(g.weighted, 0)"
    of_range = _OF_RANGE.format(leaf=leaf)

    def body(condition: str) -> str:
        rows = f"(SELECT t.* FROM {relation} AS t WHERE {condition} OFFSET 0) AS t"
        return f"SELECT {of_range} FROM (SELECT t.qbcd_leaf, {', '.join(sums)} FROM {rows} GROUP BY t.qbcd_leaf) AS g"

    return statements.arms_of(body, key, ranges, key_names)


def bucket_leaves(relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
    """See :meth:`~qbcd.connectors.optional.OptionalPrimitives.bucket_leaves`."""
    words, sums = statements.BUCKETS, list(_OF_LEAF)
    of_range, groups = buckets.grouped(words, sums, relation, hashed, ranges, beside=statements.LEAF)
    return f"SELECT {of_range} AS range_id, {_OF_RANGE.format(leaf=_LEAF)}\nFROM {groups} AS g\nGROUP BY 1"
