"""Subscriptions that have begun, requests for their first rows, and hulls of streams.

A new subscription is recorded together with a request for each sink, in one transaction. So a kill before it begins
again, and a kill after it repeats the request (`qbcd.delivery.initial`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.engine import Connection

from qbcd.state.project import ProjectState, Resend
from qbcd.state.project_tables import INTEREST, RESEND, SUBSCRIBED
from qbcd.state.tables import seal, unseal

# Begin of the restriction of such a request, which no condition of a user can have: these hold no semicolon. The first
# number of its subscriptions follows, then the digest of the matches that were sent.
INITIAL = ";subscriptions "
_AT_ONCE = 500  # rows of a statement


def subscribed(state: ProjectState, stream: str) -> dict[str, int]:
    """Return the digests of subscriptions that have begun, with the numbers of their requests.

    0 is none.
    """
    with state.read() as conn:
        rows = conn.execute(select(SUBSCRIBED).where(SUBSCRIBED.c.stream == stream))
        return {row.digest: row.number for row in rows}


def note_subscribed(
    state: ProjectState, stream: str, new: Collection[str], gone: Collection[str], sinks: Sequence[str]
) -> None:
    """Record subscriptions that begin and that have ended; call it under the lease.

    Args:
        new: Digests of those that begin.
        gone: Digests of those that have ended; they would begin again.
        sinks: Sinks that get the rows which new ones match already; none if these rows are events anyway.
    """
    with state.changing(stream) as conn:
        for some in _chunks(gone):
            conn.execute(delete(SUBSCRIBED).where(SUBSCRIBED.c.stream == stream, SUBSCRIBED.c.digest.in_(some)))
        number = _next(conn, stream) if new and sinks else 0
        for some in _chunks(new):
            values = [seal(SUBSCRIBED, {"stream": stream, "digest": each, "number": number}) for each in some]
            conn.execute(insert(SUBSCRIBED), values)
        for sink in sinks if new else ():
            waits = RESEND.c.pending & (RESEND.c.stream == stream) & (RESEND.c.sink == sink)
            before = first_number(str(conn.execute(select(RESEND.c.restriction).where(waits)).scalar() or ""))
            state.put_resend(conn, stream, sink, f"{INITIAL}{number if before is None else min(before, number)}")


def first_number(restriction: str) -> int | None:
    """Return the first number of the subscriptions of a request; None for another request."""
    return int(restriction.removeprefix(INITIAL).split()[0]) if restriction.startswith(INITIAL) else None


def note_matches(state: ProjectState, stream: str, one: Resend, matches: str) -> Resend:
    """Record which matches a request sends, before it does; call it under the lease.

    Other matches than those of an attempt before get another number: sinks and consumers know them by that.

    Args:
        matches: A digest of the rows and of the subscriptions that each of them meets.

    Returns:
        The request with its number.
    """
    first, *sent = one.restriction.removeprefix(INITIAL).split()
    if sent == [matches]:
        return one
    noted = replace(one, restriction=f"{INITIAL}{first} {matches}")
    with state.changing(stream) as conn:
        if sent:
            return replace(noted, number=state.put_resend(conn, stream, one.sink, noted.restriction))
        here = (RESEND.c.stream == stream) & (RESEND.c.sink == one.sink) & (RESEND.c.number == one.number)
        values = {"stream": stream, "sink": one.sink, "number": one.number, "restriction": noted.restriction}
        conn.execute(update(RESEND).where(here).values(**seal(RESEND, values)))
    return noted


def _next(conn: Connection, stream: str) -> int:
    last = conn.execute(select(func.max(SUBSCRIBED.c.number)).where(SUBSCRIBED.c.stream == stream)).scalar()
    return int(last or 0) + 1


def _chunks(items: Collection[str]) -> Iterator[list[str]]:
    every = sorted(items)
    for start in range(0, len(every), _AT_ONCE):
        yield every[start : start + _AT_ONCE]


# -- hulls ------------------------------------------------------------------------------------------------------------
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
