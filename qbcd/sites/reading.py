"""Reading a source for one poll: DDL kept away, catalog checked, checksums on all connections, rows by Spark.

Where the database exports snapshots, everything comes from one. Elsewhere every statement sees a state of its own, and
what holds is that a range is read whole by one of them: checksums then only say which ranges to read, and what is kept
of a range is what its rows were when they were read (protocol.md 10).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from qbcd import hooks, ranges, rotation
from qbcd.catalog.meaning import Change, change_of, columns_before
from qbcd.catalog.remembered import check_server, check_shape
from qbcd.catalog.source import Session, Source
from qbcd.catalog.views import check_views
from qbcd.errors import TornRead
from qbcd.leaves import added
from qbcd.model import Column, KeyRange, ServerIdentity, Statement, StreamPlan, Table
from qbcd.spark.source import source_rows
from qbcd.strategies import IdRcs, Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Range = TypeVar("Range", bound=KeyRange)
Share = TypeVar("Share")
EACH_ITS_OWN = "READ COMMITTED"  # the level at which the source has to keep no state for a session
FIRST_ROWS = 10_000.0  # of the first statement, before it is known how long one takes
FETCHED_PER_SECOND = 100_000  # rows, at least, where a statement that fetches is to last no longer than some time


@dataclass(frozen=True)
class Snapshot:
    """The source as a poll reads it, its table's definition kept by `session` as long as that is open.

    Attributes:
        name: Of the one state that `session` and all who import it see; None where each statement sees its own.
        rebase: The digests kept from earlier may mean something else now.
        change: What is captured otherwise than before.
        whole: Checksums are of keys alone, and say nothing of rows under another restriction.
        audited: Values are compared, whatever digests say.
        was: The columns whose digests the replica has, where the source can still compute them; None where it cannot.
        ts_ms: The source's clock, milliseconds since 1970 UTC.
        mark: What rows that become visible later are written at or after; empty where rows do not tell that.
    """

    session: Session
    name: str | None
    table: Table
    server: ServerIdentity
    rebase: bool
    ts_ms: int
    change: Change
    was: tuple[Column, ...] | None
    whole: bool = False
    audited: bool = False
    mark: str = ""

    @property
    def anew(self) -> bool:
        """Every row has to be read: checksums kept from earlier do not tell which ones differ."""
        return self.rebase or self.change.columns or self.whole or self.audited

    @property
    def by_value(self) -> bool:
        """Nor can the source compute the old ones: values are compared (protocol.md 16)."""
        return self.anew and self.was is None


@contextmanager
def snapshot_of(
    source: Source,
    plan: StreamPlan,
    checkpoint: Mapping[str, Any] | None,
    *,
    one_state: bool,
    accept_source: bool = False,
) -> Iterator[Snapshot]:
    """One read-only transaction: the lock first, then the snapshot, then catalog and server in it (protocol.md 9).

    Args:
        source: Where the table is.
        plan: The stream.
        checkpoint: What the stream remembers, or None before its baseline.
        one_state: Whether all who read are to see one state; else the transaction keeps DDL away, and nothing more.
        accept_source: Go on although the server is another than remembered.
    """
    connector = source.connector
    with source.read(plan.stream, level=None if one_state else EACH_ITS_OWN) as session:
        lock = connector.lock_against_rewrite(plan.table)
        if lock:
            session.run(lock)
        name = connector.export_snapshot(session.connection) if one_state else None
        check_views(source, session, plan)
        if checkpoint is None:
            table, server, rebase = plan.table, connector.server_identity(session.connection), False
            change, was = Change(), None
        else:
            table = check_shape(source, session, plan.stream, checkpoint, plan)
            server, rebase = check_server(source, session, plan.stream, checkpoint, accept=accept_source)
            change = change_of(checkpoint, plan)
            was = columns_before(checkpoint, replace(plan, table=table)) if change and not rebase else None
        mark = connector.system_mark(session.connection) if name and table.paged else ""
        hooks.reach("after_snapshot")
        now = connector.clock_ms(session.connection)
        yield Snapshot(session, name, table, server, rebase, now, change, was, mark=mark)


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
    Where `texts` are wanted, they are asked for what the leaves of each range add up to (`qbcd.leaves`).

    Raises:
        TornRead: A digest was NULL, or a range was not answered.
    """
    stream, cut = strategy.plan.stream, strategy.cut
    found = {r.range_id: (0, 0) for r in known}
    told: dict[int, list[str]] = {r.range_id: [] for r in known}
    answered, of_leaves = set(), texts is not None
    target: timedelta | None = strategy.plan.option("target")
    if target is None:
        rows = _gather(source, stream, snapshot, cut.passes(known, connections, leaves=of_leaves), _all_rows)
    else:
        in_steps = partial(_in_steps, strategy, target.total_seconds(), rest, of_leaves)
        rows = _gather(source, stream, snapshot, ranges.shares(known, connections), in_steps)
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
        texts |= {range_id: added(own) if cut.hashed else " ".join(own) for range_id, own in told.items()}
    return [replace(r, rows=found[r.range_id][0], checksum=found[r.range_id][1]) for r in known]


def total(source: Source, strategy: IdRcs, snapshot: Snapshot, connections: int) -> tuple[int, int]:
    """Count and checksum of the whole table, each connection's part of the storage by one statement."""
    rows = _gather(source, strategy.plan.stream, snapshot, strategy.cut.totals(connections), _all_rows)
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
    readers = ranges.readers(asked, connections)
    statements = strategy.cut.shared(query, asked, readers, _at_once(strategy))
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
        step = ranges.first(left, wanted, strategy.cut.per_statement)
        left = left[len(step) :]
        began = time.monotonic()
        found += session.rows(strategy.cut.checksums(step, leaves=of_leaves))
        spent = time.monotonic() - began
        wanted = rotation.paced(float(max(1, sum(r.rows for r in step))), seconds=spent, target=target)
        if left:
            rest(float(strategy.plan.option("nice_ratio") or 0) * spent)
    return found


def range_frame(
    source: Source,
    spark: SparkSession,
    strategy: IdRcs,
    snapshot: Snapshot,
    asked: Sequence[KeyRange],
    query: Query,
    connections: int,
) -> DataFrame:
    """What `query` gives of `asked` as one JDBC read, to be evaluated once; each range is of one state.

    Every reader has statements of its own, over its ranges alone: a condition on the ranges' ids would not keep every
    database from reading them all for each reader.
    """
    readers = ranges.readers(asked, connections)
    statements = strategy.cut.shared(query, asked, readers, _at_once(strategy))
    return frame(source, spark, strategy.plan.stream, snapshot, statements, at_once=readers)


def _at_once(strategy: IdRcs) -> float:
    """How many rows a statement may fetch, where the stream has a pace."""
    target: timedelta | None = strategy.plan.option("target")
    return math.inf if target is None else FETCHED_PER_SECOND * target.total_seconds()


def frame(
    source: Source,
    spark: SparkSession,
    stream: str,
    snapshot: Snapshot,
    statements: Sequence[Statement],
    *,
    at_once: int = 1,
) -> DataFrame:
    """The rows of `statements`, which have no placeholders, as one JDBC read in the snapshot."""
    connector = source.connector
    pins = connector.session_pins() if snapshot.name is None else connector.snapshot_pins(snapshot.name)
    return source_rows(spark, source, stream, [s.sql for s in statements], init=pins, at_once=at_once)
