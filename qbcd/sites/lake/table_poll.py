"""A poll of a whole table: find dirty ranges, fetch, compare, commit in one step.

`qbcd.sites.lake.fetch.paths` has the ways to find ranges and fetch rows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Literal

from qbcd.model import Cost
from qbcd.model.checkpoint import Entry
from qbcd.sites.guards import ACCEPTED_SOURCE, check_guards
from qbcd.sites.lake import compaction
from qbcd.sites.lake.commit import RangeChanges, WrittenBatch, commit_step, renewed_entries
from qbcd.sites.lake.due_ranges import all_ranges, due_ranges
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.fetch import leaf_checksums, paths, two_phase
from qbcd.sites.lake.fetch.base import FetchedStep
from qbcd.sites.lake.fetch_plan import FetchPlan, total_of
from qbcd.sites.lake.poll import LakePoll, TablePoll, checkpoint_entries, open_snapshot
from qbcd.sites.lake.range_sizes import merge_small, split_outgrown
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.sites.refusals import check_null_keys
from qbcd.sites.values import Detection


def poll_table(poll: LakePoll, entries: Mapping[str, Any] | None = None, *, audit: bool = False) -> Detection:
    """Compare every dirty range with the replica and commit the changes.

    Args:
        poll: The poll.
        entries: Further entries of the next checkpoint, if anything is committed.
        audit: Compare each row with the replica's, by value if it has values, regardless of checksums.
    """
    started = time.monotonic()
    with poll.context.reading() as conn:
        known, now = poll.context.store.ranges(conn, poll.context.stream), poll.context.store.now(conn)
    due = due_ranges(poll.plan, poll.settings, poll.leased.checkpoint, known, now)
    with ExitStack() as jobs:
        with open_snapshot(poll) as opened:
            snapshot = replace(opened, audits=_audited(poll) if audit else None)
            of_table = _of_table(poll, snapshot).at(snapshot, all_ranges(due) if snapshot.reads_all or audit else due)
            if of_table.due.begins:
                check_null_keys(snapshot.session, of_table.strategy, of_table.strategy.plan)
            _check_size(of_table)
            plan = paths.detect(of_table)
            if not plan.asked:
                _commit_without_changes(of_table, plan)
                spent = time.monotonic() - started
                return Detection(None, Cost(plan.scanned, 0, 0, len(of_table.due.due), 0, spent))
            of_table, plan = _planned(of_table, paths.narrow(of_table, plan))
            of_table = jobs.enter_context(of_table.on_engine(plan.fetched))
            step = paths.fetch(of_table, plan)
        header = step.run(lambda found: _checkpoint(of_table, plan, step, found) | dict(entries or {}))
    spent = time.monotonic() - started
    notes = (*poll.leased.notes, *((ACCEPTED_SOURCE,) if snapshot.digests_changed else ()))
    return Detection(header, _cost(of_table, plan, step, spent), notes)


def _audited(poll: LakePoll) -> Literal["values", "digests"]:
    return "values" if poll.strategy.keeps == "rows" else "digests"


def _of_table(poll: LakePoll, snapshot: Snapshot) -> LakePoll:
    """Return the poll by the snapshot's catalog.

    Its rows also have the old digest if that is needed.
    """
    plan, strategy = poll.plan.on(snapshot.table), poll.strategy
    if snapshot.reads_all and snapshot.old_columns:
        strategy = strategy.with_old_digest(snapshot.old_columns)
    return replace(poll, plan=plan, strategy=strategy)


def _check_size(poll: TablePoll) -> None:
    """Check the guards by the table's size before a pass: its first polls may find few deletes.

    Raises:
        GuardTripped: Too many rows are deleted.
    """
    state = poll.due.state
    if state is None or not poll.due.begins or not state.rows:
        return
    count = int(poll.snapshot.session.one(poll.strategy.partitioning.row_count()).n)
    if count < state.rows:
        check_guards(poll, deletes=state.rows - count, before=state.rows, after=count)


def _planned(poll: TablePoll, plan: FetchPlan) -> tuple[TablePoll, FetchPlan]:
    """Return the plan by the stream's ranges after this poll."""
    found = paths.replan(poll, plan)
    if found is not None:
        return found
    size = poll.settings.range_size(total_of(poll.leased, plan))
    if two_phase.defers_split(poll, plan, size):
        return poll, plan
    plan = split_outgrown(poll, plan)
    if _becomes_segment(poll, plan):
        plan = merge_small(poll, replace(plan, as_segment=True))
    return poll, plan


def _becomes_segment(poll: TablePoll, plan: FetchPlan) -> bool:
    """Return True if the fetched rows, all rows of their ranges, should become their segment."""
    if poll.strategy.partitioning.paged:  # a layer on other ranges would not show rows that only moved
        return True
    if plan.in_leaves or plan.traced or poll.strategy.keeps != "rows" or not poll.strategy.deletes:
        return False
    fetched = {r.range_id for r in (*plan.asked, *plan.parents)}
    with poll.context.reading() as conn:
        segments = poll.context.store.segments(conn, poll.context.stream)
    return compaction.may_become_segment(segments, [r for r in poll.due.known if r.range_id not in fetched], plan.asked)


def _commit_without_changes(poll: TablePoll, plan: FetchPlan) -> None:
    """Commit visited ranges, a schema change without effect, leaf checksums, if any changed."""
    leased, change = poll.leased, poll.snapshot.change
    if not poll.due.state and not change and not leaf_checksums.has_new_note(poll, plan):
        return
    checkpoint = {
        **leased.row.checkpoint,
        **leaf_checksums.remember_after_no_change(poll, plan),
        **(checkpoint_entries(poll, poll.snapshot, leased.checkpoint.rows) if change else {}),
        **poll.due.checkpoint_entries(leased, {}),
    }
    commit_step(poll, None, checkpoint, RangeChanges(poll.due.visited(())))


def _checkpoint(poll: TablePoll, plan: FetchPlan, step: FetchedStep, found: WrittenBatch) -> dict[str, Any]:
    """Return the checkpoint after a batch."""
    return {
        **renewed_entries(poll, found),
        **poll.leased.checkpoint.carried([Entry.AUDITED]),
        **paths.entries_after_batch(poll, plan, step, found),
        **poll.due.checkpoint_entries(poll.leased, _events_by_range(poll, found), found.counts.get("d", 0)),
    }


def _events_by_range(poll: TablePoll, found: WrittenBatch) -> Mapping[int, int]:
    """Count the batch's events by range, for the heat of ranges in a pass; empty without a pass."""
    events: Counter[int] = Counter()
    if poll.due.state is not None and found.counts:
        for (_, range_id), number in _groups(poll, found).items():
            events[range_id] += number
    return events


def _groups(poll: TablePoll, found: WrittenBatch) -> Mapping[tuple[str, int], int]:
    rows = poll.context.replica.batch_rows(poll.engine, poll.plan, found.part)
    return algebra.groups(poll.engine, rows)


def _cost(poll: TablePoll, plan: FetchPlan, step: FetchedStep, seconds: float) -> Cost:
    if step.rows is not None:
        rows = step.rows
    elif poll.snapshot.reads_all:  # the dirty ranges are all ranges, with their old counts
        rows = poll.leased.checkpoint.rows
    else:
        rows = sum(r.asked[0] for r in plan.dirty)
    # an audit reads all rows, regardless of checksums
    compared = (0, 0) if poll.snapshot.audits else (len(poll.due.due), len(plan.dirty))
    return Cost(max(plan.scanned, rows), rows, step.size, *compared, seconds)
