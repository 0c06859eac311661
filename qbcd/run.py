"""The whole flow on one page: hold the lease, deliver what waits, look at the source, commit, deliver, clean up.

    config -> catalog -> plan -> SQL -> detect at the site -> batch + checkpoint, atomically -> each sink -> acknowledge

Detection is an outbox: it ends in one atomic step, after which a batch is delivered as it was staged, however often a
process dies. A sink that is down delays its own deliveries and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy.exc import DBAPIError

from qbcd import hooks
from qbcd.catalog.meaning import Change, change_of, columns_changed
from qbcd.catalog.remembered import SETTLED, check_requested, check_shape
from qbcd.catalog.resolve import Frozen, resolve
from qbcd.catalog.source import Session
from qbcd.errors import ConfigError, DeliveryError, QbcdError, Refused, SchemaChanged
from qbcd.model import BatchHeader, StreamPlan
from qbcd.sinks import Sink, SinkBatch
from qbcd.sites import Differences, Held, not_prepared
from qbcd.sites.moved import refuse_moved
from qbcd.spark.jdbc import explained, spark_failure
from qbcd.sql import check_chance, check_operators, check_restriction, restriction_probe, restriction_remedy
from qbcd.state import StreamRow
from qbcd.stream import Report, Stream


def run_stream(stream: Stream) -> Report:
    """One poll of one stream, start to end.

    Raises:
        Refused: qbcd will not go on; source and state are as they were (earlier batches may have been delivered).
        SourceError: The source failed; the next poll starts from what was committed.
    """
    report = Report(stream.name)
    with stream.source.kept(stream.name), stream.site.hold() as held:
        check_requested(stream.name, stream.settings.requested, _prepared(held.row))
        enroll(stream, held.row)
        deliver(stream, held, report)
        plan, report.warnings = plan_of(stream, held.row)
        for found in stream.site.detect(plan, stream.settings, held):
            report.add(found)
            if found.header:
                deliver(stream, held, report)
        report.warnings += removed_sinks(stream)
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
    if row is None or not row.prepared:
        refuse_moved(stream.site)
    plan, report.warnings = plan_of(stream, None)
    with stream.source.read(stream.name) as session:  # looked at again under the baseline's lock; here nothing is made
        stream.site.check_key(session, plan)
        stream.site.refuse_unfit(session, plan, option_place(stream))
        report.warnings += stream.site.remarks(session, plan) + stream.site.strategy(plan).warnings()
    stream.site.create(plan)
    with stream.site.hold(register=True) as held:
        if held.row.prepared:
            raise Refused("another process has just prepared it", stream=stream.name, remedy="qbcd status")
        enroll(stream, held.row)
        found = stream.site.prepare(plan, stream.settings, held)
        report.add(found)
        deliver(stream, held, report)
    return report


def verify_stream(stream: Stream) -> Differences:
    """Compares replica and source in full, under the lease; changes nothing."""
    with stream.site.hold() as held:
        check_requested(stream.name, stream.settings.requested, _prepared(held.row))
        plan, _ = plan_of(stream, held.row)
        if change := change_of(held.row.checkpoint, plan):
            raise SchemaChanged(
                f"{change.told()}: the replica is still of what was captured before", stream=stream.name,
                remedy=f"qbcd run {stream.name} --once takes that up; verify it then",
            )  # fmt: skip
        return stream.site.verify(plan, held)


def reset_stream(stream: Stream, *, discard: bool) -> None:
    """Forgets replica, checkpoint and batches; the next `prepare` begins a new epoch.

    Raises:
        Refused: Batches wait for a sink and `discard` is not set.
    """
    with stream.site.hold(reset=True) as held:
        waiting = max(pending(stream).values(), default=0) + (1 if stream.site.open_events(held.row) else 0)
        if waiting and not discard:
            raise Refused(
                f"{waiting} batches are not delivered to every sink", stream=stream.name,
                remedy=f"qbcd run {stream.name} --once delivers them; qbcd reset {stream.name} --discard drops them",
            )  # fmt: skip
        stream.site.forget(held)
        stream.project.forget(stream.name)


def retire_sink(stream: Stream, sink: str) -> int:
    """Forgets a sink that is configured no more, or ``python``; returns how many batches waited for it.

    Raises:
        ConfigError: It is configured, or the stream knows no such sink.
    """
    if sink in stream.sinks:
        raise ConfigError(
            f"sink {sink!r} is configured for it", stream=stream.name,
            remedy="take it out of the stream's sinks first, then retire it",
        )  # fmt: skip
    with stream.site.hold():
        known = sorted(stream.project.acknowledged(stream.name).keys() - stream.sinks.keys())
        if sink not in known:
            remedy = f"it could retire: {', '.join(known)}" if known else "no sink of it waits to be retired"
            raise ConfigError(f"knows no sink {sink!r}", stream=stream.name, remedy=remedy)
        waited = pending(stream).get(sink, 0)
        stream.project.retire_sink(stream.name, sink)
    return waited


def plan_of(stream: Stream, row: StreamRow | None) -> tuple[StreamPlan, list[str]]:
    """The stream's plan by today's catalog, with the columns that it had, unless the user asks for others by now."""
    frozen = None
    if row and row.prepared:
        shape = row.checkpoint["shape"]
        key, names = shape["key"], [c[0] for c in shape["columns"]]
        anew = not stream.config.query and columns_changed(stream.settings.requested, row.checkpoint)
        schema, name = shape["table"]
        frozen = Frozen(tuple(key), tuple(names[len(key) :]), (schema, name), anew)
    config, source = stream.config, stream.source
    check_restriction(config.where, source.connector.dialect, place=config.place("where"))
    source.jdbc(stream.name)  # judges the options of its readers, which come to work only when rows travel
    with source.read(stream.name) as session:
        try:
            plan, warnings = resolve(config, source, session, frozen)
            plan = stream.site.strategy(plan).settle(row.checkpoint.get(SETTLED, {}) if row and frozen else None)
            stream.site.strategy(plan).check(option_place(stream))
        except QbcdError:
            if row and frozen and not frozen.anew:  # where the table changed since prepare, that is the cause to name
                with source.read(stream.name) as another:  # what was refused may have ended this one's transaction
                    check_shape(source, another, stream.name, row.checkpoint)
            raise
        check_operators(plan, source.connector.dialect, place=config.place("where"))
        change = change_of(row.checkpoint, plan) if row and frozen else Change()
        if frozen is None or change.where:
            probe_restriction(stream, session, plan)
        if change:
            refuse_change(stream, session, plan, change)
    return plan, warnings


def refuse_change(stream: Stream, session: Session, plan: StreamPlan, change: Change) -> None:
    """Refuses a change of what is captured that no poll can take up (protocol.md 16).

    Raises:
        SchemaChanged: The replica keeps too little to go on from.
        Refused: The table or the role is not fit for it.
    """
    problem = stream.site.strategy(plan).change_problem(columns=change.columns, where=change.where)
    if problem:
        raise SchemaChanged(
            f"{change.told()}: {problem}", stream=stream.name,
            remedy=f"take the change back, or qbcd reset {stream.name} and prepare it again",
        )  # fmt: skip
    stream.site.refuse_unfit(session, plan, option_place(stream))


def option_place(stream: Stream) -> Callable[[str], str]:
    """Where in the configuration an option of the stream's strategy stands, or its ``where``."""
    place = stream.config.place
    return lambda option: place("where") if option == "where" else place("strategy", option)


