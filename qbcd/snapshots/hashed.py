"""Partitioned hash comparison: PH, PHC1 and PHC2 of Labio & Garcia-Molina 1996, section 3.2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from typing_extensions import override

from qbcd.snapshots.base import weight_of
from qbcd.snapshots.chunks import Chunk
from qbcd.snapshots.memory import compare_in_memory, fits
from qbcd.snapshots.meter import FileWriter
from qbcd.snapshots.ordered import Partitions, aligned, old_sorted, partition_count
from qbcd.snapshots.pairing import pair
from qbcd.snapshots.replica import ReplicaWriter
from qbcd.snapshots.work import Work


class KeptPartitions(Partitions):
    """Partitions whose files are the parts of the next replica."""

    def __init__(self, work: Work, whole: bool, count: int, replica: ReplicaWriter, pointers: bool = True) -> None:
        super().__init__(work, whole, count, pointers=pointers and not whole)
        self._replica = replica

    @override
    def _path(self, part: int) -> Path:
        name = f"part-{part:05d}.arrow"
        self._replica.parts = sorted([*self._replica.parts, name])
        return self._replica.work / name


def ph(work: Work) -> None:
    """Compare values, partition by partition: |F1| + 3 |F2| blocks.

    The partitions are the next replica.
    """
    work.require_rows("ph")
    _by_partitions(work, whole=True)


def phc1(work: Work) -> None:
    """Compare digests; F2 is partitioned as it is: |f1| + 3 |F2| + |f2| blocks.

    If f1 fits into memory, the cost is |f1| + |F2| + |f2|.
    """
    if fits(work):
        compare_in_memory(work)
        return
    parts = _partitioned(work, Partitions(work, True, partition_count(weight_of(work.new), work.memory)))
    replica = work.keep("key", whole=False)
    _match(work, _written(parts.sorted(), replica, work), compressed=True, new_whole=True)


def phc2(work: Work) -> None:
    """Compare digests; F2 is compressed first: |f1| + |F2| + 2 |f2| + I + U blocks.

    If f1 fits into memory, it does the same as `phc1`.
    """
    if fits(work):
        compare_in_memory(work)
        return
    _by_partitions(work, whole=False)


def _by_partitions(work: Work, whole: bool) -> None:
    """Partition the new side into what becomes the replica, and match it."""
    parts = keep_partitioned(work, whole)
    _match(work, parts.sorted(), compressed=not whole, new_whole=whole)


def keep_partitioned(work: Work, whole: bool) -> Partitions:
    """Partition the new side; if a replica is asked for, the partitions are its parts."""
    count = partition_count(weight_of(work.new), work.memory)
    replica = work.keep("range", whole, pointers=not whole)
    parts = KeptPartitions(work, whole, count, replica) if replica else Partitions(work, whole, count, not whole)
    return _partitioned(work, parts, flush=replica is not None)


def _partitioned(work: Work, parts: Partitions, flush: bool = False) -> Partitions:
    for chunk in work.new_chunks(digest=not parts.whole):
        parts.add(chunk)
    if flush:
        parts.flush()
    parts.close()
    return parts


def _match(work: Work, new: Iterator[Chunk], compressed: bool, new_whole: bool) -> None:
    for one, two in aligned(old_sorted(work, compressed), new, work, new_whole):
        work.emit_pairs(pair(one, two), one, two)


def _written(chunks: Iterator[Chunk], replica: ReplicaWriter | None, work: Work) -> Iterator[Chunk]:
    """Write the entries of all chunks to the replica on their way."""
    if replica is None:
        yield from chunks
        return
    writer = FileWriter(replica.new_part(), replica.schema, work.meter)
    for chunk in chunks:
        digested = chunk.digested()
        writer.write(digested.entries(pointers=False).body)
        yield digested
    writer.close()
