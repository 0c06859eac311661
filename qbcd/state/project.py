"""A project's state outside its sites: acknowledgements, failures, refusals, run history.

Only the acknowledgements could not be rebuilt. They never go back, so they show if a site was restored from an older
copy (docs/design/protocol.md#rule-1, #rule-21).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import IntegrityError

from qbcd.common.wording import batch_number
from qbcd.config.masking import Masking
from qbcd.errors import StateConflict
from qbcd.model import PART, WHOLE, BatchHeader
from qbcd.state.bootstrap import create_missing, insert_once
from qbcd.state.database import StateDatabase
from qbcd.state.project_tables import (
    ACK,
    ADDED,
    DELIVERY_ERROR,
    ENRICHED,
    HISTORY,
    INTEREST,
    METADATA,
    PROGRESS,
    REFUSAL,
    RESEND,
    SUBSCRIBED,
    WAITING,
)
from qbcd.state.rows import StreamRow, dump
from qbcd.state.store import StreamStore
from qbcd.state.tables import seal, unseal

Outcome = Literal["ok", "empty", "failed", "refused"]

_KEPT_RUNS = 1000
_PRUNED_EVERY = 50  # polls of a stream in this process, after which the history is cut to its length again
UNCAPTURED = "uncaptured"  # in `cost` of a history row, changes of the table that the poll has only reported
_SKIPPED = "skipped"  # in `cost` of a history row, the sink for which its batch was passed over


class Acknowledged(NamedTuple):
    """The last batch of a stream that a sink has.

    With an empty fingerprint, the sink begins after this batch and has none yet.
    """

    epoch: int
    seq: int
    fingerprint: str


@dataclass(frozen=True)
class DeliveryFailure:
    """A failed delivery of a stream's next batch: `attempts` in a row, the last `at` seconds."""

    at: float
    message: str
    attempts: int


@dataclass(frozen=True)
class Refusal:
    """The last refusal of a guard; a user may accept exactly this one, once."""

    kind: str
    version: int
    amount: int
    message: str
    at: float = 0.0


@dataclass(frozen=True)
class Run:
    """One poll in the history; times are seconds since 1970 UTC, the history assigns `id`."""

    stream: str
    started_at: float
    finished_at: float
    outcome: Outcome
    epoch: int = 0
    batch_seq: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    cost: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    id: int = 0


@dataclass(frozen=True)
class Resend:
    """A request to send the rows of the replica to a sink, which waits or is done.

    Attributes:
        number: Counts the requests for this sink, from 1.
        restriction: Condition of the rows; empty for all.
        at: Seconds of the state's clock.
    """

    sink: str
    number: int
    restriction: str = ""
    at: float = field(default=0.0, compare=False)

    @property
    def label(self) -> str:
        """The name of the resend, in file names and event ids."""
        return f"{PART if self.restriction else WHOLE}{self.number}"


class Deliveries(NamedTuple):
    """By sink its last batch and waiting resend; numbers of waiting events, enriched batches."""

    acknowledged: dict[str, Acknowledged]
    resends: dict[str, Resend]
    waiting: int
    enriched: int


class Skipped(NamedTuple):
    """A batch that was passed over for a sink, which therefore lacks its events.

    Attributes:
        resend: The label of a resend after the batch, whose events it lacks instead.
    """

    sink: str
    epoch: int
    seq: int
    events: int
    at: float
    resend: str = ""

    @property
    def number(self) -> str:
        """Its name in messages."""
        return f"{batch_number(self.epoch, self.seq)}{'.' * bool(self.resend)}{self.resend}"


