"""How the rows of ranges are asked for: all of a range or of some of its leaves, or looked up by key.

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
    """What is asked for, by the way in which it is.

    Attributes:
        whole: Ranges of which all rows are asked for, or all of some leaves.
        numbers: (range_id, key) of keys that are whole numbers.
        texts: (range_id, texts of a key) of others.
    """

    whole: list[Range] = field(default_factory=list)
    numbers: list[tuple[int, int]] = field(default_factory=list)
    texts: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)


def is_by_key(one: KeyRange) -> bool:
    """Whether single rows of a range are asked for."""
    return is_traced(one) or (one.only is not None and (bool(one.only.named) or one.only.lost is not None))


def of_source(ranges: Iterable[Range]) -> list[Range]:
    """Those of `ranges` of which the source is asked for something."""
    return [one for one in ranges if one.only is None or one.only.lost is None]


def parted(ranges: Iterable[Range]) -> Asked[Range]:
    """What the source is asked for of `ranges`, by the way in which it is."""
    found: Asked[Range] = Asked()
    for one in ranges:
        if is_traced(one):
            found.numbers += ((one.range_id, key) for key in keys(one))
        elif not is_by_key(one):
            found.whole.append(one)
        elif one.only:
            found.texts += ((one.range_id, key.texts) for key in one.only.named)
    return found
