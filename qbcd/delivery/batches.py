"""Deliveries: write the batches that a sink lacks, each exactly once; add and retire sinks.

A sink that is down delays only its own deliveries. See docs/design/protocol.md#rule-20 to #rule-22.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from qbcd.common import hooks
from qbcd.common.wording import batch_numbers, counted
from qbcd.enrichment import BatchView
from qbcd.errors import (
    ConfigError,
    DeliveryError,
    LeaseHeld,
    LocalFailed,
    QbcdError,
    Refused,
    StateConflict,
    Undeliverable,
    UnsupportedType,
)
from qbcd.model import BatchHeader
from qbcd.sinks import Sink, SinkBatch
from qbcd.sinks.rest import SinkResting
from qbcd.sites import LeasedStream, Site
from qbcd.spark.jdbc import explained, is_of_java, is_of_memory, spark_failure
from qbcd.state import Acknowledged, StreamRow
from qbcd.state.enriched import note_plain
from qbcd.state.progress import StoredProgress
from qbcd.stream import Report, Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.local.arrow import LocalRows

PYTHON_SINK = "python"
SPARK_SINKS = (
    "spark:"  # first letters of the sinks of streaming queries, which read by themselves (`qbcd.spark_source`)
)
UNSUPPORTED = "`unsupported: null` or `text` of the sink delivers it at the next poll; or "
log = logging.getLogger("qbcd")


def enroll(stream: Stream, row: StreamRow) -> None:
    """Let new sinks begin with the next batch; call it under the lease, before staging.

    A sink that begins with the rows of the replica gets them by a resend; with `baseline: events` the baseline brings
    them.

    See docs/design/protocol.md#rule-22.
    """
    if stream.enrichment is None or stream.enrichment.selects:
        _refuse_abandoned(stream)
    if stream.enrichment is not None:
        stream.enrichment.enroll(row)
    known = stream.project.acknowledged(stream.name)
    for name in stream.settings.sinks:
        if name not in known:
            if starts_from_replica(stream, name) and (row.prepared or not stream.settings.baseline_events):
                stream.project.request_resend(stream.name, name)  # first, so that a kill in between is harmless
            stream.project.enroll(stream.name, name, row.epoch, row.last_batch_seq)


def _refuse_abandoned(stream: Stream) -> None:
    """Refuse a stream whose events wait for a row of a lookup, if nothing can deliver them.

    It has no lookup any more; or subscriptions, which cannot match events that waited.
    """
    waiting = stream.project.waiting_events(stream.name)
    if waiting:
        late = 'missing: "null": the next poll delivers them without the row'
        raise Refused(
            f"{counted(waiting, 'event waits', 'events wait')} for a row of a lookup"
            + (" that `enrich` no longer names" if stream.enrichment is None else ", not for subscriptions"),
            stream=stream.name,
            remedy=f"name it again; with {late}"
            if stream.enrichment is None
            else f"first remove the stream from `subscriptions`, and name the lookup with {late}",
        )


def starts_from_replica(stream: Stream, name: str) -> bool:
    """Return True if a new sink of this name gets the rows of the replica first."""
    return name in stream.sinks and stream.sinks[name].starts_from == "replica"


def deliver(stream: Stream, held: LeasedStream, report: Report) -> None:
    """Deliver sealed batches, oldest first, to each sink that lacks them.

    A failure ends the deliveries of its sink only, and goes into `report`. A sink that is to get the rows of the
    replica first has to wait (`qbcd.delivery.resend`).
    """
    if stream.enrichment is not None:  # first, since it may seal batches
        report.warnings += stream.enrichment.complete(held)
    acks = stream.project.acknowledged(stream.name)
    if any(acks[name].seq < held.row.last_batch_seq for name in stream.sinks):
        stream.project.renew(stream.name)  # a resend may have been requested since: its sink gets no batch
        acks = stream.project.acknowledged(stream.name)
    resends = stream.project.resends(stream.name)
    late = {name for name in acks if name not in stream.sinks or name in resends}  # also removed ones, and `python`
    report.pending.update({name: max(0, held.row.last_batch_seq - acks[name].seq) for name in late})
    deliver_to(stream, held, {name: acks[name] for name in stream.sinks if name not in resends}, report)


def deliver_to(stream: Stream, held: LeasedStream, sinks: Mapping[str, Acknowledged], report: Report) -> None:
    """Deliver to each sink the batches it lacks, in order; failures go into `report`.

    Sinks that lack the same batch share one read of it.

    Raises:
        QbcdError: A batch cannot be enriched; no sink gets it.
    """
    if stream.enrichment is not None:
        report.warnings += stream.enrichment.complete(held)
    elif stream.project.was_enriched(stream.name):  # fields that are added later must not repeat events that waited
        note_plain(stream.project, stream.name, (held.row.epoch, held.row.last_batch_seq))
    lacking: dict[str, list[BatchHeader]] = {}
    for name, acknowledged in sinks.items():
        # numbers continue over epochs, so equal last numbers mean that no batch waits
        waiting = acknowledged.seq < held.row.last_batch_seq
        lacking[name] = waiting_batches(stream.site, name, acknowledged, held.row) if waiting else []
        report.pending[name] = len(lacking[name])
        report.attempts.update({} if lacking[name] else {name: 0})
    headers = {(one.epoch, one.seq): one for batches in lacking.values() for one in batches}
    with SharedRows(stream) as shared:
        for number in sorted(headers):
            for name in [name for name, batches in lacking.items() if batches and number == _number(batches[0])]:
                if _delivered(stream, held, name, headers[number], report, shared):
                    lacking[name].pop(0)
                else:
                    del lacking[name]  # its other batches wait
    for name in lacking:
        _maintain(stream, held, name, report)


def _number(header: BatchHeader) -> tuple[int, int]:
    return header.epoch, header.seq


def _delivered(
    stream: Stream, held: LeasedStream, name: str, header: BatchHeader, report: Report, shared: SharedRows
) -> bool:
    """Deliver one batch to one sink; return False if it failed, which goes into `report`."""
    stream.site.context.progress(f"delivering {counted(header.size, 'event')} to {name}")
    try:
        _publish(stream, held, name, header, shared)
    except DeliveryError as error:
        note_failure(stream, held, name, error, report)
        return False
    report.delivered += 1
    report.pending[name] -= 1
    report.attempts[name] = 0
    return True


class SharedRows:
    """Staged rows in a local database, kept for the next sink that lacks the same batch.

    A sealed batch never changes. After an error nothing is kept, so that the next attempt reads again.
    """

    def __init__(self, stream: Stream) -> None:
        self._site, self._kept = stream.site, ExitStack()
        self._rows: LocalRows | None = None
        self._number = (0, 0)

    def __enter__(self) -> SharedRows:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop the rows."""
        self._rows = None
        self._kept.close()

    @contextmanager
    def open(self, header: BatchHeader, part: range) -> Iterator[LocalRows]:
        """Staged rows of a batch, at least those of `part`."""
        try:
            if self._rows is None or self._number != _number(header):
                self.close()
                if len(part) < header.size:
                    with self._site.open_staged(header, part) as rows:
                        yield rows
                    return
                self._rows = self._kept.enter_context(self._site.open_staged(header, part))
                self._number = _number(header)
            yield self._rows
        except BaseException:
            self.close()
            raise


