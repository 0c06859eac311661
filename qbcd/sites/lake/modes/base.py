"""A poll mode of the lake wing, and the frame of one step.

A mode has the operations that depend on how polls read the source. A strategy names its mode (`IdRcs.poll_mode`), and
`qbcd.sites.lake.modes.MODES` has the class of each.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Generic, TypeVar

from typing_extensions import override

from qbcd.catalog.capture_change import change_of
from qbcd.catalog.source import Session
from qbcd.model import BatchHeader, Cost, KeyRange, StreamPlan
from qbcd.sites.eligibility import Place
from qbcd.sites.guards import ACCEPTED_SOURCE
from qbcd.sites.lake import verify
from qbcd.sites.lake.commit import PollStep, RangeChanges, WrittenBatch, commit_step, renewed_entries
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.poll import LakePoll, TablePoll, open_snapshot
from qbcd.sites.values import Detection, Differences, ExplainedStatement, Settings
from qbcd.state import StoredRange, StreamRow
from qbcd.strategies import IdRcs

S = TypeVar("S", bound=IdRcs)


class LakeMode(ABC, Generic[S]):
    """Operations that differ by poll mode.

    Args:
        strategy: Its strategy, of a class that polls in this mode.
    """

    def __init__(self, context: LakeContext, strategy: S) -> None:
        self.context, self.strategy = context, strategy

    @property
    def plan(self) -> StreamPlan:
        """The stream's plan."""
        return self.strategy.plan

    # -- before a baseline -------------------------------------------------------------------------------------------
    def refuse_unfit(self, session: Session, place: Place) -> None:
        """Refuse a table, a role or options that cannot work, before anything is created.

        Raises:
            UnsafeWatermark: Timestamps of this source are no watermark for this role.
            MissingPrivilege: The role lacks a right that the options need.
            Refused: The strategy cannot read the table.
        """

    def remarks(self, session: Session) -> list[str]:
        """Return remarks on polls that work, but cost the source more than they need to."""
        return []

    def ddl(self) -> list[str]:
        """Return statements on the source for a DBA."""
        return []

    def has_tables(self) -> bool:
        """Return True if the source has all tables of qbcd's own that polls need."""
        return True

    # -- prepare -----------------------------------------------------------------------------------------------------
    def entries_before_baseline(self, poll: LakePoll) -> dict[str, Any]:
        """Read watermarks, create tables in the source, before the baseline's rows are read.

        Return the entries for the checkpoint (docs/design/protocol.md#rule-6).
        """
        return {}

    def reading(self, poll: LakePoll, entries: Mapping[str, Any]) -> LakePoll:
        """Return the poll with the reader that all its rows need.

        `entries` are for the next checkpoint.
        """
        return poll

    def complete_baseline(self, poll: LakePoll) -> None:
        """Store in the source that the baseline is committed."""

    # -- detect ------------------------------------------------------------------------------------------------------
    def detect(self, poll: LakePoll) -> Iterator[Detection]:
        """Find changes in one or several steps; yield a detection for each."""
        change = change_of(poll.leased.row.checkpoint, poll.plan)
        yield from self._poll(poll)
        if change:
            yield Detection(None, Cost(), (change.describe(),))

    @abstractmethod
    def _poll(self, poll: LakePoll) -> Iterator[Detection]:
        """Find changes of rows."""

    # -- verify and explain ------------------------------------------------------------------------------------------
    def verify(self, poll: LakePoll) -> Differences:
        """Compare every row with the replica's own, and list the rows that differ.

        Raises:
            LeaseLost: Another process continued with the stream, because this one was paused beyond its lease.
        """
        return verify.verify(poll, self._compared)

    def _compared(self, poll: TablePoll, known: Sequence[StoredRange], stages: ExitStack) -> Differences:
        """Return the differences; `stages` removes the files that were read."""
        return verify.all_rows(poll, known, stages)

    @abstractmethod
    def explain(self, settings: Settings, row: StreamRow | None, known: Sequence[KeyRange]) -> list[ExplainedStatement]:
        """Return the statements that find changes, in order.

        Args:
            row: Its row; None before `prepare`.
        """


# -- one step ----------------------------------------------------------------------------------------------------------
class Step(ABC):
    """The end of a step whose rows are fetched.

    It has what the step commits, and its cost for the source.
    """

    @abstractmethod
    def run(self, entries: Mapping[str, Any]) -> BatchHeader | None:
        """Commit the step; return its batch, if there is one.

        The checkpoint gets the further `entries`.
        """

    @abstractmethod
    def cost(self) -> Cost:
        """Return the cost of the step, without its seconds."""


class LakeStep(PollStep[TablePoll], Step):
    """A step that compares fetched rows with the replica.

    Attributes:
        size: Approximate rows that were fetched: they decide about the engine.
    """

    size: int = 0

    @override
    def run(self, entries: Mapping[str, Any]) -> BatchHeader | None:
        with self.poll.on_engine(self.size) as self.poll:
            return super().run(entries)

    @override
    def checkpoint(self, found: WrittenBatch) -> dict[str, Any]:
        return {**self.poll.leased.row.checkpoint, **renewed_entries(self.poll, found)}


class Unchanged(Step):
    """A step without fetched rows: it commits entries of the checkpoint that differ, and ranges.

    Args:
        cost: The cost of finding that there is nothing to fetch.
        entries: Entries of the next checkpoint.
    """

    def __init__(
        self, poll: LakePoll, cost: Cost, entries: Mapping[str, Any] = {}, changes: RangeChanges | None = None
    ) -> None:
        self.poll, self.entries, self._cost = poll, entries, cost
        self.changes = changes or RangeChanges()

    @override
    def run(self, entries: Mapping[str, Any]) -> BatchHeader | None:
        before = self.poll.leased.row.checkpoint
        after = {**before, **self.entries, **entries}
        if after != before or self.changes.kept:
            commit_step(self.poll, None, after, self.changes)
        return None

    @override
    def cost(self) -> Cost:
        return self._cost


def one_step(
    poll: LakePoll,
    fetch: Callable[[TablePoll], Step],
    entries: Mapping[str, Any],
    known: Sequence[StoredRange] | None = None,
) -> Detection:
    """Do one step: fetch rows in a snapshot, close it, compare the rows and commit.

    The snapshot is one of the source.

    Args:
        fetch: Fetches rows, or finds that there are none to fetch; its poll covers all ranges.
        entries: Further entries of the next checkpoint.
        known: All ranges, if they were read before.
    """
    started = time.monotonic()
    known = poll.known_ranges() if known is None else known
    with open_snapshot(poll) as snapshot:
        step = fetch(poll.at(snapshot, DueRanges.every(known)))
    header = step.run(entries)
    notes = (*poll.leased.notes, *((ACCEPTED_SOURCE,) if snapshot.digests_changed else ()))
    return Detection(header, replace(step.cost(), seconds=time.monotonic() - started), notes)
