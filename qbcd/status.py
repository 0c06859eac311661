"""The state of a stream, and its latest events.

Nothing is changed. Spark is used only to read rows of events.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from qbcd import watermark as watermarks
from qbcd.delivery.batches import open_batch, pending
from qbcd.errors import QbcdError, Refused, StateConflict
from qbcd.model import BatchHeader
from qbcd.model.checkpoint import Checkpoint
from qbcd.ranges.schedule import Pass
from qbcd.sites import Site
from qbcd.state import DeliveryFailure, Owner, Run, Skipped, StreamRow, Visits, holder
from qbcd.stream import Stream

HISTORY = 1000  # number of polls of a stream in the history
PIN_SECONDS = 600.0  # time limit for a reader of batches
LATE_INTERVALS = 3  # a stream is late if no poll has succeeded for more intervals than this

State = Literal["ok", "late", "failed", "refused", "error", "not prepared"]


@dataclass(frozen=True)
class Watermark:
    """The position up to which a stream has read its table.

    Attributes:
        at: The value in the checkpoint: an instant in UTC, a counter, or a version that the source defines.
        lag: For an instant, its distance in seconds from the source's clock; None for other values.
    """

    at: str
    lag: float | None


@dataclass
class StreamStatus:
    """The state of one stream.

    Attributes:
        epoch: UTC second of its `prepare`, 0 if it is not prepared.
        polling: A process works on the stream now.
        polling_since: Begin of that work, in seconds since 1970 UTC by the clock of its host; None if not known.
        last_poll: The latest poll of the history.
        lag: Seconds since a poll last succeeded (or since `prepare`), None if it is not prepared.
        watermark: The watermark, for streams that have one with a value.
        visits: Progress of the pass over the ranges, for polls and sweeps by ranges.
        audited_ago: Seconds since the last audit or baseline; None without audits.
        visited_ago: Seconds since the oldest poll of a range; None without ranges, or if one was never polled.
        last_batch: Header of the latest batch that the site still has.
        batches: Number of the last batch; numbers continue over epochs.
        events: Events per op in the history (the latest 1000 polls).
        pending: By sink, the number of batches that wait for it.
        failures: By sink, the failed delivery of its next batch.
        resends: By sink, when it was requested that it gets the rows of the replica; its batches wait for that.
        held: Events that wait for a row of a lookup.
        estimates: Approximate counts of them.
        skipped: Batches of the epoch that were passed over for a sink, which lacks their events.
        error: The error of this status or of the last poll, or an empty string.
        failed: The error that made this status incomplete.
        sinks: The configured sinks.
        engine: The engine that does the stream's work, in words.
        chosen: The strategy was chosen by ``strategy: auto``; of a stream that is not prepared, it may change.
        max_lag: The stream is late above this lag; default: `LATE_INTERVALS` intervals.
    """

    stream: str
    strategy: str
    every: timedelta
    prepared: bool = False
    epoch: int = 0
    polling: bool = False
    polling_since: float | None = None
    last_poll: Run | None = None
    lag: float | None = None
    watermark: Watermark | None = None
    visits: Visits | None = None
    audited_ago: float | None = None
    visited_ago: float | None = None
    last_batch: BatchHeader | None = None
    batches: int = 0
    events: Mapping[str, int] = field(default_factory=dict)
    pending: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, DeliveryFailure] = field(default_factory=dict)
    resends: Mapping[str, float] = field(default_factory=dict)
    held: int = 0
    estimates: Sequence[str] = ()
    skipped: Sequence[Skipped] = ()
    error: str = ""
    failed: QbcdError | None = None
    engine: str = ""
    chosen: bool = False
    max_lag: timedelta | None = None
    sinks: tuple[str, ...] = ()

    @property
    def waiting(self) -> int:
        """Number of batches that wait for configured sinks, without those for the Python consumer."""
        return max((self.pending.get(sink, 0) for sink in self.sinks), default=0)

    @property
    def state(self) -> State:
        """The state in one word.

        It is ``error`` if the state cannot be read; ``failed`` and ``refused`` are outcomes of the last poll.
        """
        if self.failed is not None:
            return "error"
        if not self.prepared:
            return "not prepared"
        if self.last_poll is not None and self.last_poll.outcome in ("failed", "refused"):
            return "refused" if self.last_poll.outcome == "refused" else "failed"
        limit = LATE_INTERVALS * self.every if self.max_lag is None else self.max_lag
        late = self.lag is not None and self.lag > limit.total_seconds()
        return "late" if late else "ok"


def stream_status(stream: Stream, now: float | None = None) -> StreamStatus:
    """Return the state of `stream`; if the source cannot be reached, `error` has the reason.

    Args:
        now: Seconds since 1970 UTC; default: this machine's clock.
    """
    engine = stream.settings.engine.describe()
    status = StreamStatus(stream.name, stream.config.strategy, stream.config.every, engine=engine)
    status.chosen, status.sinks = stream.config.chosen, stream.config.sinks
    runs = stream.project.runs(stream.name, HISTORY)
    status.last_poll = runs[0] if runs else None
    status.events = dict(sum((Counter(run.counts) for run in runs), Counter()))
    status.failures = stream.project.delivery_failures(stream.name)
    if runs and runs[0].outcome in ("failed", "refused"):
        status.error = runs[0].message
    try:
        row, owner = _row_and_owner(stream.site)
        if row is None:
            return status
        stream.site.context.refuse_foreign(row)
        status.polling, status.polling_since = owner is not None, owner.since if owner else None
        if not row.prepared:
            return status
        status.prepared, status.epoch, status.batches = True, row.epoch, row.last_batch_seq
        present = stream.site.context.batches()
        status.last_batch = present[-1] if present else None
        status.pending = pending(stream.site)
        status.resends = {sink: one.at for sink, one in stream.project.resends(stream.name).items()}
        status.held = stream.project.waiting_events(stream.name)
        if status.held and stream.enrichment is not None:
            status.estimates = [text for one in stream.enrichment.enrichers for text in one.estimates()]
        status.skipped = [one for one in stream.project.skipped(stream.name) if one.epoch == row.epoch]
        _add_progress(stream, row, status)
    except QbcdError as error:
        error.stream = error.stream or stream.name
        status.error, status.failed = str(error), error
        return status
    status.lag = _lag(runs, row.epoch, time.time() if now is None else now)
    return status


def _lag(runs: Sequence[Run], epoch: int, now: float) -> float:
    """Return the seconds since a poll succeeded, or since `epoch`.

    A host with a faster clock may have set `epoch`.
    """
    since = epoch if epoch <= now else 0
    done = [run.finished_at for run in runs if run.outcome in ("ok", "empty") and run.finished_at >= since]
    return max(0.0, now - max(done, default=float(epoch)))


def is_prepared(stream: Stream) -> bool | None:
    """Return True if a poll of `stream` could begin; None if this is not known.

    It is not known if the store cannot be read or belongs to another project.
    """
    try:
        row = stream.site.context.row()
    except QbcdError:  # a poll gets and reports the same error
        return None
    if row is None or not row.prepared:
        return False
    return True if row.project_id == stream.project.project_id else None


def _row_and_owner(site: Site) -> tuple[StreamRow | None, Owner | None]:
    """Return the stream's row, and the owner of its lease if a process works on it."""
    context = site.context
    with context.reading() as conn:
        if not context.store.exists(conn):
            return None, None
        row, held = context.store.read(conn, context.stream), holder(conn, context.store, context.stream)
    return row, held[0] if held else None


