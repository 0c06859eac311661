"""The checkpoint of a stream: its entries, and the header of the next batch."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from typing import Any

from qbcd.model import BatchHeader, ServerIdentity
from qbcd.model.checkpoint import Entry
from qbcd.ranges import schedule
from qbcd.sites.poll import Poll
from qbcd.state import StreamRow

AUDIT = "audit"  # the reason


AUDITED, AUDITING = Entry.AUDITED, Entry.AUDITING  # when the last one began; what one that is begun has found


def due(poll: Poll) -> float:
    """Return the store's clock if an audit is due, else 0; the first one is due an interval after `prepare`."""
    context, row = poll.context, poll.leased.row
    if poll.settings.audit is None or context.stopping():
        return 0.0
    with context.reading() as conn:
        now = context.store.now(conn)
    return now if schedule.is_due(last(row.checkpoint, row.epoch), poll.settings.audit, now) else 0.0


def last(checkpoint: Mapping[str, Any], epoch: int) -> float:
    """When the last audit began; the baseline is as good as one."""
    return float(checkpoint.get(AUDITED, epoch))


def new_header(poll: Poll, *, epoch: int, ts_ms: int, counts: dict[str, int], consistency: Any) -> BatchHeader:
    """Return the header of the next batch; its fingerprint is drawn once and never changes."""
    plan, sinks = poll.plan, poll.settings.sinks
    return BatchHeader(
        stream=plan.stream,
        epoch=epoch,
        seq=poll.leased.row.last_batch_seq + 1,
        ts_ms=ts_ms,
        counts=counts,
        sinks=sinks,
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


def checkpoint_of(poll: Poll, server: ServerIdentity, encoder: int, rows: int) -> dict[str, Any]:
    """Return the entries that every stream has; `rows` is the replica's size."""
    plan = poll.plan
    return {
        Entry.SHAPE: json.loads(json.dumps(plan.shape())),
        Entry.MADE: plan.made(),
        Entry.REQUESTED: poll.settings.requested,
        Entry.SERVER: {"identity": server.identity, "meaning": server.meaning, "position": server.position},
        Entry.ENCODER: encoder,
        Entry.ROWS: rows,
    }
