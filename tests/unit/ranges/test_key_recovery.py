"""Key recovery: the key of a leaf's one changed row out of the growth of sums.

Other keys counted.
"""

from __future__ import annotations

from random import Random

import pytest

from qbcd.model import KeyRange
from qbcd.ranges import key_recovery, leaves
from qbcd.ranges.leaves import Sums

Rows = dict[int, int]  # key -> digest
WIDTH = 8
LEAST, MOST = -(2**63), 2**63 - 1


def _sums(rows: Rows) -> dict[int, Sums]:
    """Return by leaf the sums that PostgreSQL computes.

    They are the count, the digests, and their low bits times those of the keys.
    """
    found: dict[int, Sums] = {}
    for key, digest in rows.items():
        one = (1, digest, (digest & key_recovery.LOW) * (key & key_recovery.LOW))
        found[key & 255] = tuple(map(sum, zip(found.get(key & 255, (0, 0, 0)), one, strict=True)))
    return found


def _sums_of_both(before: Rows, now: Rows) -> tuple[dict[int, Sums], dict[int, Sums]]:
    old, new = _sums(before), _sums(now)
    dirty = {leaf for leaf in {*old, *new} if old.get(leaf) != new.get(leaf)}
    return {k: v for k, v in old.items() if k in dirty}, {k: v for k, v in new.items() if k in dirty}


def _digest(rng: Random) -> int:
    return rng.randrange(LEAST, MOST)


def _changed(rng: Random, rows: Rows, lo: int, hi: int, number: int) -> tuple[Rows, set[int]]:
    """Return rows with some changes, each to another row: two updates to an insert and a delete."""
    now, keys = dict(rows), set[int]()
    while len(keys) < number:
        op = rng.choice("cudu")
        key = rng.randrange(lo, hi) if op == "c" else rng.choice(sorted(rows))
        if key in keys or (op == "c") == (key in rows):
            continue
        keys.add(key)
        if op == "d":
            del now[key]
        else:
            now[key] = _digest(rng)
    return now, keys


def _range(lo: int | None, hi: int | None, rows: int) -> KeyRange:
    return KeyRange(3, None if lo is None else (str(lo),), None if hi is None else (str(hi),), rows)


@pytest.mark.parametrize("lo", [0, 1, -1000, 10**9, 2**31 - 1000, 2**62 + 7, LEAST, MOST - 2600])
def test_the_key_of_one_change_is_recovered(lo: int) -> None:
    rng, hi = Random(lo), lo + 2600
    before = {key: _digest(rng) for key in rng.sample(range(lo, hi), 2000)}
    for _ in range(20):
        now, changed = _changed(rng, before, lo, hi, 1)
        (leaf,) = {key & 255 for key in changed}
        was, new = _sums(before).get(leaf, (0, 0, 0)), _sums(now).get(leaf, (0, 0, 0))
        rows, digests, weighted = (n - o for o, n in zip(was, new, strict=True))
        assert {key_recovery.changed_key(leaf, rows, digests, weighted, lo, hi)} == changed


def test_a_key_is_none_of_another_range_or_leaf() -> None:
    digest, key = 12345, 5000
    grown = (1, digest, digest * key)
    leaf = key & 255
    assert key_recovery.changed_key(leaf, *grown, 4000, 6000) == key
    assert key_recovery.changed_key(leaf + 1, *grown, 4000, 6000) is None
    assert key_recovery.changed_key(leaf, *grown, 4000, 5000) is None
    assert key_recovery.changed_key(leaf, *grown, 5001, 6000) is None
    assert key_recovery.changed_key(leaf, *grown, 0, 2**31 + 5000) == key
    assert key_recovery.changed_key(leaf, *grown, 0, 2**31 + 5001) is None, "the key, or one that is 2^31 larger"


@pytest.mark.parametrize("grown", [(2, 7, 7 * 512), (-2, 7, 7 * 512), (0, 2**31, 512), (0, 0, 512), (1, 7, 513)])
def test_sums_that_no_single_change_explains(grown: tuple[int, int, int]) -> None:
    assert key_recovery.changed_key(0, *grown, 0, 1000) is None


@pytest.mark.parametrize("lo", [0, -1200, MOST - 2600])
def test_keys_to_look_up_are_those_of_every_row_that_changed(lo: int) -> None:
    rng, hi = Random(7), lo + 2600
    for _ in range(8):
        before = {key: _digest(rng) for key in rng.sample(range(lo, hi), 2400)}
        now, changed = _changed(rng, before, lo, hi, 20)
        was, new = _sums_of_both(before, now)
        found = key_recovery.rows_to_look_up(_range(lo, hi, len(now)), was, new, WIDTH)
        assert found is not None
        assert found.alone is not None
        assert len(found.alone) > 10, "most leaves have one change"
        asked = KeyRange(3, (str(lo),), (str(hi),), len(now), only=found)
        keys = list(key_recovery.keys(asked))
        assert len(set(keys)) == len(keys) <= found.rows
        assert changed <= {*keys} <= {*range(lo, hi)}
        whole = {leaf for leaf in leaves.tails(asked) if leaf not in found.alone}
        assert {k for k in range(lo, hi) if k & 255 in whole} <= {*keys}, "of other leaves every key"


def test_ranges_without_key_recovery() -> None:
    rng = Random(1)
    before = {key: _digest(rng) for key in range(2000)}
    now, _ = _changed(rng, before, 0, 2000, 20)
    was, new = _sums_of_both(before, now)
    assert key_recovery.rows_to_look_up(_range(0, 2000, 2000), was, new, WIDTH) is not None
    assert key_recovery.rows_to_look_up(_range(None, 2000, 2000), was, new, WIDTH) is None
    assert key_recovery.rows_to_look_up(_range(0, None, 2000), was, new, WIDTH) is None
    unweighted = {leaf: sums[:2] for leaf, sums in was.items()}
    assert key_recovery.rows_to_look_up(_range(0, 2000, 2000), unweighted, new, WIDTH) is None, (
        "remembered by an older version"
    )
    all_new = {key: _digest(rng) for key in before}
    assert key_recovery.rows_to_look_up(_range(0, 2000, 2000), *_sums_of_both(before, all_new), WIDTH) is None
    far = {key * 10**6: digest for key, digest in before.items()}
    twice = {**far, 0: 1, 256 * 10**6: 2}
    assert key_recovery.rows_to_look_up(_range(0, 2 * 10**9, 2000), *_sums_of_both(far, twice), WIDTH) is None, (
        "too many numbers to count up"
    )


def test_a_range_without_recovered_keys() -> None:
    one = _range(0, 10, 5)
    with pytest.raises(ValueError, match="rows of range 3 are not looked up by key"):
        list(key_recovery.keys(one))
