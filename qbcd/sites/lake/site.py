"""The site under Spark: the replica is Parquet in the workdir, row and ranges are in the state database (ID/RCS).

One poll: checksums of all ranges; those that differ are read once by JDBC readers, into the stage, all from one
exported snapshot or each range by one statement (`reading`); comparison, batch and new range checksums come from the
stage alone; one compare-and-set transaction switches them in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Connection

from qbcd import hooks
from qbcd.catalog.capture_change import change_of
from qbcd.catalog.drift import FROZEN_OPTIONS
from qbcd.catalog.source import Session, Source
from qbcd.errors import SourceChanged, StateConflict
from qbcd.model import BatchHeader, Cost, KeyRange, StreamPlan
from qbcd.sites import checkpoint as checkpoints
from qbcd.sites import eligibility, source_changes
from qbcd.sites.base import Site
from qbcd.sites.checkpoint import checkpoint_of, new_epoch
from qbcd.sites.lake import diff, explain, table_poll, verify, window_poll
from qbcd.sites.lake.commit import WrittenBatch, new_batch
from qbcd.sites.lake.dirty_ranges import build_ranges, estimated, with_counts
from qbcd.sites.lake.fetch import recent_writes
from qbcd.sites.lake.observed import RowChecksum
from qbcd.sites.lake.replica import compaction
from qbcd.sites.lake.replica.files import Files, FileSet
from qbcd.sites.lake.replica.replica import Replica, travels_of
from qbcd.sites.lake.replica.schema import batch_fields, row_fields
from qbcd.sites.lake.snapshot import Snapshot, snapshot_of
from qbcd.sites.lake.stage import range_frame
from qbcd.sites.refusals import key_error, untravelled_error
from qbcd.sites.values import Detection, Differences, ExplainedStatement, LeasedStream, Settings
from qbcd.spark.provider import SparkProvider
from qbcd.state import ProjectState, StreamRow
from qbcd.strategies import IdRcs, LakeTs, strategy_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class LakeSite(Site):
    """A stream whose replica is Parquet and whose source is only ever read.

    Args:
        stream: The stream's name.
        source: Where the table is.
        project: The project's state database, which holds the stream's truth too.
        spark: Starts Spark when rows must travel.
        files: The stream's folder in the workdir.
    """

    kind = "spark"
    folds_at_once = False

    def __init__(self, stream: str, source: Source, project: ProjectState, spark: SparkProvider, files: Files) -> None:
        super().__init__(stream, source, project, project.store, spark)
        self.files, self.folder = files, files.root
        self.replica = Replica(stream, self.store, files, spark)
        self.swept = False  # by this process, since files were let go last

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.project.write() as conn:
            yield conn

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.project.read() as conn:
            yield conn

    def strategy(self, plan: StreamPlan) -> IdRcs:
        made = strategy_class(plan.strategy, dict(plan.options))
        assert issubclass(made, IdRcs)
        return made(self.source.connector, plan)

    def refuse_unfit(self, session: Session, plan: StreamPlan, place: Callable[[str], str]) -> None:
        strategy = self.strategy(plan)
        if isinstance(strategy, LakeTs):
            eligibility.refuse_mark(self.source, session, strategy.watermarked, place)

    def remarks(self, session: Session, plan: StreamPlan) -> list[str]:
        strategy = self.strategy(plan)
        if not isinstance(strategy, LakeTs):
            return eligibility.not_delta(strategy)
        return eligibility.remarks(self.source, session, strategy.watermarked)

    def prove_place(self) -> None:
        self.files.prove()

    def prove_whole(self) -> None:
        super().prove_whole()
        for part in self._parts():
            try:
                self.files.prove_parts(part)
            except StateConflict:
                if part in self._parts():  # else a poll has just let it go
                    raise

    def _parts(self) -> list[FileSet]:
        with self.reading() as conn:
            segments, batches = self.store.segments(conn, self.stream), self.store.batches(conn, self.stream)
        return [*map(FileSet.of_segment, segments), *(FileSet.of_location(header.location) for header in batches)]

    def create(self, plan: StreamPlan) -> None:
        self.spark.get()  # the baseline needs it: without Java or driver nothing is made at all
        with self.writing() as conn:
            self.store.create(conn)
        self.files.create()

    def ddl(self, plan: StreamPlan) -> list[str]:
        return []

    # -- prepare -----------------------------------------------------------------------------------------------------
    def prepare(self, plan: StreamPlan, settings: Settings, held: LeasedStream) -> Detection:
        started = time.monotonic()
        strategy = self.strategy(plan)
        epoch, seq = new_epoch(held.row), held.row.last_batch_seq + 1
        moves = window_poll.first_mark(self, strategy)  # before the rows (docs/design/protocol.md#rule-6)
        with self.reading() as conn:
            now = self.store.now(conn)
        with snapshot_of(self.source, plan, None, one_state=strategy.partitioning.one_state) as snapshot:
            self.check_key(snapshot.session, plan)
            bare = build_ranges(self, strategy, snapshot, settings, held.row.next_range_id, estimated(plan))
            fetched = self.fetch(strategy, snapshot, bare, settings, held)
        stage = self.stage(strategy, fetched, settings)
        self.check_values(stage, plan, settings)
        read = with_counts(self.stream, bare, diff.sums(stage, strategy.summed))
        counted = [replace(r, last_visited=now) for r in read]
        rows = sum(r.rows for r in counted)
        header: BatchHeader | None = None
        if settings.baseline_events and rows:
            sizes = {("r", r.range_id): r.rows for r in counted}
            batch = diff.numbered_by_group(diff.baseline(stage, len(plan.captured)), sizes, seq)
            part = self.files.write(batch, batch_fields(travels_of(plan)), "batch", held)
            header = new_batch(self, plan, settings, held, WrittenBatch(part, {"r": rows}), epoch, snapshot.ts_ms)
        hooks.reach("after_stage")
        segment = self.segment_for(strategy, fetched, stage, held)
        checkpoint = {**self.checkpoint(plan, settings, snapshot, rows), **recent_writes.noted(snapshot), **moves}
        hooks.reach("before_commit")
        with self.writing() as conn:
            folded = header.seq if header else held.row.last_batch_seq
            row = self.replica.replace_all(
                conn, held.row, segment, epoch=epoch, rows=rows, folded=folded, ranges=counted
            )
            row = self.commit(conn, row, held, header, checkpoint, epoch=epoch, prepared=True)
        held.row = row
        self.files.discard(fetched, unless=segment == fetched)
        hooks.reach("after_commit")
        cost = Cost(rows, rows, fetched.size, len(bare), len(bare), time.monotonic() - started, spark=True)
        return Detection(header, cost)

    # -- detect ------------------------------------------------------------------------------------------------------
    def detect(self, plan: StreamPlan, settings: Settings, held: LeasedStream) -> Iterator[Detection]:
        strategy = self.strategy(plan)
        change = change_of(held.row.checkpoint, plan)
        if isinstance(strategy, LakeTs):
            yield from window_poll.poll(self, plan, strategy, settings, held)
        else:
            yield table_poll.poll(self, plan, strategy, settings, held)
            if strategy.keeps == "rows" and (began := checkpoints.due(self, settings, held)):
                yield table_poll.poll(self, plan, strategy, settings, held, {checkpoints.AUDITED: began}, audit=True)
        if change:
            yield Detection(None, Cost(), (change.told(),))

    # -- checks ------------------------------------------------------------------------------------------------------
    @contextmanager
    def remembered(self, plan: StreamPlan, held: LeasedStream, settings: Settings) -> Iterator[Snapshot]:
        """The source as it is now, held against what the stream remembers.

        Raises:
            SourceChanged: Its digests mean something else now, and the replica has no values to compare instead.
        """
        strategy, accept = self.strategy(plan), settings.accept_source
        with snapshot_of(
            self.source, plan, held.row.checkpoint, one_state=strategy.partitioning.one_state, accept_source=accept
        ) as snapshot:
            other = bool(snapshot.change) or source_changes.is_remade(held.row.checkpoint, plan)
            snapshot = replace(snapshot, whole=other and isinstance(strategy, LakeTs))
            if snapshot.by_value and strategy.keeps != "rows":
                what = "the server changed" if snapshot.rebase else snapshot.change.told()
                raise SourceChanged(
                    f"{what}, and this stream keeps no old values by which its rows could be compared",
                    stream=self.stream,
                    remedy=f"qbcd reset {self.stream}, then prepare it again; consumers must reload",
                )
            yield snapshot

    def fetch(
        self,
        strategy: IdRcs,
        snapshot: Snapshot,
        asked: Sequence[KeyRange],
        settings: Settings,
        held: LeasedStream,
        totals: RowChecksum | None = None,
        kind: str = "fetch",
    ) -> FileSet:
        """Reads `asked` once into the stage, a part of `kind`; `totals` are taken on the way."""
        self.progress(f"fetching about {sum(r.asked[0] for r in asked):,} rows of {len(asked):,} ranges")
        frame = range_frame(
            self.source,
            self.spark.get(),
            strategy,
            snapshot,
            asked,
            lambda some, part: strategy.images(some, part, typed=settings.typed),
            settings.connections,
        )
        frame = diff.identified(frame, strategy.plan)
        frame = totals.observe(frame) if totals else frame
        fields = row_fields(travels_of(strategy.plan), typed=settings.typed, extra=strategy.extra)
        return self.files.write(frame, fields, kind, held, source=self.source)

    def stage(self, strategy: IdRcs, fetched: FileSet, settings: Settings) -> DataFrame:
        """The rows of a fetch."""
        return self.replica.part_rows(strategy.plan.captured, fetched, typed=settings.typed, extra=strategy.extra)

    def segment_for(self, strategy: IdRcs, fetched: FileSet, stage: DataFrame, held: LeasedStream) -> FileSet:
        """A segment of the rows of a stage: the stage itself, or what the replica keeps of it."""
        if strategy.keeps == "rows":
            return fetched
        return self.files.write(stage, row_fields([c.travel for c in strategy.stored_columns]), "segment", held)

    def check_null_keys(self, session: Session, strategy: IdRcs) -> None:
        """Refuses rows whose key is NULL: they lie in no range, so no checksum would ever show them."""
        plan = strategy.plan
        if any(c.nullable for c in plan.key) and int(session.one(strategy.null_keys()).keys_null):
            raise key_error(plan)

    def check_values(self, stage: DataFrame, plan: StreamPlan, settings: Settings) -> None:
        """Refuses keys that stand twice, and values that a typed sink could never take."""
        if not plan.key_is_proven and diff.has_duplicates(stage):
            raise key_error(plan)
        if settings.typed:
            positions = diff.untravelled(stage)
            if positions:
                raise untravelled_error(plan, settings, positions)

    # -- upkeep ------------------------------------------------------------------------------------------------------
    def staged(self, header: BatchHeader) -> DataFrame:
        fields = batch_fields([travel for _, travel in header.columns])
        rows = self.files.read(self.spark.get(), fields, FileSet.of_location(header.location))
        return rows.drop("range_id", "key_id", "digest", "batch_seq")

    def collect(self, plan: StreamPlan, held: LeasedStream, settings: Settings) -> None:
        compaction.collect(self, plan, held, settings)

    def forget(self, held: LeasedStream) -> None:
        with self.writing() as conn:
            held.row = self.store.forget(conn, held.row)
        self.files.sweep(set(), held)

    # -- looking -----------------------------------------------------------------------------------------------------
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[ExplainedStatement]:
        return explain.explain(self, plan, settings, row)

    def verify(self, plan: StreamPlan, held: LeasedStream) -> Differences:
        return verify.verify(self, plan, held)

    def checkpoint(self, plan: StreamPlan, settings: Settings, snapshot: Snapshot, rows: int) -> dict[str, Any]:
        """What the stream remembers beside its watermark."""
        encoder, settled = self.source.connector.encoder_version, self.strategy(plan).frozen_options()
        return {**checkpoint_of(plan, settings, snapshot.server, encoder, rows), FROZEN_OPTIONS: settled}
