"""Deliveries: which batches a sink lacks, and how each gets there once; sinks that come and go.

See docs/design/protocol.md#rule-20 to #rule-22.

A sink that is down delays its own deliveries and nothing else.
"""

from __future__ import annotations

import logging

from qbcd import hooks
from qbcd.errors import ConfigError, DeliveryError, LeaseHeld, QbcdError, StateConflict
from qbcd.model import BatchHeader
from qbcd.sinks import Sink, SinkBatch
from qbcd.sites import LeasedStream, Site
from qbcd.spark.jdbc import explained, spark_failure
from qbcd.state import Acknowledged, StreamRow
from qbcd.stream import Report, Stream
from qbcd.wording import batch_numbers, counted

PYTHON_SINK = "python"
log = logging.getLogger("qbcd")


def enroll(stream: Stream, row: StreamRow) -> None:
    """Lets new sinks begin with the next batch; under the lease, before anything is staged.

    See docs/design/protocol.md#rule-22.
    """
    known = stream.project.acknowledged(stream.name)
    for name in stream.settings.sinks:
        if name not in known:
            stream.project.enroll(stream.name, name, row.epoch, row.last_batch_seq)


def deliver(stream: Stream, held: LeasedStream, report: Report) -> None:
    """Publishes sealed batches, oldest first, to each sink that lacks them; failures stay with their sink."""
    acks = stream.project.acknowledged(stream.name)
    for name, sink in stream.sinks.items():
        acknowledged = acks[name]
        # numbers go on over epochs, so the last one tells that nothing waits
        waiting = acknowledged.seq < held.row.last_batch_seq
        for header in waiting_batches(stream.site, name, acknowledged, held.row) if waiting else ():
            stream.site.context.progress(f"delivering {counted(header.size, 'event')} to {name}")
            try:
                _publish(stream, held, sink, name, header)
                report.delivered += 1
            except DeliveryError as error:
                error.stream = error.stream or stream.name
                stream.project.delivery_failed(stream.name, name, error.what)
                report.failures[name] = error
                break


def waiting_batches(site: Site, sink: str, done: Acknowledged, row: StreamRow) -> list[BatchHeader]:
    """The batches that the sink lacks. A site drops none of them, unless somebody else says that they are delivered.

    Raises:
        StateConflict: Some are gone.
    """
    waiting = site.context.batches((done.epoch, done.seq))
    there = {header.seq for header in waiting}
    missing = [number for number in range(done.seq + 1, row.last_batch_seq + 1) if number not in there]
    if missing and done.epoch == row.epoch:  # else those of before a reset, which was killed half-way
        raise StateConflict(
            f"{batch_numbers(row.epoch, missing)} missing, but sink {sink} never acknowledged them: another copy of "
            "this project polls the stream, or the state was restored",
            stream=site.context.stream,
            remedy="restore the newer state, or let one of the two poll it; or qbcd reset "
            f"{site.context.stream} --discard, then prepare it again, and consumers reload",
        )
    return waiting


def _publish(stream: Stream, held: LeasedStream, sink: Sink, name: str, header: BatchHeader) -> None:
    """Writes and acknowledges one batch; between the two a crash leads to the same write again."""
    held.keeper.check()
    hooks.reach("before_publish")
    try:
        batch = SinkBatch(header, lambda: stream.site.staged(header))
        with stream.site.context.spark.for_rows(header.size):
            explained(lambda: sink.write(batch), lambda error: stream.source.explain(error, stream.name))
    except QbcdError:
        raise
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        raise DeliveryError(
            f"sink {name}: {error.strerror or error}{place}", remedy="check the sink's path; the batch is kept for it"
        ) from error
    except Exception as error:  # a sink may be anybody's code; what it raises ends its own deliveries, not the poll
        said = stream.source.masking.foreign(_first_line(error))
        raise DeliveryError(f"sink {name}: {said}", remedy="the batch is kept for it") from error
    hooks.reach("after_publish")
    held.keeper.check()
    stream.project.acknowledge(stream.name, name, header)
    hooks.reach("after_acknowledge")


def pending(site: Site) -> dict[str, int]:
    """By sink, how many of the site's batches it has not acknowledged, where there are any.

    Counts for every enrolled sink, also one that is configured no more: for each of them the site keeps its batches.
    """
    acks = {sink: (ack.epoch, ack.seq) for sink, ack in site.context.project.acknowledged(site.context.stream).items()}
    if not acks:
        return {}
    numbers = [(h.epoch, h.seq) for h in site.context.batches(min(acks.values()))]
    counts = {sink: sum(number > done for number in numbers) for sink, done in acks.items()}
    return {sink: count for sink, count in counts.items() if count}


def removed_sinks(stream: Stream) -> list[str]:
    """A warning for each sink that was taken out of the configuration and still keeps batches from going."""
    removed = sorted(stream.project.acknowledged(stream.name).keys() - set(stream.settings.sinks))
    waiting = pending(stream.site) if removed else {}
    return [
        f"sink {sink} is no longer configured; {counted(n, 'batch waits', 'batches wait')} for it: put it "
        f"back, or qbcd retire {stream.name} {sink}"
        for sink, n in ((sink, waiting.get(sink, 0)) for sink in removed)
    ]


def _first_line(error: Exception) -> str:
    """Class and first line of an error that is not qbcd's."""
    said = spark_failure(error)
    first = (str(error).strip().splitlines() or [""])[0]
    return f"Spark failed: {said}" if said else f"{type(error).__name__}: {first}" if first else type(error).__name__


def waiting_for(stream: Stream, sink: str) -> int:
    """Return how many batches wait for a sink that is no longer configured, or for ``python``.

    Raises:
        ConfigError: It is configured, or the stream knows no such sink.
    """
    if sink in stream.sinks:
        raise ConfigError(
            f"sink {sink!r} is configured for it",
            stream=stream.name,
            remedy="take it out of the stream's sinks first, then retire it",
        )
    known = sorted(stream.project.acknowledged(stream.name).keys() - stream.sinks.keys())
    if sink not in known:
        remedy = f"it could retire: {', '.join(known)}" if known else "no sink of it waits to be retired"
        raise ConfigError(f"knows no sink {sink!r}", stream=stream.name, remedy=remedy)
    return pending(stream.site).get(sink, 0)


def retire_sink(stream: Stream, sink: str) -> int:
    """Forgets such a sink; returns how many batches waited for it.

    Raises:
        ConfigError: See :func:`waiting_for`.
    """
    with stream.site.context.hold():
        waited = waiting_for(stream, sink)
        stream.project.retire_sink(stream.name, sink)
    return waited


def doubts_batches(error: QbcdError) -> bool:
    """Return True if the error casts doubt on the site's own batches: a foreign project's, or from before a restore."""
    return isinstance(error, StateConflict) and not isinstance(error, LeaseHeld)


def enroll_python(stream: Stream) -> None:
    """Lets a consumer in Python begin with the earliest batch of the epoch that the site still has.

    Where the stream is not prepared, or the site cannot be reached, the poll that follows says so.
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
    """The batches that the Python consumer has not acknowledged, oldest first; none where it never began.

    Args:
        failed: The error of the poll before; raised in place of a second one, where the site cannot be reached either.
    """
    done = stream.project.acknowledged(stream.name).get(PYTHON_SINK)
    try:
        row = stream.site.context.row() if done else None
        return waiting_batches(stream.site, PYTHON_SINK, done, row) if done and row else []
    except QbcdError as error:
        raise failed or error from error
