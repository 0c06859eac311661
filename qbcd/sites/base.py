"""A site: operations on replica, batches and checkpoint of one stream, in one of two wings.

`DatabaseSite` keeps them in the source, `LakeSite` in the state database and Parquet files. In both, the truth of a
stream is one row that changes only by compare-and-set (docs/design/protocol.md#section-a).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from qbcd.catalog.source import Session
from qbcd.model import BatchHeader, StreamPlan
from qbcd.sites.context import StreamContext
from qbcd.sites.eligibility import MissingRight, Remark, missing_schema_right, missing_write_rights, own_schema
from qbcd.sites.encodings import unknown_encoding
from qbcd.sites.refusals import check_key
from qbcd.sites.values import Detection, Differences, ExplainedStatement, LeasedStream, ReplicaRows, Settings
from qbcd.sql import restriction_remarks
from qbcd.state import StreamRow
from qbcd.strategies import Strategy, TableStrategy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.local.arrow import LocalRows


class Site(ABC):
    """The operations on replica, batches and checkpoint of one stream.

    Args:
        context: The stream's source, store and lease.
    """

    def __init__(self, context: StreamContext) -> None:
        self.context = context

    @abstractmethod
    def strategy(self, plan: StreamPlan) -> Strategy:
        """Return the strategy that makes the statements of `plan`."""

    # -- before a baseline -------------------------------------------------------------------------------------------
    @abstractmethod
    def create(self, plan: StreamPlan, settings: Settings) -> None:
        """Create what the lease needs: the store. Repeatable."""

    @abstractmethod
    def ddl(self, plan: StreamPlan) -> list[str]:
        """Return statements on the source for a DBA.

        They are the DDL that `create` and `prepare` run, grants, and indexes. If the source is only read, they are the
        grants and indexes that polls need or gain from.
        """

    def has_tables(self, plan: StreamPlan) -> bool:
        """Return True if the source has all tables of qbcd's own that the stream needs."""
        return True

    def writes_source(self, plan: StreamPlan) -> bool:
        """Return True if the stream needs tables of qbcd's own in the source."""
        return self.strategy(plan).writes_source

    def refuse_unfit(  # noqa: B027 -- by default every table that `resolve` accepts is fit
        self, session: Session, plan: StreamPlan, place: Callable[[str], str]
    ) -> None:
        """Refuse a table, a role or options that cannot carry the strategy.

        Nothing has been created yet.

        Args:
            place: Returns the place in the configuration of an option of the strategy, or of ``where``.

        Raises:
            Refused: They cannot.
        """

    def remarks(self, session: Session, plan: StreamPlan) -> list[str]:
        """Return remarks on polls that work, but cost the source more than they need to."""
        return []

    def table_strategy(self, plan: StreamPlan) -> TableStrategy:
        """Return the strategy of a plan of a table or query."""
        strategy = self.strategy(plan)
        assert isinstance(strategy, TableStrategy), "streams of files have another site"
        return strategy

    def refuse_unwritable(self, session: Session, plan: StreamPlan) -> None:
        """Refuse a server on which the stream's own tables cannot be.

        Raises:
            Refused: They cannot be there.
        """
        if self.writes_source(plan):
            self.context.source.connector.catalog.check_accepts_writes(session.connection, stream=self.context.stream)

    def missing_rights(self, session: Session, plan: StreamPlan) -> list[MissingRight]:
        """Return all rights that the role lacks to write what the stream writes to the source."""
        source, found = self.context.source, list[MissingRight]()
        if self.writes_source(plan) and not self.has_tables(plan):
            schema = own_schema(source, session, plan.table, [column.name for column in plan.captured])
            found = missing_schema_right(source, schema, plan.strategy)
        return found + missing_write_rights(source, session, self.table_strategy(plan))

    def examine(
        self, session: Session, plan: StreamPlan, place: Callable[[str], str], *, prepared: bool = False
    ) -> Iterator[Remark]:
        """Refuse a table or role that cannot carry the stream, and yield remarks.

        Nothing has been created yet.

        Args:
            place: Returns the place in the configuration of an option of the strategy, or of ``where``.
            prepared: The stream has a baseline: what has been read so far is a remark only.

        Raises:
            Refused: They cannot.
        """
        source = self.context.source
        if unreadable := unknown_encoding(source, session, plan):
            if not prepared:
                raise unreadable
            yield Remark("columns", unreadable.what)
        self.refuse_unfit(session, plan, place)
        for text in restriction_remarks(session.connection, source.connector, plan):
            yield Remark("restriction", text)
        for text in self.remarks(session, plan):
            yield Remark("strategy", text)

    def examine_before_prepare(self, plan: StreamPlan, place: Callable[[str], str]) -> list[str]:
        """Refuse a table, key or role that cannot carry the stream; return warnings and remarks.

        `prepare` calls it before it creates anything.

        Raises:
            Refused: They cannot.
        """
        strategy = self.table_strategy(plan)
        with self.context.source.read(self.context.stream) as session:  # checked again under the baseline's lock
            check_key(session, strategy)
            found = [one.text for one in self.examine(session, plan, place)]
        return found + strategy.warnings()

    # -- prepare and poll --------------------------------------------------------------------------------------------
    @abstractmethod
    def prepare(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Detection:
        """Take the baseline into the replica in one step.

        With `baseline_events` its rows are batch 1.
        """

    @abstractmethod
    def detect(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Iterator[Detection]:
        """Find changes in one or several steps.

        Each step commits batch, replica and checkpoint together.

        Yields:
            Each sealed batch, which can be delivered at once, and other costs of the poll.
        """

    # -- batches -----------------------------------------------------------------------------------------------------
    def open_events(self, row: StreamRow) -> int:
        """Return the number of events in a batch that is not sealed yet.

        No sink has seen them.
        """
        return 0

    @abstractmethod
    def staged(self, header: BatchHeader) -> DataFrame:
        """Return the batch's rows (flat staged shape), as they were staged."""

    @abstractmethod
    def open_staged(self, header: BatchHeader, part: range) -> AbstractContextManager[LocalRows]:
        """The same rows in a local database, at least those whose ordinals are in `part`."""

    @abstractmethod
    def collect(self, plan: StreamPlan, leased: LeasedStream, settings: Settings) -> None:
        """Remove delivered batches past retention, and everything that nothing names any more."""

    @abstractmethod
    def forget(self, leased: LeasedStream) -> None:
        """Remove replica and batches; the counters of the stream's row survive."""

    # -- the replica -------------------------------------------------------------------------------------------------
    def seal(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> None:  # noqa: B027 -- mostly nothing
        """Make the open batch, if there is one, the next batch: the replica has its changes already."""

    @abstractmethod
    def open_replica(
        self, plan: StreamPlan, settings: Settings, leased: LeasedStream, restriction: str
    ) -> AbstractContextManager[ReplicaRows]:
        """Open the rows of the replica as events of op r; the captured table is not read.

        Call it under the lease: nobody else changes the replica then. Ordinals follow the key, or are those of a file
        that is written for the block.

        Args:
            plan: The stream's; its replica keeps whole rows.
            settings: The engine is chosen by them.
            restriction: Condition on the columns, in the SQL of the replica's place; empty for all rows.

        Raises:
            ConfigError: The restriction cannot be evaluated.
        """

    # -- explain and verify ------------------------------------------------------------------------------------------
    @abstractmethod
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[ExplainedStatement]:
        """Return the statements of a poll, in order; run none."""

    @abstractmethod
    def verify(self, plan: StreamPlan, settings: Settings, leased: LeasedStream) -> Differences:
        """Compare replica and source in full; deletes that polls do not show are listed apart."""
