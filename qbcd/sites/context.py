"""The context of a stream: source, store, the lease on its row and the commit of its steps.

All steps of a poll share it. Each wing adds what it keeps of its own: `qbcd.sites.database.context` and
`qbcd.sites.lake.context`.
"""

from __future__ import annotations

import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from qbcd.catalog.drift import fixed_at_prepare
from qbcd.catalog.source import Source
from qbcd.common import hooks, waits
from qbcd.errors import MissingPrivilege, QbcdError, Refused, SchemaChanged, SourceSilent
from qbcd.model import BatchHeader
from qbcd.model.checkpoint import Checkpoint
from qbcd.sites.engine_choice import EngineChoice
from qbcd.sites.job import StreamJob
from qbcd.sites.refusals import not_prepared
from qbcd.sites.values import LeasedStream, Settings
from qbcd.spark.time_limit import owner_of_calls
from qbcd.state import (
    Acknowledged,
    Claim,
    LeaseKeeper,
    LeaseLost,
    ProjectState,
    Signs,
    StreamRow,
    StreamStore,
    refuse_if_alive,
)

log = logging.getLogger("qbcd")

COLLECT_EVERY_S = 60.0  # at most, if nothing is found or delivered meanwhile
# By source and stream: when this process has collected batches and files, and what was known then.
_COLLECTED: WeakKeyDictionary[Source, dict[str, tuple[float, object]]] = WeakKeyDictionary()

LEASE_SECONDS = 60.0
NAP = 0.2  # seconds between two checks of `stopping` while a poll rests


class _NotHere(Refused):
    """The store has no such stream."""


