"""Polls of variant delta: what changed in a query's base tables, which keys of its result that leads to, those anew.

    look at the clock and at open transactions, for each time-stamp -> in one transaction that sees one state:
    changed rows -> affected keys -> the query for those keys against the replica -> outbox, replica, lineage, marks

An audit computes the whole query, and takes the lineages anew: rows that changed without their time-stamp led nowhere.

Windows have no upper end: a row that is seen when the query is computed is in the lineage too, whatever its time-stamp
says. The lower end is the horizon of the step before, so that rows of transactions that were open then are read now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qbcd import hooks
from qbcd.catalog.source import Session
from qbcd.errors import SchemaChanged
from qbcd.model import StreamPlan
from qbcd.ranges import schedule
from qbcd.sites.checkpoint import AUDIT, AUDITED
from qbcd.sites.database import step as wing_step
from qbcd.sites.database.step import Counts, StepRequest, StepResult
from qbcd.sites.refusals import key_error
from qbcd.sites.watermark import ANEW, doubting, look_ahead_of
from qbcd.strategies import InSource, OutboxSlice, VbdDelta
from qbcd.strategies.incremental.lineage import Lineage

if TYPE_CHECKING:
    from qbcd.sites.database.context import DatabaseContext
    from qbcd.sites.values import LeasedStream, Settings

Marks = Mapping[str, Any]  # by base table: its watermark, as `look_ahead_of` gives it


def marks_before(context: DatabaseContext, strategy: VbdDelta) -> dict[str, Any]:
    """Entries of the checkpoint for a baseline that is read after this look (docs/design/protocol.md#rule-6)."""
    return {"marks": _ahead(context, strategy, {})[0], "bases": _bases(strategy)}


def fill(context: DatabaseContext, session: Session, strategy: VbdDelta) -> float:
    """Takes the base tables into their lineages, in the transaction that fills the replica; the store's clock."""
    for lineage in strategy.lineages:
        session.run(lineage.fill())
        _refresh(session, strategy, lineage.lineage)
    return context.store.now(session.connection)


def poll(
    context: DatabaseContext,
    plan: StreamPlan,
    settings: Settings,
    held: LeasedStream,
    *,
    afresh: bool = False,
    audit: float = 0.0,
) -> StepResult:
    """The one step of a poll, or of an audit.

    Args:
        site: Where.
        plan: The stream's plan.
        settings: What the user says about polls.
        held: The stream, under its lease.
        afresh: Compute the whole query and take the lineages anew, since digests may mean something else now.
        audit: The store's clock where that is an audit.
    """
    strategy = context.strategy(plan)
    assert isinstance(strategy, VbdDelta)
    _check_meaning(plan, held.row.checkpoint.get("bases", {}), _bases(strategy))
    known: Marks = {} if afresh else held.row.checkpoint["marks"]
    with doubting(context, held):
        ahead, remark = _ahead(context, strategy, known)
    hooks.reach("after_horizon")
    known = {name: mark for name, mark in known.items() if not ahead.get(name, {}).pop(ANEW, False)}
    step = _Step(context, strategy, known, ahead, _sweep_due(context, strategy, held), audit)
    step.shaped = held.row.checkpoint.get("bases") == _bases(strategy)
    if afresh or audit:
        reason = AUDIT if audit else ""
        find = [lambda s, part: strategy.all_differences(part, reason)]
        taken = wing_step.run_step(context, plan, settings, held, StepRequest(find, follow=step.anew, afresh=afresh))
    else:
        find = [lambda s, part: strategy.affected_differences(part)]
        taken = wing_step.run_step(
            context, plan, settings, held, StepRequest(find, begin=step.begin, follow=step.follow)
        )
    return replace(taken, remarks=(remark,) if remark else ())


class _Step:
    """What a step does besides finding and applying differences.

    Attributes:
        shaped: The stream remembers the base tables as they are; one that was prepared by an earlier version does not.
    """

    shaped = True

    def __init__(
        self, context: DatabaseContext, strategy: VbdDelta, known: Marks, ahead: Marks, sweep: float, audit: float
    ) -> None:
        self._context, self._strategy = context, strategy
        self._known, self._ahead, self._sweep, self._audit = known, ahead, sweep, audit
        self._changed: list[Lineage] = []

    def begin(self, session: Session) -> bool:
        """Sets down changed rows and the keys that they lead to; whether there are any keys."""
        strategy = self._strategy
        self._context.progress("looking for changed rows of the query's tables")
        for lineage in strategy.lineages:
            if self._find(session, lineage):
                self._changed.append(lineage)
                _refresh(session, strategy, lineage.changed)
        if not self._changed or not session.run(strategy.find_affected(self._changed)):
            return False
        _refresh(session, strategy, strategy.affected)
        self._context.progress("computing the query for affected keys")
        if not strategy.plan.key_is_proven:
            nulls = session.one(strategy.affected_nulls()).nulls
            found = session.one(strategy.key_problems() if nulls else strategy.affected_key_problems())
            if int(found.keys_more_than_once) or int(found.keys_null):
                raise key_error(strategy.plan)
        return True

    def _find(self, session: Session, lineage: Lineage) -> int:
        mark = self._known.get(lineage.name)
        since = mark["at"] if mark else None
        found = session.run(lineage.find(since))
        if lineage.marked is None or since is None or self._sweep:
            found += session.run(lineage.find_gone())
        return found

    def follow(self, session: Session, strategy: InSource, part: OutboxSlice, counts: Counts) -> Mapping[str, Any]:
        """Brings the lineages to what was found, and forgets it; the watermarks move in the same step."""
        for lineage in self._changed:
            for statement in lineage.follow():
                session.run(statement)
        if self._changed:
            session.run(self._strategy.forget_affected())
        if not self._changed and not self._sweep and self._ahead == self._known and self.shaped:
            return {}
        return self._moves()

    def anew(self, session: Session, strategy: InSource, part: OutboxSlice, counts: Counts) -> Mapping[str, Any]:
        """Takes the lineages anew."""
        for lineage in self._strategy.lineages:
            session.run(lineage.empty())
            session.run(lineage.fill())
        return {**self._moves(), **({AUDITED: self._audit} if self._audit else {})}

    def _moves(self) -> dict[str, Any]:
        shape = {"bases": _bases(self._strategy)}
        return {"marks": dict(self._ahead), **shape, **({"swept": self._sweep} if self._sweep else {})}


def _ahead(context: DatabaseContext, strategy: VbdDelta, known: Marks) -> tuple[dict[str, Any], str]:
    """The watermarks after a step that begins now, and what the user should know of them."""
    marked = {lineage.name: lineage.marked for lineage in strategy.lineages if lineage.marked is not None}
    marks = look_ahead_of(context.source, [(stamped, known.get(name)) for name, stamped in marked.items()])
    remarks = dict.fromkeys(str(mark.pop("remark", "")) for mark in marks)
    return dict(zip(marked, marks, strict=True)), "; ".join(filter(None, remarks))


def _bases(strategy: VbdDelta) -> dict[str, Any]:
    """What the lineages are made from; it may not change (`qbcd.catalog.drift`)."""
    return {lineage.name: lineage.shape() for lineage in strategy.lineages}


def _check_meaning(plan: StreamPlan, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuses a text that speaks of other columns than it did: a table has got one by a name that was another's.

    Raises:
        SchemaChanged: It does.
    """
    for name, shape in now.items():
        others = sorted(set(shape["columns"]) - set(then.get(name, shape)["columns"]))
        if others:
            raise SchemaChanged(
                f"the query speaks of column {others[0]!r} of {name} now, and did not before: columns were added, "
                "dropped or renamed, and its text has another meaning",
                stream=plan.stream,
                remedy="write in the query whose each column is; then qbcd reset and prepare it again, or undo the "
                "change at the source",
            )


def _sweep_due(context: DatabaseContext, strategy: VbdDelta, held: LeasedStream) -> float:
    """The store's clock, where it is time to look for rows that are gone; else 0."""
    if strategy.deletes is None:
        return 0.0
    with context.reading() as conn:
        now = context.store.now(conn)
    return now if schedule.is_due(float(held.row.checkpoint["swept"]), strategy.deletes, now) else 0.0


def _refresh(session: Session, strategy: VbdDelta, table: tuple[str, str]) -> None:
    statement = strategy.statistics(table)
    if statement:
        session.run(statement)
