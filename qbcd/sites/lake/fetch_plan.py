"""The ranges that a poll fetches, and the checks that the rows which came are those that were counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qbcd.errors import TornRead
from qbcd.ranges.leaves import are_some
from qbcd.ranges.row_selection import is_by_key
from qbcd.sites.lake.fetch import leaf_checksums
from qbcd.state import StoredRange

if TYPE_CHECKING:
    from qbcd.sites.values import LeasedStream


NO_SNAPSHOT = "poll again; where it stays, `consistency: range` asks no snapshot of those who read"


SPLIT_AT = 2  # times `rows_per_range`: a range that differs and holds more is cut anew


@dataclass(frozen=True)
class FetchPlan:
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
        tried: The source was asked which rows were written lately (`qbcd.sites.lake.fetch.recent_writes`).
    """

    asked: tuple[StoredRange, ...]
    parents: tuple[StoredRange, ...]
    children: tuple[StoredRange, ...]
    old: tuple[StoredRange, ...]
    scanned: int
    leaves: Mapping[int, leaf_checksums.Remembered] = field(default_factory=dict)
    leaf_share: float | None = None
    joined: tuple[StoredRange, ...] = ()
    taken: bool = False
    traced: FetchPlan | None = None
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
    def is_split(self) -> bool:
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
    def rows_lost(self) -> int:
        """By how many rows the ranges have shrunk."""
        now = {r.range_id: r.rows for r in (*self.asked, *self.parents)}
        return sum(max(0, r.rows - now.get(r.range_id, r.rows)) for r in self.old)

    @property
    def unsplit(self) -> tuple[StoredRange, ...]:
        """The ranges to fetch that stay as they are, with the source's counts and checksums of now."""
        new = {r.range_id for r in self.children}
        return tuple(r for r in self.asked if r.range_id not in new)

    def outgrown(self, rows_per_range: int) -> list[StoredRange]:
        """Those of the ranges to fetch that hold more than they should."""
        return [r for r in self.unsplit if r.rows > SPLIT_AT * rows_per_range]


def total_of(held: LeasedStream, wanted: FetchPlan) -> int:
    """About how many rows the table has: those of the replica, or more where so many were counted."""
    return max(int(held.row.checkpoint["rows"]), wanted.scanned)


def check_delta(stream: str, asked: FetchPlan, came: tuple[int, int | None], old: tuple[int, int | None]) -> None:
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


def check_torn(stream: str, asked: FetchPlan, rows: int, checksum: int | None) -> None:
    """Holds the rows that were read against what the checksums counted in the same snapshot.

    Raises:
        TornRead: They are others, or one of them has no digest.
    """
    counted = (*asked.unsplit, *asked.parents)
    if (rows, checksum) != (sum(r.asked[0] for r in counted), sum(r.asked[1] for r in counted)):
        raise TornRead(
            f"{len(asked.asked)} ranges from {asked.asked[0].range_id} on brought {rows} rows where the checksums "
            f"counted {sum(r.asked[0] for r in counted)}, or others: the readers did not see one snapshot",
            stream=stream,
            remedy=NO_SNAPSHOT,
        )