def _add_progress(stream: Stream, row: StreamRow, status: StreamStatus) -> None:
    """Add the watermark, by the source's clock, and the pass over the ranges, by the store's."""
    at, site = (row.checkpoint.get("mark") or {}).get("at"), stream.site
    if at is not None:
        status.watermark = Watermark(str(at), _behind(stream, watermarks.seconds(str(at))))
    if stream.settings.config.audit is not None:
        with site.context.reading() as conn:
            status.audited_ago = max(0.0, site.context.store.now(conn) - Checkpoint(row.checkpoint).audited(row.epoch))
    if site.context.kind != "database" and "pass" not in row.checkpoint:  # each poll covers all ranges
        return
    with site.context.reading() as conn:
        now = site.context.store.now(conn)
        visits = site.context.store.visits(conn, stream.name, Pass.from_checkpoint(row.checkpoint.get("pass")).began)
    if visits.ranges:
        status.visits = visits
        status.visited_ago = max(0.0, now - visits.oldest) if visits.oldest else None


def _behind(stream: Stream, instant: float | None) -> float | None:
    if instant is None:
        return None
    return max(0.0, stream.source.clock_ms(stream.name) / 1000 - instant)


def latest_events(stream: Stream, n: int) -> list[tuple[BatchHeader, list[str]]]:
    """Return the latest `n` events as JSON lines, by batch, oldest first.

    There are fewer if older batches were deleted.

    Raises:
        Refused: The stream is not prepared.
        StateConflict: Reading took so long that the batch may be deleted, or rows of a batch are missing.
    """
    row = stream.site.context.row()
    stream.site.context.refuse_foreign(row)
    if row is None or not row.prepared:
        raise Refused("is not prepared", stream=stream.name, remedy=f"qbcd prepare {stream.name}")
    with _pinned(stream):
        found: list[tuple[BatchHeader, list[str]]] = []
        missing = n
        for header in reversed(stream.site.context.batches()):
            if missing <= 0:
                break
            if stream.enrichment is not None and not stream.enrichment.is_ready(header):
                continue  # the next poll completes it, before its first delivery
            read = _last_lines(stream, header, missing)
            if read is None:  # the oldest batches are deleted first, so earlier ones are missing too
                break
            if read[1]:  # all events of the batch may wait
                found.insert(0, read)
            missing -= len(read[1])
    return found


