"""Resends: the replica's rows as events of op r, between batches, for a new or lost sink.

    request (state) -> lease -> seal the open batch -> rows of the replica -> the sink -> request done + acknowledged

The captured table is not read, and other sinks get nothing. A request is stored first, and ends in the transaction that
acknowledges the last batch. Until then the sink gets no batch. So a process may be killed at any point: the next poll
resends again. Under the lease the replica is the state after the last batch, and deliveries go on after that one. See
docs/design/protocol.md#rule-22.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import sqlglot
from sqlalchemy.exc import DBAPIError
from sqlglot import exp

from qbcd.catalog.capture_change import change_of
from qbcd.common import hooks
from qbcd.common.wording import counted
from qbcd.delivery.batches import (
    PYTHON_SINK,
    BatchOnItsWay,
    deliver_to,
    enroll,
    note_failure,
    refuse_unfailed,
    sink_batch,
    skip_batch,
    starts_from_replica,
    waiting_batches,
    write_batch,
)
from qbcd.enrichment import BatchView
from qbcd.errors import (
    ConfigError,
    DeliveryError,
    DeliveryGap,
    LeaseHeld,
    QbcdError,
    Refused,
    SchemaChanged,
    SourceSilent,
    StateConflict,
)
from qbcd.model import BatchHeader, ResentRows, StreamPlan, digest_of
from qbcd.planning import plan_of_replica
from qbcd.sites import LeasedStream, ReplicaRows, not_prepared
from qbcd.sql import check_restriction
from qbcd.state import Acknowledged, Resend, StreamRow
from qbcd.state.subscribed import first_number, note_matches, subscribed
from qbcd.stream import Report, Stream

PATIENCE_S = 60.0  # how long the command waits for a poll that has the lease
NAP_S = 0.5
_LACKS: Mapping[str, str] = {
    "digests": "its replica keeps digests, and not the rows",
    "keys": "its replica keeps keys, and not the rows",
    "nothing": "it keeps no replica",
}


def refuse_unfilled(stream: Stream, row: StreamRow) -> None:
    """Refuse new sinks that begin with the rows of the replica, if it has none.

    Raises:
        Refused: There is such a sink.
    """
    named = [name for name in stream.sinks if row.prepared and starts_from_replica(stream, name)]
    known = stream.project.acknowledged(stream.name) if named else ()
    for name in named:
        if name not in known:
            refuse_without_rows(stream, plan_of_replica(stream, row), name)


def _refuse_waiting(stream: Stream, sink: str) -> None:
    """Refuse rows of the replica while events wait, whose changes are in it already.

    Raises:
        Refused: Some wait.
    """
    waiting = stream.project.waiting_events(stream.name)
    if waiting:
        raise Refused(
            f"sink {sink} cannot have the rows of the replica now: they contain "
            f"{counted(waiting, 'event that waits', 'events that wait')} for a row of a lookup, which would come later",
            stream=stream.name,
            remedy='store the rows that are missing, or write missing: "null"; then poll once',
        )


def refuse_without_rows(stream: Stream, plan: StreamPlan, sink: str) -> None:
    """Refuse a resend from a replica that has no rows.

    Raises:
        Refused: It has none.
    """
    lacks = _LACKS.get(getattr(stream.site.strategy(plan), "keeps", "nothing"))
    if lacks:
        raise Refused(
            f"sink {sink} cannot be filled from the replica of strategy {plan.strategy}: {lacks}",
            stream=stream.name,
            remedy=f"qbcd reset {stream.name}, then prepare it with `baseline: events`: that fills all of its sinks; "
            "or use a strategy whose replica has the rows",
        )


@contextmanager
def clearing_tables(stream: Stream, plan: StreamPlan, row: StreamRow, report: Report) -> Iterator[None]:
    """Send the replica's rows to mirrors and histories if the baseline in the block is empty.

    Without a batch nothing else removes their rows of an earlier epoch. The requests come first, so that a kill is
    harmless. A replica without rows cannot be sent: the first batch removes them.
    """
    named = row.last_batch_seq and stream.settings.baseline_events
    sinks = [name for name, sink in stream.sinks.items() if named and sink.shows_all_rows and sink.takes_resends]
    sent = [] if getattr(stream.site.strategy(plan), "keeps", "nothing") in _LACKS else sinks
    requests = [stream.project.request_resend(stream.name, name) for name in sent]
    yield
    if report.headers:
        for one in requests:
            stream.project.drop_resend(stream.name, one)
    elif not sent:
        report.warnings += [
            f"the source is empty: sink {name} keeps rows of before until its first batch" for name in sinks
        ]


def resend_waiting(stream: Stream, held: LeasedStream, report: Report) -> bool:
    """Carry out this stream's requests; failures go into `report`, and the next poll retries.

    Returns:
        True if a request has to wait until the poll has applied a change of the captured definition.
    """
    waiting = [one for name, one in stream.project.resends(stream.name).items() if name in stream.sinks]
    if not waiting:
        return False
    plan = plan_of_replica(stream, held.row)
    if change_of(held.row.checkpoint, plan):
        for one in waiting:  # an event has the number in its id, and other columns afterwards
            stream.project.request_resend(stream.name, one.sink, one.restriction)
        return True
    for one in waiting:
        try:
            _carry_out(stream, held, plan, one, report)
        except DeliveryError as error:
            note_failure(stream, held, one.sink, error, report)
        except (StateConflict, SourceSilent):
            raise
        except (QbcdError, DBAPIError) as error:
            found = error if isinstance(error, QbcdError) else stream.source.explain(error, stream.name)
            if not (one.restriction or isinstance(found, (ConfigError, Refused))):
                raise
            failed = DeliveryError(
                f"sink {one.sink}: {found.what}", remedy=f"qbcd resend {stream.name} {one.sink} again"
            )
            note_failure(stream, held, one.sink, failed, report)
    return False


def resend(stream: Stream, sink: str, restriction: str = "", patience: float = PATIENCE_S) -> Report | None:
    """Send the rows of the replica to a sink now, or let the poll do it that has the lease.

    Args:
        restriction: Condition of the rows, in the SQL of the replica's place; empty for all.
        patience: Seconds to wait for a poll that has the lease.

    Returns:
        The report, without `resent` if a poll has done it; None if a poll has the lease still, and will do it.

    Raises:
        ConfigError: The stream has no such sink, or the sink cannot have these rows.
        Refused: The replica has no rows, or not those of the present definition.
        DeliveryError: The sink failed; the next poll tries again.
    """
    _refuse_unfit(stream, sink, restriction)
    until, one = time.monotonic() + patience, None
    while True:
        try:
            return _resend_now(stream, sink, restriction, one)
        except LeaseHeld:
            one = one or stream.project.request_resend(stream.name, sink, restriction)
            if time.monotonic() > until:
                return None
            stream.site.context.progress("waiting for the poll that has the stream")
            stream.site.context.rest(NAP_S)
        one = stream.project.resends(stream.name).get(sink)  # a poll with other columns renews it
        if one is None:
            return Report(stream.name)


def _resend_now(stream: Stream, sink: str, restriction: str, one: Resend | None) -> Report:
    """Resend under the lease; `one` is the request if it is stored already."""
    report, context = Report(stream.name), stream.site.context
    with context.spark.turn(), stream.source.pooled(), context.hold() as held:
        if not held.row.prepared:
            raise not_prepared(stream.name)
        enroll(stream, held.row)
        before = stream.project.resends(stream.name).get(sink)
        if one is not None and (before is None or before.number != one.number):
            return report  # a poll has done it
        plan = plan_of_replica(stream, held.row)
        one = one or stream.project.request_resend(stream.name, sink, restriction)
        try:
            _carry_out(stream, held, plan, one, report)
        except DeliveryError as error:
            note_failure(stream, held, sink, error, report)
        except QbcdError:
            if restriction:  # the request cannot be carried out, and would hold up the sink
                stream.project.drop_resend(stream.name, one)
            raise
    for failure in report.failures.values():
        raise failure
    return report


def _carry_out(stream: Stream, held: LeasedStream, plan: StreamPlan, one: Resend, report: Report) -> None:
    """Write the rows to the sink, and record that it has them."""
    site, sink, name = stream.site, stream.sinks[one.sink], one.sink
    refuse_without_rows(stream, plan, name)
    _refuse_waiting(stream, name)
    site.seal(plan, stream.settings, held)
    must_write = sink.shows_all_rows  # also without rows
    if not sink.shows_all_rows:  # its batches are not in the replica's rows: it gets them first
        deliver_to(stream, held, {name: stream.project.acknowledged(stream.name)[name]}, report)
        must_write = name in report.failures
        if must_write and not _passes_over_gap(stream, held, one, report):
            return
    site.context.progress(f"sending the rows of the replica to {name}")
    ts_ms = _clock_ms(stream)

    def send() -> int:
        nonlocal one
        with _opened(stream, held, plan, one, ts_ms) as (rows, header, found):
            opened = partial(sink_batch, stream, header, rows.staged, rows.open_local)
            if found is not None:
                one, view = _numbered(stream, one, found)
                for part in _parts(stream, view, rows):
                    write_batch(stream, held, sink, BatchOnItsWay(part.header, partial(opened, part), unfit))
                return view.header.size
            if rows.count or must_write:
                write_batch(stream, held, sink, BatchOnItsWay(header, opened, unfit))
        return rows.count

    unfit = f"types: {{column: text}} for that column, then qbcd reset {stream.name} and prepare it again"
    count = stream.narrowing(send)
    last = _last_batch(stream, held.row)
    if not sink.shows_all_rows:  # the acknowledgement shows if it was ever written to
        last = last._replace(fingerprint=(last.fingerprint or one.label) if count else "")
    stream.project.resent(stream.name, one, last)
    hooks.reach("after_acknowledge")
    report.resent[name] = count
    report.warnings.append(f"sink {name} got {counted(count, 'row')} of the replica (resend {one.number})")


def _passes_over_gap(stream: Stream, held: LeasedStream, one: Resend, report: Report) -> bool:
    """Pass over the batches of a sink that lacks earlier ones: all rows of the replica follow.

    Return False if it failed otherwise, or gets only some rows.
    """
    name = one.sink
    if one.restriction or not isinstance(report.failures[name], DeliveryGap):
        return False
    *_, last = waiting_batches(stream.site, name, stream.project.acknowledged(stream.name)[name], held.row)
    stream.project.acknowledge(stream.name, name, last)  # before the rows: the table may have them before a kill
    del report.failures[name]
    report.warnings.append(f"sink {name} lacks the events up to batch {last.number}; it gets the rows of the replica")
    report.pending[name] = report.attempts[name] = 0
    return True


def skip_next(stream: Stream, sink: str, number: str) -> BatchHeader:
    """Pass over what a sink gets next: a batch, or the rows of a resend.

    Raises:
        ConfigError: See :func:`qbcd.delivery.batches.skip_batch`; or the sink needs the rows.
    """
    context = stream.site.context
    one = stream.project.resends(stream.name).get(sink)
    if one is None or sink not in stream.sinks or number.rpartition(".")[2] != one.label:
        return skip_batch(stream, sink, number)
    if stream.sinks[sink].shows_all_rows:
        raise ConfigError(
            f"sink {sink} shows all rows of the stream, and would lack those of the replica",
            stream=stream.name,
            remedy=f"remove the cause that `qbcd status {stream.name}` shows; the next poll sends them again",
        )
    refuse_unfailed(stream, sink, number)
    with context.spark.turn(), stream.source.pooled(), context.hold() as held:
        plan = plan_of_replica(stream, held.row)
        stream.site.seal(plan, stream.settings, held)
        with _opened(stream, held, plan, one, _clock_ms(stream)) as (_, header, found):
            lost = header if found is None else replace(header, counts=found.header.counts)
        stream.project.skip(stream.name, sink, lost, one)
    return lost


@contextmanager
def _opened(
    stream: Stream, held: LeasedStream, plan: StreamPlan, one: Resend, ts_ms: int
) -> Iterator[tuple[ReplicaRows, ResentRows, BatchView | None]]:
    """Yield the rows of a request and their header; of new subscriptions also the matches."""
    first = first_number(one.restriction)
    restriction = one.restriction if first is None else ""
    with stream.site.open_replica(plan, stream.settings, held, restriction) as rows:
        header = _header(stream, held.row, plan, one, rows, ts_ms)
        if first is None:
            yield rows, header, None
            return
        with _matched(stream, header, rows, first) as found:
            yield rows, header, found


@contextmanager
def _matched(stream: Stream, header: ResentRows, rows: ReplicaRows, first: int) -> Iterator[BatchView]:
    """Yield the rows that subscriptions match whose number is `first` or more."""
    digests = {digest for digest, number in subscribed(stream.project, stream.name).items() if number >= first}
    if stream.enrichment is None or not rows.count:
        yield BatchView(header, replace(header, counts={}), None, "", {})
        return
    with stream.enrichment.matched(header, rows.open_local, digests) as view:
        yield view


def _numbered(stream: Stream, one: Resend, view: BatchView) -> tuple[Resend, BatchView]:
    """Return the request and its matches with their number.

    Matches other than those of an attempt before have another number.
    """
    if not view.header.size:
        return one, view
    matches, whole = view.header.fingerprint, view.whole
    assert isinstance(whole, ResentRows)
    one = note_matches(stream.project, stream.name, one, matches)
    whole = replace(whole, label=one.label)
    whole = replace(whole, fingerprint=digest_of([stream.project.project_id, whole.event_prefix, matches]))
    seen = replace(whole, added=view.header.added, counts=view.header.counts, selected=True)
    return one, replace(view, whole=whole, header=seen)


def _parts(stream: Stream, view: BatchView, rows: ReplicaRows) -> Iterator[BatchView]:
    """Yield the view, or with `split` its parts; nothing without events."""
    if not view.header.size or stream.enrichment is None:
        return
    if stream.enrichment.splits:
        yield from stream.enrichment.parts(view, rows.open_local)
    else:
        yield view


def _clock_ms(stream: Stream) -> int:
    """Return the source's clock in ms since 1970 UTC; this machine's if the source is away."""
    try:
        return stream.source.clock_ms(stream.name)
    except QbcdError as error:
        if not error.source or stream.site.context.kind == "database":
            raise
        return int(time.time() * 1000)


def _header(stream: Stream, row: StreamRow, plan: StreamPlan, one: Resend, rows: ReplicaRows, ts_ms: int) -> ResentRows:
    strategy = stream.site.strategy(plan)
    by_range = getattr(strategy, "poll_mode", "") == "ranges"
    identity = [stream.project.project_id, stream.name, row.epoch, row.last_batch_seq, one.label, one.restriction]
    return ResentRows(
        stream=stream.name,
        epoch=row.epoch,
        seq=row.last_batch_seq,
        ts_ms=ts_ms,
        counts={"r": rows.count} if rows.count else {},
        sinks=(one.sink,),
        fingerprint=digest_of(identity),
        source=plan.source,
        table=plan.table.name if plan.table.query else plan.table.label,
        strategy=plan.strategy,
        consistency="range" if by_range else strategy.consistency,
        key=tuple(column.name for column in plan.key),
        columns=tuple((column.name, column.travel) for column in plan.captured),
        one_row=not plan.key and not plan.counted,
        label=one.label,
    )


def _last_batch(stream: Stream, row: StreamRow) -> Acknowledged:
    """Return the last batch as a sink acknowledges it; no fingerprint if it is deleted."""
    seq = row.last_batch_seq
    prints = {(h.epoch, h.seq): h.fingerprint for h in stream.site.context.batches((row.epoch, seq - 1))}
    return Acknowledged(row.epoch, seq, prints.get((row.epoch, seq), ""))


# -- before a request --------------------------------------------------------------------------------------------------
def _refuse_unfit(stream: Stream, sink: str, restriction: str) -> None:
    """Refuse a request that could not be carried out; nothing is stored yet."""
    if sink == PYTHON_SINK and sink not in stream.sinks:
        raise ConfigError(
            "the consumer in Python gets no resends",
            stream=stream.name,
            remedy=f"qbcd retire {stream.name} {PYTHON_SINK}; it then begins with the earliest batch that exists",
        )
    if sink not in stream.sinks:
        there = ", ".join(stream.sinks)
        remedy = f"its sinks: {there}" if there else "add it to the stream's `sinks`"
        raise ConfigError(f"has no sink {sink!r}", stream=stream.name, remedy=remedy)
    one = stream.sinks[sink]
    if stream.enrichment is not None and sink in stream.enrichment.selecting:
        raise ConfigError(
            f"sink {sink} gets only the events of subscriptions, which rows of the replica are not",
            stream=stream.name,
            remedy="name another sink of the stream",
        )
    if not one.takes_resends:
        raise ConfigError(
            f"sink {sink} takes batches only: its type does not know resends",
            stream=stream.name,
            remedy=f"qbcd reset {stream.name}, then prepare it with `baseline: events`",
        )
    if restriction and one.shows_all_rows:
        raise ConfigError(
            f"sink {sink} shows all rows of the stream, and with --where it would keep only some",
            stream=stream.name,
            remedy="resend without --where; it replaces all rows in one transaction",
        )
    row = stream.site.context.row()
    if row is None or not row.prepared:
        raise not_prepared(stream.name)
    plan = plan_of_replica(stream, row)
    refuse_without_rows(stream, plan, sink)
    _refuse_waiting(stream, sink)
    if change := change_of(row.checkpoint, plan):
        raise SchemaChanged(
            f"{change.describe()}: the replica has what was captured before",
            stream=stream.name,
            remedy=f"qbcd run {stream.name} --once applies the change; then resend",
        )
    if restriction:
        _check_condition(stream, plan, restriction)


def _check_condition(stream: Stream, plan: StreamPlan, restriction: str) -> None:
    """Refuse a condition that is not about single rows of the stream."""
    dialect = stream.source.connector.dialect if stream.site.context.kind == "database" else "duckdb"
    check_restriction(restriction, dialect)
    tree = sqlglot.parse_one(restriction, read=dialect)
    if tree.find(exp.Query):
        raise ConfigError(
            "--where has a query", stream=stream.name, remedy="write a condition on the stream's columns alone"
        )
    known = {column.name.lower() for column in plan.captured}
    for used in tree.find_all(exp.Column):
        if used.name.lower() not in known:
            raise ConfigError(
                f"--where has the column {used.name}, which the stream does not capture",
                stream=stream.name,
                remedy=f"its columns: {', '.join(column.name for column in plan.captured)}",
            )
