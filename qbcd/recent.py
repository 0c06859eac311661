"""Recent rows: which rows of a range that differs have to be looked up, by what the database keeps of their writers.

PostgreSQL has with each row which transaction wrote it. Of a range that differs, rows written since the last look are
likely to be all that were inserted or updated in it, and a row that is gone leaves the range smaller than they say.
That is no more than likely: rows change without being written (a standby that lost transactions, a column that is
dropped and added again), and a row can go while another comes. So whoever looks up rows by this has to hold what came
against the sums.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from qbcd import leaves
from qbcd.leaves import Sums, as_bits
from qbcd.model import KeyRange, Leaves, NamedKey

Range = TypeVar("Range", bound=KeyRange)
_NONE = (0, 0)  # what a leaf without rows adds up to


def of_range(grown: int, found: Sequence[NamedKey]) -> Leaves | None:
    """What to look up in a range: the rows that were found; None where rows must have gone from it, or none was found.

    Args:
        grown: By how many rows the range grew.
        found: Keys of the rows in it that were written since.
    """
    if not found or not 0 <= grown <= len(found):
        return None
    return _asked(found, (), rows=len(found))


def of_leaves(was: Mapping[int, Sums], now: Mapping[int, Sums], found: Sequence[NamedKey]) -> Leaves | None:
    """The same of a range by its leaves that differ: all rows are asked for of those from which rows must have gone.

    Args:
        was: What leaves that differ added up to before.
        now: What they add up to.
        found: As in `of_range`.
    """
    by_leaf: defaultdict[int, list[NamedKey]] = defaultdict(list)
    for key in found:
        by_leaf[leaf_of(key.identity)].append(key)
    named: list[NamedKey] = []
    whole: list[int] = []
    rows = 0
    for leaf in {*was, *now}:
        before, after = was.get(leaf, _NONE), now.get(leaf, _NONE)
        if by_leaf[leaf] and 0 <= after[0] - before[0] <= len(by_leaf[leaf]):
            named += by_leaf[leaf]
        else:
            whole.append(leaf)
            rows += after[0]
    return _asked(named, whole, rows=rows + len(named)) if named else None


def leaf_of(identity: bytes) -> int:
    """The leaf that a key's identity is in."""
    return identity[-1] if identity else 0


def whole_leaves(one: Range) -> Range | None:
    """The range with those of its leaves alone of which all rows are asked for; None where there is none."""
    if one.only is None or not one.only.named:
        return one
    named = {leaf_of(key.identity) for key in one.only.named}
    left = [leaf for leaf in leaves.tails(one) if leaf not in named]
    return replace(one, only=Leaves(as_bits(left), one.only.rows - len(one.only.named), 0)) if left else None


def named_leaves(one: Range) -> Range:
    """The range with those of its leaves alone of which single rows are asked for, where these are named."""
    if one.only is None or not one.only.named:
        return one
    return replace(one, only=_asked(one.only.named, (), rows=len(one.only.named)))


def _asked(named: Iterable[NamedKey], whole: Iterable[int], *, rows: int) -> Leaves:
    keys = tuple(named)
    return Leaves(as_bits({*whole, *(leaf_of(key.identity) for key in keys)}), rows, 0, named=keys)
