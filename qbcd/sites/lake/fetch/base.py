"""Interfaces of the fetch paths: one for each stage of a poll.

A poll detects dirty ranges, reduces the rows to fetch, may change the plan to other ranges, and then fetches rows.
`paths` has a tuple of paths for each stage, in order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from qbcd.sites.lake.commit import StagedComparison
from qbcd.sites.lake.fetch_plan import FetchPlan
from qbcd.sites.lake.poll import TablePoll

DISABLED: set[str] = set()  # names of paths that are switched off, by tests and benchmarks alone (`paths.disabled`)


def is_enabled(name: str) -> bool:
    """Return True unless the path `name` is switched off."""
    return name not in DISABLED


class FetchPath(ABC):
    """A way to find or fetch changed rows.

    Attributes:
        name: The name of its switch.
        is_optional: Polls find the same events without it, at another cost.
    """

    name: ClassVar[str]
    is_optional: ClassVar[bool] = True

    @abstractmethod
    def is_applicable(self, poll: TablePoll, plan: FetchPlan) -> bool:
        """Return True if the path is possible and likely to reduce costs."""


class PlanPath(FetchPath):
    """A path that reduces the rows to fetch, before any row is fetched."""

    @abstractmethod
    def narrow(self, poll: TablePoll, plan: FetchPlan) -> FetchPlan | None:
        """Return the reduced plan; None if the path does not help."""


class ReplanPath(FetchPath):
    """A path that fetches by other ranges than the stream had before."""

    @abstractmethod
    def replan(self, poll: TablePoll, plan: FetchPlan) -> tuple[TablePoll, FetchPlan]:
        """Return the poll by the new ranges, and its plan."""


class FetchedRows(StagedComparison[TablePoll]):
    """The rows that a fetch path has fetched.

    Attributes:
        size: Approximate bytes that travelled.
        rows: Approximate rows that were read; None for all rows of the dirty ranges.
        by_key: Rows were looked up by key.
    """

    size: int
    rows: int | None = None
    by_key: bool = False


class RowsPath(FetchPath):
    """A path that fetches rows."""

    @abstractmethod
    def fetch(self, poll: TablePoll, plan: FetchPlan) -> FetchedRows | None:
        """Fetch the rows.

        Return their comparison, or None to leave them to the next path.
        """
