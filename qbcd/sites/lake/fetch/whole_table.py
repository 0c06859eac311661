"""A table that has long been quiet is added up as a whole first, which is the cheapest look that there is.

Each connection scans its part of the storage for one count and one sum; nothing is grouped and no index is read. What
ranges remember adds up to the same where nothing changed. Where something did, they are asked for all the same, so the
table is scanned once for nothing: by then so many polls have found nothing that this is a tenth of what they cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd.sites.lake.checksums import total
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.state import Run
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from qbcd.sites.context import StreamContext
    from qbcd.sites.values import Settings

POLLS = 8  # in a row, of which none found that a range differs


def is_likely(context: StreamContext, strategy: IdRcs) -> bool:
    """Whether the last polls found nothing, and the next can be told so by one sum.

    Of a stream every poll of which compares all ranges: polls between two sweeps say nothing of the next one. And where
    connections can share one scan, and nothing wants ranges to be asked for some at a time.
    """
    if strategy.summed != "digest" or not strategy.partitioning.is_parted:
        return False
    if any(strategy.plan.option(name) for name in ("per_poll", "target")):
        return False
    runs = context.project.runs(context.stream, POLLS)
    return len(runs) == POLLS and all(_found_nothing(run) for run in runs)


def _found_nothing(run: Run) -> bool:
    return run.outcome == "empty" and not run.cost.get("dirty")


def rows_unchanged(
    context: StreamContext, strategy: IdRcs, snapshot: Snapshot, turn: DueRanges, settings: Settings
) -> int | None:
    """How many rows the table has, if it adds up to what its ranges remember; None if it does not."""
    context.progress("checksum of the whole table")
    rows, checksum = total(context.source, strategy, snapshot, settings.connections)
    known = sum(r.rows for r in turn.due), sum(r.checksum for r in turn.due)
    return rows if (rows, checksum) == known else None
