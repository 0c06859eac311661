"""The site in the source database: replica and outbox are tables of schema `qbcd`, each step is one transaction.

How a poll goes is the strategy's: one statement over the table (MDS), a window of time-stamps (`windows`), or range by
range (`passes`). What a step moves together is the same for all (`stepping`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy.engine import Connection

from qbcd import hooks
from qbcd.catalog.capture_change import change_of
from qbcd.catalog.drift import check_shape
from qbcd.catalog.source import Session, Source
from qbcd.catalog.views import check_views
from qbcd.model import BatchHeader, Cost, ServerIdentity, StreamPlan
from qbcd.sites import checkpoint as checkpoints
from qbcd.sites import eligibility, source_changes
from qbcd.sites.base import Site
from qbcd.sites.checkpoint import checkpoint_of, new_epoch
from qbcd.sites.database import (
    audit,
    column_changes,
    explain,
    open_batch,
    own_tables,
    query_poll,
    range_sizes,
    window_poll,
)
from qbcd.sites.database import step as wing_step
from qbcd.sites.database.range_poll import RangePoll
from qbcd.sites.database.step import Counts, StepRequest
from qbcd.sites.event_schema import casts, event_fields
from qbcd.sites.guards import ACCEPTED_SOURCE
from qbcd.sites.values import LISTED, Detection, Difference, Differences, ExplainedStatement, LeasedStream, Settings
from qbcd.sites.watermark import look_ahead
from qbcd.spark.provider import SparkProvider
from qbcd.spark.source import source_rows
from qbcd.state import ProjectState, StreamRow, StreamStore
from qbcd.strategies import ByRanges, InSource, OutboxSlice, Tdi, Tlcs, VbdDelta, Watermarked, strategy_class
from qbcd.strategies.outbox import forget_batch
from qbcd.watermark import Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_PER_READER = 50_000


class DatabaseSite(Site):
    """A stream whose replica, outbox and checkpoint live in the source.

    Args:
        stream: The stream's name.
        source: Where the table and schema `qbcd` are.
        project: The project's state database.
        spark: Starts Spark when rows must travel.
    """

    kind = "database"
    folds_at_once = True

    def __init__(self, stream: str, source: Source, project: ProjectState, spark: SparkProvider) -> None:
        super().__init__(stream, source, project, StreamStore(source.schema), spark)
        self.others: Callable[[], Sequence[Source]] = tuple  # the project's sources beside this one
        self._made: tuple[StreamPlan, InSource] | None = None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.source.write(self.stream) as session:
            yield session.connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.source.read(self.stream) as session:
            yield session.connection

    def strategy(self, plan: StreamPlan) -> InSource:
        if self._made is None or self._made[0] is not plan:  # each step asks for that of its poll's one plan
            make = cast(Callable[..., InSource], strategy_class(plan.strategy, dict(plan.options)))
            self._made = plan, make(self.source.connector, plan, self.source.schema)
        return self._made[1]

    # -- prepare -----------------------------------------------------------------------------------------------------
    def create(self, plan: StreamPlan) -> None:
        own_tables.create(self, plan)

    def ddl(self, plan: StreamPlan) -> list[str]:
        return own_tables.ddl(self, plan)

    def refuse_unfit(self, session: Session, plan: StreamPlan, place: Callable[[str], str]) -> None:
        eligibility.refuse_unfit(self.source, session, self.strategy(plan), place)

    def remarks(self, session: Session, plan: StreamPlan) -> list[str]:
        return eligibility.remarks(self.source, session, self.strategy(plan))

    def open_events(self, row: StreamRow) -> int:
        return sum((row.checkpoint.get("open") or {"counts": {}})["counts"].values())

    def stands(self, plan: StreamPlan) -> bool:
        return own_tables.stands(self, plan)

    def prepare(self, plan: StreamPlan, settings: Settings, held: LeasedStream) -> Detection:
        started, strategy = time.monotonic(), self.strategy(plan)
        own_tables.make_tables(self, plan, held)
        part = OutboxSlice(new_epoch(held.row), held.row.last_batch_seq + 1)
        moves: dict[str, Any] = {}
        # before the rows (docs/design/protocol.md#rule-6)
        if isinstance(strategy, Watermarked) and strategy.poll_mode == "window":
            moves = {"mark": look_ahead(self.source, strategy, None), "swept": 0.0}
            moves["mark"].pop("remark", None)
            hooks.reach("after_horizon")
        if isinstance(strategy, VbdDelta):
            moves = query_poll.marks_before(self, strategy)
            hooks.reach("after_horizon")
        with self.source.write(self.stream, steady=strategy.steady) as session:
            self.enter(session, plan, held)
            wing_step.check_key(session, strategy, None, plan)
            self.progress("taking the baseline into the replica")
            rows, header = self._fill(session, plan, settings, held, part)
            row = held.row
            if isinstance(strategy, ByRanges) and (strategy.poll_mode == "ranges" or plan.option("deletes")):
                row, moves["usual"] = range_sizes.first_cut(session, self, strategy, row)
                moves["swept"] = self.store.now(session.connection)
            if isinstance(strategy, VbdDelta):
                moves["swept"] = query_poll.fill(self, session, strategy)
            if isinstance(strategy, Tdi) and strategy.purges:
                session.run(strategy.note_flagged(Window(None, moves["mark"]["at"])))
            server = self.source.connector.server_identity(session.connection)
            checkpoint = {**self.checkpoint(plan, settings, server, rows), **moves}
            hooks.reach("before_commit")
            row = self.commit(session.connection, row, held, header, checkpoint, epoch=part.epoch, prepared=True)
        held.row = row
        hooks.reach("after_commit")
        return Detection(header, Cost(rows_scanned=rows, seconds=time.monotonic() - started))

    def _fill(
        self, session: Session, plan: StreamPlan, settings: Settings, held: LeasedStream, part: OutboxSlice
    ) -> tuple[int, BatchHeader | None]:
        """Replica and, where the user wants it, batch of the rows that stand there now; how many they are."""
        strategy = self.strategy(plan)
        done = [session.run(s) for s in strategy.baseline(part, events=settings.baseline_events)]
        if isinstance(strategy, Tlcs) and strategy.column and not settings.baseline_events:
            wing_step.check_unmoved(session, strategy)
        rows = done[0 if settings.baseline_events else -1] if done else 0
        if not settings.baseline_events or not rows:
            return rows, None
        wing_step.check_travels(session, strategy, settings, part)
        return rows, self.header(session, plan, settings, held, part.epoch, {"r": rows})

    # -- detect ------------------------------------------------------------------------------------------------------
    def detect(self, plan: StreamPlan, settings: Settings, held: LeasedStream) -> Iterator[Detection]:
        if left := open_batch.seal(self, settings, held):  # by a process that was killed
            yield Detection(left, Cost())
        started, before = time.monotonic(), int(held.row.checkpoint["rows"])
        strategy, change = self.strategy(plan), change_of(held.row.checkpoint, plan)
        afresh = strategy.poll_mode != "whole" and source_changes.server_changed(self, strategy, settings, held)
        remade = isinstance(strategy, (Watermarked, VbdDelta)) and source_changes.table_changed(
            self, plan, strategy, held
        )
        elsewhere, afresh = afresh, afresh or remade
        gone = elsewhere or bool(plan.option("deletes"))  # a stream that sees no deletes sees none by an ALTER either
        if change.columns or (change and strategy.poll_mode == "window"):
            taken = column_changes.apply_change(self, plan, settings, held, change)
            cost = Cost(max(plan.table.rows, 0) + before, taken.found, seconds=time.monotonic() - started)
            yield self._detection(held, taken.header, taken.accepted_source, cost)
            started = time.monotonic()
        if afresh and isinstance(strategy, ByRanges) and strategy.by_ranges:
            range_sizes.recut(self, strategy, held)
        if strategy.poll_mode == "ranges" and not afresh:
            yield from self._by_ranges(plan, settings, held)
        elif strategy.poll_mode == "window":
            for header, taken in window_poll.poll(
                self, plan, settings, held, afresh=afresh, gone=gone, elsewhere=elsewhere
            ):
                spent = time.monotonic() - started
                scanned = (
                    max(plan.table.rows, 0) if isinstance(strategy, Watermarked) and strategy.system else taken.found
                )
                cost = Cost(scanned, taken.found, seconds=spent, spark=taken.found > 0)
                found = self._detection(held, header, taken.accepted_source, cost)
                yield replace(found, remarks=taken.remarks)
                started = time.monotonic()
            if began := checkpoints.due(self, settings, held):
                yield from self._audit(plan, settings, held, began)
        elif isinstance(strategy, VbdDelta):
            taken = query_poll.poll(self, plan, settings, held, afresh=afresh)
            cost = Cost(taken.found, taken.found, seconds=time.monotonic() - started, spark=taken.found > 0)
            found = self._detection(held, taken.header, taken.accepted_source, cost)
            yield replace(found, remarks=taken.remarks)
            if began := checkpoints.due(self, settings, held):
                yield from self._audit(plan, settings, held, began)
        else:
            self.progress("comparing table and replica in the source")
            taken = wing_step.run_step(self, plan, settings, held, StepRequest([lambda s, part: s.differences(part)]))
            scanned = max(plan.table.rows, 0) + before
            cost = Cost(scanned, taken.found, seconds=time.monotonic() - started, spark=taken.found > 0)
            yield self._detection(held, taken.header, taken.accepted_source, cost)
        if change:
            yield Detection(None, Cost(), (change.told(),))
        if remade:
            yield Detection(None, Cost(), remarks=(source_changes.remark(plan),))

    def _audit(self, plan: StreamPlan, settings: Settings, held: LeasedStream, began: float) -> Iterator[Detection]:
        started = time.monotonic()
        for taken in self._audited(plan, settings, held, began):
            cost = Cost(max(plan.table.rows, 0), taken.found, seconds=time.monotonic() - started, spark=taken.found > 0)
            yield self._detection(held, taken.header, taken.accepted_source, cost)
            started = time.monotonic()

    def _audited(
        self, plan: StreamPlan, settings: Settings, held: LeasedStream, began: float
    ) -> Iterator[wing_step.StepResult]:
        if isinstance(self.strategy(plan), VbdDelta):
            self.progress("audit: computing the whole query")
            yield query_poll.poll(self, plan, settings, held, audit=began)
        else:
            yield from audit.audit(self, plan, settings, held, began)

    def _by_ranges(self, plan: StreamPlan, settings: Settings, held: LeasedStream) -> Iterator[Detection]:
        visit, started = RangePoll(self, plan, settings, held), time.monotonic()
        for header in visit.batches():
            spent = time.monotonic() - started
            yield Detection(header, Cost(rows_shipped=header.size, seconds=spent, spark=True))
            started = time.monotonic()  # it was delivered in between
        done = visit.done
        cost = Cost(2 * done.rows, ranges=done.ranges, dirty=done.dirty, seconds=time.monotonic() - started)
        yield self._detection(held, None, done.accepted_source, cost)

    def _detection(self, held: LeasedStream, header: BatchHeader | None, accepted: bool, cost: Cost) -> Detection:
        return Detection(header, cost, (*held.notes, *((ACCEPTED_SOURCE,) if accepted else ())))

    def enter(self, session: Session, plan: StreamPlan, held: LeasedStream) -> None:
        """Locks the stream's row, keeps DDL from the table, asks whether it can be compared here.

        See docs/design/protocol.md#rule-1, #rule-9.
        """
        row, connector, steady = held.row, self.source.connector, self.strategy(plan).steady
        lock = connector.lock_against_rewrite(plan.table)
        if lock and steady:  # before the first statement that reads, whose state all others see
            session.run(lock)
        self.store.lock(session.connection, self.stream, self.project.project_id, row.version, row.fencing_token)
        if lock and not steady:
            session.run(lock)
        check_views(self.source, session, plan)
        own = own_tables.own_names(self, plan)
        connector.check_in_source(session.connection, plan.table, stream=self.stream, own=own)

    def header(
        self, session: Session, plan: StreamPlan, settings: Settings, held: LeasedStream, epoch: int, counts: Counts
    ) -> BatchHeader:
        """The header of what was just found, by the source's clock."""
        return wing_step.first_header(self, session, plan, settings, held, epoch, counts)

    def checkpoint(self, plan: StreamPlan, settings: Settings, server: ServerIdentity, rows: int) -> dict[str, Any]:
        """What every strategy remembers; `rows` is the replica's size."""
        return checkpoint_of(plan, settings, server, self.source.connector.encoder_version, rows)

    # -- batches -----------------------------------------------------------------------------------------------------
    def staged(self, header: BatchHeader) -> DataFrame:
        with self.source.read(self.stream) as session:
            batch = open_batch.staged_batch(self, session, header)
        readers = max(1, min(8, header.size // ROWS_PER_READER))
        step = -(-header.size // readers)
        query, pins = batch.rows(), self.source.connector.session_pins()
        parts = [
            f"SELECT * FROM (\n{query}\n) AS q WHERE q.ordinal >= {i * step} AND q.ordinal < {(i + 1) * step}"
            for i in range(readers)
        ]
        rows = source_rows(self.spark.get(), self.source, self.stream, parts, init=pins, at_once=readers)
        # A driver may read a value as a wider type than it travels as: a float as a double.
        return rows.selectExpr(*casts(event_fields([travel for _, travel in header.columns])))

    def collect(self, plan: StreamPlan, held: LeasedStream, settings: Settings) -> None:
        with self.source.write(self.stream) as session:
            conn = session.connection
            self.store.lock(conn, self.stream, self.project.project_id, held.row.version, held.row.fencing_token)
            through = self.delivered_through(conn, settings)
            for header in self.store.expired_batches(conn, self.stream, through, settings.retain.total_seconds()):
                session.run(forget_batch(self.source.connector, self.source.schema, header, header.seq))
                self.store.delete_batch(conn, self.stream, header.epoch, header.seq)

    def forget(self, held: LeasedStream) -> None:
        own_tables.forget(self, held)
        with self.source.write(self.stream) as session:
            held.row = self.store.forget(session.connection, held.row)

    # -- looking -----------------------------------------------------------------------------------------------------
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[ExplainedStatement]:
        steps = explain.explain(self, plan, row)
        return [*steps, *explain.audits(self, plan, row)] if settings.audit else steps

    def verify(self, plan: StreamPlan, held: LeasedStream) -> Differences:
        """Runs the comparison into the outbox under a number of its own, lists it, and rolls it back."""
        strategy = self.strategy(plan)
        part = OutboxSlice(held.row.epoch, held.row.last_batch_seq + 1)
        with self.source.write(self.stream, steady=strategy.steady) as session:
            self.enter(session, plan, held)
            check_shape(self.source, session, self.stream, held.row.checkpoint, plan)
            wing_step.check_key(session, strategy, None, plan)
            found = 0
            for make in explain.comparison(strategy, held.row):
                found += session.run(make(replace(part, first=found)))
            rows = session.rows(strategy.differing_keys(part, LISTED + 1))
            session.rollback()
        return Differences(Difference(r.op.strip(), ", ".join(map(str, tuple(r)[1:]))) for r in rows)
