"""The whole flow on one page: hold the lease, deliver what waits, look at the source, commit, deliver, clean up.

    config -> catalog -> plan -> SQL -> detect at the site -> batch + checkpoint, atomically -> each sink -> acknowledge

Detection is an outbox: it ends in one atomic step, after which a batch is delivered as it was staged, however often a
process dies.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy.exc import DBAPIError

from qbcd.catalog.capture_change import Change, change_of, columns_changed
from qbcd.catalog.drift import FROZEN_OPTIONS, check_requested, check_shape
from qbcd.catalog.resolve import Frozen, resolve
from qbcd.catalog.source import Session
from qbcd.delivery import deliver, enroll, pending, removed_sinks
from qbcd.error_messages import one_message
from qbcd.errors import ConfigError, QbcdError, Refused, SchemaChanged, SinkConflict
from qbcd.model import StreamPlan
from qbcd.sites import Differences, LeasedStream, Site, not_prepared
from qbcd.sites.context import refuse_moved
from qbcd.sites.refusals import check_key
from qbcd.sql import check_chance, check_operators, check_restriction, restriction_probe, restriction_remedy
from qbcd.state import StreamRow
from qbcd.stream import Report, Stream

log = logging.getLogger("qbcd")


def run_stream(stream: Stream, report: Report) -> None:
    """One poll of one stream, start to end; `report` is told what was done, step by step, also before an error.

    Raises:
        Refused: qbcd will not go on; source and state are as they were (earlier batches may have been delivered).
        SourceError: The source failed; the next poll starts from what was committed.
    """
    with stream.source.pooled(stream.name), stream.site.context.hold() as held:
        check_requested(stream.name, stream.settings.requested, _prepared(held.row))
        enroll(stream, held.row)
        deliver(stream, held, report)
        plan, warnings = plan_of(stream, held.row)
        report.warnings += warnings
        for found in stream.site.detect(plan, stream.settings, held):
            report.add(found)
            if found.header:
                deliver(stream, held, report)
        report.warnings += removed_sinks(stream)
        if not any(isinstance(failure, SinkConflict) for failure in report.failures.values()):
            _tidy(stream, plan, held, report)  # else a state that went back would drop a newer one's files


def _tidy(stream: Stream, plan: StreamPlan, held: LeasedStream, report: Report) -> None:
    """Upkeep, of which a failure is a warning: what was found is committed, and has to be told.

    Raises:
        Refused: The state is not what it has to be.
    """
    try:
        with one_message(stream):
            stream.site.collect(plan, held, stream.settings)
    except Refused:
        raise
    except QbcdError as error:
        log.debug("stream %s: upkeep failed", stream.name, exc_info=True)
        error.stream = ""  # which the report names
        report.warnings.append(f"upkeep failed, and is tried again after the next poll: {error}")


def prepare_stream(stream: Stream) -> Report:
    """Creates what the site needs and takes the baseline; a stream that is prepared already is left as it is."""
    report = Report(stream.name)
    row = stream.site.context.row()
    if row and row.prepared and row.project_id == stream.project.project_id:  # another project's: `create` refuses it
        check_requested(stream.name, stream.settings.requested, row.checkpoint)
        report.warnings.append("is prepared already")
        return report
    if row is None or not row.prepared:
        refuse_moved(stream.site.context)
    plan, report.warnings = plan_of(stream, None)
    with stream.source.read(stream.name) as session:  # looked at again under the baseline's lock; here nothing is made
        check_key(session, stream.site.strategy(plan))
        stream.site.refuse_unfit(session, plan, option_place(stream))
        report.warnings += stream.site.remarks(session, plan) + stream.site.strategy(plan).warnings()
    stream.site.create(plan)
    with stream.site.context.hold(register=True) as held:
        if held.row.prepared:
            raise Refused("another process has just prepared it", stream=stream.name, remedy="qbcd status")
        enroll(stream, held.row)
        found = stream.site.prepare(plan, stream.settings, held)
        report.add(found)
        deliver(stream, held, report)
    return report


def verify_stream(stream: Stream) -> Differences:
    """Compares replica and source in full, under the lease; changes nothing."""
    with stream.site.context.hold() as held:
        check_requested(stream.name, stream.settings.requested, _prepared(held.row))
        plan, _ = plan_of(stream, held.row)
        if change := change_of(held.row.checkpoint, plan):
            raise SchemaChanged(
                f"{change.told()}: the replica is still of what was captured before",
                stream=stream.name,
                remedy=f"qbcd run {stream.name} --once takes that up; verify it then",
            )
        return stream.site.verify(plan, held)


def reset_stream(site: Site, *, discard: bool) -> None:
    """Forgets replica, checkpoint and batches of the site's stream; the next `prepare` begins a new epoch.

    Raises:
        Refused: Batches wait for a sink and `discard` is not set.
    """
    stream = site.context.stream
    with site.context.hold(reset=True) as held:
        waiting = max(pending(site).values(), default=0) + (1 if site.open_events(held.row) else 0)
        if waiting and not discard:
            raise Refused(
                f"{'1 batch is' if waiting == 1 else f'{waiting} batches are'} not delivered to every sink",
                stream=stream,
                remedy=f"qbcd run {stream} --once delivers them; qbcd reset {stream} --discard drops them",
            )
        site.forget(held)
        site.context.project.forget(stream)


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
            plan = stream.site.strategy(plan).freeze_options(
                row.checkpoint.get(FROZEN_OPTIONS, {}) if row and frozen else None
            )
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
    """Refuses a change of what is captured that no poll can take up (docs/design/protocol.md#rule-16).

    Raises:
        SchemaChanged: The replica keeps too little to go on from.
        Refused: The table or the role is not fit for it.
    """
    problem = stream.site.strategy(plan).change_problem(columns=change.columns, where=change.where)
    if problem:
        raise SchemaChanged(
            f"{change.told()}: {problem}",
            stream=stream.name,
            remedy=f"take the change back, or qbcd reset {stream.name} and prepare it again",
        )
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
        if not stream.source.connector.errors.is_statement_error(error) or (
            isinstance(said, Refused) and not isinstance(said, SchemaChanged)
        ):
            raise said from error
        raise ConfigError(
            f"the restriction is refused: {said.what}",
            stream=stream.name,
            where=said.where,
            remedy=restriction_remedy(plan, stream.source.connector.dialect),
        ) from error


def _prepared(row: StreamRow) -> Mapping[str, Any]:
    if not row.prepared:
        raise not_prepared(row.stream)
    return row.checkpoint
