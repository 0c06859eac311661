"""Snapshots of the experiments of Labio & Garcia-Molina 1996, section 5, in Arrow files.

Rows have an integer key and texts, 150 bytes together. The new snapshot has the rows of the old one, some of them
updated, and each one swapped with a partner up to twice the mean displacement away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from typing_extensions import override

from qbcd.snapshots.base import Dump, Numbers

WIDTH = 150
STEP = 8192


@dataclass(frozen=True)
class Drawing:
    """Parameters of an experiment: rows, mean displacement in rows, shares of the rows."""

    rows: int
    displacement: int = 0
    updates: float = 0.01
    inserts: float = 0.0
    deletes: float = 0.0
    seed: int = 1
    width: int = WIDTH


class ArrowDump(Dump):
    """A snapshot in an Arrow file, with rows by number."""

    def __init__(self, path: Path, keys: tuple[str, ...] = ("id",)) -> None:
        self.path, self.keys, self.name = path, keys, path.name
        self.size = path.stat().st_size
        with pa.OSFile(str(path), "rb") as file:
            reader = pa.ipc.open_file(file)
            self.schema = reader.schema

    @override
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the file."""
        with pa.OSFile(str(self.path), "rb") as file:
            reader = pa.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)

    @override
    def take(self, rows: Numbers) -> pa.RecordBatch:
        """Return rows by number; all batches but the last have the same length."""
        found = []
        with pa.OSFile(str(self.path), "rb") as file:
            reader = pa.ipc.open_file(file)
            for number in np.unique(rows // STEP):
                low, high = np.searchsorted(rows, (number * STEP, (number + 1) * STEP))
                found.append(reader.get_batch(int(number)).take(pa.array(rows[low:high] - number * STEP)))
        return pa.concat_batches(found)


def order_of(drawing: Drawing) -> Numbers:
    """Return old row numbers in the order of the new file: each one swapped with a partner, one after the other."""
    draw = np.random.default_rng(drawing.seed)
    order = list(range(drawing.rows))
    if drawing.displacement:
        moves = draw.integers(-2 * drawing.displacement, 2 * drawing.displacement + 1, drawing.rows).tolist()
        for row, move in enumerate(moves):
            if 0 <= row + move < drawing.rows:
                order[row], order[row + move] = order[row + move], order[row]
    return np.array(order)


def distance(order: Numbers) -> float:
    """Return the distance of two files: 0 in the same order, 1 reversed (equation 3)."""
    moved = np.abs(order - np.arange(len(order))).sum()
    return float(moved / (len(order) ** 2 / 2))


def write_pair(folder: Path, drawing: Drawing) -> tuple[ArrowDump, ArrowDump]:
    """Write the old and the new snapshot."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(drawing.seed + 1)
    order = order_of(drawing)
    count = drawing.rows
    gone = draw.random(count) < drawing.deletes
    order = order[~gone[order]]
    added = np.arange(count, count + round(count * drawing.inserts))
    versions = np.zeros(count + len(added), np.int64)
    versions[:count] = draw.random(count) < drawing.updates
    if len(added):
        order = np.insert(order, np.sort(draw.integers(0, len(order) + 1, len(added))), added)
    _write(folder / "old.arrow", np.arange(count), np.zeros(count, np.int64), drawing.width)
    _write(folder / "new.arrow", order, versions[order], drawing.width)
    return ArrowDump(folder / "old.arrow"), ArrowDump(folder / "new.arrow")


def _write(path: Path, ids: Numbers, versions: Numbers, width: int) -> None:
    schema = pa.schema([("id", pa.int64()), ("version", pa.int64()), ("text", pa.string())])
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for first in range(0, len(ids), STEP):
            some = ids[first : first + STEP]
            texts = _texts(some, width - 20)
            writer.write_batch(
                pa.record_batch([pa.array(some), pa.array(versions[first : first + STEP]), texts], schema)
            )


def _texts(ids: Numbers, length: int) -> pa.Array:
    """Return a text of the given length for each id, always the same one."""
    letters: npt.NDArray[np.uint8] = ((ids[:, None] * np.arange(3, length + 3)) % 26 + 97).astype(np.uint8)
    ends = np.arange(0, length * (len(ids) + 1), length, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(ids), [None, pa.py_buffer(ends), pa.py_buffer(letters)])
