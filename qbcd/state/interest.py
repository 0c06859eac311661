"""Rows of the state database about the subscriptions of streams: how far a stream is narrowed."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import delete, insert, select

from qbcd.state.project import ProjectState
from qbcd.state.project_tables import INTEREST
from qbcd.state.tables import seal, unseal


class StoredInterest(NamedTuple):
    """The hulls of a stream, as texts.

    Attributes:
        wanted: The hull that polls apply.
        captured: The hull of the last poll that was complete.
    """

    wanted: str
    captured: str


def stored_interest(state: ProjectState, stream: str) -> StoredInterest | None:
    """Return the hulls of a stream; None if it was never narrowed.

    Raises:
        Refused: The row is damaged.
    """
    with state.read() as conn:
        row = conn.execute(select(INTEREST).where(INTEREST.c.stream == stream)).mappings().first()
    if row is None:
        return None
    found = unseal(INTEREST, dict(row))
    return StoredInterest(found["wanted"], found["captured"])


def put_interest(state: ProjectState, stream: str, one: StoredInterest) -> None:
    """Store the hulls of a stream; call it under the lease."""
    values = {"stream": stream, "wanted": one.wanted, "captured": one.captured}
    with state.write() as conn:
        conn.execute(delete(INTEREST).where(INTEREST.c.stream == stream))
        conn.execute(insert(INTEREST).values(**seal(INTEREST, values), at=state.facts.clock))
