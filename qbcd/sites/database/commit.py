"""A step of the database wing: one transaction finds, stages, applies and commits changes.

Polls by one statement take one step, which seals its batch. Polls by ranges take many; their events collect in the
open batch until it is sealed (`qbcd.sites.database.open_batch`, docs/design/architecture.md#data-flow).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from qbcd.catalog.capture_change import change_of
from qbcd.catalog.drift import check_source, check_texts
from qbcd.catalog.source import Session
from qbcd.catalog.views import check_views
from qbcd.common import hooks
from qbcd.connectors.limited_drivers import hold_next
from qbcd.errors import StateConflict, UnsafeKey
from qbcd.model import BatchHeader, KeyRange, ServerIdentity, Statement, StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.sites.checkpoint import checkpoint_of, new_header
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.database.open_batch import extended, open_events, pair_keys
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.database.sink_values import check_limits, check_travels
from qbcd.sites.database.text_values import check_text
from qbcd.sites.guards import Deletes, check_guards, confirm, counted_now
from qbcd.sites.refusals import check_key
from qbcd.sites.source_changes import has_other_parts, identity_before
from qbcd.sites.values import LeasedStream
from qbcd.state import StreamRow
from qbcd.strategies import OutboxSlice
from qbcd.strategies.outbox import OPEN

Counts = Mapping[str, int]  # events by op
Find = Callable[[OutboxSlice], Statement]  # returns the statement that writes changes into a slice of the outbox
CARRIED = (  # entries of a checkpoint that the next one keeps unless a step changes them
    Entry.OPEN_BATCH,
    Entry.WATERMARK,
    Entry.TABLE_WATERMARKS,
    Entry.BASE_TABLES,
    Entry.PASS,
    Entry.SWEPT,
    Entry.USUAL_RANGE,
    Entry.AUDITED,
    Entry.AUDITING,
    Entry.MISSING_KEYS,
)


def _no_entries(session: Session, part: OutboxSlice, counts: Counts) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class StepRequest:
    """The statements of a step, in the order in which they run, and the entries that it commits.

    Attributes:
        begin: Runs first and returns True if there is anything to find; it also proves that the key is unique. None:
            the step proves the key itself and always looks for changes.
        before: Statements that run before changes are looked for.
        adopt: Statements that put rows into the replica without an event.
        find: Statements that write the changes into the outbox.
        after_find: Statements about the changes in the outbox, before they are counted.
        finish: Runs after the replica was changed, with the step's counts; returns entries for the checkpoint. They are
            committed even if nothing was found.
        within: The only key range of the step; None for the whole table.
        keep_open: The events join the open batch; otherwise they are a batch of their own.
        guarded: Deletes of earlier steps that count together with this step's; None for a whole poll.
        compare_all: All rows are read, so the checkpoint gets the table's identity of now.
        drop: Entries that the next checkpoint does not have.
    """

    find: Sequence[Find]
    begin: Callable[[Session], bool] | None = None
    before: Sequence[Statement] = ()
    adopt: Sequence[Statement] = ()
    after_find: Sequence[Find] = ()
    finish: Callable[[Session, OutboxSlice, Counts], Mapping[str, Any]] = _no_entries
    within: KeyRange | None = None
    keep_open: bool = False
    guarded: Deletes | None = None
    compare_all: bool = False
    drop: Sequence[str] = ()


@dataclass(frozen=True)
class StepResult:
    """The outcome of a step.

    Attributes:
        counts: Events by op.
        header: The batch that the step sealed, if it sealed one.
        accepted_source: Another server, or other rules of equality, were accepted and stored.
        seconds: Time that the statements about rows took.
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


