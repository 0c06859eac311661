"""The two sides of a comparison, its options, and the form of its result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from typing_extensions import override

Numbers = npt.NDArray[np.int64]
MIB = 1 << 20
LEAST_MEMORY = 64 * MIB


class Dump(ABC):
    """A complete set of rows at one time: a file, or a table that was read.

    Attributes:
        name: Path or address, for messages.
        schema: Columns of all batches. Both sides of a comparison have the same one.
        keys: Names of the key columns. Empty: the whole row is the key, and equal rows are counted.
        size: Bytes that one read costs, as far as known; the planner and the I/O meter use it.
        weight: Bytes of all rows in memory, which decide the number of partitions; `size` if that is more.
        repeatable: `batches` may be called again and returns the same rows in the same order.
    """

    name: str
    schema: pa.Schema
    keys: tuple[str, ...]
    size: int = 0
    weight: int = 0
    repeatable: bool = True

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read all rows from the start.

        Raises if the snapshot is incomplete; nothing is then reported.
        """

    def take(self, rows: Numbers) -> pa.RecordBatch:
        """Return the rows with these numbers (from 0, ascending, distinct), in this order.

        A file with an index of its rows overrides this; without one the snapshot is read once more.
        """
        found: list[pa.RecordBatch] = []
        first = 0
        for batch in self.batches():
            low, high = np.searchsorted(rows, (first, first + batch.num_rows))
            if high > low:
                found.append(batch.take(pa.array(rows[low:high] - first)))
            first += batch.num_rows
        return joined(found, self.schema)


class Batches(Dump):
    """A snapshot in memory, for tests and small tables."""

    def __init__(self, batches: Sequence[pa.RecordBatch], keys: Sequence[str], name: str = "memory") -> None:
        self.name, self.keys, self.schema = name, tuple(keys), batches[0].schema
        self.size = sum(batch.nbytes for batch in batches)
        self._batches = tuple(batches)

    @override
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the batches."""
        return iter(self._batches)


@dataclass(frozen=True)
class Options:
    """The method of a comparison, and its limits.

    Attributes:
        method: A name of `qbcd.snapshots.compare.METHODS`.
        memory: Bytes that the comparison may use in addition to what the process already has.
        folder: Where temporary files go; by default the system's folder.
        keep: Folder of the replica of the new snapshot, made for the next comparison. It must not exist, and it
            appears complete, on disk, in one step. None keeps nothing.
        keep_rows: Keep whole rows, for old values in the next comparison, and not only keys and digests.
        block: Bytes of a block, the unit of the I/O meter.
        old_file: The snapshot of which the old replica was kept, if it is still there: `smc2` and `phc2` fetch old
            values from it by their row numbers. Without a replica the old side is that file.
    """

    method: str = "auto"
    memory: int = 256 * MIB
    folder: Path | None = None
    keep: Path | None = None
    keep_rows: bool = False
    block: int = 16384
    old_file: Dump | None = None


@dataclass
class ComparisonReport:
    """Figures of one comparison; complete once all its batches were read.

    Attributes:
        method: The method that ran to the end.
        restarts: Methods that stopped because their assumption did not hold, each with the reason.
        rows: Rows of the new snapshot.
        waiting: Rows that waited for a partner in a window, at most, or left it before it came; -1: no window.
        useless: Messages that cancel each other (only `window_plain` has them).
        read_blocks, written_blocks: What the I/O meter counted, without the events themselves.
    """

    method: str = ""
    restarts: list[tuple[str, str]] = field(default_factory=list)
    rows: int = 0
    old_rows: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    useless: int = 0
    duplicates: int = 0
    read_blocks: int = 0
    written_blocks: int = 0
    spilled_rows: int = 0
    waiting: int = -1

    @property
    def blocks(self) -> int:
        """All blocks read and written."""
        return self.read_blocks + self.written_blocks


def weight_of(side: Dump) -> int:
    """Return the bytes of all rows of a snapshot in memory: a compressed file has fewer."""
    return max(side.size, side.weight)


def event_schema(schema: pa.Schema, keys: Sequence[str]) -> pa.Schema:
    """Return the columns of a batch of differences.

    `op`: c, u or d. `key`: a struct of the key columns; of type null without a key. `before`, `after`: structs of all
    columns, null where there is none. `before` is also null if only digests of the old rows were kept or compared.
    `before_digest`: 16 bytes of the old row for u and d, so that rows with equal keys can be distinguished; else null.
    """
    key = pa.struct([schema.field(name) for name in keys]) if keys else pa.null()
    row = pa.struct(list(schema))
    return pa.schema(
        [("op", pa.string()), ("key", key), ("before", row), ("after", row), ("before_digest", pa.binary(16))]
    )


def joined(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Return the batches as one."""
    if len(batches) == 1:
        return batches[0]
    if not batches:
        return pa.RecordBatch.from_pylist([], schema=schema)
    return pa.concat_batches(batches)
