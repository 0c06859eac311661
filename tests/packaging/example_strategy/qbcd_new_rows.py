"""New rows of a table, by their keys only: cheap for tables with inserts only, such as logs.

The replica in the source has keys only. A poll finds rows whose keys it does not have yet, and on request keys whose
rows were deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from typing_extensions import override

from qbcd.config.document import Problem
from qbcd.config.fields import Switch
from qbcd.config.strategy_base import StrategyClass, StrategyConfig, StrategyUse
from qbcd.connectors.base import Connector
from qbcd.model import Consistency, KeyRange, Statement, StreamPlan
from qbcd.strategies.amounts import Amount
from qbcd.strategies.in_source import InSource, OutboxSlice, PollMode
from qbcd.strategies.reads import OWN_PAGES, Reads, TableFacts, Term, added_up, scanned


class NewRowsOptions(StrategyConfig):
    """Options of the strategy that reports new rows.

    Attributes:
        deletes: Report deleted rows too.
    """

    meaning = ("deletes",)

    type: Literal["new_rows"] = "new_rows"
    deletes: Switch = False

    @property
    @override
    def without_old_values(self) -> str:
        """The reason why events have no old values."""
        return "keys are all that it keeps"

    @override
    def problems(self, use: StrategyUse) -> Iterator[Problem]:
        """A restriction hides rows from the comparison of keys, as if they were deleted."""
        yield from super().problems(use)
        if self.deletes and use.where:
            what = "with `deletes: true` a row that leaves the restriction would be reported as deleted"
            yield use.option_problem("deletes", what, "remove `deletes`, or remove `where`")

    @classmethod
    @override
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """Return the class of the strategy."""
        return NewRows


class NewRows(InSource):
    """Statements of the strategy for one stream."""

    name = "new_rows"
    poll_mode: PollMode = "whole"
    consistency: Consistency = "statement"
    keeps = "keys"
    needs = "SELECT on the table; a schema of qbcd's own in the source, with room for the keys"

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan, schema)
        self.deletes = bool(plan.option("deletes"))
        self.sees = "every insert" + (" and delete, without old values" if self.deletes else "")
        self.misses = "updates; states between two polls" + ("" if self.deletes else "; deletes")

    @override
    def reads(self, facts: TableFacts) -> Reads:
        """Return N + keys: the table and the keys are read once, twice without a FULL JOIN."""
        keys, own = self.replica_pages(facts), Amount.of(OWN_PAGES)
        terms = [scanned(facts), Term("keys", (("keys", keys),), keys), Term("own", (("own", own),), own)]
        found = added_up(facts, terms, times=1 if self.connector.full_join else 2)
        return replace(found, source_room=keys)

    @override
    def differences(self, part: OutboxSlice, within: KeyRange | None = None) -> Statement:
        """Write rows with new keys into the outbox, and on request keys without rows."""
        return self._part("changes", part, within)

    @override
    def _context(self) -> dict[str, Any]:
        return {"deletes": self.deletes}