def probe_restriction(stream: Stream, session: Session, plan: StreamPlan) -> None:
    """Lets the source plan a query with the user's restriction, so that it is judged before anything is made.

    Raises:
        ConfigError: The source does not take it as a condition on the table.
        Refused: It takes more than the role may read.
    """
    if not plan.where:
        return
    check_chance(session.connection, stream.source.connector, plan, place=stream.config.place("where"))
    try:
        session.rows(restriction_probe(stream.source.connector, plan))
    except DBAPIError as error:
        said = stream.source.explain(error, stream.name)
        said.where = said.where or stream.config.place("where")
        if not stream.source.connector.is_of_text(error) or (
            isinstance(said, Refused) and not isinstance(said, SchemaChanged)
        ):
            raise said from error
        raise ConfigError(
            f"the restriction is refused: {said.what}", stream=stream.name, where=said.where,
            remedy=restriction_remedy(plan, stream.source.connector.dialect),
        ) from error  # fmt: skip


def enroll(stream: Stream, row: StreamRow) -> None:
    """Lets new sinks begin with the next batch; under the lease, before anything is staged (protocol.md 22)."""
    known = stream.project.acknowledged(stream.name)
    for name in stream.settings.sinks:
        if name not in known:
            stream.project.enroll(stream.name, name, row.epoch, row.last_batch_seq)


