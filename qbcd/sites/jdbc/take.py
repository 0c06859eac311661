"""The steps of a poll of whole rows.

They are the baseline, and the comparison of the buckets that differ.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from typing_extensions import override

from qbcd.common import hooks
from qbcd.errors import GuardTripped, Refused, UnsafeKey, UnsupportedType
from qbcd.local.travelled import GREGORIAN, Buckets, BucketSums, TravelledRows
from qbcd.model import BatchHeader, Cost
from qbcd.model.checkpoint import Entry
from qbcd.sites.checkpoint import due, new_epoch
from qbcd.sites.guards import check_guards
from qbcd.sites.jdbc.poll import RowsPoll, refuse_old_encoder, travelled
from qbcd.sites.lake.commit import PollStep, RangeChanges, WrittenBatch, new_batch, refuse_unsupported, written_changes
from qbcd.sites.lake.compaction import COMPACT_BATCHES, COMPACT_FRACTION, may_become_segment
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import NewSegment, travels_of
from qbcd.sites.lake.replica.schema import batch_fields, row_fields
from qbcd.sites.values import LISTED, Detection, Difference, Differences
from qbcd.state import StoredRange

MOST_BUCKETS = 4096


def bucket_count(rows: int, size: int) -> int:
    """Return the number of buckets of a table, a power of two."""
    return 1 << min(MOST_BUCKETS.bit_length() - 1, max(0, (rows // max(1, size)).bit_length()))


def take_baseline(poll: RowsPoll) -> Detection:
    """Read all rows and commit them as the replica, in buckets of keys.

    With `baseline_events` they are the first batch too.
    """
    with ExitStack() as work:
        return _replace_all(poll, work)


def _replace_all(poll: RowsPoll, work: ExitStack) -> Detection:
    started, context, leased = time.monotonic(), poll.context, poll.leased
    epoch = new_epoch(leased.row)
    with context.reading() as conn:
        now = context.store.now(conn)
    poll = work.enter_context(poll.on_engine(0))
    rows, part = work.enter_context(travelled(poll))
    count = rows.count()
    buckets = Buckets(leased.row.next_range_id, bucket_count(count, poll.settings.range_size(count)))
    found = rows.sums(buckets)
    _refuse_unfit_rows(poll, found)
    fetched = _staged(poll, rows, buckets, None)
    try:
        stage = _stage(poll, fetched)
        known = _counted(_ranges(buckets, now), found)
        header = _first_batch(poll, stage, known, epoch) if poll.settings.baseline_events and count else None
        hooks.reach("after_stage")
        segment = _segment(poll, fetched, stage)
    except BaseException:
        context.files.discard(fetched)
        raise
    hooks.reach("before_commit")
    with context.writing() as conn:
        folded = header.seq if header else leased.row.last_batch_seq
        new = NewSegment(segment, count, known)
        row = context.replica.replace_all(conn, leased.row, new, epoch=epoch, folded=folded)
        row = context.commit(conn, row, leased, header, poll.checkpoint_entries(count), epoch=epoch, prepared=True)
    leased.row = row
    context.files.discard(fetched, unless=segment == fetched)
    hooks.reach("after_commit")
    return Detection(header, Cost(count, count, part.size, buckets.count, buckets.count, time.monotonic() - started))


def _ranges(buckets: Buckets, now: float) -> list[StoredRange]:
    """Return the ranges of buckets; bounds are their numbers."""
    last = buckets.count - 1
    return [
        StoredRange(
            buckets.first + i, None if i == 0 else (str(i),), None if i == last else (str(i + 1),), last_visited=now
        )
        for i in range(buckets.count)
    ]


def _counted(ranges: Sequence[StoredRange], found: BucketSums) -> list[StoredRange]:
    """Return ranges with the counts and checksums of their rows; a range without rows has none."""
    sums = [found.sums.get(one.range_id, (0, 0)) for one in ranges]
    return [replace(one, rows=rows, checksum=total) for one, (rows, total) in zip(ranges, sums, strict=True)]


def _refuse_unfit_rows(poll: RowsPoll, found: BucketSums) -> None:
    """Refuse keys that are NULL, and dates that a driver may have changed.

    Raises:
        UnsafeKey: A key is NULL.
        UnsupportedType: A date is before the Gregorian calendar.
    """
    if found.null_keys:
        names = ", ".join(column.name for column in poll.plan.key)
        raise UnsafeKey(
            f"the key ({names}) is NULL in {found.null_keys:,} rows",
            stream=poll.context.stream,
            remedy="correct these rows, exclude them with `where`, or write key: none and reset the stream",
        )
    if found.old_dates:
        named = next(c.name for c in poll.plan.captured if c.travel.kind in ("date", "timestamp"))
        raise UnsupportedType(
            f"{found.old_dates:,} rows have a date before {GREGORIAN}, which JDBC drivers may shift by days",
            stream=poll.context.stream,
            remedy=f"read the column as text, such as types: {{{named}: text}}, then qbcd reset {poll.context.stream}",
        )


def _staged(poll: RowsPoll, rows: TravelledRows, buckets: Buckets, ranges: Sequence[int] | None) -> FileSet:
    """Write the rows of some buckets, and refuse a key that occurs twice among them.

    Raises:
        UnsafeKey: A key occurs more than once.
    """
    context, plan, fields = poll.context, poll.plan, row_fields(travels_of(poll.plan))
    fetched = context.files.write(poll.engine, rows.stage(buckets, ranges), fields, "fetch", poll.leased)
    found = None if plan.counted else algebra.repeated_key(poll.engine, _stage(poll, fetched), len(plan.key))
    if found is None:
        return fetched
    context.files.discard(fetched)
    named = ", ".join(f"{c.name} {text}" for c, text in zip(plan.key, found[0], strict=True))
    raise UnsafeKey(
        f"the key is not unique: {named} occurs {found[1]:,} times",
        stream=context.stream,
        remedy="name more columns in `key`, or write key: none; then reset the stream and prepare it again",
    )


def _stage(poll: RowsPoll, fetched: FileSet) -> Rows:
    return poll.context.files.read(poll.engine, row_fields(travels_of(poll.plan)), fetched)


def _segment(poll: RowsPoll, fetched: FileSet, stage: Rows) -> FileSet:
    """Return the files of a segment: those of the stage, or their keys and digests."""
    if poll.strategy.keeps == "rows":
        return fetched
    fields = row_fields([c.travel for c in poll.strategy.stored_columns])
    return poll.context.files.write(poll.engine, stage, fields, "segment", poll.leased)


def _first_batch(poll: RowsPoll, stage: Rows, known: Sequence[StoredRange], epoch: int) -> BatchHeader | None:
    plan, leased, total = poll.plan, poll.leased, sum(one.rows for one in known)
    changes = algebra.baseline(stage, len(plan.captured))
    with poll.engine.numbered(changes, leased.row.last_batch_seq + 1, total) as batch:
        part = poll.context.files.write(poll.engine, batch, batch_fields(travels_of(plan)), "batch", leased)
    refuse_unsupported(poll, part)
    return new_batch(poll, WrittenBatch(part, {"r": total}), epoch=epoch, ts_ms=poll.ts_ms)


@dataclass(frozen=True)
class Compared:
    """The buckets of a poll, and how its rows are kept.

    Attributes:
        dirty: Old values of the ranges that are compared.
        now: All ranges with their counts of now.
        rewritten: Ids of the ranges whose rows become a segment; empty if the batch is a layer on the old ones.
    """

    dirty: Sequence[StoredRange]
    now: Sequence[StoredRange]
    rewritten: Sequence[int]

    @property
    def rows(self) -> int:
        """Rows of the source."""
        return sum(one.rows for one in self.now)


class BucketStep(PollStep[RowsPoll]):
    """Compare the rows of dirty buckets with the replica, and commit.

    Args:
        fetched: The rows of the dirty and the rewritten buckets.
    """

    def __init__(self, poll: RowsPoll, compared: Compared, fetched: FileSet) -> None:
        super().__init__(poll, fetched)
        self._compared, self._fetched = compared, fetched

    @override
    def write(self) -> WrittenBatch:
        poll, before = self.poll, self.poll.leased.checkpoint.rows
        found = written_changes(poll, differences(poll, self._compared.dirty, _stage(poll, self._fetched)), before)
        # without a key an update is a delete and an insert
        deletes = max(0, -found.net) if poll.plan.counted else found.counts.get("d", 0)
        try:
            check_guards(poll, deletes=deletes, before=before, after=self._compared.rows)
        except GuardTripped:
            poll.context.files.discard(found.part)
            raise
        return found

    @override
    def checkpoint(self, found: WrittenBatch) -> dict[str, Any]:
        return self.poll.checkpoint_entries(self._compared.rows)

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        compared = self._compared
        ids = {one.range_id for one in compared.dirty}
        if not compared.rewritten:
            return RangeChanges([one for one in compared.now if one.range_id in ids])
        chosen = set(compared.rewritten)
        mine = [one for one in compared.now if one.range_id in chosen]
        rows = sum(one.rows for one in mine)
        segment = _segment(self.poll, self._fetched, _stage(self.poll, self._fetched))
        return RangeChanges(segment=NewSegment(segment, rows, mine, alone=True))


def differences(poll: RowsPoll, known: Sequence[StoredRange], stage: Rows) -> Rows:
    """Return the changes that turn the replica's rows of some ranges into those of the stage."""
    ids = [one.range_id for one in known]
    with poll.context.reading() as conn:
        old = poll.context.replica.rows(conn, poll.engine, poll.plan, poll.strategy.stored_columns, known)
    new = poll.engine.in_ranges(stage, ids)
    by: algebra.By = "values" if poll.strategy.keeps == "rows" else "digest"
    return algebra.differences(old, new, poll.plan, by="digest" if poll.plan.counted else by)


