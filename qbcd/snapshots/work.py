"""The shared parts of the methods of one comparison.

These are both sides, temporary files, events found, and the replica to keep.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa

from qbcd.errors import ConfigError, Refused
from qbcd.snapshots.base import ComparisonReport, Dump, Numbers, Options, event_schema, joined, weight_of
from qbcd.snapshots.chunks import Chunk, DumpLayout, gathered
from qbcd.snapshots.events import events
from qbcd.snapshots.meter import FileWriter, Meter, read_file, read_snapshot
from qbcd.snapshots.pairing import Pairs
from qbcd.snapshots.replica import DumpReplica, ReplicaWriter

THREADS = 2
_FIXED = 24 << 20  # bytes that threads, readers and allocators use in any case
_COPIES = 18  # copies of the rows of a step at the same time, with those in buffers and in threads
BY_OFFSET = ("smc2", "phc2")  # methods whose entries have row numbers
LEAST_ROWS, MOST_ROWS = 16_384, 131_072
Old = Dump | DumpReplica


def step_memory(memory: int) -> int:
    """Return the bytes for the rows of one step of a method that may use `memory`."""
    return max(memory // 32, (memory - _FIXED) // _COPIES)


def release_freed() -> None:
    """Return freed memory to the system.

    Arrow's allocator keeps it otherwise, for each thread that used it.
    """
    pa.default_memory_pool().release_unused()


class AssumptionFailed(Exception):
    """A method cannot go on, because the files are not as it assumes; the general one restarts."""


class Work:
    """One run of one method."""

    def __init__(self, old: Old, new: Dump, options: Options, report: ComparisonReport) -> None:
        self.old, self.new, self.options, self.report = old, new, options, report
        self.layout = DumpLayout.of(new.schema, new.keys)
        self.meter, self._unmetered = Meter(options.block), Meter()
        self._place = tempfile.TemporaryDirectory(prefix="qbcd-snapshots-", dir=options.folder)
        self.folder = Path(self._place.name)
        self.replica: ReplicaWriter | None = None
        self._files: dict[bool, FileWriter] = {}
        self._fetches: list[tuple[str, Chunk | None, Chunk | None]] = []
        self._number = 0

    @property
    def memory(self) -> int:
        """Bytes for the rows of one step.

        The rest of the budget is for their copies, threads and buffers.
        """
        return step_memory(self.options.memory)

    @property
    def waiting(self) -> bool:
        """Return True if changed rows still have to be fetched."""
        return bool(self._fetches)

    @property
    def old_whole(self) -> bool:
        """Return True if the old side has whole rows."""
        return not isinstance(self.old, DumpReplica) or self.old.whole

    @property
    def old_file(self) -> Dump | None:
        """The file from which a method fetches old rows by number; None without one."""
        if self.report.method not in BY_OFFSET:
            return None
        if isinstance(self.old, Dump):
            return self.old if self.old.repeatable else None
        return self.options.old_file if self.old.numbered else None

    def require_rows(self, method: str) -> None:
        """Refuse an old side of which only digests were kept.

        Raises:
            ConfigError: The replica has no rows.
        """
        if not self.old_whole:
            raise ConfigError(
                f"method {method} compares values, but the replica has only digests",
                remedy="use phc1 or phc2, or keep rows (`replica: rows`)",
            )

    def temporary(self, name: str) -> Path:
        """Return a new path for a temporary file."""
        self._number += 1
        return self.folder / f"{name}-{self._number}.arrow"

    def new_chunks(self, digest: bool = False) -> Iterator[Chunk]:
        """Read the new snapshot; key codes (and digests) are computed in several threads."""
        for chunk in chunks_of(self.new, self.layout, self, digest):
            self.report.rows += len(chunk)
            yield chunk

    def old_chunks(self, digest: bool = False) -> Iterator[Chunk]:
        """Read the old side in its own order."""
        if isinstance(self.old, DumpReplica):
            found: Iterator[Chunk] = self.old.chunks(self.meter)
        else:
            found = chunks_of(self.old, self.layout, self, digest)
        for chunk in found:
            self.report.old_rows += len(chunk)
            yield chunk

    def keep(self, order: str, whole: bool, pointers: bool = False) -> ReplicaWriter | None:
        """Start the replica of the new snapshot, if one is asked for."""
        if self.options.keep is not None:
            schema = self.layout.schema if whole else self.layout.entry_schema(pointers)
            self.replica = ReplicaWriter(self.options.keep, self.layout, schema, order)
        return self.replica

    def emit(self, op: str, old: Chunk | None, new: Chunk | None) -> None:
        """Record events: deletes of old rows, inserts of new ones, updates of pairs."""
        side = new if new is not None else old
        assert side is not None
        if not len(side):
            return
        fetched = [one for one in (old, new) if one is not None and not one.whole]
        if (new is not None and not new.whole) or (new is None and fetched and self.old_file is not None):
            self._fetches.append((op, old, new))
            return
        if old is not None and not old.whole and self.old_file is not None:
            old = self._old_rows(old)
        counter = {"c": "inserts", "u": "updates", "d": "deletes"}[op]
        setattr(self.report, counter, getattr(self.report, counter) + len(side))
        self._write(events(self.layout, op, old, new))

    def emit_pairs(self, pairs: Pairs, old: Chunk, new: Chunk) -> None:
        """Record the events of paired chunks."""
        self.report.duplicates += pairs.duplicates
        self.emit("d", old.take(pairs.deletes), None)
        self.emit("u", old.take(pairs.old), new.take(pairs.new))
        self.emit("c", None, new.take(pairs.inserts))

    def _write(self, batch: pa.RecordBatch) -> None:
        delete = batch.column(0)[0].as_py() == "d"
        if delete not in self._files:
            schema = event_schema(self.layout.schema, self.layout.keys)
            self._files[delete] = FileWriter(self.temporary("events"), schema, self._unmetered)
        self._files[delete].write(batch)

    def _fetch(self) -> None:
        """Read the values of changed entries by their row numbers.

        They are read in groups that fit into memory.
        """
        waiting, self._fetches = self._fetches, []
        for op in "duc":
            olds = [old for one, old, _ in waiting if one == op and old is not None]
            news = [new for one, _, new in waiting if one == op and new is not None]
            if not olds and not news:
                continue
            new = gathered(news, self.layout, whole=False) if news else None
            old = gathered(olds, self.layout, olds[0].whole) if olds else None
            side = new if new is not None else old
            assert side is not None
            order = np.argsort(side.rows)
            width = max(64, weight_of(self.new) // max(1, self.report.rows))
            step = max(1024, self.memory // width)
            for first in range(0, len(order), step):
                part = order[first : first + step]
                before = old.take(part) if old is not None else None
                if before is not None and not before.whole and self.old_file is not None:
                    before = self._old_rows(before)
                after = new.take(part) if new is not None else None
                self.emit(op, before, self._new_rows(after) if after is not None else None)

    def _new_rows(self, entries: Chunk) -> Chunk:
        """Return the rows of new entries in ascending order of their numbers."""
        self._count_fetch(self.new, entries.rows, self.report.rows)
        return self.layout.chunk(self.new.take(entries.rows))

    def _old_rows(self, entries: Chunk) -> Chunk:
        """Return the old rows of entries, by their numbers in the old file.

        Raises:
            Refused: The file is not the snapshot whose digests were compared.
        """
        file = self.old_file
        assert file is not None
        order = np.argsort(entries.rows)
        numbers = entries.rows[order]
        self._count_fetch(file, numbers, self.report.old_rows)
        found = self.layout.chunk(file.take(numbers), digest=True)
        ours, theirs = found.content, entries.take(order).content
        assert ours is not None and theirs is not None
        same = len(found) == len(entries) and ((ours.high == theirs.high) & (ours.low == theirs.low)).all()
        if not same:
            raise Refused(
                f"{file.name} is not the snapshot whose digests were compared: its rows at changed places differ",
                remedy="name the file of the last comparison, or compare without old values",
            )
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return found.take(back)

    def _count_fetch(self, file: Dump, rows: Numbers, total: int) -> None:
        """Count the blocks that hold the rows; without an index of rows all blocks were read."""
        if type(file).take is Dump.take:
            self.meter.count_read(file.size)
            return
        blocks = -(-file.size // self.meter.block)
        self.meter.read += len(np.unique(rows * blocks // max(1, total)))

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Complete events and replica; return the events, deletes first."""
        self._fetch()
        for writer in self._files.values():
            writer.close()
        report = self.report
        report.read_blocks, report.written_blocks = self.meter.read, self.meter.written
        if self.replica is not None:
            self.replica.rows = report.rows
            self.replica.commit(self.statistics())
            self.replica = None
        for delete in (True, False):
            if delete in self._files:
                yield from read_file(self._files[delete].path, self._unmetered)

    def statistics(self) -> dict[str, float]:
        """Return what the planner of the next comparison uses."""
        report, rows = self.report, max(1, self.report.old_rows)
        return {
            "inserts": report.inserts / rows,
            "updates": report.updates / rows,
            "deletes": report.deletes / rows,
            "duplicates": report.duplicates / rows,
            "rows": report.rows,
            "compared": float(report.method != "baseline"),
            "width": weight_of(self.new) / max(1, report.rows),
        }

    def close(self) -> None:
        """Remove temporary files; a replica that is not complete too."""
        if self.replica is not None:
            self.replica.discard()
        self._place.cleanup()


