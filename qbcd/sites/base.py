"""What a site is: the place that keeps a stream's replica, batches and checkpoint, and moves them in one step.

`DatabaseSite` keeps them in the source, `SparkSite` in the state database and Parquet files. Both hold the truth of a
stream in one row that changes only by compare-and-set (docs/design/protocol.md#section-a).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy.engine import Connection

from qbcd import hooks
from qbcd.catalog.source import Session, Source
from qbcd.errors import LeaseHeld, StateConflict
from qbcd.model import BatchHeader, StreamPlan
from qbcd.sites.context import refuse_moved
from qbcd.sites.refusals import key_error, not_prepared
from qbcd.sites.values import Detection, Differences, ExplainedStatement, LeasedStream, Settings
from qbcd.spark.provider import SparkProvider
from qbcd.state import Acknowledged, LeaseKeeper, ProjectState, StreamRow, StreamStore
from qbcd.strategies import Estimate, LakeTs, Strategy, Watermarked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LEASE_SECONDS = 60.0
NAP = 0.2  # seconds, after which a resting poll looks whether it is to stop


class Site(ABC):
    """Replica, batches and checkpoint of one stream.

    Args:
        stream: The stream's name.
        source: Where its table is.
        project: The project's state database (acknowledgements, history, confirmations).
        store: Tables of the site's own truth.
        spark: Starts Spark when rows must travel.
    """

    kind: ClassVar[str]
    folds_at_once: ClassVar[bool]  # the replica does not rest on a batch's rows once it is committed

    def __init__(
        self, stream: str, source: Source, project: ProjectState, store: StreamStore, spark: SparkProvider
    ) -> None:
        self.stream = stream
        self.source = source
        self.project, self.store = project, store
        self.spark = spark
        self.folder: Path | None = None  # where the stream's own files are, if it has any; need not be there yet
        self.progress: Callable[[str], None] = lambda what: None  # told what a long step is at
        self.stopping: Callable[[], bool] = lambda: False  # asked between the steps of a long poll

    def rest(self, seconds: float) -> None:
        """Waits, but not for long once the job is to stop."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.stopping():
            time.sleep(min(left, NAP))

    # -- the store ---------------------------------------------------------------------------------------------------
    @abstractmethod
    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction on the site's store, committed on a clean exit."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """A read-only look at the site's store."""

    def row(self) -> StreamRow | None:
        """The stream's row, or None where nothing was prepared."""
        with self.reading() as conn:
            return self.store.read(conn, self.stream) if self.store.exists(conn) else None

    @contextmanager
    def hold(self, *, register: bool = False, reset: bool = False) -> Iterator[LeasedStream]:
        """Holds the stream's lease; its fencing token goes into every commit made meanwhile.

        Args:
            register: Make the stream's row where there is none (`prepare`).
            reset: What sinks hold is about to be forgotten; a site that has gone back is no hindrance.

        Raises:
            LeaseHeld: Another living process holds it.
            StateConflict: Tables of another project stand there, or the site has gone back.
            Refused: The stream was never prepared.
        """

        def admit(conn: Connection) -> None:
            if not self.store.exists(conn):
                refuse_moved(self)
                raise not_prepared(self.stream)
            if reset:
                known = self.project.acknowledged
                self.store.salvage(conn, self.stream, lambda: [(a.epoch, a.seq) for a in known(self.stream).values()])
            self.store.foreign_project(conn, self.project.project_id, self.stream)
            if register:
                self.store.register(conn, self.project.project_id, self.stream)
            elif (row := self.store.read(conn, self.stream)) is None:
                refuse_moved(self)
                raise not_prepared(self.stream)
            elif row.prepared and not reset:
                self.prove_place()

        with LeaseKeeper(self.store, self.stream, self.writing, ttl=LEASE_SECONDS, admit=admit) as keeper:
            hooks.reach("after_lease")
            acks: Mapping[str, Acknowledged] = {} if reset else self.project.acknowledged(self.stream)
            with self.reading() as conn:
                row, last = self.store.read(conn, self.stream), self._acknowledged_last(conn, acks)
            if row is None:
                raise StateConflict("its state row is gone", stream=self.stream, remedy="qbcd prepare")
            if row.fencing_token != keeper.token:  # paused since the lease was taken, and overtaken
                raise LeaseHeld("another poller has taken the stream over", stream=self.stream, remedy="poll again")
            if not reset:
                self.project.check_acks(self.stream, row, last)
            yield LeasedStream(row, keeper)

    def commit(
        self,
        conn: Connection,
        row: StreamRow,
        held: LeasedStream,
        header: BatchHeader | None,
        checkpoint: dict[str, Any],
        **fields: Any,
    ) -> StreamRow:
        """Adds the batch and advances the row, by version and token, in the caller's transaction."""
        held.keeper.check()
        if header is not None:
            self.store.add_batch(conn, header, row.fencing_token, folded=self.folds_at_once)
            fields["last_batch_seq"] = header.seq
        return self.store.advance(conn, row, checkpoint=checkpoint, **fields)

    def batches(self, after: tuple[int, int] | None = None) -> list[BatchHeader]:
        """Sealed batches beyond `after` (epoch, batch_seq), oldest first."""
        with self.reading() as conn:
            return self.store.batches(conn, self.stream, after)

    def prove_whole(self) -> None:
        """Proves that all that the stream keeps is there and can be read; reads no row.

        Raises:
            QbcdError: Something is missing or damaged.
        """
        self.prove_place()
        with self.reading() as conn:
            self.store.ranges(conn, self.stream)
            self.store.batches(conn, self.stream)

    def prove_place(self) -> None:  # noqa: B027 -- a site that keeps all in its store has nothing to prove
        """Proves, before the lease is taken, that this host sees what the site keeps outside its store.

        Raises:
            StateConflict: It does not.
        """

    # -- the work ----------------------------------------------------------------------------------------------------
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
        with self.source.read(self.stream) as session:
            return strategy.estimate(self.source.connector.indexes(session.connection, plan.table))

    @abstractmethod
    def verify(self, plan: StreamPlan, held: LeasedStream) -> Differences:
        """Compares replica and source in full."""

    @abstractmethod
    def forget(self, held: LeasedStream) -> None:
        """Removes replica and batches; the row's counters survive."""

    @abstractmethod
    def collect(self, plan: StreamPlan, held: LeasedStream, settings: Settings) -> None:
        """Removes delivered batches past retention, and what nothing names any more."""

    # -- shared by both sites ----------------------------------------------------------------------------------------
    def check_key(self, session: Session, plan: StreamPlan) -> None:
        """Counts keys that stand twice or hold NULL, where the catalog does not vouch that there are none.

        Raises:
            UnsafeKey: There are some.
        """
        if plan.key_is_proven:
            return
        found = session.one(self.strategy(plan).key_problems())
        if int(found.keys_more_than_once) or int(found.keys_null):
            raise key_error(plan)

    def _acknowledged_last(self, conn: Connection, acks: Mapping[str, Acknowledged]) -> list[BatchHeader]:
        """The batches from the earliest that a sink holds last; not all that are retained."""
        first = min(((a.epoch, a.seq - 1) for a in acks.values()), default=None)
        return self.store.batches(conn, self.stream, first) if first else []

    def delivered_through(self, conn: Connection, settings: Settings) -> tuple[int, int]:
        """(epoch, batch_seq) up to which every enrolled sink has acknowledged, also one that is configured no more."""
        acks = self.project.acknowledged(self.stream).values()
        if acks:
            return min((a.epoch, a.seq) for a in acks)
        row = None if settings.sinks else self.store.read(conn, self.stream)
        return (row.epoch, row.last_batch_seq) if row else (0, 0)
