"""Take one dump: stage its rows, compare them with the replica, commit the result.

Batch, replica and checkpoint are committed in one step.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from qbcd.common import hooks
from qbcd.common.wording import counted
from qbcd.errors import DumpRefused, GuardTripped, UnsafeKey
from qbcd.files.formats import DumpReader
from qbcd.local.dumps import DumpRows
from qbcd.local.query import Query
from qbcd.model import BatchHeader, Cost
from qbcd.sites.checkpoint import new_epoch
from qbcd.sites.dumps.plan import FittedPlan, fitted_plan, opened, untyped_columns
from qbcd.sites.dumps.poll import FilePoll, compared_by, series_of
from qbcd.sites.guards import check_guards
from qbcd.sites.lake.commit import PollStep, RangeChanges, WrittenBatch, new_batch, refuse_unsupported, written_changes
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows
from qbcd.sites.lake.engines.local.by_method import ParquetSide, changes_by, sides_of
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import NewSegment
from qbcd.sites.lake.replica.schema import Fields, batch_fields, row_fields
from qbcd.sites.values import Detection
from qbcd.snapshots.base import ComparisonReport, Options
from qbcd.snapshots.feeds import JOIN, LastComparison, Sides, parts_of_join
from qbcd.sql.render import literal
from qbcd.state import StoredRange

_DIGEST_WIDTH = 128.0  # bytes of a key and a digest in memory, about


class StagedDump:
    """A dump whose rows are in files of the workdir.

    Attributes:
        poll: The poll, with the widest types of the stream's columns.
        fitted: The same types, and what the values of the replica need to have them.
        header: Names of all columns of the dump.
    """

    def __init__(self, poll: FilePoll, range_id: int) -> None:
        context, dump, taken = poll.context, poll.dump, poll.taken
        context.progress(f"reading {dump.name}")
        config = series_of(context).config
        try:
            reader: DumpReader = opened(dump, config, context.stream, taken.header if taken else ())
            if taken is None:
                self.fitted = FittedPlan(poll.plan, untyped=untyped_columns(reader, poll.plan))
            else:
                self.fitted = fitted_plan(reader, poll.plan, taken, digests=poll.strategy.keeps == "digests")
            self.poll = poll = poll.with_plan(self.fitted.plan)
            rows = DumpRows(reader, poll.plan.captured, len(poll.plan.key))
            kept = {"digest": poll.strategy.keeps == "digests", "wide": poll.plan.wide}
            with poll.reading() as local, rows.read_into(local.database, range_id, **kept) as query:
                self.files = context.files.write(local, query, self._fields(), "fetch", poll.leased)
            try:
                dump.check_unchanged()
            except DumpRefused:
                context.files.discard(self.files)
                raise
        except DumpRefused as error:
            error.stream = context.stream
            raise
        self.rows, self.header = rows.rows, tuple(reader.schema.names)

    def _fields(self) -> Fields:
        return row_fields(self.poll.plan)

    def stage(self) -> Rows:
        """Return the rows.

        Raises:
            UnsafeKey: A key occurs more than once.
        """
        poll = self.poll
        rows = poll.context.files.read(poll.engine, self._fields(), self.files)
        if found := algebra.repeated_key(poll.engine, rows, len(poll.plan.key)):
            named = ", ".join(f"{c.name} {text}" for c, text in zip(poll.plan.key, found[0], strict=True))
            raise UnsafeKey(
                f"{poll.dump.name}: the key is not unique: {named} occurs {found[1]:,} times",
                stream=poll.context.stream,
                remedy="write the file again; or reset the stream and name more columns in `key`",
            )
        return rows

    def segment(self, stage: Rows) -> FileSet:
        """Return the files of the replica after the dump.

        They have the rows of the stage, or its keys and digests.
        """
        poll = self.poll
        if poll.strategy.keeps == "rows":
            return self.files
        fields = row_fields(poll.plan, poll.strategy.stored_columns)
        return poll.context.files.write(poll.engine, stage, fields, "segment", poll.leased)


class DumpStep(PollStep[FilePoll]):
    """Compare a dump with the replica, and commit.

    Args:
        poll: The poll, with the types before the dump.
        known: The range of all rows.
    """

    def __init__(self, poll: FilePoll, known: StoredRange, dump: StagedDump) -> None:
        super().__init__(dump.poll, dump.files)
        self._before = poll
        self._known, self._dump = known, dump
        self._sides = Sides(0, 0, 0.0)
        self._report: ComparisonReport | None = None
        self.compared = LastComparison()

    @override
    def write(self) -> WrittenBatch:
        poll, dump = self.poll, self._dump
        poll.context.progress(f"comparing {counted(dump.rows, 'row')} with the replica")
        self._stage = dump.stage()
        changes = self._changes()
        before = poll.leased.checkpoint.rows
        found = written_changes(poll, changes, before + dump.rows)
        try:
            check_guards(poll, deletes=found.counts.get("d", 0), before=before, after=dump.rows)
        except GuardTripped:
            poll.context.files.discard(found.part)
            raise
        last = compared_by(poll.leased.row.checkpoint)
        self.compared = last.after(self._sides, found.counts, self._report)
        return found

    def _changes(self) -> Rows:
        found = changes_of(self._dump, self._stage, self._known)
        self._sides, self._report = found.sides, found.report
        if found.report is not None:
            for failed, reason in found.report.restarts:
                self.poll.leased.notes.append(f"method {failed} was followed by {found.report.method}: {reason}")
        return found.rows

    @override
    def checkpoint(self, found: WrittenBatch) -> dict[str, Any]:
        dump, untyped = self._dump, self._dump.fitted.untyped
        if not found.counts:  # the files of the replica stay, and so do its types
            return self._before.checkpoint_entries(
                dump.rows, dump.header, self._before.taken.untyped if self._before.taken else (), self.compared
            )
        return self.poll.checkpoint_entries(dump.rows, dump.header, untyped, self.compared)

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        if not found.counts:  # the replica has these rows already
            return RangeChanges()
        segment = self._dump.segment(self._stage)
        return RangeChanges(
            segment=NewSegment(segment, self._dump.rows, [replace(self._known, rows=self._dump.rows)], alone=True)
        )


@dataclass(frozen=True)
class DumpChanges:
    """The changes that turn the replica into a dump.

    Attributes:
        sides: Sizes of both sides.
        report: The figures of a method; None after a join.
    """

    rows: Rows
    sides: Sides
    report: ComparisonReport | None = None


def changes_of(dump: StagedDump, stage: Rows, known: StoredRange) -> DumpChanges:
    """Return the changes that the method of the configuration, or the planner's, finds.

    Args:
        stage: Its rows.
        known: The range of all rows of the replica.
    """
    poll, strategy = dump.poll, dump.poll.strategy
    if strategy.keeps == "digests":
        sides = Sides(known.rows, dump.rows, _DIGEST_WIDTH)
        return DumpChanges(_by_join(dump, stage, known, sides), replace(sides, width=0.0))
    old, new = _both_sides(dump, known)
    sides = sides_of(old, new)
    method = strategy.chosen(sides, compared_by(poll.leased.row.checkpoint)).method
    # Only joins run with Spark: `ProjectParts` leaves other methods to this process.
    if method == JOIN or poll.local is None:
        return DumpChanges(_by_join(dump, stage, known, sides), sides)
    # the name of a part, which the next commit removes if this process is killed
    prefix = f"method-{poll.leased.row.fencing_token}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=poll.context.files.root) as folder:
        options = Options(method=method, memory=strategy.memory // 2, folder=Path(folder))
        found = changes_by(poll.local.database, old, new, poll.plan, options, known.range_id)
    return DumpChanges(found.rows, sides, found.report)


def _by_join(dump: StagedDump, stage: Rows, known: StoredRange, sides: Sides) -> Rows:
    """Return the changes by a full join.

    If both sides do not fit into the memory of this process, it joins one part of the keys after the other.
    """
    poll, padding = dump.poll, dump.fitted.padding
    with poll.context.reading() as conn:
        old: Rows = poll.context.replica.rows(conn, poll.engine, poll.plan, poll.strategy.stored_columns, [known])
    if padding:
        added = {f"c{place}": f"c{place} || {literal(text)}" for place, text in padding.items()}
        old = algebra.selected(old, {name: added.get(name, name) for name in old.columns})
    by: algebra.By = "digest" if poll.strategy.keeps == "digests" else "values"
    parts = parts_of_join(sides, poll.strategy.memory)
    if parts == 1 or poll.local is None:  # Spark spills
        return algebra.differences(old, stage, poll.plan, by=by)
    database = poll.local.database
    table = database.new_name()
    for part in range(parts):
        before, after = (
            Query(f"SELECT * FROM ({rows.sql}) WHERE hash(key_id) % {parts:d} = {part:d}", rows.columns)
            for rows in (old, stage)
        )
        found = algebra.differences(before, after, poll.plan, by=by)
        database.connection.execute(f"{f'INSERT INTO {table}' if part else f'CREATE TABLE {table} AS'} {found.sql}")
    return Query(f"SELECT * FROM {table}", found.columns)


def _both_sides(dump: StagedDump, known: StoredRange) -> tuple[ParquetSide, ParquetSide]:
    """Return the files of the replica and of the stage."""
    poll = dump.poll
    with poll.context.reading() as conn:
        segments = poll.context.store.segments(conn, poll.context.stream)
    [replica] = [FileSet.of_segment(one) for one in segments if one.segment_id == known.segment]
    poll.context.files.prove_parts(replica, whole=True)
    width, keys = len(poll.plan.captured), len(poll.plan.key)
    old, new = (
        ParquetSide(poll.context.files.paths(part), width, keys, name)
        for part, name in ((replica, "the replica"), (dump.files, poll.dump.name))
    )
    old.convert(new.schema, dump.fitted.padding)
    return old, new


def take_dump(poll: FilePoll) -> Detection:
    """Take a dump: commit its changes, and that it was taken, in one step.

    Raises:
        DumpRefused: It is truncated, damaged, or has other columns.
        GuardTripped: It has too few rows of the replica.
        UnsafeKey: A key is not unique.
    """
    started = time.monotonic()
    [known] = poll.known_ranges()
    with ExitStack() as work:
        poll = work.enter_context(poll.on_engine(0))
        dump = StagedDump(poll, known.range_id)
        step = DumpStep(poll, known, dump)
        header = step.run({})
    size = poll.dump.size
    return Detection(
        header, Cost(dump.rows, dump.rows, size, 1, 1, time.monotonic() - started), tuple(poll.leased.notes)
    )


def take_first(poll: FilePoll) -> Detection:
    """Take the first dump as the replica.

    With `baseline_events` its rows are the first batch too.
    """
    started, context, leased = time.monotonic(), poll.context, poll.leased
    epoch = new_epoch(leased.row)
    with context.reading() as conn:
        now = context.store.now(conn)
    with ExitStack() as work:
        poll = work.enter_context(poll.on_engine(0))
        dump = StagedDump(poll, leased.row.next_range_id)
        try:
            stage = dump.stage()
            segment = dump.segment(stage)
        except BaseException:
            context.files.discard(dump.files)
            raise
        known = StoredRange(leased.row.next_range_id, None, None, rows=dump.rows, last_visited=now)
        header = _first_batch(poll, stage, known, epoch) if poll.settings.baseline_events and dump.rows else None
        hooks.reach("after_stage")
        checkpoint = poll.checkpoint_entries(dump.rows, dump.header, dump.fitted.untyped)
        hooks.reach("before_commit")
        with context.writing() as conn:
            folded = header.seq if header else leased.row.last_batch_seq
            row = context.replica.replace_all(
                conn, leased.row, NewSegment(segment, dump.rows, [known]), epoch=epoch, folded=folded
            )
            row = context.commit(conn, row, leased, header, checkpoint, epoch=epoch, prepared=True)
        leased.row = row
        context.files.discard(dump.files, unless=segment == dump.files)
        hooks.reach("after_commit")
    return Detection(header, Cost(dump.rows, dump.rows, poll.dump.size, 1, 1, time.monotonic() - started))


def _first_batch(poll: FilePoll, stage: Rows, known: StoredRange, epoch: int) -> BatchHeader | None:
    plan, leased = poll.plan, poll.leased
    changes = algebra.baseline(stage, len(plan.captured))
    with poll.engine.numbered(changes, leased.row.last_batch_seq + 1, known.rows) as batch:
        part = poll.context.files.write(poll.engine, batch, batch_fields(plan), "batch", leased)
    refuse_unsupported(poll, part)
    return new_batch(poll, WrittenBatch(part, {"r": known.rows}), epoch=epoch, ts_ms=poll.ts_ms)
