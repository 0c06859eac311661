"""Statements of a poll with titles, for several modes; this module runs none of them."""

from __future__ import annotations

from qbcd.common.wording import counted
from qbcd.model import KeyRange
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.values import ExplainedStatement
from qbcd.state import StoredRange, StreamRow
from qbcd.strategies import ByRanges, InSource, OutboxSlice
from qbcd.strategies.outbox import OPEN


def next_slice(row: StreamRow | None) -> OutboxSlice:
    """Return the slice of the outbox for the next batch.

    A stream that is not prepared has placeholder numbers.
    """
    return OutboxSlice(row.epoch, row.last_batch_seq + 1) if row else OutboxSlice(0, 1)


def apply_statements(
    strategy: InSource, part: OutboxSlice, place: str, within: KeyRange | None = None
) -> list[ExplainedStatement]:
    """Return the statements that count the found changes and apply them to the replica."""
    statements = strategy.apply(part, within)
    titles = [] if strategy.keeps == "nothing" else ["delete old images from the replica", "insert new images"]
    titles += ["delete old rows from the copy", "insert new rows"] * (len(strategy.replicas) - 1)
    titles += ["write the checksums back"] if len(statements) > len(titles) else []
    return [
        *(ExplainedStatement("read their old values from the copy", place, s) for s in strategy.complete(part, within)),
        ExplainedStatement("count them for the guards", place, strategy.counts(part)),
        *(ExplainedStatement(title, place, statement) for title, statement in zip(titles, statements, strict=True)),
    ]


def range_statements(
    context: DatabaseContext, strategy: ByRanges, title: str, row: StreamRow | None
) -> list[ExplainedStatement]:
    """Return the statements that poll one range; `title` names the changes that they find."""
    within, count = _example_range(context, row)
    part = OutboxSlice(row.epoch if row else 0, OPEN)
    place = f"source {context.source.name}, a transaction for each step ({count})"
    find = strategy.differences(part, within)
    return [
        ExplainedStatement(f"{title} in one range, into the outbox", place, find),
        *apply_statements(strategy, part, place, within),
    ]


def _example_range(context: DatabaseContext, row: StreamRow | None) -> tuple[KeyRange, str]:
    """Return the stream's middle range, and a text with the number of ranges."""
    known: list[StoredRange] = []
    if row:
        with context.reading() as conn:
            known = context.store.ranges(conn, context.stream)
    if not known:
        return KeyRange(1, None, None), "ranges are built at prepare"
    return known[len(known) // 2], counted(len(known), "range")
