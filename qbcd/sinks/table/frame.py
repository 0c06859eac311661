"""The frame of sinks that apply batches to a table of a database.

    batch -> Arrow events -> flat rows -> staging table -> ONE transaction: accept the number, apply as a set -> done

Rows that are all new, and those of a log, go into the table without staging, in the same transaction as the number.

The record of the last batch is in the target (table `qbcd_sink`) and changes in the same transaction as the rows, by
compare. A process may be killed at any point: the temporary staging table goes with its session, and a table that was
created or widened is found again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlalchemy import TableClause, and_, func, insert, literal, or_, select, update

from qbcd.common import hooks
from qbcd.common.wording import counted
from qbcd.errors import DeliveryError
from qbcd.sinks.table.apply import Application, all_are_new
from qbcd.sinks.table.constraints import Violation
from qbcd.sinks.table.databases.base import ExistingTable, TargetDatabase, TargetSession
from qbcd.sinks.table.fitting import fitting
from qbcd.sinks.table.flat_rows import Flat, flat_rows
from qbcd.sinks.table.history import history_steps
from qbcd.sinks.table.layout import Layout, TargetColumn, layout_of
from qbcd.sinks.table.matching import missing_columns, name_problems, record_problems, refuse, table_problems
from qbcd.sinks.table.mirror import CAREFUL, EXPECTED, WAYS, NotInThisWay, Way, run_way
from qbcd.sinks.table.record import TableOwner, TableRecord, Verdict, last_batch, next_boundary
from qbcd.sinks.table.refusal import refusal, refused_deletes
from qbcd.sinks.table.widening import widen
from qbcd.sinks.table.write import RECORD_COLUMNS, RECORD_TABLE, RENAMED_TABLE, STAGE_TABLE, TargetWrite, record_table


def apply_batch(write: TargetWrite, events: Callable[[], Iterable[pa.RecordBatch]]) -> None:
    """Apply a batch to its table, once: nothing happens if the table has it.

    Args:
        events: Returns its typed events in pieces; it may be called twice, and only if the batch is applied.

    Raises:
        DeliveryError: The target refused, or the batch is not the next one; the target is unchanged.
    """
    layout = layout_of(write.options, write.header)
    refuse(name_problems(write, layout))
    target = write.target(layout)
    with write.database.open(write.header.stream) as session:
        judged = _prepare(session, write, layout, target)
        if judged == "done":
            return

        def rows() -> _Counted:
            return _Counted(flat_rows(fitting(events(), write.fit), layout, write.options, write.header), write)

        try:
            first = _inserted(session, write, layout, target, rows()) if _can_insert(write) else EXPECTED
            if first is not None:
                _Merge(session, write, layout, target).apply(rows(), first)
        except Exception as error:
            violation = session.violation(error)
            if violation is None:
                raise
            raise refusal(violation, write.database, target, write.header.stream) from error


def _can_insert(write: TargetWrite) -> bool:
    """Return True if the rows are new to the table, so that they need no staging table.

    If a row is there after all, the database says so by the key, and the batch is merged.
    """
    are_new = write.options.mode == "log" or all_are_new(tuple(write.header.counts.items()))
    return write.options.loads_new_rows and are_new


def _inserted(
    session: TargetSession, write: TargetWrite, layout: Layout, target: TableClause, rows: _Counted
) -> Way | None:
    """Insert the rows of a log, or the new rows of a mirror, as they are.

    Returns:
        None; or the way in which to begin to merge the rows with those of the mirror, and then nothing is inserted.
    """
    log = write.options.mode == "log"
    columns = layout.staged if log else layout.staged[1:]
    hooks.reach("mid_publish")
    try:
        with session.transaction():
            found, judged = _accept(session, write)
            if judged == "done":
                return None
            if judged == "replace" and not log and session.rows(select(1).select_from(target).limit(1)):
                return EXPECTED
            if write.database.defer_sql:
                session.run_ddl(write.database.defer_sql)
            session.load(target, columns, rows if log else (piece[1:] for piece in rows))
            rows.check()
            _advance(session, write, found, next_boundary(found, write.header))
    except Exception as error:
        violation = session.violation(error)
        if log or violation is None or violation.kind not in ("unique", "foreign key"):
            raise
        return CAREFUL
    return None


class _Merge:
    """A batch that is staged, and then applied as a set.

    A mirror gets it by the first way that its constraints allow.
    """

    def __init__(self, session: TargetSession, write: TargetWrite, layout: Layout, target: TableClause) -> None:
        self.session, self.write, self.layout, self.target = session, write, layout, target

    def apply(self, rows: _Counted, first: Way) -> None:
        """Stage the rows and apply them; of a mirror, `first` is the way to begin with."""
        staged = _stage(self.session, self.write, self.layout, rows)
        hooks.reach("mid_publish")
        if self.write.options.mode != "mirror":
            self._attempt(staged, None)
            return
        rejected: Exception | None = None
        for way in WAYS[WAYS.index(first) :]:
            try:
                self._attempt(staged, way)
                return
            except NotInThisWay:
                continue
            except Exception as error:
                violation = self.session.violation(error)
                if violation is None:
                    raise
                if violation.kind == "foreign key" and (refused := self._refused_deletes(staged, violation)):
                    raise refused from error
                if rejected is None or way is CAREFUL:
                    rejected = error
                is_final = violation.kind == "foreign key" and way is not EXPECTED and staged.renamed is None
                if is_final or violation.kind not in way.passes:
                    break
        assert rejected is not None
        raise rejected

    def _attempt(self, staged: _Staged, way: Way | None) -> None:
        """Apply the batch in one transaction, a mirror in the given way.

        Raises:
            NotInThisWay: This way cannot be gone.
        """
        header = self.write.header
        with self.session.transaction():
            found, judged = _accept(self.session, self.write)
            if judged == "done":
                return
            one = self._application(staged, found, judged)
            if way is None:
                for statement in history_steps(one):
                    self.session.run(statement)
            else:
                run_way(self.session, one, way, header.stream)
            _advance(self.session, self.write, found, next_boundary(found, header))

    def _application(self, staged: _Staged, found: TableRecord | None, judged: Verdict) -> Application:
        return Application(
            self.write.database,
            self.layout,
            self.write.options,
            self.target,
            staged.stage,
            staged.renamed,
            staged.counts,
            replace=judged == "replace",
            boundary=self.write.database.instant(next_boundary(found, self.write.header)),
            seq=self.write.header.seq,
        )

    def _refused_deletes(self, staged: _Staged, violation: Violation) -> DeliveryError | None:
        with self.session.transaction():
            found = read_record(self.session, self.write)
            one = self._application(staged, found, self.write.verdict(found))
            return refused_deletes(self.session, one, violation, self.write.header.stream)


def claim_target(write: TargetWrite) -> None:
    """Record that a table is the stream's, and after which number its first batch comes.

    Raises:
        DeliveryError: It is another stream's or project's, or the target refuses.
    """
    record, header = record_table(write.database), write.header
    with write.database.open(header.stream) as session, session.transaction(ddl=True):
        create_records(session, write)
        read_record(session, write, lock=True)
        claim = update(record).where(_mine(record, write.owner), record.c.fingerprint == "")
        session.run(claim.values(epoch=header.epoch, batch_seq=header.seq))


def last_record(write: TargetWrite) -> tuple[TableRecord | None, dict[str, str]]:
    """Return the last batch that a table has, and the types of its columns.

    The types are by names as the database compares them. Return None and no columns if there is no such table.
    """
    database = write.database
    with database.open(write.header.stream) as session, session.transaction(ddl=True):
        known = session.describe(record_table(database)) is not None
        found = session.describe(database.table(write.name, []))
        record = last_batch(read_record(session, write)) if known else None
    return record, {} if found is None else {database.folded(name): kind for name, kind in found.types.items()}


# -- before the transaction --------------------------------------------------------------------------------------------
def _prepare(session: TargetSession, write: TargetWrite, layout: Layout, target: TableClause) -> Verdict:
    """Create or widen the target's tables, unless the batch is applied already.

    DDL ends a transaction on MariaDB and MySQL, so that it has one of its own.
    """
    with session.transaction(ddl=True):
        records = session.describe(record_table(write.database))
        found = read_record(session, write) if records is not None and not record_problems(write, records) else None
        judged = write.verdict(found)
        if judged == "done":
            return judged
        create_records(session, write)
        found, existing = last_batch(found), session.describe(target)
        if existing is not None and found is not None:  # what this sink has not written is altered only by its owner
            existing = widen(session, write.database, target, existing, layout, write.header.stream)
        refuse(table_problems(write, layout, existing, found, judged))
        create_target(session, write, layout, existing)
    return judged


def create_records(session: TargetSession, write: TargetWrite) -> None:
    """Create the table of the records, unless it exists.

    Raises:
        DeliveryError: Another table has its name.
    """
    database, record = write.database, record_table(write.database)
    existing = session.describe(record)
    refuse(record_problems(write, existing))
    if existing is None:
        session.run_ddl(database.create(record, RECORD_COLUMNS))


def create_target(session: TargetSession, write: TargetWrite, layout: Layout, existing: ExistingTable | None) -> None:
    """Create the target table, or add the columns that it lacks."""
    database, target = write.database, write.target(layout)
    if existing is None:
        session.run_ddl(database.create(target, layout.columns))
        return
    for one in missing_columns(write, layout, existing):
        session.run_ddl(database.add_column(target, one))


@dataclass(frozen=True)
class _Staged:
    """Temporary tables of the session, and the number of rows by operation, as in `Application`."""

    stage: TableClause
    renamed: TableClause | None
    counts: Counter[str]


def _stage(session: TargetSession, write: TargetWrite, layout: Layout, rows: _Counted) -> _Staged:
    """Load the batch into temporary tables of the session.

    If it may be the whole state, the table's rows are searched for in it, and its key needs an index on some databases.
    """
    keyed = write.database.keys_stage and all_are_new(tuple(write.header.counts.items()))
    columns = [
        TargetColumn(name, travel, keyed and name in layout.key, keyed and name in layout.key)
        for name, travel in layout.staged
    ]
    with session.transaction():
        stage = _temporary(session, write.database, STAGE_TABLE, columns)
        session.load(stage, layout.staged, rows)
        rows.check()
        if not rows.renamed:
            return _Staged(stage, None, rows.counts)
        forms = dict(layout.staged)
        pairs = [TargetColumn(f"{age}{i}", forms[name]) for age in ("old", "new") for i, name in enumerate(layout.key)]
        renamed = _temporary(session, write.database, RENAMED_TABLE, pairs)
        session.load(renamed, [(one.name, one.travel) for one in pairs], rows.renamed)
    return _Staged(stage, renamed, rows.counts)


def _temporary(
    session: TargetSession, database: TargetDatabase, name: str, columns: Sequence[TargetColumn]
) -> TableClause:
    made = database.table(name, [(one.name, one.travel) for one in columns], temporary=True)
    session.run_ddl(database.create_stage(made, columns))
    return made


class _Counted:
    """The rows of a batch, piece by piece, with two results.

    They are the number of their events, and the keys that are spelled differently.
    """

    def __init__(self, rows: Iterator[Flat], write: TargetWrite) -> None:
        self._rows, self._write, self.found = rows, write, 0
        self.renamed: list[Sequence[pa.Array]] = []
        self.counts: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Sequence[pa.Array]]:
        for piece in self._rows:
            self.found += piece.events
            if self._write.options.mode != "log":
                found = piece.arrays[0].value_counts().to_pylist()
                self.counts.update({one["values"]: one["counts"] for one in found})
            if piece.renamed is not None:
                self.renamed.append(piece.renamed)
            yield piece.arrays

    def check(self) -> None:
        """Refuse a batch of which events are missing."""
        header = self._write.header
        if self.found != header.size:
            raise DeliveryError(
                f"{counted(self.found, 'event')} of batch {header.number} arrived, not all {header.size:,}",
                remedy="the batch stays pending",
                stream=header.stream,
            )


# -- in the transaction ------------------------------------------------------------------------------------------------
def _accept(session: TargetSession, write: TargetWrite) -> tuple[TableRecord | None, Verdict]:
    """Lock the record, and return it with what the batch is for the table."""
    found = read_record(session, write, lock=True)
    return found, write.verdict(found)


def read_record(session: TargetSession, write: TargetWrite, *, lock: bool = False) -> TableRecord | None:
    """Return the record of the sink and stream; it may be a claim.

    Raises:
        DeliveryError: Another sink or stream writes to the table.
    """
    record = record_table(write.database)
    c, name = record.c, write.name
    is_new = lock and _lock(session, record, write)
    query = select(c.project, c.stream, c.sink, c.target, c.epoch, c.batch_seq, c.fingerprint, c.boundary)
    rows = session.rows(query.where(_mine(record, write.owner)))
    folded = write.database.folded_table
    alike = or_(c.target == name, func.lower(c.target) == func.lower(literal(name)))
    others = session.rows(query.where(alike, ~_mine(record, write.owner)))
    for other in [other for other in others if folded(other[3]) == folded(name)]:
        raise DeliveryError(
            f"table {write.name} belongs to sink {other[2]} of stream {other[1]}"
            + ("" if other[0] == write.owner.project else f" of another project, {other[0]}"),
            remedy="write another `table` of the sink, such as '{stream}'; or, if nobody writes it any more, drop the "
            f"table and its row in {RECORD_TABLE}",
            stream=write.header.stream,
        )
    if not rows or is_new:
        return None
    if rows[0][3] != name:
        raise DeliveryError(
            f"the stream was in table {rows[0][3]} so far, not {name}",
            remedy=f"write the old name as `table` of the sink; or qbcd reset {write.header.stream}, delete its row in "
            f"{RECORD_TABLE} and prepare it again",
            stream=write.header.stream,
        )
    _, _, _, _, epoch, seq, fingerprint, boundary = rows[0]
    return TableRecord(int(epoch), int(seq), fingerprint, int(boundary))


def _lock(session: TargetSession, record: TableClause, write: TargetWrite) -> bool:
    """Lock the record by a write to it; insert it before a first batch, and return True.

    Every database understands such a lock. A second writer waits for the first one, or fails.
    """
    if session.run(update(record).where(_mine(record, write.owner)).values(boundary=record.c.boundary)):
        return False
    owner = write.owner
    session.run(
        insert(record).values(
            project=owner.project,
            stream=owner.stream,
            sink=owner.sink,
            target=write.name,
            epoch=0,
            batch_seq=0,
            fingerprint="",
            boundary=0,
        )
    )
    return True


def _advance(session: TargetSession, write: TargetWrite, found: TableRecord | None, boundary: int) -> None:
    """Set the record to the batch, if it is still what was read."""
    record, header = record_table(write.database), write.header
    before = found or TableRecord(0, 0, "")
    unchanged = and_(
        record.c.epoch == before.epoch, record.c.batch_seq == before.seq, record.c.fingerprint == before.fingerprint
    )
    changed = session.run(
        update(record)
        .where(_mine(record, write.owner), unchanged)
        .values(epoch=header.epoch, batch_seq=header.seq, fingerprint=header.fingerprint, boundary=boundary)
    )
    if changed != 1:
        raise DeliveryError(
            f"another process has written batch {header.number} meanwhile",
            remedy="the batch stays pending",
            stream=header.stream,
        )


def _mine(record: TableClause, owner: TableOwner) -> Any:
    return and_(record.c.project == owner.project, record.c.stream == owner.stream, record.c.sink == owner.sink)
