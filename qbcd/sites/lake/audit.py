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
from qbcd.ranges import partition
from qbcd.sites.checkpoint import AUDIT, AUDITED
from qbcd.sites.lake import diff
from qbcd.sites.lake.checksums import checksums
from qbcd.sites.lake.commit import commit_step, new_batch, write_batch
from qbcd.sites.lake.dirty_ranges import with_counts
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import travels_of
from qbcd.sites.lake.replica.schema import row_fields
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.sites.lake.stage import range_frame
from qbcd.sites.values import Detection, LeasedStream, Settings
from qbcd.state import StoredRange
from qbcd.strategies import IdRcs, LakeTs
from qbcd.watermark import Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.sites.lake.site import LakeSite

SETTLED = (("shown", "int"), ("settled", "int"))
TOLD = "shown = 1 AND settled = 1"  # the rows that the replica should have


def suspects(
    site: LakeSite,
    plan: StreamPlan,
    strategy: IdRcs,
    snapshot: Snapshot,
    known: Sequence[StoredRange],
    settings: Settings,
) -> list[StoredRange]:
    """The ranges, as the source has them, whose rows are not those that stand in the replica's own files."""
    whole = strategy.row_checksums()
    now = checksums(site.source, whole, snapshot, known, settings.connections, site.rest)
    with site.reading() as conn:
        own = with_counts(site.stream, known, diff.sums(site.replica.rows(conn, plan, strategy.stored_columns, known)))
    return partition.differing(own, now)


def fetch(
    site: LakeSite,
    strategy: LakeTs,
    snapshot: Snapshot,
    asked: Sequence[StoredRange],
    settings: Settings,
    held: LeasedStream,
    before: Window,
) -> FileSet:
    """Rows of `asked`, each with its place before or past the watermark."""
    site.progress(f"fetching {len(asked):,} ranges that differ")
    rows = range_frame(
        site.source,
        site.spark.get(),
        strategy,
        snapshot,
        asked,
        lambda some, part: strategy.settled_images(some, before, typed=settings.typed),
        settings.connections,
    )
    return site.files.write(rows, _fields(strategy, settings), "fetch", held, source=site.source)


def stage_of(site: LakeSite, strategy: LakeTs, fetched: FileSet, settings: Settings) -> DataFrame:
    """The rows of a fetch."""
    return site.files.read(site.spark.get(), _fields(strategy, settings), fetched)


def _fields(strategy: LakeTs, settings: Settings) -> list[tuple[str, str]]:
    return row_fields(travels_of(strategy.plan), typed=settings.typed, extra=(*strategy.extra, *SETTLED))


def differing(old: DataFrame, stage: DataFrame, plan: StreamPlan) -> DataFrame:
    """What the replica's rows `old` and the stage differ in, but for keys whose row lies past the watermark."""
    pending = stage.where("settled = 0").select("key_id")
    return diff.differences(old, stage.where(TOLD), plan, by_value=False).join(pending, "key_id", "left_anti")


def audit(
    site: LakeSite, plan: StreamPlan, strategy: LakeTs, settings: Settings, held: LeasedStream, began: float
) -> Detection:
    """One audit in one step; `began` is the store's clock."""
    started = time.monotonic()
    with site.reading() as conn:
        known = site.store.ranges(conn, site.stream)
    before = sum(r.rows for r in known)
    with site.remembered(plan, held, settings) as snapshot:
        plan = plan.on(snapshot.table)
        site.check_key(snapshot.session, plan)
        site.progress("audit: comparing digests with those of the replica")
        settled = strategy.watermarked.window(None, held.row.checkpoint["mark"]["at"])
        dirty = suspects(site, plan, strategy, snapshot, known, settings) if settled else []
        fetched = fetch(site, strategy, snapshot, dirty, settings, held, settled) if dirty and settled else None
    hooks.reach("after_fetch")
    if fetched is None:
        commit_step(site, settings, held, None, {**held.row.checkpoint, AUDITED: began})
        return Detection(None, Cost(before, 0, 0, len(known), 0, time.monotonic() - started, spark=True))
    try:
        header = _repair(site, plan, strategy, settings, held, snapshot, fetched, dirty, began)
    finally:
        site.files.discard(fetched)
    rows, seconds = sum(r.rows for r in dirty), time.monotonic() - started
    return Detection(
        header, Cost(before, rows, fetched.size, len(known), len(dirty), seconds, spark=True), tuple(held.notes)
    )


def _repair(
    site: LakeSite,
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
    stage = diff.gathered(stage_of(site, strategy, fetched, settings), about)
    site.check_values(stage, plan, settings)
    with site.reading() as conn:
        old = site.replica.rows(conn, plan, strategy.stored_columns, dirty)
    changes = differing(old, stage, plan).withColumn("reason", F.lit(AUDIT))
    found = write_batch(site, plan, settings, held, changes, about)
    header = new_batch(site, plan, settings, held, found, held.row.epoch, snapshot.ts_ms)
    hooks.reach("after_stage")
    # A range's checksum is that of the keys which the replica has in it then.
    waiting = stage.where("settled = 0").join(old.select("key_id"), "key_id", "left_semi")
    keys = [rows.select("range_id", strategy.summed) for rows in (stage.where(TOLD), waiting)]
    read = with_counts(site.stream, dirty, diff.sums(keys[0].unionByName(keys[1]), strategy.summed))
    rows = int(held.row.checkpoint["rows"]) + found.net
    checkpoint = {**held.row.checkpoint, **site.checkpoint(plan, settings, snapshot, rows), AUDITED: began}
    commit_step(site, settings, held, header, checkpoint, read)
    return header
