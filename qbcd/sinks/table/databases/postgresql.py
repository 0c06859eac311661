"""PostgreSQL as a target: rows come by COPY."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import psycopg2
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Select, TableClause
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.elements import ColumnElement

from qbcd import waits
from qbcd.catalog.source import SessionOptions
from qbcd.model import Travel
from qbcd.sinks.table.constraints import Reference, Violation, ViolationKind
from qbcd.sinks.table.databases.base import Columns, Misfit, decimal_holds
from qbcd.sinks.table.databases.engines import EngineSession
from qbcd.sinks.table.databases.servers import ServerTarget
from qbcd.sinks.table.flat_rows import json_values

ROWS_AT_ONCE = 20_000  # whose text is in memory
_TYPES = {
    "boolean": "boolean",
    "int16": "smallint",
    "int32": "integer",
    "int64": "bigint",
    "uint64": "numeric(20,0)",
    "float32": "real",
    "float64": "double precision",
    "text": "text",
    "time": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
}
_WIDER = {
    "int16": ("integer", "bigint", "numeric"),
    "int32": ("bigint", "numeric"),
    "int64": ("numeric",),
    "float32": ("double precision",),
    "text": ("character varying",),
    "time": ("character varying",),
}
# A session that waits for its client runs nothing; without the setting track_activities the server does not know.
_AT_WORK = """
SELECT state = 'disabled' OR (state = 'active' AND wait_event_type IS DISTINCT FROM 'Client')
FROM pg_catalog.pg_stat_activity WHERE pid = %s
"""
_COLUMNS = """
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
       NOT a.attnotnull OR a.atthasdef OR a.attidentity <> ''
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_VIOLATIONS: dict[str, ViolationKind] = {
    "23505": "unique",
    "23P01": "unique",  # of an exclusion constraint
    "23503": "foreign key",
    "23502": "not null",
    "23514": "check",
    "428C9": "identity",
}
_REFERENCES = """
SELECT k.conname, n.nspname, c.relname,
       (SELECT array_agg(a.attname::text ORDER BY u.place) FROM unnest(k.conkey) WITH ORDINALITY u (number, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number),
       (SELECT array_agg(a.attname::text ORDER BY u.place) FROM unnest(k.confkey) WITH ORDINALITY u (number, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.number)
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class t ON t.oid = k.confrelid
JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace
WHERE k.contype = 'f' AND k.conparentid = 0 AND s.nspname = %(schema)s AND t.relname = %(name)s
"""
# A join with the staged rows is done in memory, and a small sample of them is enough to choose it.
_SETTINGS = (
    "SELECT set_config('work_mem', '64MB', false) WHERE pg_size_bytes(current_setting('work_mem')) < 64 << 20",
    "SET default_statistics_target = 10",
)
_TRIGGERS = """
SELECT EXISTS (SELECT FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid
               JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
               WHERE NOT g.tgisinternal AND n.nspname = %(schema)s AND c.relname = %(name)s)
"""


class SelectForInsert(Select[Any]):
    """The rows of an INSERT that sets columns `GENERATED ALWAYS AS IDENTITY` too."""

    inherit_cache = False


@compiles(SelectForInsert)
def _overriding(element: Any, compiler: Any, **options: Any) -> str:
    return f"OVERRIDING SYSTEM VALUE {compiler.visit_select(element, **options)}"


class PostgresTargetSession(EngineSession):
    """A session of psycopg2."""

    def load(self, made: TableClause, columns: Columns, pieces: Iterable[Sequence[pa.Array]]) -> None:
        names = ", ".join(self.database.quoted(name) for name, _ in columns)
        driver = self.connection.connection.driver_connection
        assert driver is not None
        converted = (self.database.converted(columns, piece) for piece in pieces)
        text = CopyText(converted)
        try:
            with driver.waiting() as text.wait, driver.cursor() as cursor:
                cursor.copy_expert(f"COPY {self.database.named(made)} ({names}) FROM STDIN", text)
        except psycopg2.Error as error:
            if text.failed is not None:  # the driver reports only its text
                raise text.failed from error
            raise DBAPIError.instance(None, None, error, psycopg2.Error, dialect=self.database.dialect) from error
        if made.schema is None:
            self.run_ddl(f"ANALYZE {self.database.named(made)}")  # no one else does it for a temporary table


