"""Which ranges a poll fetches: those that differ from the replica's, cut anew where they have outgrown their size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qbcd import hooks
from qbcd.connectors.ranges import SupportsLeafChecksums
from qbcd.errors import TornRead
from qbcd.model import KeyRange, StreamPlan
from qbcd.ranges import partition
from qbcd.sites.guards import check_pass, counted_now
from qbcd.sites.lake.checksums import checksums, without_digest
from qbcd.sites.lake.fetch import leaf_checksums, whole_table
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.state import StoredRange
from qbcd.state.rows import merge_ranges
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from qbcd.sites.context import StreamContext
    from qbcd.sites.lake.context import LakeContext
    from qbcd.sites.lake.due_ranges import DueRanges
    from qbcd.sites.values import LeasedStream, Settings
from qbcd.sites.lake.fetch_plan import NO_SNAPSHOT, FetchPlan, total_of


def find_dirty_ranges(
    context: LakeContext, strategy: IdRcs, snapshot: Snapshot, turn: DueRanges, settings: Settings, held: LeasedStream
) -> FetchPlan:
    """What has to be fetched of the ranges that are due: those that differ, as they are.

    After a change of meaning every row is read, and the bounds may have lost their order: everything is cut anew.
    """
    before, first_id, known = int(held.row.checkpoint["rows"]), held.row.next_range_id, turn.due
    if snapshot.anew:
        new = tuple(build_ranges(context, strategy, snapshot, settings, first_id, before))
        return FetchPlan(new, tuple(known), new, tuple(known), before)
    if whole_table.is_likely(context, strategy):
        rows = whole_table.rows_unchanged(context, strategy, snapshot, turn, settings)
        if rows is not None:
            return FetchPlan((), (), (), (), rows)
    context.progress(f"checksums of {len(known):,} ranges")
    texts: dict[int, str] | None = {} if leaf_checksums.are_asked(strategy, snapshot, turn, held) else None
    now = checksums(context.source, strategy, snapshot, known, settings.connections, context.rest, texts)
    hooks.reach("after_checksums")
    dirty, scanned = partition.differing(known, now), sum(r.rows for r in now)
    swept = (
        strategy.checksum_template == "key_digests" and strategy.plan.where
    )  # no row is swept for having left `where`
    if dirty and snapshot.name is not None and strategy.deletes and not swept:
        # Counts of one state tell now what the rows would. Of several they may miss rows that moved: the rows decide.
        shrunk = [old.rows - new.rows for old, new in partition.pairs(known, dirty)]
        lost = max(0, sum(shrunk)) if strategy.partitioning.paged else sum(max(0, by) for by in shrunk)
        check_pass(
            context.project,
            settings,
            held,
            turn.state,
            deletes=lost,
            after=scanned + turn.rows_not_due,
            left=lambda: counted_now(context, strategy.partitioning.row_count()),
        )
    told = leaf_checksums.parse_leaf_sums(now, texts) if texts else {}
    found = FetchPlan(tuple(dirty), (), (), tuple(old for old, _ in partition.pairs(known, dirty)), scanned, told)
    return _by_leaves(context, strategy, snapshot, turn, settings, held, found) if dirty else found


def _by_leaves(
    context: LakeContext,
    strategy: IdRcs,
    snapshot: Snapshot,
    turn: DueRanges,
    settings: Settings,
    held: LeasedStream,
    found: FetchPlan,
) -> FetchPlan:
    """The same look at leaves alone that differ, where they were asked for or are now, of the ranges that differ."""
    told = found.leaves
    if leaf_checksums.are_wanted(strategy, snapshot, turn, held, found):
        context.progress(f"checksums of the leaves of {len(found.asked):,} ranges")
        texts: dict[int, str] = {}
        now = checksums(context.source, strategy, snapshot, found.asked, settings.connections, context.rest, texts)
        if [(r.rows, r.checksum) for r in now] != [(r.rows, r.checksum) for r in found.asked]:
            raise TornRead("two looks at the same ranges differ", stream=context.stream, remedy=NO_SNAPSHOT)
        told = leaf_checksums.parse_leaf_sums(now, texts)
    if not told:
        return found
    known = leaf_checksums.read(context.files, held.row.checkpoint)
    standing = {r.range_id: known[r.range_id] for r in turn.known if r.range_id in known}
    width = (
        strategy.connector.require(SupportsLeafChecksums).whole_number_bytes(strategy.plan.key)
        if not strategy.partitioning.hashed
        else None
    )
    return leaf_checksums.restrict_to_dirty_leaves(replace(found, leaves={**standing, **told}), known, width)


def estimated(plan: StreamPlan) -> int:
    """How many rows there are by the table's statistics; 0 where they do not say it, as of a part of the table."""
    return 0 if plan.where else max(0, plan.table.rows)


