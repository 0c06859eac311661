"""The open batch: events of several steps that are numbered and published together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qbcd import hooks
from qbcd.catalog.source import Session
from qbcd.errors import StateConflict
from qbcd.model import BatchHeader
from qbcd.state.rows import batch_from_json, batch_to_json
from qbcd.strategies.outbox import OPEN, StagedBatch, outbox_name

if TYPE_CHECKING:
    from qbcd.sites.database.context import DatabaseContext
    from qbcd.sites.values import LeasedStream, Settings


# -- the open batch ----------------------------------------------------------------------------------------------------
def extend_open_batch(held: LeasedStream, header: BatchHeader) -> dict[str, Any]:
    """The open batch with a step's events added, for the checkpoint."""
    before = held.row.checkpoint.get("open")
    counts = dict(before["counts"]) if before else {}
    for op, events in header.counts.items():
        counts[op] = counts.get(op, 0) + events
    return batch_to_json(replace(header, seq=OPEN, counts=counts))


def open_batch(held: LeasedStream) -> BatchHeader | None:
    """The open batch, or None."""
    found = held.row.checkpoint.get("open")
    return batch_from_json(found) if found else None


def seal(context: DatabaseContext, settings: Settings, held: LeasedStream) -> BatchHeader | None:
    """Numbers the open batch, so that it is published; None where nothing is open."""
    batch = open_batch(held)
    if batch is None:
        return None
    with context.source.write(context.stream) as session:
        row = held.row
        context.store.lock(
            session.connection, context.stream, context.project.project_id, row.version, row.fencing_token
        )
        header = replace(batch, seq=row.last_batch_seq + 1)
        for statement in staged_batch(context, session, batch).seal(header.seq):
            session.run(statement)
        pair(context, session, settings, header)
        hooks.reach("before_seal")
        checkpoint = {name: value for name, value in row.checkpoint.items() if name != "open"}
        advanced = context.commit(session.connection, row, held, header, checkpoint)
    held.row = advanced
    hooks.reach("after_seal")
    return header


def pair(context: DatabaseContext, session: Session, settings: Settings, header: BatchHeader) -> None:
    """Marks changes of key in a batch, where the user asks for it."""
    if settings.key_change and header.counts.get("d") and header.counts.get("c"):
        for statement in staged_batch(context, session, header).pair_keys(header.seq):
            session.run(statement)


def staged_batch(context: DatabaseContext, session: Session, header: BatchHeader) -> StagedBatch:
    """The batch's rows as the outbox holds them, with the outbox's own columns.

    Raises:
        StateConflict: The outbox is gone.
    """
    connector, schema, name = (context.source.connector, context.source.schema, outbox_name(context.stream))
    table = connector.catalog.probe_table(session.connection, schema, name)
    if table is None:
        raise missing_table_error(context, "outbox", (schema, name))
    return StagedBatch(connector, schema, header, table)


def missing_table_error(context: DatabaseContext, what: str, name: tuple[str, str]) -> StateConflict:
    """The error for a table of the stream's own that somebody has dropped."""
    return StateConflict(
        f"its {what} {'.'.join(name)} is gone",
        stream=context.stream,
        remedy=f"restore it, or qbcd reset {context.stream} --discard and prepare it again",
    )
