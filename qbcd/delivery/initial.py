"""Send a new subscription the rows that it matches already, once, before its events.

    new subscription -> record and request (state, one transaction) -> rows of the replica -> matched -> the sinks

A request is a resend to a sink of subscriptions (`qbcd.delivery.resend`): it survives a kill, and is repeated with the
same rows until the sink has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd.delivery.resend import refuse_without_rows, resend_waiting
from qbcd.errors import ConfigError
from qbcd.model import StreamPlan
from qbcd.planning import planned_batch
from qbcd.sites import LeasedStream
from qbcd.state.subscribed import note_subscribed, subscribed
from qbcd.stream import Report, Stream

if TYPE_CHECKING:
    from qbcd.subscriptions.enricher import SubscriptionEnricher


def refuse_initial(stream: Stream, plan: StreamPlan) -> None:
    """Refuse a stream whose sinks of subscriptions cannot get what the configuration wants.

    Raises:
        ConfigError: A sink takes whole batches of events only.
        Refused: The replica has no rows.
    """
    for name in _sinks(stream):
        if stream.enrichment is not None and stream.enrichment.splits and not stream.sinks[name].takes_parts:
            raise ConfigError(
                f"sink {name} takes no batches that are split by subscription",
                stream=stream.name,
                remedy="deliver to a sink of files (jsonl, parquet), or remove `split`",
            )
        if _enricher(stream) is None:
            continue
        refuse_without_rows(stream, plan, name)
        if not stream.sinks[name].takes_resends:
            raise ConfigError(
                f"sink {name} takes batches only, and no rows of the replica for new subscriptions",
                stream=stream.name,
                remedy="remove `initial: replica` of `subscriptions`, or deliver to another sink",
            )


def begin_subscriptions(
    stream: Stream, plan: StreamPlan, held: LeasedStream, report: Report, *, rows_are_events: bool = False
) -> bool:
    """Record new subscriptions and send their rows; call it under the lease, before detection.

    Args:
        rows_are_events: The baseline, which follows, has the rows as events.

    Returns:
        True if the rows have to wait until the poll has applied a change of the captured definition.
    """
    refuse_initial(stream, plan)
    enricher, sinks = _enricher(stream), _sinks(stream)
    if enricher is None or not sinks:
        return False
    enricher.begin()
    header = planned_batch(stream, plan, held.row)
    from qbcd.local.arrow import event_schema

    enricher.matcher_for(header, event_schema(header))
    if enricher.is_recorded:
        return False
    begun, every = enricher.digests()
    known, postponed = subscribed(stream.project, stream.name), False
    new, gone = begun - known.keys(), known.keys() - every
    if new or gone:
        note_subscribed(stream.project, stream.name, new, gone, () if rows_are_events else sinks)
        if new and not rows_are_events:
            postponed = resend_waiting(stream, held, report)
    enricher.note_recorded()
    return postponed


def _enricher(stream: Stream) -> SubscriptionEnricher | None:
    if stream.enrichment is None or not stream.enrichment.selects:  # the module is imported where it is used
        return None
    from qbcd.subscriptions.enricher import SubscriptionEnricher

    found = stream.enrichment.enrichers
    return next((one for one in found if isinstance(one, SubscriptionEnricher) and one.sends_initial), None)


def _sinks(stream: Stream) -> list[str]:
    chosen = () if stream.enrichment is None else stream.enrichment.selecting
    return [name for name in stream.sinks if name in chosen]
