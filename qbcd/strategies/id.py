"""ID, incremental differencing at the source (Carnes & Hanson 3.4, 3.5): MDS range by range.

An auxiliary table holds half-open key ranges; the first has no lower end, the last no upper end. Each range is compared
and applied in its own transaction, so tables of any size need no long transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from typing_extensions import override

from qbcd.config.strategy_base import StrategyClass
from qbcd.model import KeyRange, Statement
from qbcd.strategies.by_ranges import ByRanges, RangeOptions
from qbcd.strategies.event_choice import EventChoice, EventOptions
from qbcd.strategies.in_source import OutboxSlice


class IdOptions(RangeOptions, EventOptions):
    """Options of the strategy that compares table and source replica range by range."""

    meaning = ("events",)
    preference = 50

    type: Literal["id"] = "id"

    @classmethod
    @override
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """ID."""
        return Id


class Id(EventChoice, ByRanges):
    """Statements of ID for one stream."""

    name = "id"
    needs = (
        "SELECT on the table, with an index in the order of the key; a schema of qbcd's own in the source, with room "
        "for a copy of the captured rows"
    )
    sees = "every insert, update and delete, with old and new values, as the net change between two polls of a range"
    misses = "states between two polls; a key that moves between ranges may be a delete now and an insert later"

    @override
    def differences(self, part: OutboxSlice, within: KeyRange | None = None) -> Statement:
        """Write the differences between table and replica in one range into the outbox."""
        return self._part("changes", part, within)
