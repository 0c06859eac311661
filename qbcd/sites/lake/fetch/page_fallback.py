"""Fetch path: replace page ranges by hash buckets.

Page ranges save work if changes are on some of the pages. If most pages have a few changes, each poll would read the
whole table, while leaf checksums of hash buckets find the same changes at lower cost. So after some such polls the next
one builds all ranges by the key's hash. It reads all rows for that, as it would have anyway.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from typing_extensions import override

from qbcd.model.checkpoint import Entry
from qbcd.sites.lake.fetch import leaf_checksums
from qbcd.sites.lake.fetch.base import ReplanPath, is_enabled
from qbcd.sites.lake.fetch_plan import FetchPlan, total_of
from qbcd.sites.lake.poll import LakePoll, TablePoll
from qbcd.sites.lake.range_sizes import build_ranges
from qbcd.strategies.id_rcs import BUCKETS, FIXED

NAME = "page_fallback"
PATIENCE = 2  # consecutive polls that read most rows for few changes, after which the next one replaces pages
MOST_READ = 0.3  # of the rows
FEW = 0.05  # of the rows that were read: up to it, changes are few


class PageFallback(ReplanPath):
    """Build other ranges if pages were useless, or if the table no longer has page ranges.

    They are hash buckets, or ranges of the key if an option needs these.

    If it is switched off, useless page ranges stay; impossible ones are replaced anyway.
    """

    name = NAME
    is_optional = False

    @override
    def is_applicable(self, poll: TablePoll, plan: FetchPlan) -> bool:
        if not poll.strategy.partitioning.paged or poll.snapshot.reads_all:
            return False
        unselective = _unselective_polls(poll) >= PATIENCE and not poll.plan.option(FIXED)
        gives_up = is_enabled(NAME) and unselective and _reads_most(plan)
        return gives_up or not poll.context.strategy(poll.plan).is_by_pages

    @override
    def replan(self, poll: TablePoll, plan: FetchPlan) -> tuple[TablePoll, FetchPlan]:
        others = poll.plan.with_options(**{BUCKETS: poll.strategy.without_pages})
        poll = replace(poll, plan=others, strategy=poll.context.strategy(others))
        new = tuple(build_ranges(poll, poll.leased.row.next_range_id, total_of(poll.leased, plan)))
        now = {r.range_id: r for r in plan.asked}
        parents = tuple(now.get(r.range_id, r) for r in poll.due.known)
        return poll, replace(plan, asked=new, parents=parents, children=new, old=tuple(poll.due.known))


def entry_after_changes(poll: TablePoll, plan: FetchPlan, events: int) -> dict[str, Any]:
    """Return the entry after a poll with `events`: consecutive polls with useless pages."""
    if not poll.strategy.partitioning.paged or poll.snapshot.reads_all:
        return {}
    useless = plan.fetched >= leaf_checksums.LEAST_ROWS and _reads_most(plan)
    useless = useless and events <= FEW * plan.fetched  # without events, rows only moved
    return {Entry.UNSELECTIVE: _unselective_polls(poll) + 1 if useless else 0}


def _unselective_polls(poll: LakePoll) -> int:
    return int(poll.leased.checkpoint.get(Entry.UNSELECTIVE, 0))


def _reads_most(plan: FetchPlan) -> bool:
    return plan.fetched > MOST_READ * plan.scanned
