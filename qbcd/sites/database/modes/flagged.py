"""Polls by watermark of a table with a delete flag, and purge of flagged rows (TDI, ATDI)."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from qbcd.catalog.source import Session
from qbcd.model import Statement
from qbcd.model.checkpoint import Entry
from qbcd.sites.database import purge
from qbcd.sites.database.modes.window import WindowMode
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.values import ExplainedStatement
from qbcd.sites.watermark import next_window
from qbcd.state import StreamRow
from qbcd.strategies import Tdi
from qbcd.watermark import Window


class FlaggedWindowMode(WindowMode[Tdi]):
    """Each step lists the flagged rows of its window for a later poll to remove.

    Each poll first removes listed rows that all streams have read.
    """

    @override
    def complete_baseline(
        self, session: Session, row: StreamRow, entries: dict[str, Any]
    ) -> tuple[StreamRow, dict[str, Any]]:
        """Also list the flagged rows of the baseline."""
        row, entries = super().complete_baseline(session, row, entries)
        if self.strategy.purges:
            session.run(self.strategy.note_flagged(Window(None, entries[Entry.WATERMARK]["at"])))
        return row, entries

    @override
    def _before_window(self, poll: DatabasePoll) -> str:
        return purge.purge(poll, self.strategy)

    @override
    def _lists(self, new: Window | None, known: Window | None) -> list[Statement]:
        return purge.list_flagged(self.strategy, new, known)

    @override
    def _explain_window(self, row: StreamRow | None) -> list[ExplainedStatement]:
        statements = super()._explain_window(row)
        if not self.strategy.purges:
            return statements
        window, place = next_window(self.strategy, row), f"source {self.context.source.name}"
        remove = self.strategy.purge_rows([self.strategy.read_position(window.hi)])
        return [
            ExplainedStatement(
                "remove flagged rows that were reported, and that every reader has read",
                f"{place}, a transaction of its own, before the window is read",
                remove,
            ),
            ExplainedStatement(
                "list flagged rows for the next purge", f"{place}, one transaction", self.strategy.note_flagged(window)
            ),
            *statements,
        ]
