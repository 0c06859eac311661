"""The site of the lake wing: Parquet in the workdir, row and ranges in the state database.

A poll computes checksums of all ranges and reads dirty ranges once, into a stage, all from one exported snapshot or
each range by one statement (`qbcd.sites.lake.snapshot`). Comparison, batch and new range checksums use the stage alone.
One compare-and-set transaction commits them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from typing_extensions import override

from qbcd.catalog.capture_change import change_of
from qbcd.catalog.source import Session
from qbcd.local.query import columns_of
from qbcd.model import BatchHeader, Cost, StreamPlan, Travel
from qbcd.model.checkpoint import Entry
from qbcd.sites import checkpoint as checkpoints
from qbcd.sites import eligibility
from qbcd.sites.base import Site
from qbcd.sites.event_schema import event_fields
from qbcd.sites.lake import compaction, digest_queue, explain, verify
from qbcd.sites.lake.baseline import take_baseline
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.engines.algebra import of_columns
from qbcd.sites.lake.poll import LakePoll, ParquetPoll
from qbcd.sites.lake.queue_poll import poll_queue
from qbcd.sites.lake.range_sizes import estimated
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.schema import batch_fields
from qbcd.sites.lake.resend import staged_replica
from qbcd.sites.lake.table_poll import poll_table
from qbcd.sites.lake.window_poll import poll_window
from qbcd.sites.values import Detection, Differences, ExplainedStatement, LeasedStream, ReplicaRows, Settings
from qbcd.state import StreamRow
from qbcd.strategies import IdRcs, LakeTs, QueuedTlcs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.local.arrow import LocalRows


class ParquetSite(Site):
    """A stream whose replica and batches are Parquet files."""

    context: LakeContext

    def __init__(self, context: LakeContext) -> None:
        super().__init__(context)

    @override
    def staged(self, header: BatchHeader) -> DataFrame:
        return self._frame(FileSet.of_location(header.location), [travel for _, travel in header.columns])

    def _frame(self, part: FileSet, travels: Sequence[Travel]) -> DataFrame:
        """Return the rows of a batch's files."""
        from qbcd.sites.lake.engines.spark.engine import SparkEngine

        engine = SparkEngine(self.context.spark)
        rows = engine.frame(self.context.files.read(engine, batch_fields(travels), part))
        return rows.select(*(name for name, _ in event_fields(travels)))

    @contextmanager
    @override
    def open_staged(self, header: BatchHeader, part: range) -> Iterator[LocalRows]:
        files = FileSet.of_location(header.location)
        with self._local_rows(files, [travel for _, travel in header.columns]) as rows:
            yield rows

    @contextmanager
    def _local_rows(self, part: FileSet, travels: Sequence[Travel]) -> Iterator[LocalRows]:
        from qbcd.local.arrow import LocalRows
        from qbcd.sites.lake.engines.local.engine import LocalEngine

        with self.context.local.open() as database:
            rows = self.context.files.read(LocalEngine(database), batch_fields(travels), part)
            yield LocalRows(database, of_columns(rows, columns_of(event_fields(travels))))

    @contextmanager
    @override
    def open_replica(
        self, plan: StreamPlan, settings: Settings, leased: LeasedStream, restriction: str
    ) -> Iterator[ReplicaRows]:
        poll = self._poll(plan, settings, leased)
        travels = [column.travel for column in plan.captured]
        with staged_replica(poll, restriction) as (part, count):
            yield ReplicaRows(count, lambda: self._frame(part, travels), lambda _: self._local_rows(part, travels))

    @abstractmethod
    def _poll(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> ParquetPoll: ...

    @override
    def forget(self, leased: LeasedStream) -> None:
        with self.context.writing() as conn:
            leased.row = self.context.store.forget(conn, leased.row)
        self.context.files.sweep(set(), leased)


class LakeSite(ParquetSite):
    """A stream whose replica is Parquet, and whose source is only read."""

    @override
    def strategy(self, plan: StreamPlan) -> IdRcs:
        return self.context.strategy(plan)

    @override
    def _poll(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> LakePoll:
        return LakePoll(self.context, plan, self.context.strategy(plan), settings, leased)

    @override
    def refuse_unfit(self, session: Session, plan: StreamPlan, place: Callable[[str], str]) -> None:
        strategy = self.context.strategy(plan)
        if isinstance(strategy, LakeTs):
            eligibility.refuse_unsafe_watermark(self.context.source, session, strategy.watermarked, place)
        elif isinstance(strategy, QueuedTlcs):
            eligibility.refuse_missing_rights(self.context.source, session, strategy.finder, place)
            if plan.table.kind in eligibility.STORED:
                eligibility.refuse_unordered_key(self.context.source, session, strategy.finder, place)

    @override
    def remarks(self, session: Session, plan: StreamPlan) -> list[str]:
        strategy = self.context.strategy(plan)
        if not isinstance(strategy, LakeTs):
            return eligibility.why_not_incremental(strategy)
        return eligibility.watermark_remarks(self.context.source, session, strategy.watermarked)

    @override
    def writes_source(self, plan: StreamPlan) -> bool:
        return isinstance(self.context.strategy(plan), QueuedTlcs)

    @override
    def has_tables(self, plan: StreamPlan) -> bool:
        strategy = self.context.strategy(plan)
        return not isinstance(strategy, QueuedTlcs) or digest_queue.exist(self.context, strategy)

    @override
    def create(self, plan: StreamPlan, settings: Settings) -> None:
        if not settings.engine.is_local(estimated(plan)):
            self.context.spark.get()  # without Java or driver nothing is created
        with self.context.writing() as conn:
            self.context.store.create(conn)
        self.context.files.create()

    @override
    def ddl(self, plan: StreamPlan) -> list[str]:
        strategy, source = self.context.strategy(plan), self.context.source
        if isinstance(strategy, QueuedTlcs):
            return digest_queue.ddl(self.context, plan, strategy)
        if not isinstance(strategy, LakeTs):
            return []
        with source.read(self.context.stream) as session:
            return eligibility.suggestions(source, session, strategy.watermarked)

    @override
    def prepare(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Detection:
        return take_baseline(self._poll(plan, settings, leased))

    @override
    def detect(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Iterator[Detection]:
        poll = self._poll(plan, settings, leased)
        change = change_of(leased.row.checkpoint, plan)
        if isinstance(poll.strategy, LakeTs):
            yield from poll_window(poll)
        elif isinstance(poll.strategy, QueuedTlcs):
            yield from poll_queue(poll)
        else:
            yield poll_table(poll)
            if began := checkpoints.due(poll):
                yield poll_table(poll, {Entry.AUDITED: began}, audit=True)
        if change:
            yield Detection(None, Cost(), (change.describe(),))

    @override
    def collect(self, plan: StreamPlan, leased: LeasedStream, settings: Settings) -> None:
        compaction.collect(self._poll(plan, settings, leased))

    @override
    def forget(self, leased: LeasedStream) -> None:
        if digest_queue.is_used(self.context, leased):
            digest_queue.drop(self.context.source, self.context.stream)
        super().forget(leased)

    @override
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[ExplainedStatement]:
        return explain.explain(self.context, plan, settings, row)

    @override
    def verify(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Differences:
        return verify.verify(self._poll(plan, Settings(settings.config), leased))