def chunks_of(snapshot: Dump, layout: DumpLayout, work: Work, digest: bool) -> Iterator[Chunk]:
    """Read a snapshot as chunks, in its order."""

    def numbered() -> Iterator[tuple[pa.RecordBatch, int]]:
        first = 0
        for batch in resized(read_snapshot(snapshot, work.meter), work.memory // 4):
            yield batch, first
            first += batch.num_rows

    return in_threads(lambda item: layout.chunk(item[0], item[1], digest), numbered())


def resized(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    """Split large batches and join small ones.

    A batch has at most `most` bytes, if possible 16,384 to 131,072 rows.
    """
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        each = max(1, batch.nbytes // batch.num_rows)
        step = max(1, min(MOST_ROWS, most // each))
        for first in range(0, batch.num_rows, step):
            part = batch.slice(first, step)
            waiting.append(part)
            rows, size = rows + part.num_rows, size + each * part.num_rows
            if rows >= LEAST_ROWS or size >= most // 2:
                yield joined(waiting, part.schema)
                waiting, rows, size = [], 0, 0
    if waiting:
        yield joined(waiting, waiting[0].schema)


def in_threads(
    function: Callable[[tuple[pa.RecordBatch, int]], Chunk], items: Iterator[tuple[pa.RecordBatch, int]]
) -> Iterator[Chunk]:
    """Apply a function in threads, in order, a few items ahead."""

    def applied(item: tuple[pa.RecordBatch, int]) -> Chunk:
        try:
            return function(item)
        finally:
            release_freed()

    with ThreadPoolExecutor(THREADS) as pool:
        waiting: list[Future[Chunk]] = []
        try:
            for item in items:
                waiting.append(pool.submit(applied, item))
                if len(waiting) > THREADS:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()
