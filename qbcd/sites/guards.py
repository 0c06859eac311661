"""Delete guards of a poll, and their confirmation (docs/design/protocol.md#rule-17)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from qbcd.errors import GuardTripped
from qbcd.model import Statement
from qbcd.ranges.schedule import Pass
from qbcd.sites.context import StreamContext
from qbcd.sites.poll import Poll
from qbcd.sites.values import LeasedStream
from qbcd.state import Refusal

DELETES = "deletes"
ACCEPTED_SOURCE = "the server, or a rule of equality (its own or qbcd's), changed: every row was compared by its values"
ACCEPTED_DELETES = "the deletes were accepted"


@dataclass(frozen=True)
class Deletes:
    """Deletes that two steps of one comparison count together.

    The checkpoint keeps them between the steps.

    See docs/design/protocol.md#rule-17.

    Attributes:
        deletes: Number found so far.
        accepted: Number that a confirmation allowed.
        rows: Rows of the replica when the comparison began.
    """

    deletes: int
    accepted: int
    rows: int

    @classmethod
    def from_checkpoint(cls, leased: LeasedStream, name: str) -> Deletes:
        """Return the checkpoint's entry `name`, or that of a comparison that begins now."""
        kept = leased.checkpoint.get(name)
        return cls(**kept) if kept else cls(0, 0, leased.checkpoint.rows)

    @property
    def guarded(self) -> tuple[int, int, int]:
        """The three numbers, for the guards of the next step."""
        return self.deletes, self.accepted, self.rows

    def after(self, leased: LeasedStream, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the checkpoint's entry after a step that found `counts`."""
        accepted = max(self.accepted, leased.confirmed.amount if leased.confirmed else 0)
        return {"deletes": self.deletes + counts.get("d", 0), "accepted": accepted, "rows": self.rows}


def check_guards(poll: Poll, *, deletes: int, before: int, after: int, left: Callable[[], int] | None = None) -> None:
    """Refuse a poll with more deletes than the guards allow (docs/design/protocol.md#rule-17).

    Args:
        deletes: Deletes that were found, or that range counts show.
        before: Rows of the replica before the poll.
        after: Rows of the source now; within a pass, rows of the replica.
        left: Counts the rows of the source if `after` is not that number.

    Raises:
        GuardTripped: Unless the user confirmed this version and number of deletes.
    """
    settings, leased, project = poll.settings, poll.leased, poll.context.project
    stream = leased.row.stream
    emptied = before > 0 and after == 0 and not settings.config.guards.allow_empty
    if not emptied and deletes <= settings.config.guards.max_delete_fraction * before:
        return
    if settings.config.guards.allow_empty and (after if left is None else left()) == 0:
        return
    refusal = project.get_refusal(stream)
    shown = refusal is not None and refusal.version in (leased.row.version, leased.first) and deletes <= refusal.amount
    if settings.accept_deletes and shown:
        leased.confirmed = refusal
        if ACCEPTED_DELETES not in leased.notes:
            leased.notes.append(ACCEPTED_DELETES)
        return
    what = (
        f"the source is empty now and held {before} rows before, which guards.allow_empty does not allow"
        if emptied
        else f"this poll would deliver {deletes} deletes of {before} rows, more than guards.max_delete_fraction "
        f"{settings.config.guards.max_delete_fraction:g} allows"
    )
    amount = before if emptied else deletes
    project.put_refusal(stream, Refusal(DELETES, leased.row.version, amount, what))
    said = f"{what}; {_not_accepted(refusal, amount)}" if settings.accept_deletes else what
    right = "if this is right too, once more" if settings.accept_deletes else "if this is right"
    raise GuardTripped(
        said, stream=stream, remedy=f"nothing was changed; {right}: qbcd run {stream} --once --accept-deletes"
    )


def _not_accepted(refusal: Refusal | None, amount: int) -> str:
    """Return why the user's confirmation does not cover `amount` deletes."""
    if refusal is None:
        return "nothing was refused before that could be accepted"
    if amount > refusal.amount:
        return f"{refusal.amount} deletes were refused before, {amount} now"
    return f"the stream was polled again since {refusal.amount} deletes were refused"


def check_pass(poll: Poll, state: Pass | None, *, deletes: int, after: int, left: Callable[[], int]) -> None:
    """Check the guards for one step of a pass, whose deletes add up.

    With None the step is a poll of its own.

    Raises:
        GuardTripped: The pass deletes too many rows, and the user did not confirm that number.
    """
    if state is None:
        check_guards(poll, deletes=deletes, before=poll.leased.checkpoint.rows, after=after)
    elif deletes and state.deletes + deletes > state.accepted:
        check_guards(poll, deletes=state.deletes + deletes, before=state.rows, after=after, left=left)


def counted_now(context: StreamContext, statement: Statement) -> int:
    """Count the source's rows by `statement`, in a transaction of its own."""
    with context.source.read(context.stream) as session:
        return int(session.one(statement).n)


def confirm(poll: Poll, conn: Connection | None = None) -> None:
    """Use up the confirmation for this step, in the step's transaction `conn` if there is one.

    Raises:
        GuardTripped: Another process has used it.
    """
    leased = poll.leased
    refusal, leased.confirmed = leased.confirmed, None
    if refusal is None:
        return
    stream = leased.row.stream
    if not poll.context.project.consume_refusal(stream, DELETES, refusal.version, refusal.amount, conn=conn):
        raise GuardTripped("the confirmation was used already", stream=stream, remedy="poll again")
