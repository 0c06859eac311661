"""Row selection: all rows of a range, the rows of some leaves, or single rows by key.

Keys are integers that were recovered from leaf checksums (`qbcd.ranges.key_recovery`), or keys of recently written
rows that the source listed (`qbcd.ranges.recent_keys`).
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
    """Rows to fetch, grouped by the form of the request.

    Attributes:
        whole: Ranges whose rows are all fetched, or all rows of some leaves.
        numbers: (range_id, key) for recovered integer keys.
        texts: (range_id, texts of the key columns) for keys that the source listed.
    """

    whole: list[Range] = field(default_factory=list)
    numbers: list[tuple[int, int]] = field(default_factory=list)
    texts: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)


def is_by_key(one: KeyRange) -> bool:
    """Return True if single rows of a range are requested."""
    return is_traced(one) or (one.only is not None and (bool(one.only.named) or one.only.deleted_digest is not None))


def of_source(ranges: Iterable[Range]) -> list[Range]:
    """Return the ranges that need a read of the source; one deleted row is read in the replica."""
    return [one for one in ranges if one.only is None or one.only.deleted_digest is None]


def parted(ranges: Iterable[Range]) -> Asked[Range]:
    """Group the requests of `ranges` to the source by their form."""
    found: Asked[Range] = Asked()
    for one in ranges:
        if is_traced(one):
            found.numbers += ((one.range_id, key) for key in keys(one))
        elif not is_by_key(one):
            found.whole.append(one)
        elif one.only:
            found.texts += ((one.range_id, key.texts) for key in one.only.named)
    return found
