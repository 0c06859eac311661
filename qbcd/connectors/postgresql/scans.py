"""Ranges of the key by a scan in the order of storage: the range of each row by a binary search among their bounds.

What cannot be answered by the index is not looked up in it, so the conditions here are all on the place that the search
finds. A key that is NULL has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from qbcd.connectors.postgresql.statements import literal
from qbcd.model import Column, KeyRange

# Of one size, and told apart by a few instructions: the search is a tenth of what a row's digest costs.
_PLACED = frozenset({"int2", "int4", "int8", "date", "timestamp", "timestamptz", "uuid"})


def places_keys(key: Sequence[Column]) -> bool:
    """Whether the search costs little beside the digest of a row."""
    return len(key) == 1 and key[0].base_type in _PLACED


def searched(column: Column, value: str, ranges: Sequence[KeyRange]) -> tuple[str, str]:
    """Of ranges that adjoin: (condition that a `value` of `column` lies in one of them, number of that, from 0).

    Raises:
        ValueError: There are no ranges, or one does not begin where the one before it ends.
    """
    if not ranges or any(one.hi is None or one.hi != other.lo for one, other in pairwise(ranges)):
        raise ValueError("ranges do not adjoin")
    low, high = ranges[0].lo, ranges[-1].hi
    ends = [
        *([f"{_above(column, value, [high])} = 0"] if high else []),
        *([f"{_above(column, value, [low])} = 1"] if low else []),
    ]
    return " AND ".join(ends) or "TRUE", _above(column, value, [one.lo for one in ranges[1:] if one.lo])


def by_range(outputs: str, placed: str, ranges: Sequence[KeyRange]) -> str:
    """``range_id, <outputs>`` of every range, from ``g``, the rows of a query that have a ``place``."""
    ids = ",".join(str(r.range_id) for r in ranges)
    return (
        f"SELECT r.range_id, {outputs}\n"
        f"FROM unnest('{{{ids}}}'::bigint[]) WITH ORDINALITY AS r(range_id, place)\n"
        f"LEFT JOIN ({placed}) AS g ON g.place = r.place - 1"
    )


def _above(column: Column, value: str, bounds: Sequence[tuple[str, ...]]) -> str:
    """How many of some ascending bounds are not greater than a value."""
    listed = ", ".join(literal(column, text) for (text,) in bounds)
    return f"width_bucket({value}, ARRAY[{listed}])" if bounds else "0"
