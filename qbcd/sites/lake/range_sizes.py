"""Build, split and merge the ranges of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from qbcd.model import KeyRange, StreamPlan
from qbcd.ranges import partition
from qbcd.sites.lake.checksums import without_digest
from qbcd.sites.lake.fetch_plan import FetchPlan, total_of
from qbcd.sites.lake.poll import TablePoll
from qbcd.state import StoredRange
from qbcd.state.rows import merge_ranges


def estimated(plan: StreamPlan) -> int:
    """Return the number of rows by the table's statistics; 0 if unknown, as with a restriction."""
    return 0 if plan.where else max(0, plan.table.rows)


def build_ranges(poll: TablePoll, first_id: int, total: int, within: KeyRange | None = None) -> list[StoredRange]:
    """Build ranges over the table, which has about `total` rows, or over one range of it.

    Args:
        first_id: The first new range id.
        total: Approximate number of rows of the table.
        within: The range to split; None for the whole table.
    """
    poll.context.progress("building key ranges")
    settings, partitioning = poll.settings, poll.strategy.partitioning
    size = settings.range_size(total)
    asked = partitioning.bounds(size, within)
    found = poll.snapshot.session.rows(asked) if asked else []
    if within is not None:
        bare = partitioning.parts(found, size, first_id, within, total)
    else:
        total = partitioning.counted(found, size)
        bare = partitioning.ranges(found, settings.range_size(total), first_id, settings.most_ranges)
        size = total // len(bare)
    return [StoredRange(r.range_id, r.lo, r.hi, rows=size) for r in bare]


def split_outgrown(poll: TablePoll, plan: FetchPlan) -> FetchPlan:
    """Return the plan with large ranges split.

    One query for each range finds the bounds of its parts.
    """
    total = total_of(poll.leased, plan)
    outgrown = {r.range_id for r in plan.outgrown(poll.settings.range_size(total))}
    asked: list[StoredRange] = []
    parents: list[StoredRange] = []
    children: list[StoredRange] = []
    for one in plan.asked:
        own: list[StoredRange] = []
        if one.range_id in outgrown:
            first_id = poll.leased.row.next_range_id + len(children)
            whole = replace(one, only=None)
            own = build_ranges(poll, first_id, total, within=whole)
        if len(own) <= 1:  # bounds may be of another state than counts, and rows of one hash stay together
            asked.append(one)
            continue
        parents.append(whole)
        children += own
        asked += own
    if not children:
        return plan
    split = {r.range_id for r in parents}
    old = tuple(replace(r, only=None) if r.range_id in split else r for r in plan.old)
    return replace(plan, asked=tuple(asked), parents=tuple(parents), children=tuple(children), old=old, traced=None)


def merge_small(poll: TablePoll, plan: FetchPlan) -> FetchPlan:
    """Return the plan with small adjacent ranges merged if at least one of them is fetched.

    Only for a plan whose rows become a segment; other ranges are merged when the replica is compacted.
    """
    now, split = {r.range_id: r for r in plan.unsplit}, {r.range_id for r in plan.parents}
    due = [now.get(r.range_id, r) for r in poll.due.due if r.range_id not in split]  # other ranges are unchanged
    size = poll.settings.range_size(plan.scanned + poll.due.rows_not_due)
    groups = [g for run in partition.runs(due) for g in poll.strategy.partitioning.joined(run, size)]
    small = [g for g in groups if len(g) > 1 and any(r.range_id in now for r in g)]
    first_id = poll.leased.row.next_range_id + len(plan.children)
    new = [replace(r, last_visited=0.0) for r in merge_ranges(small, first_id)]
    place = {r.range_id: one for one, group in zip(new, small, strict=True) for r in group}
    asked = list(dict.fromkeys(place.get(r.range_id, r) for r in plan.asked))
    parents = [r for group in small for r in group]
    unchanged = [r for r in parents if r.range_id not in now]
    return replace(
        plan,
        asked=tuple(asked),
        parents=(*plan.parents, *parents),
        children=(*plan.children, *new),
        merged=tuple(new),
        old=(*plan.old, *unchanged),
    )


def with_counts(
    stream: str, asked: Sequence[StoredRange], sums: Mapping[int, tuple[int, int | None]]
) -> list[StoredRange]:
    """Return `asked` with count and checksum of the rows that were read, by range.

    A range without rows is empty.

    Raises:
        TornRead: A row has no digest.
    """
    counted = []
    for one in asked:
        rows, checksum = sums.get(one.range_id, (0, 0))
        if checksum is None:
            raise without_digest(stream, one.range_id)
        counted.append(replace(one, rows=rows, checksum=checksum))
    return counted
