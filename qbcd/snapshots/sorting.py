"""Sort-merge comparison: SM, SMC1 and SMC2.

They are algorithms 3.1 and 3.2 of Labio & Garcia-Molina 1996.

The loop ends when both sides are exhausted; the printed one ends with the shorter side.
"""

from __future__ import annotations

from collections.abc import Iterator

from qbcd.snapshots.chunks import Chunk
from qbcd.snapshots.meter import FileWriter
from qbcd.snapshots.ordered import aligned, merged_runs, old_sorted
from qbcd.snapshots.pairing import pair
from qbcd.snapshots.work import Work


def sm(work: Work) -> None:
    """Compare values: |F1| + 4 |F2| blocks, of which one |F2| is the sorted replica."""
    work.require_rows("sm")
    _merge(work, whole=True, keep_rows=True)


def smc1(work: Work) -> None:
    """Compare digests; the runs have whole rows: |f1| + 3 |F2| + |f2| blocks."""
    _merge(work, whole=True, keep_rows=False)


def smc2(work: Work) -> None:
    """Compare digests: |f1| + |F2| + 3 |f2| + U + I blocks.

    The runs have entries with row numbers.
    """
    _merge(work, whole=False, keep_rows=False)


def _merge(work: Work, whole: bool, keep_rows: bool) -> None:
    new = merged_runs(work, work.new_chunks(digest=not whole), whole)
    kept = written(work, new, keep_rows)
    for one, two in aligned(old_sorted(work, compressed=not keep_rows), kept, work, whole):
        work.emit_pairs(pair(one, two), one, two)


def written(work: Work, chunks: Iterator[Chunk], keep_rows: bool, order: str = "key") -> Iterator[Chunk]:
    """Write all chunks to the replica on their way, if one is asked for: whole rows, or entries."""
    pointers = order == "file"
    replica = None
    writer = None
    for chunk in chunks:
        if writer is None:
            pointers = pointers or not chunk.whole
            replica = work.keep(order, whole=keep_rows, pointers=pointers)
            if replica is None:
                yield chunk
                yield from chunks
                return
            writer = FileWriter(replica.new_part(), replica.schema, work.meter)
        digested = chunk if keep_rows else chunk.digested()
        writer.write(chunk.body if keep_rows else digested.entries(pointers).body)
        yield digested
    if writer is None:
        work.keep(order, whole=keep_rows)
    else:
        writer.close()