def _last_lines(stream: Stream, header: BatchHeader, n: int) -> tuple[BatchHeader, list[str]] | None:
    """Return a batch for readers with its last `n` events, or None if it was deleted meanwhile.

    A source replica has no pins. So an expired batch can be deleted while it is read; then the reader gets fewer rows.

    Raises:
        StateConflict: The batch exists, but rows of it are missing.
    """
    with open_batch(stream, header) as batch:
        lines, wanted = [line for piece in batch.last(n).json_lines() for line in piece], min(n, batch.header.size)
        if len(lines) == wanted:
            return batch.header, lines
    if (header.epoch, header.seq) not in {(h.epoch, h.seq) for h in stream.site.context.batches()}:
        return None
    raise StateConflict(
        f"events of batch {header.number} are missing: {len(lines):,} of {wanted:,} were found",
        stream=stream.name,
        remedy=f"were qbcd's own tables edited? restore them, or qbcd reset {stream.name} --discard",
    )


@contextmanager
def _pinned(stream: Stream) -> Iterator[None]:
    """Keep files from being deleted while they are read (docs/design/protocol.md#rule-23).

    A reader of tables needs no pin, because it sees one state.
    """
    site = stream.site
    if site.context.kind != "lake":
        yield
        return
    with site.context.writing() as conn:
        pin = site.context.store.add_pin(conn, stream.name, PIN_SECONDS)
    try:
        try:
            yield
        finally:  # also after an error: files may be missing because the pin has expired
            with site.context.reading() as conn:
                site.context.store.check_pin(conn, pin)
    finally:
        with site.context.writing() as conn:
            site.context.store.drop_pin(conn, pin)


def status_data(status: StreamStatus) -> dict[str, Any]:
    """Return a status as JSON-ready data."""
    poll, batch = status.last_poll, status.last_batch
    watermark, visits = status.watermark, status.visits
    return {
        "stream": status.stream,
        "strategy": status.strategy,
        "chosen_by_auto": status.chosen,
        "every_seconds": status.every.total_seconds(),
        "engine": status.engine,
        "prepared": status.prepared,
        "state": status.state,
        "polling": status.polling,
        "polling_since": status.polling_since,
        "epoch": status.epoch,
        "lag_seconds": status.lag,
        "last_poll": poll
        and {
            "started_at": poll.started_at,
            "finished_at": poll.finished_at,
            "outcome": poll.outcome,
            "counts": dict(poll.counts),
            "cost": dict(poll.cost),
            "message": poll.message,
        },
        "watermark": watermark and {"at": watermark.at, "lag_seconds": watermark.lag},
        "pass": visits
        and {
            "ranges": visits.ranges,
            "visited": visits.visited,
            "oldest_visit_seconds_ago": status.visited_ago,
            "pages": visits.pages
            and {"ranges": visits.pages.counted, "total": visits.pages.total, "most": visits.pages.most},
        },
        "audit": None if status.audited_ago is None else {"last_seconds_ago": status.audited_ago},
        "last_batch": batch
        and {"epoch": batch.epoch, "batch_seq": batch.seq, "ts_ms": batch.ts_ms, "counts": dict(batch.counts)},
        "batches": status.batches,
        "events": dict(status.events),
        "pending": dict(status.pending),
        "resends": {sink: {"requested_at": at} for sink, at in status.resends.items()},
        "held_events": status.held,
        "estimates": list(status.estimates),
        "skipped": [
            {"sink": one.sink, "epoch": one.epoch, "batch_seq": one.seq, "events": one.events, "at": one.at}
            | ({"resend": one.resend} if one.resend else {})
            for one in status.skipped
        ],
        "failures": {
            sink: {"at": failure.at, "attempts": failure.attempts, "message": failure.message}
            for sink, failure in status.failures.items()
        },
        "error": status.error,
    }


def parsed(lines: list[str]) -> list[dict[str, Any]]:
    """Return event lines as data."""
    return [json.loads(line) for line in lines]
