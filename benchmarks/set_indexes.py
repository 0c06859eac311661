"""The set indexes of Helmer's thesis over the same sets and queries, in this process; no server.

The thesis' own scale is pages of a disk. Here it is processor time, and the sets that a query verifies.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.matching import (
    Bitmap,
    Coding,
    ExtendibleHashing,
    InvertedFile,
    RecursiveLinearHashing,
    SetError,
    SetIndex,
    SetRelation,
    SignatureFile,
    SignatureTree,
)
from qbcd.matching.signatures import best_per_element

DATABASES = ("postgresql",)  # started, but not used
SETS, DOMAINS, QUERIES = 20_000, (200, 2000, 100_000), 40
SIZES = (5, 15)
WIDTHS = {SetRelation.EQUALS: 32, SetRelation.CONTAINS_ALL: 160, SetRelation.CONTAINED_IN: 64}
Made = Callable[[Coding], SetIndex[int]]
INDEXES: dict[str, Made] = {
    "inverted file": lambda coding: InvertedFile(),
    "bitmap": lambda coding: Bitmap(),
    "signature file": SignatureFile,
    "signature tree": SignatureTree,
    "extendible hashing": ExtendibleHashing,
    "linear hashing": RecursiveLinearHashing,
}


def measure(_place: Place, _folder: Path, _options: Options) -> Table:
    """Insert sets of 5 to 15 elements, then ask for equal sets, supersets of 2 and subsets of 40 elements."""
    heading = ("different elements", "index", "insert, µs", *(f"{one.value}, µs (candidates)" for one in WIDTHS))
    table = Table(heading, f"{SETS:,} sets of {SIZES[0]} to {SIZES[1]} elements; processor time")
    for domain in DOMAINS:
        drawn = random.Random(1)
        sets = [frozenset(drawn.sample(range(domain), drawn.randint(*SIZES))) for _ in range(SETS)]
        queries = {
            SetRelation.EQUALS: sets[:QUERIES],
            SetRelation.CONTAINS_ALL: [frozenset(sorted(one)[:2]) for one in sets[:QUERIES]],
            SetRelation.CONTAINED_IN: [one | frozenset(drawn.sample(range(domain), 30)) for one in sets[:QUERIES]],
        }
        for name, made in INDEXES.items():
            table.rows.append((f"{domain:,}", name, *_measured(made, sets, queries)))
    return table


def _measured(
    made: Made, sets: list[frozenset[int]], queries: dict[SetRelation, list[frozenset[int]]]
) -> tuple[str, ...]:
    found, inserted = [], 0.0
    for relation, asked in queries.items():
        bits = WIDTHS[relation]
        elements = 10 if relation is SetRelation.CONTAINS_ALL else len(asked[0])
        index = made(Coding(bits, best_per_element(bits, elements)))
        start = time.process_time()
        try:
            for ident, stored in enumerate(sets):
                index.insert(ident, stored)
        except SetError as error:
            found.append(f"refused: {error.what.partition(':')[0].partition('. fix')[0]}")
            continue
        inserted = (time.process_time() - start) / len(sets)
        start = time.process_time()
        for query in asked:
            index.find(relation, query)
        spent = (time.process_time() - start) / len(asked)
        candidates = sum(index.candidates(relation, query) for query in asked) / len(asked)
        found.append(f"{spent * 1e6:,.0f} ({candidates:,.1f})")
    return (f"{inserted * 1e6:,.1f}" if inserted else "", *found)
