"""The statements of a poll in the lake wing, for `qbcd explain`.

This module runs none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qbcd.common.wording import counted
from qbcd.model import Consistency, KeyRange, Statement
from qbcd.model.checkpoint import Checkpoint
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.due_ranges import due_ranges
from qbcd.sites.lake.fetch import recent_writes, whole_table
from qbcd.sites.lake.notes import LeafNote
from qbcd.sites.lake.range_sizes import estimated
from qbcd.sites.values import ExplainedStatement, Settings
from qbcd.state import StreamRow
from qbcd.strategies import IdRcs
from qbcd.strategies.partitions.base import Partitioning
from qbcd.strategies.partitions.hash import HashPartitioning
from qbcd.strategies.partitions.key import KeyPartitioning
from qbcd.strategies.partitions.page import PagePartitioning

AUDITED_VALUES = "rows of all ranges (here: the first), by Spark, for an audit by their values"

_READ: Mapping[Consistency, str] = {
    "snapshot": "pinned to the same snapshot",
    "range": "each range by one statement, in its state at that time",
}

_BOUNDS: Mapping[type[Partitioning], str] = {
    KeyPartitioning: "choose the bounds of ranges",
    HashPartitioning: "count the rows, by which buckets of the key's hash are sized",
    PagePartitioning: "count rows and pages, by which ranges of pages are sized",
}


def starting(
    context: LakeContext, strategy: IdRcs, settings: Settings, row: StreamRow | None
) -> tuple[list[ExplainedStatement], Sequence[KeyRange]]:
    """Return the statements before a poll looks for changes, and the ranges of the poll."""
    plan, place = strategy.plan, f"source {context.source.name}, read only"
    known: Sequence[KeyRange] = []
    if row and row.prepared:
        with context.reading() as conn:
            ranges, now = context.store.ranges(conn, context.stream), context.store.now(conn)
        known = due_ranges(plan, settings, Checkpoint(row.checkpoint), ranges, now).due
    asked = None if known else strategy.partitioning.bounds(settings.range_size(estimated(plan)))
    steps = (
        [ExplainedStatement(f"{_BOUNDS[type(strategy.partitioning)]} (once, at prepare)", place, asked)]
        if asked
        else []
    )
    pins = Statement("; ".join(context.source.connector.sessions.pins()))
    return [*steps, ExplainedStatement("settings of every session", place, pins)], known or [KeyRange(1, None, None)]


def by_checksums(
    context: LakeContext, strategy: IdRcs, settings: Settings, row: StreamRow | None, known: Sequence[KeyRange]
) -> list[ExplainedStatement]:
    """Return the statements of a poll that compares checksums of ranges."""
    place = f"source {context.source.name}, read only"
    fetched = strategy.images(known[:1], typed=settings.typed)
    with_leaves = row is not None and LeafNote.from_checkpoint(row.checkpoint).asks_for_all
    steps = _sum(strategy, settings, place) if whole_table.is_likely(context, strategy, len(known)) else []
    steps += checksums(strategy, known, settings, place, with_leaves=with_leaves)
    written = recent_writes.statement(strategy, row.checkpoint, known[:1]) if row and row.prepared else None
    if written:
        title = "keys of rows written since the last poll, in dirty ranges (here: the first), if these are large"
        steps.append(ExplainedStatement(title, place, written))
    steps.append(fetch(strategy, "rows", fetched, place))
    if settings.config.audit and strategy.keeps == "rows":
        steps.append(ExplainedStatement(AUDITED_VALUES, place, fetched))
    elif settings.config.audit:
        title = "keys and digests of all ranges (here: the first), by Spark, for an audit by the digest of each row"
        steps.append(ExplainedStatement(title, place, strategy.row_digests(known[:1])))
    return steps


def checksums(
    strategy: IdRcs,
    known: Sequence[KeyRange],
    settings: Settings,
    place: str,
    *,
    with_leaves: bool = False,
    title: str = "checksums",
) -> list[ExplainedStatement]:
    """Return the statements of checksums of ranges; `title` says what they are for."""
    shares = strategy.partitioning.passes(known, settings.connections, leaves=with_leaves)
    title += " of ranges and of their leaves" if with_leaves else ""
    if strategy.plan.option("per_poll"):
        title = f"checksums of the {counted(len(known), 'range')} that are due"
    if strategy.plan.option("target"):
        title += ", in shorter statements for the pace"
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


def fetch(strategy: IdRcs, what: str, statement: Statement, place: str) -> ExplainedStatement:
    """Return the statement that fetches the rows or keys of dirty ranges."""
    title = f"{what} of the dirty ranges (here: the first), by Spark, {_READ[strategy.consistency]}"
    return ExplainedStatement(title, place, statement)
