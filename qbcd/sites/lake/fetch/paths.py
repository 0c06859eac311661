"""The fetch paths, in the order in which a poll tries them, and the switch for some.

A poll takes the first applicable path of `DETECT` that helps, all applicable ones of `NARROW`, an applicable one of
`REPLAN`, and the first of `FETCH` that fetches the rows. The last path of `DETECT` and of `FETCH` always works.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from qbcd.sites.lake.commit import WrittenBatch
from qbcd.sites.lake.dirty_ranges import EveryRow, RangeChecksums, RowDigests
from qbcd.sites.lake.fetch import leaf_checksums, page_fallback, recent_writes, two_phase
from qbcd.sites.lake.fetch.base import DISABLED, FetchedRows, FetchPath, PlanPath, ReplanPath, RowsPath, is_enabled
from qbcd.sites.lake.fetch.leaf_checksums import KEY_RECOVERY, LeafChecksums
from qbcd.sites.lake.fetch.page_fallback import PageFallback
from qbcd.sites.lake.fetch.recent_writes import RecentWrites
from qbcd.sites.lake.fetch.streamed import StreamedKeys
from qbcd.sites.lake.fetch.two_phase import TwoPhase
from qbcd.sites.lake.fetch.whole_ranges import WholeRanges
from qbcd.sites.lake.fetch.whole_table import WholeTable
from qbcd.sites.lake.fetch_plan import FetchPlan
from qbcd.sites.lake.poll import TablePoll

DETECT: tuple[PlanPath, ...] = (EveryRow(), RowDigests(), WholeTable(), RangeChecksums())
NARROW: tuple[PlanPath, ...] = (LeafChecksums(), RecentWrites())
REPLAN: tuple[ReplanPath, ...] = (PageFallback(),)
FETCH: tuple[RowsPath, ...] = (StreamedKeys(), TwoPhase(), WholeRanges())
FETCH_PATHS: tuple[FetchPath, ...] = (*DETECT, *NARROW, *REPLAN, *FETCH)

SWITCHES = frozenset({path.name for path in FETCH_PATHS if path.is_optional} | {KEY_RECOVERY, page_fallback.NAME})


@contextmanager
def disabled(*names: str) -> Iterator[None]:
    """Switch fetch paths off by name, in this process, for tests and benchmarks.

    Polls still find the same events.

    Raises:
        ValueError: There is no such path, or polls need it.
    """
    unknown = set(names) - SWITCHES
    if unknown:
        raise ValueError(f"no fetch path to switch off: {', '.join(sorted(unknown))}")
    added = set(names) - DISABLED
    DISABLED.update(added)
    try:
        yield
    finally:
        DISABLED.difference_update(added)


def detect(poll: TablePoll) -> FetchPlan:
    """Return the plan for all dirty ranges among the due ones."""
    due = tuple(poll.due.due)
    plan = FetchPlan(due, (), (), due, 0)
    for path in DETECT:
        found = path.narrow(poll, plan) if _is_taken(path, poll, plan) else None
        if found is not None:
            return found
    raise AssertionError("range checksums are always applicable")


def narrow(poll: TablePoll, plan: FetchPlan) -> FetchPlan:
    """Return the plan for fewer rows of the dirty ranges, if a path finds them."""
    for path in NARROW:
        if _is_taken(path, poll, plan):
            plan = path.narrow(poll, plan) or plan
    return plan


def replan(poll: TablePoll, plan: FetchPlan) -> tuple[TablePoll, FetchPlan] | None:
    """Return the poll by other ranges and its plan, if a path needs them."""
    for path in REPLAN:
        if _is_taken(path, poll, plan):
            return path.replan(poll, plan)
    return None


def fetch(poll: TablePoll, plan: FetchPlan) -> FetchedRows:
    """Fetch the rows of the plan; return their comparison."""
    for path in FETCH if poll.reader is None else FETCH[-1:]:  # the last one fetches with the reader
        found = path.fetch(poll, plan) if _is_taken(path, poll, plan) else None
        if found is not None:
            return found
    raise AssertionError("whole ranges can always be fetched")


def _is_taken(path: FetchPath, poll: TablePoll, plan: FetchPlan) -> bool:
    return (is_enabled(path.name) or not path.is_optional) and path.is_applicable(poll, plan)


def entries_after_batch(poll: TablePoll, plan: FetchPlan, step: FetchedRows, found: WrittenBatch) -> dict[str, Any]:
    """Return the checkpoint entries by which later polls choose their paths.

    It also writes the file of leaf checksums.
    """
    events, spared = found.events, step.by_key and not plan.leaves
    return {
        **leaf_checksums.remember_after_changes(poll, plan, events, spared=spared),
        **recent_writes.entry_after_changes(poll, plan, events, by_key=step.by_key),
        **page_fallback.entry_after_changes(poll, plan, events),
        **two_phase.density_entry(poll, plan, events),
    }
