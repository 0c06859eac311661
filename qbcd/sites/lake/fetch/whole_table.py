"""Fetch path: one checksum over the whole table first, after several polls without changes.

Each connection scans its part of the storage for one count and one sum; nothing is grouped and no index is read. If the
result is the sum of the range checksums, nothing has changed. Otherwise range checksums follow as usual, and this scan
was useless: after that many polls without changes it adds a tenth to their cost.
"""

from __future__ import annotations

from typing_extensions import override

from qbcd.sites.context import StreamContext
from qbcd.sites.lake.checksums import table_checksum
from qbcd.sites.lake.fetch.base import PlanPath
from qbcd.sites.lake.fetch_plan import FetchPlan
from qbcd.sites.lake.poll import TablePoll
from qbcd.strategies import IdRcs

POLLS = 8  # consecutive polls without a dirty range


class WholeTable(PlanPath):
    """Prove with one checksum that no range is dirty."""

    name = "whole_table"

    @override
    def is_applicable(self, poll: TablePoll, plan: FetchPlan) -> bool:
        return is_likely(poll.context, poll.strategy, len(poll.due.due))

    @override
    def narrow(self, poll: TablePoll, plan: FetchPlan) -> FetchPlan | None:
        rows = rows_unchanged(poll)
        return None if rows is None else FetchPlan((), (), (), (), rows)


def is_likely(context: StreamContext, strategy: IdRcs, ranges: int) -> bool:
    """Return True if the last polls found nothing, and one checksum can prove that again.

    A table of one range has only one checksum anyway.

    Every poll of the stream must compare all ranges: polls between two sweeps do not predict the next sweep. And
    connections must be able to share one scan, without a pace or `per_poll`, which read some ranges at a time.
    """
    if ranges < 2 or strategy.summed != "digest" or not strategy.partitioning.is_parted:
        return False
    if any(strategy.plan.option(name) for name in ("per_poll", "target")):
        return False
    return context.found_nothing(POLLS)


def rows_unchanged(poll: TablePoll) -> int | None:
    """Return the table's row count if its checksum is the sum of all range checksums.

    Otherwise return None.
    """
    poll.context.progress("checksum of the whole table")
    rows, checksum = table_checksum(poll)
    known = sum(r.rows for r in poll.due.due), sum(r.checksum for r in poll.due.due)
    return rows if (rows, checksum) == known else None
