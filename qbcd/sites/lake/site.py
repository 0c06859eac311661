"""The site of the lake wing: Parquet in the workdir, row and ranges in the state database.

A poll computes checksums of all ranges and reads dirty ranges once, into a stage, all from one exported snapshot or
each range by one statement (`qbcd.sites.lake.snapshot`). Comparison, batch and new range checksums use the stage alone.
One compare-and-set transaction commits them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from qbcd.catalog.source import Session
from qbcd.model import StreamPlan
from qbcd.sites.lake.parquet_site import ParquetSite
from qbcd.sites.lake.poll import LakePoll
from qbcd.sites.values import Detection, Differences, ExplainedStatement, LeasedStream, Settings
from qbcd.state import StreamRow
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from qbcd.sites.lake.modes import LakeMode


class LakeSite(ParquetSite):
    """A stream whose replica is Parquet, and whose source is only read."""

    @override
    def strategy(self, plan: StreamPlan) -> IdRcs:
        return self.context.strategy(plan)

    @override
    def _poll(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> LakePoll:
        return LakePoll(self.context, plan, self.context.strategy(plan), settings, leased)

    def _mode(self, plan: StreamPlan) -> LakeMode[Any]:
        from qbcd.sites.lake.modes import mode_of  # not all commands need it

        return mode_of(self.context, plan)

    @override
    def refuse_unfit(self, session: Session, plan: StreamPlan, place: Callable[[str], str]) -> None:
        self._mode(plan).refuse_unfit(session, place)

    @override
    def remarks(self, session: Session, plan: StreamPlan) -> list[str]:
        return self._mode(plan).remarks(session)

    @override
    def has_tables(self, plan: StreamPlan) -> bool:
        return self._mode(plan).has_tables()

    @override
    def create(self, plan: StreamPlan, settings: Settings) -> None:
        from qbcd.sites.lake.range_sizes import estimated

        if why := settings.engine.why_spark(rows := estimated(plan)):
            self.context.spark.give_reason(why, rows)
            self.context.spark.get()  # without Java or driver nothing is created
        with self.context.writing() as conn:
            self.context.store.create(conn)
        self.context.files.create()

    @override
    def ddl(self, plan: StreamPlan) -> list[str]:
        return self._mode(plan).ddl()

    @override
    def prepare(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Detection:
        from qbcd.sites.lake.baseline import take_baseline

        return take_baseline(self._poll(plan, settings, leased), self._mode(plan))

    @override
    def detect(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Iterator[Detection]:
        return self._mode(plan).detect(self._poll(plan, settings, leased))

    @override
    def collect(self, plan: StreamPlan, leased: LeasedStream, settings: Settings) -> None:
        from qbcd.sites.lake import compaction

        compaction.collect(self._poll(plan, settings, leased))

    @override
    def forget(self, leased: LeasedStream) -> None:
        from qbcd.sites.lake import digest_queue

        if digest_queue.is_used(self.context, leased):
            digest_queue.drop(self.context.source, self.context.stream)
        super().forget(leased)

    @override
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[ExplainedStatement]:
        from qbcd.sites.lake import explain

        steps, known = explain.starting(self.context, self.strategy(plan), settings, row)
        return [*steps, *self._mode(plan).explain(settings, row, known)]

    @override
    def verify(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Differences:
        # without the limits of sinks and without confirmations, which are for polls
        own = Settings(settings.config, connections=settings.connections, engine=settings.engine)
        return self._mode(plan).verify(self._poll(plan, own, leased))
