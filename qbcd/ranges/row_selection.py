"""Selection of the rows of ranges: all of a range, or of some of its leaves, or single rows by key.

Keys are whole numbers that leaves have traced (`qbcd.ranges.key_recovery`), or such as the source has named
(`qbcd.ranges.recent_keys`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from qbcd.model import KeyRange
from qbcd.ranges.key_recovery import is_traced, keys

Range = TypeVar("Range", bound=KeyRange)


@dataclass
class Asked(Generic[Range]):
    """The requested rows, by the way in which they are requested.

    Attributes:
        whole: Ranges of which all rows are asked for, or all of some leaves.
        numbers: (range_id, key) of keys that are whole numbers.
        texts: (range_id, texts of a key) of others.
    """

    whole: list[Range] = field(default_factory=list)
    numbers: list[tuple[int, int]] = field(default_factory=list)
    texts: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)


def is_by_key(one: KeyRange) -> bool:
    """Return True if single rows of a range are requested."""
    return is_traced(one) or (one.only is not None and (bool(one.only.named) or one.only.lost is not None))


def of_source(ranges: Iterable[Range]) -> list[Range]:
    """Those of `ranges` of which the source is asked for something."""
    return [one for one in ranges if one.only is None or one.only.lost is None]


def parted(ranges: Iterable[Range]) -> Asked[Range]:
    """Return what is requested of the source for `ranges`, by the way in which it is requested."""
    found: Asked[Range] = Asked()
    for one in ranges:
        if is_traced(one):
            found.numbers += ((one.range_id, key) for key in keys(one))
        elif not is_by_key(one):
            found.whole.append(one)
        elif one.only:
            found.texts += ((one.range_id, key.texts) for key in one.only.named)
    return found
