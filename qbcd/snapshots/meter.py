"""Temporary Arrow files, and a meter that counts the blocks read and written.

The unit of the paper's formulas is a block of input or output. A stream of n bytes is ceil(n / block) blocks. A row
fetched by its number is one block, unless the same fetch has another row of that block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from qbcd.snapshots.base import Dump


@dataclass
class Meter:
    """Blocks read and written so far."""

    block: int = 16384
    read: int = 0
    written: int = 0

    def count_read(self, size: int) -> None:
        """Count the reading of a stream of `size` bytes."""
        self.read += -(-size // self.block)

    def count_written(self, size: int) -> None:
        """Count the writing of a stream of `size` bytes."""
        self.written += -(-size // self.block)


def read_snapshot(snapshot: Dump, meter: Meter) -> Iterator[pa.RecordBatch]:
    """Read a snapshot and count its size, or the bytes of its columns if the size is unknown."""
    size = 0
    for batch in snapshot.batches():
        size += batch.nbytes
        yield batch
    meter.count_read(snapshot.size or size)


def read_file(path: Path, meter: Meter) -> Iterator[pa.RecordBatch]:
    """Read a file of :class:`FileWriter`, batch by batch."""
    meter.count_read(path.stat().st_size)
    with pa.OSFile(str(path), "rb") as file, pa.ipc.open_stream(file) as reader:
        yield from reader


class FileWriter:
    """Writes batches to a file."""

    def __init__(self, path: Path, schema: pa.Schema, meter: Meter) -> None:
        self.path, self._meter = path, meter
        self._file = pa.OSFile(str(path), "wb")
        self._stream = pa.ipc.new_stream(self._file, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        self._stream.write_batch(batch)

    def close(self) -> None:
        """Complete the file."""
        self._stream.close()
        self._file.close()
        self._meter.count_written(self.path.stat().st_size)
