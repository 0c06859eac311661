"""What a site is given for its work, and what it gives back: values without any work of their own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from qbcd.model import BatchHeader, Cost, Statement
from qbcd.model.checkpoint import Checkpoint
from qbcd.ranges import partition
from qbcd.state import LeaseKeeper, Refusal, StreamRow

LISTED = 1000  # differences that a comparison of replica and source lists, at most


@dataclass(frozen=True)
class Settings:
    """What a stream's configuration says about its polls.

    Attributes:
        sinks: Names of the sinks that a new batch is meant for.
        every: How often the stream is polled; an open batch is sealed after it at the latest.
        key_change: Deletes and inserts of equal content are marked as a change of key.
        typed_for: Sinks that need every value in its type's range, those among them that may yet come back.
        requested: What the user wrote about the plan; a change needs `reset`.
        rows_per_range: Rows of a range under Spark, None where that goes by the table's size.
        audit: How often replica and source are compared in full, None for never.
        accept_deletes: Lift the delete guard once.
        accept_source: Go on although the source is another server than remembered.
    """

    sinks: tuple[str, ...]
    requested: dict[str, Any]
    typed_for: tuple[str, ...] = ()
    baseline_events: bool = False
    max_delete_fraction: float = 0.5
    allow_empty: bool = False
    retain: timedelta = timedelta(days=7)
    every: timedelta = timedelta(seconds=30)
    key_change: bool = False
    rows_per_range: int | None = None
    connections: int = 2
    audit: timedelta | None = None
    accept_deletes: bool = False
    accept_source: bool = False

    @property
    def typed(self) -> bool:
        """Whether every value has to be in its type's range."""
        return bool(self.typed_for)

    def range_size(self, rows: int) -> int:
        """How many rows a range under Spark should hold, in a table of `rows` rows."""
        return self.rows_per_range or partition.size_for(rows)

    @property
    def most_ranges(self) -> int | None:
        """How many ranges a table should be cut into, at most; None where the user says how large they are."""
        return None if self.rows_per_range else partition.MOST_RANGES


@dataclass(frozen=True)
class Detection:
    """What a look at the source brought: a sealed batch or none, and what it cost.

    Attributes:
        warnings: What the user's confirmation let pass; stands in the history too.
        remarks: What else the user should know of this poll.
    """

    header: BatchHeader | None
    cost: Cost
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Difference:
    """A key whose captured values differ between replica and source (or a damaged replica range)."""

    op: str
    key: str


class Differences(list[Difference]):
    """The first :data:`LISTED` differences of a comparison.

    Attributes:
        truncated: There are more.
    """

    def __init__(self, found: Iterable[Difference] = ()) -> None:
        """Takes one more than :data:`LISTED` of `found`, where there are as many, to know of the rest."""
        super().__init__(found)
        self.truncated = len(self) > LISTED
        del self[LISTED:]


@dataclass(frozen=True)
class ExplainedStatement:
    """A statement that a poll runs, and where it runs."""

    title: str
    where: str
    statement: Statement


@dataclass
class LeasedStream:
    """A stream while its lease is held: the row as last read or written, and the lease's heartbeat.

    Attributes:
        first: The row's version when the lease was taken. What a user confirmed was seen at it, also where the poll
            that was refused had taken other steps before, as this one has: a watermark moves at every poll.
    """

    row: StreamRow
    keeper: LeaseKeeper
    confirmed: Refusal | None = None
    notes: list[str] = field(default_factory=list)  # what a user's confirmation let pass, for the history
    first: int = field(init=False)

    def __post_init__(self) -> None:
        self.first = self.row.version

    @property
    def checkpoint(self) -> Checkpoint:
        """The row's checkpoint as it is now."""
        return Checkpoint(self.row.checkpoint)
