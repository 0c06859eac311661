"""Comparison of digests in memory.

All entries of the old side are in a table, and the new side is read once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from qbcd.snapshots.base import Numbers, weight_of
from qbcd.snapshots.chunks import Chunk, Marks, gathered
from qbcd.snapshots.digests import Codes
from qbcd.snapshots.meter import FileWriter
from qbcd.snapshots.ordered import Partitions, partition_count
from qbcd.snapshots.pairing import pair
from qbcd.snapshots.replica import DumpReplica
from qbcd.snapshots.work import Work

_FREE = -1
_LAST = 0xFFFFFFFFFFFFFFFF


def fits(work: Work) -> bool:
    """Return True if the entries of the old side fit into half of the memory."""
    old = work.old
    if isinstance(old, DumpReplica):
        return 2 * entry_bytes(old.size, old.rows, old.whole) < work.options.memory
    return 2 * weight_of(old) < work.options.memory


def entry_bytes(size: int, rows: int, whole: bool) -> int:
    """Return the bytes of a table of entries: 48 in arrays, and the columns twice."""
    return 2 * size if whole else 2 * size + 48 * rows


class EntryTable:
    """Entries in the order of their key codes, found by the first bits of the code.

    Attributes:
        owner: For each entry the number of the new row that is equal, or -1.
    """

    def __init__(self, entries: Chunk) -> None:
        content = entries.content
        assert content is not None
        self.entries = entries
        self.count = len(entries)
        self._high, self._one, self._two = (
            np.append(lane, np.uint64(_LAST)) for lane in (entries.key.high, content.high, content.low)
        )
        self._bits = min(32, self.count.bit_length() + 1)
        self._starts = np.zeros(1 << self._bits, np.uint32)
        prefixes = entries.key.high >> np.uint64(64 - self._bits)
        ends = np.append(np.flatnonzero(prefixes[1:] != prefixes[:-1]) + 1, self.count)[: self.count]
        self._starts[prefixes[ends - 1] + np.uint64(1) & np.uint64((1 << self._bits) - 1)] = ends
        self._starts[0] = 0  # the last prefix has no successor
        np.maximum.accumulate(self._starts, out=self._starts)
        self.owner = np.full(self.count + 1, _FREE, np.int64)
        self.owner[-1] = 0  # the entry after the last one, which ends a search

    def claim(self, key: Codes, content: Codes, rows: Numbers) -> Marks:
        """Give each new row an equal entry that no other row has; return False for rows without one."""
        found = np.zeros(len(rows), np.bool_)
        place = self._starts[key.high >> np.uint64(64 - self._bits)].astype(np.int64)
        there = self._high[place]
        equal = (there == key.high) & (self._one[place] == content.high) & (self._two[place] == content.low)
        self._settle(np.flatnonzero(equal), place[equal], rows, found)
        active = np.flatnonzero(~found & (there <= key.high) & (place < self.count))
        place = place[active]
        while len(active):
            place = place + 1
            high = key.high[active]
            there = self._high[place]
            equal = (there == high) & (self._one[place] == content.high[active])
            equal &= self._two[place] == content.low[active]
            self._settle(active[equal], place[equal], rows, found)
            rest = ~found[active] & (there <= high) & (place < self.count)
            active, place = active[rest], place[rest]
        return found

    def _settle(self, active: Numbers, place: Numbers, rows: Numbers, found: Marks) -> None:
        """Let rows own the entries at their places, if those are free; of several rows one wins."""
        free = self.owner[place] == _FREE
        if not free.all():
            active, place = active[free], place[free]
        self.owner[place] = rows[active]
        found[active] = self.owner[place] == rows[active]

    def rest(self) -> Chunk:
        """Return the entries that no row owns."""
        return self.entries.take(np.flatnonzero(self.owner[:-1] == _FREE))


def compare_in_memory(work: Work) -> None:
    """Claim equal entries while the new side is read; pair what remains by key."""
    old = gathered([_entry(chunk) for chunk in work.old_chunks(digest=True)], work.layout, whole=False)
    in_order = isinstance(work.old, DumpReplica) and work.old.order == "key"
    table = EntryTable(old if in_order else old.sorted())
    changed = Partitions(work, True, partition_count(weight_of(work.new), work.memory))
    added: list[Chunk] = []
    for chunk in work.new_chunks(digest=True):
        assert chunk.content is not None
        lost = np.flatnonzero(~table.claim(chunk.key, chunk.content, chunk.rows))
        if len(lost):
            some = chunk.take(lost)
            changed.add(some)
            if work.options.keep is not None:
                added.append(some.entries(pointers=True))
    changed.close()
    rest = table.rest()
    for part in range(changed.count):
        new = changed.read(part)
        one = rest.take(np.flatnonzero(changed.place(rest) == part))
        if len(one) or len(new):
            work.emit_pairs(pair(one, new), one, new)
    _keep(work, table, added)


def _entry(chunk: Chunk) -> Chunk:
    """Return a chunk as entries with the columns that the table needs: no column of row numbers."""
    return chunk.entries(pointers=False)


def _keep(work: Work, table: EntryTable, added: list[Chunk]) -> None:
    """Write the next replica.

    It has owned entries with their new row numbers, merged with the changed rows.
    """
    replica = work.keep("key", whole=False, pointers=True)
    if replica is None:
        return
    kept = np.flatnonzero(table.owner[:-1] != _FREE)
    more = gathered([chunk.sorted() for chunk in added], work.layout, whole=False)
    more = more.sorted() if len(more) else more
    writer = FileWriter(replica.new_part(), replica.schema, work.meter)
    step = 1 << 18
    done = 0
    for first in range(0, max(1, len(kept)), step):
        some = kept[first : first + step]
        last = first + step >= len(kept)
        base = _numbered(table, some)
        bound = len(more) if last else int(np.searchsorted(more.key.high, base.key.high[-1], side="right"))
        for body in _merged(base, more.slice(done, bound), work):
            writer.write(body)
        done = bound
    writer.close()


def _numbered(table: EntryTable, some: Numbers) -> Chunk:
    """Return entries with the numbers of the rows that own them."""
    part = table.entries.take(some)
    return Chunk(part.layout, part.key, part.body, part.content, table.owner[some], whole=False)


def _merged(base: Chunk, more: Chunk, work: Work) -> Iterator[pa.RecordBatch]:
    """Return two sorted chunks of entries as one sorted batch."""
    both = [chunk.entries(pointers=True) for chunk in (base, more) if len(chunk)]
    if both:
        whole = gathered(both, work.layout, whole=False)
        yield (whole.sorted() if len(both) > 1 else whole).body
