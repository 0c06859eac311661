"""Range checksums, computed by the source on all connections at the same time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from qbcd.catalog.source import Session, Source
from qbcd.errors import TornRead
from qbcd.model import KeyRange, Statement
from qbcd.ranges import partition, schedule
from qbcd.ranges.leaves import merge
from qbcd.strategies import IdRcs, Query

if TYPE_CHECKING:
    pass
from qbcd.sites.lake.snapshot import EACH_ITS_OWN, Snapshot

Range = TypeVar("Range", bound=KeyRange)


Share = TypeVar("Share")


FIRST_ROWS = 10_000.0  # of the first statement, before it is known how long one takes


FETCHED_PER_SECOND = 100_000  # rows, at least, where a statement that fetches is to last no longer than some time


def checksums(
    source: Source,
    strategy: IdRcs,
    snapshot: Snapshot,
    known: Sequence[Range],
    connections: int,
    rest: Callable[[float], None] = time.sleep,
    texts: dict[int, str] | None = None,
) -> list[Range]:
    """Count and checksum of every range as the source has it, each connection's share in as few statements as it takes.

    Where the stream has a pace, statements are sized by how long the last one took, and `rest` waits between them.
    Where `texts` are wanted, they are asked for what the leaves of each range add up to (`qbcd.ranges.leaves`).

    Raises:
        TornRead: A digest was NULL, or a range was not answered.
    """
    stream, cut = strategy.plan.stream, strategy.partitioning
    found = {r.range_id: (0, 0) for r in known}
    told: dict[int, list[str]] = {r.range_id: [] for r in known}
    answered, of_leaves = set(), texts is not None
    target: timedelta | None = strategy.plan.option("target")
    if target is None:
        rows = _gather(source, stream, snapshot, cut.passes(known, connections, leaves=of_leaves), _all_rows)
    else:
        in_steps = partial(_in_steps, strategy, target.total_seconds(), rest, of_leaves)
        rows = _gather(source, stream, snapshot, partition.shares(known, connections), in_steps)
    for row in rows:
        if row.n != row.digests:
            raise without_digest(stream, row.range_id)
        count, checksum = found[row.range_id]
        found[row.range_id] = count + int(row.n), checksum + int(row.checksum)
        answered.add(row.range_id)
        if of_leaves:
            told[row.range_id].append(row.leaves)
    if cut.answers_all and len(answered) != len(known):
        raise TornRead(f"{len(answered)} of {len(known)} ranges were answered", stream=stream)
    if texts is not None:
        texts |= {range_id: merge(own) if cut.hashed else " ".join(own) for range_id, own in told.items()}
    return [replace(r, rows=found[r.range_id][0], checksum=found[r.range_id][1]) for r in known]


def total(source: Source, strategy: IdRcs, snapshot: Snapshot, connections: int) -> tuple[int, int]:
    """Count and checksum of the whole table, each connection's part of the storage by one statement."""
    rows = _gather(source, strategy.plan.stream, snapshot, strategy.partitioning.totals(connections), _all_rows)
    return sum(int(row.n) for row in rows), sum(int(row.checksum) for row in rows)


def without_digest(stream: str, range_id: int) -> TornRead:
    """The refusal of rows whose digest is NULL."""
    return TornRead(f"range {range_id} has rows without a digest", stream=stream)


def _gather(
    source: Source, stream: str, snapshot: Snapshot, shares: Sequence[Share], ask: Callable[[Session, Share], list[Any]]
) -> list[Any]:
    """Rows of all shares: the first is asked on the snapshot's own session, the others beside it, a session each."""

    def elsewhere(share: Share) -> list[Any]:
        level = None if snapshot.name else EACH_ITS_OWN
        with source.read(stream, snapshot=snapshot.name, level=level) as session:
            return ask(session, share)

    here, *others = shares
    if not others:
        return ask(snapshot.session, here)
    with ThreadPoolExecutor(len(others), thread_name_prefix="qbcd-read") as pool:
        beside = [pool.submit(elsewhere, share) for share in others]
        rows = ask(snapshot.session, here)
        for other in beside:
            rows += other.result()
    return rows


def rows_of(
    source: Source,
    strategy: IdRcs,
    snapshot: Snapshot,
    asked: Sequence[KeyRange],
    query: Query,
    connections: int,
    most: int,
) -> list[Any]:
    """What `query` gives of `asked` as rows for this process, on all connections at the same time.

    A connection that has brought more than `most` rows asks for no further ones.
    """
    readers = partition.readers(asked, connections)
    statements = strategy.partitioning.shared(query, asked, readers, rows_at_once(strategy))
    shares = [statements[i::readers] for i in range(readers) if statements[i::readers]]
    return _gather(source, strategy.plan.stream, snapshot, shares, partial(_rows_up_to, most))


def _rows_up_to(most: int, session: Session, share: Sequence[Statement]) -> list[Any]:
    found: list[Any] = []
    for statement in share:
        if len(found) <= most:
            found += session.rows(statement)
    return found


def _all_rows(session: Session, share: Sequence[Statement]) -> list[Any]:
    return [row for statement in share for row in session.rows(statement)]


def _in_steps(
    strategy: IdRcs,
    target: float,
    rest: Callable[[float], None],
    of_leaves: bool,
    session: Session,
    share: Sequence[KeyRange],
) -> list[Any]:
    """Checksums of one connection's share, by statements of about `target` seconds."""
    left, wanted, found = list(share), FIRST_ROWS, list[Any]()
    while left:
        step = partition.first(left, wanted, strategy.partitioning.per_statement)
        left = left[len(step) :]
        began = time.monotonic()
        found += session.rows(strategy.partitioning.checksums(step, leaves=of_leaves))
        spent = time.monotonic() - began
        wanted = schedule.paced(float(max(1, sum(r.rows for r in step))), seconds=spent, target=target)
        if left:
            rest(float(strategy.plan.option("nice_ratio") or 0) * spent)
    return found


def rows_at_once(strategy: IdRcs) -> float:
    """How many rows a statement may fetch, where the stream has a pace."""
    target: timedelta | None = strategy.plan.option("target")
    return math.inf if target is None else FETCHED_PER_SECOND * target.total_seconds()
