"""Which ranges a poll fetches: those that differ from the replica's, cut anew where they have outgrown their size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from qbcd import hooks, ranges
from qbcd.errors import TornRead
from qbcd.leaves import are_some
from qbcd.lookups import is_by_key
from qbcd.model import KeyRange, StreamPlan
from qbcd.sites import leaves, quiet
from qbcd.sites.guards import check_pass, counted_now
from qbcd.sites.reading import Snapshot, checksums, without_digest
from qbcd.sites.resizing import joined_as
from qbcd.state import StoredRange
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from qbcd.sites.base import Site
    from qbcd.sites.spark import SparkSite
    from qbcd.sites.turns import Turn
    from qbcd.sites.values import Held, Settings

NO_SNAPSHOT = "poll again; where it stays, `consistency: range` asks no snapshot of those who read"
SPLIT_AT = 2  # times `rows_per_range`: a range that differs and holds more is cut anew


@dataclass(frozen=True)
class Look:
    """What a look at the checksums asks for.

    Counts and checksums in it choose what is read and are never kept: what is kept is what the rows were that came.

    Attributes:
        asked: The ranges to fetch, in key order: those that stay as they are and, in their parents' places, children.
        parents: Ranges that are cut anew.
        children: What they are cut into; their rows are an estimate.
        old: The ranges to fetch as the replica has them, before they are cut.
        scanned: Rows that the source has now in the ranges that were looked at.
        leaves: What the leaves of all ranges add up to now, by range; empty where that was not asked for.
        leaf_share: The share of the rows that stands in leaves that differ, of the ranges whose leaves were remembered.
        joined: Those of the children that whole ranges were made of: what they hold is no estimate.
        taken: What is fetched becomes the segment of all ranges that are asked for.
        traced: The same look at fewer rows, looked up by their keys, which may turn out to be the wrong ones.
        tried: The source was asked which rows were written lately (`qbcd.sites.recent`).
    """

    asked: tuple[StoredRange, ...]
    parents: tuple[StoredRange, ...]
    children: tuple[StoredRange, ...]
    old: tuple[StoredRange, ...]
    scanned: int
    leaves: Mapping[int, leaves.Remembered] = field(default_factory=dict)
    leaf_share: float | None = None
    joined: tuple[StoredRange, ...] = ()
    taken: bool = False
    traced: Look | None = None
    tried: bool = False

    @property
    def rows(self) -> int:
        """About how many rows there are to compare, on both sides together."""
        return sum(r.asked[0] for r in (*self.asked, *self.old))

    @property
    def fetched(self) -> int:
        """About how many rows the source is asked for."""
        return sum(r.asked[0] for r in self.asked)

    @property
    def is_cut(self) -> bool:
        """Some range is asked for in parts."""
        return len(self.children) > len(self.joined)

    @property
    def in_leaves(self) -> bool:
        """Rows of some leaves alone are asked for."""
        return are_some(self.asked)

    @property
    def is_traced(self) -> bool:
        """Rows of some ranges are looked up by key."""
        return any(is_by_key(r) for r in self.asked)

    @property
    def passed(self) -> int:
        """About how many rows of the replica have to be gone through, and come from the source."""
        return self.fetched + sum(r.rows for r in self.old)

    @property
    def lost(self) -> int:
        """By how many rows the ranges have shrunk."""
        now = {r.range_id: r.rows for r in (*self.asked, *self.parents)}
        return sum(max(0, r.rows - now.get(r.range_id, r.rows)) for r in self.old)

    @property
    def kept(self) -> tuple[StoredRange, ...]:
        """The ranges to fetch that stay as they are, with the source's counts and checksums of now."""
        new = {r.range_id for r in self.children}
        return tuple(r for r in self.asked if r.range_id not in new)

    def outgrown(self, rows_per_range: int) -> list[StoredRange]:
        """Those of the ranges to fetch that hold more than they should."""
        return [r for r in self.kept if r.rows > SPLIT_AT * rows_per_range]


