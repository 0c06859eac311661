"""Sizes of key ranges in the database wing: built at prepare, split if large, merged if small.

Bounds come from the source, range ids are never reused, and a pass continues by key bounds: the parts of a range
inherit its last visit, a merged range takes the older one (docs/design/protocol.md#rule-11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qbcd import hooks
from qbcd.catalog.source import Session
from qbcd.model.checkpoint import Entry
from qbcd.ranges import partition
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.database.poll import DatabasePoll
from qbcd.state import StoredRange, StreamRow
from qbcd.state.rows import merge_ranges
from qbcd.strategies import ByRanges

SPLIT_AT = 2.0  # times the usual rows of a range
COUNTED_AT_ONCE = 500


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


def resize(poll: DatabasePoll, strategy: ByRanges) -> None:
    """Split large ranges and merge small ones, in a separate step without changes of rows."""
    context, leased = poll.context, poll.leased
    usual = float(leased.row.checkpoint[Entry.USUAL_RANGE])
    with context.reading() as conn:
        known = context.store.ranges(conn, context.stream)
    if not _outgrown(known, usual) and len(_merged(known, usual, leased.row.next_range_id)) == len(known):
        return
    with context.source.write(context.stream) as session:
        row = leased.row
        context.lock(session.connection, row)
        after, next_id = _split(session, context, strategy, known, usual, row.next_range_id)
        after = _merged(after, usual, next_id)
        if [r.range_id for r in after] == [r.range_id for r in known]:
            return
        hooks.reach("before_commit")
        row = context.store.replace_ranges(session.connection, leased.row, after)
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


def _outgrown(known: Sequence[StoredRange], usual: float) -> list[StoredRange]:
    return [r for r in known if r.rows > SPLIT_AT * usual]


def _split(
    session: Session,
    context: DatabaseContext,
    strategy: ByRanges,
    known: Sequence[StoredRange],
    usual: float,
    next_id: int,
) -> tuple[list[StoredRange], int]:
    """Return `known` with large ranges replaced by their parts, and the next free id."""
    after: list[StoredRange] = []
    large = {r.range_id for r in _outgrown(known, usual)}
    for one in known:
        parts = _build(session, context, strategy, next_id, within=one) if one.range_id in large else [one]
        if len(parts) > 1:
            next_id += len(parts)
            after += _counted(session, context, strategy, parts)
        else:  # all rows have one key, or most were deleted meanwhile
            after.append(one)
    return after, next_id


def _merged(known: Sequence[StoredRange], usual: float, next_id: int) -> list[StoredRange]:
    """Return `known` with small adjacent ranges merged."""
    return merge_ranges(partition.merge(known, usual), next_id)


def _build(
    session: Session, context: DatabaseContext, strategy: ByRanges, first_id: int, within: StoredRange | None = None
) -> list[StoredRange]:
    """Return ranges over the table or one range of it; the source chooses the bounds."""
    context.progress("building key ranges")
    bounds = session.rows(strategy.bounds(within))
    bare = partition.build([tuple(str(v) for v in row) for row in bounds], first_id=first_id, within=within)
    visited = within.last_visited if within else 0.0
    return [StoredRange(r.range_id, r.lo, r.hi, last_visited=visited) for r in bare]
