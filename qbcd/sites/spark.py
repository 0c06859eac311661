"""The site under Spark: the replica is Parquet in the workdir, row and ranges are in the state database (ID/RCS).

One poll: checksums of all ranges; those that differ are read once by JDBC readers, into the stage, all from one
exported snapshot or each range by one statement (`reading`); comparison, batch and new range checksums come from the
stage alone; one compare-and-set transaction switches them in.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Connection

from qbcd import hooks
from qbcd.catalog.remembered import SETTLED
from qbcd.catalog.source import Session, Source
from qbcd.errors import GuardTripped
from qbcd.model import BatchHeader, Cost, KeyRange, StreamPlan
from qbcd.sites import audit, compare, copies, upkeep
from qbcd.sites.base import (
    Detection,
    Difference,
    Held,
    Settings,
    Site,
    Step,
    checkpoint_of,
    new_epoch,
    new_header,
)  # fmt: skip
from qbcd.sites.files import Files, Part
from qbcd.sites.guards import ACCEPTED_SOURCE, check_guards, confirm, key_error, untravelled_error
from qbcd.sites.looking import Look, check_torn, cut, filled, look
from qbcd.sites.pairing import paired
from qbcd.sites.reading import Snapshot, row_frame, snapshot_of
from qbcd.sites.replica import Replica, travels_of
from qbcd.sites.shapes import batch_fields, row_fields
from qbcd.spark.session import SparkProvider
from qbcd.state import ProjectState, StoredRange, StreamRow
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkSite(Site):
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
        super().__init__(stream, source, project, project.store)
        self.spark = spark
        self.files = files
        self.replica = Replica(stream, self.store, files, spark)
        self.swept = False  # stray files were looked for by this process

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.project.write() as conn:
            yield conn

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.project.read() as conn:
            yield conn

    def strategy(self, plan: StreamPlan) -> IdRcs:
        return IdRcs(self.source.connector, plan)

    def prove_place(self) -> None:
        self.files.prove()

    def create(self, plan: StreamPlan) -> None:
        self.spark.get()  # the baseline needs it: without Java or driver nothing is made at all
        with self.writing() as conn:
            self.store.create(conn)
        self.files.create()

    def ddl(self, plan: StreamPlan) -> list[str]:
        return []

    # -- prepare -----------------------------------------------------------------------------------------------------
    def prepare(self, plan: StreamPlan, settings: Settings, held: Held) -> Detection:
        started = time.monotonic()
        strategy = self.strategy(plan)
        epoch, seq = new_epoch(held.row), held.row.last_batch_seq + 1
        with snapshot_of(self.source, plan, None) as snapshot:
            self.check_key(snapshot.session, plan)
            bare = cut(self, strategy, snapshot, settings, held.row.next_range_id)
            segment = self.fetch(strategy, snapshot, bare, settings, held)
        stage = self.replica.part_rows(plan, segment, typed=settings.typed)
        self._check_values(stage, plan, settings)
        counted = filled(self.stream, bare, compare.sums(stage))
        rows = sum(r.rows for r in counted)
        header: BatchHeader | None = None
        if settings.baseline_events and rows:
            header = new_header(
                plan,
                settings,
                held,
                epoch=epoch,
                ts_ms=snapshot.ts_ms,
                counts={"r": rows},
                consistency=strategy.consistency,
            )
            sizes = {("r", r.range_id): r.rows for r in counted}
            batch = compare.numbered_by_group(compare.baseline(stage, len(plan.captured)), sizes, seq)
            part = self.files.write(batch, batch_fields(travels_of(plan)), "batch", held)
            header = replace(header, location=part.as_location())
        hooks.reach("after_stage")
        checkpoint = self._checkpoint(plan, settings, snapshot, rows)
        hooks.reach("before_commit")
        with self.writing() as conn:
            folded = header.seq if header else held.row.last_batch_seq
            row = self.replica.replace_all(
                conn, held.row, segment, epoch=epoch, rows=rows, folded=folded, ranges=counted
            )
            row = self.commit(conn, row, held, header, checkpoint, epoch=epoch, prepared=True)
        held.row = row
        hooks.reach("after_commit")
        cost = Cost(rows, rows, segment.size, len(bare), len(bare), time.monotonic() - started, spark=True)
        return Detection(header, cost)

    # -- detect ------------------------------------------------------------------------------------------------------
    def detect(self, plan: StreamPlan, settings: Settings, held: Held) -> Iterator[Detection]:
        yield self._detected(plan, settings, held)

    def _detected(self, plan: StreamPlan, settings: Settings, held: Held) -> Detection:
        started = time.monotonic()
        strategy = self.strategy(plan)
        with self.reading() as conn:
            known = self.store.ranges(conn, self.stream)
        with self.remembered(plan, held, settings) as snapshot:
            plan = plan.on(snapshot.table)
            self._check_null_keys(snapshot.session, strategy)
            wanted = look(self, strategy, snapshot, known, settings, held)
            if not wanted.asked:
                return Detection(None, Cost(wanted.after, 0, 0, len(known), 0, time.monotonic() - started))
            fetched = self.fetch(strategy, snapshot, wanted.asked, settings, held)
        hooks.reach("after_fetch")
        try:
            header = self._compare(plan, settings, held, snapshot, fetched, wanted)
        finally:
            self.files.discard(fetched, unless=bool(wanted.children))
        dirty = (*wanted.kept, *wanted.parents)
        seconds = time.monotonic() - started
        warnings = (*held.notes, *((ACCEPTED_SOURCE,) if snapshot.rebase else ()))
        return Detection(
            header,
            Cost(wanted.after, sum(r.rows for r in dirty), fetched.size, len(known), len(dirty), seconds, True),
            warnings,
        )

    def _compare(
        self, plan: StreamPlan, settings: Settings, held: Held, snapshot: Snapshot, fetched: Part, wanted: Look
    ) -> BatchHeader | None:
        """Compares stage and replica, stages the batch and commits; the source is not asked again."""
        self.progress(f"comparing {len(wanted.asked):,} ranges with the replica")
        stage = self.replica.part_rows(plan, fetched, typed=settings.typed)
        self._check_values(stage, plan, settings)
        read = {r.range_id: r for r in filled(self.stream, wanted.asked, compare.sums(stage))}
        if snapshot.name is not None and not snapshot.rebase:
            check_torn(self.stream, wanted, read)
        with self.reading() as conn:
            old = self.replica.rows(conn, plan, [*wanted.kept, *wanted.parents])
        changes = compare.differences(old, stage, plan, by_value=snapshot.rebase)
        before = int(held.row.checkpoint["rows"])
        part = self._batch(plan, settings, held, changes, 2 * sum(r.rows for r in read.values()) + before // 10)
        counts = compare.counts(self.replica.batch_rows(plan, part))
        total = before + counts.get("c", 0) - counts.get("d", 0)
        try:
            check_guards(self.project, settings, held, deletes=counts.get("d", 0), before=before, after=total)
        except GuardTripped:
            self.files.discard(part)
            raise
        header = None
        if counts:
            epoch, ts_ms = held.row.epoch, snapshot.ts_ms
            seen = self.strategy(plan).consistency
            header = new_header(plan, settings, held, epoch=epoch, ts_ms=ts_ms, counts=counts, consistency=seen)
            header = replace(header, location=part.as_location())
        hooks.reach("after_stage")
        self._switch(plan, settings, held, snapshot, fetched, wanted, read, header, total)
        return header

    def _batch(self, plan: StreamPlan, settings: Settings, held: Held, changes: DataFrame, rows: int) -> Part:
        """Numbers the changes among about `rows` rows, pairs them where asked, and writes them as a batch's part."""
        seq, fields = held.row.last_batch_seq + 1, batch_fields(travels_of(plan))

        def write(batch: DataFrame) -> Part:
            if settings.key_change:
                batch = paired(
                    batch, keys=len(plan.key), width=len(plan.captured), epoch=held.row.epoch, seq=seq
                )  # fmt: skip
            return self.files.write(batch, fields, "batch", held)

        if rows <= compare.ONE_TASK_ROWS:
            return write(compare.numbered(changes, seq))
        changes = changes.persist()
        try:
            sizes = compare.groups(changes)
            numbered = compare.numbered_by_group(changes, sizes, seq) if sizes else compare.numbered(changes, seq)
            return write(numbered)
        finally:
            changes.unpersist()

    def _switch(
        self, plan: StreamPlan, settings: Settings, held: Held, snapshot: Snapshot, fetched: Part, wanted: Look,
        read: Mapping[int, StoredRange], header: BatchHeader | None, total: int,
    ) -> None:  # fmt: skip
        """The one step: batch, ranges and checkpoint, by compare-and-set."""
        checkpoint = self._checkpoint(plan, settings, snapshot, total)
        folded = header.seq if header else held.row.last_batch_seq
        kept, children = ([read[r.range_id] for r in part] for part in (wanted.kept, wanted.children))
        hooks.reach("before_commit")
        with self.writing() as conn:
            row = held.row
            self.store.update_ranges(conn, self.stream, kept)
            if children:
                gone = {r.range_id for r in wanted.parents}
                stay = [r for r in self.store.ranges(conn, self.stream) if r.range_id not in gone]
                row = self.replica.recut(conn, row, fetched, folded=folded, kept=stay, children=children)
            confirm(self.project, settings, held, conn)
            row = self.commit(conn, row, held, header, checkpoint)
        held.row = row
        hooks.reach("after_commit")

    # -- checks ------------------------------------------------------------------------------------------------------
    def remembered(self, plan: StreamPlan, held: Held, settings: Settings) -> AbstractContextManager[Snapshot]:
        """The source as it is now, held against what the stream remembers."""
        return snapshot_of(self.source, plan, held.row.checkpoint, accept_source=settings.accept_source)

    def fetch(
        self, strategy: IdRcs, snapshot: Snapshot, asked: Sequence[KeyRange], settings: Settings, held: Held
    ) -> Part:
        """Reads `asked` once into the stage."""
        self.progress(f"fetching about {sum(r.rows for r in asked):,} rows of {len(asked):,} ranges")
        frame = row_frame(
            self.source,
            self.spark.get(),
            strategy,
            snapshot,
            asked,
            typed=settings.typed,
            connections=settings.connections,
        )
        fields = row_fields(travels_of(strategy.plan), typed=settings.typed)
        frame = frame if strategy.plan.key else copies.told_apart(frame)
        return self.files.write(frame, fields, "fetch", held, source=self.source)

    def _check_null_keys(self, session: Session, strategy: IdRcs) -> None:
        """Refuses rows whose key is NULL: they lie in no range, so no checksum would ever show them."""
        plan = strategy.plan
        if any(c.nullable for c in plan.key) and int(session.one(strategy.null_keys()).keys_null):
            raise key_error(plan)

    def _check_values(self, stage: DataFrame, plan: StreamPlan, settings: Settings) -> None:
        """Refuses keys that stand twice, and values that a typed sink could never take."""
        if not plan.key_is_proven and compare.has_duplicates(stage):
            raise key_error(plan)
        if settings.typed:
            positions = compare.untravelled(stage)
            if positions:
                raise untravelled_error(plan, positions)

    # -- upkeep ------------------------------------------------------------------------------------------------------
    def staged(self, header: BatchHeader) -> DataFrame:
        fields = batch_fields([travel for _, travel in header.columns])
        rows = self.files.read(self.spark.get(), fields, Part.of_location(header.location))
        return rows.drop("range_id", "key_id", "digest", "batch_seq")

    def collect(self, plan: StreamPlan, held: Held, settings: Settings) -> None:
        upkeep.collect(self, plan, held, settings)

    def forget(self, held: Held) -> None:
        with self.writing() as conn:
            held.row = self.store.forget(conn, held.row)
        self.files.sweep(set(), held)

    # -- looking -----------------------------------------------------------------------------------------------------
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[Step]:
        return audit.explain(self, plan, settings, row)

    def verify(self, plan: StreamPlan, held: Held) -> list[Difference]:
        return audit.verify(self, plan, held)

    def _checkpoint(self, plan: StreamPlan, settings: Settings, snapshot: Snapshot, rows: int) -> dict[str, Any]:
        encoder, settled = self.source.connector.encoder_version, self.strategy(plan).settled()
        return {**checkpoint_of(plan, settings, snapshot.server, encoder, rows), SETTLED: settled}
