"""The ranges of a poll in the lake wing: all, or with ``per_poll`` those that are due.

`qbcd.ranges.schedule` chooses the ranges, as for strategy ID. All due ranges are one step: they are read together, and
one commit advances them, their visits and the pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from qbcd.model import StreamPlan
from qbcd.model.checkpoint import Checkpoint, Entry
from qbcd.ranges import schedule
from qbcd.ranges.schedule import Pass
from qbcd.sites.values import LeasedStream, Settings
from qbcd.state import StoredRange


@dataclass(frozen=True)
class DueRanges:
    """The ranges that a poll covers.

    Attributes:
        due: Those ranges, in key order.
        known: All ranges, with the replica's counts.
        rows_not_due: Rows of the replica in all other ranges.
        state: The pass of the poll; None if every poll covers all ranges.
        begins: The pass begins with this poll.
        now: Seconds of the store's clock before the first read.
    """

    due: Sequence[StoredRange]
    known: Sequence[StoredRange]
    rows_not_due: int = 0
    state: Pass | None = None
    begins: bool = True
    now: float = 0.0

    @classmethod
    def every(cls, known: Sequence[StoredRange]) -> DueRanges:
        """Return all `known` ranges, for a poll that belongs to no pass."""
        return cls(known, known)

    def mark_visited(self, read: Iterable[StoredRange]) -> list[StoredRange]:
        """Return the ranges with the time of this poll, if the poll belongs to a pass."""
        return list(read) if self.state is None else [replace(r, last_visited=self.now) for r in read]

    def visited(self, read: Iterable[StoredRange], removed: Iterable[StoredRange] = ()) -> list[StoredRange]:
        """Return the ranges to store: `read` and, in a pass, all that are due and not `removed`."""
        changed = {r.range_id: r for r in (*(self.due if self.state else ()), *read)}
        for one in removed:
            changed.pop(one.range_id, None)
        return self.mark_visited(changed.values())

    def checkpoint_entries(self, leased: LeasedStream, events: Mapping[int, int], deletes: int = 0) -> dict[str, Any]:
        """Return the entry of the pass after this poll, which found `events` by range.

        It is empty without a pass.

        Call it before the commit, which uses up the user's confirmation.
        """
        if self.state is None:
            return {}
        accepted = max(self.state.accepted, leased.confirmed.amount if leased.confirmed else 0)
        seen = self.state.visited({r.range_id: events.get(r.range_id, 0) for r in self.due})
        return {Entry.PASS: replace(seen, deletes=seen.deletes + deletes, accepted=accepted).as_json()}


def due_ranges(
    plan: StreamPlan, settings: Settings, checkpoint: Checkpoint, known: Sequence[StoredRange], now: float
) -> DueRanges:
    """Choose the ranges of a poll that begins `now`, in seconds of the store's clock."""
    per_poll: int | None = plan.option("per_poll")
    if per_poll is None:
        return DueRanges.every(known)
    visits = schedule.seen_by({r.range_id: r.last_visited for r in known}, now)
    before = Pass.from_checkpoint(checkpoint.open_pass)
    state = schedule.begun(before, visits, now=now, rows=checkpoint.rows)
    overdue = schedule.overdue(plan.option("max_staleness"), settings.config.every)
    ids = set(schedule.chosen(visits, state, now=now, per_poll=per_poll, overdue=overdue))
    due = [r for r in known if r.range_id in ids]
    rows_not_due = sum(r.rows for r in known if r.range_id not in ids)
    return DueRanges(due, known, rows_not_due, state, state is not before, max(now, state.began))


def all_ranges(due: DueRanges) -> DueRanges:
    """Return the same poll over all ranges."""
    return replace(due, due=due.known, rows_not_due=0)
