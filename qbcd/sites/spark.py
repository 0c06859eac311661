"""The site under Spark: the replica is Parquet in the workdir, row and ranges are in the state database (ID/RCS).

One poll: checksums of all ranges from one exported snapshot; ranges that differ are read once through JDBC readers
pinned to that snapshot, into the stage; comparison, batch and new range checksums come from the stage alone; one
compare-and-set transaction switches them in.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Connection

from qbcd import hooks, ranges
from qbcd.catalog.source import Session, Source
from qbcd.errors import GuardTripped, TornRead
from qbcd.model import BatchHeader, Cost, KeyRange, Statement, StreamPlan
from qbcd.sites import compare
from qbcd.sites.base import (
    ACCEPTED_SOURCE,
    Detection,
    Difference,
    Held,
    Settings,
    Site,
    Step,
    check_guards,
    checkpoint_of,
    confirm,
    key_error,
    new_epoch,
    new_header,
    untravelled_error,
)  # fmt: skip
from qbcd.sites.files import Files, Part
from qbcd.sites.reading import Snapshot, checksums, row_frame, snapshot_of
from qbcd.sites.replica import Replica, travels_of
from qbcd.sites.shapes import batch_fields, row_fields
from qbcd.spark.session import SparkProvider
from qbcd.state import ProjectState, StoredRange, StreamRow
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COMPACT_FRACTION = 0.1  # of the replica's rows, standing in batches, before they are folded in
COMPACT_BATCHES = 50
COMPACT_SEGMENTS = 20
SPLIT_AT = 2  # times `rows_per_range`: a range that differs and holds more is cut anew


@dataclass(frozen=True)
class Look:
    """What a look at the checksums asks for.

    Attributes:
        kept: Ranges that differ and stay as they are, with the source's counts and checksums of now.
        parents: Ranges that are cut anew.
        children: What they are cut into; not counted yet.
        after: Rows of the source now.
    """

    kept: tuple[StoredRange, ...]
    parents: tuple[StoredRange, ...]
    children: tuple[StoredRange, ...]
    after: int

    @property
    def asked(self) -> tuple[StoredRange, ...]:
        """The ranges to fetch."""
        return (*self.kept, *self.children)


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
        self._swept = False

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
            self.progress("building key ranges")
            cut = self._cut(strategy, snapshot, settings, held.row.next_range_id)
            segment = self._fetch(strategy, snapshot, cut, settings, held)
        stage = self.replica.part_rows(plan, segment, typed=settings.typed)
        self._check_values(stage, plan, settings)
        filled = _filled(cut, compare.sums(stage))
        rows = sum(r.rows for r in filled)
        header: BatchHeader | None = None
        if settings.baseline_events and rows:
            header = new_header(
                plan, settings, held, epoch=epoch, ts_ms=snapshot.ts_ms, counts={"r": rows}, consistency="snapshot"
            )
            sizes = {("r", r.range_id): r.rows for r in filled}
            batch = compare.numbered_by_group(compare.baseline(stage, len(plan.captured)), sizes, seq)
            part = self.files.write(batch, batch_fields(travels_of(plan)), "batch", held)
            header = replace(header, location=part.as_location())
        hooks.reach("after_stage")
        checkpoint = self._checkpoint(plan, settings, snapshot, rows)
        hooks.reach("before_commit")
        with self.writing() as conn:
            folded = header.seq if header else held.row.last_batch_seq
            row = self.replica.replace_all(
                conn, held.row, segment, epoch=epoch, rows=rows, folded=folded, ranges=filled
            )
            row = self.commit(conn, row, held, header, checkpoint, epoch=epoch, prepared=True)
        held.row = row
        hooks.reach("after_commit")
        cost = Cost(rows, rows, segment.size, len(cut), len(cut), time.monotonic() - started, spark=True)
        return Detection(header, cost)

    # -- detect ------------------------------------------------------------------------------------------------------
    def detect(self, plan: StreamPlan, settings: Settings, held: Held) -> Detection:
        started = time.monotonic()
        strategy = self.strategy(plan)
        with self.reading() as conn:
            known = self.store.ranges(conn, self.stream)
        with self._remembered(plan, held, settings) as snapshot:
            plan = plan.on(snapshot.table)
            self._check_null_keys(snapshot.session, strategy)
            look = self._look(strategy, snapshot, known, settings, held)
            if not look.asked:
                return Detection(None, Cost(look.after, 0, 0, len(known), 0, time.monotonic() - started))
            fetched = self._fetch(strategy, snapshot, look.asked, settings, held)
        hooks.reach("after_fetch")
        try:
            header = self._compare(plan, settings, held, snapshot, fetched, look)
        finally:
            self.files.discard(fetched, unless=bool(look.children))
        dirty = (*look.kept, *look.parents)
        seconds = time.monotonic() - started
        warnings = (*held.notes, *((ACCEPTED_SOURCE,) if snapshot.rebase else ()))
        return Detection(
            header,
            Cost(look.after, sum(r.rows for r in dirty), fetched.size, len(known), len(dirty), seconds, True),
            warnings,
        )

    def _look(
        self, strategy: IdRcs, snapshot: Snapshot, known: Sequence[StoredRange], settings: Settings, held: Held
    ) -> Look:
        """What has to be fetched: ranges that differ, cut anew where they have outgrown their size.

        After a change of meaning the bounds themselves may have lost their order, so everything is cut anew.
        """
        before, first_id = int(held.row.checkpoint["rows"]), held.row.next_range_id
        if snapshot.rebase:
            return Look((), tuple(known), tuple(self._cut(strategy, snapshot, settings, first_id)), before)
        self.progress(f"checksums of {len(known):,} ranges")
        now = checksums(self.source, strategy, snapshot, known, settings.connections)
        hooks.reach("after_checksums")
        dirty, after = ranges.differing(known, now), sum(r.rows for r in now)
        if not dirty:
            return Look((), (), (), after)
        lost = sum(max(0, old.rows - new.rows) for old, new in ranges.pairs(known, dirty))
        check_guards(self.project, settings, held, deletes=lost, before=before, after=after)
        parents = [r for r in dirty if r.rows > SPLIT_AT * settings.rows_per_range]
        children: list[StoredRange] = []
        for parent in parents:
            children += self._cut(strategy, snapshot, settings, first_id + len(children), within=parent)
        kept = [r for r in dirty if r not in parents]
        return Look(tuple(kept), tuple(parents), tuple(children), after)

    def _cut(
        self, strategy: IdRcs, snapshot: Snapshot, settings: Settings, first_id: int, within: KeyRange | None = None
    ) -> list[StoredRange]:
        """Ranges of about `rows_per_range` rows over the table or one range of it, bounds picked by the source."""
        self.progress("building key ranges")
        bounds = snapshot.session.rows(strategy.bounds(settings.rows_per_range, within))
        bare = ranges.build([tuple(str(v) for v in row) for row in bounds], first_id=first_id, within=within)
        return [StoredRange(r.range_id, r.lo, r.hi) for r in bare]

    def _compare(
        self, plan: StreamPlan, settings: Settings, held: Held, snapshot: Snapshot, fetched: Part, look: Look
    ) -> BatchHeader | None:
        """Compares stage and replica, stages the batch and commits; the source is not asked again."""
        self.progress(f"comparing {len(look.asked):,} ranges with the replica")
        stage = self.replica.part_rows(plan, fetched, typed=settings.typed)
        self._check_values(stage, plan, settings)
        read = {r.range_id: r for r in _filled(look.asked, compare.sums(stage))}
        if not snapshot.rebase:
            self._check_torn(look, read)
        with self.reading() as conn:
            old = self.replica.rows(conn, plan, [*look.kept, *look.parents])
        changes = compare.differences(old, stage, plan, by_value=snapshot.rebase)
        before = int(held.row.checkpoint["rows"])
        part = self._batch(plan, held, changes, 2 * sum(r.rows for r in read.values()) + before // 10)
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
            header = new_header(plan, settings, held, epoch=epoch, ts_ms=ts_ms, counts=counts, consistency="snapshot")
            header = replace(header, location=part.as_location())
        hooks.reach("after_stage")
        self._switch(plan, settings, held, snapshot, fetched, look, read, header, total)
        return header

    def _check_torn(self, look: Look, read: Mapping[int, StoredRange]) -> None:
        """Holds the rows that were read against what the checksums counted in the same snapshot."""
        parts = [(r, [read[r.range_id]]) for r in look.kept]
        if look.parents:
            whole = StoredRange(0, None, None, sum(r.rows for r in look.parents), sum(r.checksum for r in look.parents))
            parts.append((whole, [read[r.range_id] for r in look.children]))
        for asked, found in parts:
            if (asked.rows, asked.checksum) != (sum(r.rows for r in found), sum(r.checksum for r in found)):
                raise TornRead(
                    f"{len(found)} ranges from {found[0].range_id} on brought {sum(r.rows for r in found)} rows where "
                    f"the checksum counted {asked.rows}: the readers did not see one snapshot",
                    stream=self.stream, remedy="poll again",
                )  # fmt: skip

    def _batch(self, plan: StreamPlan, held: Held, changes: DataFrame, rows: int) -> Part:
        """Numbers the changes among about `rows` rows, and writes them as a batch's part."""
        seq, fields = held.row.last_batch_seq + 1, batch_fields(travels_of(plan))
        if rows <= compare.ONE_TASK_ROWS:
            return self.files.write(compare.numbered(changes, seq), fields, "batch", held)
        changes = changes.persist()
        try:
            sizes = compare.groups(changes)
            numbered = compare.numbered_by_group(changes, sizes, seq) if sizes else compare.numbered(changes, seq)
            return self.files.write(numbered, fields, "batch", held)
        finally:
            changes.unpersist()

    def _switch(
        self, plan: StreamPlan, settings: Settings, held: Held, snapshot: Snapshot, fetched: Part, look: Look,
        read: Mapping[int, StoredRange], header: BatchHeader | None, total: int,
    ) -> None:  # fmt: skip
        """The one step: batch, ranges and checkpoint, by compare-and-set."""
        checkpoint = self._checkpoint(plan, settings, snapshot, total)
        folded = header.seq if header else held.row.last_batch_seq
        kept, children = ([read[r.range_id] for r in part] for part in (look.kept, look.children))
        hooks.reach("before_commit")
        with self.writing() as conn:
            row = held.row
            self.store.update_ranges(conn, self.stream, kept)
            if children:
                gone = {r.range_id for r in look.parents}
                stay = [r for r in self.store.ranges(conn, self.stream) if r.range_id not in gone]
                row = self.replica.recut(conn, row, fetched, folded=folded, kept=stay, children=children)
            confirm(self.project, settings, held, conn)
            row = self.commit(conn, row, held, header, checkpoint)
        held.row = row
        hooks.reach("after_commit")

    # -- checks ------------------------------------------------------------------------------------------------------
    def _remembered(self, plan: StreamPlan, held: Held, settings: Settings) -> AbstractContextManager[Snapshot]:
        return snapshot_of(self.source, plan, held.row.checkpoint, accept_source=settings.accept_source)

    def _fetch(
        self, strategy: IdRcs, snapshot: Snapshot, asked: Sequence[KeyRange], settings: Settings, held: Held
    ) -> Part:
        """Reads `asked` once, pinned to the snapshot, into the stage."""
        rows = f"{sum(r.rows for r in asked):,} rows of " if any(r.rows for r in asked) else ""
        self.progress(f"fetching {rows}{len(asked):,} ranges")
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
        """Folds large batches into the replica, drops expired batches, sweeps files that nothing names."""
        changed = self._compact(plan, held)
        with self.writing() as conn:
            self.store.lock(conn, self.stream, self.project.project_id, held.row.version, held.row.fencing_token)
            folded = self.replica.folded_through(conn)
            if folded:
                self.store.mark_folded(conn, self.stream, folded)
            through = self.delivered_through(conn, settings)
            for header in self.store.expired_batches(conn, self.stream, through, settings.retain.total_seconds()):
                self.store.delete_batch(conn, self.stream, header.epoch, header.seq)
                changed = True
            if self._swept and not changed:  # nothing was let go since the last sweep of this process
                return
            self.store.expire_pins(conn, self.stream)
            pins = self.store.pins(conn, self.stream)
            named = {s.segment_id for s in self.store.segments(conn, self.stream)}
            named |= {Part.of_location(h.location).part_id for h in self.store.batches(conn, self.stream)}
        if not pins:
            self.files.sweep(named, held)
            self._swept = True

    def _compact(self, plan: StreamPlan, held: Held) -> bool:
        """Folds the batches into one new segment when they, or the segments, have become many; True when it did."""
        with self.reading() as conn:
            segments, row = self.store.segments(conn, self.stream), held.row
            known, folded = self.store.ranges(conn, self.stream), self.replica.folded_through(conn)
            pending = self.store.batches(conn, self.stream, folded) if folded else []
            rows, grown = int(row.checkpoint["rows"]), sum(h.size for h in pending)
            large = grown > max(1000, COMPACT_FRACTION * rows) or len(pending) >= COMPACT_BATCHES
            if not large and len(segments) <= COMPACT_SEGMENTS:
                return False
            whole = self.replica.rows(conn, plan, known)
        part = self.files.write(whole, row_fields(travels_of(plan)), "segment", held)
        hooks.reach("before_commit")
        with self.writing() as conn:
            moved = self.replica.replace_all(
                conn, row, part, epoch=row.epoch, rows=rows, folded=row.last_batch_seq, ranges=known
            )
            advanced = self.commit(conn, moved, held, None, dict(row.checkpoint))
        held.row = advanced
        return True

    def forget(self, held: Held) -> None:
        with self.writing() as conn:
            held.row = self.store.forget(conn, held.row)
        self.files.sweep(set(), held)

    # -- looking -----------------------------------------------------------------------------------------------------
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[Step]:
        strategy = self.strategy(plan)
        known: Sequence[KeyRange] = []
        if row and row.prepared:
            with self.reading() as conn:
                known = self.store.ranges(conn, self.stream)
        place = f"source {self.source.name}, read only"
        if not known:
            bounds = Step("pick the ranges (once, at prepare)", place, strategy.bounds(settings.rows_per_range))
            return [bounds, *self._poll_steps(strategy, [KeyRange(1, None, None)], settings, place)]
        return self._poll_steps(strategy, known, settings, place)

    def _poll_steps(self, strategy: IdRcs, known: Sequence[KeyRange], settings: Settings, place: str) -> list[Step]:
        shares = ranges.shares(known, settings.connections)
        pins = "; ".join(self.source.connector.session_pins())
        return [
            Step("settings of every session", place, Statement(pins)),
            *(
                Step(f"checksums, connection {i} of {len(shares)}", place, strategy.checksums(share))
                for i, share in enumerate(shares, 1)
            ),
            Step(
                "rows of the ranges that differ (here: the first), by Spark, pinned to the same snapshot", place,
                strategy.images(known[:1], typed=settings.typed),
            ),
        ]  # fmt: skip

    def verify(self, plan: StreamPlan, held: Held) -> list[Difference]:
        """Compares every range with the replica's own rows, and the rows of those that differ."""
        strategy = self.strategy(plan)
        settings = Settings(sinks=(), typed=False, requested={})
        with self.reading() as conn:
            known = self.store.ranges(conn, self.stream)
        with self._remembered(plan, held, settings) as snapshot:
            self.check_key(snapshot.session, plan)
            now = checksums(self.source, strategy, snapshot, known, settings.connections)
            with self.reading() as conn:
                own = _filled(known, compare.sums(self.replica.rows(conn, plan, known)))
            dirty = ranges.differing(own, now)
            if not dirty:
                return []
            fetched = self._fetch(strategy, snapshot, dirty, settings, held)
        try:
            stage = self.replica.part_rows(plan, fetched)
            with self.reading() as conn:
                old = self.replica.rows(conn, plan, dirty)
            found = compare.differences(old, stage, plan, by_value=False)
            keys = [f"COALESCE(a_{i}, b_{i})" for i in range(len(plan.key))]
            rows = (
                found.selectExpr("op", *(f"CAST({k} AS STRING) AS k{i}" for i, k in enumerate(keys)))
                .limit(1000)
                .collect()
            )
        finally:
            self.files.discard(fetched)
        return [Difference(r["op"], ", ".join(str(v) for v in r[1:])) for r in rows]

    def _checkpoint(self, plan: StreamPlan, settings: Settings, snapshot: Snapshot, rows: int) -> dict[str, Any]:
        return checkpoint_of(plan, settings, snapshot.server, self.source.connector.encoder_version, rows)


def _filled(asked: Sequence[StoredRange], sums: dict[int, tuple[int, int]]) -> list[StoredRange]:
    """`asked` with the count and checksum of rows read; a range without rows has none."""
    found = ((r, *sums.get(r.range_id, (0, 0))) for r in asked)
    return [replace(r, rows=n, checksum=checksum) for r, n, checksum in found]
