"""Statements over hash buckets, in SQL that databases share; what they spell differently comes as :class:`Words`.

A checksum pass is one scan that is grouped by bucket, at the depth of the finest range asked for; the few groups are
then put together by range. A fetch is one scan that keeps rows by the number of their bucket.
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
        bucket: SQL of the number of the bucket of a depth (1 at least) in which a signed 64-bit number lies.
        choice: SQL of the id of the last of some ranges in order that does not begin above a whole number.
        summed_once: What follows a subquery whose columns aggregates take, so that each is computed once a row.
        read_once: The same of a subquery whose rows travel; empty where that would write them down first.
        among: SQL of the condition that the bit of a whole number is set; None of a database that knows no leaves.
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
    words: Words, sums: Sequence[str], relation: str, hashed: str, ranges: Sequence[KeyRange], *, beside: str = ""
) -> tuple[str, str]:
    """Return SQL of the range of a row ``g``, and a FROM item of such rows: `sums` of each bucket.

    Args:
        words: The database's.
        sums: SQL of aggregates over alias ``t``, each with its name.
        relation: As in `bucket_sums`.
        hashed: As in `bucket_sums`.
        ranges: As in `bucket_sums`.
        beside: A column of ``t`` that divides the rows of one bucket.
    """
    asked, depth = _ordered(ranges)
    by_number = [replace(one, lo=(str(hash_buckets.numbers(one, depth).start),)) for one in asked]
    bucket = words.bucket(f"t.{hashed}", depth) if depth else "0"
    outputs = ", ".join([f"{bucket} AS qbcd_bucket", *([beside] if beside else []), *sums])
    rows = f"(SELECT r.* FROM {relation} AS r{_where(words, f'r.{hashed}', asked, depth)} {words.summed_once}) AS t"
    groups = f"(SELECT {outputs}\nFROM {rows}\nGROUP BY 1{', 2' if beside else ''})"
    return words.choice("g.qbcd_bucket", by_number), groups


def bucket_rows(words: Words, select: Sequence[str], relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
    """See :meth:`~qbcd.connectors.ranges.Ranges.bucket_rows`."""
    asked, depth = _ordered(ranges)
    of_range = words.choice(f"t.{hashed}", asked)
    head = f"SELECT {of_range} AS range_id, {', '.join(select)}\nFROM "
    if not words.read_once:
        return f"{head}{relation} AS t{_where(words, f't.{hashed}', asked, depth)}"
    where = _where(words, f"r.{hashed}", asked, depth)
    return f"{head}(SELECT r.* FROM {relation} AS r{where} {words.read_once}) AS t"


def _ordered(ranges: Sequence[KeyRange]) -> tuple[list[KeyRange], int]:
    """The ranges in the order of the hash, and the depth of the finest.

    Raises:
        ValueError: There are none, ids repeat, or they overlap.
    """
    if not ranges:
        raise ValueError("no ranges to ask for")
    if len({r.range_id for r in ranges}) != len(ranges):
        raise ValueError("a range id occurs twice")
    asked, depth = sorted(ranges, key=hash_buckets.low), hash_buckets.depth_of(ranges)
    spans = [hash_buckets.numbers(one, depth) for one in asked]
    if any(one.stop > other.start for one, other in pairwise(spans)):
        raise ValueError("ranges overlap")
    return asked, depth


def _where(words: Words, hashed: str, asked: Sequence[KeyRange], depth: int) -> str:
    """The condition that a row lies in one of the ranges: on the hash where they adjoin, else on its bucket.

    Where some range asks for some of its leaves only, it is on bucket and leaf together.

    Raises:
        ValueError: The database knows no leaves.
    """
    if leaves.are_some(asked):
        if words.among is None:
            raise ValueError("leaves are asked for of a database that knows none")
        asked_for = {n: leaves.bits_of(one) for one in asked for n in hash_buckets.numbers(one, depth)}
        none = bytes(leaves.NUMBER // 8)
        bucket = words.bucket(hashed, depth) if depth else "0"
        bits = b"".join(asked_for.get(n, none) for n in range(1 << depth))
        return f" WHERE {words.among(f'{bucket} * {leaves.NUMBER} + r.qbcd_leaf', bits)}"
    lo, hi = asked[0].lo, asked[-1].hi
    if any(one.hi != other.lo for one, other in pairwise(asked)):
        listed = ", ".join(str(n) for one in asked for n in hash_buckets.numbers(one, depth))
        return f" WHERE {words.bucket(hashed, depth)} IN ({listed})"
    if lo is not None and hi is not None:
        return f" WHERE {hashed} BETWEEN {lo[0]} AND {int(hi[0]) - 1}"
    if lo is not None:
        return f" WHERE {hashed} >= {lo[0]}"
    return f" WHERE {hashed} < {hi[0]}" if hi is not None else ""
