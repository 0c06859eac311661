"""How the rows of ranges are asked for: all of a range or of some leaves, or looked up by key.

Keys are whole numbers that leaves have traced (`qbcd.traces`), or such as the source has named (`qbcd.recent`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from qbcd import recent, traces
from qbcd.model import KeyRange

Range = TypeVar("Range", bound=KeyRange)


@dataclass
class Lookups(Generic[Range]):
    """What is asked for, by the way.

    Attributes:
        whole: Ranges, or some of their leaves, of which all rows are asked for.
        numbers: (range_id, key) of keys that are whole numbers.
        texts: (range_id, texts of a key) of others.
    """

    whole: list[Range] = field(default_factory=list)
    numbers: list[tuple[int, int]] = field(default_factory=list)
    texts: list[tuple[int, Sequence[str]]] = field(default_factory=list)


def is_by_key(one: KeyRange) -> bool:
    """Whether rows of a range are looked up by key."""
    return traces.is_traced(one) or bool(one.only and one.only.named)


def parted(asked: Iterable[Range]) -> Lookups[Range]:
    """What is asked for of ranges, by the way it is asked for."""
    found: Lookups[Range] = Lookups()
    for one in asked:
        if traces.is_traced(one):
            found.numbers += ((one.range_id, key) for key in traces.keys(one))
            continue
        if one.only:
            found.texts += ((one.range_id, key.texts) for key in one.only.named)
        rest = recent.whole_leaves(one)
        if rest is not None:
            found.whole.append(rest)
    return found


def apart(asked: Iterable[Range]) -> tuple[list[Range], list[Range]]:
    """Ranges as they are asked for without keys, and as they are with keys alone."""
    whole: list[Range] = []
    by_key: list[Range] = []
    for one in asked:
        rest = None if traces.is_traced(one) else recent.whole_leaves(one)
        if rest is not None:
            whole.append(rest)
        if rest is not one:
            by_key.append(recent.named_leaves(one))
    return whole, by_key
