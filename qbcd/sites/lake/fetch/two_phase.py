"""Fetch path in two phases: first keys and digests of dirty ranges, then changed rows.

See docs/design/protocol.md#rule-10.

For wide rows with few changes it saves most of the bytes. Both phases read one snapshot, so a missing key in the second
phase is an error. The batch gives the new counts and checksums of ranges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from typing_extensions import override

from qbcd.common.wording import counted
from qbcd.errors import TornRead
from qbcd.model import StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.ranges import partition
from qbcd.sites.lake.commit import RangeChanges, WrittenBatch, write_with_growth
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import RowChecksum, Rows, grown, total
from qbcd.sites.lake.fetch.base import FetchedRows, RowsPath, is_enabled
from qbcd.sites.lake.fetch_plan import FetchPlan, check_torn
from qbcd.sites.lake.poll import LakePoll, TablePoll
from qbcd.sites.lake.replica.files import PASSING, FileSet
from qbcd.sites.lake.replica.schema import Fields, mark_fields, row_fields
from qbcd.sites.lake.stage import check_values, frame, range_frame, replica_rows, stored_fields, write_stage
from qbcd.state import StoredRange

NAME = "two_phase"
FINGERPRINT_BYTES = 24  # of digest and overhead, about; the key comes twice in addition, once as text
KEY_BYTES = 8  # of a key column of unknown width
SAVED_BYTES = 16_000_000  # below it, another round trip costs more than it saves
MOST_KEYS = 1_000_000  # to look up in one poll, all held in memory; for more changes, whole ranges are read
KEYS_ALWAYS = 100_000  # up to so many are looked up, whatever share of the rows they are
LOOKUP_SHARE = 0.02  # of the rows of the ranges: up to this share, looking up keys is faster than reading all rows
KEYS_PER_STATEMENT = 5_000
WAITING_SHARE = 0.1  # of the rows: large ranges up to this share are not split while few rows are fetched
HELD_ROWS = 1_000_000  # maximal number of fingerprints in memory at a time, about, in all tasks together
LARGEST_RANGE = 250_000  # rows of a range whose fingerprints one task holds, for any number of connections
Item = TypeVar("Item")


@dataclass(frozen=True)
class ChangedRows:
    """The result of the two phases.

    Attributes:
        old: Identity and range of each changed row, and its old version if there is one; in several parts.
        rows: New versions of the rows that exist in the source.
        about: Approximate number of changed rows.
        size: Bytes that travelled in both phases, of the first as `fingerprint_bytes` a row.
    """

    old: Sequence[FileSet]
    rows: FileSet
    about: int
    size: int


class TwoPhase(RowsPath):
    """Fetch keys and digests first, then the changed rows; give up if these are too many."""

    name = NAME

    @override
    def is_applicable(self, poll: TablePoll, plan: FetchPlan) -> bool:
        return not plan.as_segment and is_worth(poll, plan)

    @override
    def fetch(self, poll: TablePoll, plan: FetchPlan) -> FetchedRows | None:
        changed = fetch(poll, plan)
        return FetchedByKey(poll, plan, changed) if changed else None


class FetchedByKey(FetchedRows):
    """Compare only changed rows; the batch gives the growth of ranges."""

    def __init__(self, poll: TablePoll, plan: FetchPlan, changed: ChangedRows) -> None:
        super().__init__(poll, *changed.old, changed.rows)
        self.plan, self.changed, self.size = plan, changed, changed.size
        self.growth: dict[int, tuple[int, int]] = {}

    @override
    def write(self) -> WrittenBatch:
        poll, about = self.poll, self.changed.about
        stage, old = load_pairs(poll, self.changed)
        check_values(poll, stage)
        changes = algebra.differences(old, stage, poll.plan, by="digest")
        found, self.growth = write_with_growth(poll, changes, about)
        return found

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        return RangeChanges(self.poll.due.visited(grown(self.plan.old, self.growth)))


def is_possible(poll: TablePoll, plan: FetchPlan) -> bool:
    """Return True if two phases can be used, and would save enough if nothing had changed."""
    strategy = poll.strategy
    one_state = poll.snapshot.proves_checksums and bool(strategy.plan.key)
    one_state = one_state and strategy.plan.on(poll.snapshot.table).key_is_proven  # duplicates would not be counted
    one_state = one_state and not strategy.partitioning.paged  # the replica must also move unchanged rows
    whole = one_state and strategy.deletes and strategy.summed == "digest" and not plan.is_split
    whole = whole and all(r.rows <= LARGEST_RANGE for r in plan.asked)
    return whole and bytes_saved(strategy.plan, plan.fetched, 0) >= SAVED_BYTES


def bytes_saved(plan: StreamPlan, rows: int, changed: float) -> float:
    """Return the bytes that two phases save for ranges of `rows` rows with `changed` changes."""
    width = sum(c.width for c in plan.captured)
    return rows * (width - fingerprint_bytes(plan)) - changed * width


def fingerprint_bytes(plan: StreamPlan) -> int:
    """Return the approximate bytes of a row's key and digest."""
    return FINGERPRINT_BYTES + 2 * sum(c.width or KEY_BYTES for c in plan.key)