def note_failure(stream: Stream, held: LeasedStream, sink: str, error: DeliveryError, report: Report) -> None:
    """Record a failed delivery, unless another poller has taken the stream over.

    Raises:
        LeaseLost: It has.
    """
    stream.site.context.refuse_overtaken(held, error)
    error.stream = stream.name  # a sink may know the folder alone, such as that of a resend
    report.failures.setdefault(sink, error)
    known = stream.project.delivery_failures(stream.name) if isinstance(error, SinkResting) else {}
    if sink in known:  # no attempt
        report.attempts[sink] = known[sink].attempts
        return
    report.attempts[sink] = stream.project.delivery_failed(stream.name, sink, error.what)
    report.failures[sink] = error


def _maintain(stream: Stream, held: LeasedStream, name: str, report: Report) -> None:
    """Let a sink that has every batch do what is due without one; a failure goes into `report`."""
    sink = stream.sinks[name]
    if not sink.maintained:
        return
    held.keeper.check()
    done = (held.row.epoch, held.row.last_batch_seq)
    if sink.rest.refusal(name) is not None:
        return
    try:
        with sink.rest.after_silence():
            was_due = sink.maintain(stream.name, done)
        if was_due:
            stream.project.delivery_recovered(stream.name, name)
    except DeliveryError as error:
        report.attempts[name] = stream.project.delivery_failed(stream.name, name, error.what)
        report.failures[name] = error


