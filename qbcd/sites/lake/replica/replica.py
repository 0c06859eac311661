"""The Parquet replica of a stream: base segments of ranges, and later batches as layers.

The rows of a range are those with its id in its own segment, plus the changes of that range in batches after the
segment's `folded_through`; the latest per key counts (docs/design/protocol.md#rule-11 and #rule-23).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy.engine import Connection

from qbcd.model import BatchHeader, Column, StreamPlan
from qbcd.ranges.leaves import are_some
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Engine, Rows
from qbcd.sites.lake.replica.files import Files, FileSet
from qbcd.sites.lake.replica.schema import batch_fields, row_fields
from qbcd.state import Segment, StoredRange, StreamRow, StreamStore

FEW_RANGES = 100  # up to this number, Parquet pages without rows of these ranges are skipped (`qbcd.spark.provider`)


@dataclass(frozen=True)
class NewSegment:
    """A segment that a commit adds, with all rows of some ranges.

    Attributes:
        rows: Number of its rows, including rows of other ranges.
        ranges: The ranges whose rows it has.
        removed: Ranges that `ranges` replace.
        alone: The batch of the commit has no changes of other ranges.
    """

    segment: FileSet
    rows: int
    ranges: Sequence[StoredRange]
    removed: Sequence[StoredRange] = ()
    alone: bool = False


class Replica:
    """Reads the replica and changes its manifest, always in the caller's transaction.

    Args:
        store: Tables of manifest and batches.
    """

    def __init__(self, stream: str, store: StreamStore, files: Files) -> None:
        self.stream = stream
        self.store = store
        self.files = files

    def part_rows(self, engine: Engine, plan: StreamPlan, columns: Sequence[Column], part: FileSet) -> Rows:
        """Return the rows of a segment with the values of `columns`."""
        return self.files.read(engine, row_fields(plan, columns), part)

    def batch_rows(self, engine: Engine, plan: StreamPlan, *parts: FileSet) -> Rows:
        """Return the rows of batches."""
        return self.files.read(engine, batch_fields(plan), *parts)

    def rows(
        self,
        conn: Connection,
        engine: Engine,
        plan: StreamPlan,
        kept: Sequence[Column],
        asked: Sequence[StoredRange],
        *,
        alone: bool = False,
    ) -> Rows:
        """Return the replica's rows in `asked` ranges (at least one) with the values of `kept`.

        One task gets them all if they are few, or `alone`.
        """
        segments = {s.segment_id: s for s in self.store.segments(conn, self.stream)}
        used = {r.segment: segments[r.segment] for r in asked if r.segment is not None}
        oldest = min((s.epoch, s.folded_through) for s in used.values())
        later = self.store.layers(conn, self.stream, oldest)
        levels = sorted({s.folded_through for s in used.values()})  # mostly one; its segments share their layers
        frames = []
        for level in levels:
            on_top = [h for h in later if h.seq > level]
            some = {i: s for i, s in used.items() if s.folded_through == level}
            own = [r for r in asked if r.segment in some]
            frames.append(self._merged(engine, plan, kept, (list(some.values()), on_top), own, alone=alone))
        few = alone or sum(r.asked[0] for r in asked) <= engine.few_rows
        return algebra.together(frames, alone=few)

    def _merged(
        self,
        engine: Engine,
        plan: StreamPlan,
        kept: Sequence[Column],
        stored: tuple[Sequence[Segment], Sequence[BatchHeader]],
        own: Sequence[StoredRange],
        *,
        alone: bool,
    ) -> Rows:
        segments, on_top = stored
        layers = None
        if on_top:
            rows = self.batch_rows(engine, plan, *(FileSet.of_location(h.location) for h in on_top))
            layers = algebra.Layers(rows, sum(h.size for h in on_top), len(on_top) == 1)
        # leaves include their ranges
        by_leaves = len(segments) == 1 and are_some(own) and len(own) > FEW_RANGES
        bases = []
        for segment in segments:  # a segment may have old rows of ranges that are in another segment now
            here = [r.range_id for r in own if r.segment == segment.segment_id]
            rows = self.part_rows(engine, plan, kept, FileSet.of_segment(segment))
            bases.append(rows if by_leaves else engine.in_ranges(rows, here))
        base = algebra.together(bases)
        return algebra.merged(engine, base, layers, own, alone=alone)

    def replace_all(self, conn: Connection, row: StreamRow, new: NewSegment, *, epoch: int, folded: int) -> StreamRow:
        """Make `new` the only segment, and its ranges all ranges of the stream.

        Args:
            epoch: The epoch of the segment.
            folded: The last batch that is in it already.
        """
        part = new.segment
        old = [s.segment_id for s in self.store.segments(conn, self.stream)]
        self.store.delete_segments(conn, self.stream, old)
        self.store.add_segments(conn, self.stream, [_segment(row, part, epoch, new.rows, folded)])
        return self.store.replace_ranges(conn, row, [replace(r, segment=part.part_id) for r in new.ranges])

    def add_segment(self, conn: Connection, row: StreamRow, new: NewSegment, folded: int) -> StreamRow:
        """Make `new` the segment of its ranges, which may replace `new.removed`.

        If the commit's batch has no changes of other ranges, segments with all earlier batches include it too.

        Args:
            folded: The batch of this commit, which is in the segment already.
        """
        part = new.segment
        placed, old = [replace(r, segment=part.part_id) for r in new.ranges], self.store.segments(conn, self.stream)
        if new.removed:
            replaced = {r.range_id for r in (*new.removed, *placed)}
            stay = [r for r in self.store.ranges(conn, self.stream) if r.range_id not in replaced]
            row = self.store.replace_ranges(conn, row, [*stay, *placed])
        else:
            self.store.update_ranges(conn, self.stream, placed)
        named, last = self.store.named_segments(conn, self.stream), row.last_batch_seq
        kept = [replace(s, folded_through=folded) if new.alone and s.folded_through == last else s for s in old]
        self.store.delete_segments(conn, self.stream, [s.segment_id for s in old])
        added = _segment(row, part, row.epoch, new.rows, folded)
        self.store.add_segments(conn, self.stream, [*(s for s in kept if s.segment_id in named), added])
        return row

    def refold(
        self,
        conn: Connection,
        row: StreamRow,
        part: FileSet,
        *,
        folded: int,
        ranges: Sequence[StoredRange],
        stay: set[int],
    ) -> StreamRow:
        """Make `ranges` all ranges of the stream, and `part` the segment of those not in `stay`.

        Args:
            folded: The last batch; batches up to it have no changes of the ranges in `stay`.
        """
        placed = [r if r.range_id in stay else replace(r, segment=part.part_id) for r in ranges]
        named, segments = {r.segment for r in placed}, self.store.segments(conn, self.stream)
        rows = sum(r.rows for r in placed if r.range_id not in stay)
        self.store.delete_segments(conn, self.stream, [s.segment_id for s in segments])
        kept = [replace(s, folded_through=folded) for s in segments if s.segment_id in named]
        self.store.add_segments(conn, self.stream, [*kept, _segment(row, part, row.epoch, rows, folded)])
        return self.store.replace_ranges(conn, row, placed)

    def folded_through(self, conn: Connection) -> tuple[int, int] | None:
        """Return (epoch, batch_seq) of the last batch in all segments, or None without segments."""
        return min(((s.epoch, s.folded_through) for s in self.store.segments(conn, self.stream)), default=None)


def _segment(row: StreamRow, part: FileSet, epoch: int, rows: int, folded: int) -> Segment:
    return Segment(part.part_id, epoch, part.as_files(), rows, folded, row.fencing_token)