def look(site: SparkSite, strategy: IdRcs, snapshot: Snapshot, turn: Turn, settings: Settings, held: Held) -> Look:
    """What has to be fetched of the ranges that are due: those that differ, as they are.

    After a change of meaning every row is read, and the bounds may have lost their order: everything is cut anew.
    """
    before, first_id, known = int(held.row.checkpoint["rows"]), held.row.next_range_id, turn.due
    if snapshot.anew:
        new = tuple(cut(site, strategy, snapshot, settings, first_id, before))
        return Look(new, tuple(known), new, tuple(known), before)
    if quiet.is_likely(site, strategy):
        rows = quiet.rows_unchanged(site, strategy, snapshot, turn, settings)
        if rows is not None:
            return Look((), (), (), (), rows)
    site.progress(f"checksums of {len(known):,} ranges")
    texts: dict[int, str] | None = {} if leaves.are_asked(strategy, snapshot, turn, held) else None
    now = checksums(site.source, strategy, snapshot, known, settings.connections, site.rest, texts)
    hooks.reach("after_checksums")
    dirty, scanned = ranges.differing(known, now), sum(r.rows for r in now)
    swept = strategy.sums_of == "key_digests" and strategy.plan.where  # no row is swept for having left `where`
    if dirty and snapshot.name is not None and strategy.deletes and not swept:
        # Counts of one state tell now what the rows would. Of several they may miss rows that moved: the rows decide.
        shrunk = [old.rows - new.rows for old, new in ranges.pairs(known, dirty)]
        lost = max(0, sum(shrunk)) if strategy.cut.paged else sum(max(0, by) for by in shrunk)
        check_pass(
            site.project,
            settings,
            held,
            turn.state,
            deletes=lost,
            after=scanned + turn.rest,
            left=lambda: counted_now(site, strategy.cut.row_count()),
        )
    told = leaves.told(now, texts) if texts else {}
    found = Look(tuple(dirty), (), (), tuple(old for old, _ in ranges.pairs(known, dirty)), scanned, told)
    return _by_leaves(site, strategy, snapshot, turn, settings, held, found) if dirty else found


def _by_leaves(
    site: SparkSite, strategy: IdRcs, snapshot: Snapshot, turn: Turn, settings: Settings, held: Held, found: Look
) -> Look:
    """The same look at leaves alone that differ, where they were asked for or are now, of the ranges that differ."""
    told = found.leaves
    if leaves.are_wanted(strategy, snapshot, turn, held, found):
        site.progress(f"checksums of the leaves of {len(found.asked):,} ranges")
        texts: dict[int, str] = {}
        now = checksums(site.source, strategy, snapshot, found.asked, settings.connections, site.rest, texts)
        if [(r.rows, r.checksum) for r in now] != [(r.rows, r.checksum) for r in found.asked]:
            raise TornRead("two looks at the same ranges differ", stream=site.stream, remedy=NO_SNAPSHOT)
        told = leaves.told(now, texts)
    if not told:
        return found
    known = leaves.read(site.files, held.row.checkpoint)
    standing = {r.range_id: known[r.range_id] for r in turn.known if r.range_id in known}
    width = strategy.connector.whole_number_bytes(strategy.plan.key) if not strategy.cut.hashed else None
    return leaves.restricted(replace(found, leaves={**standing, **told}), known, width)


def estimated(plan: StreamPlan) -> int:
    """How many rows there are by the table's statistics; 0 where they do not say it, as of a part of the table."""
    return 0 if plan.where else max(0, plan.table.rows)


def total_of(held: Held, wanted: Look) -> int:
    """About how many rows the table has: those of the replica, or more where so many were counted."""
    return max(int(held.row.checkpoint["rows"]), wanted.scanned)


def cut_anew(site: Site, strategy: IdRcs, snapshot: Snapshot, settings: Settings, held: Held, wanted: Look) -> Look:
    """The same look, with the ranges that outgrew their size cut anew; each is asked for its bounds by itself."""
    total = total_of(held, wanted)
    outgrown = {r.range_id for r in wanted.outgrown(settings.range_size(total))}
    asked: list[StoredRange] = []
    parents: list[StoredRange] = []
    children: list[StoredRange] = []
    for one in wanted.asked:
        own: list[StoredRange] = []
        if one.range_id in outgrown:
            first_id = held.row.next_range_id + len(children)
            whole = replace(one, only=None)
            own = cut(site, strategy, snapshot, settings, first_id, total, within=whole)
        if len(own) <= 1:  # bounds may be of another state than counts, and rows of one hash stay together
            asked.append(one)
            continue
        parents.append(whole)
        children += own
        asked += own
    if not children:
        return wanted
    gone = {r.range_id for r in parents}
    old = tuple(replace(r, only=None) if r.range_id in gone else r for r in wanted.old)
    return replace(wanted, asked=tuple(asked), parents=tuple(parents), children=tuple(children), old=old, traced=None)


