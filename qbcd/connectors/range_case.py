"""SQL of the range of a row: at most log2(n) key comparisons among n adjoining ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qbcd.model import KeyRange


def range_case(ranges: Sequence[KeyRange], below: Callable[[tuple[str, ...]], str]) -> str:
    """Return SQL of the id of a row's range.

    Args:
        ranges: Adjoining, in key order; at least one.
        below: SQL of "the row's key is less than this bound".
    """
    if len(ranges) == 1:
        return str(ranges[0].range_id)
    middle = len(ranges) // 2
    first, rest = range_case(ranges[:middle], below), range_case(ranges[middle:], below)
    return f"CASE WHEN {below(ranges[middle].lo or ())} THEN {first} ELSE {rest} END"
