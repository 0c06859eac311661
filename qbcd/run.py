"""One poll, prepare, verify and reset of a stream, on one page.

    config -> catalog -> plan -> SQL -> detect at the site -> batch + checkpoint, atomically -> each sink -> acknowledge

A poll acquires the lease, delivers pending batches, detects and commits changes, delivers them and cleans up. Detection
is an outbox: it ends in one atomic commit. From then on the batch is delivered exactly as it was staged, even if
processes die in between.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from qbcd.catalog.capture_change import Change, change_of
from qbcd.catalog.drift import check_requested
from qbcd.catalog.resolve import UncapturedChange
from qbcd.common import phases
from qbcd.common.wording import counted
from qbcd.delivery.batches import deliver, enroll, pending, removed_sinks, starts_from_replica
from qbcd.delivery.initial import begin_subscriptions, refuse_initial
from qbcd.delivery.interest import narrowed
from qbcd.delivery.resend import clearing_tables, refuse_unfilled, refuse_without_rows, resend_waiting
from qbcd.enrichment import forget_files
from qbcd.error_messages import one_message
from qbcd.errors import QbcdError, Refused, SchemaChanged, SinkConflict, SourceSilent
from qbcd.model import StreamPlan
from qbcd.planning import claim_places, option_place, plan_of, refuse_sinks, refuse_unfit_sinks
from qbcd.sites import (
    Detection,
    Differences,
    LeasedStream,
    Site,
    StreamContext,
    not_prepared,
    refuse_prepared_elsewhere,
)
from qbcd.spark.provider import SparkUse
from qbcd.state import Signs, StreamRow, nothing_to_take_over, refuse_if_alive, signs_of_owner, takeover
from qbcd.stream import TOO_WIDE, Report, Stream

log = logging.getLogger("qbcd")


def run_stream(stream: Stream, report: Report) -> None:
    """Poll one stream and add each step to `report`, also when a later step fails.

    Raises:
        Refused: The poll stopped; source and state are unchanged (earlier batches may have been delivered).
        SourceError: The source failed; the next poll continues from the last commit.
    """
    stream.check_strategy()
    with _noting_spark(stream, report), stream.source.pooled(), stream.site.context.hold() as held:
        check_requested(stream.name, stream.settings.requested, _prepared(held.row))
        refuse_unfilled(stream, held.row)
        stream = stream.restricted()  # another process may have changed it before this one had the lease
        report.epoch = held.row.epoch
        enroll(stream, held.row)
        phases.ended("lease")
        postponed = resend_waiting(stream, held, report)
        deliver(stream, held, report)
        phases.ended("deliver")
        plan, warnings = plan_of(stream, held.row)
        if (other := narrowed(stream, plan, held.row)) is not stream:
            stream = other
            plan, warnings = plan_of(stream, held.row)
        report.plan = plan
        report.warnings += warnings
        report.uncaptured = [one for one in warnings if isinstance(one, UncapturedChange)]
        change = change_of(held.row.checkpoint, plan)
        if change.added:
            refuse_unfit_sinks(stream, plan, held.row)
        report.change = change.describe()
        phases.ended("plan")
        postponed = begin_subscriptions(stream, plan, held, report) or postponed
        for found in _detected(stream, plan, held):
            phases.ended("commit" if found.header else "compare")
            report.add(found)
            if found.header:
                deliver(stream, held, report)
                phases.ended("deliver")
        if stream.interest is not None:
            stream.interest.settle()
        report.warnings += _values_to_resend(stream, plan, change)
        if postponed:
            resend_waiting(stream, held, report)
            phases.ended("deliver")
        report.warnings += removed_sinks(stream)
        if not any(isinstance(failure, SinkConflict) for failure in report.failures.values()):
            with phases.undivided("compact"):
                _tidy(stream, plan, held, report)  # a restored, older state must not delete a newer one's files


def _detected(stream: Stream, plan: StreamPlan, held: LeasedStream) -> Iterator[Detection]:
    """Yield the steps of a poll; begin the next one again in another way if rows are too wide."""
    while True:
        try:
            yield from stream.site.detect(plan, stream.settings, held)
            return
        except TOO_WIDE as error:
            stream.narrow(error)


def _values_to_resend(stream: Stream, plan: StreamPlan, change: Change) -> list[str]:
    """Return how consumers get the values of new columns in rows that are there already."""
    if not change.added or stream.settings.new_values or getattr(stream.site.strategy(plan), "keeps", "") != "rows":
        return []
    return [
        f"values of {', '.join(change.added)} in rows that are there already are delivered when these change; to have "
        f"them now: qbcd resend {stream.name} SINK"
    ]


def _tidy(stream: Stream, plan: StreamPlan, held: LeasedStream, report: Report) -> None:
    """Compact and collect; a failure is a warning, since the committed changes must be reported.

    Raises:
        Refused: The state is damaged or belongs to another project.
    """
    try:
        with one_message(stream):
            stream.site.collect(plan, held, stream.settings)
            if stream.enrichment is not None:
                stream.enrichment.collect()
    except Refused:
        raise
    except QbcdError as error:
        log.debug("stream %s: compaction failed", stream.name, exc_info=True)
        if isinstance(error, SourceSilent):
            stream.site.context.abandon(held.keeper, error)
        else:
            stream.site.context.refuse_overtaken(held, error)
        error.stream = ""  # the report names it
        report.warnings.append(f"compaction failed and is retried after the next poll: {error}")


@contextmanager
def _noting_spark(stream: Stream, report: Report) -> Iterator[None]:
    """Use Spark in turn with polls of other threads.

    Record in the report's cost if site or sinks used it.
    """
    spark, earlier, use = stream.site.context.spark, stream.source.sent(stream.name), SparkUse()
    try:
        with spark.noting() as use, spark.turn():
            yield
    finally:
        sent = stream.source.sent(stream.name).since(earlier)
        counted_now = {"statements": sent.statements, "round_trips": sent.round_trips}
        report.cost = replace(report.cost, spark=use.used, why_spark=use.why, **counted_now)


def prepare_stream(stream: Stream) -> Report:
    """Create the site's tables and files and store the baseline; skip a prepared stream."""
    stream.check_strategy()
    report = Report(stream.name)
    row = stream.site.context.row()
    if row and row.prepared and row.project_id == stream.project.project_id:  # `create` refuses another project's
        check_requested(stream.name, stream.settings.requested, row.checkpoint)
        report.warnings.append("is prepared already")
        return report
    if row is None or not row.prepared:
        refuse_prepared_elsewhere(stream.site.context)
    plan, report.warnings = plan_of(stream, None)
    if (other := narrowed(stream, plan, row)) is not stream:
        stream = other
        plan, report.warnings = plan_of(stream, None)
    refuse_sinks(stream, plan)
    report.warnings += refuse_unfit_sinks(stream, plan, None)
    for name in stream.sinks if not stream.settings.baseline_events else ():
        if starts_from_replica(stream, name):
            refuse_without_rows(stream, plan, name)
    report.warnings += stream.site.examine_before_prepare(plan, option_place(stream))
    refuse_initial(stream, plan)
    stream.site.create(plan, stream.settings)
    with _noting_spark(stream, report), stream.site.context.hold(register=True) as held:
        if held.row.prepared:
            raise Refused("another process has just prepared it", stream=stream.name, remedy="qbcd status")
        # what a reset or an earlier prepare left that was killed; the hull was stored just now
        stream.project.forget(stream.name, hull=stream.interest is None or not stream.interest.enricher.narrows)
        enroll(stream, held.row)
        if stream.settings.baseline_events:
            begin_subscriptions(stream, plan, held, report, rows_are_events=True)
        with clearing_tables(stream, plan, held.row, report):
            report.add(stream.narrowing(lambda: stream.site.prepare(plan, stream.settings, held)))
        if not stream.settings.baseline_events:
            begin_subscriptions(stream, plan, held, report)
        resend_waiting(stream, held, report)
        deliver(stream, held, report)
        if not report.headers:  # a first batch claims the place itself
            report.warnings += claim_places(stream, plan, held.row)
    return report


