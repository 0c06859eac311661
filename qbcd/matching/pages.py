"""Pages that set indexes take and queries read (Helmer, 7.6 to 7.8).

They follow the thesis' cost model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from qbcd.matching.index import SetRelation
from qbcd.matching.signatures import Coding, false_drops, overlap_drops

PAGE = 4096
IDENT_BITS = 64
TREE_FILL = 0.64
LINEAR_FILL = 0.6
COMPRESSION = 8
HEIGHT = 2  # pages from the root of the inverted file's tree to a list


@dataclass(frozen=True)
class Population:
    """Facts for the cost model: stored sets, and a query.

    Attributes:
        elements: Elements of a stored set.
        query: Elements of the query.
        domain: Different elements.
        pages: Pages of the stored objects, each read at most once.
    """

    sets: int
    elements: float
    query: int
    domain: int
    pages: int


def record_bytes(bits: int) -> int:
    """Return the bytes of a signature with its reference."""
    return math.ceil((bits + IDENT_BITS) / 8)


def signature_file(sets: int, bits: int) -> int:
    """Return the pages of a sequential signature file; 100,000 sets with 32 bits take 293."""
    return math.ceil(sets * record_bytes(bits) / PAGE)


def signature_tree(sets: int, bits: int) -> float:
    """Return the pages of a signature tree, 1.56 times those of the file."""
    return sets / (TREE_FILL * (PAGE // record_bytes(bits)) - 1)


def extendible_hashing(sets: int, bits: int) -> float:
    """Return the pages of buckets of extendible hashing, 1.44 times those of the file.

    The directory is extra.
    """
    return signature_file(sets, bits) * math.log2(math.e)


def linear_hashing(sets: int, bits: int) -> float:
    """Return the pages of recursive linear hashing, 1.67 times those of the file."""
    reference = IDENT_BITS / (8 * PAGE)
    return signature_file(sets, bits) * (1 + reference) / LINEAR_FILL


def inverted_file(sets: int, elements: float, domain: int) -> float:
    """Return the pages of an inverted file: its tree over the domain, and its compressed lists."""
    entry, posting = 12 / math.log(2), 10
    return (domain * entry + sets * elements * posting / COMPRESSION) / PAGE


def bucket_loads(sets: int, capacity: int) -> tuple[float, float]:
    """Return the records that arrive at a split and at an unsplit bucket of one level.

    100,000 sets give 97.7 and 195.3.

    The printed shares are of a whole side of the table, not of one bucket (H16, H17).
    """
    depth = math.floor(math.log2(_splits(sets, capacity)))
    return sets / 2 ** (depth + 1), sets / 2**depth


def records_of_level(sets: int, capacity: int) -> float:
    """Return the records that arrive at all buckets of one level, which is all of them."""
    splits = _splits(sets, capacity)
    depth = math.floor(math.log2(splits))
    pointer = splits - 2**depth
    split, unsplit = bucket_loads(sets, capacity)
    return float(2 * pointer * split + (2**depth - pointer) * unsplit)


def _splits(sets: int, capacity: int) -> int:
    return max(math.ceil(sets / (LINEAR_FILL * capacity)), 1)


def fetched(pages: int, sets: int, wanted: float) -> float:
    """Return the pages that hold `wanted` of `sets` objects (Yao, 7.3)."""
    if wanted >= sets:
        return pages
    missed, per_page = 1.0, sets / pages
    for taken in range(round(wanted)):
        missed *= max((sets - per_page - taken) / (sets - taken), 0.0)
    return pages * (1 - missed)


def reads(facts: Population, relation: SetRelation, coding: Coding) -> dict[str, float]:
    """Return the pages that a query reads with each index (Table 7.11).

    Those of objects are included. Of both hash tables it is the best case (`worst_reads`).
    """
    size = signature_file(facts.sets, coding.bits)
    root = math.sqrt(size)
    stored, query = round(facts.elements), facts.query
    if relation is SetRelation.EQUALS:
        drops, tree, hashed, linear = 0.0, 0.156, 2.0, 2.0
    elif relation is SetRelation.CONTAINS_ALL:
        drops, tree, hashed, linear = false_drops(coding, stored, query), 0.156, 2.38 * root, 2.58 * root
    elif relation is SetRelation.CONTAINED_IN:
        drops, tree, hashed, linear = false_drops(coding, query, stored), 1.56, 2.38 * root, 2.58 * root
    else:  # every bucket has signatures that share a bit with the query's
        drops, tree, hashed, linear = overlap_drops(coding, stored, query), 1.56, 1.44 * size, 1.67 * size
    objects = fetched(facts.pages, facts.sets, drops * facts.sets)
    lists = query * (10 / COMPRESSION * facts.sets * facts.elements / (PAGE * facts.domain) + HEIGHT)
    return {
        "inverted_file": lists,
        "signature_file": size + objects,
        "signature_tree": tree * size + objects,
        "extendible_hashing": hashed + objects,
        "linear_hashing": linear + objects,
    }


def worst_reads(relation: SetRelation, size: float) -> dict[str, float]:
    """Return the pages of buckets that a query reads in the worst case (Table 7.11).

    Args:
        size: Pages of the signature file.
    """
    if relation is SetRelation.EQUALS:
        return {"extendible_hashing": 2.0, "linear_hashing": 2 * size}
    return {"extendible_hashing": 32 * math.sqrt(size), "linear_hashing": 0.91 * size**1.5}
