"""Headers of batches and the checkpoint entries that every stream has, in both wings."""

from __future__ import annotations

import json
import time
import uuid
from datetime import timedelta
from typing import Any, Literal

from qbcd.model import BatchHeader, ServerIdentity
from qbcd.model.checkpoint import Entry
from qbcd.ranges import schedule
from qbcd.sites.poll import Poll
from qbcd.state import StreamRow

AUDIT = "audit"  # the reason of events that only an audit found
NEW_COLUMN = "new_column"  # the reason of updates that differ in newly captured columns alone


def due(poll: Poll) -> float:
    """Return the store's clock if an audit is due, otherwise 0.

    The first one is due an interval after `prepare`.
    """
    context, leased = poll.context, poll.leased
    if poll.settings.config.audit is None or context.stopping():
        return 0.0
    with context.reading() as conn:
        now = context.store.now(conn)
    return now if schedule.is_due(leased.checkpoint.audited(leased.row.epoch), poll.settings.config.audit, now) else 0.0


def next_search(poll: Poll) -> tuple[float, Literal["sweep", "audit"]] | None:
    """Return the seconds until a poll looks for deletes, and by which operation.

    The result is None if no poll ever does.

    For strategies whose polls do not show deletes.
    """
    context, checkpoint, every = poll.context, poll.leased.checkpoint, poll.plan.option("deletes")
    upcoming: list[tuple[float, timedelta, Literal["sweep", "audit"]]] = []
    if isinstance(every, timedelta):
        upcoming.append((checkpoint.swept, every, "sweep"))
    if poll.settings.config.audit is not None:
        upcoming.append((checkpoint.audited(poll.leased.row.epoch), poll.settings.config.audit, "audit"))
    if not upcoming:
        return None
    with context.reading() as conn:
        now = context.store.now(conn)
    return min((schedule.due_in(last, length, now), by) for last, length, by in upcoming)


def new_header(poll: Poll, *, epoch: int, ts_ms: int, counts: dict[str, int], consistency: Any) -> BatchHeader:
    """Return the header of the next batch, with a new fingerprint that identifies it."""
    plan = poll.plan
    return BatchHeader(
        stream=plan.stream,
        epoch=epoch,
        seq=poll.leased.row.last_batch_seq + 1,
        ts_ms=ts_ms,
        counts=counts,
        sinks=poll.settings.sinks,
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
    """Return the UTC second of this `prepare`, made later than every earlier epoch."""
    return row.next_epoch(int(time.time()))


def checkpoint_of(poll: Poll, server: ServerIdentity, encoder: int, rows: int) -> dict[str, Any]:
    """Return the entries that every stream has; `rows` is the size of the replica."""
    plan = poll.plan
    return {
        Entry.SHAPE: json.loads(json.dumps(plan.shape())),
        Entry.MADE: plan.made(),
        Entry.REQUESTED: poll.settings.requested,
        Entry.SERVER: {"identity": server.identity, "meaning": server.meaning, "position": server.position},
        Entry.ENCODER: encoder,
        Entry.ROWS: rows,
    }
