"""Fetch path: look up the rows that were written since the last poll.

If many ranges have a few changes, whole ranges have many unchanged rows. A scan for recently written rows computes no
digest and returns only keys; these rows are then looked up in the source and in the replica
(`qbcd.ranges.recent_keys`). The checkpoint only needs a transaction id of the source. The share of changed rows in
earlier polls shows if that reduces costs; after a failure the path pauses for some polls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from qbcd.common.wording import counted
from qbcd.model import KeyRange, NamedKey, RowSelection, Statement
from qbcd.ranges import recent_keys
from qbcd.sites.lake.checksums import rows_of
from qbcd.sites.lake.fetch import leaf_checksums
from qbcd.sites.lake.fetch.base import PlanPath
from qbcd.sites.lake.fetch_plan import FetchPlan
from qbcd.sites.lake.notes import RecentNote
from qbcd.sites.lake.poll import TablePoll
from qbcd.strategies import IdRcs

LEAST_ROWS = 20_000  # in dirty ranges; fewer are fetched whole
MOST_SHARE = 0.1  # of these rows: if more were written since the last poll, the path saves little
MOST_KEYS = 50_000  # to look up
MOST_LOST = 100  # ranges with one deleted row that is looked up by its digest
USEFUL = 0.5  # maximal share of the dirty ranges' rows that may be fetched in the end
PAUSE = 3  # polls with changes until the path is tried again after a failure


class RecentWrites(PlanPath):
    """Add a plan for fewer rows, looked up by the keys that the source returns."""

    name = "recent_writes"

    @override
    def is_applicable(self, poll: TablePoll, plan: FetchPlan) -> bool:
        note = _note(poll)
        known = bool(note.since and poll.snapshot.system_mark)
        known = known and poll.strategy.plan.on(poll.snapshot.table).key_is_proven
        likely = not note.pause and note.share <= MOST_SHARE and plan.fetched >= LEAST_ROWS
        return known and likely and not plan.leaves and leaf_checksums.can_be_asked(poll)

    @override
    def narrow(self, poll: TablePoll, plan: FetchPlan) -> FetchPlan | None:
        plan, most = replace(plan, asked_recent=True), int(min(MOST_SHARE * plan.fetched, MOST_KEYS))
        poll.context.progress(f"fetching recently written rows, of about {counted(plan.fetched, 'row')}")
        strategy, since = poll.strategy, _note(poll).since
        rows = rows_of(
            poll, plan.asked, lambda some, part: strategy.recent_keys(some, part, since=since, most=most + 1), most
        )
        if len(rows) > most:
            return plan
        found: defaultdict[int, list[NamedKey]] = defaultdict(list)
        for row in rows:
            found[row.range_id].append(NamedKey(bytes(row.key_id), tuple(map(str, row[2:]))))
        only = _only(plan, found)
        fewer = replace(
            plan,
            asked=tuple(replace(r, only=only.get(r.range_id)) for r in plan.asked),
            old=tuple(replace(r, only=only.get(r.range_id)) for r in plan.old),
        )
        return replace(plan, traced=fewer) if fewer.fetched <= USEFUL * plan.fetched else plan


def _note(poll: TablePoll) -> RecentNote:
    return RecentNote.from_checkpoint(poll.leased.row.checkpoint)


def _only(plan: FetchPlan, found: Mapping[int, Sequence[NamedKey]]) -> dict[int, RowSelection]:
    """Return the rows to look up, by range; other ranges are fetched whole."""
    before = {r.range_id: r for r in plan.old}
    only: dict[int, RowSelection] = {}
    for now in plan.asked:
        was = before[now.range_id]
        grown = now.rows - was.rows, now.checksum - was.checksum
        rows = recent_keys.rows_to_look_up(*grown, found.get(now.range_id, ()))
        if rows:
            only[now.range_id] = rows
    lost = [range_id for range_id, one in only.items() if one.deleted_digest is not None]
    all_lost = len(lost) == len(plan.asked)  # the source must return some rows
    for range_id in lost[min(MOST_LOST, len(lost) - all_lost) :]:
        del only[range_id]
    return only


def statement(strategy: IdRcs, checkpoint: Mapping[str, Any], asked: Sequence[KeyRange]) -> Statement | None:
    """Return the statement that the next poll may run over `asked`.

    The result is None without a transaction id.
    """
    since = RecentNote.from_checkpoint(checkpoint).since
    if not since or strategy.partitioning.paged:
        return None
    return strategy.recent_keys(asked, since=since, most=MOST_KEYS)


def entry_after_changes(poll: TablePoll, plan: FetchPlan, events: int, *, by_key: bool) -> dict[str, Any]:
    """Return the checkpoint's entry after a poll that found `events`.

    `by_key` if rows were looked up.
    """
    if poll.due.state is not None:
        return {}
    note, rows = _note(poll), sum(r.rows for r in plan.unsplit)
    if rows >= LEAST_ROWS:
        note = replace(note, share=round(min(1.0, events / rows), 4))
    failed = plan.asked_recent and not by_key
    note = replace(note, pause=PAUSE if failed else max(0, note.pause - 1))
    return note.as_entry(poll.snapshot.system_mark)
