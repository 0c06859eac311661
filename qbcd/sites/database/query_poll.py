"""Poll of variant delta: find changed rows of base tables, affected keys, and their rows.

    read the clock and open transactions, for each timestamp -> in one transaction that sees one state:
    changed rows -> affected keys -> the query for them against the replica -> outbox, replica, lineage, watermarks

An audit computes the whole query and fills the lineages again, for rows that changed without their timestamp.

Windows have no upper end: a row that the query sees is in the lineage too, regardless of its timestamp. The lower end
is the watermark of the step before, so rows of transactions that were open then are read now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from qbcd.catalog.source import Session
from qbcd.common import hooks
from qbcd.errors import SchemaChanged
from qbcd.model import StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.ranges import schedule
from qbcd.sites.checkpoint import AUDIT
from qbcd.sites.database.commit import Counts, StepRequest, StepResult, run_step
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.refusals import key_error
from qbcd.sites.watermark import NextWatermark, next_watermarks, remembering_set_back
from qbcd.strategies import OutboxSlice, VbdDelta
from qbcd.strategies.incremental.lineage import Lineage

Entries = Mapping[str, Any]  # by base table: the checkpoint's entry of its watermark


# -- baseline ----------------------------------------------------------------------------------------------------------
def watermarks_before(context: DatabaseContext, strategy: VbdDelta) -> dict[str, Any]:
    """Return the checkpoint's entries for a baseline that is read after this.

    See docs/design/protocol.md#rule-6.
    """
    ahead = _next_watermarks(context, strategy, {})
    return {Entry.TABLE_WATERMARKS: _entries(ahead), Entry.BASE_TABLES: _bases(strategy)}


def fill(context: DatabaseContext, session: Session, strategy: VbdDelta) -> float:
    """Fill the lineages, in the transaction that fills the replica; return the store's clock."""
    for lineage in strategy.lineages:
        session.run(lineage.fill())
        _refresh(session, strategy, lineage.lineage)
    return context.store.now(session.connection)


# -- poll --------------------------------------------------------------------------------------------------------------
def poll_affected(poll: DatabasePoll, strategy: VbdDelta) -> StepResult:
    """Compute the query for the keys that changed rows affect."""
    step, remarks = _begin(poll, strategy, poll.leased.row.checkpoint[Entry.TABLE_WATERMARKS])
    request = StepRequest([strategy.affected_differences], begin=step.begin, finish=step.finish)
    return replace(run_step(poll, request), remarks=remarks)


def poll_whole(poll: DatabasePoll, strategy: VbdDelta) -> StepResult:
    """Compute the whole query and fill the lineages again: old digests may not be comparable."""
    step, remarks = _begin(poll, strategy, {})
    request = StepRequest([strategy.all_differences], finish=step.refill, compare_all=True)
    return replace(run_step(poll, request), remarks=remarks)


def audit(poll: DatabasePoll, strategy: VbdDelta, began: float) -> StepResult:
    """Compute the whole query and fill the lineages again, as an audit.

    `began` is the store's clock.
    """
    step, _ = _begin(poll, strategy, poll.leased.row.checkpoint[Entry.TABLE_WATERMARKS])
    step.audit = began
    request = StepRequest([lambda part: strategy.all_differences(part, AUDIT)], finish=step.refill)
    return run_step(poll, request)


def _begin(poll: DatabasePoll, strategy: VbdDelta, known: Entries) -> tuple[_Step, tuple[str, ...]]:
    """Read the next watermarks; return the step and remarks for the user."""
    context, checkpoint, bases = poll.context, poll.leased.row.checkpoint, _bases(strategy)
    _check_references(poll.plan, checkpoint.get(Entry.BASE_TABLES, {}), bases)
    with remembering_set_back(context, poll.leased):
        ahead = _next_watermarks(context, strategy, known)
    hooks.reach("after_horizon")
    known = {name: entry for name, entry in known.items() if not (name in ahead and ahead[name].reread)}
    step = _Step(context, strategy, known, _entries(ahead), sweep=_sweep_due(poll, strategy))
    step.same_bases = checkpoint.get(Entry.BASE_TABLES) == bases
    remarks = "; ".join(filter(None, dict.fromkeys(one.remark for one in ahead.values())))
    return step, (remarks,) if remarks else ()


