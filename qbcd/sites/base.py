"""A site: the place that keeps a stream's replica, batches and checkpoint, and moves them in one step.

`DatabaseSite` keeps them in the source, `LakeSite` in the state database and Parquet files. Both hold the truth of a
stream in one row that changes only by compare-and-set (docs/design/protocol.md#section-a).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from qbcd.catalog.source import Session
from qbcd.connectors.catalog import SupportsIndexes
from qbcd.model import BatchHeader, StreamPlan
from qbcd.sites.context import StreamContext
from qbcd.sites.values import Detection, Differences, ExplainedStatement, LeasedStream, Settings
from qbcd.state import StreamRow
from qbcd.strategies import Estimate, LakeTs, Strategy, Watermarked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Site(ABC):
    """The operations on replica, batches and checkpoint of one stream.

    Args:
        context: The stream's source, store and lease.
    """

    def __init__(self, context: StreamContext) -> None:
        self.context = context

    @abstractmethod
    def strategy(self, plan: StreamPlan) -> Strategy:
        """The strategy that makes this site's statements for `plan`."""

    @abstractmethod
    def create(self, plan: StreamPlan) -> None:
        """Creates what must stand before the lease can be taken: the store. Repeatable."""

    def stands(self, plan: StreamPlan) -> bool:
        """Whether the source needs nothing made for the stream, or has it already."""
        return True

    def refuse_unfit(  # noqa: B027 -- by default all that `resolve` lets pass is fit
        self, session: Session, plan: StreamPlan, place: Callable[[str], str]
    ) -> None:
        """Refuses a table, a role or options that cannot carry the strategy, before anything is made.

        Args:
            place: Where in the configuration an option of the strategy (or ``where``) stands.

        Raises:
            Refused: They cannot.
        """

    def remarks(self, session: Session, plan: StreamPlan) -> list[str]:
        """What works, and costs the source more than it needs to."""
        return []

    def open_events(self, row: StreamRow) -> int:
        """Events of a batch that is not sealed yet, which no sink has seen."""
        return 0

    @abstractmethod
    def ddl(self, plan: StreamPlan) -> list[str]:
        """The DDL on the source that `create` and `prepare` run, for a DBA; empty where the source is only read."""

    @abstractmethod
    def prepare(self, plan: StreamPlan, settings: Settings, held: LeasedStream) -> Detection:
        """Makes the stream's tables, takes the baseline in one step; with `baseline_events` its rows are batch 1."""

    @abstractmethod
    def detect(self, plan: StreamPlan, settings: Settings, held: LeasedStream) -> Iterator[Detection]:
        """Finds what changed, in one step or several, each of which commits batch, replica and checkpoint together.

        Yields what each sealed batch brought, and what else the poll cost; a batch can be published at once.
        """

    @abstractmethod
    def staged(self, header: BatchHeader) -> DataFrame:
        """The batch's rows (flat staged shape), as they were staged."""

    @abstractmethod
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[ExplainedStatement]:
        """The statements of a poll, in order; runs none."""

    def estimate(self, plan: StreamPlan) -> Estimate:
        """What a poll of the unchanged table costs the source, by its catalog."""
        strategy = self.strategy(plan)
        if not isinstance(strategy, (Watermarked, LakeTs)):
            return strategy.estimate()
        with self.context.source.read(self.context.stream) as session:
            return strategy.estimate(
                self.context.source.connector.require(SupportsIndexes).indexes(session.connection, plan.table)
            )

    @abstractmethod
    def verify(self, plan: StreamPlan, held: LeasedStream) -> Differences:
        """Compares replica and source in full."""

    @abstractmethod
    def forget(self, held: LeasedStream) -> None:
        """Removes replica and batches; the row's counters survive."""

    @abstractmethod
    def collect(self, plan: StreamPlan, held: LeasedStream, settings: Settings) -> None:
        """Removes delivered batches past retention, and what nothing names any more."""
