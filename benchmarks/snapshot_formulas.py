"""Formulas about snapshots that no planner uses: crossovers, compressed files, the error of digests.

Those of Labio & Garcia-Molina 1996 (section 4) and 1995 (section 4), with the symbols of `qbcd.snapshots.formulas`.
"""

from __future__ import annotations

import math

from qbcd.errors import ConfigError
from qbcd.snapshots.formulas import Sizes

LEAST_BITS = 64


def intermediate(sizes: Sizes) -> dict[str, int]:
    """Return the blocks of the intermediate file of each method."""
    full, pointers = math.ceil(sizes.blocks), math.ceil(sizes.pointers)
    in_memory = math.ceil(sizes.small) if sizes.small <= sizes.memory else full
    named = {"sm": full, "smc1": full, "smc2": pointers, "ph": full, "phc1": in_memory, "phc2": pointers}
    return {**named, "nl": 0, "window": 0}


def crossovers(memory: float, by_digest: float, by_pointer: float) -> tuple[float, float]:
    """Return the sizes of a snapshot up to which `phc1` and `phc2` run in memory, in the unit of `memory`."""
    return memory * by_digest, memory * by_pointer


def break_even(sizes: Sizes, rows: float) -> tuple[float, float]:
    """Return the share of changed rows above which `<K,b>` is cheaper than `<K,b,p>`: hash, and sort-merge."""
    full, small, pointers = sizes.blocks, sizes.small, sizes.pointers
    plain = 3 * full + 2 * small
    return (plain - (full + 3 * pointers)) / rows, (plain - (full + 4 * pointers)) / rows


def compressed_kept(blocks: float, memory: float, ratio: float) -> float:
    """Return how many of the buckets of hybrid hash stay in memory when F1 is compressed by `ratio`."""
    buckets = math.ceil(math.sqrt(blocks))
    return (memory - (buckets + 1)) / (math.ceil(blocks / ratio) / buckets - 1)


def compressed_share(ratio: float) -> dict[str, float]:
    """Return the costs of 1995, as multiples of one snapshot, for files compressed by `ratio`; no rows are fetched."""
    part = 1 / ratio
    return {
        "M": 5.0,
        "GH": 4.0,
        "CP M": 3 + 2 * part,
        "CP GH": 3 + 2 * part,
        "growing": 1 + 3 * part,
        "stagnant": 1 + 3 * part,
        "shrinking": 1 + 3 * part,
        "similar": 2.0,
        "similar, compressed": 1 + 2 * part,
    }


def block_digests(blocks: float, rows: float, ratio: float, each: int, updates: float) -> float:
    """Return the cost of one digest for each `each` blocks of a stagnant file."""
    return 3 * blocks * blocks / (ratio * each * rows) + blocks + updates * each


def window_split(memory: float, ratio: float) -> tuple[float, float]:
    """Return the memory for f1 and for F2 with which both sides reach equally far."""
    return memory / (ratio + 1), memory * ratio / (ratio + 1)


def window_bytes(distance: float, rows: int, width: int) -> float:
    """Return the bytes of an ageing buffer for files of a distance (0: same order, 1: reversed)."""
    return distance * rows / 2 * width


def missed_per_row(bits: int) -> float:
    """Return the probability that a changed row has the digest of the old one.

    Raises:
        ConfigError: Fewer than 64 bits.
    """
    if bits < LEAST_BITS:
        raise ConfigError(
            f"digests of {bits} bits miss changes within years; at least {LEAST_BITS} are needed", remedy="use 128 bits"
        )
    return 2.0**-bits


def days_without_miss(probability: float, rows: int, changed: float = 1.0) -> float:
    """Return the expected days until a change is missed, with one comparison a day.

    `probability` is for one changed row; `changed` is the share of the rows that change.
    """
    return 1 / -math.expm1(changed * rows * math.log1p(-probability))
