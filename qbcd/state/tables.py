"""The tables of a stream store, and the seal by which a damaged row is recognized.

Both wings use the same tables: with plain names in qbcd's schema of a source, with the prefix ``qbcd_`` in the
project's state database. JSON is stored as text, checksums as decimal text (they exceed 64 bits), times as seconds of
the store's own clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Integer,
    MetaData,
    Select,
    Table,
    UniqueConstraint,
    exists,
    insert,
    inspect,
    literal,
    select,
)
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateSchema, CreateTable
from sqlalchemy.sql import ClauseElement, Insert

from qbcd.errors import Refused
from qbcd.model import digest_of
from qbcd.state.bootstrap import create_missing, holds_rows, insert_once, present
from qbcd.state.dialects import KEY_TEXT, LONG_TEXT, SECONDS, TABLE_OPTIONS, facts_of
from qbcd.state.upgrades import FORMAT_VERSION, refuse_newer

PREFIX = "qbcd_"
_SEEN = "qbcd_tables_seen"  # in the facts about a session
_NAMES = "qbcd_table_names"


def seconds(name: str) -> Column[float]:
    """Return a column of seconds of the store's clock."""
    return Column(name, SECONDS, nullable=False)


def big(name: str, *, key: bool = False) -> Column[int]:
    """Return a column of 64-bit integers."""
    return Column(name, BigInteger, primary_key=key, nullable=False, autoincrement=False)


def text(name: str, *, key: bool = False, nullable: bool = False) -> Column[Any]:
    """Return a column of text; a key column has a bounded length."""
    return Column(name, KEY_TEXT if key else LONG_TEXT, primary_key=key, nullable=nullable)


class SiteTables:
    """The tables of one stream store.

    Args:
        schema: qbcd's schema in a source, or None for the state database.
    """

    def __init__(self, schema: str | None) -> None:
        self.schema = schema
        self.metadata = MetaData(schema=schema)
        self.layout = self._table("layout", Column("one", Integer, primary_key=True), big("format_version"))
        self.stream = self._table(
            "stream",
            text("project_id"),
            text("stream", key=True),
            big("epoch"),
            big("version"),
            big("fencing_token"),
            big("last_batch_seq"),
            big("next_range_id"),
            big("advanced_by"),
            Column("prepared", Boolean, nullable=False),
            text("checkpoint"),
            loose=(),
        )
        self.lease = self._table("lease", text("stream", key=True), text("owner"), seconds("until"), big("token"))
        self.batch = self._table(
            "batch",
            text("stream", key=True),
            big("epoch", key=True),
            big("batch_seq", key=True),
            big("token"),
            big("ts_ms"),
            text("fingerprint"),
            text("header"),
            Column("folded", Boolean, nullable=False),
            seconds("created_at"),
            loose=("folded", "created_at"),
        )
        self.range = self._table(
            "range",
            text("stream", key=True),
            big("range_id", key=True),
            text("lo", nullable=True),
            text("hi", nullable=True),
            big("rows"),
            text("checksum"),
            text("segment", nullable=True),
            seconds("last_visited"),
            loose=("last_visited",),
        )
        self.segment = self._table(
            "segment",
            text("stream", key=True),
            text("segment_id", key=True),
            big("epoch"),
            text("files"),
            big("rows"),
            big("folded_through"),
            big("token"),
            loose=(),
        )
        self.pin = self._table("pin", text("pin_id", key=True), text("stream"), big("version"), seconds("until"))
        self.range_pages = self._table(
            "range_pages", text("stream", key=True), big("range_id", key=True), big("pages"), big("moved")
        )

    def _table(self, name: str, *columns: Column[Any], loose: tuple[str, ...] | None = None) -> Table:
        return make_table(self.metadata, name if self.schema else PREFIX + name, *columns, loose=loose)

    @property
    def added(self) -> tuple[Table, ...]:
        """Tables that stores of older versions lack; everything works without them."""
        return (self.range_pages,)

    @property
    def place(self) -> str:
        """Name of the tables' place in messages."""
        return f"schema {self.schema!r}" if self.schema else "the state database"

    def exist(self, conn: Connection) -> bool:
        """Return True if all tables exist; an unfinished creation counts as missing.

        Raises:
            Refused: A newer qbcd wrote them, or they have no format version.
        """
        if not self.see(conn):
            return False
        try:
            known = self._format(conn)
        except DBAPIError as error:
            if not error.connection_invalidated:  # otherwise there is no `info` any more
                del conn.info[_SEEN, self.schema]
            raise
        if known is None:
            if not holds_rows(conn, self._oldest()):
                return False
            known = self._format(conn)  # another process has just created them
        refuse_newer(known, self.place)
        return True

    def _oldest(self) -> list[Table]:
        """Return the tables that stores of all versions have."""
        return [t for t in self.metadata.sorted_tables if t not in self.added]

    def see(self, conn: Connection) -> bool:
        """Return True if all tables exist, by their names; remember it for the session."""
        if not self.is_seen(conn):
            names = present(conn, self.schema)
            if not {t.name for t in self._oldest()} <= names:
                return False
            conn.info[_SEEN, self.schema], conn.info[_NAMES, self.schema] = True, names
        return True

    def has(self, conn: Connection, table: Table) -> bool:
        """Return True if one of the `added` tables exists.

        A state database gets all of them when it is opened.
        """
        if self.schema is None:
            return True
        names = (_NAMES, self.schema)
        if names not in conn.info:
            conn.info[names] = present(conn, self.schema)
        return table.name in conn.info[names]

    def add(self, conn: Connection, table: Table) -> None:
        """Create one of the `added` tables.

        If DDL commits implicitly, this ends the caller's transaction.
        """
        create_missing(conn, [table])
        conn.info.pop((_NAMES, self.schema), None)

    def is_seen(self, conn: Connection) -> bool:
        """Return True if all tables have existed in this session."""
        return (_SEEN, self.schema) in conn.info

    def rows_with_format(
        self, conn: Connection, query: Select[Any], values: Mapping[str, Any]
    ) -> list[dict[str, Any]] | None:
        """Return rows that begin with the format version, without it; None if there is no version.

        Raises:
            Refused: A newer qbcd wrote the tables.
        """
        try:
            rows = [dict(row) for row in conn.execute(query, values).mappings()]
        except DBAPIError as error:
            if not error.connection_invalidated:  # otherwise there is no `info` any more
                del conn.info[_SEEN, self.schema]
            raise
        if not rows:
            return None
        refuse_newer(rows[0]["format_version"], self.place)
        return [{name: value for name, value in row.items() if name != "format_version"} for row in rows]

    def create(self, conn: Connection) -> None:
        """Create the missing schema and tables; several processes may do it at the same time.

        If DDL commits implicitly, this ends the caller's transaction.

        Raises:
            Refused: A newer qbcd wrote the tables.
        """
        if not self.exist(conn):
            lock_ddl(conn)
            self._create_missing(conn)
            refuse_newer(self._format(conn), self.place)

    def _create_missing(self, conn: Connection) -> None:
        schema = self.schema
        if schema:
            create_schema(conn, schema)
        tables = self.metadata.sorted_tables
        create_missing(conn, tables)
        conn.info.pop((_NAMES, schema), None)
        if not holds_rows(conn, tables):
            insert_once(conn, self._layout_row())

    def _layout_row(self) -> Insert:
        layout = self.layout
        once = select(literal(1), literal(FORMAT_VERSION)).where(~exists(select(layout.c.one)))
        return insert(layout).from_select(["one", "format_version"], once)

    def ddl(self, conn: Connection) -> list[str]:
        """Return the statements that :meth:`create` runs on an empty database, for a DBA."""
        elements: list[ClauseElement] = [CreateTable(t, if_not_exists=True) for t in self.metadata.sorted_tables]
        if self.schema:
            elements.insert(0, CreateSchema(self.schema, if_not_exists=True))
        elements.append(self._layout_row())
        literal = {"literal_binds": True}
        return [str(e.compile(dialect=conn.dialect, compile_kwargs=literal)).strip() for e in elements]

    def _format(self, conn: Connection) -> object:
        return conn.execute(select(self.layout.c.format_version)).scalar()


