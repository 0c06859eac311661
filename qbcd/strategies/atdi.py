"""ATDI, TDI with a covering index (Carnes & Hanson 3.2.2, figures 5 and 6).

The index has all columns that a poll reads. The statements are those of TDI; the index lets the source
answer them without reading the table. The replica is the paper's projected copy, as for all strategies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from typing_extensions import override

from qbcd.config.strategy_base import StrategyClass
from qbcd.connectors.base import Index
from qbcd.strategies.tdi import FlagOptions, Tdi


class AtdiOptions(FlagOptions):
    """Options of the strategy that reads timestamp and delete flag from a covering index."""

    example = "write {type: atdi, timestamp: updated_at, delete_flag: is_deleted}"
    preference = 10
    type: Literal["atdi"] = "atdi"

    @classmethod
    @override
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """ATDI."""
        return Atdi


class Atdi(Tdi):
    """Statements of ATDI for one stream."""

    name = "atdi"
    covering = True

    @override
    def has_index(self, indexes: Sequence[Index]) -> bool:
        """Return True if one of `indexes` covers all columns that a poll reads."""
        lead, rest = self.index_columns()
        return any(
            i.ordered and not i.partial and i.columns[:1] == tuple(lead) and {*rest} <= {*i.columns, *i.included}
            for i in indexes
        )

    @override
    def index_columns(self) -> tuple[list[str], list[str]]:
        """Return the timestamp, and all other columns that a poll reads."""
        lead, rest = list(self.names), [self.flag, *(c.name for c in self.plan.captured)]
        return lead, [name for name in dict.fromkeys(rest) if name not in lead]
