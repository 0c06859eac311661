"""ATDI, TDI with an index that holds all that a poll reads (Carnes & Hanson 3.2.2, figures 5 and 6).

The statements are those of TDI; the covering index lets the source answer them without a visit to the table. The
replica is the paper's projected copy, as always here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from qbcd.config.strategy_base import StrategyClass
from qbcd.connectors.base import Index
from qbcd.strategies import costs
from qbcd.strategies.base import Estimate
from qbcd.strategies.tdi import FlagOptions, Tdi
from qbcd.strategies.watermarked import DELTA, HEIGHT


class AtdiOptions(FlagOptions):
    """Options of the strategy that reads time-stamp and delete flag from a covering index."""

    example = "write {type: atdi, timestamp: updated_at, delete_flag: is_deleted}"
    type: Literal["atdi"] = "atdi"

    @classmethod
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """ATDI."""
        return Atdi


class Atdi(Tdi):
    """Statements of ATDI for one stream."""

    name = "atdi"
    covering = True

    def estimate(self, indexes: Sequence[Index] = ()) -> Estimate:
        """I*delta + delta*W + K = .014 N by the covering index (paper, figures 5 and 6), else as TDI.

        See docs/paper.md#c13.
        """
        if not self.has_index(indexes):
            return super().estimate(indexes)
        table = self.plan.table
        read = sum(c.width for c in (*self.plan.captured, *self.marks)) + 8
        index = round(table.pages * min(1.0, read / table.row_width)) if table.row_width and read else table.pages
        pages = costs.atdi(index, self._copied_pages, DELTA, HEIGHT)
        return self._estimated("I*delta + delta*W + K", pages, DELTA * table.rows)

    def has_index(self, indexes: Sequence[Index]) -> bool:
        """Whether a covering one is among `indexes`, by all its columns."""
        lead, rest = self.index_columns()
        return any(
            i.ordered and not i.partial and i.columns[:1] == tuple(lead) and {*rest} <= {*i.columns, *i.included}
            for i in indexes
        )

    def index_columns(self) -> tuple[list[str], list[str]]:
        """The time-stamp, and all else that a poll reads of the table."""
        lead, rest = list(self.names), [self.flag, *(c.name for c in self.plan.captured)]
        return lead, [name for name in dict.fromkeys(rest) if name not in lead]
