"""The key ranges of a site in the source: cut at prepare, cut anew where they outgrow their size, joined where small.

Bounds come from the source, ids are never used again, and a pass goes on by key bounds: the parts of a range inherit
its last visit, a joined one takes the older (docs/design/protocol.md#rule-11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy.engine import Connection

from qbcd import hooks
from qbcd.catalog.source import Session
from qbcd.ranges import partition
from qbcd.state import StoredRange, StreamRow
from qbcd.strategies import ByRanges

if TYPE_CHECKING:
    from qbcd.sites.database.context import DatabaseContext
    from qbcd.sites.values import LeasedStream
from qbcd.state.rows import merge_ranges

SPLIT_AT = 2.0  # times the usual rows of a range
COUNTED_AT_ONCE = 500


def first_cut(
    session: Session, context: DatabaseContext, strategy: ByRanges, row: StreamRow
) -> tuple[StreamRow, float]:
    """Ranges over the whole table as it is now, counted in the replica; gives the row, and rows of a usual range."""
    cut = _cut(session, context, strategy, row.next_range_id)
    now = context.store.now(session.connection)  # the baseline has just been at each of them
    found = [replace(r, last_visited=now) for r in ranges_counted(session, context, strategy, cut)]
    row = context.store.replace_ranges(session.connection, row, found)
    return row, max(1.0, sum(r.rows for r in found) / len(found))


def ranges_counted(
    session: Session, context: DatabaseContext, strategy: ByRanges, cut: Sequence[StoredRange]
) -> list[StoredRange]:
    """`cut` with the rows that the replica has in each; where it has none, as the ranges were meant to be."""
    if strategy.keeps == "nothing":
        return [replace(r, rows=max(1, strategy.plan.table.rows // len(cut))) for r in cut]
    rows: dict[int, int] = {}
    at_once = min(COUNTED_AT_ONCE, context.source.connector.ranges_per_statement)
    for i in range(0, len(cut), at_once):
        rows |= {int(r.range_id): int(r.n) for r in session.rows(strategy.counted(cut[i : i + at_once]))}
    return [replace(r, rows=rows[r.range_id]) for r in cut]


def recut(context: DatabaseContext, strategy: ByRanges, held: LeasedStream) -> None:
    """Cuts all ranges anew, in a step of its own: after a change of collation the old bounds may be in no order."""
    with context.source.write(context.stream) as session:
        row = held.row
        context.store.lock(
            session.connection, context.stream, context.project.project_id, row.version, row.fencing_token
        )
        row, usual = first_cut(session, context, strategy, row)
        advanced = context.commit(session.connection, row, held, None, {**row.checkpoint, "usual": usual})
    held.row = advanced


def resize(context: DatabaseContext, strategy: ByRanges, held: LeasedStream) -> None:
    """Cuts and joins what has left its size, in one step of its own that finds no change."""
    usual = float(held.row.checkpoint["usual"])
    with context.reading() as conn:
        known = context.store.ranges(conn, context.stream)
    if not _outgrown(known, usual) and len(_joined(known, usual, held.row.next_range_id)) == len(known):
        return
    with context.source.write(context.stream) as session:
        row = held.row
        context.store.lock(
            session.connection, context.stream, context.project.project_id, row.version, row.fencing_token
        )
        after, next_id = _split(session, context, strategy, known, usual, row.next_range_id)
        after = _joined(after, usual, next_id)
        if [r.range_id for r in after] == [r.range_id for r in known]:
            return
        hooks.reach("before_commit")
        advanced = _switch(session.connection, context, held, after)
    held.row = advanced
    hooks.reach("after_commit")


def _switch(conn: Connection, context: DatabaseContext, held: LeasedStream, after: Sequence[StoredRange]) -> StreamRow:
    row = context.store.replace_ranges(conn, held.row, after)
    return context.commit(conn, row, held, None, dict(row.checkpoint))


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
    """`known` with outgrown ranges in parts, and the next free id."""
    after: list[StoredRange] = []
    large = {r.range_id for r in _outgrown(known, usual)}
    for one in known:
        parts = _cut(session, context, strategy, next_id, within=one) if one.range_id in large else [one]
        if len(parts) > 1:
            next_id += len(parts)
            after += ranges_counted(session, context, strategy, parts)
        else:  # rows of one key only, or gone meanwhile
            after.append(one)
    return after, next_id


def _joined(known: Sequence[StoredRange], usual: float, next_id: int) -> list[StoredRange]:
    """`known` with small neighbours as one."""
    return merge_ranges(partition.merge(known, usual), next_id)


def _cut(
    session: Session, context: DatabaseContext, strategy: ByRanges, first_id: int, within: StoredRange | None = None
) -> list[StoredRange]:
    """Ranges over the table or one range of it, bounds picked by the source."""
    context.progress("building key ranges")
    bounds = session.rows(strategy.bounds(within))
    bare = partition.build([tuple(str(v) for v in row) for row in bounds], first_id=first_id, within=within)
    visited = within.last_visited if within else 0.0
    return [StoredRange(r.range_id, r.lo, r.hi, last_visited=visited) for r in bare]
