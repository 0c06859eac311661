"""What stops a poll, and how it says so: delete guards and their one-shot confirmation, unsafe keys, values, places."""

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
ACCEPTED_SOURCE = "the server, or what it or qbcd means by equality, changed: every row was compared by its values"
ACCEPTED_DELETES = "the deletes were accepted"


@dataclass(frozen=True)
class Deletes:
    """Deletes that two steps of one comparison count together; in between they are in the checkpoint.

    See docs/design/protocol.md#rule-17.

    Attributes:
        deletes: Found so far.
        accepted: Let pass by a confirmation.
        rows: Rows of the replica when it began.
    """

    deletes: int
    accepted: int
    rows: int

    @classmethod
    def from_checkpoint(cls, held: LeasedStream, name: str) -> Deletes:
        """What the checkpoint has under `name`; else a comparison that begins now."""
        kept = held.row.checkpoint.get(name)
        return cls(**kept) if kept else cls(0, 0, int(held.row.checkpoint["rows"]))

    def after(self, held: LeasedStream, counts: Mapping[str, int]) -> dict[str, int]:
        """With what a step has found, for the checkpoint."""
        accepted = max(self.accepted, held.confirmed.amount if held.confirmed else 0)
        return {"deletes": self.deletes + counts.get("d", 0), "accepted": accepted, "rows": self.rows}


def check_guards(poll: Poll, *, deletes: int, before: int, after: int, left: Callable[[], int] | None = None) -> None:
    """Stops a poll that would deliver more deletes than the guards allow (docs/design/protocol.md#rule-17).

    Args:
        deletes: Deletes found, or known from range counts to come.
        before: Rows of the replica before the poll.
        after: Rows of the source now; within a pass those of the replica.
        left: Counts the rows of the source, where `after` is not they.

    Raises:
        GuardTripped: Unless a confirmation for this version and number of deletes was given.
    """
    project, settings, held = poll.context.project, poll.settings, poll.leased
    stream = held.row.stream
    emptied = before > 0 and after == 0 and not settings.allow_empty
    if not emptied and deletes <= settings.max_delete_fraction * before:
        return
    if settings.allow_empty and (after if left is None else left()) == 0:
        return
    refusal = project.get_refusal(stream)
    shown = refusal is not None and refusal.version in (held.row.version, held.first) and deletes <= refusal.amount
    if settings.accept_deletes and shown:
        held.confirmed = refusal
        if ACCEPTED_DELETES not in held.notes:
            held.notes.append(ACCEPTED_DELETES)
        return
    what = (
        f"the source is empty now and held {before} rows before, which guards.allow_empty does not allow"
        if emptied
        else f"this poll would deliver {deletes} deletes of {before} rows, more than guards.max_delete_fraction "
        f"{settings.max_delete_fraction:g} allows"
    )
    amount = before if emptied else deletes
    project.put_refusal(stream, Refusal(DELETES, held.row.version, amount, what))
    said = f"{what}; {_not_accepted(refusal, amount)}" if settings.accept_deletes else what
    right = "if this is right too, once more" if settings.accept_deletes else "if this is right"
    raise GuardTripped(
        said, stream=stream, remedy=f"nothing was changed; {right}: qbcd run {stream} --once --accept-deletes"
    )


def _not_accepted(refusal: Refusal | None, amount: int) -> str:
    """Why the user's confirmation does not hold for so many deletes."""
    if refusal is None:
        return "nothing was refused before that could be accepted"
    if amount > refusal.amount:
        return f"{refusal.amount} deletes were refused before, {amount} now"
    return f"the stream has gone on since {refusal.amount} deletes were refused"


def check_pass(poll: Poll, state: Pass | None, *, deletes: int, after: int, left: Callable[[], int]) -> None:
    """As `check_guards` for a step that is a part of a pass, whose deletes count together; None: a poll of its own.

    Raises:
        GuardTripped: The pass deletes too much, and was not confirmed to that number.
    """
    if state is None:
        check_guards(poll, deletes=deletes, before=poll.leased.checkpoint.rows, after=after)
    elif deletes and state.deletes + deletes > state.accepted:
        deletes += state.deletes
        check_guards(poll, deletes=deletes, before=state.rows, after=after, left=left)


def counted_now(context: StreamContext, statement: Statement) -> int:
    """The source's rows by `statement`, counted in a transaction of its own."""
    with context.source.read(context.stream) as session:
        return int(session.one(statement).n)


def confirm(poll: Poll, conn: Connection | None = None) -> None:
    """Uses up the confirmation that let this step through the guards, in the step's own transaction where it can be.

    Raises:
        GuardTripped: Another process used it first.
    """
    held = poll.leased
    refusal, held.confirmed = held.confirmed, None
    if refusal is None:
        return
    if not poll.context.project.consume_refusal(held.row.stream, DELETES, refusal.version, refusal.amount, conn=conn):
        raise GuardTripped("the confirmation was used already", stream=held.row.stream, remedy="poll again")
