"""The signs of life of another project in a store, before its streams are taken over.

A store shows leases, fencing tokens and the end of each last poll. It does not show processes of other hosts between
two polls, so a project that polls less often than every `QUIET_S` seconds from another host shows no sign.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.engine import Connection

from qbcd.errors import LeaseHeld, StateConflict
from qbcd.state.dialects import facts_of
from qbcd.state.lease import Owner
from qbcd.state.store import StreamStore

QUIET_S = 60.0  # least time without a poll: the length of a lease


@dataclass(frozen=True)
class Signs:
    """The signs of life of a project.

    Attributes:
        tokens: The fencing token of each of its streams; each poll increments one.
        quiet: Seconds since its last poll ended, by the store's clock; 0 if the store does not show that.
    """

    project_id: str
    tokens: Mapping[str, int]
    quiet: float


def signs_of_owner(conn: Connection, store: StreamStore, stream: str, mine: str) -> Signs:
    """Return the signs of life of the project that owns a stream's row.

    Args:
        stream: The stream to take over.
        mine: Id of the project that asks.

    Raises:
        LeaseHeld: The owner's process works on one of its streams, or runs on this host.
        StateConflict: The store has no row of the stream, or it belongs to `mine`: nothing can be taken over.
    """
    table, lease = store.tables.stream, store.tables.lease
    owner_id = conn.execute(select(table.c.project_id).where(table.c.stream == stream)).scalar()
    if owner_id is None or owner_id == mine:
        raise nothing_to_take_over(stream, ours=owner_id is not None)
    left = (lease.c.until - facts_of(conn).clock).label("left")
    rows = conn.execute(
        select(table.c.stream, table.c.fencing_token, table.c.prepared, lease.c.owner, left)
        .select_from(table.outerjoin(lease, table.c.stream == lease.c.stream))
        .where(table.c.project_id == owner_id)
        .order_by(table.c.stream)
    ).all()
    ages = [_age(row.stream, row.owner, row.left, stream) for row in rows if row.prepared or row.owner]
    return Signs(owner_id, {row.stream: int(row.fencing_token) for row in rows}, min(ages, default=0.0))


def refuse_if_alive(conn: Connection, store: StreamStore, stream: str, mine: str, seen: Signs) -> None:
    """Refuse to take a stream over if its project has polled since `seen`.

    Raises:
        StateConflict: It has, or :func:`signs_of_owner` refuses.
    """
    now = signs_of_owner(conn, store, stream, mine)
    moved = sorted(name for name, token in now.tokens.items() if seen.tokens.get(name) != token)
    if now.project_id != seen.project_id or moved:
        raise StateConflict(
            f"the project that prepared it has just polled {', '.join(moved[:1]) or 'it'}",
            remedy="end its processes first; or give this project another `schema:`",
            stream=stream,
        )


def nothing_to_take_over(stream: str, *, ours: bool) -> StateConflict:
    """Return the refusal of a take-over without a row of another project."""
    if ours:
        return StateConflict(
            "this project prepared it, so there is nothing to take over",
            remedy=f"qbcd reset {stream} --discard",
            stream=stream,
        )
    return StateConflict(
        "no source holds it for another project, so there is nothing to take over",
        remedy="leave out --take-over; qbcd check names the streams of other projects",
        stream=stream,
    )


def _age(holds: str, owner_text: str | None, left: float | None, asking: str) -> float:
    """Return the seconds since the last lease ended, 0 if that is not known.

    Raises:
        LeaseHeld: Its owner works now, or its process runs on this host.
    """
    if owner_text is None or left is None:  # a version before this one has polled: it deleted the row
        return 0.0
    try:
        owner = Owner.parse(owner_text)
    except ValueError as error:
        raise StateConflict("the lease's owner cannot be read", remedy="wait until it ends", stream=holds) from error
    works = left > 0 and not owner.is_dead() and not owner.is_left_behind()
    if works or (owner.is_here() and owner.pid != os.getpid() and not owner.is_dead()):
        does = f"works on stream {holds}" if works else f"polled stream {holds} and still runs"
        raise LeaseHeld(
            f"{owner.where} {does} for the project that prepared it", remedy="end that process first", stream=asking
        )
    return max(0.0, -left)