def lock_ddl(conn: Connection) -> None:
    """Keep other processes from creating qbcd's own tables until the transaction ends.

    Some databases cannot do that; there it does nothing.
    """
    if lock := facts_of(conn).ddl_lock_sql:
        conn.exec_driver_sql(lock)


def create_schema(conn: Connection, schema: str) -> None:
    """Create the schema if it is missing."""
    # CREATE SCHEMA IF NOT EXISTS needs the right to create even if the schema exists
    if not inspect(conn).has_schema(schema):
        conn.execute(CreateSchema(schema, if_not_exists=True))


def schema_ddl(conn: Connection, schema: str) -> str:
    """Return the statement that creates the schema, for a DBA."""
    return str(CreateSchema(schema, if_not_exists=True).compile(dialect=conn.dialect)).strip()


@lru_cache
def site_tables(schema: str | None) -> SiteTables:
    """Return the tables of a store, shared by all streams.

    With the tables they share SQLAlchemy's compiled statements.
    """
    return SiteTables(schema)


def make_table(
    metadata: MetaData,
    name: str,
    *columns: Column[Any],
    loose: tuple[str, ...] | None = None,
    unique: tuple[str, ...] = (),
) -> Table:
    """Return the definition of one of qbcd's own tables.

    Args:
        columns: Its columns without the seal.
        loose: Columns that the seal does not cover, since they change alone; None for a table without a seal.
        unique: Columns of a unique index, created in one statement with the table.
    """
    parts = [*columns, *([UniqueConstraint(*unique)] if unique else [])]
    if loose is None:
        return Table(name, metadata, *parts, **TABLE_OPTIONS)
    sealed = tuple(c.name for c in columns if c.name not in loose)
    return Table(name, metadata, *parts, text("seal"), info={"sealed": sealed}, **TABLE_OPTIONS)


def seal(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a row with its seal, a hash over all columns that change together."""
    return {**values, "seal": digest_of({name: values[name] for name in table.info["sealed"]})}


def unseal(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """Check the seal of a row and return its values without it.

    Raises:
        Refused: The row is not as qbcd wrote it.
    """
    values = dict(row)
    found = values.pop("seal")
    if found != digest_of({name: values[name] for name in table.info["sealed"]}):
        raise Refused(
            f"a row of table {table.fullname} is damaged: its content does not match its seal",
            remedy="restore the store from a backup, or reset the stream",
            stream=str(values.get("stream", "")),
        )
    return values
