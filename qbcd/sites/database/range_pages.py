"""Page counts of key ranges (paper, 3.4 and figure 7).

A range's pages are those of the captured table that hold its rows. They are counted where the database shows the page
of a row, otherwise estimated by the table's statistics. Each change of a row may put it on another page. So the changes
since the last count are stored too, and decide about the next one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from weakref import WeakSet

from qbcd.catalog.source import Session, Source
from qbcd.errors import MissingPrivilege
from qbcd.ranges import schedule
from qbcd.sites.database.poll import DatabasePoll
from qbcd.state import StoredRange
from qbcd.strategies import ByRanges

log = logging.getLogger("qbcd")

ROWS_AT_ONCE = 200_000  # of ranges whose pages one statement counts
RANGES_AT_ONCE = 500
_WITHOUT_PAGES: WeakSet[Source] = WeakSet()  # their stores have no table for page counts, and the role may make none
DRIFT = 0.25  # share of a count by which a new estimate must differ to be stored


def counted(session: Session, strategy: ByRanges, ranges: Sequence[StoredRange]) -> list[StoredRange]:
    """Return `ranges` with their pages, if pages are the size of this strategy's ranges."""
    if strategy.target_pages is None or not ranges:
        return list(ranges)
    if not strategy.shows_pages:
        return [replace(r, pages=strategy.estimated_pages(r.rows), moved=0) for r in ranges]
    pages: dict[int, int] = {}
    for some in _portions(ranges):
        pages |= {int(r.range_id): int(r.n) for r in session.rows(strategy.pages(some))}
    return [replace(r, pages=pages[r.range_id], moved=0) for r in ranges]


def refreshed(
    poll: DatabasePoll, strategy: ByRanges, known: Sequence[StoredRange], visited: Collection[int]
) -> list[StoredRange]:
    """Return `known` with new page counts of `visited` ranges whose count is missing or too old.

    Counts are taken in short transactions, with the poll's rests between them.
    """
    target = strategy.target_pages
    if target is None:
        return list(known)
    if strategy.shows_pages:
        stale = [r for r in known if r.range_id in visited and is_stale(r, target)]
    else:
        stale = [r for r in known if r.range_id in visited and _has_drifted(r, strategy.estimated_pages(r.rows))]
    now: dict[int, StoredRange] = {}
    for some in _portions(stale):
        began = time.monotonic()
        with poll.context.source.read(poll.context.stream) as session:
            now |= {r.range_id: r for r in counted(session, strategy, some)}
        if len(now) < len(stale) and strategy.shows_pages:
            poll.context.rest(float(poll.plan.option("nice_ratio") or 0) * (time.monotonic() - began))
        if poll.context.stopping():
            break
    return [now.get(r.range_id, r) for r in known]


def is_stale(one: StoredRange, target: int) -> bool:
    """Return True if the pages of a range should be counted again.

    So many rows have changed that most of its pages may be others, or that it may be too large.
    """
    if one.pages is None or one.moved >= max(1, one.pages):
        return True
    return one.moved * 4 >= one.pages and one.pages + one.moved > 2 * target


def _has_drifted(one: StoredRange, estimate: int | None) -> bool:
    if estimate is None or one.pages is None:
        return estimate != one.pages and estimate is not None
    return abs(estimate - one.pages) > DRIFT * one.pages


def _portions(ranges: Sequence[StoredRange]) -> list[list[StoredRange]]:
    """Divide ranges into portions that one statement counts."""
    left, found = list(ranges), list[list[StoredRange]]()
    while left:
        some = schedule.next_step(left, ROWS_AT_ONCE)[:RANGES_AT_ONCE]
        found.append(list(some))
        left = left[len(some) :]
    return found


def make_room(poll: DatabasePoll) -> bool:
    """Create the table of page counts in a store of an older version.

    Return True if the table is there.
    """
    context = poll.context
    if context.source in _WITHOUT_PAGES:
        return False
    try:
        with context.writing() as conn:
            context.store.add_pages(conn)
    except MissingPrivilege as error:
        _WITHOUT_PAGES.add(context.source)  # the poll goes on by rows, as in the older version
        log.warning(
            "stream %s: pages of its ranges are not counted: no right to create table range_pages in schema %s (%s). "
            "fix: qbcd prepare %s --dry-run prints its DDL for a DBA",
            context.stream,
            context.source.schema,
            error.what,
            context.stream,
        )
        return False
    return True
