"""The numbers of Helmer's thesis: signatures, false drops, pages of indexes, widths."""

from __future__ import annotations

import random

import pytest

from qbcd.matching import Coding, ExtendibleHashing, SetError, SetRelation, SignatureFile, pages
from qbcd.matching.signatures import (
    best_bits,
    best_per_element,
    canonical,
    false_drops,
    overlap_drops,
    subsets,
    supersets,
    weight,
)

CODES = {"CS101": 0b0100_1000, "Math": 0b1001_0000, "Physics": 0b0100_0100, "Prog": 0b0000_1100}
STUDENTS = {
    "Alice": (("CS101", "Math", "Physics", "Prog"), 0b1101_1100),
    "Bob": (("Math", "Physics"), 0b1101_0100),
    "Eve": (("CS101", "Math"), 0b1101_1000),
}


def worked_example() -> Coding:
    coding = Coding(8, 2)
    coding._codes.update(CODES)
    return coding


@pytest.mark.parametrize("student", STUDENTS)
def test_signatures_of_the_worked_example(student: str) -> None:
    courses, signature = STUDENTS[student]
    assert worked_example().signature(courses) == signature


def test_a_false_drop_of_the_worked_example() -> None:
    alice, bob, eve = (signature for _, signature in STUDENTS.values())
    assert eve & ~alice == 0
    assert bob & ~alice == 0
    assert SetRelation.CONTAINED_IN.may_hold(bob, alice, worked_example())


@pytest.mark.parametrize(("bits", "per_element", "printed"), [(32, 2, 0.216), (64, 4, 0.0466), (160, 11, 0.00046)])
def test_false_drops_of_a_query_of_one_element(bits: int, per_element: int, printed: float) -> None:
    coding = Coding(bits, per_element)
    assert false_drops(coding, stored=10, query=1) == pytest.approx(printed, rel=0.01)
    assert best_per_element(bits, 10) == per_element
    drawn, sets = random.Random(1), 8000
    index = SignatureFile[int](coding)
    for ident in range(sets):
        index.insert(ident, drawn.sample(range(2000), 10))
    right = wrong = asked = 0
    for element in range(2000, 2200):  # in no set, so each candidate is a false drop
        wrong += index.candidates(SetRelation.CONTAINS_ALL, [element])
        right += len(index.contains_all([element]))
        asked += sets
    assert right == 0
    assert wrong / asked == pytest.approx(printed, rel=0.1)


def test_half_of_a_signature_of_the_best_width_is_set() -> None:
    assert best_bits(100) == 144
    assert weight(Coding(best_bits(100)), 100) == pytest.approx(72, rel=0.01)


def test_pages_of_a_signature_file() -> None:
    assert [pages.signature_file(100_000, bits) for bits in (32, 64, 160)] == [293, 391, 684]


def test_loads_of_buckets_of_recursive_linear_hashing() -> None:
    assert pages.bucket_loads(100_000, 256) == pytest.approx((97.7, 195.3), abs=0.05)
    assert pages.records_of_level(100_000, 256) == pytest.approx(100_000)


def test_coefficients_of_the_sizes_of_indexes() -> None:
    file = pages.signature_file(1_000_000, 64)
    assert pages.signature_tree(1_000_000, 64) / file == pytest.approx(1.56, rel=0.01)
    assert pages.extendible_hashing(1_000_000, 64) / file == pytest.approx(1.44, rel=0.01)
    assert pages.linear_hashing(1_000_000, 64) / file == pytest.approx(1.67, rel=0.01)
    assert pages.inverted_file(1, 0, 1) * pages.PAGE == pytest.approx(17.31, abs=0.01)
    assert pages.inverted_file(1, 1, 0) * pages.PAGE == pytest.approx(1.25)


def test_coefficients_of_reads() -> None:
    facts = pages.Population(sets=100_000, elements=10, query=2, domain=2000, pages=1)
    size = pages.signature_file(100_000, 64)
    read = {relation: pages.reads(facts, relation, Coding(64, 1)) for relation in SetRelation}
    assert read[SetRelation.EQUALS]["extendible_hashing"] == pytest.approx(2)
    assert read[SetRelation.EQUALS]["signature_tree"] == pytest.approx(0.156 * size)
    contains = read[SetRelation.CONTAINS_ALL]
    assert contains["extendible_hashing"] == pytest.approx(2.38 * size**0.5 + 1, abs=0.01)
    assert read[SetRelation.CONTAINED_IN]["signature_tree"] == pytest.approx(1.56 * size)
    assert min(contains, key=contains.__getitem__) == "inverted_file"


def test_coefficients_of_hash_tables() -> None:
    facts = pages.Population(sets=100_000, elements=10, query=2, domain=2000, pages=1)
    size = pages.signature_file(100_000, 64)
    contained = pages.reads(facts, SetRelation.CONTAINS_ALL, Coding(64, 1))
    assert contained["extendible_hashing"] == pytest.approx(2**1.25 * size**0.5 + 1, rel=0.01)
    assert contained["linear_hashing"] == pytest.approx(2 / 0.6**0.5 * size**0.5 + 1, rel=0.01)
    assert pages.reads(facts, SetRelation.EQUALS, Coding(64, 1))["linear_hashing"] == 2
    worst = pages.worst_reads(SetRelation.CONTAINS_ALL, size)
    assert worst["extendible_hashing"] == pytest.approx(32 * size**0.5)
    assert worst["linear_hashing"] == pytest.approx(2 / 0.6**0.5 / 2**1.5 * size**1.5, rel=0.01)
    assert pages.worst_reads(SetRelation.EQUALS, size) == {"extendible_hashing": 2, "linear_hashing": 2 * size}


def test_false_drops_of_overlaps() -> None:
    coding, drawn, sets = Coding(64, 3), random.Random(2), 4000
    index = ExtendibleHashing[int](coding)
    for ident in range(sets):
        index.insert(ident, drawn.sample(range(2000), 8))
    queries = [range(5000 + 3 * n, 5003 + 3 * n) for n in range(60)]  # no set has one of these elements
    wrong = sum(index.candidates(SetRelation.OVERLAPS, query) for query in queries)
    assert wrong / (sets * len(queries)) == pytest.approx(overlap_drops(coding, stored=8, query=3), rel=0.1)


def test_subsets_and_supersets_are_visited_once() -> None:
    for bits in range(256):
        below = [other for other in range(256) if other & ~bits == 0]
        above = [other for other in range(256) if bits & ~other == 0]
        assert sorted(subsets(bits)) == below
        assert sorted(supersets(bits, 8)) == above
    assert list(subsets(0)) == [0]
    assert list(subsets(0b101))[-1] == 0


def test_equal_elements_have_equal_bytes_and_others_do_not() -> None:
    assert canonical(1) == canonical(1.0) == canonical(True)
    assert len({canonical(element) for element in ("1", 1, b"1", None, 1.5, "n", "")}) == 7
    with pytest.raises(SetError, match="not tuple"):
        canonical((1, 2))


def test_signatures_are_the_same_in_every_process() -> None:
    assert Coding(64, 2).signature(["a", 1, None]) == 0x8040008108400000
