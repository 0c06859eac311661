"""The history of a stream's own polls: changes, costs and speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qbcd.state import Run
from qbcd.strategies import costs
from qbcd.strategies.amounts import Amount

POLLS = 10


@dataclass(frozen=True)
class History:
    """The last polls of a stream that succeeded, latest first."""

    polls: tuple[Run, ...] = ()

    @classmethod
    def of(cls, runs: Sequence[Run]) -> History:
        """Return the last of `runs` that succeeded."""
        done = [run for run in runs if run.outcome in ("ok", "empty")]
        return cls(tuple(done[:POLLS]))

    @property
    def events(self) -> float:
        """Mean number of events of a poll."""
        return sum(sum(run.counts.values()) for run in self.polls) / len(self.polls) if self.polls else 0.0

    @property
    def seconds(self) -> float | None:
        """Mean seconds that the source worked in a poll; None without polls."""
        times = [float(run.cost.get("seconds") or 0.0) for run in self.polls]
        return sum(times) / len(times) if times else None

    def clustered(self, delta: float) -> Amount:
        """Return the share of changes that were next to each other, by the dirty ranges of polls."""
        ranged = [run.cost for run in self.polls if int(run.cost.get("ranges") or 0) > 1 and run.counts]
        if not ranged or not delta:
            return Amount(0.0, 1.0)
        dirty = sum(int(cost["dirty"]) for cost in ranged) / sum(int(cost["ranges"]) for cost in ranged)
        scattered = max(costs.dirty_ranges(_rows_per_range(ranged), delta, 0.0), 1e-9)
        near = 1.0 if scattered <= delta else (scattered - dirty) / (scattered - delta)
        return Amount.of(min(1.0, max(0.0, near)))

    def actual(self, name: str) -> Amount | None:
        """Return the range of an entry of the cost over the polls; None if no poll has it."""
        found = [float(run.cost[name]) for run in self.polls if run.cost.get(name) is not None]
        return Amount.between(*found) if found else None


def _rows_per_range(ranged: Sequence[Mapping[str, Any]]) -> float:
    rows = [int(cost["rows_scanned"]) / int(cost["ranges"]) for cost in ranged if cost.get("rows_scanned")]
    return sum(rows) / len(rows) if rows else 1000.0
