"""The whole flow on one page: hold the lease, deliver what waits, look at the source, commit, deliver, clean up.

    config -> catalog -> plan -> SQL -> detect at the site -> batch + checkpoint, atomically -> each sink -> acknowledge

Detection is an outbox: it ends in one atomic step, after which a batch is delivered as it was staged, however often a
process dies. A sink that is down delays its own deliveries and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import DataError, DBAPIError, NotSupportedError, ProgrammingError

from qbcd import hooks
from qbcd.catalog.remembered import check_requested, check_shape
from qbcd.catalog.resolve import Frozen, resolve
from qbcd.catalog.source import Session, Source
from qbcd.config import StreamConfig
from qbcd.errors import ConfigError, DeliveryError, QbcdError, Refused, SchemaChanged
from qbcd.model import BatchHeader, Cost, StreamPlan
from qbcd.sinks import Sink, SinkBatch
from qbcd.sites import Difference, Held, Settings, Site, not_prepared
from qbcd.spark.jdbc import explained
from qbcd.sql import check_operators, check_restriction, restriction_probe, restriction_remedy
from qbcd.state import ProjectState, StreamRow


@dataclass(frozen=True)
class Stream:
    """A stream with all that works on it.

    Attributes:
        sinks: The sinks it is configured for, in delivery order.
    """

    config: StreamConfig
    source: Source
    site: Site
    project: ProjectState
    sinks: Mapping[str, Sink]
    settings: Settings

    @property
    def name(self) -> str:
        """The stream's name."""
        return self.config.name


@dataclass
class Report:
    """What one run of a stream did.

    Attributes:
        header: The batch that was found, or None.
        delivered: Batches that reached a sink, once per sink.
        failures: By sink, why it took no more.
    """

    stream: str
    header: BatchHeader | None = None
    cost: Cost = field(default_factory=Cost)
    warnings: list[str] = field(default_factory=list)
    delivered: int = 0
    failures: dict[str, DeliveryError] = field(default_factory=dict)


def run_stream(stream: Stream) -> Report:
    """One poll of one stream, start to end.

    Raises:
        Refused: qbcd will not go on; source and state are as they were (earlier batches may have been delivered).
        SourceError: The source failed; the next poll starts from what was committed.
    """
    report = Report(stream.name)
    with stream.site.hold() as held:
        check_requested(stream.name, stream.settings.requested, _prepared(held.row))
        deliver(stream, held, report)
        plan, report.warnings = plan_of(stream, held.row)
        found = stream.site.detect(plan, stream.settings, held)
        report.header, report.cost = found.header, found.cost
        report.warnings += found.warnings
        if found.header:
            deliver(stream, held, report)
        stream.site.collect(plan, held, stream.settings)
    return report


def prepare_stream(stream: Stream) -> Report:
    """Creates what the site needs and takes the baseline; a stream that is prepared already is left as it is."""
    report = Report(stream.name)
    row = stream.site.row()
    if row and row.prepared and row.project_id == stream.project.project_id:  # another project's: `create` refuses it
        check_requested(stream.name, stream.settings.requested, row.checkpoint)
        report.warnings.append("is prepared already")
        return report
    plan, report.warnings = plan_of(stream, None)
    with stream.source.read(stream.name) as session:  # looked at again under the baseline's lock; here nothing is made
        stream.site.check_key(session, plan)
    stream.site.create(plan)
    with stream.site.hold(register=True) as held:
        if held.row.prepared:
            raise Refused("another process has just prepared it", stream=stream.name, remedy="qbcd status")
        found = stream.site.prepare(plan, stream.settings, held)
        report.header, report.cost = found.header, found.cost
        deliver(stream, held, report)
    return report


def verify_stream(stream: Stream) -> list[Difference]:
    """Compares replica and source in full, under the lease; changes nothing."""
    with stream.site.hold() as held:
        check_requested(stream.name, stream.settings.requested, _prepared(held.row))
        plan, _ = plan_of(stream, held.row)
        return stream.site.verify(plan, held)


def reset_stream(stream: Stream, *, discard: bool) -> None:
    """Forgets replica, checkpoint and batches; the next `prepare` begins a new epoch.

    Raises:
        Refused: Batches wait for a sink and `discard` is not set.
    """
    with stream.site.hold() as held:
        waiting = undelivered(stream)
        if waiting and not discard:
            raise Refused(
                f"{len(waiting)} batches are not delivered to every sink", stream=stream.name,
                remedy=f"qbcd run {stream.name} --once delivers them; qbcd reset {stream.name} --discard drops them",
            )  # fmt: skip
        stream.site.forget(held)
        stream.project.forget(stream.name)


