"""A replica under Spark against all that its source has before the watermark: what an audit repairs and `verify` lists.

Ranges whose digests are not those of the replica's own rows are fetched, with the rows that lie past the watermark,
whatever the restriction says of them: of those nothing can be told yet (docs/design/protocol.md#rule-19).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from qbcd import hooks
from qbcd.model import BatchHeader, Cost, StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.ranges import partition
from qbcd.sites.checkpoint import AUDIT
from qbcd.sites.lake import diff
from qbcd.sites.lake.checksums import checksums
from qbcd.sites.lake.commit import commit_step, new_batch, write_batch
from qbcd.sites.lake.dirty_ranges import with_counts
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import travels_of
from qbcd.sites.lake.replica.schema import row_fields
from qbcd.sites.lake.snapshot import Snapshot, checkpoint_entries, remembered
from qbcd.sites.lake.stage import check_values, range_frame
from qbcd.sites.poll import Poll
from qbcd.sites.refusals import check_key
from qbcd.sites.values import Detection, LeasedStream, Settings
from qbcd.state import StoredRange
from qbcd.strategies import IdRcs, LakeTs
from qbcd.watermark import Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.sites.lake.context import LakeContext

SETTLED = (("shown", "int"), ("settled", "int"))
TOLD = "shown = 1 AND settled = 1"  # the rows that the replica should have


def suspects(
    context: LakeContext,
    plan: StreamPlan,
    strategy: IdRcs,
    snapshot: Snapshot,
    known: Sequence[StoredRange],
    settings: Settings,
) -> list[StoredRange]:
    """The ranges, as the source has them, whose rows are not those that stand in the replica's own files."""
    whole = strategy.row_checksums()
    now = checksums(context.source, whole, snapshot, known, settings.connections, context.rest)
    with context.reading() as conn:
        own = with_counts(
            context.stream, known, diff.sums(context.replica.rows(conn, plan, strategy.stored_columns, known))
        )
    return partition.differing(own, now)


def fetch(
    context: LakeContext,
    strategy: LakeTs,
    snapshot: Snapshot,
    asked: Sequence[StoredRange],
    settings: Settings,
    held: LeasedStream,
    before: Window,
) -> FileSet:
    """Rows of `asked`, each with its place before or past the watermark."""
    context.progress(f"fetching {len(asked):,} ranges that differ")
    rows = range_frame(
        context.source,
        context.spark.get(),
        strategy,
        snapshot,
        asked,
        lambda some, part: strategy.settled_images(some, before, typed=settings.typed),
        settings.connections,
    )
    return context.files.write(rows, _fields(strategy, settings), "fetch", held, source=context.source)


def stage_of(context: LakeContext, strategy: LakeTs, fetched: FileSet, settings: Settings) -> DataFrame:
    """The rows of a fetch."""
    return context.files.read(context.spark.get(), _fields(strategy, settings), fetched)


def _fields(strategy: LakeTs, settings: Settings) -> list[tuple[str, str]]:
    return row_fields(travels_of(strategy.plan), typed=settings.typed, extra=(*strategy.extra, *SETTLED))


def differing(old: DataFrame, stage: DataFrame, plan: StreamPlan) -> DataFrame:
    """What the replica's rows `old` and the stage differ in, but for keys whose row lies past the watermark."""
    pending = stage.where("settled = 0").select("key_id")
    return diff.differences(old, stage.where(TOLD), plan, by_value=False).join(pending, "key_id", "left_anti")


def audit(
    context: LakeContext, plan: StreamPlan, strategy: LakeTs, settings: Settings, held: LeasedStream, began: float
) -> Detection:
    """One audit in one step; `began` is the store's clock."""
    started = time.monotonic()
    with context.reading() as conn:
        known = context.store.ranges(conn, context.stream)
    before = sum(r.rows for r in known)
    with remembered(context, plan, held, settings) as snapshot:
        plan = plan.on(snapshot.table)
        check_key(snapshot.session, context.strategy(plan))
        context.progress("audit: comparing digests with those of the replica")
        settled = strategy.watermarked.window(None, held.row.checkpoint["mark"]["at"])
        dirty = suspects(context, plan, strategy, snapshot, known, settings) if settled else []
        fetched = fetch(context, strategy, snapshot, dirty, settings, held, settled) if dirty and settled else None
    hooks.reach("after_fetch")
    if fetched is None:
        commit_step(
            context, Poll(context, plan, strategy, settings, held), None, {**held.row.checkpoint, Entry.AUDITED: began}
        )
        return Detection(None, Cost(before, 0, 0, len(known), 0, time.monotonic() - started, spark=True))
    try:
        header = _repair(context, plan, strategy, settings, held, snapshot, fetched, dirty, began)
    finally:
        context.files.discard(fetched)
    rows, seconds = sum(r.rows for r in dirty), time.monotonic() - started
    return Detection(
        header, Cost(before, rows, fetched.size, len(known), len(dirty), seconds, spark=True), tuple(held.notes)
    )


def _repair(
    context: LakeContext,
    plan: StreamPlan,
    strategy: LakeTs,
    settings: Settings,
    held: LeasedStream,
    snapshot: Snapshot,
    fetched: FileSet,
    dirty: Sequence[StoredRange],
    began: float,
) -> BatchHeader | None:
    about = 2 * sum(r.rows for r in dirty)
    stage = diff.gathered(stage_of(context, strategy, fetched, settings), about)
    check_values(stage, plan, settings)
    with context.reading() as conn:
        old = context.replica.rows(conn, plan, strategy.stored_columns, dirty)
    changes = differing(old, stage, plan).withColumn("reason", F.lit(AUDIT))
    found = write_batch(context, plan, settings, held, changes, about)
    header = new_batch(context, plan, settings, held, found, held.row.epoch, snapshot.ts_ms)
    hooks.reach("after_stage")
    # A range's checksum is that of the keys which the replica has in it then.
    waiting = stage.where("settled = 0").join(old.select("key_id"), "key_id", "left_semi")
    keys = [rows.select("range_id", strategy.summed) for rows in (stage.where(TOLD), waiting)]
    read = with_counts(context.stream, dirty, diff.sums(keys[0].unionByName(keys[1]), strategy.summed))
    rows = int(held.row.checkpoint["rows"]) + found.net
    checkpoint = {
        **held.row.checkpoint,
        **checkpoint_entries(context, plan, settings, held, snapshot, rows),
        Entry.AUDITED: began,
    }
    commit_step(context, Poll(context, plan, strategy, settings, held), header, checkpoint, read)
    return header
