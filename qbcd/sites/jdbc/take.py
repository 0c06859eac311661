"""The steps of a poll of whole rows.

They are the baseline, and the comparison of the ranges that differ.
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
from qbcd.local.travelled import GREGORIAN, SHOWN, Buckets, BucketSums, Division, TravelledRows
from qbcd.model import BatchHeader, Cost
from qbcd.model.checkpoint import Entry
from qbcd.ranges.integers import IntegerRanges
from qbcd.sites.checkpoint import due, new_epoch
from qbcd.sites.guards import check_guards
from qbcd.sites.jdbc.plan import source_of
from qbcd.sites.jdbc.poll import (
    RowsPoll,
    asked_of,
    groups_of,
    read_and_add_up,
    read_sums,
    refuse_old_encoder,
    rows_unchanged,
    travelled,
)
from qbcd.sites.jdbc.source_sql import count_of
from qbcd.sites.lake.commit import (
    PollStep,
    RangeChanges,
    WrittenBatch,
    commit_step,
    new_batch,
    refuse_unsupported,
    written_changes,
)
from qbcd.sites.lake.compaction import COMPACT_BATCHES, COMPACT_FRACTION, COMPACT_SEGMENTS, may_become_segment
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import NewSegment
from qbcd.sites.lake.replica.schema import Fields, batch_fields, row_fields
from qbcd.sites.values import LISTED, Detection, Difference, Differences
from qbcd.state import Segment, StoredRange
from qbcd.strategies import WholeRows

MOST_BUCKETS = 4096
MOST_ADDED_UP = 1024  # of ranges that the database adds up: each is a row of one small result
MORE_ADDED_UP = 4_000  # rows of such a range, at least
UNCHANGED_POLLS = 8  # consecutive polls without a dirty range: one checksum over the whole table is computed first
GROUPS = 64  # of ranges of a key, which Spark adds up while it reads all rows
OUTGROWN = 2  # times the intended rows of a range of a key: it is split
OUTGROWN_BUCKETS = 4  # times the intended rows of all buckets: there are more from then on


def range_size(poll: RowsPoll, rows: int) -> int:
    """Return the intended rows of a range in a table of `rows` rows."""
    size = poll.settings.range_size(rows)
    if not poll.strategy.added_up:
        return size
    return max(size, 1 if poll.settings.rows_per_range else MORE_ADDED_UP, -(-rows // MOST_ADDED_UP))


def bucket_count(rows: int, size: int) -> int:
    """Return the number of buckets of a table, a power of two."""
    return 1 << min(MOST_BUCKETS.bit_length() - 1, max(0, (rows // max(1, size)).bit_length()))


def division_of(strategy: WholeRows, known: Sequence[StoredRange]) -> Division:
    """Return the division of keys into stored ranges."""
    if strategy.divided != "key":
        return Buckets(min(one.range_id for one in known), len(known))
    ordered = sorted(known, key=lambda one: (one.lo is not None, int(one.lo[0]) if one.lo else 0))
    return IntegerRanges(tuple(one.range_id for one in ordered), tuple(int(one.lo[0]) for one in ordered if one.lo))


def take_baseline(poll: RowsPoll) -> Detection:
    """Read all rows and commit them as the replica, in ranges of keys.

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
    buckets = _buckets_before_reading(poll)
    rows, part = work.enter_context(travelled(poll, buckets))
    count = rows.count()
    division = buckets or _divided(poll, rows, count)
    found = rows.sums(division)
    refuse_unfit_rows(poll, found)
    fetched = staged(poll, rows, division, None)
    try:
        stage = stage_of(poll, fetched)
        known = _counted(_ranges(division, now), found)
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
    return Detection(header, Cost(count, count, part.size, len(known), len(known), time.monotonic() - started))


def _buckets_before_reading(poll: RowsPoll) -> Buckets | None:
    """Return the hash buckets into which the database puts its rows.

    None if ranges are made of the rows.
    """
    if not poll.strategy.added_up or poll.strategy.divided == "key":
        return None
    [(rows,)] = asked_of(poll, count_of(source_of(poll.context), poll.plan))
    return Buckets(poll.leased.row.next_range_id, bucket_count(int(rows), range_size(poll, int(rows))))


def _divided(poll: RowsPoll, rows: TravelledRows, count: int) -> Division:
    """Return the division of all rows into new ranges."""
    first, size = poll.leased.row.next_range_id, range_size(poll, count)
    if poll.strategy.divided != "key":
        return Buckets(first, bucket_count(count, size))
    bounds = rows.bounds(size)
    return IntegerRanges(tuple(range(first, first + len(bounds) + 1)), tuple(bounds))


