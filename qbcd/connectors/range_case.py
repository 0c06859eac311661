"""In which of many adjoining ranges a row lies, as one expression that compares a key no more than log2(n) times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qbcd.model import KeyRange


def range_case(ranges: Sequence[KeyRange], below: Callable[[tuple[str, ...]], str]) -> str:
    """SQL of the id of a row's range.

    Args:
        ranges: Adjoining, in key order, one at least.
        below: SQL of "the row's key is less than this bound".
    """
    if len(ranges) == 1:
        return str(ranges[0].range_id)
    middle = len(ranges) // 2
    first, rest = range_case(ranges[:middle], below), range_case(ranges[middle:], below)
    return f"CASE WHEN {below(ranges[middle].lo or ())} THEN {first} ELSE {rest} END"
