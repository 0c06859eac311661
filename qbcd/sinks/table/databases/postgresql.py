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
from typing_extensions import override

from qbcd.catalog.source import SessionOptions
from qbcd.common import waits
from qbcd.connectors.dialects import loaded
from qbcd.errors import DeliveryError, Refused
from qbcd.model import Travel
from qbcd.sinks.table.constraints import Reference, Violation, ViolationKind
from qbcd.sinks.table.databases.base import Columns, ExistingColumn, ExistingTable, Misfit, TableProblem, decimal_holds
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
_OBJECT = """
SELECT c.oid, c.relkind, c.relpersistence = 'u', pg_catalog.row_security_active(c.oid), current_user,
       EXISTS (SELECT FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_enabled <> 'D')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s
"""
_COLUMNS = """
SELECT a.attname,
       pg_catalog.format_type(a.atttypid, a.atttypmod)
       || CASE WHEN o.collisdeterministic THEN '' ELSE coalesce(' collate ' || o.collname, '') END,
       NOT (a.attnotnull OR t.typnotnull) OR a.atthasdef OR a.attidentity <> '' OR t.typdefault IS NOT NULL,
       a.attnotnull, a.attgenerated <> '',
       a.attidentity <> '' OR coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%%', false),
       a.attidentity = 'a'
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation
WHERE a.attrelid = %(oid)s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_KEYS = """
SELECT i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL,
       pg_catalog.pg_get_indexdef(i.indexrelid),
       i.indisprimary,
       ARRAY(SELECT a.attname::text FROM unnest(i.indkey) WITH ORDINALITY AS k (number, place)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
             WHERE k.place <= i.indnkeyatts ORDER BY k.place)
FROM pg_catalog.pg_index i
WHERE i.indrelid = %(oid)s AND (i.indisunique OR i.indisexclusion)
ORDER BY i.indisprimary DESC, i.indexrelid
"""
_RIGHTS = """
SELECT current_user AS role, pg_catalog.has_schema_privilege(n.oid, 'USAGE') AS usage,
       pg_catalog.has_schema_privilege(n.oid, 'CREATE') AS creates,
       pg_catalog.has_database_privilege(current_database(), 'TEMPORARY') AS temporary,
       c.oid, pg_catalog.pg_has_role(c.relowner, 'USAGE') AS owner
FROM (VALUES (%(schema)s, %(name)s)) AS asked (place, object)
LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = asked.place
LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = asked.object
"""
_LACKING = """
SELECT wanted FROM unnest(CAST(%(rights)s AS text[])) AS wanted
WHERE NOT (pg_catalog.has_table_privilege(%(oid)s, wanted)
           OR (wanted <> 'DELETE' AND pg_catalog.has_any_column_privilege(%(oid)s, wanted)))
