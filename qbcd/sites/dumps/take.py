"""Take one dump: stage its rows, compare them with the replica, commit batch, replica and checkpoint in one step."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from qbcd import hooks
from qbcd.errors import DumpRefused, GuardTripped, UnsafeKey
from qbcd.files.formats import DumpReader
from qbcd.local.dumps import DumpRows, repeated_key
from qbcd.model import BatchHeader, Cost
from qbcd.sites.checkpoint import new_epoch
from qbcd.sites.dumps.plan import check_header, opened
from qbcd.sites.dumps.poll import FilePoll, compared_by, series_of, taken_by
from qbcd.sites.guards import check_guards
from qbcd.sites.lake.commit import PollStep, RangeChanges, WrittenBatch, new_batch, written_changes
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows
from qbcd.sites.lake.engines.local.by_method import ParquetSide, changes_by, sides_of
from qbcd.sites.lake.engines.local.engine import LocalEngine
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import NewSegment, travels_of
from qbcd.sites.lake.replica.schema import Fields, batch_fields, row_fields
from qbcd.sites.values import Detection
from qbcd.snapshots.base import ComparisonReport, Options
from qbcd.snapshots.feeds import JOIN, LastComparison, Sides
from qbcd.state import StoredRange
from qbcd.wording import counted


class StagedDump:
    """A dump whose rows are in files of the workdir.

    Attributes:
        files: The files.
        rows: Number of rows.
        header: Names of all columns of the dump.
    """

    def __init__(self, poll: FilePoll, range_id: int) -> None:
        self._poll = poll
        context, plan, dump = poll.context, poll.plan, poll.dump
        taken = taken_by(context, poll.leased.row.checkpoint)
        context.progress(f"reading {dump.name}")
        config = series_of(context).config
        try:
            reader: DumpReader = opened(dump, config, context.stream, taken.header if taken else ())
            if taken is not None:
                check_header(reader, plan, taken.header)
            rows = DumpRows(reader, plan.captured, len(plan.key))
            assert isinstance(poll.engine, LocalEngine)
            with rows.read_into(poll.engine.database, range_id, digest=poll.strategy.keeps == "digests") as query:
                self.files = context.files.write(poll.engine, query, self._fields(), "fetch", poll.leased)
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
        return row_fields(travels_of(self._poll.plan))

    def stage(self) -> Rows:
        """Return the rows.

        Raises:
            UnsafeKey: A key occurs more than once.
        """
        poll = self._poll
        rows = poll.context.files.read(poll.engine, self._fields(), self.files)
        assert isinstance(poll.engine, LocalEngine)
        if found := repeated_key(poll.engine.database, rows, len(poll.plan.key)):
            named = ", ".join(f"{c.name} {text}" for c, text in zip(poll.plan.key, found[0], strict=True))
            raise UnsafeKey(
                f"{poll.dump.name}: the key is not unique: {named} occurs {found[1]:,} times",
                stream=poll.context.stream,
                remedy="write the file again; or reset the stream and name more columns in `key`",
            )
        return rows

    def segment(self, stage: Rows) -> FileSet:
        """Return the files of the replica after the dump: those of the stage, or its keys and digests."""
        poll = self._poll
        if poll.strategy.keeps == "rows":
            return self.files
        fields = row_fields([c.travel for c in poll.strategy.stored_columns])
        return poll.context.files.write(poll.engine, stage, fields, "segment", poll.leased)


class DumpStep(PollStep[FilePoll]):
    """Compare a dump with the replica, and commit."""

    def __init__(self, poll: FilePoll, known: StoredRange, dump: StagedDump) -> None:
        super().__init__(poll, dump.files)
        self._known, self._dump = known, dump
        self._sides = Sides(0, 0, 0.0)
        self._report: ComparisonReport | None = None
        self.compared = LastComparison()

    def write(self) -> WrittenBatch:
        hooks.reach("after_fetch")
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
        """Return the changes that the method of the configuration, or the planner's, finds."""
        strategy = self.poll.strategy
        if strategy.keeps == "digests":
            self._sides = Sides(self._known.rows, self._dump.rows, 0.0)
            return self._by_join()
        old, new = self._both_sides()
        self._sides = sides_of(old, new)
        method = strategy.chosen(self._sides, compared_by(self.poll.leased.row.checkpoint)).method
        return self._by_join() if method == JOIN else self._by_method(method, old, new)

    def _by_join(self) -> Rows:
        poll = self.poll
        with poll.context.reading() as conn:
            old = poll.context.replica.rows(conn, poll.engine, poll.plan, poll.strategy.stored_columns, [self._known])
        by_digest = poll.strategy.keeps == "digests"
        return algebra.differences(old, self._stage, poll.plan, by="digest" if by_digest else "values")

    def _both_sides(self) -> tuple[ParquetSide, ParquetSide]:
        """Return the files of the replica and of the stage."""
        poll = self.poll
        with poll.context.reading() as conn:
            segments = poll.context.store.segments(conn, poll.context.stream)
        [replica] = [FileSet.of_segment(one) for one in segments if one.segment_id == self._known.segment]
        poll.context.files.prove_parts(replica, whole=True)
        width, keys = len(poll.plan.captured), len(poll.plan.key)
        root = poll.context.files.root
        old, new = (
            ParquetSide([root / part.part_id / file.name for file in part.files], width, keys, name)
            for part, name in ((replica, "the replica"), (self._dump.files, poll.dump.name))
        )
        return old, new

    def _by_method(self, method: str, old: ParquetSide, new: ParquetSide) -> Rows:
        poll = self.poll
        assert isinstance(poll.engine, LocalEngine)
        # the name of a part, which the next commit removes if this process is killed
        prefix = f"method-{poll.leased.row.fencing_token}-"
        with tempfile.TemporaryDirectory(prefix=prefix, dir=poll.context.files.root) as folder:
            options = Options(method=method, memory=poll.strategy.memory // 2, folder=Path(folder))
            range_id = self._known.range_id
            found = changes_by(poll.engine.database, old, new, poll.plan, options, range_id)
        self._report = found.report
        for failed, reason in found.report.restarts:
            poll.leased.notes.append(f"method {failed} was followed by {found.report.method}: {reason}")
        return found.rows

    def ranges(self, found: WrittenBatch) -> RangeChanges:
        if not found.counts:  # the replica has these rows already
            return RangeChanges()
        segment = self._dump.segment(self._stage)
        return RangeChanges(
            segment=NewSegment(segment, self._dump.rows, [replace(self._known, rows=self._dump.rows)], alone=True)
        )


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
        header = step.run(lambda found: poll.checkpoint_entries(dump.rows, dump.header, step.compared))
    size = poll.dump.size
    return Detection(
        header, Cost(dump.rows, dump.rows, size, 1, 1, time.monotonic() - started), tuple(poll.leased.notes)
    )


def take_first(poll: FilePoll) -> Detection:
    """Take the first dump as the replica; with `baseline_events` its rows are the first batch too."""
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
        checkpoint = poll.checkpoint_entries(dump.rows, dump.header)
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
        part = poll.context.files.write(poll.engine, batch, batch_fields(travels_of(plan)), "batch", leased)
    return new_batch(poll, WrittenBatch(part, {"r": known.rows}), epoch=epoch, ts_ms=poll.ts_ms)
