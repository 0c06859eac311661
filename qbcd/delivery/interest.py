"""Narrow a stream to the rows that its subscriptions need, where that loses nothing."""

from __future__ import annotations

import logging
from dataclasses import replace

from qbcd.delivery.batches import PYTHON_SINK, SPARK_SINKS
from qbcd.errors import ConfigError, QbcdError, Refused
from qbcd.model import StreamPlan
from qbcd.planning import planned_batch, probe_restriction
from qbcd.state import StreamRow
from qbcd.stream import Stream

log = logging.getLogger("qbcd")


def narrowed(stream: Stream, plan: StreamPlan, row: StreamRow | None) -> Stream:
    """Return the stream with the restriction that is needed now; itself if that is as before.

    Call it under the lease, or before the first `prepare`.

    Args:
        plan: By the restriction of before.

    Raises:
        QbcdError: The subscriptions of a stream that is not prepared cannot be read.
    """
    interest, prepared = stream.interest, row is not None and row.prepared
    if interest is None or not interest.enricher.narrows:
        return stream
    interest.why_not = interest.why_not or why_wide(stream, plan)
    if not interest.why_not:
        try:
            interest.enricher.begin()
            header = planned_batch(stream, plan, row)
            from qbcd.local.arrow import event_schema

            interest.enricher.matcher_for(header, event_schema(header))
        except QbcdError as error:
            if not prepared:
                raise
            log.warning("stream %s: its rows stay those of the last poll: %s", stream.name, error)
            return stream
    hull = interest.needed(_columns(stream, plan), prepared=prepared)
    if (
        hull is not None
        and hull != interest.hull
        and not _is_accepted(stream, plan, interest.where(hull, stream.source.connector))
    ):
        hull = None
    return stream.restricted() if interest.store(hull, prepared=prepared) else stream


def narrowed_by(stream: Stream, plan: StreamPlan) -> tuple[str, str]:
    """Return the restriction by which a stream is narrowed, or why it is not."""
    interest = stream.interest
    if interest is None:
        return "", "only tables of databases are narrowed"
    if interest.hull is not None:
        return interest.where(interest.hull, stream.source.connector), ""
    why = interest.why_not or why_wide(stream, plan)
    return "", why or interest.why_every_row


def why_wide(stream: Stream, plan: StreamPlan) -> str:
    """Return why the subscriptions of a stream do not narrow it; empty if they may."""
    others = [name for name in stream.project.acknowledged(stream.name) if name.startswith((PYTHON_SINK, SPARK_SINKS))]
    if others:
        return "Python or Spark reads all events"
    if plan.table.query:
        return "the restriction of a query is fixed"
    if plan.option("per_poll") is not None:
        return "with `per_poll` a poll does not compare all rows"
    strategy = stream.site.strategy(plan)
    if getattr(strategy, "by_timestamps", False) or hasattr(strategy, "watermarked"):
        return "a timestamp does not show every row that leaves a restriction"
    return strategy.change_problem(columns=False, where=True)


def _columns(stream: Stream, plan: StreamPlan) -> list[str]:
    """Return the columns whose equality and order are the same in the source and in conditions."""
    expressions = stream.source.connector.expressions
    texts = [one for one in plan.captured if one.travel.kind == "text" and not one.travel.unordered]
    numbers = ("int16", "int32", "int64", "uint64", "decimal")
    found = [one.name for one in texts if expressions.compares_bytes(one)]
    if expressions.overlap:
        sets = [one for one in plan.captured if one.travel.element is not None and one.travel.element.kind == "text"]
        found += [one.name for one in sets if expressions.compares_bytes(one)]
    return found + [one.name for one in plan.captured if one.travel.kind in numbers]


def _is_accepted(stream: Stream, plan: StreamPlan, where: str) -> bool:
    """Return False if the source does not take a restriction."""
    try:
        with stream.source.read(stream.name) as session:
            probe_restriction(stream, session, replace(plan, where=where))
    except (ConfigError, Refused) as error:
        log.debug("stream %s is not narrowed: %s", stream.name, error)
        return False
    return True