def waiting_batches(site: Site, sink: str, done: Acknowledged, row: StreamRow) -> list[BatchHeader]:
    """Return the batches that the sink lacks, oldest first.

    A site deletes no such batch, unless another copy of the project acknowledged it.

    Raises:
        StateConflict: Some are missing.
    """
    waiting = site.context.batches((done.epoch, done.seq))
    present = {header.seq for header in waiting}
    missing = [number for number in range(done.seq + 1, row.last_batch_seq + 1) if number not in present]
    if missing and done.epoch == row.epoch:  # in an older epoch, a reset that was killed has deleted them
        raise StateConflict(
            f"{batch_numbers(row.epoch, missing)} missing, but sink {sink} never acknowledged them: another copy of "
            "this project polls the stream, or the state was restored",
            stream=site.context.stream,
            remedy="restore the newer state, or let only one copy poll; or qbcd reset "
            f"{site.context.stream} --discard, then prepare it again, and consumers reload",
        )
    return waiting


def _publish(stream: Stream, held: LeasedStream, name: str, header: BatchHeader, shared: SharedRows) -> None:
    """Write and acknowledge one batch; after a crash between the two it is written again."""
    sink, site = stream.sinks[name], stream.site
    rows = (partial(site.staged, header), partial(shared.open, header))
    opened = partial(sink_batch, stream, header, *rows, name)
    passed = f"qbcd skip {stream.name} {name} --batch {header.number} passes over it; its events are then missing in "
    unfit = f"{UNSUPPORTED if sink.has_policy else ''}{passed}{name}"
    if stream.enrichment is not None and stream.enrichment.splits and name in stream.enrichment.selecting:
        for part in stream.enrichment.parts(stream.enrichment.view(header, name), rows[1]):
            of_part = partial(sink_batch, stream, header, *rows, part)
            write_batch(stream, held, sink, BatchOnItsWay(part.header, of_part, unfit))
    elif not _selects_none(stream, header, name):
        is_first = not stream.project.acknowledged(stream.name)[name].fingerprint
        write_batch(stream, held, sink, BatchOnItsWay(header, opened, unfit, is_first))
    stream.project.acknowledge(stream.name, name, header)
    hooks.reach("after_acknowledge")


def _selects_none(stream: Stream, header: BatchHeader, sink: str) -> bool:
    """Return True if a sink that takes selected events only gets none of a batch."""
    if stream.enrichment is None:
        return False
    seen = stream.enrichment.view(header, sink).header
    return seen.selected and not seen.size and sink in stream.enrichment.selecting


@dataclass(frozen=True)
class BatchOnItsWay:
    """A batch for one sink.

    Attributes:
        open: Opens its rows, for one attempt.
        unfit: The remedy for a value that does not fit its type.
        is_first: As in `SinkBatch`.
    """

    header: BatchHeader
    open: Callable[[], AbstractContextManager[SinkBatch]]
    unfit: str
    is_first: bool | None = None


def write_batch(stream: Stream, held: LeasedStream, sink: Sink, one: BatchOnItsWay) -> None:
    """Write a batch to a sink.

    Raises:
        DeliveryError: The sink failed, or the rows cannot be read.
    """
    header = one.header
    if (resting := sink.rest.refusal(sink.name)) is not None:
        raise resting
    if not sink.concurrent or stream.site.context.why_spark_for(stream.settings.engine, header.size):
        stream.site.context.spark.await_turn()
    held.keeper.check()
    hooks.reach("before_publish")

    def write() -> None:
        with one.open() as batch:
            batch.progress = StoredProgress(stream.project, stream.name, sink.name)
            batch.is_first = one.is_first
            explained(lambda: sink.write(batch), lambda error: stream.source.explain(error, stream.name))

    with sink.rest.after_silence(), _as_delivery_errors(stream, sink.name, one), stream.site.context.spark.working():
        stream.narrowing(write)
    hooks.reach("after_publish")
    held.keeper.check()


@contextmanager
def _as_delivery_errors(stream: Stream, name: str, one: BatchOnItsWay) -> Iterator[None]:
    try:
        yield
    except UnsupportedType as error:
        what = f"sink {name}: batch {one.header.number} cannot be read: {error.what}"
        raise Undeliverable(what, remedy=one.unfit) from error
    except LocalFailed as error:
        raise DeliveryError(f"sink {name}: {error.what}", remedy=f"{error.remedy}; the batch stays pending") from error
    except QbcdError as error:
        if failed := _out_of_memory(stream, name, error):
            raise failed from error
        raise
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        raise DeliveryError(
            f"sink {name}: {error.strerror or error}{place}", remedy="check the sink's path; the batch stays pending"
        ) from error
    except Exception as error:  # a sink may be foreign code; its error stops its own deliveries, not the poll
        if failed := _out_of_memory(stream, name, error):
            raise failed from error
        message = stream.source.masking.foreign(_first_line(error))
        raise DeliveryError(f"sink {name}: {message}", remedy="the batch stays pending") from error


