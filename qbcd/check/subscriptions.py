"""Checks of the subscriptions of a stream: they can be read, and which are refused."""

from __future__ import annotations

from qbcd.check.finding import Finding
from qbcd.common.wording import counted
from qbcd.delivery.initial import refuse_initial
from qbcd.delivery.interest import narrowed_by
from qbcd.model import PlannedBatch
from qbcd.planning import plan_of
from qbcd.stream import Stream

NAMED = 5  # refused subscriptions


def check_subscriptions(stream: Stream, planned: PlannedBatch) -> list[Finding]:
    """Return the findings about the subscriptions of a stream; none without subscriptions.

    Raises:
        QbcdError: They cannot be read, or what they want cannot be done.
    """
    if stream.enrichment is None or not stream.enrichment.selects:
        return []
    from qbcd.local.arrow import event_schema
    from qbcd.subscriptions.enricher import SubscriptionEnricher

    enricher = next(one for one in stream.enrichment.enrichers if isinstance(one, SubscriptionEnricher))

    plan, _ = plan_of(stream, stream.site.context.row())
    refuse_initial(stream, plan)
    refused = enricher.examined(planned, event_schema(planned))
    active, text = enricher.active, ""
    if enricher.narrows:
        restriction, why = narrowed_by(stream, plan)
        text = f"; rows where {restriction}" if restriction else f"; not narrowed: {why}"
    found = [
        Finding("subscriptions", "ok", f"{counted(active, 'subscription has', 'subscriptions have')} matches{text}")
    ]
    for each, why in list(refused.items())[:NAMED]:
        found.append(Finding("subscriptions", "warning", f"{each} is refused: {why}"))
    if len(refused) > NAMED:
        found.append(
            Finding("subscriptions", "warning", f"{len(refused) - NAMED:,} more are refused: qbcd subscriptions")
        )
    return [Finding(one.subject, one.level, one.message, stream.name) for one in found]
