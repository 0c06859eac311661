"""Stream rows: made once, locked first, changed only by compare-and-set (docs/design/protocol.md#rule-1 to #rule-4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import exists, insert, inspect, literal, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateSchema, CreateTable
from sqlalchemy.sql import ClauseElement, Insert

from qbcd.errors import StateConflict
from qbcd.state.bootstrap import create_missing, holds_rows, insert_once, present
from qbcd.state.dialects import facts_of
from qbcd.state.rows import StreamRow, stream_row, stream_values
from qbcd.state.tables import SiteTables, seal, unseal
from qbcd.state.upgrades import FORMAT_VERSION, refuse_newer


class StreamRows:
    """The part of :class:`~qbcd.state.store.StreamStore` that keeps the stream rows."""

    def __init__(self, schema: str | None) -> None:
        self.tables = SiteTables(schema)

    @property
    def place(self) -> str:
        """Where the tables are, for messages."""
        return f"schema {self.tables.schema!r}" if self.tables.schema else "the state database"

    # -- tables ------------------------------------------------------------------------------------------------------
    def exists(self, conn: Connection) -> bool:
        """Whether all tables are there; those that a killed process has only begun to make are not.

        Raises:
            Refused: They are of a newer qbcd, or say nothing of their format.
        """
        tables = self.tables.metadata.sorted_tables
        if not {t.name for t in tables} <= present(conn, self.tables.schema):
            return False
        known = self._format(conn)
        if known is None:
            if not holds_rows(conn, tables):
                return False
            known = self._format(conn)  # of another process, that has just made them
        refuse_newer(known, self.place)
        return True

    def create(self, conn: Connection) -> None:
        """Creates schema and tables where they are missing; several processes may do it at once.

        Where DDL commits by itself, the caller's transaction ends in between.

        Raises:
            Refused: The tables are of a newer qbcd.
        """
        if not self.exists(conn):
            ddl_lock = facts_of(conn).ddl_lock_sql
            if ddl_lock:
                conn.exec_driver_sql(ddl_lock)
            self._create_missing(conn)
            refuse_newer(self._format(conn), self.place)

    def _create_missing(self, conn: Connection) -> None:
        schema = self.tables.schema
        # CREATE SCHEMA IF NOT EXISTS asks for the right to create even where the schema is there
        if schema and not inspect(conn).has_schema(schema):
            conn.execute(CreateSchema(schema, if_not_exists=True))
        tables = self.tables.metadata.sorted_tables
        create_missing(conn, tables)
        if not holds_rows(conn, tables):
            insert_once(conn, self._layout_row())

    def _layout_row(self) -> Insert:
        layout = self.tables.layout
        once = select(literal(1), literal(FORMAT_VERSION)).where(~exists(select(layout.c.one)))
        return insert(layout).from_select(["one", "format_version"], once)

    def ddl(self, conn: Connection) -> list[str]:
        """The statements that :meth:`create` would run on an empty database, for a DBA."""
        elements: list[ClauseElement] = [CreateTable(t, if_not_exists=True) for t in self.tables.metadata.sorted_tables]
        if self.tables.schema:
            elements.insert(0, CreateSchema(self.tables.schema, if_not_exists=True))
        elements.append(self._layout_row())
        literal = {"literal_binds": True}
        return [str(e.compile(dialect=conn.dialect, compile_kwargs=literal)).strip() for e in elements]

    def _format(self, conn: Connection) -> object:
        return conn.execute(select(self.tables.layout.c.format_version)).scalar()

    # -- reading -----------------------------------------------------------------------------------------------------
    def read(self, conn: Connection, stream: str) -> StreamRow | None:
        """The stream's row, or None where it was never registered.

        Raises:
            Refused: The row is damaged.
        """
        return self._select(conn, stream, lock=False)

    def streams(self, conn: Connection) -> list[StreamRow]:
        """All stream rows, by name."""
        table = self.tables.stream
        rows = conn.execute(select(table).order_by(table.c.stream)).mappings().all()
        return [stream_row(unseal(table, dict(row))) for row in rows]

    def _select(self, conn: Connection, stream: str, *, lock: bool) -> StreamRow | None:
        table = self.tables.stream
        query = select(table).where(table.c.stream == stream)
        found = conn.execute(query.with_for_update() if lock else query).mappings().first()
        return None if found is None else stream_row(unseal(table, dict(found)))

    def foreign_project(self, conn: Connection, project_id: str, asking: str) -> None:
        """Refuses a store in which another project keeps a stream.

        Raises:
            StateConflict: There is one.
        """
        table = self.tables.stream
        query = select(table.c.stream).where(table.c.project_id != project_id).order_by(table.c.stream).limit(1)
        other = conn.execute(query).scalar()
        if other is not None:
            raise self._foreign(other, asking)

    def _foreign(self, stream: str, asking: str) -> StateConflict:
        return StateConflict(
            f"{self.place} holds stream {stream!r} prepared by another project (another state database)",
            remedy="give this project another `schema:`, or use the state database that prepared the stream",
            stream=asking,
        )

    def now(self, conn: Connection) -> float:
        """The store's clock, in seconds."""
        return float(conn.execute(select(facts_of(conn).clock)).scalar_one())

    # -- writing -----------------------------------------------------------------------------------------------------
    def register(self, conn: Connection, project_id: str, stream: str) -> StreamRow:
        """The stream's row, made where there is none.

        Raises:
            StateConflict: The row belongs to another project.
        """
        row = self.read(conn, stream)
        if row is None:
            fresh = StreamRow(project_id, stream, 0, 0, 0, 0, False)
            table = self.tables.stream
            if insert_once(conn, insert(table).values(**seal(table, stream_values(fresh)))):
                return fresh
            # unlocked: where a refused INSERT has locked the row for reading, two who want more are a deadlock
            row = self.read(conn, stream)
        if row is None or row.project_id != project_id:
            raise self._foreign(stream, stream)
        return row

    def lock(self, conn: Connection, stream: str, project_id: str, version: int, token: int) -> StreamRow:
        """Locks the stream's row until the transaction ends; the first statement of every step that writes.

        A write transaction on a file locks the whole store when it begins, so there this only checks.

        Args:
            version: As it was read before the first read of the source.
            token: The lease's fencing token.

        Raises:
            StateConflict: Another project, another poller or another version, or the row cannot be had in time.
        """
        row = self.locked(conn, stream)
        if row is None:
            raise StateConflict(f"{self.place} knows no such stream", remedy="run `qbcd prepare`", stream=stream)
        if row.project_id != project_id:
            raise self._foreign(stream, stream)
        if (row.version, row.fencing_token) != (version, token):
            raise _moved_on(stream, f"version {version}, token {token}", f"{row.version}, {row.fencing_token}")
        return row

    def locked(self, conn: Connection, stream: str) -> StreamRow | None:
        """The stream's row, locked, whoever owns it.

        Raises:
            StateConflict: Another transaction holds it too long.
        """
        try:
            return self._select(conn, stream, lock=True)
        except DBAPIError as error:
            if not facts_of(conn).is_contention(error):
                raise
            raise StateConflict(
                "another transaction holds the stream's row", remedy="try again when it has ended", stream=stream
            ) from error

    def advance(
        self,
        conn: Connection,
        row: StreamRow,
        *,
        checkpoint: Mapping[str, Any] | None = None,
        epoch: int | None = None,
        last_batch_seq: int | None = None,
        prepared: bool | None = None,
    ) -> StreamRow:
        """Moves the stream one version on, in the transaction of everything else that moves.

        Args:
            row: As :meth:`lock` (or an earlier step of this transaction) gave it; what is None stays.

        Raises:
            StateConflict: Somebody else moved the stream, or a number would go back.
        """
        wanted = {"checkpoint": checkpoint, "epoch": epoch, "last_batch_seq": last_batch_seq, "prepared": prepared}
        given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        moved = replace(row, **given, version=row.version + 1, advanced_by=row.fencing_token)
        if moved.epoch < row.epoch or moved.last_batch_seq < row.last_batch_seq:
            raise StateConflict("epoch and batch numbers never go back", stream=row.stream)
        return self.rewrite(conn, row, moved)

    def rewrite(self, conn: Connection, row: StreamRow, changed: StreamRow) -> StreamRow:
        """Puts `changed` in the place of `row`, if `row`'s version and token still stand.

        Raises:
            StateConflict: They do not.
        """
        table = self.tables.stream
        unmoved = (
            (table.c.stream == row.stream)
            & (table.c.version == row.version)
            & (table.c.fencing_token == row.fencing_token)
            & (table.c.project_id == row.project_id)
        )
        result = conn.execute(update(table).where(unmoved).values(**seal(table, stream_values(changed))))
        if result.rowcount != 1:
            raise _moved_on(row.stream, f"version {row.version}, token {row.fencing_token}", "another one")
        return changed

    def committed(self, conn: Connection, stream: str, version: int, token: int) -> bool:
        """Whether the step from `version` by the holder of `token` was committed, when the reply was lost.

        Raises:
            StateConflict: Others moved the stream since, so that nobody can tell.
        """
        row = self.read(conn, stream)
        if row is None or row.version <= version:
            return False
        if row.version == version + 1:
            return row.advanced_by == token
        if row.fencing_token == token:
            return True
        raise _moved_on(stream, f"version {version + 1}", f"{row.version}")


def _moved_on(stream: str, expected: str, found: str) -> StateConflict:
    return StateConflict(
        f"another poller has moved the stream (expected {expected}; found {found}); nothing was written",
        remedy="let one process poll this stream; the next poll starts from what the other one left",
        stream=stream,
    )