def split_outgrown(
    context: StreamContext,
    strategy: IdRcs,
    snapshot: Snapshot,
    settings: Settings,
    held: LeasedStream,
    wanted: FetchPlan,
) -> FetchPlan:
    """The same look, with the ranges that outgrew their size cut anew; each is asked for its bounds by itself."""
    total = total_of(held, wanted)
    outgrown = {r.range_id for r in wanted.outgrown(settings.range_size(total))}
    asked: list[StoredRange] = []
    parents: list[StoredRange] = []
    children: list[StoredRange] = []
    for one in wanted.asked:
        own: list[StoredRange] = []
        if one.range_id in outgrown:
            first_id = held.row.next_range_id + len(children)
            whole = replace(one, only=None)
            own = build_ranges(context, strategy, snapshot, settings, first_id, total, within=whole)
        if len(own) <= 1:  # bounds may be of another state than counts, and rows of one hash stay together
            asked.append(one)
            continue
        parents.append(whole)
        children += own
        asked += own
    if not children:
        return wanted
    gone = {r.range_id for r in parents}
    old = tuple(replace(r, only=None) if r.range_id in gone else r for r in wanted.old)
    return replace(wanted, asked=tuple(asked), parents=tuple(parents), children=tuple(children), old=old, traced=None)


def merge_small(
    strategy: IdRcs, settings: Settings, held: LeasedStream, turn: DueRanges, wanted: FetchPlan
) -> FetchPlan:
    """The same look, where neighbours that had better be one range, one at least of them asked for, are fetched as one.

    For a look of which a segment is made; else they wait to be joined until the replica is written anew.
    """
    now, gone = {r.range_id: r for r in wanted.unsplit}, {r.range_id for r in wanted.parents}
    due = [now.get(r.range_id, r) for r in turn.due if r.range_id not in gone]  # what is not asked for has not changed
    size = settings.range_size(wanted.scanned + turn.rows_not_due)
    groups = [g for run in partition.runs(due) for g in strategy.partitioning.joined(run, size)]
    small = [g for g in groups if len(g) > 1 and any(r.range_id in now for r in g)]
    new = [replace(r, last_visited=0.0) for r in merge_ranges(small, held.row.next_range_id + len(wanted.children))]
    place = {r.range_id: one for one, group in zip(new, small, strict=True) for r in group}
    asked = list(dict.fromkeys(place.get(r.range_id, r) for r in wanted.asked))
    parents = [r for group in small for r in group]
    beside = [r for r in parents if r.range_id not in now]
    return replace(
        wanted,
        asked=tuple(asked),
        parents=(*wanted.parents, *parents),
        children=(*wanted.children, *new),
        joined=tuple(new),
        old=(*wanted.old, *beside),
    )


def build_ranges(
    context: StreamContext,
    strategy: IdRcs,
    snapshot: Snapshot,
    settings: Settings,
    first_id: int,
    total: int,
    within: KeyRange | None = None,
) -> list[StoredRange]:
    """Ranges over the table, of about `total` rows, or over one range of it."""
    context.progress("building key ranges")
    size = settings.range_size(total)
    asked = strategy.partitioning.bounds(size, within)
    found = snapshot.session.rows(asked) if asked else []
    if within is not None:
        bare = strategy.partitioning.parts(found, size, first_id, within, total)
    else:
        total = strategy.partitioning.counted(found, size)
        bare = strategy.partitioning.ranges(found, settings.range_size(total), first_id, settings.most_ranges)
        size = total // len(bare)
    return [StoredRange(r.range_id, r.lo, r.hi, rows=size) for r in bare]


def with_counts(
    stream: str, asked: Sequence[StoredRange], sums: Mapping[int, tuple[int, int | None]]
) -> list[StoredRange]:
    """`asked` with the count and checksum of rows read; a range without rows has none.

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
