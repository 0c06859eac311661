"""Range checksums and other small results, read from the source on all connections at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from qbcd.catalog.source import Session, Source
from qbcd.common.wording import counted
from qbcd.errors import TornRead
from qbcd.model import KeyRange, Statement
from qbcd.ranges import partition, schedule
from qbcd.ranges.leaves import merge
from qbcd.sites.lake.poll import TablePoll
from qbcd.sites.lake.snapshot import ISOLATION_WITHOUT_SNAPSHOT
from qbcd.strategies import IdRcs, Query
from qbcd.strategies.partitions.base import Partitioning

Range = TypeVar("Range", bound=KeyRange)
Share = TypeVar("Share")

FIRST_ROWS = 10_000.0  # of the first statement: no duration is known yet
FETCHED_PER_SECOND = 100_000  # rows, at least: limits statements that must not last longer than some time


def checksums(poll: TablePoll, known: Sequence[Range], texts: dict[int, str] | None = None) -> list[Range]:
    """Return all `known` ranges with the source's row count and checksum of now.

    Each connection computes its share in as few statements as possible. If the stream has a pace, the duration of the
    last statement sets the size of the next, and the poll rests between them.

    Args:
        texts: If given, also receives the leaf checksums of each range (`qbcd.ranges.leaves`), by range.

    Raises:
        TornRead: A digest was NULL, or the result lacks a range.
    """
    partitioning, connections = poll.strategy.partitioning, poll.settings.connections
    with_leaves = texts is not None
    if poll.strategy.plan.option("target") is None:
        rows = _gather(poll, partitioning.passes(known, connections, leaves=with_leaves), all_rows)
    else:
        in_steps = partial(_in_steps, poll, with_leaves)
        rows = _gather(poll, partition.shares(known, connections), in_steps)
    found = added_up(rows, known, partitioning, poll.context.stream)
    if texts is not None:
        leaf_texts: dict[int, list[str]] = {r.range_id: [] for r in known}
        for row in rows:
            leaf_texts[row.range_id].append(row.leaves)
        texts |= {n: merge(own) if partitioning.hashed else " ".join(own) for n, own in leaf_texts.items()}
    return found


def added_up(rows: Sequence[Any], known: Sequence[Range], partitioning: Partitioning, stream: str) -> list[Range]:
    """Return all `known` ranges with the counts and checksums of the rows of a checksum pass.

    Raises:
        TornRead: A digest was NULL, or the result lacks a range.
    """
    found, answered = {r.range_id: (0, 0) for r in known}, set()
    for row in rows:
        if row.n != row.digests:
            raise without_digest(stream, row.range_id)
        count, checksum = found[row.range_id]
        found[row.range_id] = count + int(row.n), checksum + int(row.checksum)
        answered.add(row.range_id)
    if partitioning.answers_all and len(answered) != len(known):
        raise TornRead(
            f"{len(answered):,} of {counted(len(known), 'range was', 'ranges were')} answered", stream=stream
        )
    return [replace(r, rows=found[r.range_id][0], checksum=found[r.range_id][1]) for r in known]


def table_checksum(poll: TablePoll) -> tuple[int, int]:
    """Return row count and checksum of the whole table.

    Each connection scans its part of the storage once.
    """
    rows = _gather(poll, poll.strategy.partitioning.totals(poll.settings.connections), all_rows)
    return sum(int(row.n) for row in rows), sum(int(row.checksum) for row in rows)


def without_digest(stream: str, range_id: int) -> TornRead:
    """Return the refusal of rows whose digest is NULL."""
    return TornRead(f"range {range_id} has rows without a digest", stream=stream)


def rows_of(poll: TablePoll, asked: Sequence[KeyRange], query: Query, most: int) -> list[Any]:
    """Return the rows of `query` over `asked` to this process, read on all connections.

    A connection stops after the statement with which it has read more than `most` rows.
    """
    readers = partition.readers(asked, poll.settings.connections)
    statements = poll.strategy.partitioning.shared(query, asked, readers, rows_at_once(poll.strategy))
    shares = [statements[i::readers] for i in range(readers) if statements[i::readers]]
    return _gather(poll, shares, partial(_rows_up_to, most))


def rows_at_once(strategy: IdRcs) -> float:
    """Return the maximal rows of one fetching statement; unlimited for a stream without a pace."""
    target: timedelta | None = strategy.plan.option("target")
    return math.inf if target is None else FETCHED_PER_SECOND * target.total_seconds()


def _gather(poll: TablePoll, shares: Sequence[Share], ask: Callable[[Session, Share], list[Any]]) -> list[Any]:
    snapshot = poll.snapshot
    return SessionsOfSnapshot(poll.context.source, poll.context.stream, snapshot.session, snapshot.name).gather(
        shares, ask
    )


@dataclass(frozen=True)
class SessionsOfSnapshot:
    """Sessions that read one snapshot of a source: an open one, and new ones.

    Attributes:
        snapshot: Name of its exported snapshot; None if each statement of another session sees its own state.
    """

    source: Source
    stream: str
    session: Session
    snapshot: str | None

    def gather(self, shares: Sequence[Share], ask: Callable[[Session, Share], list[Any]]) -> list[Any]:
        """Return the rows of all shares: the open session reads the first, new sessions the rest."""

        def elsewhere(share: Share) -> list[Any]:
            level = None if self.snapshot else ISOLATION_WITHOUT_SNAPSHOT
            with self.source.read(self.stream, snapshot=self.snapshot, level=level) as session:
                return ask(session, share)

        here, *others = shares
        if not others:
            return ask(self.session, here)
        with ThreadPoolExecutor(len(others), thread_name_prefix="qbcd-read") as pool:
            futures = [pool.submit(elsewhere, share) for share in others]
            rows = ask(self.session, here)
            for future in futures:
                rows += future.result()
        return rows


def _rows_up_to(most: int, session: Session, share: Sequence[Statement]) -> list[Any]:
    found: list[Any] = []
    for statement in share:
        if len(found) <= most:
            found += session.rows(statement)
    return found


def all_rows(session: Session, share: Sequence[Statement]) -> list[Any]:
    """Return the rows of all statements of a share."""
    return [row for statement in share for row in session.rows(statement)]


def _in_steps(poll: TablePoll, with_leaves: bool, session: Session, share: Sequence[KeyRange]) -> list[Any]:
    """Return checksums of one connection's share, by statements of about the pace's duration."""
    partitioning, plan = poll.strategy.partitioning, poll.strategy.plan
    target = plan.option("target").total_seconds()
    left, size, found = list(share), FIRST_ROWS, list[Any]()
    while left:
        step = partition.first(left, size, partitioning.per_statement)
        left = left[len(step) :]
        began = time.monotonic()
        found += session.rows(partitioning.checksums(step, leaves=with_leaves))
        spent = time.monotonic() - began
        size = schedule.paced(float(max(1, sum(r.rows for r in step))), seconds=spent, target=target)
        if left:
            poll.context.rest(float(plan.option("nice_ratio") or 0) * spent)
    return found
