"""Settings that a site gets, and results that it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from qbcd.catalog.resolve import requested
from qbcd.config import StreamConfig
from qbcd.model import BatchHeader, Cost, Statement
from qbcd.model.checkpoint import Checkpoint
from qbcd.model.value_limits import ValueLimits
from qbcd.ranges import partition
from qbcd.sites.engine_choice import EngineChoice
from qbcd.state import LeaseKeeper, Refusal, StreamRow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.local.arrow import LocalRows

LISTED = 1000  # differences that a comparison of replica and source lists at most


@dataclass(frozen=True)
class Settings:
    """A stream's configuration, and what the project and the command add to it.

    Attributes:
        sinks: Names of the sinks that a new batch is meant for.
        typed_for: Sinks that need every value in its type's range, including removed ones that may come back.
        lenient_for: Sinks that need it of keys only, by their policy for other values.
        limits: By name, further values that sinks cannot hold.
        connections: Most connections that read from the source at once.
        engine: The choice of the engine that fetches, compares and delivers rows.
        accept_deletes: Lift the delete guard once.
        accept_source: Continue although the source is another server than the remembered one.
    """

    config: StreamConfig
    sinks: tuple[str, ...] = ()
    typed_for: tuple[str, ...] = ()
    lenient_for: tuple[str, ...] = ()
    limits: tuple[tuple[str, ValueLimits], ...] = ()
    connections: int = 2
    engine: EngineChoice = field(default_factory=EngineChoice)
    accept_deletes: bool = False
    accept_source: bool = False

    @cached_property
    def requested(self) -> dict[str, Any]:
        """The plan as the user wrote it; a change needs `reset`."""
        return requested(self.config)

    @property
    def baseline_events(self) -> bool:
        """True if the rows that `prepare` finds are events."""
        return self.config.baseline == "events"

    @property
    def new_values(self) -> bool:
        """True if values that rows already have in a newly captured column are events."""
        return self.config.new_columns == "add_with_values"

    @property
    def rows_per_range(self) -> int | None:
        """The rows of a range in the lake wing; None if the table's size decides."""
        rows: int | None = self.config.options.get("rows_per_range")
        return rows

    @property
    def typed(self) -> bool:
        """True if every value, or every value of the key, must be in its type's range."""
        return bool(self.typed_for or self.lenient_for)

    @property
    def judges_old(self) -> bool:
        """True if old values must be in their type's range too: a sink has them."""
        known = dict(self.limits)
        return any(name not in known or known[name].old for name in self.typed_for)

    def judged(self, positions: Sequence[int], keys: int) -> list[int]:
        """Return those of `positions` whose values must be in their type's range.

        The first `keys` are of the key.
        """
        return [one for one in positions if self.typed_for or one < keys]

    def range_size(self, rows: int) -> int:
        """Return the intended rows of a range of the lake wing, in a table of `rows` rows."""
        return self.rows_per_range or partition.size_for(rows)

    @property
    def most_ranges(self) -> int | None:
        """The maximal number of ranges of a table; None if the user has set their size."""
        return None if self.rows_per_range else partition.MOST_RANGES


@dataclass(frozen=True)
class Detection:
    """The result of one step of a poll: a sealed batch or none, and its cost.

    Attributes:
        warnings: Refusals that the user's confirmation lifted, and why all rows were compared; the history has them
            too.
        remarks: Other things that the user should know about this poll.
    """

    header: BatchHeader | None
    cost: Cost
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Difference:
    """A key whose captured values differ between replica and source, or a damaged range."""

    op: str
    key: str


@dataclass(frozen=True)
class UnseenDeletes:
    """Keys deleted in the source that polls have not looked for, or never look for.

    They are not differences: the strategy finds deletes only by a sweep or an audit, or not at all.

    Attributes:
        keys: The first :data:`LISTED` keys.
        truncated: There are more.
        next_in: Seconds until deletes are looked for, 0 if the next poll does that; None if no poll ever does.
        by: The operation that looks for them.
    """

    keys: tuple[str, ...]
    truncated: bool
    next_in: float | None
    by: Literal["sweep", "audit"] | None

    @classmethod
    def of(cls, keys: Iterable[str], upcoming: tuple[float, Literal["sweep", "audit"]] | None) -> UnseenDeletes | None:
        """Return the deletes of at most one more than :data:`LISTED` `keys`; None if there are none.

        Args:
            upcoming: Seconds until deletes are looked for, and the operation.
        """
        found = tuple(keys)
        if not found:
            return None
        return cls(found[:LISTED], len(found) > LISTED, *(upcoming or (None, None)))


class Differences(list[Difference]):
    """The first :data:`LISTED` differences of a comparison.

    Attributes:
        truncated: There are more differences.
        unseen: Deletes that polls have not looked for; None if there are none, or if polls show all deletes.
    """

    def __init__(self, found: Iterable[Difference] = (), unseen: UnseenDeletes | None = None) -> None:
        """Read at most one more than :data:`LISTED` of `found`, which shows if there are more."""
        super().__init__(found)
        self.truncated = len(self) > LISTED
        self.unseen = unseen
        del self[LISTED:]


@dataclass(frozen=True)
class ReplicaRows:
    """The rows of a replica as staged events of op r.

    Attributes:
        count: Their number.
        staged: Returns them as a DataFrame of Spark.
        open_local: Opens them in a local database, at least those whose ordinals are in the range.
    """

    count: int
    staged: Callable[[], DataFrame]
    open_local: Callable[[range], AbstractContextManager[LocalRows]]


@dataclass(frozen=True)
class ExplainedStatement:
    """A statement that a poll runs, and the database that runs it."""

    title: str
    where: str
    statement: Statement


@dataclass
class LeasedStream:
    """A stream under its lease: the row as last read or written, and the lease's heartbeat.

    Attributes:
        first: The row's version when the lease was taken. A user's confirmation may name it even if the refused poll
            had committed other steps first, as this poll may: the watermark advances at every poll.
    """

    row: StreamRow
    keeper: LeaseKeeper
    confirmed: Refusal | None = None
    notes: list[str] = field(default_factory=list)  # refusals that a confirmation lifted, for the history
    first: int = field(init=False)

    def __post_init__(self) -> None:
        self.first = self.row.version

    @property
    def checkpoint(self) -> Checkpoint:
        """The row's checkpoint as it is now."""
        return Checkpoint(self.row.checkpoint)