def _out_of_memory(stream: Stream, sink: str, error: Exception) -> DeliveryError | None:
    """Return the error of a delivery for which Java had too little memory, or None."""
    if not is_of_java(error):
        return None
    spark = stream.site.context.spark
    failed = spark.out_of_memory() if is_of_memory(str(error)) else spark.failure()
    if failed is None:
        return None
    return DeliveryError(f"sink {sink}: {failed.what}", remedy=f"{failed.remedy}; the batch stays pending")


def open_batch(stream: Stream, header: BatchHeader) -> AbstractContextManager[SinkBatch]:
    """Return a batch whose rows can be read within the block."""
    site = stream.site
    return sink_batch(stream, header, lambda: site.staged(header), lambda part: site.open_staged(header, part))


@contextmanager
def sink_batch(
    stream: Stream,
    header: BatchHeader,
    make: Callable[[], DataFrame],
    open_local: Callable[[range], AbstractContextManager[LocalRows]],
    sink: str | BatchView = "",
) -> Iterator[SinkBatch]:
    """A batch for sinks, with its staged rows as a DataFrame or in a local database.

    It has the added fields of the stream. A `sink` that takes selected events only gets only those; it may be given by
    its view of the batch.
    """
    context = stream.site.context
    why_spark = context.why_spark_for(stream.settings.engine, header.size)
    if isinstance(sink, str):
        view = None if stream.enrichment is None else stream.enrichment.view(header, sink)
    else:
        view = sink
    if view is None and header.waited is not None:
        raise Refused(
            f"batch {header.number} has events that waited for a row of a lookup, and `enrich` no longer names one",
            stream=stream.name,
            remedy="name a lookup again",
        )
    with ExitStack() as opened:

        def local(part: range) -> LocalRows:
            return opened.enter_context(open_local(part) if view is None else view.open_local(open_local, part))

        def staged() -> DataFrame:
            context.spark.give_reason(why_spark, header.size)
            return make() if view is None else view.frame(make, context.spark)

        yield SinkBatch(header if view is None else view.header, staged, local, is_local=not why_spark)


def pending(site: Site) -> dict[str, int]:
    """Return the number of batches that a sink has not acknowledged, by sink, if above 0.

    It includes enrolled sinks that are no longer configured, since the site keeps batches for them too.
    """
    acks = {sink: (ack.epoch, ack.seq) for sink, ack in site.context.project.acknowledged(site.context.stream).items()}
    if not acks:
        return {}
    numbers = [(h.epoch, h.seq) for h in site.context.batches(min(acks.values()))]
    counts = {sink: sum(number > done for number in numbers) for sink, done in acks.items()}
    return {sink: count for sink, count in counts.items() if count}


def removed_sinks(stream: Stream) -> list[str]:
    """Return a warning for each sink that was removed from the configuration.

    Until it is retired, the site keeps batches for it.
    """
    known = stream.project.acknowledged(stream.name).keys() - set(stream.settings.sinks)
    removed = sorted(name for name in known if not name.startswith(SPARK_SINKS))
    waiting = pending(stream.site) if removed else {}
    return [
        f"sink {sink} is no longer configured; {counted(n, 'batch waits', 'batches wait')} for it: add it "
        f"again, or qbcd retire {stream.name} {sink}"
        for sink, n in ((sink, waiting.get(sink, 0)) for sink in removed)
    ]


def _first_line(error: Exception) -> str:
    """Return class and first line of an error that is not qbcd's."""
    message = spark_failure(error)
    if message:
        return f"Spark failed: {message}"
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def waiting_for(stream: Stream, sink: str) -> int:
    """Return the number of batches that wait for a removed sink, or for ``python``.

    Raises:
        ConfigError: The sink is configured, or the stream has no such sink.
    """
    if sink in stream.sinks:
        raise ConfigError(
            f"sink {sink!r} is still configured",
            stream=stream.name,
            remedy="remove it from the stream's `sinks`, then retire it",
        )
    known = sorted(stream.project.acknowledged(stream.name).keys() - stream.sinks.keys())
    if sink not in known:
        remedy = f"sinks that can be retired: {', '.join(known)}" if known else "it has no sink that can be retired"
        raise ConfigError(f"has no sink {sink!r}", stream=stream.name, remedy=remedy)
    return pending(stream.site).get(sink, 0)


