"""The choice of an index by the cost model, and costs that agree with counted candidates."""

from __future__ import annotations

import random
from typing import Any

import pytest

from qbcd.matching import Bitmap, InvertedFile, SetError, SetIndex, SetRelation, SignatureFile, Workload, index_for
from qbcd.matching.cost import costs

CONTAINED = {SetRelation.CONTAINED_IN: 1.0}
CASES: dict[str, tuple[Workload, type[Any]]] = {
    "many conditions over many elements": (Workload(100_000, 3, 50_000, 40, CONTAINED), InvertedFile),
    "sets of many, all relations": (Workload(100_000, 10, 2000, 4, dict.fromkeys(SetRelation, 1.0)), InvertedFile),
    "sets of columns of one table": (Workload(500, 5, 64, 8, CONTAINED), Bitmap),
    "a few sets of many elements": (Workload(50, 10, 5000, 8, CONTAINED), SignatureFile),
    "sets that are added much more often than asked": (Workload(1000, 30, 20_000, 8, CONTAINED, 50), SignatureFile),
    "equal sets": (Workload(100_000, 10, 20_000, 10, {SetRelation.EQUALS: 1.0}), InvertedFile),
}


@pytest.mark.parametrize("case", CASES)
def test_the_index_fits_the_work(case: str) -> None:
    workload, kind = CASES[case]
    index = index_for(workload)
    assert isinstance(index, kind), costs(workload)
    assert next(iter(costs(workload).values())) == min(costs(workload).values())


def test_extendible_hashing_reads_the_fewest_pages_for_equal_sets() -> None:
    equal = costs(Workload(100_000, 10, 20_000, 10, {SetRelation.EQUALS: 1.0}))
    assert list(equal) == ["extendible_hashing", "inverted_file", "signature_file"]
    assert equal["extendible_hashing"] == 2


@pytest.mark.parametrize("case", CASES)
def test_the_chosen_index_is_exact(case: str) -> None:
    workload, _ = CASES[case]
    drawn = random.Random(3)
    index: SetIndex[int] = index_for(workload)
    sets = {n: frozenset(drawn.sample(range(60), drawn.randint(0, 5))) for n in range(300)}
    for ident, stored in sets.items():
        index.insert(ident, stored)
    for query in [*list(sets.values())[:20], frozenset(range(30))]:
        for relation in SetRelation:
            assert index.find(relation, query) == {n for n, stored in sets.items() if relation.holds(stored, query)}


def test_a_bitmap_is_no_choice_for_many_elements() -> None:
    assert "bitmap" in costs(Workload(10, 2, 1024, 2, CONTAINED))
    assert "bitmap" not in costs(Workload(10, 2, 1025, 2, CONTAINED))


def test_no_sets_have_no_cost() -> None:
    with pytest.raises(SetError, match="at least 1"):
        costs(Workload(0, 2, 10, 2, CONTAINED))
