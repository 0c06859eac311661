"""The site in the source database: replica and outbox are tables of schema `qbcd`, detect is one transaction (MDS)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Connection

from qbcd import hooks
from qbcd.catalog.remembered import check_server, check_shape
from qbcd.catalog.source import Session, Source
from qbcd.errors import MissingPrivilege, StateConflict, UnsafeKey
from qbcd.model import BatchHeader, Cost, StreamPlan, Table
from qbcd.sites.base import (
    Detection,
    Difference,
    Held,
    Settings,
    Site,
    Step,
    checkpoint_of,
    new_epoch,
    new_header,
)  # fmt: skip
from qbcd.sites.guards import ACCEPTED_SOURCE, check_guards, confirm, untravelled_error
from qbcd.sites.shapes import casts, event_fields
from qbcd.spark.session import SparkProvider
from qbcd.spark.source import source_rows
from qbcd.state import ProjectState, StreamRow, StreamStore
from qbcd.strategies.mds import Mds, drop_tables, empty_tables, forget_batch, outbox_name, plan_of_outbox

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_PER_READER = 50_000


def _layout(table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(c.name for c in table.columns), table.primary_key


class DatabaseSite(Site):
    """A stream whose replica, outbox and checkpoint live in the source.

    Args:
        stream: The stream's name.
        source: Where the table and schema `qbcd` are.
        project: The project's state database.
        spark: Starts Spark when rows must travel.
    """

    kind = "database"
    folds_at_once = True

    def __init__(self, stream: str, source: Source, project: ProjectState, spark: SparkProvider) -> None:
        super().__init__(stream, source, project, StreamStore(source.schema))
        self.spark = spark

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.source.write(self.stream) as session:
            yield session.connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.source.read(self.stream) as session:
            yield session.connection

    # -- prepare -----------------------------------------------------------------------------------------------------
    def create(self, plan: StreamPlan) -> None:
        strategy = self.strategy(plan)
        with self.reading() as conn:  # looked at again by each poll; here nothing is made
            self.source.connector.check_in_source(conn, plan.table, stream=self.stream)
        try:
            with self.writing() as conn:
                self.store.create(conn)
                self.store.foreign_project(conn, self.project.project_id)
            with self.source.write(self.stream) as session:
                self._make_tables(session, strategy)
        except MissingPrivilege as error:
            raise MissingPrivilege(
                f"no right to create tables in schema {self.source.schema} of source {self.source.name} ({error.what})",
                stream=self.stream,
                remedy="qbcd prepare --dry-run prints the DDL for a DBA; strategy id_rcs needs only SELECT",
            ) from error

    def ddl(self, plan: StreamPlan) -> list[str]:
        connector, schema = self.source.connector, self.source.schema
        with self.reading() as conn:
            role = connector.privileges(conn, plan.table, [c.name for c in plan.captured], schema).role
            return [*self.store.ddl(conn), *self.strategy(plan).ddl(), *connector.grants(schema, role)]

    def stands(self, plan: StreamPlan) -> bool:
        """Whether all that `create` makes is there, whoever made it."""
        strategy, connector = self.strategy(plan), self.source.connector
        with self.reading() as conn:
            own = (strategy.replica, strategy.outbox)
            return self.store.exists(conn) and all(connector.probe_table(conn, *table) for table in own)

    def prepare(self, plan: StreamPlan, settings: Settings, held: Held) -> Detection:
        started = time.monotonic()
        strategy = self.strategy(plan)
        epoch, seq = new_epoch(held.row), held.row.last_batch_seq + 1
        header: BatchHeader | None = None
        with self.source.write(self.stream) as session:
            self._enter(session, plan, held)
            self.check_key(session, plan)
            rows = 0
            self.progress("taking the baseline into the replica")
            for statement in strategy.baseline(epoch, seq, events=settings.baseline_events):
                rows = session.run(statement)
            if settings.baseline_events and rows:
                self._check_travels(session, strategy, plan, settings, epoch, seq)
                header = self._header(session, plan, settings, held, epoch, {"r": rows})
            checkpoint = self._checkpoint(session, plan, settings, rows)
            hooks.reach("before_commit")
            row = self.commit(session.connection, held.row, held, header, checkpoint, epoch=epoch, prepared=True)
        held.row = row
        hooks.reach("after_commit")
        return Detection(header, Cost(rows_scanned=rows, seconds=time.monotonic() - started))

    # -- detect ------------------------------------------------------------------------------------------------------
    def detect(self, plan: StreamPlan, settings: Settings, held: Held) -> Detection:
        started = time.monotonic()
        strategy, row = self.strategy(plan), held.row
        seq, before = row.last_batch_seq + 1, int(row.checkpoint["rows"])
        with self.source.write(self.stream) as session:
            self._enter(session, plan, held)
            plan = plan.on(check_shape(self.source, session, self.stream, row.checkpoint))
            _, changed = check_server(self.source, session, self.stream, row.checkpoint, accept=settings.accept_source)
            hooks.reach("after_snapshot")
            self.check_key(session, plan)
            self.progress("comparing table and replica in the source")
            found = session.run(strategy.changes(row.epoch, seq))
            hooks.reach("after_fetch")
            if not found and not changed:
                return Detection(None, self._cost(plan, before, 0, started))
            header = self._stage(session, strategy, plan, settings, held, before) if found else None
            after = before + (header.counts.get("c", 0) - header.counts.get("d", 0) if header else 0)
            checkpoint = self._checkpoint(session, plan, settings, after)
            confirm(self.project, settings, held)
            hooks.reach("before_commit")
            advanced = self.commit(session.connection, held.row, held, header, checkpoint)
        held.row = advanced
        hooks.reach("after_commit")
        warnings = (*held.notes, *((ACCEPTED_SOURCE,) if changed else ()))
        return Detection(header, self._cost(plan, before, header.size if header else 0, started), warnings)

    def _stage(
        self, session: Session, strategy: Mds, plan: StreamPlan, settings: Settings, held: Held, before: int
    ) -> BatchHeader:
        """Guards, replica and header of the changes that stand in the outbox, in the caller's transaction."""
        epoch, seq = held.row.epoch, held.row.last_batch_seq + 1
        counts = {r.op.strip(): int(r.events) for r in session.rows(strategy.counts(epoch, seq))}
        deletes = counts.get("d", 0)
        after = before + counts.get("c", 0) - deletes
        check_guards(self.project, settings, held, deletes=deletes, before=before, after=after)
        self._check_travels(session, strategy, plan, settings, epoch, seq)
        removed, added = (session.run(s) for s in strategy.apply(epoch, seq))
        expected = (deletes + counts.get("u", 0), counts.get("c", 0) + counts.get("u", 0))
        if (removed, added) != expected:
            raise UnsafeKey(
                f"the key is not unique in the table: {removed} old and {added} new rows for {expected} changes",
                stream=self.stream, remedy="choose a key that is unique",
            )  # fmt: skip
        hooks.reach("after_stage")
        return self._header(session, plan, settings, held, epoch, counts)

    # -- batches -----------------------------------------------------------------------------------------------------
    def staged(self, header: BatchHeader) -> DataFrame:
        with self.source.read(self.stream) as session:
            plan = self._plan_of(header, session)
        readers = max(1, min(8, header.size // ROWS_PER_READER))
        step = -(-header.size // readers)
        query, pins = self.strategy(plan).rows(header.epoch, header.seq), self.source.connector.session_pins()
        parts = [
            f"SELECT * FROM (\n{query}\n) AS q WHERE q.ordinal >= {i * step} AND q.ordinal < {(i + 1) * step}"
            for i in range(readers)
        ]
        rows = source_rows(self.spark.get(), self.source, self.stream, parts, init=pins, at_once=readers)
        # A driver may read a value as a wider type than it travels as: a float as a double.
        return rows.selectExpr(*casts(event_fields([travel for _, travel in header.columns])))

    def _plan_of(self, header: BatchHeader, session: Session) -> StreamPlan:
        """The plan under which the batch was staged: its columns live on in the outbox's own table."""
        name = outbox_name(self.stream)
        table = self.source.connector.probe_table(session.connection, self.source.schema, name)
        if table is None:
            raise StateConflict(f"its outbox {self.source.schema}.{name} is gone", stream=self.stream)
        return plan_of_outbox(header, table, self.source.connector.identifier_limit)

    def collect(self, plan: StreamPlan, held: Held, settings: Settings) -> None:
        row, connector = held.row, self.source.connector
        with self.source.write(self.stream) as session:
            conn = session.connection
            self.store.lock(conn, self.stream, self.project.project_id, row.version, row.fencing_token)
            through = self.delivered_through(conn, settings)
            for header in self.store.expired_batches(conn, self.stream, through, settings.retain.total_seconds()):
                session.run(forget_batch(connector, self.source.schema, header))
                self.store.delete_batch(conn, self.stream, header.epoch, header.seq)

    def _make_tables(self, session: Session, strategy: Mds) -> None:
        """Makes replica and outbox; those of an earlier prepare that was never finished go, if their columns differ."""
        probe, row = self.source.connector.probe_table, self.store.read(session.connection, self.stream)
        tables = list(zip((strategy.replica, strategy.outbox), strategy.columns(), strategy.ddl(), strict=True))
        standing = {table: probe(session.connection, *table) for table, _, _ in tables}
        stale = [t for t, columns, _ in tables if (s := standing[t]) and _layout(s) != columns]
        if stale and not (row and row.prepared):
            for statement in drop_tables(self.source.connector, self.source.schema, self.stream):
                session.run(statement)
            standing = {}
        for table, _, statement in tables:
            # IF NOT EXISTS asks for the right to create even where a DBA has made the table
            if not standing.get(table):
                session.run(statement)

    def forget(self, held: Held) -> None:
        connector, schema = self.source.connector, self.source.schema
        try:
            self._run_alone(drop_tables(connector, schema, self.stream), held)
        except MissingPrivilege:
            # A DBA made the tables, and they are the DBA's to drop; their rows are ours.
            self._run_alone(empty_tables(connector, schema, self.stream), held)
        with self.source.write(self.stream) as session:
            held.row = self.store.forget(session.connection, held.row)

    def _run_alone(self, statements: Sequence[str], held: Held) -> None:
        """Runs repeatable statements in a transaction of their own, since DDL may commit by itself."""
        with self.source.write(self.stream) as session:
            row = held.row
            self.store.lock(session.connection, self.stream, self.project.project_id, row.version, row.fencing_token)
            for statement in statements:
                session.run(statement)

    # -- looking -----------------------------------------------------------------------------------------------------
    def explain(self, plan: StreamPlan, settings: Settings, row: StreamRow | None) -> list[Step]:
        strategy = self.strategy(plan)
        epoch, seq = (row.epoch, row.last_batch_seq + 1) if row and row.prepared else (0, 1)
        place = f"source {self.source.name}, one transaction"
        removal, addition = strategy.apply(epoch, seq)
        return [
            Step("find the changes, into the outbox", place, strategy.changes(epoch, seq)),
            Step("count them for the guards", place, strategy.counts(epoch, seq)),
            Step("take old images out of the replica", place, removal),
            Step("put new images into the replica", place, addition),
        ]

    def verify(self, plan: StreamPlan, held: Held) -> list[Difference]:
        """Runs the comparison into the outbox under a number of its own, lists it, and rolls it back."""
        strategy, seq = self.strategy(plan), held.row.last_batch_seq + 1
        with self.source.write(self.stream) as session:
            self._enter(session, plan, held)
            check_shape(self.source, session, self.stream, held.row.checkpoint)
            self.check_key(session, plan)
            session.run(strategy.changes(held.row.epoch, seq))
            rows = session.rows(strategy.differing_keys(held.row.epoch, seq))
            session.rollback()
        return [Difference(r.op.strip(), ", ".join(map(str, tuple(r)[1:]))) for r in rows]

    # -- helpers -----------------------------------------------------------------------------------------------------
    def strategy(self, plan: StreamPlan) -> Mds:
        return Mds(self.source.connector, plan, self.source.schema)

    def _enter(self, session: Session, plan: StreamPlan, held: Held) -> None:
        """Locks the stream's row, keeps DDL from the table, asks whether it can be compared here (protocol 1, 9)."""
        row = held.row
        self.store.lock(session.connection, self.stream, self.project.project_id, row.version, row.fencing_token)
        connector = self.source.connector
        lock = connector.lock_against_rewrite(plan.table)
        if lock:
            session.run(lock)
        connector.check_in_source(session.connection, plan.table, stream=self.stream)

    def _check_travels(
        self, session: Session, strategy: Mds, plan: StreamPlan, settings: Settings, epoch: int, seq: int
    ) -> None:
        if settings.typed:
            flags = session.one(strategy.untravelled(epoch, seq))
            positions = [i for i, flag in enumerate(flags) if flag]
            if positions:
                raise untravelled_error(plan, positions)

    def _header(
        self, session: Session, plan: StreamPlan, settings: Settings, held: Held, epoch: int, counts: dict[str, int]
    ) -> BatchHeader:
        now = self.source.connector.clock_ms(session.connection)
        seen = self.strategy(plan).consistency
        return new_header(plan, settings, held, epoch=epoch, ts_ms=now, counts=counts, consistency=seen)

    def _checkpoint(self, session: Session, plan: StreamPlan, settings: Settings, rows: int) -> dict[str, Any]:
        server = self.source.connector.server_identity(session.connection)
        return checkpoint_of(plan, settings, server, self.source.connector.encoder_version, rows)

    def _cost(self, plan: StreamPlan, before: int, events: int, started: float) -> Cost:
        scanned = max(plan.table.rows, 0) + before
        return Cost(rows_scanned=scanned, rows_shipped=events, seconds=time.monotonic() - started, spark=events > 0)
