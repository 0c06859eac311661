"""The plan of a fetch, and checks that the fetched rows match the checksums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from qbcd.common.wording import counted
from qbcd.errors import TornRead
from qbcd.ranges.leaves import are_some
from qbcd.sites.values import LeasedStream
from qbcd.state import StoredRange

NO_SNAPSHOT = "poll again; if it happens again, set `consistency: range`, under which readers share no snapshot"
SPLIT_AT = 2  # times `rows_per_range`: a dirty range with more rows is split


@dataclass(frozen=True)
class RangeLeaves:
    """Leaf checksums of a range, with the row count and checksum of the range at that time.

    Attributes:
        text: The leaf checksums (`qbcd.ranges.leaves`).
    """

    rows: int
    checksum: int
    text: str

    def is_of(self, one: StoredRange) -> bool:
        """Return True if the range still has this row count and checksum."""
        return (self.rows, self.checksum) == (one.rows, one.checksum)


@dataclass(frozen=True)
class FetchPlan:
    """The ranges, or rows of ranges, that a poll fetches.

    Counts and checksums in it choose the rows to read; they are never stored. The replica stores the counts and
    checksums of the rows that were read.

    Attributes:
        asked: Ranges to fetch, in key order: unsplit ranges, and children in place of their parents.
        parents: Ranges that are split or merged.
        children: Ranges in place of `parents`; the row count of a split one is an estimate.
        old: Ranges to fetch with the replica's counts, before they are split.
        scanned: Rows of the source in the ranges that were compared.
        leaves: Leaf checksums of all ranges now; empty if they were not computed.
        leaf_share: Share of rows in dirty leaves, among the ranges whose leaves were stored.
        merged: The children that are merged from whole ranges: their row count is no estimate.
        as_segment: The fetched rows become the replica's segment of all ranges in `asked`.
        traced: The same plan for fewer rows, looked up by their keys, which may be wrong.
        asked_recent: The source was queried for recent writes (`qbcd.sites.lake.fetch.recent_writes`).
    """

    asked: tuple[StoredRange, ...]
    parents: tuple[StoredRange, ...]
    children: tuple[StoredRange, ...]
    old: tuple[StoredRange, ...]
    scanned: int
    leaves: Mapping[int, RangeLeaves] = field(default_factory=dict)
    leaf_share: float | None = None
    merged: tuple[StoredRange, ...] = ()
    as_segment: bool = False
    traced: FetchPlan | None = None
    asked_recent: bool = False

    @property
    def rows(self) -> int:
        """Approximate number of rows to compare, of both sides together."""
        return sum(r.asked[0] for r in (*self.asked, *self.old))

    @property
    def fetched(self) -> int:
        """Approximate number of rows to fetch from the source."""
        return sum(r.asked[0] for r in self.asked)

    @property
    def is_split(self) -> bool:
        """True if a range is split."""
        return len(self.children) > len(self.merged)

    @property
    def in_leaves(self) -> bool:
        """True if only rows of some leaves are fetched."""
        return are_some(self.asked)

    @property
    def rows_lost(self) -> int:
        """Number of rows by which ranges have shrunk."""
        now = {r.range_id: r.rows for r in (*self.asked, *self.parents)}
        return sum(max(0, r.rows - now.get(r.range_id, r.rows)) for r in self.old)

    @property
    def unsplit(self) -> tuple[StoredRange, ...]:
        """The ranges to fetch that are not split or merged, with the source's present counts."""
        new = {r.range_id for r in self.children}
        return tuple(r for r in self.asked if r.range_id not in new)

    @property
    def dirty(self) -> tuple[StoredRange, ...]:
        """The dirty ranges, before any was split or merged."""
        return (*self.unsplit, *self.parents)

    def outgrown(self, rows_per_range: int) -> list[StoredRange]:
        """Return the ranges to fetch that are too large."""
        return [r for r in self.unsplit if r.rows > SPLIT_AT * rows_per_range]


def total_of(leased: LeasedStream, plan: FetchPlan) -> int:
    """Return the approximate size of the table: the replica's rows, or the counted ones if more."""
    return max(leased.checkpoint.rows, plan.scanned)


def check_delta(stream: str, plan: FetchPlan, came: tuple[int, int | None], old: tuple[int, int | None]) -> None:
    """Check rows that were looked up, and their old versions, against the growth of checksums.

    Args:
        plan: The plan by which they were fetched.
        came: Count and sum of digests of the fetched rows.
        old: Count and sum of digests of the replica's rows that they are compared with.

    Raises:
        TornRead: The growth differs, or a row has no digest.
    """
    before = {r.range_id: r for r in plan.old}
    rows = sum(r.rows - before[r.range_id].rows for r in plan.asked)
    checksum = sum(r.checksum - before[r.range_id].checksum for r in plan.asked)
    if None in (came[1], old[1]) or (came[0] - old[0], (came[1] or 0) - (old[1] or 0)) != (rows, checksum):
        raise TornRead("the rows that were selected are not those that changed", stream=stream, remedy=NO_SNAPSHOT)


def check_torn(stream: str, plan: FetchPlan, rows: int, checksum: int | None) -> None:
    """Check the rows that were read against the checksums of the same snapshot.

    Raises:
        TornRead: Count or checksum differs, or a row has no digest.
    """
    wanted = sum(r.asked[0] for r in plan.dirty)
    if (rows, checksum) != (wanted, sum(r.asked[1] for r in plan.dirty)):
        raise TornRead(
            f"{counted(len(plan.asked), 'range')} from {plan.asked[0].range_id} on returned {counted(rows, 'row')} "
            f"and the checksums counted {wanted:,}, or the rows differ: the readers did not see one snapshot",
            stream=stream,
            remedy=NO_SNAPSHOT,
        )