class ProjectState(StateDatabase):
    """The state database of a project.

    Attributes:
        store: The stream store of the lake wing, in this database.
        project_id: Created once, with the database.

    Raises:
        QbcdError: As :class:`~qbcd.state.database.StateDatabase`.
    """

    def __init__(
        self, url: str | URL, *, create: bool = True, masking: Masking | None = None, timeout: float | None = None
    ) -> None:
        self.store = StreamStore(None)
        self._noted: dict[str, Deliveries | None] = {}  # by stream whose lease this process holds
        self._last_known: dict[str, dict[str, Acknowledged]] = {}
        self._recorded: Counter[str] = Counter()
        self.added = (*ADDED, *self.store.tables.added)
        names = frozenset(table for part in (METADATA, self.store.tables.metadata) for table in part.tables)
        super().__init__(url, self._create_tables, names, create=create, masking=masking, timeout=timeout)

    def _create_tables(self, conn: Connection) -> None:
        create_missing(conn, METADATA.sorted_tables)
        self.store.create(conn)

    def __enter__(self) -> ProjectState:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- acknowledgements --------------------------------------------------------------------------------------------
    def enroll(self, stream: str, sink: str, epoch: int, seq: int) -> None:
        """Let `sink` begin after batch (epoch, seq), unless it has begun already."""
        named = {"stream": stream, "sink": sink, "epoch": epoch, "batch_seq": seq, "fingerprint": ""}
        with self.changing(stream) as conn:
            here = (ACK.c.stream == stream) & (ACK.c.sink == sink)
            if conn.execute(select(ACK.c.sink).where(here)).first() is not None:
                return
            insert_once(conn, insert(ACK).values(**seal(ACK, {**named, "at": self.facts.clock})))

    def acknowledge(self, stream: str, sink: str, header: BatchHeader) -> None:
        """Record that `sink` has the batch; a repetition changes nothing.

        Raises:
            StateConflict: The sink acknowledged a later batch, or another batch of this number.
        """
        with self.changing(stream) as conn:
            try:
                self._acknowledge(conn, stream, sink, header)
            except IntegrityError as error:
                raise StateConflict(
                    "another process delivers to this sink",
                    stream=stream,
                    remedy="wait for it, or end it; then poll again",
                ) from error

    def _acknowledge(self, conn: Connection, stream: str, sink: str, header: BatchHeader) -> None:
        here = (ACK.c.stream == stream) & (ACK.c.sink == sink)
        found = conn.execute(select(ACK).where(here).with_for_update()).mappings().first()
        new = Acknowledged(header.epoch, header.seq, header.fingerprint)
        named = {"stream": stream, "sink": sink, "epoch": new.epoch, "batch_seq": new.seq}
        values = seal(ACK, {**named, "fingerprint": new.fingerprint, "at": self.facts.clock})
        if found is None:
            conn.execute(insert(ACK).values(**values))
        else:
            old = _acknowledged(unseal(ACK, dict(found)))
            if old[:2] > new[:2] or (old[:2] == new[:2] and old != new):
                raise _no_match(stream, sink, old, f"{batch_number(new.epoch, new.seq)} ({new.fingerprint})")
            if old != new:
                conn.execute(update(ACK).where(here).values(**values))
        conn.execute(delete(DELIVERY_ERROR).where(_failure_of(stream, sink)))

    def acknowledged(self, stream: str) -> dict[str, Acknowledged]:
        """Return the last batch that each sink has, by sink.

        Raises:
            Refused: A row is damaged.
        """
        if (noted := self._deliveries(stream)) is not None:
            return dict(noted.acknowledged)
        with self.read() as conn:
            return self.acknowledged_now(conn, stream)

    def acknowledged_now(self, conn: Connection, stream: str) -> dict[str, Acknowledged]:
        """Return what the database has now, also within :meth:`noting`; see :meth:`acknowledged`."""
        rows = conn.execute(_ACKS_OF, {"of": stream}).mappings()
        found = {row["sink"]: _acknowledged(unseal(ACK, dict(row))) for row in rows}
        self._last_known[stream] = found
        return dict(found)

    def last_acknowledged(self, stream: str) -> Mapping[str, Acknowledged]:
        """Return the acknowledgements that were read last, or read them; sinks have at least these."""
        return self._last_known[stream] if stream in self._last_known else self.acknowledged(stream)

    @contextmanager
    def noting(self, stream: str) -> Iterator[None]:
        """In the block, read acknowledgements and resends of a stream once.

        After each change by this object, and after :meth:`renew`, they are read again. Only for the holder of the
        stream's lease: others may then only add a sink, move their own consumer forward, or request a resend.
        """
        self._noted[stream] = None
        try:
            yield
        finally:
            self._noted.pop(stream, None)

    def renew(self, stream: str) -> None:
        """Forget what :meth:`noting` has read of a stream."""
        if stream in self._noted:
            self._noted[stream] = None

    def _deliveries(self, stream: str) -> Deliveries | None:
        """Return what is noted of a stream, read if necessary; None outside of :meth:`noting`."""
        if stream not in self._noted:
            return None
        noted = self._noted[stream]
        if noted is None:
            with self.read() as conn:
                noted = Deliveries(
                    self.acknowledged_now(conn, stream), self._resends(conn, stream), *self._added(conn, stream)
                )
            if stream in self._noted:
                self._noted[stream] = noted
        return noted

    @contextmanager
    def changing(self, stream: str) -> Iterator[Connection]:
        """A write transaction that changes acknowledgements or resends of a stream."""
        try:
            with self.write() as conn:
                yield conn
        finally:
            self.renew(stream)

    def check_acks(self, stream: str, row: StreamRow | None, batches: Sequence[BatchHeader]) -> None:
        """Refuse a site that does not know a batch of a sink, e.g. one restored from a backup.

        Args:
            row: The stream's row at its site.
            batches: The batches that the site still has, in any order.

        Raises:
            StateConflict: A sink acknowledged a later batch, or another batch of the same number.
        """
        last = (row.epoch, row.last_batch_seq) if row else (0, 0)
        prints = {(header.epoch, header.seq): header.fingerprint for header in batches}
        for sink, done in self.acknowledged(stream).items():
            shown = prints.get(done[:2], done.fingerprint) if done.fingerprint else ""
            if last < done[:2] or shown != done.fingerprint:
                seen = min(last, done[:2])
                raise _no_match(stream, sink, done, f"{batch_number(*seen)} ({prints.get(seen) or 'no fingerprint'})")

    def retire_sink(self, stream: str, sink: str) -> None:
        """Forget a sink that was removed from the stream's configuration."""
        with self.changing(stream) as conn:
            conn.execute(delete(ACK).where((ACK.c.stream == stream) & (ACK.c.sink == sink)))
            conn.execute(delete(DELIVERY_ERROR).where(_failure_of(stream, sink)))
            conn.execute(update(RESEND).where(_resend_of(stream, sink)).values(pending=False))
            conn.execute(delete(PROGRESS).where((PROGRESS.c.stream == stream) & (PROGRESS.c.sink == sink)))

    # -- resends -----------------------------------------------------------------------------------------------------
    def request_resend(self, stream: str, sink: str, restriction: str = "") -> Resend:
        """Record that `sink` is to get the rows of the replica.

        It replaces a request that still waits. The sink's deliveries wait until :meth:`resent`.
        """
        with self.changing(stream) as conn:
            number = self.put_resend(conn, stream, sink, restriction)
        return Resend(sink, number, restriction)

    def put_resend(self, conn: Connection, stream: str, sink: str, restriction: str) -> int:
        """Record a request in a transaction of :meth:`changing`; return its number."""
        here = _resend_of(stream, sink)
        before = conn.execute(select(RESEND.c.number).where(here).with_for_update()).scalar() or 0
        made = {"stream": stream, "sink": sink, "number": before + 1, "restriction": restriction}
        conn.execute(delete(RESEND).where(here))
        conn.execute(insert(RESEND).values(**seal(RESEND, made), pending=True, at=self.facts.clock))
        return int(before) + 1

    def resends(self, stream: str) -> dict[str, Resend]:
        """Return the requests that wait, by sink.

        Raises:
            Refused: A row is damaged.
        """
        if (noted := self._deliveries(stream)) is not None:
            return dict(noted.resends)
        with self.read() as conn:
            return self._resends(conn, stream)

    def _resends(self, conn: Connection, stream: str) -> dict[str, Resend]:
        rows = [unseal(RESEND, dict(row)) for row in conn.execute(_RESENDS_OF, {"of": stream}).mappings()]
        return {row["sink"]: Resend(row["sink"], row["number"], row["restriction"], row["at"]) for row in rows}

    def waiting_events(self, stream: str) -> int:
        """Return the number of events that wait for a row of a lookup."""
        if (noted := self._deliveries(stream)) is not None:
            return noted.waiting
        with self.read() as conn:
            return self._added(conn, stream)[0]

    def was_enriched(self, stream: str) -> bool:
        """Return True if batches of the stream have or had added fields."""
        if (noted := self._deliveries(stream)) is not None:
            return noted.enriched > 0
        with self.read() as conn:
            return self._added(conn, stream)[1] > 0

    def _added(self, conn: Connection, stream: str) -> tuple[int, int]:
        """Return the number of events that wait, and that of results of enrichments."""
        waiting, enriched = conn.execute(_ADDED_OF, {"of": stream}).one()
        return int(waiting or 0), int(enriched)

    def drop_resend(self, stream: str, one: Resend) -> None:
        """Forget a request that cannot be carried out."""
        with self.changing(stream) as conn:
            here = _resend_of(stream, one.sink) & (RESEND.c.number == one.number)
            conn.execute(update(RESEND).where(here).values(pending=False))

    def resent(self, stream: str, one: Resend, last: Acknowledged) -> None:
        """Record that a sink has the rows of the replica, which are those after batch `last`.

        Its deliveries go on after that batch, in the same transaction.

        Raises:
            StateConflict: The sink acknowledged a later batch.
        """
        with self.changing(stream) as conn:
            here = (ACK.c.stream == stream) & (ACK.c.sink == one.sink)
            found = conn.execute(select(ACK).where(here).with_for_update()).mappings().first()
            old = _acknowledged(unseal(ACK, dict(found))) if found else Acknowledged(0, 0, "")
            if old[:2] > last[:2]:
                raise _no_match(stream, one.sink, old, batch_number(last.epoch, last.seq))
            if old[:2] < last[:2] or (last.fingerprint and not old.fingerprint):
                values = {"epoch": last.epoch, "batch_seq": last.seq, "fingerprint": last.fingerprint}
                sealed = seal(ACK, {"stream": stream, "sink": one.sink, **values, "at": self.facts.clock})
                conn.execute(update(ACK).where(here).values(**sealed) if found else insert(ACK).values(**sealed))
            done = _resend_of(stream, one.sink) & (RESEND.c.number == one.number)
            conn.execute(update(RESEND).where(done).values(pending=False))
            conn.execute(delete(DELIVERY_ERROR).where(_failure_of(stream, one.sink)))

    # -- failed deliveries -------------------------------------------------------------------------------------------
    def delivery_failed(self, stream: str, sink: str, message: str) -> int:
        """Record a failed delivery; return the number of failures in a row."""
        with self.write() as conn:
            here = _failure_of(stream, sink)
            before = conn.execute(select(DELIVERY_ERROR.c.attempts).where(here)).scalar() or 0
            conn.execute(delete(DELIVERY_ERROR).where(here))
            values = {"stream": stream, "sink": sink, "message": _plain(message), "attempts": before + 1}
            conn.execute(insert(DELIVERY_ERROR).values(**values, at=self.facts.clock))
        return int(before) + 1

    def delivery_recovered(self, stream: str, sink: str) -> None:
        """Clear the recorded failure of a sink that works again without a batch."""
        with self.write() as conn:
            conn.execute(delete(DELIVERY_ERROR).where(_failure_of(stream, sink)))

    def delivery_failures(self, stream: str) -> dict[str, DeliveryFailure]:
        """Return the last failure of each sink, by sink; its next success clears it."""
        table = DELIVERY_ERROR
        with self.read() as conn:
            rows = conn.execute(select(table).where(table.c.stream == stream)).all()
        return {row.sink: DeliveryFailure(row.at, row.message, row.attempts) for row in rows}

    # -- history -----------------------------------------------------------------------------------------------------
    def record_run(self, run: Run) -> int:
        """Add a poll to the history, which keeps at least the latest 1000 per stream; return its id."""
        values = {name: getattr(run, name) for name in run.__dataclass_fields__ if name != "id"}
        values["counts"] = dump(dict(run.counts))
        values["cost"] = dump(dict(run.cost))
        values["message"] = _plain(run.message)
        mine = (HISTORY.c.stream == run.stream) & ~_is_skip()
        with self.write() as conn:
            [number] = conn.execute(_NEW_RUN, values).inserted_primary_key or (0,)
            if self._recorded[run.stream] % _PRUNED_EVERY == 0:
                latest = select(HISTORY.c.id).where(mine).order_by(HISTORY.c.id.desc())
                surplus = conn.execute(latest.offset(_KEPT_RUNS).limit(1)).scalar()
                if surplus is not None:
                    conn.execute(delete(HISTORY).where(mine, HISTORY.c.id <= surplus))
        self._recorded[run.stream] += 1
        return int(number)

    def runs(self, stream: str, n: int = 20) -> list[Run]:
        """Return the latest `n` polls of the stream, latest first."""
        mine = (HISTORY.c.stream == stream) & ~_is_skip()
        query = select(HISTORY).where(mine).order_by(HISTORY.c.id.desc()).limit(n)
        with self.read() as conn:
            rows = conn.execute(query).mappings().all()
        loaded = ({**row, "counts": json.loads(row["counts"]), "cost": json.loads(row["cost"])} for row in rows)
        return [Run(**values) for values in loaded]

    def last_success(self, stream: str) -> float | None:
        """Return the end of the stream's last successful poll in the history; None if it has none."""
        succeeded = HISTORY.c.outcome.in_(("ok", "empty"))
        query = select(func.max(HISTORY.c.finished_at)).where(HISTORY.c.stream == stream, succeeded, ~_is_skip())
        with self.read() as conn:
            found = conn.execute(query).scalar()
        return None if found is None else float(found)

    # -- skipped batches ---------------------------------------------------------------------------------------------
    def skip(self, stream: str, sink: str, header: BatchHeader, resend: Resend | None = None) -> None:
        """Record in the history that `sink` does not get a batch, or a resend.

        It continues with the next one. The history keeps this row for ever.

        Raises:
            StateConflict: As :meth:`acknowledge`.
        """
        lost = sum(header.counts.values())
        with self.changing(stream) as conn:
            now = float(conn.execute(select(self.facts.clock)).scalar_one())
            cost: dict[str, Any] = {_SKIPPED: sink, "events": lost, **({"resend": resend.label} if resend else {})}
            run = Run(stream, now, now, "ok", header.epoch, header.seq, cost=cost)
            values = {name: getattr(run, name) for name in run.__dataclass_fields__ if name != "id"}
            conn.execute(insert(HISTORY).values(**values | {"counts": dump({}), "cost": dump(dict(run.cost))}))
            if resend is None:
                self._acknowledge(conn, stream, sink, header)
                return
            conn.execute(update(RESEND).where(_resend_of(stream, sink)).values(pending=False))
            conn.execute(delete(DELIVERY_ERROR).where(_failure_of(stream, sink)))

    def skipped(self, stream: str) -> list[Skipped]:
        """Return the batches of the stream that were passed over, oldest first."""
        query = select(HISTORY).where((HISTORY.c.stream == stream) & _is_skip()).order_by(HISTORY.c.id)
        with self.read() as conn:
            rows = conn.execute(query).all()
        costs = [json.loads(row.cost) for row in rows]
        return [
            Skipped(cost[_SKIPPED], row.epoch, row.batch_seq, cost["events"], row.finished_at, cost.get("resend", ""))
            for row, cost in zip(rows, costs, strict=True)
        ]

    def names(self) -> set[str]:
        """Return the names of all streams that were polled, delivered, or kept by the lake wing."""
        with self.read() as conn:
            kept = self.store.streams(conn) if self.store.exists(conn) else []
            recorded = select(HISTORY.c.stream).union(select(ACK.c.stream))
            return {row.stream for row in kept} | set(conn.execute(recorded).scalars())

    # -- refusals ----------------------------------------------------------------------------------------------------
    def put_refusal(self, stream: str, refusal: Refusal) -> None:
        """Store a guard's refusal, and replace its earlier one."""
        with self.write() as conn:
            conn.execute(delete(REFUSAL).where(REFUSAL.c.stream == stream))
            values = {"kind": refusal.kind, "version": refusal.version, "amount": refusal.amount}
            message = _plain(refusal.message)
            conn.execute(insert(REFUSAL).values(stream=stream, **values, message=message, at=self.facts.clock))

    def get_refusal(self, stream: str) -> Refusal | None:
        """Return the last refusal of a guard; None if there is none or it was accepted since."""
        with self.read() as conn:
            row = conn.execute(select(REFUSAL).where(REFUSAL.c.stream == stream)).first()
        return None if row is None else Refusal(row.kind, row.version, row.amount, row.message, row.at)

    def consume_refusal(
        self, stream: str, kind: str, version: int, amount: int, *, conn: Connection | None = None
    ) -> bool:
        """Delete exactly this refusal, since the user accepted it; return False if there is none.

        Args:
            version: Version of the stream at the refusal.
            amount: Rows that the guard refused.
            conn: The transaction of the accepted step, if that step is in this database.
        """
        if conn is None:
            with self.write() as own:
                return self.consume_refusal(stream, kind, version, amount, conn=own)
        same = (REFUSAL.c.stream == stream) & (REFUSAL.c.kind == kind)
        same &= (REFUSAL.c.version == version) & (REFUSAL.c.amount == amount)
        return conn.execute(delete(REFUSAL).where(same)).rowcount == 1

    def forget(self, stream: str, *, hull: bool = True) -> None:
        """Delete what is kept for a stream that begins again: acknowledgements, failures ..

        Its history is kept, and so are the numbers of its resends, which name folders of sinks.

        Args:
            hull: Also the restriction that its subscriptions need.
        """
        tables = (ACK, DELIVERY_ERROR, REFUSAL, ENRICHED, PROGRESS, SUBSCRIBED, WAITING)
        with self.changing(stream) as conn:
            for table in (*tables, INTEREST) if hull else tables:
                conn.execute(delete(table).where(table.c.stream == stream))
            conn.execute(update(RESEND).where(RESEND.c.stream == stream).values(pending=False))


