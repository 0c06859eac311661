"""Recent rows under Spark: when a poll asks the source which rows were written since the last one, and what for.

Where a few changes lie in many ranges, whole ranges would bring many rows for each that changed. A scan for rows that
were written lately computes no digest and ships keys alone, and then these rows are looked up, here and in the source
(`qbcd.ranges.recent_keys`). That needs nothing to be remembered but a mark of the source's. Whether it pays is told by
how many rows had changed when there was last such a choice; where it was in vain, it rests for some polls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from qbcd.model import KeyRange, NamedKey, RowSelection, Statement
from qbcd.ranges import recent_keys
from qbcd.sites.lake.checksums import rows_of
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.fetch import leaf_checksums
from qbcd.sites.lake.fetch_plan import FetchPlan
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from qbcd.sites.lake.context import LakeContext
    from qbcd.sites.values import LeasedStream, Settings

NOTED = "recent"  # in the checkpoint
LEAST_ROWS = 20_000  # in ranges that differ, below which these are as well fetched whole
MOST_SHARE = 0.1  # of these rows, that were written since: beyond it little is saved
MOST_KEYS = 50_000  # to look up
MOST_LOST = 100  # ranges that have lost one row, of which that row is looked up
USEFUL = 0.5  # of these rows, at most, that are asked for in the end
PAUSE = 3  # polls that find something until it is tried again, where it was in vain


@dataclass(frozen=True)
class RecentNote:
    """What a checkpoint says of recent rows.

    Attributes:
        since: The source's mark: whatever the last look did not see is written at or after it.
        share: The share of the rows in ranges that differ that had changed when last there was a choice.
        pause: For how many polls that find something nothing is asked.
    """

    since: str = ""
    share: float = 0.0
    pause: int = 0

    @classmethod
    def from_checkpoint(cls, checkpoint: Mapping[str, Any]) -> RecentNote:
        """That of a checkpoint; a blank one where it says nothing."""
        return cls(**checkpoint.get(NOTED, {}))


def noted(snapshot: Snapshot, note: RecentNote | None = None) -> dict[str, Any]:
    """What goes into the checkpoint of a state that was seen; nothing where the source has no mark of it."""
    return {NOTED: asdict(replace(note or RecentNote(), since=snapshot.mark))} if snapshot.mark else {}


def traced(
    context: LakeContext,
    strategy: IdRcs,
    snapshot: Snapshot,
    turn: DueRanges,
    settings: Settings,
    held: LeasedStream,
    wanted: FetchPlan,
) -> FetchPlan:
    """The same look, which may be made at fewer rows, looked up by keys that the source names; else as it is."""
    note = RecentNote.from_checkpoint(held.row.checkpoint)
    if not _is_open(strategy, snapshot, turn, wanted, note):
        return wanted
    wanted, most = replace(wanted, tried=True), int(min(MOST_SHARE * wanted.fetched, MOST_KEYS))
    context.progress(f"rows written lately among about {wanted.fetched:,}")
    rows = rows_of(
        context.source,
        strategy,
        snapshot,
        wanted.asked,
        lambda some, part: strategy.recent_keys(some, part, since=note.since, most=most + 1),
        settings.connections,
        most,
    )
    if len(rows) > most:
        return wanted
    found: defaultdict[int, list[NamedKey]] = defaultdict(list)
    for row in rows:
        found[row.range_id].append(NamedKey(bytes(row.key_id), tuple(map(str, row[2:]))))
    only = _only(wanted, found)
    fewer = replace(
        wanted,
        asked=tuple(replace(r, only=only.get(r.range_id)) for r in wanted.asked),
        old=tuple(replace(r, only=only.get(r.range_id)) for r in wanted.old),
    )
    return replace(wanted, traced=fewer) if fewer.fetched <= USEFUL * wanted.fetched else wanted


def _only(wanted: FetchPlan, found: Mapping[int, Sequence[NamedKey]]) -> dict[int, RowSelection]:
    """What to look up, by range; of others all rows are asked for."""
    before = {r.range_id: r for r in wanted.old}
    only: dict[int, RowSelection] = {}
    for now in wanted.asked:
        was = before[now.range_id]
        asked = recent_keys.rows_to_look_up(
            now.rows - was.rows, now.checksum - was.checksum, found.get(now.range_id, ())
        )
        if asked:
            only[now.range_id] = asked
    lost = [range_id for range_id, one in only.items() if one.lost is not None]
    all_lost = len(lost) == len(wanted.asked)  # then there would be nothing to ask the source for
    for range_id in lost[min(MOST_LOST, len(lost) - all_lost) :]:
        del only[range_id]
    return only


def statement(strategy: IdRcs, checkpoint: Mapping[str, Any], asked: Sequence[KeyRange]) -> Statement | None:
    """What the next poll may ask of `asked` ranges; None where there is no mark."""
    since = RecentNote.from_checkpoint(checkpoint).since
    return (
        None if not since or strategy.partitioning.paged else strategy.recent_keys(asked, since=since, most=MOST_KEYS)
    )


def _is_open(strategy: IdRcs, snapshot: Snapshot, turn: DueRanges, wanted: FetchPlan, note: RecentNote) -> bool:
    """Whether rows tell when they were written, and it is likely to pay to ask them."""
    known = bool(note.since and snapshot.mark) and strategy.plan.on(snapshot.table).key_is_proven
    likely = not note.pause and note.share <= MOST_SHARE and wanted.fetched >= LEAST_ROWS
    return known and likely and not wanted.leaves and leaf_checksums.may_be_asked(strategy, snapshot, turn)


def after(snapshot: Snapshot, held: LeasedStream, wanted: FetchPlan, events: int, *, by_key: bool) -> dict[str, Any]:
    """What goes into the checkpoint after a look that found `events`, by rows that were looked up or otherwise."""
    note, rows = RecentNote.from_checkpoint(held.row.checkpoint), sum(r.rows for r in wanted.unsplit)
    if rows >= LEAST_ROWS:
        note = replace(note, share=round(min(1.0, events / rows), 4))
    in_vain = wanted.tried and not by_key
    return noted(snapshot, replace(note, pause=PAUSE if in_vain else max(0, note.pause - 1)))
