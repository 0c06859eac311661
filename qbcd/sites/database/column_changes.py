"""A change of captured columns or restriction: DDL on qbcd's own tables and one comparison.

See docs/design/protocol.md#rule-16.

Tables get new columns before the step, in their own transaction, since DDL may commit by itself. The step fills them
in the replica without an event and only then compares, so it finds changes written in between; with ``new_columns:
add_with_values`` it fills nothing, so that the comparison finds their values. After the step, columns
that are no longer captured are dropped from the replica; until then the user may undo the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from qbcd.catalog.capture_change import Change
from qbcd.errors import MissingPrivilege, SchemaChanged
from qbcd.model import Table
from qbcd.sites import own_tables
from qbcd.sites.checkpoint import NEW_COLUMN
from qbcd.sites.database import open_batch
from qbcd.sites.database.commit import Find, StepRequest, StepResult, run_step
from qbcd.sites.database.own_tables import run_alone
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.widened_columns import widening
from qbcd.strategies.in_source import OwnTable, sql_name


def apply_change(poll: DatabasePoll, change: Change, compare: Sequence[Find]) -> StepResult:
    """Apply a change of the captured definition, and compare the rows.

    `compare` finds rows that differ in columns that were and still are captured. Rows after a watermark are not
    compared:
    the next window has them.
    """
    strategy, keeps = poll.strategy, poll.strategy.keeps
    if change.columns:
        add_columns(poll, change)
    poll.context.progress("comparing table and replica, since columns or restriction changed")
    shows = bool(change.added) and poll.settings.new_values
    fills = bool(change.added) and keeps == "rows" and not shows
    comparable = keeps != "nothing" and (keeps != "keys" or change.where)
    after = []
    if fills:
        after = [partial(strategy.unknown, change.added)]
    elif shows:
        after = [partial(strategy.note_new, change.added, NEW_COLUMN)]
    request = StepRequest(
        compare if comparable else [], before=[strategy.fill(change.added)] if fills else [], after_find=after
    )
    result = run_step(poll, request)
    if change.dropped and keeps == "rows":
        drop_columns(poll)
    return result


# -- qbcd's own tables -------------------------------------------------------------------------------------------------
def add_columns(poll: DatabasePoll, change: Change) -> None:
    """Add missing columns to the stream's tables.

    Raises:
        MissingPrivilege: A DBA owns the tables; the remedy has the statements.
        SchemaChanged: The outbox has such a column of another type, in batches that are kept.
    """
    context, connector, statements = poll.context, poll.context.source.connector, list[str]()
    with context.reading() as conn:
        for table in poll.strategy.tables():
            present = connector.catalog.probe_table(conn, *table.name)
            if present is None:
                raise open_batch.missing_table_error(context, "table", table.name)
            statements += _added_columns(poll, table, present, change)
    _alter(poll, statements)


def _added_columns(poll: DatabasePoll, table: OwnTable, present: Table, change: Change) -> list[str]:
    """Return ALTER TABLE for each column that is missing in `table`.

    An old column of the same name and another type is dropped first.
    """
    context, strategy = poll.context, poll.strategy
    connector, name = context.source.connector, sql_name(context.source.connector, table.name)
    images = {} if table.name == strategy.replica else strategy.image_names(change.added)
    stale = []
    for column, kind in table.columns:
        there, captured = present.column(column), images.get(column, column)
        if there is None or captured not in change.added or connector.ddl.column_type(there) == kind:
            continue
        if images and any(captured in [c for c, _ in header.columns] for header in context.batches()):
            raise SchemaChanged(
                f"column {captured} was captured before, with another type, and batches that have it are kept",
                stream=context.stream,
                remedy=f"wait until they are deleted (`retain`), or qbcd reset {context.stream}",
            )
        stale.append(column)
    wanted = [(c, kind) for c, kind in table.columns if present.column(c) is None or c in stale]
    return [
        *(f"ALTER TABLE {name} DROP COLUMN {connector.quote(c)}" for c in stale),
        *(f"ALTER TABLE {name} ADD COLUMN {connector.quote(c)} {kind}" for c, kind in wanted),
    ]


def widen_columns(poll: DatabasePoll, change: Change) -> None:
    """Give columns of the stream's tables the wider types of their captured columns.

    Raises:
        MissingPrivilege: A DBA owns the tables; the remedy has the statements.
    """
    context, connector, strategy = poll.context, poll.context.source.connector, poll.strategy
    tables = strategy.tables()
    with context.reading() as conn:
        present = connector.catalog.probe_tables(conn, [table.name for table in tables])
    images = strategy.image_names(tuple(name for name, *_ in change.retyped))
    _alter(poll, widening(connector, list(zip(tables, present, strict=True)), change, images))


def drop_columns(poll: DatabasePoll) -> None:
    """Drop columns from the replica that are no longer captured.

    A replica that a DBA owns keeps them, unused.
    """
    connector, (replica, *_) = poll.context.source.connector, poll.strategy.tables()
    wanted = {name for name, _ in replica.columns}
    with poll.context.reading() as conn:
        present = connector.catalog.probe_table(conn, *replica.name)
    name = sql_name(connector, replica.name)
    unused = [c.name for c in (present.columns if present else ()) if c.name not in wanted]
    try:
        _alter(poll, [f"ALTER TABLE {name} DROP COLUMN {connector.quote(c)}" for c in unused])
    except MissingPrivilege:
        return


def _alter(poll: DatabasePoll, statements: list[str]) -> None:
    own_tables.alter(partial(run_alone, poll.context, poll.leased), poll.context.stream, statements)