class PostgresTarget(ServerTarget):
    """A database of PostgreSQL; target tables are in `schema`, `public` by default."""

    sql_name = "postgres"
    longest_name = 63
    settings = _SETTINGS
    defer_sql = "SET CONSTRAINTS ALL DEFERRED"
    exchange_remedy = "a column that accepts NULL in the constraint, or one that is DEFERRABLE"
    session = PostgresTargetSession
    own_number = "SELECT pg_catalog.pg_backend_pid()"
    at_work = _AT_WORK
    misfits = (
        ("has no equivalent in encoding", "a text has a letter that the encoding of the target's database lacks"),
        ("index row (size|requires)", "a value is too long for an index"),
    )

    def __init__(self, url: URL, schema: str | None, limits: SessionOptions, owner: object = None) -> None:
        super().__init__(url, schema or "public", limits, owner)

    def types(self, connection: Connection, made: TableClause) -> list[tuple[str, str, bool]]:
        rows = connection.exec_driver_sql(_COLUMNS, {"schema": made.schema, "name": made.name}).fetchall()
        return [(row[0], row[1], row[2]) for row in rows]

    def violation(self, error: BaseException | None) -> Violation | None:
        kind = _VIOLATIONS.get(getattr(error, "pgcode", None) or "")
        if kind is None or not isinstance(error, psycopg2.Error):
            return None
        diagnosis = error.diag
        return Violation(kind, diagnosis.constraint_name or diagnosis.column_name or "", diagnosis.table_name or "")

    def references(self, connection: Connection, made: TableClause) -> Iterable[Reference]:
        rows = connection.exec_driver_sql(_REFERENCES, {"schema": made.schema, "name": made.name}).fetchall()
        for name, schema, table, columns, referred in rows:
            yield Reference(name, schema, table, tuple(columns), tuple(referred))

    def has_triggers(self, connection: Connection, made: TableClause) -> bool:
        return bool(connection.exec_driver_sql(_TRIGGERS, {"schema": made.schema, "name": made.name}).scalar())

    def differs(self, old: ColumnElement[Any], new: ColumnElement[Any], travel: Travel) -> ColumnElement[bool]:
        if travel.kind in ("text", "time"):
            return old.collate("C").is_distinct_from(new)  # a column's own collation may ignore case
        return super().differs(old, new, travel)

    def selected_for_insert(self, columns: Sequence[ColumnElement[Any]]) -> Select[Any]:
        return SelectForInsert(*columns)

    def type_of(self, travel: Travel, *, key_parts: int = 0) -> str:
        if travel.element is not None:
            return f"{self.type_of(travel.element)}[]"
        if travel.kind == "decimal":
            return f"numeric({travel.precision},{travel.scale})"
        return _TYPES[travel.kind]

    def holds(self, travel: Travel, existing: str) -> bool:
        plain = re.sub(r"\(6\)", "", existing) if travel.kind.startswith("timestamp") else existing
        if travel.kind in ("decimal", "uint64"):
            return decimal_holds(travel, plain, unlimited="numeric")
        return plain in (self.type_of(travel), *_WIDER.get(travel.kind, ()))

    def convert(self, travel: Travel, values: pa.Array) -> pa.Array:
        """Return values as texts of PostgreSQL."""
        if travel.element is not None:
            return _arrays(travel.element, values)
        if travel.kind == "binary":
            return pa.array([None if v is None else "\\x" + v.hex() for v in values.to_pylist()], pa.large_string())
        if travel.kind == "timestamptz":  # the cast of a time with its zone takes twenty times as long
            plain = pc.cast(values.cast(pa.timestamp("us")), pa.large_string())
            return pc.binary_join_element_wise(plain, pa.scalar("Z", plain.type), pa.scalar("", plain.type))
        return pc.cast(values, pa.large_string())


def _arrays(element: Travel, values: pa.Array) -> pa.Array:
    """Return array literals."""
    found = []
    for items in json_values(values, Travel("array", element=element)):
        found.append(None if items is None else "{" + ",".join(_item(one, element) for one in items) + "}")
    return pa.array(found, pa.large_string())


def _item(value: object, element: Travel) -> str:
    if value is None:
        return "NULL"
    text = str(value)
    if element.kind == "binary":
        raise Misfit("an array of bytes")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class CopyText(io.RawIOBase):
    """Rows as the text of COPY, which a driver reads piece by piece.

    Attributes:
        failed: The error that ended the rows.
        wait: The wait for the server, which begins again with each piece: rows may come slowly.
    """

    wait: waits.Wait | None = None

    def __init__(self, pieces: Iterable[Sequence[pa.Array]]) -> None:
        super().__init__()
        self.failed: Exception | None = None
        self._parts, self._rest = _copy_parts(pieces), memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes; empty at the end."""
        if not self._rest:
            try:
                with waits.paused(self.wait):
                    self._rest = next(self._parts, memoryview(b""))
            except Exception as error:
                self.failed = error
                raise
        found, self._rest = bytes(self._rest[:size]), self._rest[size:]
        return found


def _copy_parts(pieces: Iterable[Sequence[pa.Array]]) -> Iterator[memoryview]:
    for piece in pieces:
        for start in range(0, len(piece[0]), ROWS_AT_ONCE):
            columns = [_escaped(array.slice(start, ROWS_AT_ONCE)) for array in piece]
            lines = pc.binary_join_element_wise(*columns, pa.scalar("\t", pa.large_string()))
            ended = pc.binary_join_element_wise(
                lines, pa.scalar("\n", pa.large_string()), pa.scalar("", pa.large_string())
            )
            yield _content(ended)


def _escaped(texts: pa.Array) -> pa.Array:
    for character, spelled in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        texts = pc.replace_substring(texts, character, spelled)
    return pc.fill_null(texts, "\\N")


def _content(texts: pa.Array) -> memoryview:
    """Return the characters of all texts of a whole array, one after another."""
    _, offsets, characters = texts.buffers()
    return memoryview(characters)[: memoryview(offsets).cast("q")[len(texts)]]
