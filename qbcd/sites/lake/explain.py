"""Looks at a Spark site that change nothing: what a poll would run, and what replica and source differ in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from qbcd.model import Consistency, KeyRange, Statement, StreamPlan
from qbcd.sites.lake.dirty_ranges import estimated
from qbcd.sites.lake.due_ranges import due_ranges
from qbcd.sites.lake.fetch import recent_writes, whole_table
from qbcd.sites.lake.fetch.leaf_checksums import asks_for_all
from qbcd.sites.values import ExplainedStatement, Settings
from qbcd.sites.watermark import next_window
from qbcd.state import StreamRow
from qbcd.strategies import IdRcs, LakeTs
from qbcd.strategies.partitions.base import Partitioning
from qbcd.strategies.partitions.hash import HashPartitioning
from qbcd.strategies.partitions.key import KeyPartitioning
from qbcd.strategies.partitions.page import PagePartitioning
from qbcd.watermark import Window

if TYPE_CHECKING:
    from qbcd.sites.lake.context import LakeContext

_READ: Mapping[Consistency, str] = {
    "snapshot": "pinned to the same snapshot",
    "range": "each range by one statement, in the state that it then has",
}

_CUT: Mapping[type[Partitioning], str] = {
    KeyPartitioning: "pick the ranges",
    HashPartitioning: "count the rows, by which buckets of the key's hash are sized",
    PagePartitioning: "count rows and pages, by which ranges of pages are sized",
}


def explain(
    context: LakeContext, plan: StreamPlan, settings: Settings, row: StreamRow | None
) -> list[ExplainedStatement]:
    """The statements of a poll, in order; runs none."""
    strategy = context.strategy(plan)
    known: Sequence[KeyRange] = []
    if row and row.prepared:
        with context.reading() as conn:
            turn = due_ranges(
                plan, settings, row.checkpoint, context.store.ranges(conn, context.stream), context.store.now(conn)
            )
        known = turn.due
    place = f"source {context.source.name}, read only"
    asked = None if known else strategy.partitioning.bounds(settings.range_size(estimated(plan)))
    steps = (
        [ExplainedStatement(f"{_CUT[type(strategy.partitioning)]} (once, at prepare)", place, asked)] if asked else []
    )
    known = known or [KeyRange(1, None, None)]
    steps.append(
        ExplainedStatement(
            "settings of every session", place, Statement("; ".join(context.source.connector.sessions.pins()))
        )
    )
    if not isinstance(strategy, LakeTs):
        fetched = strategy.images(known[:1], typed=settings.typed)
        of_leaves = row is not None and asks_for_all(row.checkpoint)
        steps += _sum(strategy, settings, place) if whole_table.is_likely(context, strategy) else []
        steps += _checksums(strategy, known, settings, place, of_leaves=of_leaves)
        written = recent_writes.statement(strategy, row.checkpoint, known[:1]) if row and row.prepared else None
        if written:
            title = "keys of rows written since the last look, in ranges that differ (here: the first), where large"
            steps.append(ExplainedStatement(title, place, written))
        steps.append(_fetch(strategy, "rows", fetched, place))
        if settings.audit and strategy.keeps == "rows":
            title = "rows of all ranges (here: the first), by Spark, for an audit by their values"
            steps.append(ExplainedStatement(title, place, fetched))
        return steps
    window = next_window(strategy.watermarked, row if row and row.prepared else None)
    steps += [
        ExplainedStatement("ask whether anything lies in the window", place, strategy.watermarked.any_row(window)),
        ExplainedStatement(
            "rows of the window, by Spark", place, strategy.window_images(known, window, typed=settings.typed)
        ),
    ]
    if plan.option("deletes"):
        steps += [*_checksums(strategy, known, settings, place)]
        steps.append(_fetch(strategy, "keys", strategy.keys(known[:1]), place))
    if settings.audit:
        steps += _checksums(strategy.row_checksums(), known, settings, place)
        images = strategy.settled_images(known[:1], Window(None, window.hi), typed=settings.typed)
        steps.append(_fetch(strategy, "rows, for an audit,", images, place))
    return steps


def _checksums(
    strategy: IdRcs, known: Sequence[KeyRange], settings: Settings, place: str, *, of_leaves: bool = False
) -> list[ExplainedStatement]:
    shares = strategy.partitioning.passes(known, settings.connections, leaves=of_leaves)
    title = "key sums of a sweep" if isinstance(strategy, LakeTs) else "checksums"
    title += " of rows, for an audit" if not isinstance(strategy, LakeTs) and strategy.plan.strategy == "ts" else ""
    title += " of ranges and of their leaves" if of_leaves else ""
    if strategy.plan.option("per_poll"):
        title = f"checksums of the {len(known):,} ranges whose turn it is"
    if strategy.plan.option("target"):
        title += ", in shorter statements, as the pace wants them"
    return _by_connection(title, place, shares)


def _sum(strategy: IdRcs, settings: Settings, place: str) -> list[ExplainedStatement]:
    title = f"count and checksum of the whole table first, as the last {whole_table.POLLS} polls found nothing"
    return _by_connection(title, place, strategy.partitioning.totals(settings.connections))


def _by_connection(title: str, place: str, shares: Sequence[Sequence[Statement]]) -> list[ExplainedStatement]:
    return [
        ExplainedStatement(f"{title}, connection {i} of {len(shares)}", place, statement)
        for i, share in enumerate(shares, 1)
        for statement in share
    ]


def _fetch(strategy: IdRcs, what: str, statement: Statement, place: str) -> ExplainedStatement:
    title = f"{what} of the ranges that differ (here: the first), by Spark, {_READ[strategy.consistency]}"
    return ExplainedStatement(title, place, statement)
