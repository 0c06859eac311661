"""Compaction under the lease: merge batches and small ranges, remove superseded files."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from qbcd.common import hooks
from qbcd.model import BatchHeader
from qbcd.ranges import partition
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.notes import LeafNote
from qbcd.sites.lake.poll import LakePoll, ParquetPoll
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.stage import replica_rows, stored_fields
from qbcd.state import Segment, StoredRange
from qbcd.state.rows import merge_ranges
from qbcd.strategies.partitions.base import Partitioning

COMPACT_FRACTION = 0.25  # of the replica's rows: batches with more rows are merged into segments
COMPACT_BATCHES = 50
COMPACT_SEGMENTS = 20
TOO_MANY = 2  # times the maximal number of ranges of a table: above it, all are rewritten and merged
SOME_SEGMENTS = 5  # from this number on the smaller ones are rewritten too, since each segment is a separate read
TAKEN_SEGMENTS = 5  # up to this number, the rows of a poll may become another segment
REWRITTEN_AT_MOST = 0.5  # of the replica's rows in ranges with changes: up to it only these ranges are rewritten
WITH_UNREAD = 1.5  # times the replica's rows: maximal rows in files, including those that are no longer read


def collect(poll: LakePoll) -> None:
    """Merge large batches into segments, remove expired batches and files that nothing names."""
    context = poll.context
    if context.may_collect(poll.leased.row.version, poll.settings.config.retain.total_seconds()):
        remove_expired(poll, changed=compact(poll))
        if context.swept:
            context.collected(poll.leased.row.version)


def remove_expired(poll: ParquetPoll, *, changed: bool) -> None:
    """Remove expired batches, and files that nothing names.

    Args:
        changed: The files of the replica have changed.
    """
    context, leased, row = poll.context, poll.leased, poll.leased.row
    store, stream = context.store, context.stream
    with context.writing() as conn:
        store.lock(conn, stream, context.project.project_id, row.version, row.fencing_token)
        folded = context.replica.folded_through(conn)
        if folded:
            store.mark_folded(conn, stream, folded)
        through = context.delivered_through(conn, poll.settings)
        for header in store.expired_batches(conn, stream, through, poll.settings.config.retain.total_seconds()):
            store.delete_batch(conn, stream, header.epoch, header.seq)
            changed = True
        context.swept = context.swept and not changed
        if context.swept:  # every file is still named since the last sweep of this process
            return
        store.expire_pins(conn, stream)
        pins = store.pins(conn, stream)
        named = {s.segment_id for s in store.segments(conn, stream)}
        named |= {LeafNote.from_checkpoint(row.checkpoint).part}
        named |= {FileSet.of_location(h.location).part_id for h in store.layers(conn, stream)}
    if not pins:
        context.files.sweep(named, leased)
        context.swept = True


def may_become_segment(
    segments: Sequence[Segment], others: Sequence[StoredRange], fetched: Sequence[StoredRange]
) -> bool:
    """Return True if fetched rows of whole ranges should become their segment, not a layer.

    That costs nothing: the rows are written already, and later reads of these ranges read this segment only. But their
    old rows remain, unread, in segments of other ranges, and each segment is a separate read.

    Args:
        others: The ranges that were not fetched.
        fetched: The fetched ranges, with their counts of now.
    """
    named = {r.segment for r in others}
    stored = _rows([s for s in segments if s.segment_id in named]) + _rows(fetched)
    return len(named) < TAKEN_SEGMENTS and stored <= WITH_UNREAD * (_rows(others) + _rows(fetched))


def _rows(pieces: Sequence[Segment] | Sequence[StoredRange]) -> int:
    return sum(one.rows for one in pieces)


def compact(poll: LakePoll) -> bool:
    """Merge the batches into a new segment if there are many batches or segments.

    Return True if it did.

    If only some ranges have changes, only these are rewritten. Their old rows remain, unread, next to rows of other
    ranges, until they are too many. Small rewritten ranges are merged in the same step: the count and checksum of a
    merged range are the sums of its parts, so no query of the source is needed (docs/design/protocol.md#rule-11).
    """
    context, settings, row = poll.context, poll.settings, poll.leased.row
    store, stream, partitioning = context.store, context.stream, poll.strategy.partitioning
    with context.reading() as conn:
        segments = store.segments(conn, stream)
        folded = context.replica.folded_through(conn)
        pending = store.layers(conn, stream, folded) if folded else []
        rows, grown = poll.leased.checkpoint.rows, sum(h.size for h in pending)
        large = grown > max(1000, COMPACT_FRACTION * rows) or len(pending) >= COMPACT_BATCHES
        unread = partitioning.paged and _rows(segments) > WITH_UNREAD * max(1, rows)
        if not large and not unread and len(segments) <= COMPACT_SEGMENTS:
            return False
        known = store.ranges(conn, stream)
    many = settings.most_ranges is not None and len(known) > TOO_MANY * settings.most_ranges
    rewritten = known if many else _to_rewrite(poll, pending, known, segments)
    chosen = {r.range_id for r in rewritten}
    small = partition.ANY if many else partition.SMALL
    groups = _groups(partitioning, known, chosen, settings.range_size(rows), small)
    after = merge_ranges(groups, row.next_range_id)
    ids = {r.range_id: one.range_id for one, group in zip(after, groups, strict=True) for r in group if r != one}
    with poll.on_engine(0) as work:  # nothing is fetched: only bytes decide
        part = _write(work, rewritten, ids)
    hooks.reach("before_commit")
    with context.writing() as conn:
        stay = {r.range_id for r in known} - chosen
        refolded = context.replica.refold(conn, row, part, folded=row.last_batch_seq, ranges=after, stay=stay)
        advanced = context.commit(conn, refolded, poll.leased, None, dict(row.checkpoint))
    poll.leased.row = advanced
    hooks.reach("after_commit")
    return True


def _to_rewrite(
    poll: LakePoll, pending: Sequence[BatchHeader], known: Sequence[StoredRange], segments: Sequence[Segment]
) -> Sequence[StoredRange]:
    """Return the ranges with changes in the batches if they have few rows, otherwise all ranges.

    If there are many segments, ranges of the smaller ones are added.
    """
    last, small = _last_batches(poll, pending), set[str | None]()
    level = {s.segment_id: s.folded_through for s in segments}
    if len(segments) >= SOME_SEGMENTS:
        largest = max(segments, key=lambda s: s.rows)
        small = {s.segment_id for s in segments if s is not largest}
    changed = [r for r in known if last.get(r.range_id, -1) > level.get(r.segment or "", -1) or r.segment in small]
    chosen = {r.range_id for r in changed}
    named = {r.segment for r in known if r.range_id not in chosen}
    rows, rewritten, left = _rows(known), _rows(changed), _rows([s for s in segments if s.segment_id in named])
    few = rewritten <= REWRITTEN_AT_MOST * rows and left + rewritten <= WITH_UNREAD * rows
    return changed if changed and few else known


def _last_batches(poll: LakePoll, pending: Sequence[BatchHeader]) -> dict[int, int]:
    """Return by range the last batch with changes of the range."""
    if not pending:
        return {}
    with poll.on_engine(0) as work:
        parts = [FileSet.of_location(h.location) for h in pending]
        return algebra.last_batches(work.engine, work.context.replica.batch_rows(work.engine, work.plan, *parts))


def _groups(
    partitioning: Partitioning, known: Sequence[StoredRange], chosen: set[int], size: int, small: float
) -> list[list[StoredRange]]:
    """Return all ranges in order, in groups that become one range each.

    Only adjacent `chosen` ranges are merged.
    """
    groups: list[list[StoredRange]] = []
    for rewritten, found in itertools.groupby(known, key=lambda r: r.range_id in chosen):
        run = list(found)
        groups += partitioning.joined(run, size, small) if rewritten else [[r] for r in run]
    return groups


def _write(poll: LakePoll, rewritten: Sequence[StoredRange], ids: Mapping[int, int]) -> FileSet:
    """Write the rows of ranges after all batches; `ids` replaces range ids."""
    rows = algebra.renumbered(poll.engine, replica_rows(poll, rewritten), ids)
    return poll.context.files.write(poll.engine, rows, stored_fields(poll), "segment", poll.leased)
