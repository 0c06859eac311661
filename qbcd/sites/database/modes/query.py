"""Polls of a query by the changed rows of its base tables (VBD, variant delta)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from typing_extensions import override

from qbcd.catalog.source import Session
from qbcd.common import hooks
from qbcd.model import Cost
from qbcd.model.checkpoint import Checkpoint, Entry
from qbcd.sites.checkpoint import AUDIT
from qbcd.sites.database import query_poll
from qbcd.sites.database.commit import StepResult
from qbcd.sites.database.explain import apply_statements, next_slice
from qbcd.sites.database.modes.base import AuditedMode, detection_of, shipped
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.database.poll_start import PollStart
from qbcd.sites.eligibility import Place, refuse_other_columns, refuse_unsafe_watermark, watermark_remarks
from qbcd.sites.values import Detection, ExplainedStatement
from qbcd.sites.watermark import next_window
from qbcd.state import StreamRow
from qbcd.strategies import VbdDelta, Watermarked


class QueryMode(AuditedMode[VbdDelta]):
    """Each poll computes the query for the keys that changed rows affect."""

    # -- eligibility -------------------------------------------------------------------------------------------------
    @override
    def watermarks(self) -> Sequence[Watermarked]:
        """Return the strategies of the base tables' timestamps."""
        return [lineage.watermarked for lineage in self.strategy.lineages if lineage.watermarked is not None]

    @override
    def known_watermarks(self, checkpoint: Checkpoint) -> list[tuple[Watermarked, str | None]]:
        """Return the strategy of each base table's timestamp with its watermark."""
        entries = checkpoint.entries[Entry.TABLE_WATERMARKS]
        found = [(one.watermarked, entries.get(one.name)) for one in self.strategy.lineages]
        return [(one, entry["at"] if entry else None) for one, entry in found if one is not None]

    @override
    def refuse_unfit(self, session: Session, place: Place) -> None:
        """Also refuse unsafe watermarks of base tables, and queries that change with expanded views."""
        source = self.context.source
        refuse_other_columns(source, session, self.strategy, place)
        for one in self.watermarks():
            refuse_unsafe_watermark(source, session, one, lambda option: place("timestamps"))
        super().refuse_unfit(session, place)

    @override
    def remarks(self, session: Session) -> list[str]:
        """Return remarks on the timestamps of base tables."""
        source = self.context.source
        return [
            f"{one.plan.table.label}: {remark}"
            for one in self.watermarks()
            for remark in watermark_remarks(source, session, one)
        ]

    # -- prepare -----------------------------------------------------------------------------------------------------
    @override
    def entries_before_baseline(self) -> dict[str, Any]:
        """Read the watermarks of the base tables."""
        entries = query_poll.watermarks_before(self.context, self.strategy)
        hooks.reach("after_horizon")
        return entries

    @override
    def complete_baseline(
        self, session: Session, row: StreamRow, entries: dict[str, Any]
    ) -> tuple[StreamRow, dict[str, Any]]:
        """Fill the lineages."""
        return row, {**entries, Entry.SWEPT: query_poll.fill(self.context, session, self.strategy)}

    # -- detect ------------------------------------------------------------------------------------------------------
    @override
    def _poll(self, poll: DatabasePoll, start: PollStart) -> Iterator[Detection]:
        run = query_poll.poll_whole if start.compare_all else query_poll.poll_affected
        result = run(poll, self.strategy)
        cost = Cost(result.found, shipped(poll, result.found), seconds=start.seconds)
        yield detection_of(poll, result, cost)
        yield from self._audit_if_due(poll)

    @override
    def _audit(self, poll: DatabasePoll, began: float) -> Iterator[StepResult]:
        poll.context.progress("audit: computing the whole query")
        yield query_poll.audit(poll, self.strategy, began)

    # -- explain -----------------------------------------------------------------------------------------------------
    @override
    def explain(self, row: StreamRow | None) -> list[ExplainedStatement]:
        """Return the statements for each base table, and those that run only if rows changed."""
        strategy, part = self.strategy, next_slice(row)
        place = f"source {self.context.source.name}, one transaction"
        affected = strategy.find_affected(strategy.lineages)
        only = "if rows changed"
        return [
            *self._explain_changed_rows(row, place),
            ExplainedStatement(f"find the keys that changed rows affect ({only})", place, affected),
            ExplainedStatement(
                f"compute the query for them, into the outbox ({only})", place, strategy.affected_differences(part)
            ),
            *apply_statements(strategy, part, place),
        ]

    def _explain_changed_rows(self, row: StreamRow | None, place: str) -> Iterator[ExplainedStatement]:
        entries = row.checkpoint[Entry.TABLE_WATERMARKS] if row else {}
        for lineage in self.strategy.lineages:
            since, how, due = None, "compare all rows with their lineage", ""
            if lineage.watermarked is not None:
                known = entries.get(lineage.name)
                since = known["at"] if known else next_window(lineage.watermarked, None).lo
                how, due = "read rows written since the watermark", ", when that is due"
            yield ExplainedStatement(f"{lineage.name}: {how}", place, lineage.find(since))
            if lineage.watermarked is None or self.strategy.deletes:
                title = f"{lineage.name}: find deleted rows{due}"
                yield ExplainedStatement(title, place, lineage.find_deleted())

    @override
    def explain_audit(self, row: StreamRow | None) -> list[ExplainedStatement]:
        """Return the whole query, and the statements that fill the lineages again."""
        place = f"source {self.context.source.name}, a transaction of its own"
        whole = self.strategy.all_differences(next_slice(row), AUDIT)
        return [
            ExplainedStatement("audit: compare the whole query with the replica, into the outbox", place, whole),
            *(
                ExplainedStatement(f"audit: fill the lineage of {of.name} again", "the same transaction", statement)
                for of in self.strategy.lineages
                for statement in (of.empty(), of.fill())
            ),
        ]