def join_small(strategy: IdRcs, settings: Settings, held: Held, turn: Turn, wanted: Look) -> Look:
    """The same look, where neighbours that had better be one range, one at least of them asked for, are fetched as one.

    For a look of which a segment is made; else they wait to be joined until the replica is written anew.
    """
    now, gone = {r.range_id: r for r in wanted.kept}, {r.range_id for r in wanted.parents}
    due = [now.get(r.range_id, r) for r in turn.due if r.range_id not in gone]  # what is not asked for has not changed
    size = settings.range_size(wanted.scanned + turn.rest)
    groups = [g for run in ranges.runs(due) for g in strategy.cut.joined(run, size)]
    small = [g for g in groups if len(g) > 1 and any(r.range_id in now for r in g)]
    new = [replace(r, last_visited=0.0) for r in joined_as(small, held.row.next_range_id + len(wanted.children))]
    place = {r.range_id: one for one, group in zip(new, small, strict=True) for r in group}
    asked = list(dict.fromkeys(place.get(r.range_id, r) for r in wanted.asked))
    parents = [r for group in small for r in group]
    beside = [r for r in parents if r.range_id not in now]
    return replace(
        wanted,
        asked=tuple(asked),
        parents=(*wanted.parents, *parents),
        children=(*wanted.children, *new),
        joined=tuple(new),
        old=(*wanted.old, *beside),
    )


def cut(
    site: Site,
    strategy: IdRcs,
    snapshot: Snapshot,
    settings: Settings,
    first_id: int,
    total: int,
    within: KeyRange | None = None,
) -> list[StoredRange]:
    """Ranges over the table, of about `total` rows, or over one range of it."""
    site.progress("building key ranges")
    size = settings.range_size(total)
    asked = strategy.cut.bounds(size, within)
    found = snapshot.session.rows(asked) if asked else []
    if within is not None:
        bare = strategy.cut.parts(found, size, first_id, within, total)
    else:
        total = strategy.cut.counted(found, size)
        bare = strategy.cut.ranges(found, settings.range_size(total), first_id, settings.most_ranges)
        size = total // len(bare)
    return [StoredRange(r.range_id, r.lo, r.hi, rows=size) for r in bare]


def filled(stream: str, asked: Sequence[StoredRange], sums: Mapping[int, tuple[int, int | None]]) -> list[StoredRange]:
    """`asked` with the count and checksum of rows read; a range without rows has none.

    Raises:
        TornRead: A row has no digest.
    """
    counted = []
    for one in asked:
        rows, checksum = sums.get(one.range_id, (0, 0))
        if checksum is None:
            raise without_digest(stream, one.range_id)
        counted.append(replace(one, rows=rows, checksum=checksum))
    return counted


def check_grown(stream: str, asked: Look, came: tuple[int, int | None], old: tuple[int, int | None]) -> None:
    """Holds rows that were looked up, and what the replica has of them, against what the checksums grew by.

    Args:
        stream: Its name.
        asked: The look.
        came: Count and sum of digests of the rows that came.
        old: The same of the rows that they are compared with.

    Raises:
        TornRead: They grew by something else, or a row has no digest.
    """
    before = {r.range_id: r for r in asked.old}
    rows = sum(r.rows - before[r.range_id].rows for r in asked.asked)
    checksum = sum(r.checksum - before[r.range_id].checksum for r in asked.asked)
    if None in (came[1], old[1]) or (came[0] - old[0], (came[1] or 0) - (old[1] or 0)) != (rows, checksum):
        raise TornRead("rows were looked up that are not those that changed", stream=stream, remedy=NO_SNAPSHOT)


def check_torn(stream: str, asked: Look, rows: int, checksum: int | None) -> None:
    """Holds the rows that were read against what the checksums counted in the same snapshot.

    Raises:
        TornRead: They are others, or one of them has no digest.
    """
    counted = (*asked.kept, *asked.parents)
    if (rows, checksum) != (sum(r.asked[0] for r in counted), sum(r.asked[1] for r in counted)):
        raise TornRead(
            f"{len(asked.asked)} ranges from {asked.asked[0].range_id} on brought {rows} rows where the checksums "
            f"counted {sum(r.asked[0] for r in counted)}, or others: the readers did not see one snapshot",
            stream=stream,
            remedy=NO_SNAPSHOT,
        )
