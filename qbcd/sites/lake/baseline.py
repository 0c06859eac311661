"""The baseline in the lake wing: all rows become the first segment of the replica."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from qbcd.common import hooks
from qbcd.model import BatchHeader, Cost
from qbcd.sites.checkpoint import new_epoch
from qbcd.sites.lake.commit import WrittenBatch, new_batch, refuse_unsupported
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows
from qbcd.sites.lake.modes import LakeMode
from qbcd.sites.lake.notes import RecentNote
from qbcd.sites.lake.poll import LakePoll, TablePoll, checkpoint_entries
from qbcd.sites.lake.range_sizes import build_ranges, estimated, with_counts
from qbcd.sites.lake.replica.replica import NewSegment
from qbcd.sites.lake.replica.schema import batch_fields
from qbcd.sites.lake.snapshot import snapshot_of
from qbcd.sites.lake.stage import check_values, read_ranges, segment_for, stage_sums, staged_rows
from qbcd.sites.refusals import check_key
from qbcd.sites.values import Detection
from qbcd.state import StoredRange


def take_baseline(poll: LakePoll, mode: LakeMode[Any]) -> Detection:
    """Read all rows and commit them as the replica.

    With `baseline_events` they are the first batch too.
    """
    with ExitStack() as work:
        return _baseline(poll, mode, work)


def _baseline(poll: LakePoll, mode: LakeMode[Any], work: ExitStack) -> Detection:
    """Take the baseline; the engine works until `work` ends."""
    started, context, leased, strategy = time.monotonic(), poll.context, poll.leased, poll.strategy
    epoch = new_epoch(leased.row)
    first = mode.entries_before_baseline(poll)
    with context.reading() as conn:
        now = context.store.now(conn)
    one_state = strategy.partitioning.one_state
    with snapshot_of(context.source, poll.plan, None, one_state=one_state) as snapshot:
        check_key(snapshot.session, strategy)
        of_table = mode.reading(poll, first).at(snapshot, DueRanges.every(()))
        bare = build_ranges(of_table, leased.row.next_range_id, estimated(poll.plan))
        of_table = work.enter_context(of_table.on_engine(sum(r.rows for r in bare)))
        fetched = read_ranges(of_table, bare)
    stage = staged_rows(of_table, fetched)
    check_values(of_table, stage)
    read = with_counts(context.stream, bare, stage_sums(of_table, stage))
    counted = [replace(r, last_visited=now) for r in read]
    rows = sum(r.rows for r in counted)
    header = _first_batch(of_table, stage, counted, epoch) if poll.settings.baseline_events and rows else None
    hooks.reach("after_stage")
    segment = segment_for(of_table, fetched, stage)
    checkpoint = {**checkpoint_entries(poll, snapshot, rows), **RecentNote().as_entry(snapshot.system_mark), **first}
    hooks.reach("before_commit")
    with context.writing() as conn:
        folded = header.seq if header else leased.row.last_batch_seq
        new = NewSegment(segment, rows, counted)
        row = context.replica.replace_all(conn, leased.row, new, epoch=epoch, folded=folded)
        row = context.commit(conn, row, leased, header, checkpoint, epoch=epoch, prepared=True)
    leased.row = row
    context.files.discard(fetched, unless=segment == fetched)
    hooks.reach("after_commit")
    mode.complete_baseline(poll)
    return Detection(header, Cost(rows, rows, fetched.size, len(bare), len(bare), time.monotonic() - started))


def _first_batch(poll: TablePoll, stage: Rows, counted: Sequence[StoredRange], epoch: int) -> BatchHeader | None:
    """Write the rows as a batch."""
    plan, leased = poll.plan, poll.leased
    sizes = {("r", r.range_id): r.rows for r in counted}
    changes, total = algebra.baseline(stage, len(plan.captured)), sum(sizes.values())
    with poll.engine.numbered(changes, leased.row.last_batch_seq + 1, total, sizes) as batch:
        part = poll.context.files.write(poll.engine, batch, batch_fields(plan), "batch", leased)
    refuse_unsupported(poll, part)
    return new_batch(poll, WrittenBatch(part, {"r": total}), epoch=epoch, ts_ms=poll.snapshot.ts_ms)
