"""A look at the whole table under Spark: checksums of its ranges, rows of those that differ, comparison, one step.

Where whole ranges would bring many wide rows for a few changes, the rows that changed are asked for by key (`narrow`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from qbcd import hooks
from qbcd.catalog.capture_change import plan_before
from qbcd.errors import TornRead
from qbcd.model import BatchHeader, Cost, StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.sites.checkpoint import AUDIT
from qbcd.sites.guards import ACCEPTED_SOURCE
from qbcd.sites.lake import diff
from qbcd.sites.lake.commit import NewSegment, WrittenBatch, commit_step, new_batch, stage_changes, write_batch
from qbcd.sites.lake.dirty_ranges import find_dirty_ranges, merge_small, split_outgrown, with_counts
from qbcd.sites.lake.due_ranges import DueRanges, all_ranges, check_size, due_ranges
from qbcd.sites.lake.fetch import leaf_checksums, page_fallback, recent_writes, two_phase
from qbcd.sites.lake.fetch import streamed as streamed_fetch
from qbcd.sites.lake.fetch.streamed import Streamed
from qbcd.sites.lake.fetch_plan import FetchPlan, check_torn, total_of
from qbcd.sites.lake.observed import RowChecksum
from qbcd.sites.lake.replica import compaction
from qbcd.sites.lake.replica.files import PASSING, FileSet
from qbcd.sites.lake.snapshot import Snapshot, checkpoint_entries, remembered
from qbcd.sites.lake.stage import check_values, fetch_rows, segment_for, staged_rows
from qbcd.sites.poll import Poll
from qbcd.sites.refusals import check_null_keys
from qbcd.sites.values import Detection, LeasedStream, Settings
from qbcd.state import StoredRange
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.sites.lake.context import LakeContext

DENSITY = "density"  # in the checkpoint


def poll(
    context: LakeContext,
    plan: StreamPlan,
    strategy: IdRcs,
    settings: Settings,
    held: LeasedStream,
    moves: Mapping[str, Any] | None = None,
    *,
    audit: bool = False,
) -> Detection:
    """Compares every range whose checksum says that it differs; `moves` goes into the checkpoint.

    As an `audit` it reads all rows, and compares their values: two that have the same digest are told apart then.
    """
    started = time.monotonic()
    with context.reading() as conn:
        known, now = context.store.ranges(conn, context.stream), context.store.now(conn)
    turn = due_ranges(plan, settings, held.row.checkpoint, known, now)
    with ExitStack() as jobs:
        with remembered(context, plan, held, settings) as snapshot:
            snapshot = replace(snapshot, audited=audit)
            plan, turn = plan.on(snapshot.table), all_ranges(turn) if snapshot.anew else turn
            strategy = strategy.with_old_digest(snapshot.was) if snapshot.anew and snapshot.was else strategy
            if turn.begins:
                check_null_keys(snapshot.session, strategy, strategy.plan)
            check_size(context, snapshot.session, strategy, settings, held, turn)
            wanted = find_dirty_ranges(context, strategy, snapshot, turn, settings, held)
            if not wanted.asked:
                _nothing_found(context, plan, settings, held, snapshot, turn, wanted)
                return Detection(None, Cost(wanted.scanned, 0, 0, len(turn.due), 0, time.monotonic() - started))
            wanted = recent_writes.traced(context, strategy, snapshot, turn, settings, held, wanted)
            size = settings.range_size(total_of(held, wanted))
            if by_hash := page_fallback.switch_to_hash(context, plan, strategy, snapshot, settings, held, turn, wanted):
                plan, wanted = by_hash
                strategy = context.strategy(plan)
            elif not two_phase.defers_split(strategy, snapshot, wanted, _density(held), size):
                wanted = split_outgrown(context, strategy, snapshot, settings, held, wanted)
                if _is_taken(context, strategy, turn, wanted):
                    wanted = merge_small(strategy, settings, held, turn, replace(wanted, taken=True))
            jobs.enter_context(context.spark.for_rows(wanted.passed))
            fetched = _fetch(context, plan, strategy, snapshot, wanted, settings, held)
        if isinstance(fetched, Streamed):
            header = _keep_streamed(context, plan, strategy, settings, held, snapshot, fetched, wanted, turn)
        elif isinstance(fetched, two_phase.ChangedRows):
            hooks.reach("after_fetch")
            header = _compare_moved(context, plan, strategy, settings, held, snapshot, fetched, wanted, turn)
        else:
            hooks.reach("after_fetch")
            header = _compare(context, plan, strategy, settings, held, snapshot, fetched, wanted, turn, moves or {})
    dirty, seconds = (*wanted.unsplit, *wanted.parents), time.monotonic() - started
    # where all was read anew, the ranges of before say nothing of how much that was
    rows = int(held.row.checkpoint["rows"]) if snapshot.anew else sum(r.asked[0] for r in dirty)
    rows = fetched.rows if isinstance(fetched, Streamed) else rows
    compared = (0, 0) if audit else (len(turn.due), len(dirty))  # an audit reads all, whatever checksums say
    cost = Cost(max(wanted.scanned, rows), rows, fetched.size, *compared, seconds, spark=True)
    return Detection(header, cost, (*held.notes, *((ACCEPTED_SOURCE,) if snapshot.rebase else ())))


def _nothing_found(
    context: LakeContext,
    plan: StreamPlan,
    settings: Settings,
    held: LeasedStream,
    snapshot: Snapshot,
    turn: DueRanges,
    wanted: FetchPlan,
) -> None:
    """Commits the visit of a pass, another meaning that changed no row, leaves that were of no use; or nothing."""
    if not turn.state and not snapshot.change and not leaf_checksums.is_noted(held, wanted):
        return
    fresh = (
        checkpoint_entries(context, plan, settings, held, snapshot, int(held.row.checkpoint["rows"]))
        if snapshot.change
        else {}
    )
    checkpoint = {
        **leaf_checksums.remember_after_no_change(context.files, held, wanted),
        **fresh,
        **turn.checkpoint_entries(held, {}),
    }
    commit_step(
        context, Poll(context, plan, context.strategy(plan), settings, held), None, checkpoint, turn.visited(())
    )


def _fetch(
    context: LakeContext,
    plan: StreamPlan,
    strategy: IdRcs,
    snapshot: Snapshot,
    wanted: FetchPlan,
    settings: Settings,
    held: LeasedStream,
) -> FileSet | two_phase.ChangedRows | Streamed:
    if wanted.traced and streamed_fetch.is_open(strategy, snapshot, wanted.traced):
        try:
            return streamed_fetch.compared(context, plan, strategy, snapshot, wanted.traced, settings, held)
        except TornRead:  # several changes looked like one of another row, or rows are gone that nothing told of
            context.progress("the rows that were looked up are not all that changed; more are read")
    moved = None
    if not wanted.taken and two_phase.is_worth(strategy, snapshot, wanted, _density(held)):
        moved = two_phase.fetch(context, strategy, snapshot, wanted, settings, held)
    if moved:
        return moved
    if streamed_fetch.is_open(strategy, snapshot, wanted):
        return streamed_fetch.compared(context, plan, strategy, snapshot, wanted, settings, held)
    totals = RowChecksum()
    kind = PASSING if wanted.in_leaves and not wanted.children else "fetch"
    fetched = fetch_rows(context, strategy, snapshot, wanted.asked, settings, held, totals, kind)
    if _is_whole(snapshot):
        try:
            check_torn(context.stream, wanted, *totals.read())
        except TornRead:
            context.files.discard(fetched)
            raise
    return fetched


def _density(held: LeasedStream) -> float:
    return float(held.row.checkpoint.get(DENSITY, 0.0))


def _is_whole(snapshot: Snapshot) -> bool:
    """Whether checksums and rows are of one state, so that they can be held against each other."""
    return snapshot.name is not None and not snapshot.anew


def _noted(
    context: LakeContext,
    strategy: IdRcs,
    snapshot: Snapshot,
    turn: DueRanges,
    wanted: FetchPlan,
    held: LeasedStream,
    found: WrittenBatch,
    *,
    by_key: bool,
) -> dict[str, Any]:
    """When the last audit was, how densely changes lay, and what leaves add up to: by these the next poll goes."""
    events, spared = sum(found.counts.values()), by_key and not wanted.leaves
    may = leaf_checksums.may_be_asked(strategy, snapshot, turn)
    moves = leaf_checksums.remember_after_changes(context.files, held, wanted, events, spared=spared) if may else {}
    if turn.state is None:
        moves |= recent_writes.after(snapshot, held, wanted, events, by_key=by_key)
    moves |= {name: held.row.checkpoint[name] for name in (Entry.AUDITED, DENSITY) if name in held.row.checkpoint}
    if not snapshot.anew:
        moves |= page_fallback.note_unselective_poll(strategy, wanted, held, events)
    if two_phase.is_open(strategy, snapshot, wanted):
        moves[DENSITY] = round(two_phase.density_of(wanted, events), 4)
    return moves


def _compare(
    context: LakeContext,
    plan: StreamPlan,
    strategy: IdRcs,
    settings: Settings,
    held: LeasedStream,
    snapshot: Snapshot,
    fetched: FileSet,
    wanted: FetchPlan,
    turn: DueRanges,
    moves: Mapping[str, Any],
) -> BatchHeader | None:
    """Compares stage and replica, stages the batch and commits; the source is not asked again."""
    try:
        step = _compare_stage(context, plan, strategy, settings, held, snapshot, fetched, wanted, turn, moves)
    except BaseException:
        context.files.discard(fetched)
        raise
    try:  # from here on what was fetched may be the replica's, whether or not the commit's answer comes
        commit_step(context, Poll(context, plan, strategy, settings, held), *step)
    finally:
        context.files.discard(fetched, unless=step[3] is not None and step[3].segment == fetched)
    return step[0]


def _compare_stage(
    context: LakeContext,
    plan: StreamPlan,
    strategy: IdRcs,
    settings: Settings,
    held: LeasedStream,
    snapshot: Snapshot,
    fetched: FileSet,
    wanted: FetchPlan,
    turn: DueRanges,
    moves: Mapping[str, Any],
) -> tuple[BatchHeader | None, dict[str, Any], list[StoredRange], NewSegment | None]:
    """What `switch` commits: batch, checkpoint, ranges that stay where they are, those that do not."""
    context.progress(f"comparing {len(wanted.asked):,} ranges with the replica")
    stage = diff.gathered(staged_rows(context, strategy, fetched, settings), wanted.rows)
    check_values(stage, plan, settings)
    read = _counted(context, strategy, snapshot, wanted, stage)
    changes = _differences(context, plan, strategy, held, snapshot, stage, wanted)
    changes = changes if strategy.deletes else changes.where("op <> 'd'")
    found = write_batch(context, plan, settings, held, changes, wanted.rows, turn.state)
    header, checkpoint = _staged(
        context, plan, strategy, settings, held, snapshot, found, wanted, turn, moves, by_key=False
    )
    stay = [] if wanted.taken else [read[r.range_id] for r in wanted.unsplit]
    left = [read[r.range_id] for r in (wanted.asked if wanted.taken else wanted.children)]
    taken = None
    if left:
        held_in = sum(r.asked[0] for r in read.values())
        segment = segment_for(context, strategy, fetched, stage, held)
        taken = NewSegment(segment, held_in, turn.mark_visited(left), wanted.parents, alone=not stay)
    visited = turn.visited(stay, (*wanted.parents, *left))
    return header, checkpoint, list(visited), taken


def _keep_streamed(
    context: LakeContext,
    plan: StreamPlan,
    strategy: IdRcs,
    settings: Settings,
    held: LeasedStream,
    snapshot: Snapshot,
    streamed: Streamed,
    wanted: FetchPlan,
    turn: DueRanges,
) -> BatchHeader | None:
    """Commits what was compared already; of the ranges the source said what all of each is."""
    header, checkpoint = _staged(
        context, plan, strategy, settings, held, snapshot, streamed.found, wanted, turn, {}, by_key=streamed.by_key
    )
    commit_step(
        context, Poll(context, plan, strategy, settings, held), header, checkpoint, turn.visited(wanted.unsplit)
    )
    return header


def _staged(
    context: LakeContext,
    plan: StreamPlan,
    strategy: IdRcs,
    settings: Settings,
    held: LeasedStream,
    snapshot: Snapshot,
    found: WrittenBatch,
    wanted: FetchPlan,
    turn: DueRanges,
    moves: Mapping[str, Any],
    *,
    by_key: bool,
) -> tuple[BatchHeader | None, dict[str, Any]]:
    """Header and checkpoint of a batch that is written, of rows that were looked up by key or not."""
    noted = _noted(context, strategy, snapshot, turn, wanted, held, found, by_key=by_key)
    moves = {**noted, **turn.entries_after_batch(context, plan, held, found), **moves}
    header = new_batch(context, plan, settings, held, found, held.row.epoch, snapshot.ts_ms)
    hooks.reach("after_stage")
    rows = int(held.row.checkpoint["rows"]) + found.net
    return header, {**checkpoint_entries(context, plan, settings, held, snapshot, rows), **moves}


def _is_taken(context: LakeContext, strategy: IdRcs, turn: DueRanges, wanted: FetchPlan) -> bool:
    """Whether what is fetched of `wanted` is to become the segment of its ranges: it holds all rows that they have."""
    if strategy.partitioning.paged:  # a layer on other ranges would not know of rows that only moved
        return True
    if wanted.in_leaves or wanted.traced or strategy.keeps != "rows" or not strategy.deletes:
        return False
    moved = {r.range_id for r in (*wanted.asked, *wanted.parents)}
    with context.reading() as conn:
        segments = context.store.segments(conn, context.stream)
    return compaction.may_take(segments, [r for r in turn.known if r.range_id not in moved], wanted.asked)


def _differences(
    context: LakeContext,
    plan: StreamPlan,
    strategy: IdRcs,
    held: LeasedStream,
    snapshot: Snapshot,
    stage: DataFrame,
    wanted: FetchPlan,
) -> DataFrame:
    """What the replica's rows, perhaps of other columns, and the stage differ in (docs/design/protocol.md#rule-16).

    Rows whose old digest is another one now differ, and of those without columns that are captured no more, only where
    a value does that is still captured. Where there is no old digest, values are compared, and say so by their reason.
    """
    before = plan_before(held.row.checkpoint, plan) if snapshot.change.columns else plan
    kept = [c for c in before.captured if strategy.keeps == "rows" or c in before.key]
    with context.reading() as conn:
        old = context.replica.rows(conn, before, kept, wanted.old)
    if not snapshot.change.columns:
        found = diff.differences(old, stage, plan, by_value=snapshot.by_value)
    else:
        both = [i for i, c in enumerate(plan.captured) if c.name in {b.name for b in before.captured}]
        if strategy.keeps == "rows":
            old = diff.aligned(old, before, plan, stage)
        by_value = snapshot.by_value or plan.counted or bool(snapshot.change.dropped and strategy.keeps == "rows")
        found = diff.differences(old, stage, plan, by_value=by_value, both=both)
    return found.withColumn("reason", F.lit(AUDIT)) if snapshot.by_value else found


def _counted(
    context: LakeContext, strategy: IdRcs, snapshot: Snapshot, wanted: FetchPlan, stage: DataFrame
) -> dict[int, StoredRange]:
    """Counts and checksums of the rows that were read; the source's own, where all of its state is one."""
    if _is_whole(snapshot) and not wanted.is_split:
        return {r.range_id: r for r in (*wanted.unsplit, *wanted.joined)}
    counted = with_counts(context.stream, wanted.asked, diff.sums(stage, strategy.summed))
    # of a range of which some leaves were read, the source said what all of it is
    return {r.range_id: one if one.only else r for one, r in zip(wanted.asked, counted, strict=True)}


