"""The watermark of the next poll: read in a transaction of its own, before the rows.

It is bounded by the source's clock and its open transactions (docs/design/protocol.md#rule-6 to #rule-8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from qbcd import watermark
from qbcd.catalog.source import Session, Source
from qbcd.connectors.base import HighWater
from qbcd.connectors.facts import Counter
from qbcd.connectors.watermarks import SupportsSystemMarks, SupportsWatermarks
from qbcd.errors import ClockSetBack, MissingPrivilege, Refused, UnsafeWatermark
from qbcd.model import StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.sites.context import StreamContext
from qbcd.sites.values import LeasedStream
from qbcd.state import StreamRow
from qbcd.strategies import Watermarked
from qbcd.watermark import Window

FIRST_INSTANT = Window("1970-01-01 00:00:00.000000", "1970-01-01 00:00:01.000000")
FIRST_COUNTER = Window("0", "1")
READ = "read"  # in a counter's entry: the instant up to which its value was read
LONG = timedelta(minutes=10)  # an open transaction that holds the watermark back for longer is reported

WatermarkEntry = Mapping[str, Any]  # the entry of a watermark in the checkpoint


@dataclass(frozen=True)
class NextWatermark:
    """The watermark after a poll that begins now.

    Attributes:
        entry: For the checkpoint. ``at``: the watermark. Of a counter also ``next`` and ``seen``: the next value, and
            the time when it was seen; it becomes the watermark once every transaction that was open then has ended
            (docs/design/protocol.md#rule-7).
        reread: The counter seems to have restarted: all rows are read again.
    """

    entry: dict[str, Any]
    remark: str = ""
    reread: bool = False


def next_window(strategy: Watermarked, row: StreamRow | None) -> Window:
    """Return an empty window at the watermark of `row`, or the first window.

    Only a poll knows its end.
    """
    first = FIRST_COUNTER if strategy.kind in ("counter", "system") else FIRST_INSTANT
    last = row.checkpoint.get(Entry.WATERMARK) if row else None
    return Window(last["at"], last["at"]) if last and last["at"] is not None else first


def next_watermark(source: Source, strategy: Watermarked, known: WatermarkEntry | None) -> NextWatermark:
    """Return the watermark after a poll that begins now.

    Args:
        known: The present watermark; None before the baseline.

    Raises:
        UnsafeWatermark: The source does not show how far its timestamps are complete, and no `lag` is set.
    """
    return next_watermarks(source, [(strategy, known)])[0]


def next_watermarks(source: Source, tables: Sequence[tuple[Watermarked, WatermarkEntry | None]]) -> list[NextWatermark]:
    """Return the watermarks of several tables of one stream, all from one reading of the clock.

    Raises:
        UnsafeWatermark: As `next_watermark`.
    """
    if not tables:
        return []
    clocks = not any(strategy.kind in ("system", "counter") for strategy, _ in tables)
    with source.read(tables[0][0].plan.stream, apart=clocks) as session:
        now: HighWater | None = None
        found = []
        for strategy, known in tables:
            if strategy.kind == "system":
                found.append(NextWatermark({"at": _system(source, session, strategy.plan, known)}))
            elif strategy.kind == "counter":
                found.append(_counter(source, session, strategy, known))
            else:
                now = now or read_high_water(source, session, strategy.plan)
                found.append(_clock(source, session, strategy.plan, known, now))
        return found


def watermark_of_poll(
    context: StreamContext, leased: LeasedStream, strategy: Watermarked, known: WatermarkEntry | None
) -> NextWatermark:
    """Return the watermark after this poll; store in the checkpoint if the clock was set back.

    Raises:
        UnsafeWatermark: As `next_watermark`.
    """
    with remembering_set_back(context, leased):
        return next_watermark(context.source, strategy, known)


@contextmanager
def remembering_set_back(context: StreamContext, leased: LeasedStream) -> Iterator[None]:
    """Store that the source's clock was set back, until every row is compared.

    The clock will pass the watermark again, and nothing else would show then that rows may have been missed.
    """
    try:
        yield
    except ClockSetBack as error:
        checkpoint = leased.row.checkpoint
        server = {**leased.checkpoint.server, "doubt": error.what}
        with context.writing() as conn:
            leased.row = context.commit(conn, leased.row, leased, None, {**checkpoint, Entry.SERVER: server})
        raise


# -- instants ----------------------------------------------------------------------------------------------------------
def _clock(
    source: Source, session: Session, plan: StreamPlan, last: WatermarkEntry | None, now: HighWater
) -> NextWatermark:
    margin, lag = _margin_and_lag(plan)
    refuse_blind(source, session, plan, now)
    known = last["at"] if last else None
    if known is not None and now.clock < known:
        raise ClockSetBack(
            f"the source's clock shows {now.clock} and was read up to {known} before: it was set back, and rows may "
            "have been written with times that no poll reads any more",
            stream=plan.stream,
            remedy=f"set the clock right; then qbcd run {plan.stream} --once --accept-source compares every row and "
            "goes on from there",
        )
    _refuse_late(plan, now.clock, known)
    reached = watermark.safe_high_watermark(now, margin, lag)
    if now.held and lag is None:
        if known is None:
            raise UnsafeWatermark(
                f"{now.held}, so it is not known how far timestamps are complete",
                stream=plan.stream,
                remedy="prepare again when they have ended",
            )
        remark = f"{now.held}: the watermark stays at {known} UTC, and nothing newer is read"
        return NextWatermark({"at": known}, remark)
    return NextWatermark({"at": watermark.later(known, reached)}, _old_transaction(now, reached, plan))


def _old_transaction(now: HighWater, reached: str, plan: StreamPlan) -> str:
    """Return the remark that an old transaction holds the watermark back; empty if none does."""
    lag: timedelta = plan.option("lag") or timedelta(0)
    if now.oldest is None or now.clock <= watermark.shifted(reached, LONG + lag):
        return ""
    return f"a transaction is open since {now.oldest} UTC: nothing newer than {reached} is read until it ends"


def _refuse_late(plan: StreamPlan, clock: str, known: str | None) -> None:
    """Refuse a poll so late that flagged rows may have been removed before any poll read them.

    See docs/design/pitfalls.md#a7.
    """
    retention: timedelta | None = plan.option("retention")
    if retention is None or known is None or clock <= watermark.shifted(known, retention):
        return
    raise Refused(
        f"the table was read up to {known} and flagged rows are kept for {retention}: some may have been removed "
        "before a poll read them",
        stream=plan.stream,
        remedy=f"qbcd verify {plan.stream} shows them; qbcd reset {plan.stream} and prepare it",
    )


# -- counters ----------------------------------------------------------------------------------------------------------
def _counter(source: Source, session: Session, strategy: Watermarked, last: WatermarkEntry | None) -> NextWatermark:
    """Return the next watermark of a counter, which is not a clock.

    A value may be read once all transactions that were open when it was seen have ended.
    """
    greatest = session.one(strategy.greatest()).mark
    now = read_high_water(source, session, strategy.plan)
    margin, lag = _margin_and_lag(strategy.plan)
    refuse_blind(source, session, strategy.plan, now)
    origins = _counters(source, session, strategy)
    reached = watermark.safe_high_watermark(now, margin, lag)
    _refuse_late(strategy.plan, now.clock, last.get(READ) if last else None)
    restart = _restart(strategy, last, greatest, origins)
    last = None if restart.reread else last
    at, following, seen = (last["at"], last.get("next"), last.get("seen")) if last else (None, None, None)
    read, timed = last.get(READ) if last else None, bool(strategy.plan.option("retention"))
    if following is not None and seen is not None and seen < reached and not (now.held and lag is None):
        at, following, read = following, None, seen
    if now.oldest is None and not now.held and lag is None:  # no transaction holds a smaller value: no need to wait
        at, following, read = (greatest if greatest is not None else at), None, now.clock
    elif following is None:
        newest = at if greatest is None else greatest
        if newest is not None and (newest != at or timed):
            following, seen = newest, now.clock
    # Only `retention` needs the time of reading, which moves at each poll.
    when = {READ: read} if timed else {}
    entry = {"at": at, "next": following, "seen": seen if following is not None else None, **when}
    return replace(restart, entry=entry)


def _counters(source: Source, session: Session, strategy: Watermarked) -> list[Counter]:
    """Return the origins of the counters; refuse numbers that are not in order any more."""
    stream, watermarks = strategy.plan.stream, source.connector.require(SupportsWatermarks)
    found = [watermarks.counter_problem(session.connection, strategy.plan.table, c) for c in strategy.timestamps]
    refused = next((one.refused for one in found if one.refused), "")
    if refused:
        raise UnsafeWatermark(
            f"{', '.join(strategy.names)} is no watermark any more: {refused}",
            stream=stream,
            remedy=f"undo that, and end the sessions that hold numbers; then qbcd reset {stream}, and prepare it again",
        )
    return found


def _restart(
    strategy: Watermarked, last: WatermarkEntry | None, greatest: str | None, origins: Sequence[Counter]
) -> NextWatermark:
    """Return remark and `reread` for a counter that seems to have restarted.

    New rows may then have values that were read before. The greatest value of such a counter is below its watermark.
    That is also so if the newest rows were deleted; the value of the sequence behind the column, if the source shows
    one, is above the watermark then.
    """
    known = last["at"] if last else None
    if known is None or greatest is None or Decimal(greatest) >= Decimal(known):
        return NextWatermark({})
    reached = origins[0].reached if len(origins) == 1 else None
    if reached is not None and reached >= Decimal(known):
        return NextWatermark({})
    what = f"the greatest value of {', '.join(strategy.names)} is {greatest}, and rows were read up to {known} before"
    if reached is None and strategy.keeps != "rows":  # otherwise each delete of the newest row would repeat all rows
        return NextWatermark({}, f"{what}: if it counts from the start again, reset the stream")
    again = "all rows are compared" if strategy.keeps == "rows" else "all rows are delivered again"
    return NextWatermark({}, f"{what}: it seems to count from the start again, and {again}", reread=True)


def _system(source: Source, session: Session, plan: StreamPlan, last: WatermarkEntry | None) -> str:
    if last and (
        problem := source.connector.require(SupportsSystemMarks).system_mark_problem(
            session.connection, str(last["at"]), plan.table
        )
    ):
        raise UnsafeWatermark(problem, stream=plan.stream, remedy=f"qbcd reset {plan.stream}, then prepare it again")
    return source.connector.require(SupportsSystemMarks).system_mark(session.connection)


def _margin_and_lag(plan: StreamPlan) -> tuple[timedelta, timedelta | None]:
    return plan.option("margin") or timedelta(seconds=1), plan.option("lag")


def read_high_water(source: Source, session: Session, plan: StreamPlan) -> HighWater:
    """Return how far timestamps of the source are complete.

    Raises:
        MissingPrivilege: The role may not see other sessions, and the database reports that as an error.
    """
    try:
        return source.connector.require(SupportsWatermarks).high_water(session.connection)
    except MissingPrivilege as error:
        error.stream = plan.stream
        raise


def refuse_blind(source: Source, session: Session, plan: StreamPlan, now: HighWater) -> None:
    """Refuse a source whose open transactions are not all visible.

    Option `lag`, which bounds their length, lifts that.

    See docs/design/protocol.md#rule-8.

    Args:
        now: What the source shows of them.

    Raises:
        UnsafeWatermark: They are not all visible.
    """
    if plan.option("lag") is not None:
        return
    connector, conn = source.connector, session.connection
    watermarks = connector.require(SupportsWatermarks)
    blind = now.blind or watermarks.not_only_writer(conn, plan.table)
    if blind:
        role = connector.catalog.privileges(conn, plan.table, (), "").role if now.lacks_right else ""
        raise UnsafeWatermark(
            f"a timestamp is no safe watermark here: {blind}",
            stream=plan.stream,
            remedy=(f"{watermarks.sessions_grant(role)}; or " if role else "")
            + "set `lag` to the longest time that a transaction takes: what commits later than that is lost",
        )