def _ranges(division: Division, now: float) -> list[StoredRange]:
    """Return the ranges of a division; bounds of buckets are their numbers."""
    if isinstance(division, IntegerRanges):
        return [StoredRange(one, _bound(lo), _bound(hi), last_visited=now) for one, lo, hi in division.edges()]
    last = division.count - 1
    return [
        StoredRange(division.first + i, _bound(i or None), _bound(None if i == last else i + 1), last_visited=now)
        for i in range(division.count)
    ]


def _bound(value: int | None) -> tuple[str, ...] | None:
    return None if value is None else (str(value),)


def _counted(ranges: Sequence[StoredRange], found: BucketSums) -> list[StoredRange]:
    """Return ranges with the counts and checksums of their rows; a range without rows has none."""
    sums = [found.sums.get(one.range_id, (0, 0)) for one in ranges]
    return [replace(one, rows=rows, checksum=total) for one, (rows, total) in zip(ranges, sums, strict=True)]


def refuse_unfit_rows(poll: RowsPoll, found: BucketSums) -> None:
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


def _fields(poll: RowsPoll, *, shown: bool = False) -> Fields:
    return row_fields(poll.plan, extra=[(SHOWN, "int")] if shown else [])


def staged(
    poll: RowsPoll, rows: TravelledRows, division: Division, ranges: Sequence[int] | None, *, shown: bool = False
) -> FileSet:
    """Write the rows of some ranges, and refuse a key that occurs twice among them.

    Args:
        ranges: Ids of the ranges; None for all.
        shown: They are of a window.

    Raises:
        UnsafeKey: A key occurs more than once.
    """
    context, plan, fields = poll.context, poll.plan, _fields(poll, shown=shown)
    fetched = context.files.write(poll.engine, rows.stage(division, ranges), fields, "fetch", poll.leased)
    stage = stage_of(poll, fetched, shown=shown)
    found = None if plan.counted else algebra.repeated_key(poll.engine, stage, len(plan.key))
    if found is None:
        return fetched
    context.files.discard(fetched)
    named = ", ".join(f"{c.name} {text}" for c, text in zip(plan.key, found[0], strict=True))
    raise UnsafeKey(
        f"the key is not unique: {named} occurs {found[1]:,} times",
        stream=context.stream,
        remedy="name more columns in `key`, or write key: none; then reset the stream and prepare it again",
    )


def stage_of(poll: RowsPoll, fetched: FileSet, *, shown: bool = False) -> Rows:
    """Return the rows that `staged` has written."""
    return poll.context.files.read(poll.engine, _fields(poll, shown=shown), fetched)


def _segment(poll: RowsPoll, fetched: FileSet, stage: Rows) -> FileSet:
    """Return the files of a segment: those of the stage, or their keys and digests."""
    if poll.strategy.keeps == "rows":
        return fetched
    fields = row_fields(poll.plan, poll.strategy.stored_columns)
    return poll.context.files.write(poll.engine, stage, fields, "segment", poll.leased)


def _first_batch(poll: RowsPoll, stage: Rows, known: Sequence[StoredRange], epoch: int) -> BatchHeader | None:
    plan, leased, total = poll.plan, poll.leased, sum(one.rows for one in known)
    changes = algebra.baseline(stage, len(plan.captured))
    with poll.engine.numbered(changes, leased.row.last_batch_seq + 1, total) as batch:
        part = poll.context.files.write(poll.engine, batch, batch_fields(plan), "batch", leased)
    refuse_unsupported(poll, part)
    return new_batch(poll, WrittenBatch(part, {"r": total}), epoch=epoch, ts_ms=poll.ts_ms)


@dataclass(frozen=True)
class Compared:
    """The ranges of a poll, and how its rows are kept.

    Attributes:
        old: Stored values of the ranges that are compared.
        now: The same with their counts of now, or new ranges of the same keys.
        others: The ranges that are not compared.
        rewritten: Ranges of now whose rows become a segment; empty if the batch is a layer on the old ones.
    """

    old: Sequence[StoredRange]
    now: Sequence[StoredRange]
    others: Sequence[StoredRange]
    rewritten: Sequence[StoredRange] = ()

    @property
    def rows(self) -> int:
        """Rows of the source."""
        return sum(one.rows for one in (*self.now, *self.others))

    @property
    def removed(self) -> list[StoredRange]:
        """Stored ranges that new ones replace."""
        kept = {one.range_id for one in self.now}
        return [one for one in self.old if one.range_id not in kept]


