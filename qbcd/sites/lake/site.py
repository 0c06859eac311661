"""The site under Spark: the replica is Parquet in the workdir, row and ranges are in the state database (ID/RCS).

One poll: checksums of all ranges; those that differ are read once by JDBC readers, into the stage, all from one
exported snapshot or each range by one statement (`reading`); comparison, batch and new range checksums come from the
stage alone; one compare-and-set transaction switches them in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from qbcd import hooks
from qbcd.catalog.capture_change import change_of
from qbcd.catalog.source import Session
from qbcd.model import BatchHeader, Cost, StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.sites import checkpoint as checkpoints
from qbcd.sites import eligibility
from qbcd.sites.base import Site
from qbcd.sites.checkpoint import new_epoch
from qbcd.sites.lake import diff, explain, table_poll, verify, window_poll
from qbcd.sites.lake.commit import WrittenBatch, new_batch
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.dirty_ranges import build_ranges, estimated, with_counts
from qbcd.sites.lake.fetch import recent_writes
from qbcd.sites.lake.replica import compaction
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import travels_of
from qbcd.sites.lake.replica.schema import batch_fields
from qbcd.sites.lake.snapshot import checkpoint_entries, snapshot_of
from qbcd.sites.lake.stage import check_values, fetch_rows, segment_for, staged_rows
from qbcd.sites.poll import Poll
from qbcd.sites.refusals import check_key
from qbcd.sites.values import Detection, Differences, ExplainedStatement, LeasedStream, Settings
from qbcd.state import StreamRow
from qbcd.strategies import IdRcs, LakeTs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class LakeSite(Site):
    """A stream whose replica is Parquet and whose source is only ever read."""

    context: LakeContext

    def __init__(self, context: LakeContext) -> None:
        super().__init__(context)

    def strategy(self, plan: StreamPlan) -> IdRcs:
        return self.context.strategy(plan)

    def refuse_unfit(self, session: Session, plan: StreamPlan, place: Callable[[str], str]) -> None:
        strategy = self.context.strategy(plan)
        if isinstance(strategy, LakeTs):
            eligibility.refuse_unsafe_watermark(self.context.source, session, strategy.watermarked, place)

    def remarks(self, session: Session, plan: StreamPlan) -> list[str]:
        strategy = self.context.strategy(plan)
        if not isinstance(strategy, LakeTs):
            return eligibility.why_not_incremental(strategy)
        return eligibility.watermark_remarks(self.context.source, session, strategy.watermarked)

    def create(self, plan: StreamPlan) -> None:
        self.context.spark.get()  # the baseline needs it: without Java or driver nothing is made at all
        with self.context.writing() as conn:
            self.context.store.create(conn)
        self.context.files.create()

    def ddl(self, plan: StreamPlan) -> list[str]:
        return []

    # -- prepare -----------------------------------------------------------------------------------------------------
    def prepare(self, plan: StreamPlan, settings: Settings, held: LeasedStream) -> Detection:
        started = time.monotonic()
        strategy = self.context.strategy(plan)
        epoch, seq = new_epoch(held.row), held.row.last_batch_seq + 1
        moves = window_poll.first_mark(self.context, strategy)  # before the rows (docs/design/protocol.md#rule-6)
        with self.context.reading() as conn:
            now = self.context.store.now(conn)
        with snapshot_of(self.context.source, plan, None, one_state=strategy.partitioning.one_state) as snapshot:
            check_key(snapshot.session, self.context.strategy(plan))
            bare = build_ranges(self.context, strategy, snapshot, settings, held.row.next_range_id, estimated(plan))
            fetched = fetch_rows(self.context, strategy, snapshot, bare, settings, held)
        stage = staged_rows(self.context, strategy, fetched, settings)
        check_values(stage, plan, settings)
        read = with_counts(self.context.stream, bare, diff.sums(stage, strategy.summed))
        counted = [replace(r, last_visited=now) for r in read]
        rows = sum(r.rows for r in counted)
        header: BatchHeader | None = None
        if settings.baseline_events and rows:
            sizes = {("r", r.range_id): r.rows for r in counted}
            batch = diff.numbered_by_group(diff.baseline(stage, len(plan.captured)), sizes, seq)
            part = self.context.files.write(batch, batch_fields(travels_of(plan)), "batch", held)
            header = new_batch(
                self.context, plan, settings, held, WrittenBatch(part, {"r": rows}), epoch, snapshot.ts_ms
            )
        hooks.reach("after_stage")
        segment = segment_for(self.context, strategy, fetched, stage, held)
        checkpoint = {
            **checkpoint_entries(self.context, plan, settings, held, snapshot, rows),
            **recent_writes.noted(snapshot),
            **moves,
        }
        hooks.reach("before_commit")
        with self.context.writing() as conn:
            folded = header.seq if header else held.row.last_batch_seq
            row = self.context.replica.replace_all(
                conn, held.row, segment, epoch=epoch, rows=rows, folded=folded, ranges=counted
            )
            row = self.context.commit(conn, row, held, header, checkpoint, epoch=epoch, prepared=True)
        held.row = row
        self.context.files.discard(fetched, unless=segment == fetched)
        hooks.reach("after_commit")
        cost = Cost(rows, rows, fetched.size, len(bare), len(bare), time.monotonic() - started, spark=True)
        return Detection(header, cost)

    # -- detect ------------------------------------------------------------------------------------------------------
    def detect(self, plan: StreamPlan, settings: Settings, held: LeasedStream) -> Iterator[Detection]:
        strategy = self.context.strategy(plan)
        change = change_of(held.row.checkpoint, plan)
        if isinstance(strategy, LakeTs):
            yield from window_poll.poll(self.context, plan, strategy, settings, held)
        else:
            yield table_poll.poll(self.context, plan, strategy, settings, held)
            if strategy.keeps == "rows" and (
                began := checkpoints.due(Poll(self.context, plan, strategy, settings, held))
            ):
                yield table_poll.poll(self.context, plan, strategy, settings, held, {Entry.AUDITED: began}, audit=True)
        if change:
            yield Detection(None, Cost(), (change.told(),))

    # -- upkeep ------------------------------------------------------------------------------------------------------
    def staged(self, header: BatchHeader) -> DataFrame:
        fields = batch_fields([travel for _, travel in header.columns])
        rows = self.context.files.read(self.context.spark.get(), fields, FileSet.of_location(header.location))
        return rows.drop("range_id", "key_id", "digest", "batch_seq")

    def collect(self, plan: StreamPlan, held: LeasedStream, settings: Settings) -> None:
        compaction.collect(self.context, plan, held, settings)

    def forget(self, held: LeasedStream) -> None:
        with self.context.writing() as conn:
            held.row = self.context.store.forget(conn, held.row)
        self.context.files.sweep(set(), held)

    # -- looking -----------------------------------------------------------------------------------------------------
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[ExplainedStatement]:
        return explain.explain(self.context, plan, settings, row)

    def verify(self, plan: StreamPlan, held: LeasedStream) -> Differences:
        return verify.verify(self.context, plan, held)
