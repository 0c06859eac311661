"""The site in the source database: tables in schema `qbcd`, each step one transaction.

The strategy's mode decides the reads of a poll (`qbcd.sites.database.modes`); the transaction of a step is the same for
all modes (`qbcd.sites.database.commit`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from qbcd.catalog.drift import check_shape
from qbcd.catalog.source import Session
from qbcd.model import BatchHeader, Statement, StreamPlan, Travel
from qbcd.model.checkpoint import Checkpoint
from qbcd.sites.base import Site
from qbcd.sites.checkpoint import next_search
from qbcd.sites.database import open_batch, own_tables
from qbcd.sites.database.baseline import take_baseline
from qbcd.sites.database.commit import enter
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.database.modes import DatabaseMode, mode_of
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.event_schema import casts, event_fields
from qbcd.sites.refusals import check_key
from qbcd.sites.values import (
    LISTED,
    Detection,
    Difference,
    Differences,
    ExplainedStatement,
    LeasedStream,
    ReplicaRows,
    Settings,
    UnseenDeletes,
)
from qbcd.state import StreamRow
from qbcd.strategies import InSource, OutboxSlice
from qbcd.strategies.outbox import forget_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.local.arrow import LocalRows

ROWS_PER_READER = 50_000


class DatabaseSite(Site):
    """A stream whose replica, outbox and checkpoint are in the source."""

    context: DatabaseContext

    def __init__(self, context: DatabaseContext) -> None:
        super().__init__(context)

    @override
    def strategy(self, plan: StreamPlan) -> InSource:
        return self.context.strategy(plan)

    def _mode(self, plan: StreamPlan) -> DatabaseMode[Any]:
        return mode_of(self.context, plan)

    def _poll(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> DatabasePoll:
        return DatabasePoll(self.context, plan, self.context.strategy(plan), settings, leased)

    # -- before a baseline -------------------------------------------------------------------------------------------
    @override
    def create(self, plan: StreamPlan, settings: Settings) -> None:
        own_tables.create(self.context, plan)

    @override
    def ddl(self, plan: StreamPlan) -> list[str]:
        return own_tables.ddl(self.context, plan, self._mode(plan).watermarks())

    @override
    def refuse_unfit(self, session: Session, plan: StreamPlan, place: Callable[[str], str]) -> None:
        self._mode(plan).refuse_unfit(session, place)

    @override
    def remarks(self, session: Session, plan: StreamPlan) -> list[str]:
        return self._mode(plan).remarks(session)

    @override
    def refuse_unwritable(self, session: Session, plan: StreamPlan) -> None:
        catalog, own = self.context.source.connector.catalog, self.context.own_names(plan)
        catalog.check_in_source(session.connection, plan.table, stream=self.context.stream, own=own)

    @override
    def has_tables(self, plan: StreamPlan) -> bool:
        return own_tables.exist(self.context, plan)

    # -- prepare and poll --------------------------------------------------------------------------------------------
    @override
    def prepare(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Detection:
        return take_baseline(self._poll(plan, settings, leased))

    @override
    def detect(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Iterator[Detection]:
        return self._mode(plan).detect(self._poll(plan, settings, leased))

    # -- batches -----------------------------------------------------------------------------------------------------
    @override
    def open_events(self, row: StreamRow) -> int:
        return open_batch.open_events(Checkpoint(row.checkpoint))

    @override
    def staged(self, header: BatchHeader) -> DataFrame:
        with self.context.source.read(self.context.stream) as session:
            parts = _parts(
                open_batch.staged_batch(self.context, session, header).rows(),
                range(header.size),
                self.context.job.connections,
            )
        return self._frame(parts, [travel for _, travel in header.columns])

    def _frame(self, parts: Sequence[Statement], travels: Sequence[Travel]) -> DataFrame:
        """Return the rows of staged events that statements read."""
        from qbcd.spark.source import source_rows

        context, sql = self.context, [part.sql for part in parts]
        spark, pins = context.spark.get(), context.source.connector.sessions.pins()
        rows = source_rows(spark, context.source, context.stream, sql, init=pins, at_once=len(parts))
        # A driver may read a value as a wider type than its wire type: a float as a double.
        return rows.selectExpr(*casts(event_fields(travels)))

    @contextmanager
    @override
    def open_staged(self, header: BatchHeader, part: range) -> Iterator[LocalRows]:
        with self.context.source.read(self.context.stream) as session:
            statements = _parts(
                open_batch.staged_batch(self.context, session, header).rows(), part, self.context.job.connections
            )
        with self._local_rows(statements, [travel for _, travel in header.columns]) as rows:
            yield rows

    @contextmanager
    def _local_rows(self, statements: Sequence[Statement], travels: Sequence[Travel]) -> Iterator[LocalRows]:
        from qbcd.local.arrow import LocalRows
        from qbcd.local.source import SourceReads, fetch_rows

        reads = SourceReads(self.context.source, self.context.stream, statements, at_once=len(statements))
        with self.context.local.open() as database:
            yield LocalRows(database, fetch_rows(database, reads, event_fields(travels)))

    @override
    def collect(self, plan: StreamPlan, leased: LeasedStream, settings: Settings) -> None:
        context, source = self.context, self.context.source
        retain = settings.config.retain.total_seconds()
        if not context.may_collect(leased.row.last_batch_seq, retain):
            return
        with source.write(context.stream) as session:
            conn = session.connection
            context.lock(conn, leased.row)
            through = context.delivered_through(conn, settings)
            for header in context.store.expired_batches(conn, context.stream, through, retain):
                session.run(forget_batch(source.connector, source.schema, header, header.seq))
                context.store.delete_batch(conn, context.stream, header.epoch, header.seq)
        context.collected(leased.row.last_batch_seq)

    @override
    def forget(self, leased: LeasedStream) -> None:
        own_tables.forget(self.context, leased)
        with self.context.source.write(self.context.stream) as session:
            leased.row = self.context.store.forget(session.connection, leased.row)

    # -- the replica -------------------------------------------------------------------------------------------------
    @override
    def seal(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> None:
        open_batch.seal(self._poll(plan, settings, leased))

    @contextmanager
    @override
    def open_replica(
        self, plan: StreamPlan, settings: Settings, leased: LeasedStream, restriction: str
    ) -> Iterator[ReplicaRows]:
        context, strategy = self.context, self.context.strategy(plan)
        with context.source.read(context.stream) as session:
            count = int(session.one(strategy.replica_count(restriction)).n)
        query, travels = strategy.replica_events(restriction), [column.travel for column in plan.captured]
        yield ReplicaRows(
            count,
            lambda: self._frame(_parts(query, range(count), self.context.job.connections), travels),
            lambda part: self._local_rows(_parts(query, part, self.context.job.connections), travels),
        )

    # -- explain and verify ------------------------------------------------------------------------------------------
    @override
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[ExplainedStatement]:
        mode, prepared = self._mode(plan), row if row and row.prepared else None
        statements = mode.explain(prepared)
        return [*statements, *mode.explain_audit(prepared)] if settings.config.audit else statements

    @override
    def verify(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Differences:
        """Run the comparison into the outbox, list what it found, and roll it back."""
        context, strategy, row, mode = self.context, self.context.strategy(plan), leased.row, self._mode(plan)
        part, unseen = (OutboxSlice(row.epoch, row.last_batch_seq + n) for n in (1, 2))
        with context.source.write(context.stream, steady=strategy.steady) as session:
            enter(context, session, plan, row)
            check_shape(context.source, session, context.stream, row.checkpoint, plan)
            check_key(session, strategy, None, plan)
            found = 0
            for make in mode.verification(leased.checkpoint):
                found += session.run(make(replace(part, first=found)))
            listed = _keys(session, strategy, part)
            deletes = [session.run(make(unseen)) for make in mode.unseen_deletes()]
            deleted = _keys(session, strategy, unseen) if any(deletes) else []
            session.rollback()
        upcoming = next_search(self._poll(plan, settings, leased)) if deleted else None
        return Differences(
            (Difference(op, key) for op, key in listed), UnseenDeletes.of((key for _, key in deleted), upcoming)
        )


def _parts(query: str, part: range, connections: int) -> list[Statement]:
    """Return statements over the rows of a batch in `part`, at most one a connection.

    Each is over other ordinals.
    """
    readers = max(1, min(connections, len(part) // ROWS_PER_READER))
    step = max(1, -(-len(part) // readers))
    pieces = [part[first : first + step] for first in range(0, max(1, len(part)), step)]
    return [
        Statement(f"SELECT * FROM (\n{query}\n) AS q WHERE q.ordinal >= {one.start} AND q.ordinal < {one.stop}")
        for one in pieces
    ]


def _keys(session: Session, strategy: InSource, part: OutboxSlice) -> list[tuple[str, str]]:
    """Return op and key of the first rows of a slice of the outbox."""
    rows = session.rows(strategy.differing_keys(part, LISTED + 1))
    return [(row.op.strip(), ", ".join(map(str, tuple(row)[1:]))) for row in rows]
