"""Sizes of key ranges in the database wing.

Ranges are built at prepare, split if large, merged if small. With `pages_per_range` a range's size is its pages if they
are known, otherwise its rows. Bounds come from the source, range ids are never reused, and a pass continues by key
bounds: the parts of a range inherit its last visit, a merged range takes the older one
(docs/design/protocol.md#rule-11).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from qbcd.catalog.source import Session
from qbcd.common import hooks
from qbcd.model.checkpoint import Entry
from qbcd.ranges import partition
from qbcd.sites.database import range_pages
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.database.poll import DatabasePoll
from qbcd.state import StoredRange, StreamRow
from qbcd.state.rows import merge_ranges
from qbcd.strategies import ByRanges

SPLIT_AT = 2.0  # times the intended size of a range
FEWEST_ROWS = 0.25  # of the usual rows: a range with fewer is not split, however many pages they are on
COUNTED_AT_ONCE = 500


@dataclass(frozen=True)
class Intended:
    """The intended size of a range.

    Attributes:
        rows: Its usual rows.
        pages: Its pages, if these are its size.
    """

    rows: float
    pages: int | None = None

    def size_of(self, one: StoredRange) -> float:
        """Return the size of a range, 1 for the intended one."""
        return one.pages / self.pages if self.pages and one.pages is not None else one.rows / self.rows

    def outgrown(self, known: Sequence[StoredRange]) -> list[StoredRange]:
        """Return the ranges that should be split."""
        return [r for r in known if self.size_of(r) > SPLIT_AT and r.rows > FEWEST_ROWS * self.rows]

    def merged(self, known: Sequence[StoredRange], next_id: int) -> list[StoredRange]:
        """Return `known` with small adjacent ranges merged."""
        return merge_ranges(partition.merge(known, 1.0, size_of=self.size_of), next_id)


def build_ranges(
    session: Session, context: DatabaseContext, strategy: ByRanges, row: StreamRow
) -> tuple[StreamRow, float]:
    """Replace all ranges by new ones over the table as it is now.

    Returns:
        The stream's row, and the rows of a usual range.
    """
    bare = _build(session, context, strategy, row.next_range_id)
    now = context.store.now(session.connection)  # the baseline has just read all ranges
    found = [replace(r, last_visited=now) for r in _counted(session, context, strategy, bare)]
    found = range_pages.counted(session, strategy, found)
    row = context.store.replace_ranges(session.connection, row, found)
    return row, max(1.0, sum(r.rows for r in found) / len(found))


def rebuild(poll: DatabasePoll, strategy: ByRanges) -> None:
    """Build all ranges again, in a separate step: another collation changes the order of bounds."""
    context, leased = poll.context, poll.leased
    with context.source.write(context.stream) as session:
        row = leased.row
        context.lock(session.connection, row)
        row, usual = build_ranges(session, context, strategy, row)
        checkpoint = {**row.checkpoint, Entry.USUAL_RANGE: usual}
        advanced = context.commit(session.connection, row, leased, None, checkpoint)
    leased.row = advanced


def resize(poll: DatabasePoll, strategy: ByRanges, visited: Collection[int]) -> None:
    """Split large ranges and merge small ones, in a separate step without changes of rows.

    Pages of the ranges that were `visited` are counted first, if they are not known or too old.
    """
    context, leased = poll.context, poll.leased
    intended = Intended(float(leased.row.checkpoint[Entry.USUAL_RANGE]), strategy.target_pages)
    with context.reading() as conn:
        stored, has_room = context.store.ranges(conn, context.stream), context.store.keeps_pages(conn)
    has_room = has_room or (strategy.target_pages is not None and range_pages.make_room(poll))
    known = range_pages.refreshed(poll, strategy, stored, visited) if has_room else stored
    is_sized = not intended.outgrown(known) and len(intended.merged(known, leased.row.next_range_id)) == len(known)
    if is_sized and known == stored:
        return
    with context.source.write(context.stream) as session:
        row = leased.row
        context.lock(session.connection, row)
        after, next_id = _split(session, context, strategy, known, intended, row.next_range_id)
        after = intended.merged(after, next_id)
        if [r.range_id for r in after] != [r.range_id for r in known]:
            hooks.reach("before_commit")
            row = context.store.replace_ranges(session.connection, leased.row, after)
        elif known != stored:
            changed = [now for was, now in zip(stored, known, strict=True) if was != now]
            context.store.set_pages(session.connection, context.stream, changed)
        else:
            return
        advanced = context.commit(session.connection, row, leased, None, dict(row.checkpoint))
    leased.row = advanced
    hooks.reach("after_commit")


def _counted(
    session: Session, context: DatabaseContext, strategy: ByRanges, ranges: Sequence[StoredRange]
) -> list[StoredRange]:
    """Return `ranges` with the replica's rows in each.

    Without a replica, each has an equal share of the table's rows.
    """
    if strategy.keeps == "nothing":
        return [replace(r, rows=max(1, strategy.plan.table.rows // len(ranges))) for r in ranges]
    rows: dict[int, int] = {}
    at_once = min(COUNTED_AT_ONCE, context.source.connector.ranges_per_statement)
    for i in range(0, len(ranges), at_once):
        rows |= {int(r.range_id): int(r.n) for r in session.rows(strategy.counted(ranges[i : i + at_once]))}
    return [replace(r, rows=rows[r.range_id]) for r in ranges]


def _split(
    session: Session,
    context: DatabaseContext,
    strategy: ByRanges,
    known: Sequence[StoredRange],
    intended: Intended,
    next_id: int,
) -> tuple[list[StoredRange], int]:
    """Return `known` with large ranges replaced by their parts, and the next free id."""
    after: list[StoredRange] = []
    large = {r.range_id for r in intended.outgrown(known)}
    for one in known:
        parts = _build(session, context, strategy, next_id, within=one) if one.range_id in large else [one]
        if len(parts) > 1:
            next_id += len(parts)
            after += range_pages.counted(session, strategy, _counted(session, context, strategy, parts))
        else:  # all rows have one key, or most were deleted meanwhile
            after.append(one)
    return after, next_id


def _build(
    session: Session, context: DatabaseContext, strategy: ByRanges, first_id: int, within: StoredRange | None = None
) -> list[StoredRange]:
    """Return ranges over the table or one range of it; the source chooses the bounds."""
    context.progress("building key ranges")
    bounds = session.rows(strategy.bounds(within))
    bare = partition.build([tuple(str(v) for v in row) for row in bounds], first_id=first_id, within=within)
    visited = within.last_visited if within else 0.0
    return [StoredRange(r.range_id, r.lo, r.hi, last_visited=visited) for r in bare]
