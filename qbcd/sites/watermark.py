"""How far a source's time-stamps may be read now: looked at in a transaction of its own, before the rows.

What bounds it are the source's clock and its open transactions (docs/design/protocol.md#rule-6 to #rule-8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from qbcd import watermark
from qbcd.catalog.source import Session, Source
from qbcd.connectors.base import HighWater
from qbcd.connectors.watermarks import SupportsSystemMarks, SupportsWatermarks
from qbcd.errors import ClockSetBack, Refused, UnsafeWatermark
from qbcd.model import StreamPlan
from qbcd.state import StreamRow
from qbcd.strategies import Watermarked
from qbcd.watermark import Window

if TYPE_CHECKING:
    from qbcd.sites.context import StreamContext
    from qbcd.sites.values import LeasedStream


NEVER = Window("1970-01-01 00:00:00.000000", "1970-01-01 00:00:01.000000")


FIRST_COUNTER = Window("0", "1")


def next_window(strategy: Watermarked, row: StreamRow | None) -> Window:
    """The window that begins where the last poll ended; its end is only known when the source is looked at."""
    plain = FIRST_COUNTER if strategy.kind in ("counter", "system") else NEVER
    mark = row.checkpoint.get("mark") if row else None
    return Window(mark["at"], mark["at"]) if mark and mark["at"] is not None else plain


Mark = Mapping[str, Any]


READ = "read"  # beside a counter's watermark: up to what instant of the clock that means


ANEW = "anew"  # beside a watermark: what was read before it is to be read again


LONG = timedelta(minutes=10)  # by which an open transaction holds the watermark back before it is told


def look_ahead(source: Source, strategy: Watermarked, mark: Mark | None) -> dict[str, Any]:
    """The watermark after a poll that begins now; `mark` is the present one, None before the baseline.

    Returns:
        ``remark``, what the user should know; ``anew``, that no row counts as read. For the checkpoint: ``at``, how
        far rows are read; of a counter also ``next`` and ``seen``, the value that is read up to as soon as every
        transaction that was open at that time has ended (docs/design/protocol.md#rule-7).

    Raises:
        UnsafeWatermark: The source does not show how far its time-stamps are complete, and no `lag` is set.
    """
    return look_ahead_of(source, [(strategy, mark)])[0]


def ahead_of(context: StreamContext, held: LeasedStream, strategy: Watermarked, mark: Mark | None) -> dict[str, Any]:
    """`look_ahead` of a poll, which remembers that the clock was set back: later it may pass the watermark again.

    Raises:
        UnsafeWatermark: As `look_ahead`.
    """
    with doubting(context, held):
        return look_ahead(context.source, strategy, mark)


@contextmanager
def doubting(context: StreamContext, held: LeasedStream) -> Iterator[None]:
    """Keeps in the checkpoint, beside the server, that its clock was set back, until every row has been compared."""
    try:
        yield
    except ClockSetBack as error:
        checkpoint = held.row.checkpoint
        server = {**checkpoint["server"], "doubt": error.what}
        with context.writing() as conn:
            held.row = context.commit(conn, held.row, held, None, {**checkpoint, "server": server})
        raise


def look_ahead_of(source: Source, marked: Sequence[tuple[Watermarked, Mark | None]]) -> list[dict[str, Any]]:
    """As `look_ahead` of several tables of one stream, whose clocks are all looked at at once.

    Raises:
        UnsafeWatermark: As `look_ahead`.
    """
    if not marked:
        return []
    with source.read(marked[0][0].plan.stream) as session:
        looked: HighWater | None = None
        found = []
        for strategy, mark in marked:
            if strategy.kind == "system":
                found.append({"at": _system(source, session, strategy.plan, mark)})
            elif strategy.kind == "counter":
                found.append(_counter(source, session, strategy, mark))
            else:
                looked = looked or source.connector.require(SupportsWatermarks).high_water(session.connection)
                found.append(_clock(source, session, strategy.plan, mark, looked))
        return found


def _clock(source: Source, session: Session, plan: StreamPlan, mark: Mark | None, look: HighWater) -> dict[str, Any]:
    margin, lag = _spans(plan)
    refuse_blind(source, session, plan, look.blind)
    known = mark["at"] if mark else None
    if known is not None and look.clock < known:
        raise ClockSetBack(
            f"the source's clock shows {look.clock} and was read up to {known} before: it was set back, and rows may "
            "have been written with times that no poll reads any more",
            stream=plan.stream,
            remedy=f"set the clock right; then qbcd run {plan.stream} --once --accept-source compares every row and "
            "goes on from there",
        )
    _refuse_late(plan, look.clock, known)
    reached = watermark.horizon(look, margin, lag)
    if look.held and lag is None:
        if known is None:
            raise UnsafeWatermark(
                f"{look.held}, so it is not known how far time-stamps are complete",
                stream=plan.stream,
                remedy="prepare again when they have ended",
            )
        return {"at": known, "remark": f"{look.held}: the watermark stays at {known} UTC, and nothing newer is read"}
    return {"at": watermark.later(known, reached), "remark": _behind(look, reached, plan)}


def _behind(look: HighWater, reached: str, plan: StreamPlan) -> str:
    """That an old transaction holds the watermark back, where it does."""
    lag: timedelta = plan.option("lag") or timedelta(0)
    if look.oldest is None or look.clock <= watermark.shifted(reached, LONG + lag):
        return ""
    return f"a transaction is open since {look.oldest} UTC: nothing newer than {reached} is read until it ends"


def _refuse_late(plan: StreamPlan, clock: str, known: str | None) -> None:
    """Refuses a poll so late that the application may have removed flagged rows unseen (docs/design/pitfalls.md#a7)."""
    retention: timedelta | None = plan.option("retention")
    if retention is None or known is None or clock <= watermark.shifted(known, retention):
        return
    raise Refused(
        f"the table was read up to {known} and flagged rows are kept for {retention}: some may be gone unseen",
        stream=plan.stream,
        remedy=f"qbcd verify {plan.stream} shows them; qbcd reset {plan.stream} and prepare it",
    )


def _counter(source: Source, session: Session, strategy: Watermarked, mark: Mark | None) -> dict[str, Any]:
    """Counters are no clock: a value may be read up to when all that was open when it was seen has ended."""
    greatest = session.one(strategy.greatest()).mark
    look = source.connector.require(SupportsWatermarks).high_water(session.connection)
    margin, lag = _spans(strategy.plan)
    refuse_blind(source, session, strategy.plan, look.blind)
    reached = watermark.horizon(look, margin, lag)
    _refuse_late(strategy.plan, look.clock, mark.get(READ) if mark else None)
    anew = _began_anew(source, session, strategy, mark, greatest)
    mark = None if anew.get(ANEW) else mark
    at, following, seen = (mark["at"], mark.get("next"), mark.get("seen")) if mark else (None, None, None)
    read, timed = mark.get(READ) if mark else None, bool(strategy.plan.option("retention"))
    if following is not None and seen is not None and seen < reached and not (look.held and lag is None):
        at, following, read = following, None, seen
    if look.oldest is None and not look.held and lag is None:  # nobody holds a smaller value: no need to wait
        at, following, read = (greatest if greatest is not None else at), None, look.clock
    elif following is None:
        newest = at if greatest is None else greatest
        if newest is not None and (newest != at or timed):
            following, seen = newest, look.clock
    # When it was read is of use to `retention` alone, and moves at each poll.
    when = {READ: read} if timed else {}
    return {"at": at, "next": following, "seen": seen if following is not None else None, **when, **anew}


def _began_anew(
    source: Source, session: Session, strategy: Watermarked, mark: Mark | None, greatest: str | None
) -> dict[str, Any]:
    """What a counter says that seems to count from the start again: rows may stand where polls have passed.

    Its greatest value is less than was read. That is so too where its newest rows were deleted; then what numbers it
    has gone further, where that is told.
    """
    known = mark["at"] if mark else None
    if known is None or greatest is None or Decimal(greatest) >= Decimal(known):
        return {}
    [column, *others], plan = strategy.marks, strategy.plan
    reached = (
        None
        if others
        else source.connector.require(SupportsWatermarks)
        .counter_problem(session.connection, plan.table, column)
        .reached
    )
    if reached is not None and reached >= Decimal(known):
        return {}
    told = f"the greatest value of {', '.join(strategy.names)} is {greatest}, and rows were read up to {known} before"
    if reached is None and strategy.keeps != "rows":  # all would come again at each delete of the newest row
        return {"remark": f"{told}: if it counts from the start again, reset the stream"}
    again = "all rows are compared" if strategy.keeps == "rows" else "all rows are told again"
    return {ANEW: True, "remark": f"{told}: it seems to count from the start again, and {again}"}


def _system(source: Source, session: Session, plan: StreamPlan, mark: Mark | None) -> str:
    if mark and (
        problem := source.connector.require(SupportsSystemMarks).system_mark_problem(
            session.connection, str(mark["at"])
        )
    ):
        raise UnsafeWatermark(problem, stream=plan.stream, remedy=f"qbcd reset {plan.stream}, then prepare it again")
    return source.connector.require(SupportsSystemMarks).system_mark(session.connection)


def _spans(plan: StreamPlan) -> tuple[timedelta, timedelta | None]:
    return plan.option("margin") or timedelta(seconds=1), plan.option("lag")


def refuse_blind(source: Source, session: Session, plan: StreamPlan, blind: str) -> None:
    """Refuses a source whose open transactions cannot all be seen, unless the user bounds them by `lag`.

    See docs/design/protocol.md#rule-8.

    Raises:
        UnsafeWatermark: It cannot.
    """
    if plan.option("lag") is not None:
        return
    blind = blind or source.connector.require(SupportsWatermarks).not_only_writer(session.connection, plan.table)
    if blind:
        raise UnsafeWatermark(
            f"a time-stamp is no safe watermark here: {blind}",
            stream=plan.stream,
            remedy="let the role see all sessions, where the database has such a right, or set `lag` to the longest "
            "time that a transaction takes: what commits later than that is lost",
        )
