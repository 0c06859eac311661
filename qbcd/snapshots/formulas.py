"""Costs of the methods in blocks, their crossovers, and the error of digests.

The formulas of Labio & Garcia-Molina 1996 (section 4) and 1995 (section 4). F is a snapshot, f its compressed form;
U and I are numbers of updates and inserts. Numbers of blocks are exact; the paper prints them truncated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MIB = 1 << 20


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
