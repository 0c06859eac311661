"""The choice of a set index by the thesis' cost model (Helmer, 7.6 to 7.8).

Pages stand for work, also in memory. The choice depends on how many sets there are, how many different elements, and
how often each relation is asked and sets are added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qbcd.matching.bitmap import MOST_ELEMENTS, Bitmap
from qbcd.matching.index import SetIndex, SetRelation
from qbcd.matching.inverted import InvertedFile
from qbcd.matching.pages import HEIGHT, PAGE, Population, reads, record_bytes
from qbcd.matching.signature_file import SignatureFile
from qbcd.matching.signatures import Coding, SetError, best_per_element

WIDTHS = {SetRelation.EQUALS: 32, SetRelation.CONTAINS_ALL: 160, SetRelation.CONTAINED_IN: 64, SetRelation.OVERLAPS: 64}
BYTES_OF_ELEMENT = 8


@dataclass(frozen=True)
class Workload:
    """Facts about sets and the work on them.

    Attributes:
        sets: Stored sets.
        elements: Elements of a stored set, on average.
        domain: Different elements of all sets.
        query: Elements of a query, on average.
        queries: Queries of each relation, as shares of the work.
        added: Sets that are added, as a share of the same work.
    """

    sets: int
    elements: float
    domain: int
    query: int
    queries: Mapping[SetRelation, float]
    added: float = 0.0

    @property
    def coding(self) -> Coding:
        """Signatures for the relation that is asked most, of the width that the thesis found best."""
        relation = max(self.queries, key=lambda one: self.queries[one], default=SetRelation.CONTAINED_IN)
        bits = WIDTHS[relation]
        larger = self.query if relation in (SetRelation.CONTAINED_IN, SetRelation.EQUALS) else round(self.elements)
        return Coding(bits, best_per_element(bits, larger))


def costs(workload: Workload) -> dict[str, float]:
    """Return the pages that the work reads and writes with each index, cheapest first.

    A bitmap is missing if there are more elements than it has bits. The signature tree and linear hashing are never
    cheaper than both the signature file and extendible hashing, and are missing.

    Raises:
        SetError: There are no sets or elements.
    """
    if min(workload.sets, workload.domain) < 1:
        raise SetError("the cost of an index depends on the number of sets and elements, which are at least 1")
    coding = workload.coding
    objects = max(round(workload.sets * workload.elements * BYTES_OF_ELEMENT / PAGE), 1)
    facts = Population(workload.sets, workload.elements, workload.query, workload.domain, objects)
    of_one = dict.fromkeys(("inverted_file", "signature_file", "extendible_hashing"), 0.0)
    for relation, share in workload.queries.items():
        each = reads(facts, relation, coding)
        of_one = {name: total + share * each[name] for name, total in of_one.items()}
    written = {"inverted_file": workload.elements * (HEIGHT + 1), "signature_file": 1.0, "extendible_hashing": 2.0}
    found = {name: total + workload.added * written[name] for name, total in of_one.items()}
    if workload.domain <= MOST_ELEMENTS:
        exact = workload.sets * record_bytes(workload.domain) / PAGE  # and no wrong candidate
        found["bitmap"] = exact * sum(workload.queries.values()) + workload.added
    return dict(sorted(found.items(), key=lambda one: one[1]))


def index_for(workload: Workload) -> SetIndex[Any]:
    """Return an empty index of the kind that costs least.

    Extendible hashing is no choice: it reads the fewest pages for equal sets, but in memory the inverted file is faster
    (docs/internals/sets.md).
    """
    kind = next(name for name in costs(workload) if name != "extendible_hashing")
    if kind == "bitmap":
        return Bitmap()
    return SignatureFile(workload.coding) if kind == "signature_file" else InvertedFile()