def retire_sink(stream: Stream, sink: str) -> int:
    """Forget a sink that is no longer configured; return the number of its waiting batches.

    Raises:
        ConfigError: See :func:`waiting_for`.
    """
    with stream.site.context.hold():
        waited = waiting_for(stream, sink)
        stream.project.retire_sink(stream.name, sink)
    return waited


def next_waiting(stream: Stream, sink: str) -> BatchHeader:
    """Return the batch that a sink gets next.

    Raises:
        ConfigError: The stream has no such sink, or no batch waits for it.
    """
    known, row = stream.project.acknowledged(stream.name), stream.site.context.row()
    if sink not in known:
        remedy = f"its sinks: {', '.join(sorted(known))}" if known else "it has no sink yet"
        raise ConfigError(f"has no sink {sink!r}", stream=stream.name, remedy=remedy)
    found = waiting_batches(stream.site, sink, known[sink], row) if row else []
    if not found:
        raise ConfigError(f"no batch waits for sink {sink}", stream=stream.name, remedy=f"qbcd status {stream.name}")
    return found[0]


def skip_batch(stream: Stream, sink: str, number: str) -> BatchHeader:
    """Pass over the batch that a sink gets next, record that, and return the batch.

    Args:
        number: The batch, as messages name it; another one is not skipped.

    Raises:
        ConfigError: The next batch is another one, or its delivery has not failed yet.
    """
    if sink.startswith(SPARK_SINKS):
        raise ConfigError(
            f"sink {sink} is a streaming query, which reads by its checkpoint",
            stream=stream.name,
            remedy="stop the query, and start it with a new checkpoint and startingVersion after the batch",
        )
    with stream.site.context.hold():
        header = next_waiting(stream, sink)
        if header.number != number:
            raise ConfigError(
                f"the next batch of sink {sink} is {header.number}, not {number}",
                stream=stream.name,
                remedy=f"a batch is skipped only when it is the next one: --batch {header.number}",
            )
        refuse_unfailed(stream, sink, number)
        stream.project.skip(stream.name, sink, header)
    return header


def refuse_unfailed(stream: Stream, sink: str, number: str) -> None:
    """Refuse to pass over what a sink may take at the next attempt.

    Raises:
        ConfigError: Its last delivery has not failed.
    """
    if sink != PYTHON_SINK and sink not in stream.project.delivery_failures(stream.name):
        raise ConfigError(
            f"batch {number} has not failed for sink {sink}",
            stream=stream.name,
            remedy=f"qbcd run {stream.name} --once delivers it",
        )


def doubts_batches(error: QbcdError) -> bool:
    """Return True if the site's batches may be another project's, or of an older state."""
    return isinstance(error, StateConflict) and not isinstance(error, LeaseHeld)


def enroll_python(stream: Stream) -> None:
    """Let the Python consumer begin with the epoch's earliest batch that the site still has.

    If the stream is not prepared, or the site cannot be reached, the next poll reports it.
    """
    if PYTHON_SINK in stream.project.acknowledged(stream.name):
        return
    try:
        row = stream.site.context.row()
        if row is None or not row.prepared or row.project_id != stream.project.project_id:
            return
        first = next((h.seq for h in stream.site.context.batches() if h.epoch == row.epoch), row.last_batch_seq + 1)
    except QbcdError as error:
        log.debug("stream %s: its Python consumer is not enrolled yet: %s", stream.name, error)
        return
    stream.project.enroll(stream.name, PYTHON_SINK, row.epoch, first - 1)


def waiting(stream: Stream, failed: QbcdError | None) -> list[BatchHeader]:
    """Return the batches that the Python consumer has not acknowledged, oldest first.

    Empty if the consumer was never enrolled.

    Args:
        failed: The error of the last poll; raised instead of a second error of the site.
    """
    done = stream.project.acknowledged(stream.name).get(PYTHON_SINK)
    try:
        row = stream.site.context.row() if done else None
        found = waiting_batches(stream.site, PYTHON_SINK, done, row) if done and row else []
        return list(takewhile(stream.enrichment.is_ready, found)) if stream.enrichment is not None else found
    except QbcdError as error:
        raise failed or error from error
