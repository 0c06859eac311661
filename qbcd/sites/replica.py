"""The Parquet replica of a stream: base segments, each holding the rows of some ranges, with later batches on top.

A range's rows are those of its own segment under its own id, plus the changes of that range in batches after the
segment's `folded_through`, latest per key (protocol.md 11 and 23).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Connection

from qbcd.model import BatchHeader, Column, StreamPlan, Travel
from qbcd.sites import compare, layers
from qbcd.sites.files import Files, Part
from qbcd.sites.shapes import batch_fields, row_fields
from qbcd.spark.provider import SparkProvider
from qbcd.state import Segment, StoredRange, StreamRow, StreamStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def travels_of(plan: StreamPlan) -> list[Travel]:
    """How the captured columns travel, in their order."""
    return [c.travel for c in plan.captured]


class Replica:
    """Reads the replica and moves what its manifest says; every change happens in the caller's transaction.

    Args:
        stream: The stream's name.
        store: Where manifest and batches stand.
        files: The stream's folder.
        spark: The session to read with.
    """

    def __init__(self, stream: str, store: StreamStore, files: Files, spark: SparkProvider) -> None:
        self.stream = stream
        self.store = store
        self.files = files
        self.spark = spark

    def part_rows(self, columns: Sequence[Column], part: Part, **fields: Any) -> DataFrame:
        """The rows of a stage or segment that has the values of `columns`; `fields` as `row_fields` takes them."""
        return self.files.read(self.spark.get(), row_fields([c.travel for c in columns], **fields), part)

    def batch_rows(self, plan: StreamPlan, *parts: Part) -> DataFrame:
        """The rows of batches."""
        return self.files.read(self.spark.get(), batch_fields(travels_of(plan)), *parts)

    def rows(
        self, conn: Connection, plan: StreamPlan, kept: Sequence[Column], asked: Sequence[StoredRange], *,
        alone: bool = False,
    ) -> DataFrame:  # fmt: skip
        """The replica's rows, with the values of `kept`, in `asked` ranges (one at least), from any segment.

        They are for one task where they are few, or `alone`.
        """
        segments = {s.segment_id: s for s in self.store.segments(conn, self.stream)}
        used = {r.segment: segments[r.segment] for r in asked if r.segment is not None}
        oldest = min((s.epoch, s.folded_through) for s in used.values())
        later = self.store.batches(conn, self.stream, oldest)
        frames = []
        for segment_id, segment in used.items():
            own = [r for r in asked if r.segment == segment_id]
            frames.append(self._segment_rows(plan, kept, segment, later, own, alone=alone))
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.unionByName(frame)
        few = alone or sum(r.asked[0] for r in asked) <= compare.FEW_ROWS
        return whole.coalesce(1) if few and frames[1:] else whole

    def _segment_rows(
        self,
        plan: StreamPlan,
        kept: Sequence[Column],
        segment: Segment,
        later: Sequence[BatchHeader],
        own: Sequence[StoredRange],
        *,
        alone: bool,
    ) -> DataFrame:
        on_top = [h for h in later if h.seq > segment.folded_through]
        about = sum(r.asked[0] for r in own)
        deltas = self.batch_rows(plan, *(Part.of_location(h.location) for h in on_top)) if on_top else None
        changed = sum(h.size for h in on_top)
        base = self.part_rows(kept, Part.of_segment(segment))
        return layers.merged(base, deltas, own, about, changed=changed, one=len(on_top) == 1, alone=alone)

    def replace_all(
        self, conn: Connection, row: StreamRow, part: Part, *, epoch: int, rows: int, folded: int,
        ranges: Sequence[StoredRange],
    ) -> StreamRow:  # fmt: skip
        """Makes `part` the one segment of `ranges`, which become all ranges of the stream.

        Args:
            epoch: The epoch that the segment belongs to.
            rows: Its rows.
            folded: The last batch that is in it already.
        """
        old = [s.segment_id for s in self.store.segments(conn, self.stream)]
        self.store.delete_segments(conn, self.stream, old)
        self.store.add_segments(conn, self.stream, [_segment(row, part, epoch, rows, folded)])
        return self.store.replace_ranges(conn, row, [replace(r, segment=part.part_id) for r in ranges])

    def recut(
        self, conn: Connection, row: StreamRow, part: Part, *, folded: int, kept: Sequence[StoredRange],
        children: Sequence[StoredRange],
    ) -> StreamRow:  # fmt: skip
        """Puts `children`, whose rows are in `part`, in the place of the ranges that are not `kept`."""
        rows = sum(r.rows for r in children)
        self.store.add_segments(conn, self.stream, [_segment(row, part, row.epoch, rows, folded)])
        ranges = [*kept, *(replace(r, segment=part.part_id) for r in children)]
        moved = self.store.replace_ranges(conn, row, ranges)
        named = {r.segment for r in ranges}
        gone = [s.segment_id for s in self.store.segments(conn, self.stream) if s.segment_id not in named]
        self.store.delete_segments(conn, self.stream, gone)
        return moved

    def refold(
        self, conn: Connection, row: StreamRow, part: Part, *, folded: int, ranges: Sequence[StoredRange],
        stay: set[int],
    ) -> StreamRow:  # fmt: skip
        """Makes `part` the segment of all `ranges` but those that `stay`, of which batches up to `folded` say nothing.

        `ranges` become all ranges of the stream.
        """
        placed = [r if r.range_id in stay else replace(r, segment=part.part_id) for r in ranges]
        named, segments = {r.segment for r in placed}, self.store.segments(conn, self.stream)
        rows = sum(r.rows for r in placed if r.range_id not in stay)
        self.store.delete_segments(conn, self.stream, [s.segment_id for s in segments])
        kept = [replace(s, folded_through=folded) for s in segments if s.segment_id in named]
        self.store.add_segments(conn, self.stream, [*kept, _segment(row, part, row.epoch, rows, folded)])
        return self.store.replace_ranges(conn, row, placed)

    def folded_through(self, conn: Connection) -> tuple[int, int] | None:
        """(epoch, batch_seq) up to which every segment has folded, or None where there is no segment."""
        return min(((s.epoch, s.folded_through) for s in self.store.segments(conn, self.stream)), default=None)


def _segment(row: StreamRow, part: Part, epoch: int, rows: int, folded: int) -> Segment:
    return Segment(part.part_id, epoch, part.as_files(), rows, folded, row.fencing_token)
