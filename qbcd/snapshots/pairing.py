"""Pair the rows of two sides: the three stages of Labio & Garcia-Molina 1995, section 4.7.

Rows with equal key and values cancel out. Of the remaining rows of a key, pairs are updates. What then remains of the
old side are deletes, of the new side inserts. A key so has as few messages as possible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qbcd.snapshots.base import Numbers
from qbcd.snapshots.chunks import Chunk, Marks, differ
from qbcd.snapshots.digests import Codes, Words

_NONE = np.empty(0, np.int64)


class Pairs(NamedTuple):
    """Row numbers within two chunks.

    `same_old[i]` equals `same_new[i]`, `old[i]` was updated to `new[i]`.
    """

    same_old: Numbers
    same_new: Numbers
    old: Numbers
    new: Numbers
    deletes: Numbers
    inserts: Numbers
    duplicates: int


def pair(old: Chunk, new: Chunk) -> Pairs:
    """Pair the rows of two chunks that together have all rows of their keys."""
    one, two = old.key.order(), new.key.order()
    repeated = _repeated(old.key.take(one), new.key.take(two))
    if repeated is None:
        return _unique(old, new, one, two)
    twice_one, twice_two = repeated
    single = _unique(old, new, one[~twice_one], two[~twice_two])
    several = _staged(old, new, one[twice_one], two[twice_two])
    both = [np.concatenate(part) for part in zip(single[:6], several[:6], strict=True)]
    return Pairs(both[0], both[1], both[2], both[3], both[4], both[5], several.duplicates)


def _repeated(old: Codes, new: Codes) -> tuple[Marks, Marks] | None:
    """Return the rows whose key occurs more than once on either side.

    Both sides are sorted. None if no key does.
    """
    twice = np.concatenate([codes.high[1:][same_as_next(codes)] for codes in (old, new)])
    if not len(twice):
        return None
    twice = np.unique(twice)
    return _in(old.high, twice), _in(new.high, twice)


def _in(values: Words, among: Words) -> Marks:
    place = np.minimum(np.searchsorted(among, values), len(among) - 1)
    return np.asarray(among[place] == values)


def same_as_next(codes: Codes) -> Marks:
    """Return for each row but the last of sorted codes if the next one is equal."""
    return np.asarray((codes.high[1:] == codes.high[:-1]) & (codes.low[1:] == codes.low[:-1]))


def _unique(old: Chunk, new: Chunk, one: Numbers, two: Numbers) -> Pairs:
    """Pair rows whose keys occur once on each side.

    `one` and `two` are in the order of the key codes.
    """
    left, right, rest_one, rest_two = matched((*old.key.take(one),), (*new.key.take(two),))
    left, right = one[left], two[right]
    changed = differ(old.take(left), new.take(right)) if len(left) else np.empty(0, np.bool_)
    same = ~changed
    return Pairs(left[same], right[same], left[changed], right[changed], one[rest_one], two[rest_two], 0)


def _staged(old: Chunk, new: Chunk, one: Numbers, two: Numbers) -> Pairs:
    """Pair rows whose keys occur several times."""
    some_old, some_new = old.take(one).digested(), new.take(two).digested()
    a, b = some_old.content, some_new.content
    assert a is not None and b is not None
    left, right, rest_one, rest_two = _by_rank((*some_old.key, *a), (*some_new.key, *b))
    wrong = differ(some_old.take(left), some_new.take(right))
    rest_one = np.concatenate((rest_one, left[wrong]))
    rest_two = np.concatenate((rest_two, right[wrong]))
    rest_one = rest_one[np.lexsort((a.low[rest_one], a.high[rest_one]))]
    rest_two = rest_two[np.lexsort((b.low[rest_two], b.high[rest_two]))]
    up_one, up_two, gone, come = _by_rank((*some_old.key.take(rest_one),), (*some_new.key.take(rest_two),))
    extra = len(one) + len(two) - len(np.unique(np.concatenate((some_old.key.high, some_new.key.high))))
    return Pairs(
        one[left[~wrong]],
        two[right[~wrong]],
        one[rest_one[up_one]],
        two[rest_two[up_two]],
        one[rest_one[gone]],
        two[rest_two[come]],
        extra,
    )


def _by_rank(old: tuple[Words, ...], new: tuple[Words, ...]) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Match equal rows one to one.

    The first occurrence is matched with the first, the second with the second.
    """
    return matched((*old, _occurrence(old)), (*new, _occurrence(new)))


def _occurrence(columns: tuple[Words, ...]) -> Words:
    """Return for each row how many equal rows precede it."""
    count = len(columns[0])
    if not count:
        return np.empty(0, np.uint64)
    order = np.lexsort(columns[::-1])
    starts = np.ones(count, np.bool_)
    starts[1:] = np.logical_or.reduce([column[order][1:] != column[order][:-1] for column in columns])
    first = np.flatnonzero(starts)
    place = np.arange(count) - np.repeat(first, np.diff([*first, count]))
    result = np.empty(count, np.uint64)
    result[order] = place.astype(np.uint64)
    return result


def matched(old: tuple[Words, ...], new: tuple[Words, ...]) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Match rows that occur once on each side.

    Returns:
        Row numbers of the matches on both sides, then those of the other rows, each in the order of the columns.
    """
    count = len(old[0])
    columns = [np.concatenate(both) for both in zip(old, new, strict=True)]
    order = np.lexsort(columns[::-1])
    first, second = order[:-1], order[1:]
    equal: npt.NDArray[np.bool_] = np.logical_and.reduce([column[first] == column[second] for column in columns])
    left, right = first[equal], second[equal]
    swap = left > right
    left, right = np.where(swap, right, left), np.where(swap, left, right)
    used = np.zeros(len(order), np.bool_)
    used[left] = used[right] = True
    rest = order[~used[order]]
    return left, right - count, rest[rest < count], rest[rest >= count] - count
