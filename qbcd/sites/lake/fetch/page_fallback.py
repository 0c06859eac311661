"""Ranges of pages under Spark: whether they are of use, and how a stream goes over to buckets where they are not.

They pay where changes keep to some of the pages. Where a few changes lie on most of them, polls would read the whole
table again and again, and leaves of buckets (`qbcd.sites.lake.fetch.leaf_checksums`) find the same with less; so after
some polls of that kind the next one cuts all ranges anew, of the key's hash. It has to read all rows for that, as it
would have anyway.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qbcd.model import StreamPlan
from qbcd.sites.lake.dirty_ranges import build_ranges
from qbcd.sites.lake.fetch import leaf_checksums
from qbcd.sites.lake.fetch_plan import FetchPlan, total_of
from qbcd.strategies.id_rcs import BUCKETS, FIXED

if TYPE_CHECKING:
    from qbcd.sites.lake.context import LakeContext
    from qbcd.sites.lake.due_ranges import DueRanges
    from qbcd.sites.lake.snapshot import Snapshot
    from qbcd.sites.values import LeasedStream, Settings
    from qbcd.strategies import IdRcs

SPREAD = "spread"  # in the checkpoint: polls in a row that read most rows for few changes
PATIENCE = 2  # of them, after which the next one goes over to buckets
MOST_READ = 0.3  # of the rows
FEW = 0.05  # of the rows that were read, up to which changes are few


def note_unselective_poll(strategy: IdRcs, wanted: FetchPlan, held: LeasedStream, events: int) -> dict[str, Any]:
    """What the checkpoint says of a look that found `events`."""
    if not strategy.partitioning.paged:
        return {}
    useless = wanted.fetched >= leaf_checksums.LEAST_ROWS and wanted.fetched > MOST_READ * wanted.scanned
    useless = useless and events <= FEW * wanted.fetched  # none at all: rows moved, and nothing that is captured did
    return {SPREAD: int(held.row.checkpoint.get(SPREAD, 0)) + 1 if useless else 0}


def switch_to_hash(
    context: LakeContext,
    plan: StreamPlan,
    strategy: IdRcs,
    snapshot: Snapshot,
    settings: Settings,
    held: LeasedStream,
    turn: DueRanges,
    wanted: FetchPlan,
) -> tuple[StreamPlan, FetchPlan] | None:
    """The plan by buckets, and a look at all rows under their ranges; None where ranges of pages stay."""
    if not strategy.partitioning.paged or snapshot.anew:
        return None
    of_no_use = int(held.row.checkpoint.get(SPREAD, 0)) >= PATIENCE and not plan.option(FIXED)
    is_most = wanted.fetched > MOST_READ * wanted.scanned
    if not (of_no_use and is_most) and context.strategy(plan.on(snapshot.table)).is_by_pages:
        return None
    plan = plan.with_options(**{BUCKETS: "hash"})
    total = total_of(held, wanted)
    new = tuple(build_ranges(context, context.strategy(plan), snapshot, settings, held.row.next_range_id, total))
    now = {r.range_id: r for r in wanted.asked}
    parents = tuple(now.get(r.range_id, r) for r in turn.known)
    return plan, replace(wanted, asked=new, parents=parents, children=new, old=tuple(turn.known))