"""
_TABLES = ("r", "p")  # kinds of objects, of which a partitioned table is one
_KINDS = {
    "v": "view",
    "m": "materialized view",
    "f": "foreign table",
    "i": "index",
    "I": "index",
    "S": "sequence",
    "c": "type",
}
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

    @override
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

    product, sql_name = "PostgreSQL", loaded("postgres")
    longest_name = 63
    unit = "bytes"
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

    @property
    @override
    def identity(self) -> str:
        return f"{self.url.host}:{self.url.port or 5432}/{self.url.database}/{self.schema}"

    @override
    def name_length(self, name: str) -> int:
        return len(name.encode())

    @override
    def find(self, connection: Connection, made: TableClause) -> ExistingTable | None:
        object_of = {"schema": made.schema, "name": made.name}
        row = connection.exec_driver_sql(_OBJECT, object_of).fetchone()
        if row is None:
            return None
        oid, kind, unlogged, secured, role, rewritten = row
        if kind not in _TABLES:
            return ExistingTable((), kind=_KINDS.get(kind, "object of another kind"))
        columns = connection.exec_driver_sql(_COLUMNS, {"oid": oid}).fetchall()
        keys = connection.exec_driver_sql(_KEYS, {"oid": oid}).fetchall()
        return ExistingTable(
            tuple(ExistingColumn(*column) for column in columns),
            keys=tuple(dict.fromkeys(frozenset(names) for is_whole, _, _, names in keys if is_whole)),
            primary=frozenset(name for _, _, is_primary, names in keys if is_primary for name in names),
            partial_keys={text: tuple(names) for is_whole, text, _, names in keys if not is_whole},
            unfit=tuple(_unfit(role, unlogged=unlogged, secured=secured, rewritten=rewritten)),
        )

    @override
    def refuse_unwritable(self, connection: Connection, made: TableClause, rights: Sequence[str]) -> None:
        try:
            self.connector.catalog.check_accepts_writes(connection, stream="")
        except Refused as error:
            what = f"{self.label} is a standby, which accepts no writes"
            raise DeliveryError(what, remedy="name its primary in the sink's url") from error
        place = {"schema": self.schema, "name": made.name}
        row = connection.exec_driver_sql(_RIGHTS, place).fetchone()
        assert row is not None
        role, schema, database = row.role, self.quoted(str(self.schema)), self.quoted(str(self.url.database))
        if row.usage is None:
            remedy = f"CREATE SCHEMA {schema}, or name another `schema` for the sink"
            raise DeliveryError(f"{self.label}: schema {self.schema} does not exist", remedy=remedy)
        lacking = [] if row.temporary else [f"TEMPORARY ON DATABASE {database}"]
        lacking += [] if row.usage else [f"USAGE ON SCHEMA {schema}"]
        if row.oid is None:
            lacking += [] if row.creates else [f"CREATE ON SCHEMA {schema}"]
        elif "ALTER" in rights and not row.owner:
            remedy = f"ALTER TABLE {self.named(made)} OWNER TO {self.quoted(role)}, or add the columns yourself"
            what = f"{self.label}: role {role} does not own table {made.name}, and cannot add columns to it"
            raise DeliveryError(what, remedy=remedy)
        elif row.usage:
            asked = {"oid": row.oid, "rights": [right for right in rights if right != "ALTER"]}
            missing = connection.exec_driver_sql(_LACKING, asked).scalars().all()
            lacking += [f"{', '.join(missing)} ON {self.named(made)}"] if missing else []
        if lacking:
            granted = "; ".join(f"GRANT {one} TO {self.quoted(role)}" for one in lacking)
            raise DeliveryError(f"{self.label}: role {role} lacks {'; '.join(lacking)}", remedy=granted)

    @override
    def violation(self, error: BaseException | None) -> Violation | None:
        kind = _VIOLATIONS.get(getattr(error, "pgcode", None) or "")
        if kind is None or not isinstance(error, psycopg2.Error):
            return None
        diagnosis = error.diag
        return Violation(kind, diagnosis.constraint_name or diagnosis.column_name or "", diagnosis.table_name or "")

    @override
    def references(self, connection: Connection, made: TableClause) -> Iterable[Reference]:
        rows = connection.exec_driver_sql(_REFERENCES, {"schema": made.schema, "name": made.name}).fetchall()
        for name, schema, table, columns, referred in rows:
            yield Reference(name, schema, table, tuple(columns), tuple(referred))

    @override
    def has_triggers(self, connection: Connection, made: TableClause) -> bool:
        return bool(connection.exec_driver_sql(_TRIGGERS, {"schema": made.schema, "name": made.name}).scalar())

    @override
    def differs(self, old: ColumnElement[Any], new: ColumnElement[Any], travel: Travel) -> ColumnElement[bool]:
        if travel.kind in ("text", "time"):
            return old.collate("C").is_distinct_from(new)  # a column's own collation may ignore case
        return super().differs(old, new, travel)

    @override
    def selected_for_insert(self, columns: Sequence[ColumnElement[Any]]) -> Select[Any]:
        return SelectForInsert(*columns)

    @override
    def type_of(self, travel: Travel, *, key_parts: int = 0) -> str:
        if travel.element is not None:
            return f"{self.type_of(travel.element)}[]"
        if travel.kind == "decimal":
            return f"numeric({travel.precision},{travel.scale})"
        return _TYPES[travel.kind]

    @override
    def holds(self, travel: Travel, existing: str) -> bool:
        plain = re.sub(r"\(6\)", "", existing) if travel.kind.startswith("timestamp") else existing
        if travel.kind in ("decimal", "uint64"):
            return decimal_holds(travel, plain, unlimited="numeric")
        return plain in (self.type_of(travel), *_WIDER.get(travel.kind, ()))

    @override
    def convert(self, travel: Travel, values: pa.Array) -> pa.Array:
        """Return values as texts of PostgreSQL."""
        if travel.element is not None:
            return _arrays(travel.element, values)
        if travel.kind == "binary":
            return pa.array([None if v is None else "\\x" + v.hex() for v in values.to_pylist()], pa.large_string())
        if travel.kind == "timestamptz":  # the cast of a time with its zone takes twenty times as long
            plain = pc.cast(values.cast(pa.timestamp("us")), pa.large_string())
            return pc.binary_join_element_wise(plain, pa.scalar("Z", plain.type), pa.scalar("", plain.type))
        if travel.kind == "float32":  # the shortest text would be another number in a column of 64 bits
            values = values.cast(pa.float64())
        return pc.cast(values, pa.large_string())


def _unfit(role: str, *, unlogged: bool, secured: bool, rewritten: bool) -> Iterator[TableProblem]:
    if unlogged:
        what = "is UNLOGGED: a crash of the server empties it, and the record of the last batch would not show that"
        yield TableProblem(what, "ALTER TABLE {table} SET LOGGED")
    if secured:
        what = f"has row level security that applies to role {role}: the server then refuses COPY, and may hide rows"
        yield TableProblem(what, f"ALTER TABLE {{table}} OWNER TO {role}, without FORCE ROW LEVEL SECURITY")
    if rewritten:
        yield TableProblem("has rules, which rewrite the statements of a batch", "drop its rules, or use triggers")


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

    @override
    def readable(self) -> bool:
        """Return True."""
        return True

    @override
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