def density(poll: LakePoll) -> float:
    """Return the share of changed rows when two phases were last possible."""
    return float(poll.leased.checkpoint.get(Entry.DENSITY, 0.0))


def density_entry(poll: TablePoll, plan: FetchPlan, events: int) -> dict[str, Any]:
    """Return the checkpoint's entry after a poll with `events`: the new density or the last one."""
    if not is_possible(poll, plan):
        return poll.leased.checkpoint.carried([Entry.DENSITY])
    return {Entry.DENSITY: round(min(1.0, events / max(1, plan_rows(plan))), 4)}


def plan_rows(plan: FetchPlan) -> int:
    """Return all rows of the ranges to fetch."""
    return sum(r.rows for r in plan.asked)


def most_keys(plan: FetchPlan) -> int:
    """Return how many changed rows are looked up by key; for more, whole ranges are read."""
    return min(MOST_KEYS, max(KEYS_ALWAYS, int(LOOKUP_SHARE * plan_rows(plan))))


def is_worth(poll: TablePoll, plan: FetchPlan) -> bool:
    """Return True if two phases are possible and likely to transfer much less than whole ranges."""
    changed = density(poll) * plan_rows(plan)
    enough = bytes_saved(poll.strategy.plan, plan.fetched, changed) >= SAVED_BYTES
    return is_enabled(NAME) and is_possible(poll, plan) and enough and changed <= most_keys(plan)


def defers_split(poll: TablePoll, plan: FetchPlan, rows_per_range: int) -> bool:
    """Return True if large ranges stay unsplit: whole rows cost too much for few such ranges."""
    outgrown = sum(r.rows for r in plan.outgrown(rows_per_range))
    if outgrown > WAITING_SHARE * plan.fetched:
        return False
    return plan.in_leaves or plan.traced is not None or is_worth(poll, plan)


def fetch(poll: TablePoll, plan: FetchPlan) -> ChangedRows | None:
    """Compare keys and digests of the ranges, then read the changed rows.

    The result is None if they are too many for that.
    """
    poll.context.progress(f"fetching keys and digests of about {counted(plan.fetched, 'row')}")
    old = _differing(poll, plan)
    changed, most = None, most_keys(plan)
    try:
        keys = _keys(poll, old, most + 1)
        if len(keys) <= most:
            rows = _rows(poll, keys)
            size = fingerprint_bytes(poll.strategy.plan) * plan.fetched + rows.size
            changed = ChangedRows(old, rows, 2 * len(keys) + plan.rows_lost, size)
        return changed
    finally:
        poll.context.files.discard(*old, unless=changed is not None)


def _text_names(poll: LakePoll) -> list[str]:
    return [f"k{i}" for i in range(len(poll.strategy.plan.key))]


def _texts(poll: LakePoll) -> Fields:
    return [(name, "string") for name in _text_names(poll)]


def _old_fields(poll: LakePoll) -> Fields:
    return [*stored_fields(poll), *_texts(poll)]


def _row_fields(poll: LakePoll) -> Fields:
    return row_fields(poll.strategy.plan, typed=poll.settings.typed)[1:]  # the first phase knows the range


