"""The checkpoint of a stream: its entries, and the header of the next batch."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qbcd.model import BatchHeader, ServerIdentity, StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.ranges import schedule
from qbcd.sites.values import LeasedStream, Settings
from qbcd.state import StreamRow

if TYPE_CHECKING:
    from qbcd.sites.context import StreamContext
    from qbcd.sites.values import LeasedStream, Settings


AUDIT = "audit"  # the reason


AUDITED, AUDITING = Entry.AUDITED, Entry.AUDITING  # when the last one began; what one that is begun has found


def due(context: StreamContext, settings: Settings, held: LeasedStream) -> float:
    """The store's clock, where an audit is due; else 0. The first one comes an interval after `prepare`."""
    if settings.audit is None or context.stopping():
        return 0.0
    with context.reading() as conn:
        now = context.store.now(conn)
    return now if schedule.is_due(last(held.row.checkpoint, held.row.epoch), settings.audit, now) else 0.0


def last(checkpoint: Mapping[str, Any], epoch: int) -> float:
    """When the last audit began; the baseline is as good as one."""
    return float(checkpoint.get(AUDITED, epoch))


def new_header(
    plan: StreamPlan,
    settings: Settings,
    held: LeasedStream,
    *,
    epoch: int,
    ts_ms: int,
    counts: dict[str, int],
    consistency: Any,
) -> BatchHeader:
    """The header of the next batch; its fingerprint is drawn once and never again."""
    return BatchHeader(
        stream=plan.stream,
        epoch=epoch,
        seq=held.row.last_batch_seq + 1,
        ts_ms=ts_ms,
        counts=counts,
        sinks=settings.sinks,
        fingerprint=uuid.uuid4().hex,
        source=plan.source,
        table=plan.table.name if plan.table.query else plan.table.label,
        strategy=plan.strategy,
        consistency=consistency,
        key=tuple(c.name for c in plan.key),
        columns=tuple((c.name, c.travel) for c in plan.captured),
        one_row=not plan.key and not plan.counted,
    )


def new_epoch(row: StreamRow) -> int:
    """The UTC second of this `prepare`, later than every earlier epoch of the stream."""
    return row.next_epoch(int(time.time()))


def checkpoint_of(
    plan: StreamPlan, settings: Settings, server: ServerIdentity, encoder: int, rows: int
) -> dict[str, Any]:
    """What a stream must remember between polls; `rows` is the replica's size."""
    return {
        Entry.SHAPE: json.loads(json.dumps(plan.shape())),
        Entry.MADE: plan.made(),
        Entry.REQUESTED: settings.requested,
        Entry.SERVER: {"identity": server.identity, "meaning": server.meaning, "position": server.position},
        Entry.ENCODER: encoder,
        Entry.ROWS: rows,
    }