def poll_rows(poll: RowsPoll) -> Detection:
    """Read all rows, and compare and commit the buckets that differ."""
    started, leased = time.monotonic(), poll.leased
    refuse_old_encoder(poll)
    audited = due(poll)
    with ExitStack() as work:
        poll = work.enter_context(poll.on_engine(0))
        rows, part = work.enter_context(travelled(poll))
        known = poll.known_ranges()
        buckets = Buckets(min(one.range_id for one in known), len(known))
        found = rows.sums(buckets)
        _refuse_unfit_rows(poll, found)
        hooks.reach("after_checksums")
        now = _counted(known, found)
        dirty = [
            old for old, new in zip(known, now, strict=True) if (old.rows, old.checksum) != (new.rows, new.checksum)
        ]
        cost = Cost(found.rows, found.rows, part.size, len(known), len(dirty), 0.0)
        if not dirty and not audited:
            return Detection(None, replace(cost, seconds=time.monotonic() - started))
        compared = _compared(poll, known if audited else dirty, now)
        ids = {one.range_id for one in compared.dirty} | set(compared.rewritten)
        step = BucketStep(poll, compared, _staged(poll, rows, buckets, sorted(ids)))
        header = step.run(leased.checkpoint.carried([Entry.AUDITED]) | ({Entry.AUDITED: audited} if audited else {}))
    return Detection(header, replace(cost, seconds=time.monotonic() - started), tuple(leased.notes))


