"""Which ranges a poll under Spark looks at: all of them, or with ``per_poll`` those whose turn it is.

The choice and what a pass remembers are those of ID (`qbcd.ranges.schedule`). All of a turn is one step: its ranges are
read together, and one commit moves them, their visits and the pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qbcd.catalog.source import Session
from qbcd.model import StreamPlan
from qbcd.ranges import schedule
from qbcd.ranges.schedule import Pass
from qbcd.sites.guards import check_guards
from qbcd.sites.lake import diff
from qbcd.sites.poll import Poll
from qbcd.state import StoredRange
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from qbcd.sites.lake.commit import WrittenBatch
    from qbcd.sites.lake.context import LakeContext
    from qbcd.sites.values import LeasedStream, Settings


@dataclass(frozen=True)
class DueRanges:
    """The ranges that a poll looks at.

    Attributes:
        due: They, in key order.
        known: All ranges, as the replica has them.
        rest: Rows that the replica has in all others.
        state: The pass that the poll belongs to; None where every poll looks at all ranges.
        begins: The pass begins with it.
        now: Seconds of the store's clock before anything was read.
    """

    due: Sequence[StoredRange]
    known: Sequence[StoredRange]
    rows_not_due: int = 0
    state: Pass | None = None
    begins: bool = True
    now: float = 0.0

    def mark_visited(self, read: Iterable[StoredRange]) -> list[StoredRange]:
        """Ranges as this poll leaves them behind."""
        return list(read) if self.state is None else [replace(r, last_visited=self.now) for r in read]

    def visited(self, read: Iterable[StoredRange], gone: Iterable[StoredRange] = ()) -> list[StoredRange]:
        """The ranges that have moved: those that were `read`, and in a pass all that are due and not `gone`."""
        moved = {r.range_id: r for r in (*(self.due if self.state else ()), *read)}
        for one in gone:
            moved.pop(one.range_id, None)
        return self.mark_visited(moved.values())

    def checkpoint_entries(self, held: LeasedStream, events: Mapping[int, int], deletes: int = 0) -> dict[str, Any]:
        """What of the checkpoint moves with the visit, which found so many `events` by range; nothing without a pass.

        Asked before the step is committed, which uses up what the user has confirmed.
        """
        if self.state is None:
            return {}
        accepted = max(self.state.accepted, held.confirmed.amount if held.confirmed else 0)
        seen = self.state.visited({r.range_id: events.get(r.range_id, 0) for r in self.due})
        return {"pass": replace(seen, deletes=seen.deletes + deletes, accepted=accepted).as_json()}

    def entries_after_batch(
        self, context: LakeContext, plan: StreamPlan, held: LeasedStream, found: WrittenBatch
    ) -> dict[str, Any]:
        """As `follow`, of a batch."""
        events: Counter[int] = Counter()
        if self.state is not None and found.counts:
            for (_, range_id), number in diff.groups(context.replica.batch_rows(plan, found.part)).items():
                events[range_id] += number
        return self.checkpoint_entries(held, events, found.counts.get("d", 0))


def due_ranges(
    plan: StreamPlan, settings: Settings, checkpoint: Mapping[str, Any], known: Sequence[StoredRange], now: float
) -> DueRanges:
    """The turn of a poll that begins `now`."""
    per_poll: int | None = plan.option("per_poll")
    if per_poll is None:
        return DueRanges(known, known)
    visits = schedule.seen_by({r.range_id: r.last_visited for r in known}, now)
    before = Pass.from_checkpoint(checkpoint.get("pass"))
    state = schedule.begun(before, visits, now=now, rows=int(checkpoint["rows"]))
    late = schedule.overdue(plan.option("max_staleness"), settings.every)
    ids = set(schedule.chosen(visits, state, now=now, per_poll=per_poll, overdue=late))
    due = [r for r in known if r.range_id in ids]
    rest = sum(r.rows for r in known if r.range_id not in ids)
    return DueRanges(due, known, rest, state, state is not before, max(now, state.began))


def all_ranges(turn: DueRanges) -> DueRanges:
    """The turn where all ranges have to be looked at."""
    return replace(turn, due=turn.known, rows_not_due=0)


def check_size(
    context: LakeContext, session: Session, strategy: IdRcs, settings: Settings, held: LeasedStream, turn: DueRanges
) -> None:
    """The guards' look at the table's size before a pass, whose first polls may see little of what is gone.

    Raises:
        GuardTripped: Too much is gone.
    """
    if turn.state is None or not turn.begins or not turn.state.rows:
        return
    count, before = int(session.one(strategy.partitioning.row_count()).n), turn.state.rows
    if count < before:
        check_guards(
            Poll(context, strategy.plan, strategy, settings, held), deletes=before - count, before=before, after=count
        )
