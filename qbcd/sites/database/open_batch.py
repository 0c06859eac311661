"""The open batch: events of several steps, numbered and delivered together when sealed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qbcd.catalog.source import Session
from qbcd.common import hooks
from qbcd.errors import StateConflict
from qbcd.model import BatchHeader
from qbcd.model.checkpoint import Checkpoint, Entry
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.database.poll import DatabasePoll
from qbcd.state.rows import batch_from_json, batch_to_json
from qbcd.strategies.outbox import OPEN, StagedBatch, outbox_name


def open_header(checkpoint: Checkpoint) -> BatchHeader | None:
    """Return the header of the open batch; None if no batch is open."""
    found = checkpoint.get(Entry.OPEN_BATCH)
    return batch_from_json(found) if found else None


def open_events(checkpoint: Checkpoint) -> int:
    """Return the number of events in the open batch."""
    found = checkpoint.get(Entry.OPEN_BATCH)
    return sum(found["counts"].values()) if found else 0


def extended(checkpoint: Checkpoint, header: BatchHeader) -> dict[str, Any]:
    """Return the checkpoint's entry for the open batch with the events of `header` added."""
    before = open_header(checkpoint)
    counts = dict(before.counts) if before else {}
    for op, events in header.counts.items():
        counts[op] = counts.get(op, 0) + events
    return batch_to_json(replace(header, seq=OPEN, counts=counts))


def seal(poll: DatabasePoll) -> BatchHeader | None:
    """Number the events of the open batch and commit it as the next batch.

    The result is None if no batch is open.
    """
    context, leased = poll.context, poll.leased
    batch = open_header(leased.checkpoint)
    if batch is None:
        return None
    with context.source.write(context.stream) as session:
        row = leased.row
        context.lock(session.connection, row)
        header = replace(batch, seq=row.last_batch_seq + 1)
        for statement in staged_batch(context, session, batch).seal(header.seq):
            session.run(statement)
        pair_keys(poll, session, header)
        hooks.reach("before_seal")
        checkpoint = {name: value for name, value in row.checkpoint.items() if name != Entry.OPEN_BATCH}
        advanced = context.commit(session.connection, row, leased, header, checkpoint)
    leased.row = advanced
    hooks.reach("after_seal")
    return header


def pair_keys(poll: DatabasePoll, session: Session, header: BatchHeader) -> None:
    """Mark a delete and an insert of equal content as a change of key, if the user wants that."""
    if poll.settings.config.key_change == "pair" and header.counts.get("d") and header.counts.get("c"):
        for statement in staged_batch(poll.context, session, header).pair_keys(header.seq):
            session.run(statement)


def staged_batch(context: DatabaseContext, session: Session, header: BatchHeader) -> StagedBatch:
    """Return the statements about a batch's rows in the outbox.

    Raises:
        StateConflict: The outbox does not exist any more.
    """
    connector, schema, name = context.source.connector, context.source.schema, outbox_name(context.stream)
    table = connector.catalog.probe_table(session.connection, schema, name)
    if table is None:
        raise missing_table_error(context, "outbox", (schema, name))
    return StagedBatch(connector, schema, header, table)


def missing_table_error(context: DatabaseContext, what: str, name: tuple[str, str]) -> StateConflict:
    """Return the error for one of the stream's own tables that somebody has dropped."""
    return StateConflict(
        f"its {what} {'.'.join(name)} does not exist any more",
        stream=context.stream,
        remedy=f"restore it, or qbcd reset {context.stream} --discard and prepare it again",
    )
