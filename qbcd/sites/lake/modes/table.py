"""Polls of a whole table (ID/RCS, TLCS, VBD).

A poll finds dirty ranges, fetches, compares, and commits in one step. `qbcd.sites.lake.fetch.paths` has the ways to
find ranges and fetch rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from typing_extensions import override

from qbcd.catalog.source import Session
from qbcd.model import Cost, KeyRange
from qbcd.model.checkpoint import Entry
from qbcd.sites import checkpoint as checkpoints
from qbcd.sites.eligibility import why_not_incremental
from qbcd.sites.guards import check_guards
from qbcd.sites.lake import compaction, explain
from qbcd.sites.lake.commit import RangeChanges, WrittenBatch, renewed_entries
from qbcd.sites.lake.due_ranges import all_ranges, due_ranges
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.fetch import leaf_checksums, paths, two_phase
from qbcd.sites.lake.fetch.base import FetchedRows
from qbcd.sites.lake.fetch_plan import FetchPlan, total_of
from qbcd.sites.lake.modes.base import LakeMode, LakeStep, Step, Unchanged, one_step
from qbcd.sites.lake.poll import LakePoll, TablePoll, checkpoint_entries
from qbcd.sites.lake.range_sizes import merge_small, split_outgrown
from qbcd.sites.refusals import check_null_keys
from qbcd.sites.values import Detection, ExplainedStatement, Settings
from qbcd.state import StreamRow
from qbcd.strategies import IdRcs


class TableMode(LakeMode[IdRcs]):
    """The mode of polls that find changes by checksums of ranges.

    An audit reads all rows, or the digest of each.
    """

    @override
    def remarks(self, session: Session) -> list[str]:
        return why_not_incremental(self.strategy)

    @override
    def _poll(self, poll: LakePoll) -> Iterator[Detection]:
        yield poll_table(poll)
        if began := checkpoints.due(poll):
            yield poll_table(poll, {Entry.AUDITED: began}, audit=True)

    @override
    def explain(self, settings: Settings, row: StreamRow | None, known: Sequence[KeyRange]) -> list[ExplainedStatement]:
        return explain.by_checksums(self.context, self.strategy, settings, row, known)


def poll_table(poll: LakePoll, entries: Mapping[str, Any] | None = None, *, audit: bool = False) -> Detection:
    """Compare every dirty range with the replica and commit the changes.

    Args:
        entries: Further entries of the next checkpoint.
        audit: Compare each row with the replica's, by value if it has values, regardless of checksums.
    """
    with poll.context.reading() as conn:
        known, now = poll.context.store.ranges(conn, poll.context.stream), poll.context.store.now(conn)
    with ExitStack() as engines:
        return one_step(poll, partial(_fetch, now=now, engines=engines, audit=audit), entries or {}, known)


def _fetch(poll: TablePoll, *, now: float, engines: ExitStack, audit: bool) -> Step:
    """Find dirty ranges and fetch their rows.

    An engine of `engines` fetches them, and may compare them meanwhile.
    """
    due = due_ranges(poll.plan, poll.settings, poll.leased.checkpoint, poll.due.known, now)
    poll = _with_old_digest(replace(poll, snapshot=replace(poll.snapshot, audits=_audited(poll) if audit else None)))
    poll = replace(poll, due=all_ranges(due) if poll.snapshot.reads_all or audit else due)
    if poll.due.begins:
        check_null_keys(poll.snapshot.session, poll.strategy, poll.strategy.plan)
    _check_size(poll)
    plan = paths.detect(poll)
    if not plan.asked:
        return _unchanged(poll, plan)
    poll, plan = _planned(poll, paths.narrow(poll, plan))
    poll = engines.enter_context(poll.on_engine(plan.fetched))
    return TableStep(poll, plan, paths.fetch(poll, plan))


def _audited(poll: LakePoll) -> Literal["values", "digests"]:
    return "values" if poll.strategy.keeps == "rows" else "digests"


def _with_old_digest(poll: TablePoll) -> TablePoll:
    """Return the poll whose rows also have the old digest if that is needed."""
    snapshot = poll.snapshot
    if snapshot.reads_all and snapshot.old_columns:
        return replace(poll, strategy=poll.strategy.with_old_digest(snapshot.old_columns))
    return poll


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


def _unchanged(poll: TablePoll, plan: FetchPlan) -> Unchanged:
    """Return the step of a poll that finds no changed row.

    It stores visited ranges, a schema change without effect, and leaf checksums, if any changed.
    """
    leased, change = poll.leased, poll.snapshot.change
    cost = Cost(plan.scanned, 0, 0, len(poll.due.due), 0)
    entries = {
        **leaf_checksums.remember_after_no_change(poll, plan),
        **(checkpoint_entries(poll, poll.snapshot, leased.checkpoint.rows) if change else {}),
        **poll.due.checkpoint_entries(leased, {}),
    }
    return Unchanged(poll, cost, entries, RangeChanges(poll.due.visited(())))


class TableStep(LakeStep):
    """Compare the rows that a fetch path has fetched, and note what the next poll's paths need."""

    def __init__(self, poll: TablePoll, plan: FetchPlan, rows: FetchedRows) -> None:
        super().__init__(poll, *rows.fetched)
        self.plan, self.rows = plan, rows

    @override
    def write(self) -> WrittenBatch:
        return self.rows.write()

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        return self.rows.ranges(found)

    @override
    def checkpoint(self, found: WrittenBatch) -> dict[str, Any]:
        poll, deletes = self.poll, found.counts.get("d", 0)
        return {
            **renewed_entries(poll, found),
            **poll.leased.checkpoint.carried([Entry.AUDITED]),
            **paths.entries_after_batch(poll, self.plan, self.rows, found),
            **poll.due.checkpoint_entries(poll.leased, _events_by_range(poll, found), deletes),
        }

    @override
    def cost(self) -> Cost:
        poll, plan, rows = self.poll, self.plan, self.rows.rows
        if rows is None and poll.snapshot.reads_all:  # the dirty ranges are all ranges, with their old counts
            rows = poll.leased.checkpoint.rows
        elif rows is None:
            rows = sum(r.asked[0] for r in plan.dirty)
        # an audit reads all rows, regardless of checksums
        compared = (0, 0) if poll.snapshot.audits else (len(poll.due.due), len(plan.dirty))
        return Cost(max(plan.scanned, rows), rows, self.rows.size, *compared)


def _events_by_range(poll: TablePoll, found: WrittenBatch) -> Mapping[int, int]:
    """Count the batch's events by range, for the heat of ranges in a pass; empty without a pass."""
    if poll.due.state is None or not found.counts:
        return {}
    events: Counter[int] = Counter()
    rows = poll.context.replica.batch_rows(poll.engine, poll.plan, found.part)
    for (_, range_id), number in algebra.groups(poll.engine, rows).items():
        events[range_id] += number
    return events
