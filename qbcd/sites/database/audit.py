"""Audits: replica and source compared in full at an interval; what a strategy missed is told with reason `audit`.

An audit follows a poll and looks at what lies before its watermark, which no later window would bring: what is newer is
pending (docs/design/protocol.md#rule-19). Rows that are there and keys that are gone are two steps and two batches
(docs/design/protocol.md#rule-14); the guards count both together (docs/design/protocol.md#rule-17). Here for a replica
in the source; `settled` does it under Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from qbcd.catalog.source import Session
from qbcd.model import StreamPlan
from qbcd.sites.database import purge
from qbcd.sites.database import step as wing_step
from qbcd.sites.database.step import Counts, StepRequest, StepResult
from qbcd.sites.guards import Deletes
from qbcd.strategies import InSource, OutboxSlice, Watermarked
from qbcd.watermark import Window

if TYPE_CHECKING:
    from qbcd.sites.database.context import DatabaseContext
    from qbcd.sites.values import LeasedStream, Settings
from qbcd.sites.checkpoint import AUDIT, AUDITED, AUDITING


def audit(
    context: DatabaseContext, plan: StreamPlan, settings: Settings, held: LeasedStream, began: float
) -> Iterator[StepResult]:
    """One audit, which began at `began` by the store's clock: rows before the watermark, then keys that are gone."""
    strategy = _stamped(context.strategy(plan))
    window = strategy.window(None, held.row.checkpoint["mark"]["at"])
    if window is not None:
        context.progress("audit: comparing rows with the replica")
        yield wing_step.run_step(context, plan, settings, held, _rows(strategy, window, held))
    if not context.stopping():
        context.progress("audit: looking for keys that are gone")
        end = StepRequest(
            [lambda s, part: _stamped(s).sweep(part, reason=AUDIT)],
            follow=lambda *step: {AUDITED: began},
            guarded=Deletes.from_checkpoint(held, AUDITING).guarded,
        )
        yield wing_step.run_step(context, plan, settings, held, end, drop=(AUDITING,))


def _rows(strategy: Watermarked, window: Window, held: LeasedStream) -> StepRequest:
    state = Deletes.from_checkpoint(held, AUDITING)

    def remember(session: Session, strategy: InSource, part: OutboxSlice, counts: Counts) -> Mapping[str, Any]:
        return {AUDITING: state.after(held, counts)} if counts else {}

    return StepRequest(
        [lambda s, part: _stamped(s).look(part, window, repeats=False, reason=AUDIT)],
        before=purge.noted(strategy, None, window),
        follow=remember,
        guarded=state.guarded,
    )


def _stamped(strategy: InSource) -> Watermarked:
    assert isinstance(strategy, Watermarked)
    return strategy