def _differing(poll: TablePoll, plan: FetchPlan) -> list[FileSet]:
    """Write the changed rows.

    Each task holds the fingerprints of its ranges and reads the replica once.

    At most one task per connection runs at a time, so that fingerprints can come straight from the source.

    Raises:
        TornRead: The fingerprints do not match the checksums.
    """
    context, connections = poll.context, poll.settings.connections
    tasks = math.ceil(plan.fetched * connections / HELD_ROWS)
    shares = partition.shares(plan.asked, max(tasks, partition.readers(plan.asked, connections)))
    before, parts, totals = {r.range_id: r for r in plan.old}, list[FileSet](), list[RowChecksum]()
    with _fingerprints(poll, plan) as fingerprints:
        try:
            for at_once in _batches(shares, connections):
                pairs = []
                for some in at_once:
                    totals.append(poll.engine.row_checksum(wide=poll.plan.wide))
                    old = replica_rows(poll, [before[r.range_id] for r in some], alone=True)
                    new = totals[-1].observe(fingerprints(some)).hinted("one task")
                    pairs.append(algebra.changed_fingerprints(old, new))
                parts.append(write_stage(poll, algebra.union(pairs), _old_fields(poll), PASSING))
            check_torn(context.stream, plan, *total(totals))
        except BaseException:
            context.files.discard(*parts)
            raise
    return parts


def _batches(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


@contextmanager
def _fingerprints(poll: TablePoll, plan: FetchPlan) -> Iterator[Callable[[Sequence[StoredRange]], Rows]]:
    """Yield a function that returns keys and digests of some ranges, for one task and one use.

    Key ranges are read when needed. Hash buckets are spread over the table: one scan writes all of them to files.
    """
    files, query = poll.context.files, poll.strategy.row_fingerprints
    fields = [*mark_fields(poll.plan), *_texts(poll)]
    if not poll.strategy.partitioning.hashed:
        yield lambda some: range_frame(poll, some, query, fields, 1)
        return
    found = write_stage(poll, range_frame(poll, plan.asked, query, fields), fields, PASSING)
    try:
        yield lambda some: poll.engine.in_ranges(files.read(poll.engine, fields, found), [r.range_id for r in some])
    finally:
        files.discard(found)


def _keys(poll: LakePoll, old: Sequence[FileSet], most: int) -> list[tuple[str, ...]]:
    """Return the source's texts of the keys that exist there, at most `most`."""
    changed = poll.context.files.read(poll.engine, _old_fields(poll), *old)
    return algebra.changed_keys(poll.engine, changed, _text_names(poll), most)


def _rows(poll: TablePoll, keys: list[tuple[str, ...]]) -> FileSet:
    """Read the rows with `keys`.

    Raises:
        TornRead: The source returned another number of rows.
    """
    context, fields = poll.context, _row_fields(poll)
    context.progress(f"fetching {counted(len(keys), 'row')} that changed")
    if not keys:
        nothing = algebra.no_rows(poll.engine, fields)
        return context.files.write(poll.engine, nothing, fields, PASSING, poll.leased)
    asked = _batches(keys, KEYS_PER_STATEMENT)
    statements = [poll.strategy.images_of(part, typed=poll.settings.typed) for part in asked]
    totals = poll.engine.row_checksum(wide=poll.plan.wide)
    read = totals.observe(frame(poll, statements, fields, at_once=min(poll.settings.connections, len(asked))))
    part = write_stage(poll, read, fields, PASSING)
    came, _ = totals.read()
    if came != len(keys):
        context.files.discard(part)
        raise TornRead(
            f"{counted(len(keys), 'row')} requested by key, {came:,} received, out of one snapshot",
            stream=context.stream,
            remedy="report this with the type of the key",
        )
    return part


def load_pairs(poll: LakePoll, changed: ChangedRows) -> tuple[Rows, Rows]:
    """Return (stage, old rows) of the changed rows, in the form of whole ranges."""
    files = poll.context.files
    both = files.read(poll.engine, _old_fields(poll), *changed.old)
    rows = files.read(poll.engine, _row_fields(poll), changed.rows)
    return algebra.changed_pairs(both, rows, _text_names(poll), changed.about)
