"""The proof that a target takes the batches of a stream, before there is one.

It leaves nothing behind. Names, table and record are judged as a delivery judges them (`qbcd.sinks.table.matching`).
Then an empty batch of each kind is applied by the statements of a delivery, in a transaction that is rolled back.
Where DDL commits (MariaDB, MySQL), a temporary table takes the place of a target that does not exist yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlalchemy import TableClause, false, insert, select, update

from qbcd.errors import DeliveryError, SinkSilent
from qbcd.sinks.table.apply import Application
from qbcd.sinks.table.databases.base import ExistingTable, TargetDatabase, TargetSession
from qbcd.sinks.table.frame import create_records, create_target, read_record
from qbcd.sinks.table.history import history_steps
from qbcd.sinks.table.layout import LONG, Layout, TargetColumn, layout_of
from qbcd.sinks.table.matching import missing_columns, name_problems, record_problems, table_problems
from qbcd.sinks.table.mirror import CAREFUL, run_way
from qbcd.sinks.table.record import TableRecord, Verdict, last_batch
from qbcd.sinks.table.widening import as_widened
from qbcd.sinks.table.write import PROBE_TABLE, STAGE_TABLE, TargetWrite, record_table

_RIGHTS = {
    "log": ("SELECT", "INSERT"),
    "scd2": ("SELECT", "INSERT", "UPDATE"),
    "mirror": ("SELECT", "INSERT", "UPDATE", "DELETE"),
}
PENDING = ("; the batch stays pending", "; the next poll tries again")


class _Undone(Exception):
    """The end of an attempt."""


def batch_problems(write: TargetWrite) -> list[DeliveryError]:
    """Return all known reasons why the target would refuse batches like that of `write`.

    Change nothing.

    Raises:
        DeliveryError: The target cannot be reached.
    """
    try:
        layout = layout_of(write.options, write.header)
    except DeliveryError as error:
        return [error]
    if found := name_problems(write, layout):
        return found
    with write.database.proving() as database:
        return [_without_batch(one) for one in _problems_at(replace(write, database=database), layout)]


def prove_reachable(database: TargetDatabase) -> None:
    """Prove that the target is there and takes a table for the time of a session.

    Raises:
        DeliveryError: It is not, or does not.
    """
    with database.proving() as there, there.open("") as session, session.transaction():
        made = there.table(STAGE_TABLE, [("one", LONG)], temporary=True)
        session.run_ddl(there.create_stage(made, [TargetColumn("one", LONG)]))


def _problems_at(write: TargetWrite, layout: Layout) -> list[DeliveryError]:
    is_open = False
    try:
        with write.database.open(write.header.stream) as session:
            is_open = True
            return _attempted(session, write, layout)
    except DeliveryError as error:
        if isinstance(error, SinkSilent) or not is_open:
            raise
        return [error]


def _without_batch(error: DeliveryError) -> DeliveryError:
    for end in PENDING:
        error.remedy = error.remedy.replace(end, "")
    return error


def _attempted(session: TargetSession, write: TargetWrite, layout: Layout) -> list[DeliveryError]:
    """Return what is wrong by the target's catalog, or raise what an attempt shows."""
    target, record = write.target(layout), record_table(write.database)
    with _undone(session):
        session.refuse_unwritable(record, ("SELECT", "INSERT", "UPDATE"))
        session.refuse_unwritable(target, _RIGHTS[write.options.mode])
        records = session.describe(record)
        if found := record_problems(write, records):
            return found
        last = None if records is None else last_batch(read_record(session, write))
        existing = session.describe(target)
        if existing is not None and last is not None:
            existing = _widened(session, write, layout, existing)
        if found := table_problems(write, layout, existing, last, _next(last, write)):
            return found
        if existing is not None and missing_columns(write, layout, existing):
            session.refuse_unwritable(target, ("ALTER",))
        if write.database.undoes_ddl:
            create_records(session, write)
            create_target(session, write, layout, existing)
            _attempt(session, write, layout, target, changes=True)
            _attempt_record(session, record)
        else:
            _attempt_without_ddl(session, write, layout, existing)
            if records is not None:
                _attempt_record(session, record)
    return []


@contextmanager
def _undone(session: TargetSession) -> Iterator[None]:
    """A transaction for the block that is rolled back at its end."""
    try:
        with session.transaction(ddl=True):
            yield
            raise _Undone
    except _Undone:
        pass


def _widened(session: TargetSession, write: TargetWrite, layout: Layout, existing: ExistingTable) -> ExistingTable:
    """Return a table of the sink as it will be after its columns got wider types.

    The types are not widened for this, since an attempt could take long.
    """
    widened = as_widened(write.database, existing, layout)
    if widened is not existing:
        session.refuse_unwritable(write.target(layout), ("ALTER",))
    return widened


def _next(last: TableRecord | None, write: TargetWrite) -> Verdict:
    """Return what the next batch of the stream will be for the table."""
    return "next" if last is not None and last.epoch == write.header.epoch else "replace"


def _attempt(session: TargetSession, write: TargetWrite, layout: Layout, target: TableClause, *, changes: bool) -> None:
    """Apply empty batches: one of new rows, and one of all kinds of `changes`."""
    database = write.database
    stage = database.table(STAGE_TABLE, layout.staged, temporary=True)
    columns = [TargetColumn(name, travel) for name, travel in layout.staged]
    session.run_ddl(database.create_stage(stage, columns))
    if write.options.loads_new_rows:
        loaded = layout.staged if write.options.mode == "log" else layout.staged[1:]
        session.load(target, loaded, [])
        rows = database.selected_for_insert([stage.c[name] for name, _ in loaded])
        session.run(insert(target).from_select([name for name, _ in loaded], rows.where(false())))
    one = Application(
        database,
        layout,
        write.options,
        target,
        stage,
        None,
        Counter("curd"),  # of each kind, so that no statement is left out
        replace=False,
        boundary=database.instant(0),
        seq=0,
    )
    if write.options.mode == "mirror" and changes:
        run_way(session, one, CAREFUL, write.header.stream)
    for statement in history_steps(one) if write.options.mode == "scd2" else ():
        session.run(statement)


def _attempt_record(session: TargetSession, record: TableClause) -> None:
    """Insert and update no record, without a lock on one."""
    session.run(update(record).where(false()).values(boundary=record.c.boundary))
    session.run(insert(record).from_select(list(record.c.keys()), select(*record.c).where(false())))


def _attempt_without_ddl(
    session: TargetSession, write: TargetWrite, layout: Layout, existing: ExistingTable | None
) -> None:
    """Attempt it where the creation of tables cannot be undone.

    A table that qbcd will create gets new rows only: MySQL cannot name a temporary table twice, as changes do.
    """
    target = write.target(layout)
    added = [] if existing is None else missing_columns(write, layout, existing)
    if existing is None or added:
        forms = [(one.name, one.travel) for one in layout.columns]
        probe = write.database.table(PROBE_TABLE, forms, temporary=True)
        session.run_ddl(write.database.create(probe, layout.columns, temporary=True))
        if existing is None:
            target = probe
    lacking = {one.name for one in added}
    present = replace(
        layout,
        columns=tuple(one for one in layout.columns if one.name not in lacking),
        values=tuple(name for name in layout.values if name not in lacking),
        staged=tuple(one for one in layout.staged if one[0] not in lacking),
    )
    _attempt(session, write, present, target, changes=existing is not None)
