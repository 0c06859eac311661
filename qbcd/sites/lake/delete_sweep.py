"""A sweep under Spark: which keys of the replica are gone from the source (paper 3.2.1).

See docs/design/protocol.md#rule-14.

Counts and key sums of the ranges say which of them moved; keys of those are fetched, and nothing else. Rows that are
new in a range are none of a sweep's business: the window tells them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qbcd import hooks
from qbcd.model import BatchHeader, Cost, StreamPlan
from qbcd.sites.lake import diff
from qbcd.sites.lake.commit import NewSegment, commit_step, new_batch, write_batch
from qbcd.sites.lake.dirty_ranges import find_dirty_ranges, split_outgrown, with_counts
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.fetch_plan import FetchPlan
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.schema import row_fields
from qbcd.sites.lake.snapshot import Snapshot, checkpoint_entries, remembered
from qbcd.sites.lake.stage import range_frame
from qbcd.sites.poll import Poll
from qbcd.sites.values import Detection, LeasedStream, Settings
from qbcd.state import StoredRange
from qbcd.strategies import LakeTs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.sites.lake.context import LakeContext

FIELDS = [("range_id", "bigint"), ("key_id", "binary"), ("key_digest", "bigint")]


def sweep(
    context: LakeContext, plan: StreamPlan, strategy: LakeTs, settings: Settings, held: LeasedStream, began: float
) -> Detection:
    """One sweep; `began` is the store's clock, from which the next one is reckoned."""
    started = time.monotonic()
    with context.reading() as conn:
        known = context.store.ranges(conn, context.stream)
    with remembered(context, plan, held, settings) as snapshot:
        wanted = find_dirty_ranges(context, strategy, snapshot, DueRanges(known, known), settings, held)
        wanted = split_outgrown(context, strategy, snapshot, settings, held, wanted)
        with context.spark.for_rows(wanted.rows):
            fetched = _fetch(context, strategy, snapshot, wanted.asked, settings, held) if wanted.asked else None
    hooks.reach("after_fetch")
    if fetched is None:
        commit_step(
            context, Poll(context, plan, strategy, settings, held), None, {**held.row.checkpoint, "swept": began}
        )
        return Detection(None, Cost(wanted.scanned, 0, 0, len(known), 0, time.monotonic() - started))
    try:
        with context.spark.for_rows(wanted.rows):
            header = _compare(context, plan, strategy, settings, held, snapshot, fetched, wanted, began)
    finally:
        context.files.discard(fetched)
    dirty, seconds = (*wanted.unsplit, *wanted.parents), time.monotonic() - started
    rows = sum(r.rows for r in dirty)
    cost = Cost(wanted.scanned, rows, fetched.size, len(known), len(dirty), seconds, spark=True)
    return Detection(header, cost, tuple(held.notes))


def _fetch(
    context: LakeContext,
    strategy: LakeTs,
    snapshot: Snapshot,
    asked: Sequence[StoredRange],
    settings: Settings,
    held: LeasedStream,
) -> FileSet:
    context.progress(f"fetching the keys of {len(asked):,} ranges")
    rows = range_frame(
        context.source, context.spark.get(), strategy, snapshot, asked, strategy.keys, settings.connections
    )
    return context.files.write(rows, FIELDS, "fetch", held, source=context.source)


def _compare(
    context: LakeContext,
    plan: StreamPlan,
    strategy: LakeTs,
    settings: Settings,
    held: LeasedStream,
    snapshot: Snapshot,
    fetched: FileSet,
    wanted: FetchPlan,
    began: float,
) -> BatchHeader | None:
    keys = diff.gathered(context.files.read(context.spark.get(), FIELDS, fetched), wanted.rows)
    with context.reading() as conn:
        old = context.replica.rows(conn, plan, strategy.stored_columns, wanted.old)
    found = write_batch(context, plan, settings, held, diff.gone(old, keys), wanted.rows)
    standing = keys.join(old.select("key_id"), "key_id", "left_semi")
    read = {r.range_id: r for r in with_counts(context.stream, wanted.asked, diff.sums(standing, strategy.summed))}
    header = new_batch(context, plan, settings, held, found, held.row.epoch, snapshot.ts_ms)
    hooks.reach("after_stage")
    taken = _recut(context, strategy, held, wanted, old, keys, read) if wanted.children else None
    rows = int(held.row.checkpoint["rows"]) + found.net
    checkpoint = {
        **held.row.checkpoint,
        **checkpoint_entries(context, plan, settings, held, snapshot, rows),
        "swept": began,
    }
    commit_step(
        context,
        Poll(context, plan, strategy, settings, held),
        header,
        checkpoint,
        [read[r.range_id] for r in wanted.unsplit],
        taken,
    )
    return header


def _recut(
    context: LakeContext,
    strategy: LakeTs,
    held: LeasedStream,
    wanted: FetchPlan,
    old: DataFrame,
    keys: DataFrame,
    read: dict[int, StoredRange],
) -> NewSegment:
    """The replica's rows of ranges that have outgrown their size, under the ids that the source gives them now."""
    children = [r.range_id for r in wanted.children]
    ids = keys.where(keys.range_id.isin(children)).select("key_id", "range_id")
    rows = old.drop("range_id").join(ids, "key_id")
    segment = context.files.write(rows, row_fields([c.travel for c in strategy.stored_columns]), "segment", held)
    cut = [read[i] for i in children]
    return NewSegment(segment, sum(r.rows for r in cut), cut, wanted.parents)
