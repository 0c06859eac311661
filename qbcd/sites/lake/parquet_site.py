"""The part of a site that all streams with Parquet files in the workdir share.

Their replica and batches are such files.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from typing_extensions import override

from qbcd.model import BatchHeader, StreamPlan, Travel
from qbcd.sites.base import Site
from qbcd.sites.event_schema import event_fields
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.poll import ParquetPoll
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.values import LeasedStream, ReplicaRows, Settings

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
        return engine.frame(self.context.files.read(engine, event_fields(travels), part))

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
            rows = self.context.files.read(LocalEngine(database), event_fields(travels), part)
            yield LocalRows(database, rows)

    @contextmanager
    @override
    def open_replica(
        self, plan: StreamPlan, settings: Settings, leased: LeasedStream, restriction: str
    ) -> Iterator[ReplicaRows]:
        from qbcd.sites.lake.resend import staged_replica

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