class BucketStep(PollStep[RowsPoll]):
    """Compare the rows of dirty ranges with the replica, and commit.

    Args:
        fetched: The rows of the compared and the rewritten ranges.
    """

    def __init__(self, poll: RowsPoll, compared: Compared, fetched: FileSet) -> None:
        super().__init__(poll, fetched)
        self._compared, self._fetched = compared, fetched

    @override
    def write(self) -> WrittenBatch:
        poll, before = self.poll, self.poll.leased.checkpoint.rows
        now = [one.range_id for one in self._compared.now]
        changes = differences(poll, self._compared.old, poll.engine.in_ranges(stage_of(poll, self._fetched), now))
        found = written_changes(poll, changes, before)
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
        compared, ranges = self._compared, self._compared.rewritten
        if not ranges:
            return RangeChanges(compared.now)
        rows = sum(one.rows for one in ranges)
        segment = _segment(self.poll, self._fetched, stage_of(self.poll, self._fetched))
        return RangeChanges(segment=NewSegment(segment, rows, ranges, compared.removed, alone=True))


def differences(poll: RowsPoll, known: Sequence[StoredRange], stage: Rows) -> Rows:
    """Return the changes that turn the replica's rows of some ranges into those of the stage."""
    with poll.context.reading() as conn:
        old = poll.context.replica.rows(conn, poll.engine, poll.plan, poll.strategy.stored_columns, known)
    by: algebra.By = "values" if poll.strategy.keeps == "rows" else "digest"
    return algebra.differences(old, stage, poll.plan, by="digest" if poll.plan.counted else by)


def poll_rows(poll: RowsPoll) -> Detection:
    """Compare and commit the ranges that differ.

    The database adds up all ranges, or Spark adds up groups of them while it reads all rows. Then the rows of those
    that differ are read. If the last poll found many, all rows are read at once.
    """
    started = time.monotonic()
    refuse_old_encoder(poll)
    audited, known = due(poll), poll.known_ranges()
    division = division_of(poll.strategy, known)
    if not audited and is_whole_first(poll.context, poll.strategy):
        rows = rows_unchanged(poll, known)
        if rows is not None:
            return Detection(None, Cost(rows, 0, 0, len(known), 0, time.monotonic() - started))
    asks = _Asked(known, known, division, audited, started)
    if poll.strategy.added_up:
        asks = _asked_by_sums(poll, asks)
    elif not (audited or poll.strategy.at_once or _found_many(poll)):
        asks = _asked_by_groups(poll, asks)
    if not asks.asked:
        cost = asks.cost(0, 0, 0)
        if poll.ahead:
            commit_step(poll, None, poll.checkpoint_entries(cost.rows_scanned))
        return Detection(None, cost)
    with ExitStack() as work:
        poll = work.enter_context(poll.on_engine(0))
        return _compare(poll, work, asks)


def _found_many(poll: RowsPoll) -> bool:
    """Return True if most groups would differ, by the ranges that differed at the last poll."""
    most = GROUPS // 2 if poll.strategy.divided == "key" else 0
    return any((run.cost.get("dirty") or 0) > most for run in poll.context.project.runs(poll.context.stream, 1))


def _asked_by_groups(poll: RowsPoll, asks: _Asked) -> _Asked:
    """Read all rows and add them up; ask for the ranges of groups that differ."""
    known, division = asks.known, asks.division
    groups = [[one.range_id for one in known]]
    if isinstance(division, IntegerRanges):
        groups = groups_of(division, known, GROUPS)
    found, size = read_and_add_up(poll, division, groups)
    refuse_unfit_rows(poll, found)
    hooks.reach("after_checksums")
    stored, dirty = {one.range_id: one for one in known}, set[int]()
    for group in groups:
        then = sum(stored[one].rows for one in group), sum(stored[one].checksum for one in group)
        dirty.update(group if found.sums.get(group[0], (0, 0)) != then else ())
    asked = [one for one in known if one.range_id in dirty]
    return replace(asks, asked=asked, before=Cost(found.rows, found.rows, size))


def is_whole_first(context: LakeContext, strategy: WholeRows) -> bool:
    """Return True if the last polls found nothing, and one checksum can prove that again.

    Polls of windows do not predict the next sweep.
    """
    return bool(strategy.added_up) and not strategy.windows and context.found_nothing(UNCHANGED_POLLS)


