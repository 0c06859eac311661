"""The context of a stream: its source, its store, the lease on its row and the commit that advances it.

All steps of a poll share it. Each wing adds what it keeps of its own: `qbcd.sites.database.context` and
`qbcd.sites.lake.context`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from qbcd import hooks
from qbcd.catalog.source import Source
from qbcd.errors import LeaseHeld, MissingPrivilege, SchemaChanged, StateConflict
from qbcd.model import BatchHeader
from qbcd.sites.refusals import not_prepared
from qbcd.sites.values import LeasedStream, Settings
from qbcd.spark.provider import SparkProvider
from qbcd.state import Acknowledged, LeaseKeeper, ProjectState, StreamRow, StreamStore

LEASE_SECONDS = 60.0
NAP = 0.2  # seconds, after which a resting poll looks whether it is to stop


class StreamContext(ABC):
    """What all steps of one stream share.

    Args:
        stream: The stream's name.
        source: Where its table is.
        project: The project's state database (acknowledgements, history, confirmations).
        store: Tables of the wing's own truth.
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


def refuse_moved(context: StreamContext) -> None:
    """Refuses a stream that is prepared in the other wing: what changed since its last poll would be lost.

    Raises:
        SchemaChanged: It is.
    """
    row = _in_project(context) if context.kind == "database" else _in_source(context)
    if row is None or not row.prepared or row.project_id != context.project.project_id:
        return
    then = row.checkpoint.get("requested", {}).get("strategy", "another")
    raise SchemaChanged(
        f"strategy changed in the configuration since prepare: it was {then}, whose replica stands elsewhere",
        stream=context.stream,
        remedy=f"take the change back; to go over, qbcd run {context.stream} --once and qbcd reset {context.stream} "
        "first with the strategy that it had, then prepare it with the other one",
    )


def kept_row(context: StreamContext) -> StreamRow | None:
    """The stream's row in its own wing, or None where there is none or the role may not read there."""
    return _in_source(context) if context.kind == "database" else _in_project(context)


def _in_project(context: StreamContext) -> StreamRow | None:
    with context.project.read() as conn:
        store = context.project.store
        return store.read(conn, context.stream) if store.exists(conn) else None


def _in_source(context: StreamContext) -> StreamRow | None:
    store = StreamStore(context.source.schema)
    with context.source.read(context.stream) as session:
        try:
            return store.read(session.connection, context.stream) if store.exists(session.connection) else None
        except DBAPIError as error:
            if isinstance(context.source.explain(error, context.stream), MissingPrivilege):
                return None  # who may not read there has prepared nothing there
            raise
