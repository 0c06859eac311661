"""A poll mode: operations of the database wing that depend on how polls read the source.

A strategy names its mode (`InSource.poll_mode`), and `qbcd.sites.database.modes.MODES` has the class of each.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from qbcd.catalog.capture_change import Change, change_of
from qbcd.catalog.source import Session
from qbcd.errors import Refused
from qbcd.model import Cost
from qbcd.model.checkpoint import Checkpoint
from qbcd.sites import source_changes
from qbcd.sites.checkpoint import due
from qbcd.sites.database import column_changes, open_batch
from qbcd.sites.database.commit import Find, StepRequest, StepResult, run_step
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.database.poll_start import PollStart, table_changed
from qbcd.sites.eligibility import Place, refuse_missing_rights
from qbcd.sites.guards import ACCEPTED_SOURCE
from qbcd.sites.values import Detection, ExplainedStatement
from qbcd.state import StreamRow
from qbcd.strategies import InSource, Watermarked

S = TypeVar("S", bound=InSource)


class DatabaseMode(ABC, Generic[S]):
    """Operations that differ by poll mode.

    Args:
        strategy: Its strategy, of a class that polls in this mode.

    Attributes:
        compares_restriction: A comparison before the poll applies another restriction; in other modes the poll itself
            compares all rows that it may affect.
    """

    compares_restriction = False

    def __init__(self, context: DatabaseContext, strategy: S) -> None:
        self.context, self.strategy, self.plan = context, strategy, strategy.plan

    # -- eligibility -------------------------------------------------------------------------------------------------
    def watermarks(self) -> Sequence[Watermarked]:
        """Return the strategies of the timestamps that polls use."""
        return ()

    def refuse_unfit(self, session: Session, place: Place) -> None:
        """Refuse a table, a role or options that cannot work; by default a role without the rights.

        Nothing has been created yet.

        Raises:
            UnsafeWatermark: Timestamps of this source are no watermark for this role.
            MissingPrivilege: The role lacks a right that the options need.
            Refused: The strategy cannot read the table.
        """
        refuse_missing_rights(self.context.source, session, self.strategy, place)

    def remarks(self, session: Session) -> list[str]:
        """Return remarks on polls that work, but cost the source more than they need to."""
        return []

    def known_watermarks(self, checkpoint: Checkpoint) -> list[tuple[Watermarked, str | None]]:
        """Return the strategies of `watermarks`, each with its watermark; None if all rows are read."""
        return []

    # -- prepare -----------------------------------------------------------------------------------------------------
    def entries_before_baseline(self) -> dict[str, Any]:
        """Read watermarks, before the baseline's transaction; return them for the checkpoint."""
        return {}

    def complete_baseline(
        self, session: Session, row: StreamRow, entries: dict[str, Any]
    ) -> tuple[StreamRow, dict[str, Any]]:
        """Add ranges, lineages and lists in the baseline's transaction.

        Returns:
            The stream's row and the checkpoint's entries with them.
        """
        return row, entries

    # -- detect ------------------------------------------------------------------------------------------------------
    def detect(self, poll: DatabasePoll) -> Iterator[Detection]:
        """Find changes in one or several steps; yield a detection for each step or sealed batch."""
        if unsealed := open_batch.seal(poll):  # of a process that was killed
            yield Detection(unsealed, Cost())
        start = self._start(poll)
        poll = replace(poll, attached=start.attached)
        if start.change.retyped:
            column_changes.widen_columns(poll, start.change)
        if start.change.columns or (start.change.where and self.compares_restriction):
            result = self._apply_change(poll, start.change)
            cost = Cost(self._table_rows + start.rows, shipped(poll, result.found), seconds=start.seconds)
            yield detection_of(poll, result, cost)
            start = replace(start, began=time.monotonic())
        if start.compare_all:
            self._rebuild_ranges(poll)
        yield from self._poll(poll, start)
        if start.change:
            yield Detection(None, Cost(), (start.change.describe(),))
        if start.attached:
            yield Detection(
                None, Cost(), (source_changes.attached_remark(self.plan, start.attached, compared=start.keeps_rows),)
            )
        elif start.table_changed:
            yield Detection(None, Cost(), (source_changes.remark(self.plan),))

    def _start(self, poll: DatabasePoll) -> PollStart:
        """Compare the source with the checkpoint."""
        began, rows = time.monotonic(), poll.leased.checkpoint.rows
        change = change_of(poll.leased.row.checkpoint, self.plan)
        server = source_changes.server_changed(poll)
        table = self.strategy.by_timestamps and table_changed(poll)
        attached = () if server or table else self._attached(poll)
        return PollStart(change, server, table, rows, began, attached, self.strategy.keeps == "rows")

    def _attached(self, poll: DatabasePoll) -> tuple[str, ...]:
        """Return a partition that was attached since the last poll and has unread rows.

        Polls would not read these rows.
        """
        checkpoint = poll.leased.checkpoint
        known = self.known_watermarks(checkpoint)
        return source_changes.attached_parts(poll.context.source, checkpoint.entries, self.plan, known)

    @abstractmethod
    def _poll(self, poll: DatabasePoll, start: PollStart) -> Iterator[Detection]:
        """Find changes of rows."""

    def _apply_change(self, poll: DatabasePoll, change: Change) -> StepResult:
        """Apply other captured columns or another restriction."""
        return column_changes.apply_change(poll, change, self.comparison(poll.leased.checkpoint))

    def _rebuild_ranges(self, poll: DatabasePoll) -> None:
        """Build all ranges again: on another server or table, bounds may be out of order."""

    def _compare_table(self, poll: DatabasePoll, start: PollStart) -> Detection:
        """Compare the whole table with the replica in one step."""
        poll.context.progress("comparing table and replica in the source")
        result = run_step(poll, StepRequest([self.strategy.differences]))
        cost = Cost(self._table_rows + start.rows, shipped(poll, result.found), seconds=start.seconds)
        return detection_of(poll, result, cost)

    @property
    def _table_rows(self) -> int:
        """Rows of the table by the catalog's statistics, 0 if unknown."""
        return max(self.plan.table.rows, 0)

    # -- comparison --------------------------------------------------------------------------------------------------
    def comparison(self, checkpoint: Checkpoint) -> list[Find]:
        """Return the statements that find all differences.

        With a watermark, they find differences of rows before it, except deleted rows.
        """
        return [self.strategy.differences]

    def verification(self, checkpoint: Checkpoint) -> list[Find]:
        """Return the statements that find all differences between table and replica.

        Rows past a watermark are pending, and are no differences.

        Raises:
            Refused: There is no replica to compare with.
        """
        if self.strategy.keeps == "nothing":
            raise Refused(
                "it keeps no replica, so there is nothing to compare",
                stream=self.plan.stream,
                remedy="use `replica: keys`, or `checksums: table`",
            )
        return [*self.comparison(checkpoint), *self._missing_keys()]

    def _missing_keys(self) -> list[Find]:
        """Return the statements that find deleted keys that `comparison` does not find."""
        return []

    def unseen_deletes(self) -> list[Find]:
        """Return the statements that find deletes which polls do not show; they are no differences."""
        return []

    # -- explain -----------------------------------------------------------------------------------------------------
    @abstractmethod
    def explain(self, row: StreamRow | None) -> list[ExplainedStatement]:
        """Return the statements of a poll, in order; `row` is None before `prepare`."""

    def explain_audit(self, row: StreamRow | None) -> list[ExplainedStatement]:
        """Return the statements of an audit; none in a mode whose polls compare all rows anyway."""
        return []


class AuditedMode(DatabaseMode[S]):
    """A mode whose polls may miss changes, so that audits are needed.

    An audit compares replica and source in full, at an interval.
    """

    @abstractmethod
    def _audit(self, poll: DatabasePoll, began: float) -> Iterator[StepResult]:
        """Compare replica and source in full, as events with reason ``audit``.

        `began` is the store's clock.
        """

    def _audit_if_due(self, poll: DatabasePoll) -> Iterator[Detection]:
        if audit_began := due(poll):
            began = time.monotonic()
            for result in self._audit(poll, audit_began):
                cost = Cost(self._table_rows, shipped(poll, result.found), seconds=time.monotonic() - began)
                yield detection_of(poll, result, cost)
                began = time.monotonic()


def detection_of(poll: DatabasePoll, result: StepResult, cost: Cost) -> Detection:
    """Return the result of a step, with warnings about refusals that a confirmation lifted."""
    accepted = (ACCEPTED_SOURCE,) if result.accepted_source else ()
    return Detection(result.header, cost, (*poll.leased.notes, *accepted), result.remarks)


def shipped(poll: DatabasePoll, found: int) -> int:
    """Return the number of `found` events that leave the source: all, or none without a sink."""
    return found if poll.settings.sinks else 0
