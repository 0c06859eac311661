"""Polls by watermark (TS): read the next watermark, then the window, and sweep if due.

The window is read in one step. The watermark is read in its own transaction, which ends before the rows are read
(docs/design/protocol.md#rule-6). If the table or the server is another one, the window has all rows; deleted keys are
then a separate step and batch (docs/design/protocol.md#rule-14).

An audit follows a poll and compares the rows before the watermark, which no later window would read; newer ones are
pending (docs/design/protocol.md#rule-19). It has two steps too, whose deletes the guards count together
(docs/design/protocol.md#rule-17).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from typing_extensions import override

from qbcd.catalog.source import Session
from qbcd.common import hooks
from qbcd.model import Cost, Statement
from qbcd.model.checkpoint import Checkpoint, Entry
from qbcd.ranges import schedule
from qbcd.sites.checkpoint import AUDIT
from qbcd.sites.database import range_sizes
from qbcd.sites.database.commit import Counts, Find, StepRequest, StepResult, run_step
from qbcd.sites.database.explain import apply_statements, next_slice, range_statements
from qbcd.sites.database.modes.base import AuditedMode, detection_of, shipped
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.database.poll_start import PollStart
from qbcd.sites.database.range_poll import RangePoll
from qbcd.sites.eligibility import STORED, Place, refuse_unordered_key, refuse_unsafe_watermark, watermark_remarks
from qbcd.sites.guards import Deletes
from qbcd.sites.values import Detection, ExplainedStatement
from qbcd.sites.watermark import next_watermark, next_window, watermark_of_poll
from qbcd.state import StreamRow
from qbcd.strategies import OutboxSlice, Watermarked
from qbcd.watermark import Window

W = TypeVar("W", bound=Watermarked)


class WindowMode(AuditedMode[W]):
    """Each poll reads the rows between two watermarks."""

    compares_restriction = True

    # -- eligibility -------------------------------------------------------------------------------------------------
    @override
    def watermarks(self) -> Sequence[Watermarked]:
        """Return the strategy itself."""
        return (self.strategy,)

    @override
    def known_watermarks(self, checkpoint: Checkpoint) -> list[tuple[Watermarked, str | None]]:
        """Return the strategy with the stream's watermark."""
        return [(self.strategy, checkpoint.watermark["at"])]

    @override
    def refuse_unfit(self, session: Session, place: Place) -> None:
        """Also refuse an unsafe watermark, and for sweeps a key without an index in its order."""
        refuse_unsafe_watermark(self.context.source, session, self.strategy, place)
        super().refuse_unfit(session, place)
        if self.strategy.by_ranges and self.plan.table.kind in STORED:
            refuse_unordered_key(self.context.source, session, self.strategy, place)

    @override
    def remarks(self, session: Session) -> list[str]:
        """Return remarks on the timestamp and its index."""
        return watermark_remarks(self.context.source, session, self.strategy)

    # -- prepare -----------------------------------------------------------------------------------------------------
    @override
    def entries_before_baseline(self) -> dict[str, Any]:
        """Read the watermark (docs/design/protocol.md#rule-6)."""
        entry = next_watermark(self.context.source, self.strategy, None).entry
        hooks.reach("after_horizon")
        return {Entry.WATERMARK: entry, Entry.SWEPT: 0.0}

    @override
    def complete_baseline(
        self, session: Session, row: StreamRow, entries: dict[str, Any]
    ) -> tuple[StreamRow, dict[str, Any]]:
        """Build the ranges for sweeps."""
        if self.strategy.by_ranges:
            row, usual = range_sizes.build_ranges(session, self.context, self.strategy, row)
            now = self.context.store.now(session.connection)
            entries = {**entries, Entry.USUAL_RANGE: usual, Entry.SWEPT: now}
        return row, entries

    # -- detect ------------------------------------------------------------------------------------------------------
    @override
    def _rebuild_ranges(self, poll: DatabasePoll) -> None:
        if self.strategy.by_ranges:
            range_sizes.rebuild(poll, self.strategy)

    @override
    def _poll(self, poll: DatabasePoll, start: PollStart) -> Iterator[Detection]:
        for result in self._steps(poll, start):
            found = result.found
            cost = Cost(self.strategy.rows_read(found), shipped(poll, found), seconds=start.seconds)
            yield detection_of(poll, result, cost)
            start = replace(start, began=time.monotonic())
        yield from self._audit_if_due(poll)

    def _steps(self, poll: DatabasePoll, start: PollStart) -> Iterator[StepResult]:
        """Read the window, find deleted keys if all rows were compared, sweep if due."""
        yield self._read_window(poll, start)
        if Entry.MISSING_KEYS in poll.leased.checkpoint and not poll.context.stopping():
            poll.context.progress("looking for deleted keys")
            earlier = Deletes.from_checkpoint(poll.leased, Entry.MISSING_KEYS)
            request = StepRequest([self.strategy.sweep], guarded=earlier, drop=(Entry.MISSING_KEYS,))
            yield run_step(poll, request)
        if began := self._sweep_due(poll):
            for header in RangePoll(poll, self.strategy).batches():
                yield StepResult(header.counts, header)
            self._remember_sweep(poll, began)

    def _read_window(self, poll: DatabasePoll, start: PollStart) -> StepResult:
        """Run the step that reads the rows up to the next watermark.

        If server or table is another one, or a partition was attached, all rows are read.
        """
        leased, strategy, compare_all = poll.leased, self.strategy, start.compare_all
        read_all = compare_all or bool(start.attached)
        # The watermark of another server, or of a counter of another table, has no meaning.
        void = start.server_changed or (start.table_changed and strategy.kind == "counter")
        before = "" if compare_all else self._before_window(poll)
        ahead = watermark_of_poll(poll.context, leased, strategy, None if void else leased.checkpoint.watermark)
        hooks.reach("after_horizon")
        until, known = ahead.entry["at"], leased.checkpoint.watermark["at"]
        window = strategy.window(None if read_all or ahead.reread else known, until)
        # Among all compared rows, those since the last poll are new to the stream.
        new = strategy.window(known, until) if compare_all and not void else None
        # A stream without sweeps sees no deletes, also not after an ALTER.
        missing = compare_all and (start.server_changed or bool(self.plan.option("deletes")))
        deletes = Deletes.from_checkpoint(leased, Entry.MISSING_KEYS)
        lists: list[Statement] = []
        if window is not None:
            lists = self._lists(new, window) if compare_all else self._lists(window, None)

        def finish(session: Session, part: OutboxSlice, counts: Counts) -> Mapping[str, Any]:
            entries: dict[str, Any] = {}
            if ahead.entry != leased.checkpoint.watermark:
                entries[Entry.WATERMARK] = ahead.entry
            return {**entries, Entry.MISSING_KEYS: deletes.after(leased, counts)} if missing else entries

        request = StepRequest(
            [lambda part: strategy.window_changes(part, window)] if window else [],
            before=lists,
            finish=finish,
            guarded=deletes if missing else None,
            compare_all=read_all,
        )
        return replace(run_step(poll, request), remarks=tuple(filter(None, (before, ahead.remark))))

    def _before_window(self, poll: DatabasePoll) -> str:
        """Run statements that must precede the watermark; return a remark for the user."""
        return ""

    def _lists(self, new: Window | None, known: Window | None) -> list[Statement]:
        """Return statements that list rows of a window for later.

        Args:
            new: Window of rows that are new to the stream.
            known: Window of rows that are compared again.
        """
        return []

    # -- sweep -------------------------------------------------------------------------------------------------------
    def _sweep_due(self, poll: DatabasePoll) -> float:
        """Return the store's clock if a sweep is due, or was begun and not finished; otherwise 0."""
        every: timedelta | None = self.plan.option("deletes")
        if every is None:
            return 0.0
        with poll.context.reading() as conn:
            now = poll.context.store.now(conn)
        return now if schedule.is_due(poll.leased.checkpoint.swept, every, now) else 0.0

    def _remember_sweep(self, poll: DatabasePoll, began: float) -> None:
        """Commit the time of the sweep, for the interval to the next one, unless the job is to stop."""
        context, leased = poll.context, poll.leased
        if context.stopping():
            return
        with context.source.write(context.stream) as session:
            row = leased.row
            context.lock(session.connection, row)
            checkpoint = {**row.checkpoint, Entry.SWEPT: began}
            advanced = context.commit(session.connection, row, leased, None, checkpoint)
        leased.row = advanced

    # -- audit -------------------------------------------------------------------------------------------------------
    @override
    def _audit(self, poll: DatabasePoll, began: float) -> Iterator[StepResult]:
        """Compare the rows before the watermark, then find deleted keys.

        Each is a separate step and batch.
        """
        context, leased, strategy = poll.context, poll.leased, self.strategy
        window = strategy.window(None, leased.checkpoint.watermark["at"])
        if window is not None:
            context.progress("audit: comparing rows with the replica")
            yield run_step(poll, self._audit_rows(poll, window))
        if not context.stopping():
            context.progress("audit: looking for deleted keys")
            request = StepRequest(
                [lambda part: strategy.sweep(part, reason=AUDIT)],
                finish=lambda *step: {Entry.AUDITED: began},
                guarded=Deletes.from_checkpoint(leased, Entry.AUDITING),
                drop=(Entry.AUDITING,),
            )
            yield run_step(poll, request)

    def _audit_rows(self, poll: DatabasePoll, window: Window) -> StepRequest:
        leased, deletes = poll.leased, Deletes.from_checkpoint(poll.leased, Entry.AUDITING)
        return StepRequest(
            [lambda part: self.strategy.window_changes(part, window, repeats=False, reason=AUDIT)],
            before=self._lists(None, window),
            finish=lambda session, part, counts: {Entry.AUDITING: deletes.after(leased, counts)} if counts else {},
            guarded=deletes,
        )

    # -- comparison --------------------------------------------------------------------------------------------------
    @override
    def comparison(self, checkpoint: Checkpoint) -> list[Find]:
        """Return the statement that compares the rows before the watermark."""
        entry = checkpoint.get(Entry.WATERMARK)
        window = self.strategy.window(None, entry["at"]) if entry else None
        return [lambda part: self.strategy.window_changes(part, window, repeats=False)] if window else []

    @override
    def _missing_keys(self) -> list[Find]:
        return [] if self.strategy.blind_to_deletes else [self.strategy.sweep]

    @override
    def unseen_deletes(self) -> list[Find]:
        """Return the search for missing keys, for a strategy whose windows do not show deletes."""
        return [self.strategy.sweep] if self.strategy.blind_to_deletes else []

    # -- explain -----------------------------------------------------------------------------------------------------
    @override
    def explain(self, row: StreamRow | None) -> list[ExplainedStatement]:
        """Return the statements of a window, and of a sweep in one range."""
        statements = self._explain_window(row)
        if self.strategy.by_ranges:
            title = "find deleted keys"
            statements += range_statements(self.context, self.strategy, title, row)
        return statements

    def _explain_window(self, row: StreamRow | None) -> list[ExplainedStatement]:
        part, place = next_slice(row), f"source {self.context.source.name}, one transaction"
        find = self.strategy.window_changes(part, next_window(self.strategy, row))
        read = ExplainedStatement("read the window, into the outbox", place, find)
        return [read, *apply_statements(self.strategy, part, place)]

    @override
    def explain_audit(self, row: StreamRow | None) -> list[ExplainedStatement]:
        """Return the statements of both steps."""
        part, place = next_slice(row), f"source {self.context.source.name}, a transaction of its own"
        until = Window(None, next_window(self.strategy, row).hi)
        rows = self.strategy.window_changes(part, until, repeats=False, reason=AUDIT)
        keys = self.strategy.sweep(part, reason=AUDIT)
        compare = "audit: compare all rows before the watermark with the replica, into the outbox"
        return [
            ExplainedStatement(compare, place, rows),
            ExplainedStatement("audit: find deleted keys, into the outbox", place, keys),
        ]