@dataclass
class _Step:
    """The work of a step in addition to finding and applying differences.

    Attributes:
        known: Watermarks up to which base tables were read.
        sweep: The store's clock if the step looks for deleted rows, otherwise 0.
        audit: The store's clock at the beginning of an audit, otherwise 0.
        same_bases: The checkpoint's base tables are those of now; a checkpoint of an early version has none.
    """

    context: DatabaseContext
    strategy: VbdDelta
    known: Entries
    ahead: Entries
    sweep: float
    audit: float = 0.0
    same_bases: bool = True
    changed: list[Lineage] = field(default_factory=list)

    def begin(self, session: Session) -> bool:
        """Record changed rows and the keys that they affect; return True if there are any keys.

        Raises:
            UnsafeKey: The query gives an affected key more than once, or NULL.
        """
        strategy = self.strategy
        self.context.progress("looking for changed rows of the query's tables")
        for lineage in strategy.lineages:
            if self._find(session, lineage):
                self.changed.append(lineage)
                _refresh(session, strategy, lineage.changed)
        if not self.changed or not session.run(strategy.find_affected(self.changed)):
            return False
        _refresh(session, strategy, strategy.affected)
        self.context.progress("computing the query for affected keys")
        if not strategy.plan.key_is_proven:
            nulls = session.one(strategy.affected_nulls()).nulls
            found = session.one(strategy.key_problems() if nulls else strategy.affected_key_problems())
            if int(found.keys_more_than_once) or int(found.keys_null):
                raise key_error(strategy.plan)
        return True

    def _find(self, session: Session, lineage: Lineage) -> int:
        entry = self.known.get(lineage.name)
        since = entry["at"] if entry else None
        found = session.run(lineage.find(since))
        if lineage.watermarked is None or since is None or self.sweep:
            found += session.run(lineage.find_deleted())
        return found

    def finish(self, session: Session, part: OutboxSlice, counts: Counts) -> Mapping[str, Any]:
        """Update the lineages; return the new watermarks if anything changed."""
        for lineage in self.changed:
            for statement in lineage.follow():
                session.run(statement)
        if self.changed:
            session.run(self.strategy.forget_affected())
        if not self.changed and not self.sweep and self.ahead == self.known and self.same_bases:
            return {}
        return self._entries()

    def refill(self, session: Session, part: OutboxSlice, counts: Counts) -> Mapping[str, Any]:
        """Empty and fill the lineages; return the new watermarks."""
        for lineage in self.strategy.lineages:
            session.run(lineage.empty())
            session.run(lineage.fill())
        return {**self._entries(), **({Entry.AUDITED: self.audit} if self.audit else {})}

    def _entries(self) -> dict[str, Any]:
        entries = {Entry.TABLE_WATERMARKS: dict(self.ahead), Entry.BASE_TABLES: _bases(self.strategy)}
        return {**entries, Entry.SWEPT: self.sweep} if self.sweep else entries


def _next_watermarks(context: DatabaseContext, strategy: VbdDelta, known: Entries) -> dict[str, NextWatermark]:
    """Return, by base table, the watermark after a step that begins now."""
    strategies = {lineage.name: lineage.watermarked for lineage in strategy.lineages if lineage.watermarked is not None}
    found = next_watermarks(context.source, [(one, known.get(name)) for name, one in strategies.items()])
    return dict(zip(strategies, found, strict=True))


def _entries(ahead: Mapping[str, NextWatermark]) -> dict[str, Any]:
    return {name: one.entry for name, one in ahead.items()}


def _bases(strategy: VbdDelta) -> dict[str, Any]:
    """Return the shape of each base table, as the lineages need it (`qbcd.catalog.drift`)."""
    return {lineage.name: lineage.shape() for lineage in strategy.lineages}


def _check_references(plan: StreamPlan, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse a query whose text refers to other columns than before.

    It is found by a column of a base table that the query did not refer to before.

    Raises:
        SchemaChanged: Names the column.
    """
    for name, shape in now.items():
        others = sorted(set(shape["columns"]) - set(then.get(name, shape)["columns"]))
        if others:
            raise SchemaChanged(
                f"the query refers to column {others[0]!r} of {name} now, and did not before: columns were added, "
                "dropped or renamed, so its text has another meaning",
                stream=plan.stream,
                remedy="qualify each column in the query with its table; then qbcd reset and prepare it again, or undo "
                "the change at the source",
            )


def _sweep_due(poll: DatabasePoll, strategy: VbdDelta) -> float:
    """Return the store's clock if a sweep for deleted rows is due, otherwise 0."""
    if strategy.deletes is None:
        return 0.0
    with poll.context.reading() as conn:
        now = poll.context.store.now(conn)
    return now if schedule.is_due(poll.leased.checkpoint.swept, strategy.deletes, now) else 0.0


def _refresh(session: Session, strategy: VbdDelta, table: tuple[str, str]) -> None:
    statement = strategy.statistics(table)
    if statement:
        session.run(statement)
