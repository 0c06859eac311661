"""Base joins of the thesis: equal results, and the pages of their cost formulas; growth of a bucketed store."""

from __future__ import annotations

import random
from hashlib import blake2b

import pytest

from tests.support.base_joins import (
    JOINS,
    Disk,
    LinearHashing,
    Relation,
    Row,
    block_nested_loop,
    grace,
    index_join,
    nested_loop,
    simple_hash,
    sort_merge,
)

PER_PAGE = 10


def relations(left: int = 400, right: int = 600, keys: int = 300) -> tuple[Disk, Relation, Relation]:
    """Return relations of 40 and 60 pages by default, some of whose keys repeat."""
    drawn, disk = random.Random(7), Disk(PER_PAGE)
    rows: list[list[Row]] = [[(drawn.randrange(keys), f"{n}") for n in range(size)] for size in (left, right)]
    return disk, Relation.of(disk, rows[0]), Relation.of(disk, rows[1])


@pytest.mark.parametrize("name", JOINS)
def test_joins_have_the_same_pairs(name: str) -> None:
    for sizes in ((400, 600), (0, 50), (50, 0), (7, 3)):
        _, left, right = relations(*sizes)
        wanted = sorted(
            (a, b) for page in left.pages for a in page for page_b in right.pages for b in page_b if a[0] == b[0]
        )
        assert sorted(JOINS[name](left, right)) == wanted


def test_pages_of_a_nested_loop() -> None:
    disk, left, right = relations()
    list(nested_loop(left, right))
    assert disk.reads == 40 + 400 * 60


def test_pages_of_a_block_nested_loop() -> None:
    disk, left, right = relations()
    list(block_nested_loop(left, right, memory=5))
    blocks = 10  # of 4 pages
    assert disk.reads == 40 + blocks * 60 - (blocks - 1)


@pytest.mark.parametrize("memory", [5, 11, 41])
def test_pages_of_a_simple_hash_join(memory: int) -> None:
    disk, left, right = relations()
    list(simple_hash(left, right, memory))
    assert (disk.reads, disk.writes) == (40 + -(-40 // (memory - 1)) * 60, 0)


def test_pages_of_a_sort_merge_join() -> None:
    disk, left, right = relations()
    list(sort_merge(left, right, memory=20))
    assert disk.reads + disk.writes == 3 * (40 + 60)


def test_pages_of_grace() -> None:
    disk, left, right = relations()
    list(grace(left, right, memory=9))
    parts = 5
    assert 3 * (40 + 60) <= disk.reads + disk.writes <= 3 * (40 + 60) + 2 * 2 * parts


def test_pages_of_an_index_join() -> None:
    disk, left, right = relations()
    found = len(list(index_join(left, right)))
    assert disk.reads == 40 + found


def test_a_store_grows_by_one_bucket_at_a_time() -> None:
    store, rows = LinearHashing(per_split=8), 4000
    keys = [int.from_bytes(blake2b(str(n).encode(), digest_size=8).digest(), "big") for n in range(rows)]
    for n, key in enumerate(keys):
        buckets = len(store.buckets)
        store.put(key, str(n))
        assert len(store.buckets) - buckets in (0, 1)
    assert [store.get(key) for key in keys] == [str(n) for n in range(rows)]
    assert len(store.buckets) == rows // 8 + 1
    # a row moves about once for each doubling, where a rebuild of all buckets would move each at every split
    assert store.moved < 1.2 * rows
    split, unsplit = (
        sum(len(bucket) for bucket in some) / max(len(some), 1)
        for some in (
            [*store.buckets[: store.split], *store.buckets[1 << store.depth :]],
            store.buckets[store.split : 1 << store.depth],
        )
    )
    assert unsplit / split == pytest.approx(2, rel=0.25)
