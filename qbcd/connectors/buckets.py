"""Statements over hash buckets, in SQL that databases share.

:class:`Words` contains what they spell differently. A checksum statement is one scan, grouped by bucket at the depth of
the finest requested range; the few groups are then added up by range. A fetch is one scan that selects rows by the
number of their bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from qbcd.model import KeyRange
from qbcd.ranges import hash_buckets, leaves


@dataclass(frozen=True)
class Words:
    """The spelling of buckets in a database.

    Attributes:
        bucket: SQL of the bucket number of a signed 64-bit number, at a depth of 1 or more.
        choice: SQL of the id of the last range, of some in order, that does not begin above a whole number.
        summed_once: SQL after a subquery whose columns aggregates use, so that each is computed once per row.
        read_once: The same for a subquery whose rows are fetched; empty if it would write them to a temporary table.
        among: SQL of the condition that the bit of a whole number is set; None for a database without leaves.
    """

    bucket: Callable[[str, int], str]
    choice: Callable[[str, Sequence[KeyRange]], str]
    summed_once: str
    read_once: str
    among: Callable[[str, bytes], str] | None = None


def bucket_sums(words: Words, sums: Mapping[str, str], relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
    """See :meth:`~qbcd.connectors.ranges.Ranges.bucket_sums`."""
    inner = [f"{sql} AS {name}" for name, sql in sums.items()]
    outer = ", ".join(f"SUM(g.{name}) AS {name}" for name in sums)
    of_range, groups = grouped(words, inner, relation, hashed, ranges)
    return f"SELECT {of_range} AS range_id, {outer}\nFROM {groups} AS g\nGROUP BY 1"


def grouped(
    words: Words, sums: Sequence[str], relation: str, hashed: str, ranges: Sequence[KeyRange], *, divided_by: str = ""
) -> tuple[str, str]:
    """Return SQL of the range id of a row ``g``, and a FROM item with such rows.

    The rows are `sums` of each bucket.

    Args:
        sums: SQL of aggregates over alias ``t``, each with its name.
        relation: As in `bucket_sums`.
        hashed: As in `bucket_sums`.
        ranges: As in `bucket_sums`.
        divided_by: A column of ``t``; each bucket has one row for each of its values.
    """
    ordered, depth = _ordered(ranges)
    by_number = [replace(one, lo=(str(hash_buckets.numbers(one, depth).start),)) for one in ordered]
    bucket = words.bucket(f"t.{hashed}", depth) if depth else "0"
    outputs = ", ".join([f"{bucket} AS qbcd_bucket", *([divided_by] if divided_by else []), *sums])
    rows = f"(SELECT r.* FROM {relation} AS r{_where(words, f'r.{hashed}', ordered, depth)} {words.summed_once}) AS t"
    groups = f"(SELECT {outputs}\nFROM {rows}\nGROUP BY 1{', 2' if divided_by else ''})"
    return words.choice("g.qbcd_bucket", by_number), groups


def bucket_rows(words: Words, select: Sequence[str], relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
    """See :meth:`~qbcd.connectors.ranges.Ranges.bucket_rows`."""
    ordered, depth = _ordered(ranges)
    of_range = words.choice(f"t.{hashed}", ordered)
    head = f"SELECT {of_range} AS range_id, {', '.join(select)}\nFROM "
    if not words.read_once:
        return f"{head}{relation} AS t{_where(words, f't.{hashed}', ordered, depth)}"
    where = _where(words, f"r.{hashed}", ordered, depth)
    return f"{head}(SELECT r.* FROM {relation} AS r{where} {words.read_once}) AS t"


def _ordered(ranges: Sequence[KeyRange]) -> tuple[list[KeyRange], int]:
    """Return the ranges in the order of the hash, and the depth of the finest.

    Raises:
        ValueError: There are none, ids repeat, or they overlap.
    """
    if not ranges:
        raise ValueError("there are no ranges")
    if len({r.range_id for r in ranges}) != len(ranges):
        raise ValueError("a range id occurs twice")
    ordered, depth = sorted(ranges, key=hash_buckets.low), hash_buckets.depth_of(ranges)
    spans = [hash_buckets.numbers(one, depth) for one in ordered]
    if any(one.stop > other.start for one, other in pairwise(spans)):
        raise ValueError("ranges overlap")
    return ordered, depth


def _where(words: Words, hashed: str, ordered: Sequence[KeyRange], depth: int) -> str:
    """Return the condition that a row is in one of the ranges.

    It is on the hash if they adjoin, on the bucket if not. If a range requests some of its leaves only, it is on bucket
    and leaf together.

    Raises:
        ValueError: Leaves are requested, and the database has none.
    """
    if leaves.are_some(ordered):
        if words.among is None:
            raise ValueError("leaves are requested of a database that has none")
        requested = {n: leaves.bits_of(one) for one in ordered for n in hash_buckets.numbers(one, depth)}
        none = bytes(leaves.NUMBER // 8)
        bucket = words.bucket(hashed, depth) if depth else "0"
        bits = b"".join(requested.get(n, none) for n in range(1 << depth))
        return f" WHERE {words.among(f'{bucket} * {leaves.NUMBER} + r.qbcd_leaf', bits)}"
    lo, hi = ordered[0].lo, ordered[-1].hi
    if any(one.hi != other.lo for one, other in pairwise(ordered)):
        listed = ", ".join(str(n) for one in ordered for n in hash_buckets.numbers(one, depth))
        return f" WHERE {words.bucket(hashed, depth)} IN ({listed})"
    if lo is not None and hi is not None:
        return f" WHERE {hashed} BETWEEN {lo[0]} AND {int(hi[0]) - 1}"
    if lo is not None:
        return f" WHERE {hashed} >= {lo[0]}"
    return f" WHERE {hashed} < {hi[0]}" if hi is not None else ""