@dataclass(frozen=True)
class Preparation:
    """The outcome of `prepare` of one stream: the report, or the error that prevented it."""

    stream: str
    report: Report | None = None
    error: QbcdError | None = None

    @property
    def exit_code(self) -> int:
        """0 prepared, now or before, and delivered; otherwise the error's, or that of a failed sink."""
        if self.error is not None:
            return self.error.exit_code
        return self.report.exit_code if self.report is not None else 0


@dataclass(frozen=True)
class Verification:
    """The outcome of the comparison of one stream: differences, or the error that prevented it."""

    stream: str
    differences: Differences | None = None
    error: QbcdError | None = None

    @property
    def exit_code(self) -> int:
        """0 no differences, 4 differences; otherwise the error's."""
        if self.error is not None:
            return self.error.exit_code
        return 4 if self.differences else 0


def verify_stream(stream: Stream) -> Differences:
    """Compare replica and source in full, under the lease; change nothing."""
    stream.check_strategy()
    with stream.site.context.hold() as held:
        check_requested(stream.name, stream.settings.requested, _prepared(held.row))
        plan, _ = plan_of(stream, held.row)
        change = change_of(held.row.checkpoint, plan)
        if change.added:
            raise SchemaChanged(
                f"{change.describe()}: the replica has what was captured before",
                stream=stream.name,
                remedy=f"qbcd run {stream.name} --once applies the change; then verify it",
            )
        return stream.narrowing(lambda: stream.site.verify(plan, stream.settings, held))