def run_step(poll: DatabasePoll, request: StepRequest) -> StepResult:
    """Run one step; it advances the leased row if there was anything to commit.

    The protocol defines the order (docs/design/protocol.md#section-a):

    1. Lock the stream's row and the table; then check columns, server and key (docs/design/protocol.md#rule-9).
    2. List flagged rows (docs/design/protocol.md#rule-13); find changes into the outbox.
    3. Count them for the guards (docs/design/protocol.md#rule-17); apply them to the replica, with the digests of the
       same read (docs/design/protocol.md#rule-12).
    4. Commit events, replica and checkpoint together. A comparison that needs two steps makes two batches, so no key
       is in a batch twice (docs/design/protocol.md#rule-14).
    """
    context, leased = poll.context, poll.leased
    with context.source.write(context.stream, steady=poll.strategy.steady) as session:
        enter(context, session, poll.plan, leased.row)
        keyed, server, server_changed = _check_source(poll, session)
        hooks.reach("after_snapshot")
        if request.begin is None:
            check_key(session, poll.strategy, request.within, keyed)
        relevant = request.begin is None or request.begin(session)
        part = _slice(leased, request)
        for statement in request.before:
            session.run(statement)
        began = time.monotonic()
        adopted = sum(session.run(statement) for statement in request.adopt)
        found = _find(session, request.find, part) if relevant else 0
        hooks.reach("after_fetch")
        for statement in poll.strategy.complete(part, request.within) if found else ():
            session.run(statement)
        for make in request.after_find if found else ():
            session.run(make(part))
        counts = _apply(poll, session, request, part) if found else {}
        seconds = time.monotonic() - began
        entries = dict(request.finish(session, part, counts))
        if not (found or server_changed or entries or _checkpoint_changes(poll, request)):
            return StepResult(seconds=seconds)
        header = _batch_of(poll, session, request, counts) if found else None
        if header and request.keep_open:
            entries[Entry.OPEN_BATCH], header = extended(leased.checkpoint, header), None
        rows = leased.checkpoint.rows + adopted + counts.get("c", 0) - counts.get("d", 0)
        checkpoint = _next_checkpoint(poll, request, server, rows, entries)
        confirm(poll)
        hooks.reach("before_commit")
        if header is None:  # the row is locked, so that nothing else can have changed it
            hold_next(session.connection)
        advanced = context.commit(session.connection, leased.row, leased, header, checkpoint)
    leased.row = advanced
    hooks.reach("after_commit")
    return StepResult(counts, header, server_changed, seconds)


# -- before the rows ---------------------------------------------------------------------------------------------------
def enter(context: DatabaseContext, session: Session, plan: StreamPlan, row: StreamRow) -> None:
    """Lock the stream's row, keep DDL away from the table, check that it can be read.

    See docs/design/protocol.md#rule-1, #rule-9.
    """
    connector, steady = context.source.connector, context.strategy(plan).steady
    lock = connector.sessions.lock_against_rewrite(plan.table)
    if lock and steady:  # before the first statement that reads: its state is that of all others
        session.run(lock)
    context.lock(session.connection, row)
    if lock and not steady:
        session.run_with_next(lock)
    check_views(context.source, session, plan)
    own = context.own_names(plan)
    connector.catalog.check_in_source(session.connection, plan.table, stream=context.stream, own=own)


def _check_source(poll: DatabasePoll, session: Session) -> tuple[StreamPlan, ServerIdentity, bool]:
    """Check columns and server.

    Returns:
        The plan with the keys that today's catalog proves, the server, and True if the user accepted another server.
    """
    source, stream, checkpoint = poll.context.source, poll.context.stream, poll.leased.row.checkpoint
    accept = poll.settings.accept_source
    table, server, changed = check_source(source, session, stream, checkpoint, poll.plan, accept=accept)
    if poll.strategy.keeps == "rows":
        check_texts(stream, checkpoint, poll.plan, table)
    return poll.plan.on(table), server, changed


def _slice(leased: LeasedStream, request: StepRequest) -> OutboxSlice:
    """Return the slice of the outbox for the step's events.

    It follows those of the open batch, or is a batch of its own.
    """
    row = leased.row
    if request.keep_open:
        return OutboxSlice(row.epoch, OPEN, open_events(leased.checkpoint))
    return OutboxSlice(row.epoch, row.last_batch_seq + 1)


# -- the rows ----------------------------------------------------------------------------------------------------------
def _find(session: Session, find: Sequence[Find], part: OutboxSlice) -> int:
    found = 0
    for make in find:
        found += session.run(make(replace(part, first=part.first + found)))
    return found


