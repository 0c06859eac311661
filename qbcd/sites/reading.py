"""Reading a source under one snapshot: DDL kept away, catalog checked, checksums on all connections, rows by Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from qbcd import hooks, ranges
from qbcd.catalog.remembered import check_server, check_shape
from qbcd.catalog.source import Session, Source
from qbcd.errors import TornRead
from qbcd.model import KeyRange, ServerIdentity, Statement, StreamPlan, Table
from qbcd.spark.jdbc import explained, read_query
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Range = TypeVar("Range", bound=KeyRange)


@dataclass(frozen=True)
class Snapshot:
    """One state of the source, held open by `session`, which other sessions can import by `name`.

    Attributes:
        rebase: The digests kept from earlier may mean something else now (confirmed by the user).
        ts_ms: The source's clock, milliseconds since 1970 UTC.
    """

    session: Session
    name: str
    table: Table
    server: ServerIdentity
    rebase: bool
    ts_ms: int


@contextmanager
def snapshot_of(
    source: Source, plan: StreamPlan, checkpoint: Mapping[str, Any] | None, *, accept_source: bool = False
) -> Iterator[Snapshot]:
    """One read-only transaction: the lock first, then the snapshot, then catalog and server in it (protocol.md 9).

    Args:
        source: Where the table is.
        plan: The stream.
        checkpoint: What the stream remembers, or None before its baseline.
        accept_source: Go on although the server is another than remembered.
    """
    connector = source.connector
    with source.read(plan.stream) as session:
        lock = connector.lock_against_rewrite(plan.table)
        if lock:
            session.run(lock)
        name = connector.export_snapshot(session.connection)
        if checkpoint is None:
            table, server, rebase = plan.table, connector.server_identity(session.connection), False
        else:
            table = check_shape(source, session, plan.stream, checkpoint)
            server, rebase = check_server(source, session, plan.stream, checkpoint, accept=accept_source)
        hooks.reach("after_snapshot")
        yield Snapshot(session, name, table, server, rebase, connector.clock_ms(session.connection))


def checksums(
    source: Source, strategy: IdRcs, snapshot: Snapshot, known: Sequence[Range], connections: int
) -> list[Range]:
    """Count and checksum of every range as the source has it, one statement a connection, all from one snapshot.

    Raises:
        TornRead: A digest was NULL, or a range was not answered.
    """
    stream = strategy.plan.stream
    statements = [strategy.checksums(share) for share in ranges.shares(known, connections)]
    by_id = {r.range_id: r for r in known}
    found: dict[int, Range] = {}
    for row in _gather(source, stream, snapshot, statements):
        if row.n != row.digests:
            raise TornRead(f"range {row.range_id} has rows without a digest", stream=stream)
        found[row.range_id] = replace(by_id[row.range_id], rows=int(row.n), checksum=int(row.checksum))
    if len(found) != len(known):
        raise TornRead(f"{len(found)} of {len(known)} ranges were answered", stream=stream)
    return [found[r.range_id] for r in known]


def _gather(source: Source, stream: str, snapshot: Snapshot, statements: Sequence[Statement]) -> list[Any]:
    """Rows of all statements: the first on the exporter's own session, the others beside it on the same snapshot."""

    def elsewhere(statement: Statement) -> list[Any]:
        with source.read(stream, snapshot=snapshot.name) as session:
            return list(session.rows(statement))

    if len(statements) == 1:
        return list(snapshot.session.rows(statements[0]))
    with ThreadPoolExecutor(len(statements) - 1, thread_name_prefix="qbcd-read") as pool:
        others = [pool.submit(elsewhere, statement) for statement in statements[1:]]
        rows = list(snapshot.session.rows(statements[0]))
        for other in others:
            rows += other.result()
    return rows


def row_frame(
    source: Source, spark: SparkSession, strategy: IdRcs, snapshot: Snapshot, asked: Sequence[KeyRange], *,
    typed: bool, connections: int,
) -> DataFrame:  # fmt: skip
    """The rows of `asked` as a JDBC read pinned to the snapshot: a query, to be evaluated once, into the stage."""
    stream = strategy.plan.stream
    jdbc_url, options = source.jdbc(stream)
    query = source.connector.jdbc_query(strategy.images(asked, typed=typed).sql)
    readers = ranges.predicates(asked, connections)
    pins = source.connector.snapshot_pins(snapshot.name)
    return explained(  # Spark asks for the columns at once, and that may fail like any other statement
        lambda: read_query(spark, jdbc_url, options, query, predicates=readers, init=pins),
        lambda error: source.explain(error, stream),
    )
