"""MDS, modified database schema (Carnes & Hanson 3.1, figure 1): a source replica.

One FULL JOIN on the keys (a LEFT JOIN and an anti-join on databases without it) finds inserts, updates and deletes in
the snapshot of one statement. The paper's three branches are one pass here (docs/paper.md#c1 to #c5).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from typing_extensions import override

from qbcd.config.strategy_base import StrategyClass
from qbcd.model import Consistency, KeyRange, Statement
from qbcd.strategies.event_choice import EventChoice, EventOptions
from qbcd.strategies.in_source import OutboxSlice, PollMode


class MdsOptions(EventOptions):
    """Options of the strategy that compares with a replica inside the source database."""

    preference = 40
    type: Literal["mds"] = "mds"

    @classmethod
    @override
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """MDS."""
        return Mds


class Mds(EventChoice):
    """Statements of MDS for one stream."""

    name = "mds"
    poll_mode: PollMode = "whole"
    consistency: Consistency = "statement"
    needs = "SELECT on the table; a schema of qbcd's own in the source, with room for a copy of the captured rows"
    sees = "every insert, update and delete, with old and new values, as the net change between two polls"
    misses = "states between two polls (a row inserted and deleted again leaves no event)"

    @override
    def differences(self, part: OutboxSlice, within: KeyRange | None = None) -> Statement:
        """Return the statement that finds all changes and writes them into the outbox."""
        return self._part("changes", part, within)
