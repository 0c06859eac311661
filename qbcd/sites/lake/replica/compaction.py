"""Upkeep of a Spark site, under the lease: batches folded into the replica, small ranges joined, files let go."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from qbcd import hooks
from qbcd.model import BatchHeader, StreamPlan
from qbcd.ranges import partition
from qbcd.sites.lake.fetch import leaf_checksums
from qbcd.sites.lake.replica import layers
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.schema import row_fields
from qbcd.state import Segment, StoredRange
from qbcd.state.rows import merge_ranges

if TYPE_CHECKING:
    from qbcd.sites.lake.context import LakeContext
    from qbcd.sites.values import LeasedStream, Settings
    from qbcd.strategies.partitions.base import Partitioning

COMPACT_FRACTION = 0.25  # of the replica's rows, standing in batches, before they are folded in
COMPACT_BATCHES = 50
COMPACT_SEGMENTS = 20
TOO_MANY = 2  # times the ranges that a table should have at most, beyond which all are written anew, and joined
SOME_SEGMENTS = 5  # from which on the smaller ones are written anew, too: each is read by itself
TAKEN_SEGMENTS = 5  # up to which another is made of what a poll fetched
ANEW_AT_MOST = 0.5  # of the replica's rows, in ranges with changes, up to which only these are written anew
WITH_UNREAD = 1.5  # times the replica's rows, up to which files may grow by rows that are read no more


def collect(context: LakeContext, plan: StreamPlan, held: LeasedStream, settings: Settings) -> None:
    """Folds large batches into the replica, drops expired batches, sweeps files that nothing names."""
    changed = compact(context, plan, held, settings)
    store, stream = context.store, context.stream
    with context.writing() as conn:
        store.lock(conn, stream, context.project.project_id, held.row.version, held.row.fencing_token)
        folded = context.replica.folded_through(conn)
        if folded:
            store.mark_folded(conn, stream, folded)
        through = context.delivered_through(conn, settings)
        for header in store.expired_batches(conn, stream, through, settings.retain.total_seconds()):
            store.delete_batch(conn, stream, header.epoch, header.seq)
            changed = True
        context.swept = context.swept and not changed
        if context.swept:  # nothing was let go since the last sweep of this process
            return
        store.expire_pins(conn, stream)
        pins = store.pins(conn, stream)
        named = {s.segment_id for s in store.segments(conn, stream)}
        named |= {leaf_checksums.LeafNote.from_checkpoint(held.row.checkpoint).part}
        named |= {FileSet.of_location(h.location).part_id for h in store.batches(conn, stream)}
    if not pins:
        context.files.sweep(named, held)
        context.swept = True


def may_take(segments: Sequence[Segment], others: Sequence[StoredRange], fetched: Sequence[StoredRange]) -> bool:
    """Whether rows that a poll fetched, all of some ranges, had better become their segment than lie in a layer on it.

    It costs nothing: they are written already, and what is read next of these ranges is this alone. But their rows of
    before stay, unread, where other ranges stand, and each segment is read by itself.

    Args:
        segments: Those that there are.
        others: The ranges that were not fetched.
        fetched: Those that were, as they are now.
    """
    named = {r.segment for r in others}
    stored = _rows([s for s in segments if s.segment_id in named]) + _rows(fetched)
    return len(named) < TAKEN_SEGMENTS and stored <= WITH_UNREAD * (_rows(others) + _rows(fetched))


def _rows(pieces: Sequence[Segment] | Sequence[StoredRange]) -> int:
    return sum(one.rows for one in pieces)


def compact(context: LakeContext, plan: StreamPlan, held: LeasedStream, settings: Settings) -> bool:
    """Folds the batches into a new segment when they, or the segments, have become many; True when it did.

    Where changes keep to a part of the ranges, only these are written anew; their rows of before stay, unread, beside
    those of the others, until there is too much of that. Ranges that are written anew and have become small are joined
    in the same step: count and checksum of one are the sums of theirs, and no source is asked
    (docs/design/protocol.md#rule-11).
    """
    store, stream, row = context.store, context.stream, held.row
    with context.reading() as conn:
        segments = store.segments(conn, stream)
        folded = context.replica.folded_through(conn)
        pending = store.batches(conn, stream, folded) if folded else []
        rows, grown = int(row.checkpoint["rows"]), sum(h.size for h in pending)
        large = grown > max(1000, COMPACT_FRACTION * rows) or len(pending) >= COMPACT_BATCHES
        unread = context.strategy(plan).partitioning.paged and _rows(segments) > WITH_UNREAD * max(1, rows)
        if not large and not unread and len(segments) <= COMPACT_SEGMENTS:
            return False
        known = store.ranges(conn, stream)
    many = settings.most_ranges is not None and len(known) > TOO_MANY * settings.most_ranges
    anew = known if many else _written_anew(context, plan, pending, known, segments)
    chosen = {r.range_id for r in anew}
    small = partition.ANY if many else partition.SMALL
    groups = _groups(context.strategy(plan).partitioning, known, chosen, settings.range_size(rows), small)
    after = merge_ranges(groups, row.next_range_id)
    ids = {r.range_id: one.range_id for one, group in zip(after, groups, strict=True) for r in group if r != one}
    with context.spark.for_rows(sum(r.rows for r in anew) + grown):
        part = _write(context, plan, held, anew, ids)
    hooks.reach("before_commit")
    with context.writing() as conn:
        stay = {r.range_id for r in known} - chosen
        switched = context.replica.refold(conn, row, part, folded=row.last_batch_seq, ranges=after, stay=stay)
        advanced = context.commit(conn, switched, held, None, dict(row.checkpoint))
    held.row = advanced
    hooks.reach("after_commit")
    return True


def _written_anew(
    context: LakeContext,
    plan: StreamPlan,
    pending: Sequence[BatchHeader],
    known: Sequence[StoredRange],
    segments: Sequence[Segment],
) -> Sequence[StoredRange]:
    """The ranges that the batches have changes of, if they hold few enough of the rows; else all ranges.

    And those of the smaller segments, once there are many segments.
    """
    last, small = _last_changes(context, plan, pending), set[str | None]()
    level = {s.segment_id: s.folded_through for s in segments}
    if len(segments) >= SOME_SEGMENTS:
        largest = max(segments, key=lambda s: s.rows)
        small = {s.segment_id for s in segments if s is not largest}
    moved = [r for r in known if last.get(r.range_id, -1) > level.get(r.segment or "", -1) or r.segment in small]
    chosen = {r.range_id for r in moved}
    named = {r.segment for r in known if r.range_id not in chosen}
    rows, anew, left = _rows(known), _rows(moved), _rows([s for s in segments if s.segment_id in named])
    few = anew <= ANEW_AT_MOST * rows and left + anew <= WITH_UNREAD * rows
    return moved if moved and few else known


def _last_changes(context: LakeContext, plan: StreamPlan, pending: Sequence[BatchHeader]) -> dict[int, int]:
    """The last batch that has changes of a range, by range."""
    if not pending:
        return {}
    with context.spark.for_rows(sum(h.size for h in pending)):
        batches = context.replica.batch_rows(plan, *(FileSet.of_location(h.location) for h in pending))
        found = batches.groupBy("range_id").agg({"batch_seq": "max"}).toDF("range_id", "last").collect()
        return {int(r["range_id"]): int(r["last"]) for r in found}


def _groups(
    cut: Partitioning, known: Sequence[StoredRange], chosen: set[int], size: int, small: float
) -> list[list[StoredRange]]:
    """All ranges, in order, as groups that are to be one range each: neighbours that are all `chosen`, others alone."""
    groups: list[list[StoredRange]] = []
    for anew, found in itertools.groupby(known, key=lambda r: r.range_id in chosen):
        run = list(found)
        groups += cut.joined(run, size, small) if anew else [[r] for r in run]
    return groups


def _write(
    context: LakeContext, plan: StreamPlan, held: LeasedStream, anew: Sequence[StoredRange], ids: Mapping[int, int]
) -> FileSet:
    """The rows of ranges, as they are after all batches, under other `ids` where they have them."""
    kept = context.strategy(plan).stored_columns
    with context.reading() as conn:
        rows = context.replica.rows(conn, plan, kept, anew)
    return context.files.write(layers.moved_to(rows, ids), row_fields([c.travel for c in kept]), "segment", held)