def _apply(poll: DatabasePoll, session: Session, request: StepRequest, part: OutboxSlice) -> Counts:
    """Count the events in the outbox, check the guards, apply them to the replica.

    Raises:
        GuardTripped: They delete too many rows.
        UnsafeKey: The replica's rows show that the key is not unique.
        StateConflict: The copy does not have the rows of the digests next to it.
    """
    strategy = poll.strategy
    counts = {r.op.strip(): int(r.events) for r in session.rows(strategy.counts(part))}
    if counts.get("d") and strategy.keeps != "nothing":
        _guard(poll, request.guarded, counts)
    check_travels(poll, session, part)
    check_text(poll, session, part)
    check_limits(poll, session, part)
    applied = [session.run(s) for s in strategy.apply(part, request.within)]
    updates = counts.get("u", 0)
    expected = [counts.get("d", 0) + updates, counts.get("c", 0) + updates]
    if strategy.keeps != "nothing" and applied[:2] != expected:
        raise UnsafeKey(
            f"the key is not unique in the table: {applied[0]} old and {applied[1]} new rows for {tuple(expected)} "
            "changes",
            stream=poll.plan.stream,
            remedy="choose a key that is unique",
        )
    for i, table in enumerate(strategy.replicas[1:], 1):
        if applied[2 * i : 2 * i + 2] != expected:
            raise StateConflict(
                f"table {'.'.join(table)} does not have the rows whose digests are kept: it was changed by hand",
                stream=poll.plan.stream,
                remedy=f"qbcd reset {poll.plan.stream}, then prepare it again; consumers must reload",
            )
    hooks.reach("after_stage")
    return counts


def _guard(poll: DatabasePoll, earlier: Deletes | None, counts: Counts) -> None:
    """Check the guards for the deletes of this step and of `earlier` ones."""
    rows, count_rows = poll.leased.checkpoint.rows, poll.strategy.row_count()
    so_far = earlier or Deletes(0, 0, rows)
    deletes = so_far.deletes + counts["d"]
    if deletes <= so_far.accepted:
        return
    left = None if count_rows is None else partial(counted_now, poll.context, count_rows)
    after = rows + counts.get("c", 0) - counts["d"]
    check_guards(poll, deletes=deletes, before=so_far.rows, after=after, left=left)


# -- batch and checkpoint ----------------------------------------------------------------------------------------------
def _checkpoint_changes(poll: DatabasePoll, request: StepRequest) -> bool:
    """Return True if the checkpoint changes although no change was found."""
    checkpoint, plan = poll.leased.row.checkpoint, poll.plan
    if any(name in checkpoint for name in request.drop) or change_of(checkpoint, plan):
        return True
    if request.compare_all:
        return checkpoint.get(Entry.MADE) != plan.made()
    return poll.strategy.by_timestamps and not poll.attached and has_other_parts(checkpoint, plan)


def _batch_of(poll: DatabasePoll, session: Session, request: StepRequest, counts: Counts) -> BatchHeader:
    """Return the header of the step's events.

    Unless the batch stays open, its changes of key are marked too.
    """
    header = header_of(poll, session, poll.leased.row.epoch, counts)
    if request.within is not None:
        header = replace(header, consistency="range")
    if not request.keep_open:
        pair_keys(poll, session, header)
    return header


def header_of(poll: DatabasePoll, session: Session, epoch: int, counts: Counts) -> BatchHeader:
    """Return the header of events that were just found; its time is that of the source's clock."""
    now, strategy = poll.context.source.connector.catalog.clock_ms(session.connection), poll.strategy
    header = new_header(poll, epoch=epoch, ts_ms=now, counts=dict(counts), consistency=strategy.consistency)
    return replace(header, before=strategy.gives_old_values)


def _next_checkpoint(
    poll: DatabasePoll, request: StepRequest, server: ServerIdentity, rows: int, entries: Mapping[str, Any]
) -> dict[str, Any]:
    present = poll.leased.checkpoint
    carried = present.carried(name for name in CARRIED if name not in request.drop)
    checkpoint = {**carried, **checkpoint_entries(poll, server, rows), **entries}
    if not request.compare_all:
        attached, comparable = bool(poll.attached), poll.strategy.keeps == "rows"
        made = identity_before(present.entries, poll.plan, attached=attached, comparable=comparable)
        checkpoint[Entry.MADE] = made
    return checkpoint


def checkpoint_entries(poll: DatabasePoll, server: ServerIdentity, rows: int) -> dict[str, Any]:
    """Return the entries that every stream has; `rows` is the size of the replica."""
    shared = checkpoint_of(poll, server, poll.context.source.connector.encoder_version, rows)
    chosen = poll.strategy.frozen_options()
    return {**shared, Entry.FROZEN_OPTIONS: chosen} if chosen else shared
