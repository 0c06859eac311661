"""A sweep under Spark: which keys of the replica are gone from the source (paper 3.2.1; protocol.md 14).

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
from qbcd.sites.lake.commit import Taken, new_batch, switch, write_batch
from qbcd.sites.lake.dirty_ranges import cut_anew, filled, look
from qbcd.sites.lake.due_ranges import Turn
from qbcd.sites.lake.fetch_plan import Look
from qbcd.sites.lake.replica.files import Part
from qbcd.sites.lake.replica.schema import row_fields
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.sites.lake.stage import range_frame
from qbcd.sites.values import Detection, Held, Settings
from qbcd.state import StoredRange
from qbcd.strategies import RemoteTs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.sites.lake.site import SparkSite

FIELDS = [("range_id", "bigint"), ("key_id", "binary"), ("key_digest", "bigint")]


def sweep(
    site: SparkSite, plan: StreamPlan, strategy: RemoteTs, settings: Settings, held: Held, began: float
) -> Detection:
    """One sweep; `began` is the store's clock, from which the next one is reckoned."""
    started = time.monotonic()
    with site.reading() as conn:
        known = site.store.ranges(conn, site.stream)
    with site.remembered(plan, held, settings) as snapshot:
        wanted = look(site, strategy, snapshot, Turn(known, known), settings, held)
        wanted = cut_anew(site, strategy, snapshot, settings, held, wanted)
        with site.spark.for_rows(wanted.rows):
            fetched = _fetch(site, strategy, snapshot, wanted.asked, settings, held) if wanted.asked else None
    hooks.reach("after_fetch")
    if fetched is None:
        switch(site, settings, held, None, {**held.row.checkpoint, "swept": began})
        return Detection(None, Cost(wanted.scanned, 0, 0, len(known), 0, time.monotonic() - started))
    try:
        with site.spark.for_rows(wanted.rows):
            header = _compare(site, plan, strategy, settings, held, snapshot, fetched, wanted, began)
    finally:
        site.files.discard(fetched)
    dirty, seconds = (*wanted.kept, *wanted.parents), time.monotonic() - started
    rows = sum(r.rows for r in dirty)
    cost = Cost(wanted.scanned, rows, fetched.size, len(known), len(dirty), seconds, spark=True)
    return Detection(header, cost, tuple(held.notes))


def _fetch(
    site: SparkSite,
    strategy: RemoteTs,
    snapshot: Snapshot,
    asked: Sequence[StoredRange],
    settings: Settings,
    held: Held,
) -> Part:
    site.progress(f"fetching the keys of {len(asked):,} ranges")
    rows = range_frame(site.source, site.spark.get(), strategy, snapshot, asked, strategy.keys, settings.connections)
    return site.files.write(rows, FIELDS, "fetch", held, source=site.source)


def _compare(
    site: SparkSite,
    plan: StreamPlan,
    strategy: RemoteTs,
    settings: Settings,
    held: Held,
    snapshot: Snapshot,
    fetched: Part,
    wanted: Look,
    began: float,
) -> BatchHeader | None:
    keys = diff.gathered(site.files.read(site.spark.get(), FIELDS, fetched), wanted.rows)
    with site.reading() as conn:
        old = site.replica.rows(conn, plan, strategy.kept, wanted.old)
    found = write_batch(site, plan, settings, held, diff.gone(old, keys), wanted.rows)
    standing = keys.join(old.select("key_id"), "key_id", "left_semi")
    read = {r.range_id: r for r in filled(site.stream, wanted.asked, diff.sums(standing, strategy.summed))}
    header = new_batch(site, plan, settings, held, found, held.row.epoch, snapshot.ts_ms)
    hooks.reach("after_stage")
    taken = _recut(site, strategy, held, wanted, old, keys, read) if wanted.children else None
    rows = int(held.row.checkpoint["rows"]) + found.net
    checkpoint = {**held.row.checkpoint, **site.checkpoint(plan, settings, snapshot, rows), "swept": began}
    switch(site, settings, held, header, checkpoint, [read[r.range_id] for r in wanted.kept], taken)
    return header


def _recut(
    site: SparkSite,
    strategy: RemoteTs,
    held: Held,
    wanted: Look,
    old: DataFrame,
    keys: DataFrame,
    read: dict[int, StoredRange],
) -> Taken:
    """The replica's rows of ranges that have outgrown their size, under the ids that the source gives them now."""
    children = [r.range_id for r in wanted.children]
    ids = keys.where(keys.range_id.isin(children)).select("key_id", "range_id")
    rows = old.drop("range_id").join(ids, "key_id")
    segment = site.files.write(rows, row_fields([c.travel for c in strategy.kept]), "segment", held)
    cut = [read[i] for i in children]
    return Taken(segment, sum(r.rows for r in cut), cut, wanted.parents)
