"""The site in the source database: replica and outbox are tables of schema `qbcd`, each step is one transaction.

How a poll goes is the strategy's: one statement over the table (MDS), a window of time-stamps (`windows`), or range by
range (`passes`). What a step moves together is the same for all (`stepping`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qbcd import hooks
from qbcd.catalog.capture_change import change_of
from qbcd.catalog.drift import check_shape
from qbcd.catalog.source import Session
from qbcd.model import BatchHeader, Cost, StreamPlan
from qbcd.sites import checkpoint as checkpoints
from qbcd.sites import eligibility, source_changes
from qbcd.sites.base import Site
from qbcd.sites.checkpoint import new_epoch
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
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.database.range_poll import RangePoll
from qbcd.sites.database.step import StepRequest
from qbcd.sites.event_schema import casts, event_fields
from qbcd.sites.guards import ACCEPTED_SOURCE
from qbcd.sites.refusals import check_key
from qbcd.sites.values import LISTED, Detection, Difference, Differences, ExplainedStatement, LeasedStream, Settings
from qbcd.sites.watermark import look_ahead
from qbcd.spark.source import source_rows
from qbcd.state import StreamRow
from qbcd.strategies import ByRanges, InSource, OutboxSlice, Tdi, Tlcs, VbdDelta, Watermarked
from qbcd.strategies.outbox import forget_batch
from qbcd.watermark import Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_PER_READER = 50_000


class DatabaseSite(Site):
    """A stream whose replica, outbox and checkpoint live in the source."""

    context: DatabaseContext

    def __init__(self, context: DatabaseContext) -> None:
        super().__init__(context)

    def strategy(self, plan: StreamPlan) -> InSource:
        return self.context.strategy(plan)

    # -- prepare -----------------------------------------------------------------------------------------------------
    def create(self, plan: StreamPlan) -> None:
        own_tables.create(self.context, plan)

    def ddl(self, plan: StreamPlan) -> list[str]:
        return own_tables.ddl(self.context, plan)

    def refuse_unfit(self, session: Session, plan: StreamPlan, place: Callable[[str], str]) -> None:
        eligibility.refuse_unfit(self.context.source, session, self.context.strategy(plan), place)

    def remarks(self, session: Session, plan: StreamPlan) -> list[str]:
        return eligibility.remarks(self.context.source, session, self.context.strategy(plan))

    def open_events(self, row: StreamRow) -> int:
        return sum((row.checkpoint.get("open") or {"counts": {}})["counts"].values())

    def stands(self, plan: StreamPlan) -> bool:
        return own_tables.stands(self.context, plan)

    def prepare(self, plan: StreamPlan, settings: Settings, held: LeasedStream) -> Detection:
        started, strategy = time.monotonic(), self.context.strategy(plan)
        own_tables.make_tables(self.context, plan, held)
        part = OutboxSlice(new_epoch(held.row), held.row.last_batch_seq + 1)
        moves: dict[str, Any] = {}
        # before the rows (docs/design/protocol.md#rule-6)
        if isinstance(strategy, Watermarked) and strategy.poll_mode == "window":
            moves = {"mark": look_ahead(self.context.source, strategy, None), "swept": 0.0}
            moves["mark"].pop("remark", None)
            hooks.reach("after_horizon")
        if isinstance(strategy, VbdDelta):
            moves = query_poll.marks_before(self.context, strategy)
            hooks.reach("after_horizon")
        with self.context.source.write(self.context.stream, steady=strategy.steady) as session:
            wing_step.enter(self.context, session, plan, held)
            check_key(session, strategy, None, plan)
            self.context.progress("taking the baseline into the replica")
            rows, header = self._fill(session, plan, settings, held, part)
            row = held.row
            if isinstance(strategy, ByRanges) and (strategy.poll_mode == "ranges" or plan.option("deletes")):
                row, moves["usual"] = range_sizes.first_cut(session, self.context, strategy, row)
                moves["swept"] = self.context.store.now(session.connection)
            if isinstance(strategy, VbdDelta):
                moves["swept"] = query_poll.fill(self.context, session, strategy)
            if isinstance(strategy, Tdi) and strategy.purges:
                session.run(strategy.note_flagged(Window(None, moves["mark"]["at"])))
            server = self.context.source.connector.catalog.server_identity(session.connection)
            checkpoint = {**wing_step.checkpoint_entries(self.context, plan, settings, server, rows), **moves}
            hooks.reach("before_commit")
            row = self.context.commit(
                session.connection, row, held, header, checkpoint, epoch=part.epoch, prepared=True
            )
        held.row = row
        hooks.reach("after_commit")
        return Detection(header, Cost(rows_scanned=rows, seconds=time.monotonic() - started))

    def _fill(
        self, session: Session, plan: StreamPlan, settings: Settings, held: LeasedStream, part: OutboxSlice
    ) -> tuple[int, BatchHeader | None]:
        """Replica and, where the user wants it, batch of the rows that stand there now; how many they are."""
        strategy = self.context.strategy(plan)
        done = [session.run(s) for s in strategy.baseline(part, events=settings.baseline_events)]
        if isinstance(strategy, Tlcs) and strategy.column and not settings.baseline_events:
            wing_step.check_unmoved(session, strategy)
        rows = done[0 if settings.baseline_events else -1] if done else 0
        if not settings.baseline_events or not rows:
            return rows, None
        wing_step.check_travels(session, strategy, settings, part)
        return rows, wing_step.first_header(self.context, session, plan, settings, held, part.epoch, {"r": rows})

    # -- detect ------------------------------------------------------------------------------------------------------
    def detect(self, plan: StreamPlan, settings: Settings, held: LeasedStream) -> Iterator[Detection]:
        if left := open_batch.seal(self.context, settings, held):  # by a process that was killed
            yield Detection(left, Cost())
        started, before = time.monotonic(), int(held.row.checkpoint["rows"])
        strategy, change = self.context.strategy(plan), change_of(held.row.checkpoint, plan)
        afresh = strategy.poll_mode != "whole" and source_changes.server_changed(self.context, strategy, settings, held)
        remade = isinstance(strategy, (Watermarked, VbdDelta)) and source_changes.table_changed(
            self.context, plan, strategy, held
        )
        elsewhere, afresh = afresh, afresh or remade
        gone = elsewhere or bool(plan.option("deletes"))  # a stream that sees no deletes sees none by an ALTER either
        if change.columns or (change and strategy.poll_mode == "window"):
            taken = column_changes.apply_change(self.context, plan, settings, held, change)
            cost = Cost(max(plan.table.rows, 0) + before, taken.found, seconds=time.monotonic() - started)
            yield self._detection(held, taken.header, taken.accepted_source, cost)
            started = time.monotonic()
        if afresh and isinstance(strategy, ByRanges) and strategy.by_ranges:
            range_sizes.recut(self.context, strategy, held)
        if strategy.poll_mode == "ranges" and not afresh:
            yield from self._by_ranges(plan, settings, held)
        elif strategy.poll_mode == "window":
            for header, taken in window_poll.poll(
                self.context, plan, settings, held, afresh=afresh, gone=gone, elsewhere=elsewhere
            ):
                spent = time.monotonic() - started
                scanned = (
                    max(plan.table.rows, 0) if isinstance(strategy, Watermarked) and strategy.system else taken.found
                )
                cost = Cost(scanned, taken.found, seconds=spent, spark=taken.found > 0)
                found = self._detection(held, header, taken.accepted_source, cost)
                yield replace(found, remarks=taken.remarks)
                started = time.monotonic()
            if began := checkpoints.due(self.context, settings, held):
                yield from self._audit(plan, settings, held, began)
        elif isinstance(strategy, VbdDelta):
            taken = query_poll.poll(self.context, plan, settings, held, afresh=afresh)
            cost = Cost(taken.found, taken.found, seconds=time.monotonic() - started, spark=taken.found > 0)
            found = self._detection(held, taken.header, taken.accepted_source, cost)
            yield replace(found, remarks=taken.remarks)
            if began := checkpoints.due(self.context, settings, held):
                yield from self._audit(plan, settings, held, began)
        else:
            self.context.progress("comparing table and replica in the source")
            taken = wing_step.run_step(
                self.context, plan, settings, held, StepRequest([lambda s, part: s.differences(part)])
            )
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
        if isinstance(self.context.strategy(plan), VbdDelta):
            self.context.progress("audit: computing the whole query")
            yield query_poll.poll(self.context, plan, settings, held, audit=began)
        else:
            yield from audit.audit(self.context, plan, settings, held, began)

    def _by_ranges(self, plan: StreamPlan, settings: Settings, held: LeasedStream) -> Iterator[Detection]:
        visit, started = RangePoll(self.context, plan, settings, held), time.monotonic()
        for header in visit.batches():
            spent = time.monotonic() - started
            yield Detection(header, Cost(rows_shipped=header.size, seconds=spent, spark=True))
            started = time.monotonic()  # it was delivered in between
        done = visit.done
        cost = Cost(2 * done.rows, ranges=done.ranges, dirty=done.dirty, seconds=time.monotonic() - started)
        yield self._detection(held, None, done.accepted_source, cost)

    def _detection(self, held: LeasedStream, header: BatchHeader | None, accepted: bool, cost: Cost) -> Detection:
        return Detection(header, cost, (*held.notes, *((ACCEPTED_SOURCE,) if accepted else ())))

    # -- batches -----------------------------------------------------------------------------------------------------
    def staged(self, header: BatchHeader) -> DataFrame:
        with self.context.source.read(self.context.stream) as session:
            batch = open_batch.staged_batch(self.context, session, header)
        readers = max(1, min(8, header.size // ROWS_PER_READER))
        step = -(-header.size // readers)
        query, pins = batch.rows(), self.context.source.connector.sessions.pins()
        parts = [
            f"SELECT * FROM (\n{query}\n) AS q WHERE q.ordinal >= {i * step} AND q.ordinal < {(i + 1) * step}"
            for i in range(readers)
        ]
        rows = source_rows(
            self.context.spark.get(), self.context.source, self.context.stream, parts, init=pins, at_once=readers
        )
        # A driver may read a value as a wider type than it travels as: a float as a double.
        return rows.selectExpr(*casts(event_fields([travel for _, travel in header.columns])))

    def collect(self, plan: StreamPlan, held: LeasedStream, settings: Settings) -> None:
        with self.context.source.write(self.context.stream) as session:
            conn = session.connection
            self.context.store.lock(
                conn, self.context.stream, self.context.project.project_id, held.row.version, held.row.fencing_token
            )
            through = self.context.delivered_through(conn, settings)
            for header in self.context.store.expired_batches(
                conn, self.context.stream, through, settings.retain.total_seconds()
            ):
                session.run(forget_batch(self.context.source.connector, self.context.source.schema, header, header.seq))
                self.context.store.delete_batch(conn, self.context.stream, header.epoch, header.seq)

    def forget(self, held: LeasedStream) -> None:
        own_tables.forget(self.context, held)
        with self.context.source.write(self.context.stream) as session:
            held.row = self.context.store.forget(session.connection, held.row)

    # -- looking -----------------------------------------------------------------------------------------------------
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[ExplainedStatement]:
        steps = explain.explain(self.context, plan, row)
        return [*steps, *explain.audits(self.context, plan, row)] if settings.audit else steps

    def verify(self, plan: StreamPlan, held: LeasedStream) -> Differences:
        """Runs the comparison into the outbox under a number of its own, lists it, and rolls it back."""
        strategy = self.context.strategy(plan)
        part = OutboxSlice(held.row.epoch, held.row.last_batch_seq + 1)
        with self.context.source.write(self.context.stream, steady=strategy.steady) as session:
            wing_step.enter(self.context, session, plan, held)
            check_shape(self.context.source, session, self.context.stream, held.row.checkpoint, plan)
            check_key(session, strategy, None, plan)
            found = 0
            for make in explain.comparison(strategy, held.row):
                found += session.run(make(replace(part, first=found)))
            rows = session.rows(strategy.differing_keys(part, LISTED + 1))
            session.rollback()
        return Differences(Difference(r.op.strip(), ", ".join(map(str, tuple(r)[1:]))) for r in rows)