def _compare_moved(
    context: LakeContext,
    plan: StreamPlan,
    strategy: IdRcs,
    settings: Settings,
    held: LeasedStream,
    snapshot: Snapshot,
    moved: two_phase.ChangedRows,
    wanted: FetchPlan,
    turn: DueRanges,
) -> BatchHeader | None:
    """As `_compare`, of the rows that moved; ranges grow by what the batch adds to them."""
    with context.spark.for_rows(moved.about):
        stage, old = two_phase.load_pairs(context, strategy, moved, settings)
        check_values(stage, plan, settings)
        changes = diff.differences(old, stage, plan, by_value=False).persist()
        try:
            header, found, grown = stage_changes(
                context, plan, settings, held, snapshot, changes, moved.about, turn.state
            )
            noted = _noted(context, strategy, snapshot, turn, wanted, held, found, by_key=False)
            moves = {**turn.entries_after_batch(context, plan, held, found), **noted}
        finally:
            changes.unpersist()
            context.files.discard(*moved.old, moved.rows)
    rows = int(held.row.checkpoint["rows"]) + found.net
    checkpoint = {**checkpoint_entries(context, plan, settings, held, snapshot, rows), **moves}
    commit_step(
        context,
        Poll(context, plan, strategy, settings, held),
        header,
        checkpoint,
        turn.visited(diff.grown(wanted.old, grown)),
    )
    return header
