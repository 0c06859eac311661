"""Polls of TS in the lake wing: read the rows of a window, and sweep for deletes if due.

    read clock and open transactions -> fetch the window -> compare with the replica -> sweep

The source is only read. A range's checksum covers the keys that the replica has in it, so a sweep fetches only the
keys of dirty ranges (docs/design/architecture.md#reading-2, docs/design/protocol.md#rule-14).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from typing_extensions import override

from qbcd import hooks
from qbcd.catalog.capture_change import change_of
from qbcd.catalog.drift import check_server
from qbcd.model import BatchHeader, Cost
from qbcd.model.checkpoint import Entry
from qbcd.ranges import schedule
from qbcd.sites import checkpoint as checkpoints
from qbcd.sites import source_changes
from qbcd.sites.lake import table_poll
from qbcd.sites.lake.audit import audit
from qbcd.sites.lake.commit import PollStep, RangeChanges, WrittenBatch, commit_step, renewed_entries, write_with_growth
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.delete_sweep import sweep
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows, grown
from qbcd.sites.lake.poll import LakePoll, TablePoll, open_snapshot
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import travels_of
from qbcd.sites.lake.replica.schema import Fields, row_fields
from qbcd.sites.lake.stage import check_values, frame, replica_rows, write_stage
from qbcd.sites.refusals import check_key
from qbcd.sites.values import Detection
from qbcd.sites.watermark import next_watermark, watermark_of_poll
from qbcd.strategies import IdRcs, LakeTs
from qbcd.watermark import Window

SHOWN = (("shown", "int"),)
ROW_BYTES = 20  # of a fetched row, at least


def first_watermark(context: LakeContext, strategy: IdRcs) -> dict[str, Any]:
    """Return the checkpoint's entries about timestamps for a baseline that begins now.

    It is empty for other strategies.
    """
    if not isinstance(strategy, LakeTs):
        return {}
    entry = next_watermark(context.source, strategy.watermarked, None).entry
    hooks.reach("after_horizon")
    with context.reading() as conn:
        return {Entry.WATERMARK: entry, Entry.SWEPT: context.store.now(conn)}


def poll_window(poll: LakePoll) -> Iterator[Detection]:
    """Read the window, then sweep and audit if due.

    Compare all rows if timestamps do not show all changes.
    """
    context, plan, leased, strategy = poll.context, poll.plan, poll.leased, poll.timestamps
    remade = source_changes.is_remade(leased.row.checkpoint, plan)
    untrusted = _changed_server(poll) or (remade and strategy.watermarked.kind == "counter")
    watermarks = [(strategy.watermarked, leased.checkpoint.watermark["at"])]
    attached = () if remade else source_changes.attached_parts(context.source, leased.row.checkpoint, plan, watermarks)
    poll = replace(poll, attached=attached)
    compares_all = untrusted or remade or bool(attached or change_of(leased.row.checkpoint, plan))
    known = None if untrusted else leased.checkpoint.watermark
    found_watermark = watermark_of_poll(context, leased, strategy.watermarked, known)
    hooks.reach("after_horizon")
    ahead, remark = found_watermark.entry, found_watermark.remark
    since = None if found_watermark.reread else leased.checkpoint.watermark["at"]
    if compares_all:
        kept = {n: leased.row.checkpoint[n] for n in (Entry.SWEPT, Entry.AUDITED) if n in leased.checkpoint}
        found = table_poll.poll_table(poll, {**kept, Entry.WATERMARK: ahead})
        said = source_changes.remark(plan) if remade else source_changes.attached_remark(plan, attached)
        yield replace(found, warnings=(*found.warnings, said)) if remade or attached else found
        return
    found = _window(poll, ahead, since)
    yield replace(found, remarks=(remark,) if remark else ())
    every = plan.option("deletes")
    if isinstance(every, timedelta) and not context.stopping():
        with context.reading() as conn:
            now = context.store.now(conn)
        if schedule.is_due(leased.checkpoint.swept, every, now):
            yield sweep(poll, now)
    if began := checkpoints.due(poll):
        yield audit(poll, began)


def _changed_server(poll: LakePoll) -> bool:
    context, accept = poll.context, poll.settings.accept_source
    with context.source.read(context.stream) as session:
        return check_server(context.source, session, context.stream, poll.leased.row.checkpoint, accept=accept)[1]


def _window(poll: LakePoll, ahead: dict[str, Any], since: str | None) -> Detection:
    """Read the window in one step.

    Without rows in it, only the watermark advances, without Spark.
    """
    started, leased = time.monotonic(), poll.leased
    known, before = poll.known_ranges(), leased.checkpoint.watermark
    with open_snapshot(poll) as snapshot:
        of_window = replace(poll, plan=poll.plan.on(snapshot.table)).at(snapshot, DueRanges.every(known))
        check_key(snapshot.session, poll.strategy, None, of_window.plan)
        watermarked = poll.timestamps.watermarked
        window = watermarked.window(since, ahead["at"])
        rows = bool(window and snapshot.session.rows(watermarked.any_row(window)))
        fetched = None
        if window and rows:
            with of_window.on_engine(0) as work:  # the number of rows is not known before they are read
                fetched = _fetch(work, window)
    hooks.reach("after_fetch")
    if fetched is None:
        if ahead != before or source_changes.has_other_parts(leased.row.checkpoint, poll.plan):
            entries = {Entry.MADE: poll.plan.made(), Entry.WATERMARK: ahead}
            commit_step(poll, None, {**leased.row.checkpoint, **entries})
        return Detection(None, Cost(seconds=time.monotonic() - started))
    with of_window.on_engine(fetched.size // ROW_BYTES) as work:
        header, read = _compare(work, fetched, {Entry.WATERMARK: ahead})
    cost = Cost(read, read, fetched.size, seconds=time.monotonic() - started)
    return Detection(header, cost, tuple(leased.notes))


def _fetch(poll: TablePoll, window: Window) -> FileSet:
    poll.context.progress("fetching the rows of the window")
    query = poll.timestamps.window_images(poll.due.known, window, typed=poll.settings.typed)
    fields = _fields(poll)
    return write_stage(poll, frame(poll, [query], fields), fields)


def _fields(poll: LakePoll) -> Fields:
    strategy = poll.strategy
    return row_fields(travels_of(strategy.plan), typed=poll.settings.typed, extra=(*strategy.extra, *SHOWN))


def _compare(poll: TablePoll, fetched: FileSet, entries: Mapping[str, Any]) -> tuple[BatchHeader | None, int]:
    """Compare the window with the replica and commit.

    Also return the number of rows that were read.
    """
    before = poll.leased.row.checkpoint
    try:
        stage = poll.context.files.read(poll.engine, _fields(poll), fetched)
        check_values(poll, stage)
        touched = algebra.sums(poll.engine, stage, "key_digest")
        if not touched:  # the rows have left the window since the query for any row
            commit_step(poll, None, {**before, Entry.MADE: poll.plan.made(), **entries})
            return None, 0
        step = WindowStep(poll, stage, touched)
        return step.run(lambda found: {**before, **renewed_entries(poll, found), **entries}), step.read
    finally:
        poll.context.files.discard(fetched)


class WindowStep(PollStep[TablePoll]):
    """Compare the rows of a window with the replica's rows of the same keys.

    Args:
        poll: The poll.
        stage: The rows of the window.
        touched: Row count and checksum of their keys by range.
    """

    def __init__(self, poll: TablePoll, stage: Rows, touched: Mapping[int, tuple[int, int | None]]) -> None:
        super().__init__(poll)
        self.stage = stage
        self.read = sum(n for n, _ in touched.values())
        self.touched = [r for r in poll.due.known if r.range_id in touched]
        self.growth: dict[int, tuple[int, int]] = {}

    @override
    def write(self) -> WrittenBatch:
        old = replica_rows(self.poll, self.touched)
        changes = algebra.window_differences(old, self.stage, self.poll.plan, self.read)
        found, self.growth = write_with_growth(self.poll, changes, self.read)
        return found

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        return RangeChanges(grown(self.touched, self.growth))