def reset_stream(site: Site, *, discard: bool) -> None:
    """Delete replica, checkpoint and batches of a stream; the next `prepare` begins a new epoch.

    Raises:
        Refused: Batches are not delivered and `discard` is not set.
    """
    stream = site.context.stream
    with site.context.hold(reset=True) as held:
        waiting = max(pending(site).values(), default=0) + (1 if site.open_events(held.row) else 0)
        if waiting and not discard:
            raise Refused(
                f"{counted(waiting, 'batch is', 'batches are')} not delivered to every sink",
                stream=stream,
                remedy=f"qbcd run {stream} --once delivers them; qbcd reset {stream} --discard drops them",
            )
        if (events := site.context.project.waiting_events(stream)) and not discard:
            raise Refused(
                f"{counted(events, 'event waits', 'events wait')} for a row of a lookup",
                stream=stream,
                remedy='store the rows, or write missing: "null", and poll; or '
                f"qbcd reset {stream} --discard drops them",
            )
        site.forget(held)
        held.keeper.check()  # another process may have prepared it since
        site.context.project.forget(stream)
        forget_files(site.context)


def take_over_stream(site: Site) -> None:
    """Drop what a source keeps for a stream of another project, so that this one can prepare it.

    It waits until the other project has not polled for `QUIET_S` seconds.

    Raises:
        StateConflict: The other project polls, or there is no such stream of another project.
    """
    context = site.context
    with context.hold(reset=True, take_over=_await_quiet(context)) as held:
        site.forget(held)
        held.keeper.check()
        context.project.forget(context.stream)


def _await_quiet(context: StreamContext) -> Signs:
    """Return the signs of life of the project that owns the stream, once they are old enough.

    Raises:
        StateConflict: It has polled meanwhile, or polls now.
    """
    mine = context.project.project_id
    with context.reading() as conn:
        if not context.store.exists(conn):
            raise nothing_to_take_over(context.stream, ours=False)
        seen = signs_of_owner(conn, context.store, context.stream, mine)
    until = time.monotonic() + takeover.QUIET_S - seen.quiet
    while (left := until - time.monotonic()) > 0:
        context.progress(f"watching for {left:.0f} s if its project still polls")
        context.rest(min(left, 1.0))
        with context.reading() as conn:
            refuse_if_alive(conn, context.store, context.stream, mine, seen)
    return seen


def _prepared(row: StreamRow) -> Mapping[str, Any]:
    if not row.prepared:
        raise not_prepared(row.stream)
    return row.checkpoint
