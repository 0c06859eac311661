"""The Parquet replica of a stream: base segments, each holding the rows of some ranges, with later batches on top.

A range's rows are those of its own segment under its own id, plus the changes of that range in batches after the
segment's `folded_through`, latest per key (docs/design/protocol.md#rule-11 and #rule-23).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Connection

from qbcd.model import BatchHeader, Column, StreamPlan, Travel
from qbcd.ranges.leaves import are_some
from qbcd.sites.lake import diff
from qbcd.sites.lake.replica import layers
from qbcd.sites.lake.replica.files import Files, FileSet
from qbcd.sites.lake.replica.schema import batch_fields, row_fields
from qbcd.spark.provider import SparkProvider
from qbcd.state import Segment, StoredRange, StreamRow, StreamStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


FEW_RANGES = 100  # up to which pages are skipped that have no row of any (`qbcd.spark.provider`)


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

    def part_rows(self, columns: Sequence[Column], part: FileSet, **fields: Any) -> DataFrame:
        """The rows of a stage or segment that has the values of `columns`; `fields` as `row_fields` takes them."""
        return self.files.read(self.spark.get(), row_fields([c.travel for c in columns], **fields), part)

    def batch_rows(self, plan: StreamPlan, *parts: FileSet) -> DataFrame:
        """The rows of batches."""
        return self.files.read(self.spark.get(), batch_fields(travels_of(plan)), *parts)

    def rows(
        self,
        conn: Connection,
        plan: StreamPlan,
        kept: Sequence[Column],
        asked: Sequence[StoredRange],
        *,
        alone: bool = False,
    ) -> DataFrame:
        """The replica's rows, with the values of `kept`, in `asked` ranges (one at least), from any segment.

        They are for one task where they are few, or `alone`.
        """
        segments = {s.segment_id: s for s in self.store.segments(conn, self.stream)}
        used = {r.segment: segments[r.segment] for r in asked if r.segment is not None}
        oldest = min((s.epoch, s.folded_through) for s in used.values())
        later = self.store.batches(conn, self.stream, oldest)
        levels = sorted({s.folded_through for s in used.values()})  # mostly one: what lies on them is the same then
        frames = []
        for level in levels:
            on_top = [h for h in later if h.seq > level]
            some = {i: s for i, s in used.items() if s.folded_through == level}
            own = [r for r in asked if r.segment in some]
            frames.append(self._merged(plan, kept, list(some.values()), on_top, own, alone=alone))
        few = alone or sum(r.asked[0] for r in asked) <= diff.FEW_ROWS
        return layers.together(frames, alone=few)

    def _merged(
        self,
        plan: StreamPlan,
        kept: Sequence[Column],
        segments: Sequence[Segment],
        on_top: Sequence[BatchHeader],
        own: Sequence[StoredRange],
        *,
        alone: bool,
    ) -> DataFrame:
        about = sum(r.asked[0] for r in own)
        deltas = self.batch_rows(plan, *(FileSet.of_location(h.location) for h in on_top)) if on_top else None
        changed = sum(h.size for h in on_top)
        bases, told = [], len(segments) == 1 and are_some(own) and len(own) > FEW_RANGES  # leaves name their ranges
        for segment in segments:  # each has rows of ranges that stand in another one now
            here = [r.range_id for r in own if r.segment == segment.segment_id]
            rows = self.part_rows(kept, FileSet.of_segment(segment))
            bases.append(rows if told else rows.where(layers.one_of(here)))
        base = layers.together(bases)
        return layers.merged(base, deltas, own, about, changed=changed, one=len(on_top) == 1, alone=alone)

    def replace_all(
        self,
        conn: Connection,
        row: StreamRow,
        part: FileSet,
        *,
        epoch: int,
        rows: int,
        folded: int,
        ranges: Sequence[StoredRange],
    ) -> StreamRow:
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

    def take(
        self,
        conn: Connection,
        row: StreamRow,
        part: FileSet,
        *,
        rows: int,
        folded: int,
        gone: Sequence[StoredRange],
        ranges: Sequence[StoredRange],
        alone: bool,
    ) -> StreamRow:
        """Makes `part` the segment of `ranges`, which are some of the stream's, or new ones in the place of `gone`.

        Args:
            rows: Of `part`.
            folded: The batch of this commit, which is in `part` already.
            gone: Ranges that others take the place of.
            ranges: Those whose rows are in `part`.
            alone: The batch has no changes of other ranges, so that segments that had all before it have it too.
        """
        taken, old = [replace(r, segment=part.part_id) for r in ranges], self.store.segments(conn, self.stream)
        if gone:
            left = {r.range_id for r in (*gone, *taken)}
            stay = [r for r in self.store.ranges(conn, self.stream) if r.range_id not in left]
            row = self.store.replace_ranges(conn, row, [*stay, *taken])
        else:
            self.store.update_ranges(conn, self.stream, taken)
        named, last = self.store.named_segments(conn, self.stream), row.last_batch_seq
        kept = [replace(s, folded_through=folded) if alone and s.folded_through == last else s for s in old]
        self.store.delete_segments(conn, self.stream, [s.segment_id for s in old])
        new = _segment(row, part, row.epoch, rows, folded)
        self.store.add_segments(conn, self.stream, [*(s for s in kept if s.segment_id in named), new])
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


def _segment(row: StreamRow, part: FileSet, epoch: int, rows: int, folded: int) -> Segment:
    return Segment(part.part_id, epoch, part.as_files(), rows, folded, row.fencing_token)
