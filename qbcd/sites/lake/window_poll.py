"""Polls of TS whose replica is under Spark: the rows of a window, and a sweep for deletes where that is due.

    look at the clock and at open transactions -> fetch the window -> compare with the replica -> sweep

The source is only read. A range's checksum is the sum over the keys that the replica has in it, so that a sweep fetches
keys of ranges that moved, and none of the others (docs/design/architecture.md#reading-2,
docs/design/protocol.md#rule-14).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from qbcd import hooks
from qbcd.catalog.capture_change import change_of
from qbcd.catalog.drift import check_server
from qbcd.model import BatchHeader, Cost, StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.ranges import schedule
from qbcd.sites import checkpoint as checkpoints
from qbcd.sites import source_changes
from qbcd.sites.lake import audit, diff, table_poll
from qbcd.sites.lake.commit import commit_step, stage_changes
from qbcd.sites.lake.delete_sweep import sweep
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import travels_of
from qbcd.sites.lake.replica.schema import row_fields
from qbcd.sites.lake.snapshot import Snapshot, checkpoint_entries, remembered
from qbcd.sites.lake.stage import check_values, frame
from qbcd.sites.poll import Poll
from qbcd.sites.refusals import check_key
from qbcd.sites.values import Detection, LeasedStream, Settings
from qbcd.sites.watermark import next_watermark, watermark_of_poll
from qbcd.state import StoredRange
from qbcd.strategies import IdRcs, LakeTs
from qbcd.watermark import Window

if TYPE_CHECKING:
    from qbcd.sites.lake.context import LakeContext

SHOWN = (("shown", "int"),)
ROW_BYTES = 20  # of a fetched row, at least


def first_mark(context: LakeContext, strategy: IdRcs) -> dict[str, Any]:
    """What the checkpoint of a baseline that begins now says of time-stamps; nothing without one."""
    if not isinstance(strategy, LakeTs):
        return {}
    mark = next_watermark(context.source, strategy.watermarked, None).entry
    hooks.reach("after_horizon")
    with context.reading() as conn:
        return {"mark": mark, "swept": context.store.now(conn)}


def poll(
    context: LakeContext, plan: StreamPlan, strategy: LakeTs, settings: Settings, held: LeasedStream
) -> Iterator[Detection]:
    """Reads the window, and sweeps where that is due; all rows are compared where their meaning is another one."""
    remade = source_changes.is_remade(held.row.checkpoint, plan)
    elsewhere = _changed_server(context, settings, held) or (remade and strategy.watermarked.kind == "counter")
    afresh = elsewhere or remade or bool(change_of(held.row.checkpoint, plan))
    known = None if elsewhere else held.row.checkpoint["mark"]
    found_watermark = watermark_of_poll(context, held, strategy.watermarked, known)
    hooks.reach("after_horizon")
    ahead, remark = found_watermark.entry, found_watermark.remark
    since = None if found_watermark.reread else held.row.checkpoint["mark"]["at"]
    if afresh:
        kept = {n: held.row.checkpoint[n] for n in ("swept", Entry.AUDITED) if n in held.row.checkpoint}
        found = table_poll.poll(context, plan, strategy, settings, held, {**kept, "mark": ahead})
        yield replace(found, remarks=(source_changes.remark(plan),)) if remade else found
        return
    found = _window(context, plan, strategy, settings, held, ahead, since)
    yield replace(found, remarks=(remark,) if remark else ())
    every = plan.option("deletes")
    if isinstance(every, timedelta) and not context.stopping():
        with context.reading() as conn:
            now = context.store.now(conn)
        if schedule.is_due(float(held.row.checkpoint["swept"]), every, now):
            yield sweep(context, plan, strategy, settings, held, now)
    if began := checkpoints.due(Poll(context, plan, strategy, settings, held)):
        yield audit.audit(context, plan, strategy, settings, held, began)


def _changed_server(context: LakeContext, settings: Settings, held: LeasedStream) -> bool:
    accept = settings.accept_source
    with context.source.read(context.stream) as session:
        return check_server(context.source, session, context.stream, held.row.checkpoint, accept=accept)[1]


def _window(
    context: LakeContext,
    plan: StreamPlan,
    strategy: LakeTs,
    settings: Settings,
    held: LeasedStream,
    ahead: dict[str, Any],
    since: str | None,
) -> Detection:
    """The one step that reads the window; where nothing lies in it, only the watermark moves, without Spark."""
    started, mark = time.monotonic(), held.row.checkpoint["mark"]
    with context.reading() as conn:
        known = context.store.ranges(conn, context.stream)
    with remembered(context, plan, held, settings) as snapshot:
        plan = plan.on(snapshot.table)
        check_key(snapshot.session, context.strategy(plan))
        window = strategy.watermarked.window(since, ahead["at"])
        rows = bool(window and snapshot.session.rows(strategy.watermarked.any_row(window)))
        fetched = _fetch(context, strategy, snapshot, known, window, settings, held) if window and rows else None
    hooks.reach("after_fetch")
    if fetched is None:
        if ahead != mark:
            commit_step(
                context, Poll(context, plan, strategy, settings, held), None, {**held.row.checkpoint, "mark": ahead}
            )
        return Detection(None, Cost(seconds=time.monotonic() - started))
    try:
        with context.spark.for_rows(fetched.size // ROW_BYTES):
            header, read = _compare(context, plan, strategy, settings, held, snapshot, fetched, known, ahead)
    finally:
        context.files.discard(fetched)
    cost = Cost(read, read, fetched.size, seconds=time.monotonic() - started, spark=True)
    return Detection(header, cost, tuple(held.notes))


def _fetch(
    context: LakeContext,
    strategy: LakeTs,
    snapshot: Snapshot,
    known: list[StoredRange],
    window: Window,
    settings: Settings,
    held: LeasedStream,
) -> FileSet:
    context.progress("fetching the rows of the window")
    query = strategy.window_images(known, window, typed=settings.typed)
    rows = frame(context.source, context.spark.get(), context.stream, snapshot, [query])
    return context.files.write(rows, _fields(strategy, settings), "fetch", held, source=context.source)


def _fields(strategy: LakeTs, settings: Settings) -> list[tuple[str, str]]:
    return row_fields(travels_of(strategy.plan), typed=settings.typed, extra=(*strategy.extra, *SHOWN))


def _compare(
    context: LakeContext,
    plan: StreamPlan,
    strategy: LakeTs,
    settings: Settings,
    held: LeasedStream,
    snapshot: Snapshot,
    fetched: FileSet,
    known: list[StoredRange],
    ahead: dict[str, Any],
) -> tuple[BatchHeader | None, int]:
    """Compares the window with the replica's rows of the same keys and commits; also gives the rows that were read."""
    stage = context.files.read(context.spark.get(), _fields(strategy, settings), fetched)
    check_values(stage, plan, settings)
    touched = diff.sums(stage, "key_digest")
    if not touched:  # what stood in the window has left it since it was looked for
        commit_step(
            context, Poll(context, plan, strategy, settings, held), None, {**held.row.checkpoint, "mark": ahead}
        )
        return None, 0
    asked = [r for r in known if r.range_id in touched]
    with context.reading() as conn:
        old = context.replica.rows(conn, plan, strategy.stored_columns, asked)
    read = sum(n for n, _ in touched.values())
    changes = diff.window_differences(old, stage, plan, read).persist()
    try:
        header, found, moves = stage_changes(context, plan, settings, held, snapshot, changes, read)
    finally:
        changes.unpersist()
    rows = int(held.row.checkpoint["rows"]) + found.net
    checkpoint = {
        **held.row.checkpoint,
        **checkpoint_entries(context, plan, settings, held, snapshot, rows),
        "mark": ahead,
    }
    commit_step(context, Poll(context, plan, strategy, settings, held), header, checkpoint, diff.grown(asked, moves))
    return header, read
