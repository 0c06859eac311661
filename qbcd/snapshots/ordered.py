"""Both sides in the order of key codes: sorted runs, partitions, and their alignment."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from qbcd.snapshots.base import Numbers, weight_of
from qbcd.snapshots.chunks import Chunk, gathered
from qbcd.snapshots.meter import FileWriter, read_file
from qbcd.snapshots.replica import DumpReplica
from qbcd.snapshots.work import Work, release_freed

_WAITING_STEPS = 3  # rows that are sorted and written have up to three copies, and a step of other work up to 18


class Partitions:
    """Rows in files by ranges of key codes; kept in memory as long as they fit.

    Attributes:
        whole: The rows are whole, else entries.
        count: A power of two; the first bits of a key code are the number of its partition.
    """

    def __init__(self, work: Work, whole: bool, count: int, pointers: bool = False) -> None:
        self._work, self.whole, self.count, self._pointers = work, whole, count, pointers
        self.layout = work.layout
        self._waiting: list[Chunk] = []
        self._size = 0
        self._writers: dict[int, FileWriter] = {}
        self._written: dict[int, Path] = {}
        self._rest: list[Chunk] = []  # by partition, once closed: rows that were not written

    def add(self, chunk: Chunk) -> None:
        """Add rows; writes all waiting ones if they exceed the memory."""
        self._waiting.append(chunk if self.whole else chunk.entries(self._pointers))
        self._size += self._waiting[-1].nbytes
        if self._size > waiting_bytes(self._work):
            self.flush()

    def place(self, chunk: Chunk) -> Numbers:
        """Return the partition of each row."""
        bits = self.count.bit_length() - 1
        if not bits:
            return np.zeros(len(chunk), np.int64)
        return np.asarray(chunk.key.high >> np.uint64(64 - bits)).astype(np.int64)

    def flush(self) -> None:
        """Write the waiting rows to the files."""
        for part, chunk in enumerate(self._split()):
            if len(chunk):
                self._writer(part, chunk.body.schema).write(chunk.body)
        release_freed()

    def _split(self) -> list[Chunk]:
        """Return the waiting rows of each partition, in the order in which they came."""
        found = gathered(self._waiting, self.layout, self.whole)
        self._waiting, self._size = [], 0
        if self.count == 1:
            return [found]
        place = self.place(found)
        order = np.argsort(place, kind="stable")
        cuts = np.searchsorted(place[order], np.arange(self.count + 1))
        found = found.take(order)
        return [found.slice(int(first), int(last)) for first, last in pairwise(cuts)]

    def _writer(self, part: int, schema: object) -> FileWriter:
        if part not in self._writers:
            self._writers[part] = FileWriter(self._path(part), schema, self._work.meter)
        return self._writers[part]

    def _path(self, part: int) -> Path:
        return self._work.temporary(f"partition-{part}")

    def close(self) -> None:
        """End the writing of files.

        Waiting rows stay in memory if they are no more than those of a step.
        """
        if self._size > self._work.memory:
            self.flush()
        self._rest = self._split()
        for part, writer in self._writers.items():
            writer.close()
            self._written[part] = writer.path
        self._writers.clear()

    def read(self, part: int) -> Chunk:
        """Return all rows of a partition."""
        chunks = [self._rest[part]]
        if part in self._written:
            bodies = read_file(self._written[part], self._work.meter)
            read = self.layout.chunk if self.whole else self.layout.entries
            chunks = [*(read(body) for body in bodies), *chunks]
        return gathered(chunks, self.layout, self.whole)

    def sorted(self) -> Iterator[Chunk]:
        """Return all rows in ascending order of key codes, a partition at a time."""
        for part in range(self.count):
            chunk = self.read(part)
            if len(chunk):
                yield chunk.sorted()


def partition_count(size: int, memory: int) -> int:
    """Return the number of partitions of which one at a time fits into memory.

    All partitions together have `size` bytes. The number is a power of two, at most 4,096.
    """
    return min(4096, 1 << max(0, -(-size // max(1, memory)) - 1).bit_length())


def old_sorted(work: Work, compressed: bool) -> Iterator[Chunk]:
    """Return the old side in ascending order of key codes.

    A replica in that order is read as it is. A file, or a replica in another order, is partitioned first.
    """
    old = work.old
    if isinstance(old, DumpReplica) and old.order == "key":
        yield from work.old_chunks()
        return
    if isinstance(old, DumpReplica) and old.order == "range":
        for part in range(len(old.parts)):
            chunk = gathered(list(old.part(part, work.meter)), work.layout, old.whole)
            work.report.old_rows += len(chunk)
            yield chunk.sorted()
        return
    whole = work.old_whole and not compressed
    size = old.size if isinstance(old, DumpReplica) else weight_of(old)
    found = Partitions(
        work, whole, partition_count(size, work.memory), pointers=work.old_file is not None and not whole
    )
    for chunk in work.old_chunks(digest=not whole):
        found.add(chunk)
    found.close()
    yield from found.sorted()


def aligned(old: Iterator[Chunk], new: Iterator[Chunk], work: Work, new_whole: bool) -> Iterator[tuple[Chunk, Chunk]]:
    """Cut two ascending streams into pairs of chunks, so that all rows of a key are in one pair."""
    for old_part, new_part in _cuts([_Side(old), _Side(new)]):
        old_whole = old_part[0].whole if old_part else work.old_whole
        yield gathered(old_part, work.layout, old_whole), gathered(new_part, work.layout, new_whole)


def merged_runs(work: Work, chunks: Iterator[Chunk], whole: bool) -> Iterator[Chunk]:
    """Sort rows of any number.

    Sorted runs that fit into memory are written to files, then all of them are merged once.
    """
    parts: list[Chunk] = []
    paths: list[Path] = []
    size = 0
    for chunk in chunks:
        parts.append(chunk if whole else chunk.entries(pointers=True))
        size += parts[-1].nbytes
        if size > waiting_bytes(work):
            paths.append(_run(work, parts, whole))
            parts, size = [], 0
    if not paths:
        yield from [gathered(parts, work.layout, whole).sorted()] if parts else []
        return
    if parts:
        paths.append(_run(work, parts, whole))
    read = work.layout.chunk if whole else work.layout.entries
    sides = [_Side(iter(read(body) for body in read_file(path, work.meter)), ahead=True) for path in paths]
    for found in _cuts(sides):
        yield gathered([chunk for some in found for chunk in some], work.layout, whole).sorted()


def waiting_bytes(work: Work) -> int:
    """Return the bytes of rows that wait to be sorted and written.

    Few copies exist of them, so it is more than the bytes of a step.
    """
    return _WAITING_STEPS * work.memory


def _run(work: Work, parts: list[Chunk], whole: bool) -> Path:
    """Write a sorted run, in batches of which one of each run fits into memory.

    It takes the chunks out of `parts`.
    """
    chunk = gathered(parts, work.layout, whole)
    parts.clear()
    chunk = chunk.sorted()
    path = work.temporary("run")
    writer = FileWriter(path, chunk.body.schema, work.meter)
    each = max(1, chunk.nbytes // len(chunk))
    runs = max(8, -(-weight_of(work.new) // waiting_bytes(work)))
    step = max(256, work.memory // each // runs)
    for first in range(0, len(chunk), step):
        writer.write(chunk.body.slice(first, step))
    writer.close()
    del chunk
    release_freed()
    return path


def _cuts(sides: list[_Side]) -> Iterator[list[list[Chunk]]]:
    """Cut ascending streams at the same codes, so that all rows of a code are in one cut."""
    while sum(side.fill() for side in sides):
        open_sides = [side for side in sides if side.waiting and not side.ended]
        bound = min((side.last for side in open_sides), default=None)
        found = [side.before(bound) for side in sides]
        if any(found):
            yield found
            release_freed()
            continue
        for side in open_sides:
            if side.last == bound:
                side.more()


class _Side:
    """Chunks of an ascending stream that are not used yet.

    Args:
        ahead: Read the next chunk when half of the last one is used. Among many streams one is always nearly used
            up, and would cut all of them after a few rows.
    """

    def __init__(self, chunks: Iterator[Chunk], ahead: bool = False) -> None:
        self._chunks, self._ahead = chunks, ahead
        self.waiting: list[Chunk] = []
        self.ended = False
        self._read = 0  # rows of the last chunk

    def fill(self) -> bool:
        """Read a chunk if none waits; return True if one waits then."""
        if not self.waiting or (self._ahead and 2 * sum(map(len, self.waiting)) < self._read):
            self.more()
        return bool(self.waiting)

    def more(self) -> None:
        """Read a chunk."""
        while not self.ended:
            chunk = next(self._chunks, None)
            if chunk is None:
                self.ended = True
            elif len(chunk):
                self.waiting.append(chunk)
                self._read = len(chunk)
                return

    @property
    def last(self) -> int:
        """The last code, of which further rows may follow."""
        return int(self.waiting[-1].key.high[-1])

    def before(self, bound: int | None) -> list[Chunk]:
        """Take the rows whose codes are below a bound; None: all."""
        if bound is None:
            found, self.waiting = self.waiting, []
            return found
        found, rest = [], []
        for chunk in self.waiting:
            cut = int(np.searchsorted(chunk.key.high, np.uint64(bound)))
            if cut:
                found.append(chunk.slice(0, cut))
            if cut < len(chunk):
                rest.append(chunk.slice(cut, len(chunk)))
        self.waiting = rest
        return found