def _asked_by_sums(poll: RowsPoll, asks: _Asked) -> _Asked:
    """Ask for the ranges that differ by the sums of the database."""
    found = read_sums(poll, asks.division)
    refuse_unfit_rows(poll, found)
    hooks.reach("after_checksums")
    dirty = [old for old in asks.known if found.sums.get(old.range_id, (0, 0)) != _sums(old)]
    every = asks.audited or (dirty and more_buckets(poll, asks.known, found.rows) is not None)
    return replace(asks, asked=asks.known if every else dirty, summed=found)


def more_buckets(poll: RowsPoll, known: Sequence[StoredRange], rows: int) -> Buckets | None:
    """Return the hash buckets of a table that has outgrown its own; None if it has not."""
    if poll.strategy.divided == "key":
        return None
    size = range_size(poll, rows)
    count = bucket_count(rows, size)
    outgrown = rows > OUTGROWN_BUCKETS * size * len(known) and count > len(known)
    return Buckets(poll.leased.row.next_range_id, count) if outgrown else None


@dataclass(frozen=True)
class _Asked:
    """The rows that a poll reads.

    Attributes:
        known: All stored ranges.
        asked: Those whose rows are read.
        audited: The store's clock, if all rows are compared; otherwise 0.
        started: The beginning of the poll, on the clock of this process.
        summed: The sums of the database, if it adds up.
        before: The cost of the sums, if Spark has added up all rows.
    """

    known: Sequence[StoredRange]
    asked: Sequence[StoredRange]
    division: Division
    audited: float
    started: float
    summed: BucketSums | None = None
    before: Cost | None = None

    @property
    def whole(self) -> bool:
        """True if all rows are read."""
        return len(self.asked) == len(self.known)

    def cost(self, rows: int, size: int, dirty: int) -> Cost:
        """Return the cost of the poll."""
        scanned = rows if self.summed is None else self.summed.rows
        found = Cost(scanned, rows, size, len(self.known), dirty, time.monotonic() - self.started)
        return found if self.before is None else self.before + found


def _compare(poll: RowsPoll, work: ExitStack, asks: _Asked) -> Detection:
    """Read rows, and compare and commit the ranges that differ."""
    leased = poll.leased
    before = more_buckets(poll, asks.known, asks.summed.rows) if asks.summed and asks.whole else None
    read_in = before or asks.division
    rows, part = work.enter_context(travelled(poll, read_in, None if asks.whole else asks.asked))
    found = rows.sums(read_in)
    refuse_unfit_rows(poll, found)
    if asks.summed is None and asks.before is None:
        hooks.reach("after_checksums")
    cost = asks.cost(found.rows, part.size, len(asks.asked))
    if before is None:
        now = _counted(asks.asked, found)
        changed = {one.range_id for one, new in zip(asks.asked, now, strict=True) if _sums(one) != _sums(new)}
        cost = replace(cost, dirty=len(changed))
        if not changed and not asks.audited:
            if poll.ahead:
                commit_step(poll, None, poll.checkpoint_entries(found.rows))
            return Detection(None, cost)
        compared_ids = {one.range_id for one in asks.asked} if asks.audited or asks.summed else changed
        compared = Compared(
            [one for one in asks.asked if one.range_id in compared_ids],
            [one for one in now if one.range_id in compared_ids],
            [one for one in asks.known if one.range_id not in compared_ids],
        )
        compared, division = _regrouped(poll, rows, compared, asks)
    else:
        division = before
        compared = Compared(asks.known, _counted(_ranges(before, poll.now_ms / 1000), found), ())
    compared = _kept(poll, compared, whole=asks.whole)
    ids = (
        None
        if len(compared.rewritten) == len(compared.now) + len(compared.others)
        else sorted({one.range_id for one in (*compared.now, *compared.rewritten)})
    )
    step = BucketStep(poll, compared, staged(poll, rows, division, ids))
    entries = leased.checkpoint.carried([Entry.AUDITED]) | ({Entry.AUDITED: asks.audited} if asks.audited else {})
    header = step.run(entries)
    return Detection(header, replace(cost, seconds=time.monotonic() - asks.started), tuple(leased.notes))


def _sums(one: StoredRange) -> tuple[int, int]:
    return one.rows, one.checksum


