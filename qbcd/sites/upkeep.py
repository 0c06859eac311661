"""Upkeep of a Spark site, under the lease: batches folded into the replica, small ranges joined, files let go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd import hooks
from qbcd.model import StreamPlan
from qbcd.sites import layers
from qbcd.sites.files import Part
from qbcd.sites.resizing import joined_as
from qbcd.sites.shapes import row_fields

if TYPE_CHECKING:
    from qbcd.sites.spark import SparkSite
    from qbcd.sites.values import Held, Settings

COMPACT_FRACTION = 0.1  # of the replica's rows, standing in batches, before they are folded in
COMPACT_BATCHES = 50
COMPACT_SEGMENTS = 20


def collect(site: SparkSite, plan: StreamPlan, held: Held, settings: Settings) -> None:
    """Folds large batches into the replica, drops expired batches, sweeps files that nothing names."""
    changed = compact(site, plan, held, settings)
    store, stream = site.store, site.stream
    with site.writing() as conn:
        store.lock(conn, stream, site.project.project_id, held.row.version, held.row.fencing_token)
        folded = site.replica.folded_through(conn)
        if folded:
            store.mark_folded(conn, stream, folded)
        through = site.delivered_through(conn, settings)
        for header in store.expired_batches(conn, stream, through, settings.retain.total_seconds()):
            store.delete_batch(conn, stream, header.epoch, header.seq)
            changed = True
        if site.swept and not changed:  # nothing was let go since the last sweep of this process
            return
        store.expire_pins(conn, stream)
        pins = store.pins(conn, stream)
        named = {s.segment_id for s in store.segments(conn, stream)}
        named |= {Part.of_location(h.location).part_id for h in store.batches(conn, stream)}
    if not pins:
        site.files.sweep(named, held)
        site.swept = True


def compact(site: SparkSite, plan: StreamPlan, held: Held, settings: Settings) -> bool:
    """Folds the batches into one new segment when they, or the segments, have become many; True when it did.

    All rows are written anew, so ranges that have become small are joined in the same step: count and checksum of one
    are the sums of theirs, and no source is asked (protocol.md 11).
    """
    store, stream, row, strategy = site.store, site.stream, held.row, site.strategy(plan)
    with site.reading() as conn:
        segments = store.segments(conn, stream)
        folded = site.replica.folded_through(conn)
        pending = store.batches(conn, stream, folded) if folded else []
        rows, grown = int(row.checkpoint["rows"]), sum(h.size for h in pending)
        large = grown > max(1000, COMPACT_FRACTION * rows) or len(pending) >= COMPACT_BATCHES
        if not large and len(segments) <= COMPACT_SEGMENTS:
            return False
        known = store.ranges(conn, stream)
    groups = strategy.cut.joined(known, settings.rows_per_range)
    after = joined_as(groups, row.next_range_id)
    moved = {r.range_id: one.range_id for one, group in zip(after, groups, strict=True) for r in group if r != one}
    fields = row_fields([c.travel for c in strategy.kept])
    with site.spark.for_rows(rows):
        with site.reading() as conn:
            whole = site.replica.rows(conn, plan, strategy.kept, known)
        part = site.files.write(layers.moved_to(whole, moved), fields, "segment", held)
    hooks.reach("before_commit")
    with site.writing() as conn:
        switched = site.replica.replace_all(
            conn, row, part, epoch=row.epoch, rows=rows, folded=row.last_batch_seq, ranges=after
        )
        advanced = site.commit(conn, switched, held, None, dict(row.checkpoint))
    held.row = advanced
    hooks.reach("after_commit")
    return True