def plan_of(stream: Stream, row: StreamRow | None) -> tuple[StreamPlan, list[str]]:
    """The stream's plan by today's catalog, with the columns that were frozen at prepare."""
    frozen = None
    if row and row.prepared:
        key, names = row.checkpoint["shape"]["key"], [c[0] for c in row.checkpoint["shape"]["columns"]]
        frozen = Frozen(tuple(key), tuple(names[len(key) :]))
    config, source = stream.config, stream.source
    check_restriction(config.where, source.connector.dialect, place=config.place("where"))
    source.jdbc(stream.name)  # judges the options of its readers, which come to work only when rows travel
    with source.read(stream.name) as session:
        try:
            plan, warnings = resolve(config, source, session, frozen)
        except QbcdError:
            if row and frozen:  # where the table changed since prepare, that is the cause to name
                check_shape(source, session, stream.name, row.checkpoint)
            raise
        check_operators(plan, source.connector.dialect, place=config.place("where"))
        if frozen is None:
            probe_restriction(stream, session, plan)
    return plan, warnings


def probe_restriction(stream: Stream, session: Session, plan: StreamPlan) -> None:
    """Lets the source plan a query with the user's restriction, so that it is judged before anything is made.

    Raises:
        ConfigError: The source does not take it as a condition on the table.
        Refused: It takes more than the role may read.
    """
    if not plan.where:
        return
    try:
        session.rows(restriction_probe(stream.source.connector, plan))
    except DBAPIError as error:
        said = stream.source.explain(error, stream.name)
        said.where = said.where or stream.config.place("where")
        # What is no fault of the text: the connection, a lock, a right that the role lacks.
        of_text = isinstance(error, (ProgrammingError, DataError, NotSupportedError))
        if not of_text or (isinstance(said, Refused) and not isinstance(said, SchemaChanged)):
            raise said from error
        raise ConfigError(
            f"the restriction is refused: {said.what}", stream=stream.name, where=said.where,
            remedy=restriction_remedy(plan, stream.source.connector.dialect),
        ) from error  # fmt: skip


def deliver(stream: Stream, held: Held, report: Report) -> None:
    """Publishes sealed batches, oldest first, to each sink that lacks them; failures stay with their sink."""
    acks = stream.project.acknowledged(stream.name)
    for name, sink in stream.sinks.items():
        done = acks.get(name)
        for header in stream.site.batches(done and (done.epoch, done.seq)):
            if name not in header.sinks:
                continue
            stream.site.progress(f"delivering {header.size:,} events to {name}")
            try:
                _publish(stream, held, sink, name, header)
                report.delivered += 1
            except DeliveryError as error:
                error.stream = error.stream or stream.name
                stream.project.delivery_failed(stream.name, name, error.what)
                report.failures[name] = error
                break


def _publish(stream: Stream, held: Held, sink: Sink, name: str, header: BatchHeader) -> None:
    """Writes and acknowledges one batch; between the two a crash leads to the same write again."""
    held.keeper.check()
    hooks.reach("before_publish")
    try:
        batch = SinkBatch(header, lambda: stream.site.staged(header))
        explained(lambda: sink.write(batch), lambda error: stream.source.explain(error, stream.name))
    except QbcdError:
        raise
    except OSError as error:
        raise DeliveryError(f"sink {name}: {error.strerror}: {error.filename}", remedy="see the sink's path") from error
    hooks.reach("after_publish")
    held.keeper.check()
    stream.project.acknowledge(stream.name, name, header)
    hooks.reach("after_acknowledge")


def undelivered(stream: Stream) -> list[BatchHeader]:
    """Batches that some sink of theirs has not acknowledged, oldest first."""
    acks = stream.project.acknowledged(stream.name)
    batches: Sequence[BatchHeader] = stream.site.batches()
    return [
        h for h in batches if any(s not in acks or (acks[s].epoch, acks[s].seq) < (h.epoch, h.seq) for s in h.sinks)
    ]


def _prepared(row: StreamRow) -> Mapping[str, Any]:
    if not row.prepared:
        raise not_prepared(row.stream)
    return row.checkpoint