# Made once: SQLAlchemy takes longer to make a statement than SQLite to execute it.
_ACKS_OF = select(ACK).where(ACK.c.stream == bindparam("of"))
_RESENDS_OF = select(RESEND).where((RESEND.c.stream == bindparam("of")) & RESEND.c.pending)
_ADDED_OF = select(
    select(func.sum(WAITING.c.events)).where(WAITING.c.stream == bindparam("of")).scalar_subquery(),
    select(func.count()).select_from(ENRICHED).where(ENRICHED.c.stream == bindparam("of")).scalar_subquery(),
)
_NEW_RUN = insert(HISTORY)


def _is_skip() -> Any:
    return HISTORY.c.cost.contains(f'"{_SKIPPED}"', autoescape=True)


def _acknowledged(values: Mapping[str, Any]) -> Acknowledged:
    return Acknowledged(values["epoch"], values["batch_seq"], values["fingerprint"])


def _resend_of(stream: str, sink: str) -> Any:
    return (RESEND.c.stream == stream) & (RESEND.c.sink == sink)


def _failure_of(stream: str, sink: str) -> Any:
    return (DELIVERY_ERROR.c.stream == stream) & (DELIVERY_ERROR.c.sink == sink)


def _plain(message: str) -> str:
    return message.replace("\0", "")  # servers refuse this one character in text


def _no_match(stream: str, sink: str, done: Acknowledged, found: str) -> StateConflict:
    return StateConflict(
        f"the state does not match sink {sink!r}: the sink has batch {batch_number(done.epoch, done.seq)} "
        f"({done.fingerprint or 'no fingerprint'}), "
        f"the state has {found}",
        remedy=f"restore the newest copy of the state, or qbcd reset {stream}, prepare it and reload its consumers",
        stream=stream,
    )
