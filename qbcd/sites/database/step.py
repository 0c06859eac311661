"""One atomic step of a site in the source: what is found goes into the outbox, the replica follows, the row advances.

A poll by one statement is one step that seals its batch. A poll by ranges is many; their rows gather in the open batch,
under no number, until :func:`seal` gives it one (docs/design/architecture.md#data-flow).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from qbcd import hooks
from qbcd.catalog.capture_change import change_of
from qbcd.catalog.drift import MADE, check_server, check_shape
from qbcd.catalog.source import Session
from qbcd.catalog.views import check_views
from qbcd.errors import Refused, UnsafeKey
from qbcd.model import BatchHeader, KeyRange, ServerIdentity, Statement, StreamPlan
from qbcd.sites.checkpoint import checkpoint_of, new_header
from qbcd.sites.guards import check_guards, confirm, counted_now
from qbcd.sites.refusals import check_key, untravelled_error
from qbcd.sites.source_changes import is_remade
from qbcd.strategies import ByRanges, InSource, OutboxSlice, Tlcs
from qbcd.strategies.outbox import OPEN

if TYPE_CHECKING:
    from qbcd.sites.database.context import DatabaseContext
    from qbcd.sites.values import LeasedStream, Settings
from qbcd.sites.database.open_batch import extend_open_batch, pair

Counts = Mapping[str, int]
# What of a checkpoint no step makes anew.
CARRIED = ("open", "mark", "marks", "bases", "pass", "swept", "usual", "audited", "auditing", "gone")


@dataclass(frozen=True)
class StepRequest:
    """What a step asks of the source.

    Attributes:
        find: Statements that write what they find into the outbox, each for the part that it is given.
        before: Statements that run first, in the same transaction.
        begin: Tells, in the step's transaction, whether there is anything to look at; it vouches for the key itself.
            None where the step always looks.
        after: Statements about what was found, before anything is done with it.
        adopt: Statements that put rows into the replica without an event, before anything is looked for.
        within: The one key range that the step is about; None for the whole table.
        keep_open: The rows join the open batch; otherwise they are a batch of their own.
        follow: What else belongs into the step once the replica has moved, from the step's counts; gives the entries
            of the checkpoint that move with it, whether or not anything was found.
        guarded: (deletes so far, deletes let pass, rows at the start) of a pass; None for a step that is a whole poll.
        afresh: All rows are compared: what the table is made of may be remembered anew.
    """

    find: Sequence[Callable[[InSource, OutboxSlice], Statement]]
    before: Sequence[Statement] = ()
    begin: Callable[[Session], bool] | None = None
    after: Sequence[Callable[[InSource, OutboxSlice], Statement]] = ()
    adopt: Sequence[Statement] = ()
    within: KeyRange | None = None
    keep_open: bool = False
    follow: Callable[[Session, InSource, OutboxSlice, Counts], Mapping[str, Any]] = (
        lambda session, strategy, part, counts: {}
    )
    guarded: tuple[int, int, int] | None = None
    afresh: bool = False


@dataclass(frozen=True)
class StepResult:
    """What a step brought.

    Attributes:
        seconds: Spent on finding and applying, which take longer the more rows a step is about; not on what is asked
            at every step.
        remarks: What else the user should know of it.
    """

    counts: Counts = field(default_factory=dict)
    header: BatchHeader | None = None
    accepted_source: bool = False
    seconds: float = 0.0
    remarks: tuple[str, ...] = ()

    @property
    def found(self) -> int:
        """Number of events."""
        return sum(self.counts.values())


def run_step(
    context: DatabaseContext,
    plan: StreamPlan,
    settings: Settings,
    held: LeasedStream,
    look: StepRequest,
    *,
    drop: Sequence[str] = (),
) -> StepResult:
    """Takes one step; the row in `held` has advanced when it returns. The next checkpoint has no entries `drop`."""
    strategy = context.strategy(plan)
    with context.source.write(context.stream, steady=strategy.steady) as session:
        enter(context, session, plan, held)
        # Only what vouches for the key is taken over: the table is the one that is configured now.
        keyed = plan.on(check_shape(context.source, session, context.stream, held.row.checkpoint, plan))
        row, accept = held.row, settings.accept_source
        server, changed = check_server(context.source, session, context.stream, row.checkpoint, accept=accept)
        hooks.reach("after_snapshot")
        looking = True if look.begin is None else look.begin(session)
        if look.begin is None:
            check_key(session, strategy, look.within, keyed)
        part = _part(held, look.keep_open)
        for statement in look.before:
            session.run(statement)
        began = time.monotonic()
        adopted = sum(session.run(statement) for statement in look.adopt)
        found = _find(session, strategy, part, look) if looking else 0
        hooks.reach("after_fetch")
        for make in look.after if found else ():
            session.run(make(strategy, part))
        counts = apply_changes(context, session, strategy, settings, held, part, look) if found else {}
        spent = time.monotonic() - began
        moves = dict(look.follow(session, strategy, part, counts))
        anew = look.afresh and row.checkpoint.get(MADE) != plan.made()
        moving = moves or any(name in row.checkpoint for name in drop)
        if not found and not changed and not anew and not moving and not change_of(row.checkpoint, plan):
            return StepResult(seconds=spent)
        header = _batch_of(context, session, plan, settings, held, look, counts) if found else None
        if header and look.keep_open:
            moves["open"], header = extend_open_batch(held, header), None
        rows = int(row.checkpoint["rows"]) + adopted + counts.get("c", 0) - counts.get("d", 0)
        kept = {name: value for name, value in carried_entries(held).items() if name not in drop}
        checkpoint = {**kept, **checkpoint_entries(context, plan, settings, server, rows), **moves}
        if not look.afresh and is_remade(row.checkpoint, plan):
            checkpoint[MADE] = row.checkpoint[MADE]  # until all rows were compared
        confirm(context.project, settings, held)
        hooks.reach("before_commit")
        advanced = context.commit(session.connection, held.row, held, header, checkpoint)
    held.row = advanced
    hooks.reach("after_commit")
    return StepResult(counts, header, changed, spent)


def _batch_of(
    context: DatabaseContext,
    session: Session,
    plan: StreamPlan,
    settings: Settings,
    held: LeasedStream,
    look: StepRequest,
    counts: Counts,
) -> BatchHeader:
    """The header of what a step found; a batch that is not left open is complete with it."""
    header = first_header(context, session, plan, settings, held, held.row.epoch, counts)
    if look.within is not None:
        header = replace(header, consistency="range")
    if not look.keep_open:
        pair(context, session, settings, header)
    return header


def check_unmoved(session: Session, strategy: Tlcs) -> None:
    """Refuses a table whose rows change when their checksums are written: they would differ at each poll, for ever."""
    table = strategy.plan.table
    if int(session.one(strategy.moved()).n):
        raise Refused(
            f"{table.schema}.{table.name} changes captured columns itself when checksum column {strategy.column!r} is "
            "written (a trigger, or a column that is set at each update)",
            stream=strategy.plan.stream,
            remedy="exclude those columns, or keep the checksums beside the table:  checksums: table",
        )


def _part(held: LeasedStream, keep_open: bool) -> OutboxSlice:
    row = held.row
    if not keep_open:
        return OutboxSlice(row.epoch, row.last_batch_seq + 1)
    waiting = row.checkpoint.get("open")
    return OutboxSlice(row.epoch, OPEN, sum(waiting["counts"].values()) if waiting else 0)


def _find(session: Session, strategy: InSource, part: OutboxSlice, look: StepRequest) -> int:
    found = 0
    for make in look.find:
        found += session.run(make(strategy, replace(part, first=part.first + found)))
    return found


def apply_changes(
    context: DatabaseContext,
    session: Session,
    strategy: InSource,
    settings: Settings,
    held: LeasedStream,
    part: OutboxSlice,
    look: StepRequest,
) -> Counts:
    """Guards and replica of the changes that `look` found and that stand in the outbox, in the caller's transaction."""
    plan = strategy.plan
    counts = {r.op.strip(): int(r.events) for r in session.rows(strategy.counts(part))}
    deletes, rows = counts.get("d", 0), int(held.row.checkpoint["rows"])
    so_far, accepted, before = look.guarded or (0, 0, rows)
    if deletes and strategy.keeps != "nothing" and not 0 < so_far + deletes <= accepted:
        after = rows + counts.get("c", 0) - deletes
        left = (lambda: counted_now(context, strategy.row_count())) if isinstance(strategy, ByRanges) else None
        check_guards(context.project, settings, held, deletes=so_far + deletes, before=before, after=after, left=left)
    check_travels(session, strategy, settings, part)
    moved = [session.run(s) for s in strategy.apply(part, look.within)]
    updates = counts.get("u", 0)
    expected = [deletes + updates, counts.get("c", 0) + updates]
    if strategy.keeps != "nothing" and moved[:2] != expected:
        raise UnsafeKey(
            f"the key is not unique in the table: {moved[0]} old and {moved[1]} new rows for {tuple(expected)} changes",
            stream=plan.stream,
            remedy="choose a key that is unique",
        )
    hooks.reach("after_stage")
    return counts


