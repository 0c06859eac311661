"""What a poll of a site in the source will run, in words and statements, and what `verify` compares; runs nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from qbcd.errors import Refused
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.sites.checkpoint import AUDIT
from qbcd.sites.values import ExplainedStatement
from qbcd.state import StoredRange, StreamRow
from qbcd.strategies import InSource, OutboxSlice, Tdi, VbdDelta, Watermarked
from qbcd.strategies.outbox import OPEN
from qbcd.watermark import Window

if TYPE_CHECKING:
    from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.watermark import next_window


def explain(context: DatabaseContext, plan: StreamPlan, row: StreamRow | None) -> list[ExplainedStatement]:
    """The statements of a poll, in order."""
    strategy, place = context.strategy(plan), f"source {context.source.name}, one transaction"
    prepared = row if row and row.prepared else None
    number = (prepared.epoch, prepared.last_batch_seq + 1) if prepared else (0, 1)
    steps: list[ExplainedStatement] = []
    if strategy.poll_mode == "window":
        assert isinstance(strategy, Watermarked)
        steps += _window(strategy, OutboxSlice(*number), next_window(strategy, prepared), place)
    if strategy.poll_mode == "whole":
        part = OutboxSlice(*number)
        steps.append(ExplainedStatement("find the changes, into the outbox", place, strategy.differences(part)))
        steps += _apply(strategy, part, place)
    if isinstance(strategy, VbdDelta):
        steps += _delta(strategy, OutboxSlice(*number), prepared, place)
    if strategy.poll_mode == "ranges" or (strategy.poll_mode == "window" and plan.option("deletes")):
        within, of = _some_range(context, prepared)
        part = OutboxSlice(number[0], OPEN)
        title = "look for keys that are gone" if isinstance(strategy, Watermarked) else "find the changes"
        each = f"source {context.source.name}, a transaction for each step ({of})"
        steps.append(
            ExplainedStatement(f"{title} in one range, into the outbox", each, strategy.differences(part, within))
        )
        steps += _apply(strategy, part, each, within)
    return steps


def audits(context: DatabaseContext, plan: StreamPlan, row: StreamRow | None) -> list[ExplainedStatement]:
    """The statements of an audit, each in a step of its own."""
    strategy, place = context.strategy(plan), f"source {context.source.name}, a transaction of its own"
    prepared = row if row and row.prepared else None
    part = OutboxSlice(prepared.epoch, prepared.last_batch_seq + 1) if prepared else OutboxSlice(0, 1)
    if isinstance(strategy, VbdDelta):
        whole = strategy.all_differences(part, AUDIT)
        filled = [
            ExplainedStatement(f"audit: take {of.name} into its lineage anew", "the same transaction", statement)
            for of in strategy.lineages
            for statement in (of.empty(), of.fill())
        ]
        return [
            ExplainedStatement("audit: compare the whole query with the replica, into the outbox", place, whole),
            *filled,
        ]
    assert isinstance(strategy, Watermarked)
    until = Window(None, next_window(strategy, prepared).hi)
    rows = strategy.look(part, until, repeats=False, reason=AUDIT)
    return [
        ExplainedStatement(
            "audit: compare all rows before the watermark with the replica, into the outbox", place, rows
        ),
        ExplainedStatement(
            "audit: look for keys that are gone, into the outbox", place, strategy.sweep(part, reason=AUDIT)
        ),
    ]


def _window(strategy: Watermarked, part: OutboxSlice, window: Window, place: str) -> list[ExplainedStatement]:
    steps = []
    if isinstance(strategy, Tdi) and strategy.purges:
        own = place.replace("one transaction", "a transaction of its own, before the look")
        gone = strategy.purge_rows([strategy.read_position(window.hi)])
        steps.append(
            ExplainedStatement("remove flagged rows that were reported, and that every reader has passed", own, gone)
        )
        steps.append(ExplainedStatement("list flagged rows for the next purge", place, strategy.note_flagged(window)))
    steps.append(ExplainedStatement("read the window, into the outbox", place, strategy.look(part, window)))
    return [*steps, *_apply(strategy, part, place)]


def _delta(strategy: VbdDelta, part: OutboxSlice, row: StreamRow | None, place: str) -> list[ExplainedStatement]:
    steps, marks = [], row.checkpoint["marks"] if row else {}
    for lineage in strategy.lineages:
        if lineage.marked is None:
            since, how = None, "compare all rows with what was seen of them last"
        else:
            known = marks.get(lineage.name)
            since, how = known["at"] if known else next_window(lineage.marked, None).lo, "read what was written since"
        steps.append(ExplainedStatement(f"{lineage.name}: {how}", place, lineage.find(since)))
        if lineage.marked is None or strategy.deletes:
            swept = "" if lineage.marked is None else ", when that is due"
            steps.append(
                ExplainedStatement(f"{lineage.name}: look for rows that are gone{swept}", place, lineage.find_gone())
            )
    only = "where rows changed"
    steps += [
        ExplainedStatement(
            f"find the keys that changed rows lead to ({only})", place, strategy.find_affected(strategy.lineages)
        ),
        ExplainedStatement(
            f"compute the query for them, into the outbox ({only})", place, strategy.affected_differences(part)
        ),
    ]
    return [*steps, *_apply(strategy, part, place)]


def _apply(
    strategy: InSource, part: OutboxSlice, place: str, within: KeyRange | None = None
) -> list[ExplainedStatement]:
    statements = strategy.apply(part, within)
    titles = [] if strategy.keeps == "nothing" else ["take old images out of the replica", "put new ones into it"]
    titles += ["write the checksums back"] if len(statements) > len(titles) else []
    return [
        ExplainedStatement("count them for the guards", place, strategy.counts(part)),
        *(ExplainedStatement(title, place, statement) for title, statement in zip(titles, statements, strict=True)),
    ]


def _some_range(context: DatabaseContext, row: StreamRow | None) -> tuple[KeyRange, str]:
    known: list[StoredRange] = []
    if row:
        with context.reading() as conn:
            known = context.store.ranges(conn, context.stream)
    if not known:
        return KeyRange(1, None, None), "ranges are cut at prepare"
    return known[len(known) // 2], f"{len(known):,} ranges"


def comparison(strategy: InSource, row: StreamRow) -> list[Callable[[OutboxSlice], Statement]]:
    """What finds every difference between table and replica; rows past the watermark are pending, not different.

    Raises:
        Refused: There is no replica to compare with.
    """
    if strategy.keeps == "nothing":
        raise Refused(
            "it keeps no replica, so there is nothing to compare",
            stream=strategy.plan.stream,
            remedy="replica: keys, or checksums: table, keep something",
        )
    if not isinstance(strategy, Watermarked):
        return [strategy.differences]
    mark = row.checkpoint.get("mark")
    gone: Callable[[OutboxSlice], Statement] = strategy.sweep
    window = strategy.window(None, mark["at"]) if mark else None
    return [lambda part: strategy.look(part, window, repeats=False), gone] if window else [gone]
