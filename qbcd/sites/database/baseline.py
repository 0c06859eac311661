"""The baseline in the database wing.

One step fills the replica and, if wanted, a first batch.
"""

from __future__ import annotations

import time

from qbcd.catalog.source import Session
from qbcd.common import hooks
from qbcd.errors import Refused
from qbcd.model import BatchHeader, Cost
from qbcd.sites.checkpoint import new_epoch
from qbcd.sites.database import own_tables
from qbcd.sites.database.commit import checkpoint_entries, enter, header_of
from qbcd.sites.database.modes import mode_of
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.database.sink_values import check_limits, check_travels
from qbcd.sites.database.text_values import check_text
from qbcd.sites.refusals import check_key
from qbcd.sites.values import Detection
from qbcd.strategies import OutboxSlice


def take_baseline(poll: DatabasePoll) -> Detection:
    """Create the stream's tables, then fill and commit the replica.

    With `baseline_events` the rows are batch 1.

    The watermarks are read before the rows (docs/design/protocol.md#rule-6).
    """
    began, context, plan, leased = time.monotonic(), poll.context, poll.plan, poll.leased
    mode = mode_of(context, plan)
    own_tables.create_tables(context, plan, leased)
    part = OutboxSlice(new_epoch(leased.row), leased.row.last_batch_seq + 1)
    entries = mode.entries_before_baseline()
    with context.source.write(context.stream, steady=poll.strategy.steady) as session:
        enter(context, session, plan, leased.row)
        check_key(session, poll.strategy, None, plan)
        context.progress("taking the baseline into the replica")
        rows, header = _fill(poll, session, part)
        row, entries = mode.complete_baseline(session, leased.row, entries)
        server = context.source.connector.catalog.server_identity(session.connection)
        checkpoint = {**checkpoint_entries(poll, server, rows), **entries}
        hooks.reach("before_commit")
        advanced = context.commit(session.connection, row, leased, header, checkpoint, epoch=part.epoch, prepared=True)
    leased.row = advanced
    hooks.reach("after_commit")
    return Detection(header, Cost(rows_scanned=rows, seconds=time.monotonic() - began))


def _fill(poll: DatabasePoll, session: Session, part: OutboxSlice) -> tuple[int, BatchHeader | None]:
    """Fill the replica and, if wanted, the outbox with the table's rows.

    Returns:
        The number of rows, and the header of the batch.
    """
    events = poll.settings.baseline_events
    counts = [session.run(s) for s in poll.strategy.baseline(part, events=events)]
    if not events:
        _check_written(poll, session)
    rows = counts[0 if events else -1] if counts else 0
    if not events or not rows:
        return rows, None
    check_travels(poll, session, part)
    check_text(poll, session, part)
    check_limits(poll, session, part)
    return rows, header_of(poll, session, part.epoch, {"r": rows})


def _check_written(poll: DatabasePoll, session: Session) -> None:
    """Refuse a table that changes captured columns when a checksum is written.

    Each poll would report its rows again.

    Raises:
        Refused: It does, for example by a trigger.
    """
    statement, plan = poll.strategy.written_rows(), poll.plan
    if statement is not None and int(session.one(statement).n):
        raise Refused(
            f"{plan.table.schema}.{plan.table.name} changes captured columns itself when checksum column "
            f"{plan.option('checksum_column')!r} is written (a trigger, or a column that is set at each update)",
            stream=plan.stream,
            remedy="exclude those columns, or keep the checksums in a table of their own:  checksums: table",
        )