class StreamContext(ABC):
    """Source, store, lease and commit of one stream, which all its steps share.

    Args:
        project: The project's state database (acknowledgements, history, confirmations).
        store: Tables of the stream's row, ranges and batches: in the source or in the state database.
        job: The engines, and the signals of the project.

    Attributes:
        folder: The stream's own files, if it has any; need not exist yet.
        needs_spark: The reason of `require_spark`; empty if work may be local.
    """

    kind: ClassVar[str]
    folds_at_once: ClassVar[bool]  # a commit of a batch also updates the replica

    def __init__(self, stream: str, source: Source, project: ProjectState, store: StreamStore, job: StreamJob) -> None:
        self.stream = stream
        self.source = source
        self.project, self.store = project, store
        self.job = job
        self.spark, self.local = job.spark, job.local
        self.progress, self.stopping = job.progress, job.stopping
        self.folder: Path | None = None
        self.needs_spark = ""

    def require_spark(self, why: str) -> None:
        """Let ``engine: auto`` take Spark for all further work of this stream."""
        self.needs_spark = why

    def why_spark_for(self, choice: EngineChoice, rows: int, size: int = 0) -> str:
        """Return the reason why Spark does work of this size; empty if it does not.

        The size is a number of rows and of bytes of the replica.
        """
        return choice.why_spark(rows, size) or (self.needs_spark if choice.engine == "auto" else "")

    def found_nothing(self, polls: int) -> bool:
        """Return True if the last `polls` polls had no changes and no dirty ranges."""
        runs = self.project.runs(self.stream, polls)
        return len(runs) == polls and all(run.outcome == "empty" and not run.cost.get("dirty") for run in runs)

    def rest(self, seconds: float) -> None:
        """Sleep; return early once the job is to stop."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.stopping():
            time.sleep(min(left, NAP))

    @abstractmethod
    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction on the store, committed on a clean exit."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """A read-only transaction on the store."""

    def row(self) -> StreamRow | None:
        """Return the stream's row; None if there is none."""
        with self.reading() as conn:
            return self.store.read(conn, self.stream) if self.store.exists(conn) else None

    # -- lease and commit --------------------------------------------------------------------------------------------
    @contextmanager
    def hold(
        self, *, register: bool = False, reset: bool = False, take_over: Signs | None = None
    ) -> Iterator[LeasedStream]:
        """Hold the stream's lease; its fencing token is part of every commit made meanwhile.

        Args:
            register: Create the stream's row if there is none (`prepare`).
            reset: The stream is about to be reset, so a store restored from an older copy is no error.
            take_over: Take the row from another project that has not polled since these signs of life; with `reset`.

        Raises:
            LeaseHeld: Another living process holds it.
            StateConflict: The store belongs to another project, or was restored from an older copy.
            Refused: The stream was never prepared.
        """
        acks: Mapping[str, Acknowledged] = {} if reset else self.project.last_acknowledged(self.stream)

        def admit(conn: Connection) -> Claim | None:
            if register or reset:
                self._admit(conn, register=register, reset=reset, take_over=take_over)
                return None
            claim = self.store.claim(conn, self.project.project_id, self.stream, _least(acks))
            if claim is None:
                self._admit(conn, register=False, reset=False, take_over=None)
            elif claim.row.prepared:
                self.prove_place()
            return claim

        def batches_then(conn: Connection, claim: Claim | None) -> None:
            if claim is None or claim.has_batches:
                batches.extend(self._batches_from(conn, _least(acks)))

        lease = LeaseKeeper(self.store, self.stream, self.writing, ttl=LEASE_SECONDS, admit=admit)
        lease.on_lost = partial(self._end_waits, owner_of_calls())
        batches: list[BatchHeader] = []
        lease.then = batches_then
        with ExitStack() as held:
            try:
                keeper = held.enter_context(lease)
            except _NotHere:  # not before the transaction has ended: it may lock the store of all streams
                refuse_prepared_elsewhere(self)
                raise not_prepared(self.stream) from None
            held.enter_context(self._abandoned_in_silence(lease))
            held.enter_context(self.project.noting(self.stream))
            hooks.reach("after_lease")
            row = keeper.row
            assert row is not None
            if not reset:
                least = _least(self.project.acknowledged(self.stream))
                if least is not None and least < (_least(acks) or (least[0] + 1, 0)):
                    batches = self.batches(least)  # a sink was added, or the state was restored, since they were read
                self.project.check_acks(self.stream, row, batches)
            leased = LeasedStream(row, keeper)
            try:
                yield leased
            except (LeaseLost, SourceSilent):
                raise
            except Exception as error:
                self.refuse_overtaken(leased, error)
                raise

    def refuse_overtaken(self, leased: LeasedStream, error: Exception) -> None:
        """Refuse with the lost lease if that may have caused `error`.

        A process that paused for longer than its lease finds the state, tables and files of another poller, or none.

        Raises:
            LeaseLost: Another poller has taken the stream over.
        """
        try:
            row = self.row()
        except (QbcdError, SQLAlchemyError) as failure:
            log.debug("stream %s: its row cannot be read: %s", self.stream, failure)
            return
        try:
            leased.keeper.check_token(None if row is None else row.fencing_token)
        except LeaseLost as lost:
            raise lost from error

    @contextmanager
    def _abandoned_in_silence(self, lease: LeaseKeeper) -> Iterator[None]:
        """Abandon a lease that is in a source that does not answer."""
        try:
            yield
        except SourceSilent as error:
            self.abandon(lease, error)
            raise

    def abandon(self, lease: LeaseKeeper, silence: SourceSilent) -> None:
        """Leave the lease to its end, without a release, if the source keeps it.

        The source would not answer to the release either.
        """
        if self.kind == "database":
            lease.abandon()
            self.source.interrupt(self.stream, silence.what)

    def _end_waits(self, caller: object, reason: str) -> None:
        """End the waits of a poll that can commit nothing any more.

        These are waits for the source, and for Java by its thread.
        """
        self.source.interrupt(self.stream, reason)
        waits.interrupt(caller, reason)

    def _admit(self, conn: Connection, *, register: bool, reset: bool, take_over: Signs | None) -> None:
        """Check, before the lease is taken, that the store is this project's and has the stream."""
        exists, row = (
            (self.store.exists(conn), None)
            if reset
            else self.store.find_own(conn, self.project.project_id, self.stream)
        )
        if not exists:
            raise _NotHere("is not prepared", stream=self.stream)
        if reset:
            known = self.project.acknowledged
            self.store.salvage(conn, self.stream, lambda: [(a.epoch, a.seq) for a in known(self.stream).values()])
        if take_over is not None:  # streams of the other project that are not taken over yet are no obstacle
            self.store.locked(conn, self.stream)  # from here on nobody can acquire its lease
            refuse_if_alive(conn, self.store, self.stream, self.project.project_id, take_over)
            self.store.take_over(conn, self.stream, self.project.project_id)
            return
        row = self.store.own(conn, self.project.project_id, self.stream) if reset else row
        if register:
            self.store.register(conn, self.project.project_id, self.stream)
        elif row is None:
            raise _NotHere("is not prepared", stream=self.stream)
        elif row.prepared and not reset:
            self.prove_place()

    def commit(
        self,
        conn: Connection,
        row: StreamRow,
        leased: LeasedStream,
        header: BatchHeader | None,
        checkpoint: dict[str, Any],
        **fields: Any,
    ) -> StreamRow:
        """Add the batch and advance `row` by version and fencing token.

        Runs in the caller's transaction.

        Returns:
            The new row; the caller gives it to `leased` once the transaction is committed.
        """
        leased.keeper.check()
        if header is not None:
            folded = self.folds_at_once or header.waited is not None
            self.store.add_batch(conn, header, row.fencing_token, folded=folded)
            fields["last_batch_seq"] = header.seq
        return self.store.advance(conn, row, checkpoint=checkpoint, **fields)

    # -- batches -----------------------------------------------------------------------------------------------------
    def batches(self, after: tuple[int, int] | None = None) -> list[BatchHeader]:
        """Return the sealed batches after `after` (epoch, batch_seq), oldest first."""
        with self.reading() as conn:
            return self.store.batches(conn, self.stream, after)

    def _batches_from(self, conn: Connection, first: tuple[int, int] | None) -> list[BatchHeader]:
        """Return the batches after `first`; none if no sink has one.

        Earlier ones may be retained too.
        """
        return self.store.batches(conn, self.stream, first) if first else []

    def may_collect(self, step: int, retain: float) -> bool:
        """Return False if this process has just collected, and nothing was found since.

        Args:
            step: A number that changes with each batch that is found.
            retain: The least age of batches that are removed, in seconds.
        """
        at, then = _COLLECTED.get(self.source, {}).get(self.stream, (-math.inf, None))
        return then != self._known(step) or time.monotonic() - at >= min(retain, COLLECT_EVERY_S)

    def collected(self, step: int) -> None:
        """Record for `may_collect` that everything that could be removed was removed now."""
        _COLLECTED.setdefault(self.source, {})[self.stream] = time.monotonic(), self._known(step)

    def _known(self, step: int) -> object:
        return step, tuple(sorted(self.project.acknowledged(self.stream).items()))

    def delivered_through(self, conn: Connection, settings: Settings) -> tuple[int, int]:
        """Return the (epoch, batch_seq) that every sink has acknowledged.

        Sinks that were removed but not retired count too.
        """
        acks = self._acknowledged_now(conn).values()
        if acks:
            return min((a.epoch, a.seq) for a in acks)
        row = None if settings.sinks else self.store.read(conn, self.stream)
        return (row.epoch, row.last_batch_seq) if row else (0, 0)

    def _acknowledged_now(self, conn: Connection) -> Mapping[str, Acknowledged]:
        """Return the acknowledgements now, also of a consumer that has just been added."""
        if self.store is self.project.store:
            return self.project.acknowledged_now(conn, self.stream)
        with self.project.read() as own:
            return self.project.acknowledged_now(own, self.stream)

    def refuse_foreign(self, row: StreamRow | None) -> None:
        """Refuse the row of another project, or of a state of this one that is lost.

        Raises:
            StateConflict: It is one.
        """
        self.store.refuse_foreign(row, self.project.project_id)

    # -- for `check` -------------------------------------------------------------------------------------------
    def prove_own(self) -> None:
        """Prove that no other project keeps a stream in the store.

        Raises:
            StateConflict: One does.
        """
        with self.reading() as conn:
            if self.store.exists(conn):
                self.store.foreign_project(conn, self.project.project_id, self.stream)

    def prove_whole(self) -> None:
        """Prove that everything that the stream keeps exists and is readable; reads no rows.

        Raises:
            QbcdError: Something is missing or damaged.
        """
        self.prove_place()
        with self.reading() as conn:
            self.store.ranges(conn, self.stream)
            self.store.batches(conn, self.stream)

    def prove_place(self) -> None:  # noqa: B027 -- a stream without files has nothing to prove
        """Prove that this host sees the files that the stream keeps outside its store.

        Raises:
            StateConflict: It does not.
        """