def _compared(poll: RowsPoll, dirty: Sequence[StoredRange], now: Sequence[StoredRange]) -> Compared:
    """Choose the form in which the rows are kept.

    It is a segment of the dirty ranges, a layer, or one segment of all rows. All rows are here anyway: when layers are
    many, they are compacted by the next poll with changes.
    """
    ids = {one.range_id for one in dirty}
    with poll.context.reading() as conn:
        store, stream = poll.context.store, poll.context.stream
        segments, folded = store.segments(conn, stream), poll.context.replica.folded_through(conn)
        pending = store.batches(conn, stream, folded) if folded else []
    others, mine = ([one for one in now if (one.range_id in ids) is inside] for inside in (False, True))
    if may_become_segment(segments, others, mine):
        return Compared(dirty, now, sorted(ids))
    large = sum(h.size for h in pending) > max(1000, COMPACT_FRACTION * poll.leased.checkpoint.rows)
    if large or len(pending) >= COMPACT_BATCHES:
        return Compared(dirty, now, [one.range_id for one in now])
    return Compared(dirty, now, ())


def verify(poll: RowsPoll) -> Differences:
    """Read all rows again, and compare each with the replica's.

    Raises:
        Refused: The stream has no ranges.
    """
    known = poll.known_ranges()
    if not known:
        raise Refused("the replica has no ranges", stream=poll.context.stream, remedy="prepare the stream again")
    refuse_old_encoder(poll)
    with ExitStack() as work:
        poll = work.enter_context(poll.on_engine(0))
        rows, _ = work.enter_context(travelled(poll))
        buckets = Buckets(min(one.range_id for one in known), len(known))
        fetched = _staged(poll, rows, buckets, None)
        try:
            found = differences(poll, known, _stage(poll, fetched))
            keys = len(poll.plan.captured if poll.plan.counted else poll.plan.key)
            listed = algebra.listed(poll.engine, found, keys, LISTED + 1)
            return Differences(Difference(op, key) for op, key in listed)
        finally:
            poll.context.files.discard(fetched)