def _regrouped(poll: RowsPoll, rows: TravelledRows, compared: Compared, asks: _Asked) -> tuple[Compared, Division]:
    """Split compared ranges that have grown too large, or make more hash buckets."""
    total, division, clock = compared.rows, asks.division, poll.now_ms / 1000
    if isinstance(division, Buckets):
        more = more_buckets(poll, asks.known, total) if asks.summed is None else None
        if more is None:
            return compared, division
        return Compared(asks.known, _counted(_ranges(more, clock), rows.sums(more)), ()), more
    size, next_id = range_size(poll, total), poll.leased.row.next_range_id
    ends = {one: (lo, hi) for one, lo, hi in division.edges()}
    for one in compared.now:
        bounds = rows.bounds(size, *ends[one.range_id]) if one.rows > OUTGROWN * size else []
        if bounds:
            ids = range(next_id, next_id + len(bounds) + 1)
            division, next_id = division.replaced(one.range_id, bounds, ids), ids.stop
    if division == asks.division:
        return compared, division
    known = {one.range_id: one for one in compared.now}
    others = {one.range_id for one in compared.others}
    now = [known.get(one.range_id, one) for one in _ranges(division, clock) if one.range_id not in others]
    return replace(compared, now=_counted(now, rows.sums(division))), division


def _kept(poll: RowsPoll, compared: Compared, *, whole: bool) -> Compared:
    """Choose the form in which the rows are kept.

    It is a segment of the compared ranges, a layer, or one segment of all rows. If all rows are here anyway, and layers
    or segments are many, they are compacted by the next poll with changes.

    Args:
        whole: All rows are here.
    """
    with poll.context.reading() as conn:
        store, stream = poll.context.store, poll.context.stream
        segments, folded = store.segments(conn, stream), poll.context.replica.folded_through(conn)
        pending = store.layers(conn, stream, folded) if folded else []
    if may_become_segment(segments, compared.others, compared.now):
        return replace(compared, rewritten=compared.now)
    if whole and is_worn(poll, segments, pending):
        return replace(compared, rewritten=[*compared.now, *compared.others])
    return replace(compared, rewritten=compared.now if compared.removed else ())


def is_worn(poll: RowsPoll, segments: Sequence[Segment], pending: Sequence[BatchHeader]) -> bool:
    """Return True if segments, or batches on them, are so many that they should be one segment."""
    large = sum(h.size for h in pending) > max(1000, COMPACT_FRACTION * poll.leased.checkpoint.rows)
    return large or len(pending) >= COMPACT_BATCHES or len(segments) > COMPACT_SEGMENTS


def compact(poll: RowsPoll) -> bool:
    """Merge segments and batches into one segment if they are many; return True if it did.

    The rows are those of the replica: the source is not read.
    """
    context, row = poll.context, poll.leased.row
    store, stream = context.store, context.stream
    with context.reading() as conn:
        segments, folded = store.segments(conn, stream), context.replica.folded_through(conn)
        pending = store.layers(conn, stream, folded) if folded else []
        if not is_worn(poll, segments, pending):
            return False
        known = store.ranges(conn, stream)
    fields = row_fields(poll.plan, poll.strategy.stored_columns)
    with poll.on_engine(0) as work:
        with context.reading() as conn:
            rows = context.replica.rows(conn, work.engine, poll.plan, poll.strategy.stored_columns, known)
        part = context.files.write(work.engine, rows, fields, "segment", poll.leased)
    hooks.reach("before_commit")
    with context.writing() as conn:
        refolded = context.replica.refold(conn, row, part, folded=row.last_batch_seq, ranges=known, stay=set[int]())
        advanced = context.commit(conn, refolded, poll.leased, None, dict(row.checkpoint))
    poll.leased.row = advanced
    hooks.reach("after_commit")
    return True


def verify(poll: RowsPoll) -> Differences:
    """Read all rows again, and compare each with the replica's.

    Raises:
        Refused: The stream has no ranges.
    """
    known = poll.known_ranges()
    if not known:
        raise Refused("the replica has no ranges", stream=poll.context.stream, remedy="prepare the stream again")
    refuse_old_encoder(poll)
    division = division_of(poll.strategy, known)
    with ExitStack() as work:
        poll = work.enter_context(poll.on_engine(0))
        rows, _ = work.enter_context(travelled(poll, division))
        fetched = staged(poll, rows, division, None)
        try:
            found = differences(poll, known, stage_of(poll, fetched))
            keys = len(poll.plan.captured if poll.plan.counted else poll.plan.key)
            listed = algebra.listed(poll.engine, found, keys, LISTED + 1)
            return Differences(Difference(op, key) for op, key in listed)
        finally:
            poll.context.files.discard(fetched)