def deliver(stream: Stream, held: Held, report: Report) -> None:
    """Publishes sealed batches, oldest first, to each sink that lacks them; failures stay with their sink."""
    acks = stream.project.acknowledged(stream.name)
    for name, sink in stream.sinks.items():
        acknowledged = acks[name]
        # numbers go on over epochs, so the last one tells that nothing waits
        waiting = acknowledged.seq < held.row.last_batch_seq
        for header in stream.site.batches((acknowledged.epoch, acknowledged.seq)) if waiting else ():
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
        with stream.site.spark.for_rows(header.size):
            explained(lambda: sink.write(batch), lambda error: stream.source.explain(error, stream.name))
    except QbcdError:
        raise
    except OSError as error:
        raise DeliveryError(f"sink {name}: {error.strerror}: {error.filename}", remedy="see the sink's path") from error
    except Exception as error:  # a sink may be anybody's code; what it raises ends its own deliveries, not the poll
        raise DeliveryError(f"sink {name}: {_first_line(error)}", remedy="the batch is kept for it") from error
    hooks.reach("after_publish")
    held.keeper.check()
    stream.project.acknowledge(stream.name, name, header)
    hooks.reach("after_acknowledge")


def pending(stream: Stream) -> dict[str, int]:
    """By sink, how many of the site's batches it has not acknowledged, where there are any.

    Counts for every enrolled sink, also one that is configured no more: for each of them the site keeps its batches.
    """
    acks = {sink: (ack.epoch, ack.seq) for sink, ack in stream.project.acknowledged(stream.name).items()}
    if not acks:
        return {}
    numbers = [(h.epoch, h.seq) for h in stream.site.batches(min(acks.values()))]
    counts = {sink: sum(number > done for number in numbers) for sink, done in acks.items()}
    return {sink: count for sink, count in counts.items() if count}


def removed_sinks(stream: Stream) -> list[str]:
    """A warning for each sink that was taken out of the configuration and still keeps batches from going."""
    removed = sorted(stream.project.acknowledged(stream.name).keys() - set(stream.settings.sinks))
    waiting = pending(stream) if removed else {}
    return [
        f"sink {sink} is no longer configured; {'1 batch waits' if n == 1 else f'{n} batches wait'} for it: put it "
        f"back, or qbcd retire {stream.name} {sink}"
        for sink, n in ((sink, waiting.get(sink, 0)) for sink in removed)
    ]


def _first_line(error: Exception) -> str:
    """Class and first line of an error that is not qbcd's."""
    said = spark_failure(error)
    first = (str(error).strip().splitlines() or [""])[0]
    return f"Spark failed: {said}" if said else f"{type(error).__name__}: {first}" if first else type(error).__name__


def _prepared(row: StreamRow) -> Mapping[str, Any]:
    if not row.prepared:
        raise not_prepared(row.stream)
    return row.checkpoint
