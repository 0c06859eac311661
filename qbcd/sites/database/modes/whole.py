"""Polls by one statement that compares a whole table or result (MDS, VBD compare)."""

from __future__ import annotations

import time
from collections.abc import Iterator

from typing_extensions import override

from qbcd.catalog.capture_change import change_of
from qbcd.catalog.source import Session
from qbcd.sites.database.explain import apply_statements, next_slice
from qbcd.sites.database.modes.base import DatabaseMode
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.database.poll_start import PollStart
from qbcd.sites.eligibility import why_not_incremental
from qbcd.sites.source_changes import server_changed
from qbcd.sites.values import Detection, ExplainedStatement
from qbcd.state import StreamRow
from qbcd.strategies import InSource


class WholeTableMode(DatabaseMode[InSource]):
    """The mode of polls that compare all rows.

    So another server or table makes no difference to them, unless they compare digests.
    """

    @override
    def remarks(self, session: Session) -> list[str]:
        return why_not_incremental(self.strategy)

    @override
    def _start(self, poll: DatabasePoll) -> PollStart:
        leased = poll.leased
        if self.strategy.keeps == "digests":
            server_changed(poll)  # refuses: digests of another server cannot be compared
        change = change_of(leased.row.checkpoint, self.plan)
        return PollStart(change, False, False, leased.checkpoint.rows, time.monotonic())

    @override
    def _poll(self, poll: DatabasePoll, start: PollStart) -> Iterator[Detection]:
        yield self._compare_table(poll, start)

    @override
    def explain(self, row: StreamRow | None) -> list[ExplainedStatement]:
        """Return the comparison and the statements that apply it."""
        part, place = next_slice(row), f"source {self.context.source.name}, one transaction"
        find = ExplainedStatement("find the changes, into the outbox", place, self.strategy.differences(part))
        return [find, *apply_statements(self.strategy, part, place)]
