"""Upkeep of a Spark site, under the lease: batches folded into the replica, small ranges joined, files let go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy.engine import Connection

from qbcd import hooks
from qbcd.model import BatchHeader, StreamPlan
from qbcd.sites import layers
from qbcd.sites.files import Part
from qbcd.sites.resizing import joined_as
from qbcd.sites.shapes import row_fields
from qbcd.state import StoredRange, StreamRow

if TYPE_CHECKING:
    from qbcd.sites.spark import SparkSite
    from qbcd.sites.values import Held, Settings

COMPACT_FRACTION = 0.1  # of the replica's rows, standing in batches, before they are folded in
COMPACT_BATCHES = 50
COMPACT_SEGMENTS = 20
SOME_SEGMENTS = 5  # up to which another is made of ranges with changes: each is read by itself
ANEW_AT_MOST = 0.5  # of the replica's rows, in ranges with changes, up to which only these are written anew
WITH_UNREAD = 1.5  # times the replica's rows, up to which files may grow by rows that are read no more


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
    """Folds the batches into a new segment when they, or the segments, have become many; True when it did.

    Where changes keep to a part of the ranges, only these are written anew. Their rows of before stay, unread, beside
    those of the others, until there is too much of that or ranges are to be joined: then all ranges are written.
    """
    store, stream = site.store, site.stream
    with site.reading() as conn:
        segments = store.segments(conn, stream)
        folded = site.replica.folded_through(conn)
        pending = store.batches(conn, stream, folded) if folded else []
        rows, grown = int(held.row.checkpoint["rows"]), sum(h.size for h in pending)
        large = grown > max(1000, COMPACT_FRACTION * rows) or len(pending) >= COMPACT_BATCHES
        if not large and len(segments) <= COMPACT_SEGMENTS:
            return False
        known = store.ranges(conn, stream)
    groups = site.strategy(plan).cut.joined(known, settings.rows_per_range)
    some = len(segments) < SOME_SEGMENTS and len(groups) == len(known)
    moved = _moved(site, plan, pending, known) if some else []
    anew = sum(r.rows for r in moved)
    if moved and anew <= ANEW_AT_MOST * rows and sum(s.rows for s in segments) + anew <= WITH_UNREAD * rows:
        _fold_some(site, plan, held, moved)
    else:
        _fold_all(site, plan, held, known, groups)
    return True


def _moved(
    site: SparkSite, plan: StreamPlan, pending: Sequence[BatchHeader], known: Sequence[StoredRange]
) -> list[StoredRange]:
    """The ranges that the batches have changes of."""
    with site.spark.for_rows(sum(h.size for h in pending)):
        batches = site.replica.batch_rows(plan, *(Part.of_location(h.location) for h in pending))
        ids = {int(r["range_id"]) for r in batches.select("range_id").distinct().collect()}
    return [r for r in known if r.range_id in ids]


def _fold_some(site: SparkSite, plan: StreamPlan, held: Held, moved: Sequence[StoredRange]) -> None:
    """Writes the ranges that have changes into a segment of their own; the batches say nothing of the others."""
    part = _written(site, plan, held, moved, {})

    def switch(conn: Connection) -> StreamRow:
        site.replica.refold(conn, held.row, part, folded=held.row.last_batch_seq, moved=moved)
        return held.row

    _commit(site, held, switch)


def _fold_all(
    site: SparkSite, plan: StreamPlan, held: Held, known: Sequence[StoredRange], groups: Sequence[Sequence[StoredRange]]
) -> None:
    """Writes all ranges into one segment; each of `groups` becomes one, in the same step.

    Count and checksum of a joined range are the sums of theirs, and no source is asked (protocol.md 11).
    """
    row = held.row
    after = joined_as(groups, row.next_range_id)
    ids = {r.range_id: one.range_id for one, group in zip(after, groups, strict=True) for r in group if r != one}
    part = _written(site, plan, held, known, ids)
    rows, folded = int(row.checkpoint["rows"]), row.last_batch_seq
    _commit(
        site, held,
        lambda conn: site.replica.replace_all(
            conn, row, part, epoch=row.epoch, rows=rows, folded=folded, ranges=after
        ),
    )  # fmt: skip


def _written(
    site: SparkSite, plan: StreamPlan, held: Held, ranges: Sequence[StoredRange], ids: Mapping[int, int]
) -> Part:
    """The rows of `ranges`, as they are after all batches, under other `ids` where they have them."""
    kept = site.strategy(plan).kept
    with site.spark.for_rows(sum(r.rows for r in ranges)):
        with site.reading() as conn:
            rows = site.replica.rows(conn, plan, kept, ranges)
        return site.files.write(layers.moved_to(rows, ids), row_fields([c.travel for c in kept]), "segment", held)


def _commit(site: SparkSite, held: Held, switch: Callable[[Connection], StreamRow]) -> None:
    hooks.reach("before_commit")
    with site.writing() as conn:
        advanced = site.commit(conn, switch(conn), held, None, dict(held.row.checkpoint))
    held.row = advanced
    hooks.reach("after_commit")