def check_travels(session: Session, strategy: InSource, settings: Settings, part: OutboxSlice) -> None:
    """Refuses values that a typed sink could never take."""
    if settings.typed:
        flags = session.one(strategy.untravelled(part))
        positions = [i for i, flag in enumerate(flags) if flag]
        if positions:
            raise untravelled_error(strategy.plan, settings, positions)


def carried_entries(held: LeasedStream) -> dict[str, Any]:
    """What the next checkpoint takes over from the present one."""
    return {name: held.row.checkpoint[name] for name in CARRIED if held.row.checkpoint.get(name) is not None}


def first_header(
    context: DatabaseContext,
    session: Session,
    plan: StreamPlan,
    settings: Settings,
    held: LeasedStream,
    epoch: int,
    counts: Counts,
) -> BatchHeader:
    """The header of what was just found, by the source's clock."""
    now, strategy = context.source.connector.catalog.clock_ms(session.connection), context.strategy(plan)
    header = new_header(
        plan, settings, held, epoch=epoch, ts_ms=now, counts=dict(counts), consistency=strategy.consistency
    )
    return replace(header, before=strategy.keeps == "rows")


def enter(context: DatabaseContext, session: Session, plan: StreamPlan, held: LeasedStream) -> None:
    """Locks the stream's row, keeps DDL from the table, asks whether it can be compared here.

    See docs/design/protocol.md#rule-1, #rule-9.
    """
    row, connector, steady = held.row, context.source.connector, context.strategy(plan).steady
    lock = connector.sessions.lock_against_rewrite(plan.table)
    if lock and steady:  # before the first statement that reads, whose state all others see
        session.run(lock)
    context.store.lock(session.connection, context.stream, context.project.project_id, row.version, row.fencing_token)
    if lock and not steady:
        session.run(lock)
    check_views(context.source, session, plan)
    own = context.own_names(plan)
    connector.catalog.check_in_source(session.connection, plan.table, stream=context.stream, own=own)


def checkpoint_entries(
    context: DatabaseContext, plan: StreamPlan, settings: Settings, server: ServerIdentity, rows: int
) -> dict[str, Any]:
    """What every strategy remembers; `rows` is the replica's size."""
    return checkpoint_of(plan, settings, server, context.source.connector.encoder_version, rows)
