"""Costs of the methods in blocks, their crossovers, and the error of digests.

The formulas of Labio & Garcia-Molina 1996 (section 4) and 1995 (section 4). F is a snapshot, f its compressed form;
U and I are numbers of updates and inserts. Numbers of blocks are exact; the paper prints them truncated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from qbcd.errors import ConfigError

MIB = 1 << 20
LEAST_BITS = 64


@dataclass(frozen=True)
class Sizes:
    """Two snapshots of equal size.

    Attributes:
        blocks: Blocks of a snapshot.
        by_digest, by_pointer: Size of a snapshot by that of its form `<K,b>`, and by that of `<K,b,p>`.
        changed: Number of updates and inserts.
        memory: Blocks that fit into memory.
    """

    blocks: float
    by_digest: float
    by_pointer: float
    changed: float
    memory: float

    @property
    def small(self) -> float:
        """Blocks of `<K,b>`."""
        return self.blocks / self.by_digest

    @property
    def pointers(self) -> float:
        """Blocks of `<K,b,p>`."""
        return self.blocks / self.by_pointer


def costs(sizes: Sizes) -> dict[str, float]:
    """Return the blocks that each method reads and writes; the events are not counted."""
    full, small, pointers = sizes.blocks, sizes.small, sizes.pointers
    return {
        "nl": full + full * full,
        "sm": full + 4 * full,
        "smc1": small + 3 * full + small,
        "smc2": pointers + full + 3 * pointers + sizes.changed,
        "ph": full + 3 * full,
        "phc1": small + full + small if small <= sizes.memory else small + 3 * full + small,
        "phc2": pointers + full + pointers
        if pointers <= sizes.memory
        else pointers + full + 2 * pointers + sizes.changed,
        "window": 2 * full,
        "similar": small + full + small,
        "growing": small + full + small,
        "stagnant": small + full + small,
        "shrinking": pointers + full + 2 * pointers,
        "ordered": 2 * full,
    }


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


@dataclass(frozen=True)
class Hybrid:
    """Costs of hybrid hash. `buckets` N are the partitions, `kept` k of them stay in memory."""

    buckets: int
    kept: int
    without_reuse: float
    with_reuse: float
    restarted: float


def hybrid(blocks: float, memory: float) -> Hybrid:
    """Return the costs of hybrid hash.

    The paper counts one process that keeps k buckets from comparison to comparison. `restarted` is what a new process
    needs, which has to read all of F1; with reuse, and without a replica.
    """
    buckets = math.ceil(math.sqrt(blocks))
    kept = min(buckets, int((memory - (buckets + 1)) / (math.ceil(blocks) / buckets - 1)))
    part = kept * blocks / buckets
    start = blocks - part + blocks
    reused = max(0.0, blocks - 2 * part)
    return Hybrid(buckets, kept, start + 2 * (blocks - part), start + 2 * reused, 2 * blocks + 2 * reused)


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