def _least(acks: Mapping[str, Acknowledged]) -> tuple[int, int] | None:
    """Return epoch and number before the least acknowledged batch; None if there is no sink."""
    return min(((a.epoch, a.seq - 1) for a in acks.values()), default=None)


# -- the stream's row, in either wing ----------------------------------------------------------------------------------
def own_row(context: StreamContext) -> StreamRow | None:
    """Return the stream's row in its own wing.

    None if there is none, or the role has no right to read it.
    """
    return _row_in_source(context) if context.kind == "database" else _row_in_project(context)


def refuse_prepared_elsewhere(context: StreamContext) -> None:
    """Refuse a stream that is prepared in the other wing.

    Changes since its last poll there would be lost.

    Raises:
        SchemaChanged: It is.
    """
    row = _row_in_project(context) if context.kind == "database" else _row_in_source(context)
    if row is None or not row.prepared or row.project_id != context.project.project_id:
        return
    then = Checkpoint(row.checkpoint).requested.get("strategy", "another")
    raise prepared_elsewhere(context.stream, "strategy", f"it was {then}, whose replica is in another place")


def prepared_elsewhere(stream: str, setting: str, value: str) -> SchemaChanged:
    """Return the refusal of a changed `setting` that says where the replica is.

    The stream can be polled for the last time, and reset, only with the value that it had.
    """
    remedy = (
        f"to go on with it: qbcd run {stream} --once and qbcd reset {stream} before the change, then qbcd prepare "
        f"{stream} after it"
    )
    return fixed_at_prepare(stream, [setting], value, remedy=remedy)


def _row_in_project(context: StreamContext) -> StreamRow | None:
    with context.project.read() as conn:
        store = context.project.store
        return store.read(conn, context.stream) if store.exists(conn) else None


def _row_in_source(context: StreamContext) -> StreamRow | None:
    if not context.source.has_sessions:
        return None
    store = StreamStore(context.source.schema)
    with context.source.read(context.stream) as session:
        try:
            return store.read(session.connection, context.stream) if store.exists(session.connection) else None
        except DBAPIError as error:
            if isinstance(context.source.explain(error, context.stream), MissingPrivilege):
                return None  # a role that may not read there has prepared nothing there
            raise
