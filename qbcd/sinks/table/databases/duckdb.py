"""DuckDB as a target, through its own API: it reads Arrow as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlalchemy import TableClause, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import URL
from sqlalchemy.sql.base import Executable

from qbcd.errors import DeliveryError
from qbcd.local.errors import first_line
from qbcd.model import Travel
from qbcd.sinks.table.databases.base import Columns, ExistingTable, TargetDatabase, TargetSession, decimal_holds

MEMORY = "512MB"
_INCOMING = "qbcd_incoming"
_TYPES = {
    "boolean": "BOOLEAN",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint64": "DECIMAL(20,0)",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "text": "VARCHAR",
    "time": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}
_WIDER = {
    "int16": ("integer", "bigint", "hugeint"),
    "int32": ("bigint", "hugeint"),
    "int64": ("hugeint",),
    "float32": ("double",),
}


class DuckSession(TargetSession):
    """A connection of DuckDB."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, database: DuckTarget) -> None:
        self.connection, self.database = connection, database

    def run(self, statement: Executable) -> int:
        found = self._execute(statement).fetchone()
        return int(found[0]) if found else 0

    def run_ddl(self, sql: str) -> None:
        self.connection.execute(sql)

    def rows(self, statement: Executable) -> list[Any]:
        return self._execute(statement).fetchall()

    def _execute(self, statement: Executable) -> duckdb.DuckDBPyConnection:
        compiled = statement.compile(  # type: ignore[attr-defined]
            dialect=self.database.dialect, compile_kwargs={"render_postcompile": True}
        )
        values = [compiled.params[name] for name in compiled.positiontup]
        return self.connection.execute(str(compiled), values)

    @contextmanager
    def transaction(self, *, ddl: bool = False) -> Iterator[None]:
        self.connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def load(self, made: TableClause, columns: Columns, pieces: Iterable[Sequence[pa.Array]]) -> None:
        names = [self.database.quoted(name) for name, _ in columns]
        sql = f"INSERT INTO {self.database.named(made)} ({', '.join(names)}) SELECT * FROM {_INCOMING}"
        for piece in pieces:
            arrays = self.database.converted(columns, piece)
            rows = pa.Table.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))])
            self.connection.register(_INCOMING, rows)
            self.connection.execute(sql)
            self.connection.unregister(_INCOMING)  # after an error the transaction would refuse it

    def is_duplicate(self, error: Exception) -> bool:
        return isinstance(error, duckdb.ConstraintException)

    def describe(self, made: TableClause) -> ExistingTable | None:
        place = [made.schema or "main", made.name]
        rows = self.connection.execute(
            "SELECT column_name, lower(data_type), is_nullable OR column_default IS NOT NULL FROM duckdb_columns() "
            "WHERE database_name = current_database() AND schema_name = ? AND table_name = ? ORDER BY column_index",
            place,
        ).fetchall()
        if not rows:
            return None
        keys = self.connection.execute(
            "SELECT constraint_column_names FROM duckdb_constraints() WHERE database_name = current_database() "
            "AND schema_name = ? AND table_name = ? AND constraint_type IN ('PRIMARY KEY', 'UNIQUE') "
            "ORDER BY constraint_type",
            place,
        ).fetchall()
        return ExistingTable(
            types={name: kind for name, kind, _ in rows},
            optional=frozenset(name for name, _, is_optional in rows if is_optional),
            keys=tuple(frozenset(names) for (names,) in keys),
            has_rows=bool(self.rows(select(1).select_from(made).limit(1))),
        )


class DuckTarget(TargetDatabase):
    """A file of DuckDB; one process at a time has it open."""

    sql_name = "duckdb"
    longest_name = 200

    def __init__(self, url: URL, schema: str | None) -> None:
        self.path, self.schema = Path(str(url.database)), schema
        self.label = str(self.path)
        self.dialect = postgresql.dialect(paramstyle="qmark")  # type: ignore[no-untyped-call]

    @contextmanager
    def open(self, stream: str) -> Iterator[TargetSession]:
        try:
            connection = duckdb.connect(str(self.path))
            try:
                connection.execute(f"SET memory_limit = '{MEMORY}'")
                connection.execute("SET TimeZone = 'UTC'")
                connection.execute("SET preserve_insertion_order = false")
                yield DuckSession(connection, self)
            finally:
                connection.close()
        except duckdb.Error as error:
            raise self._explained(error, stream) from error

    def _explained(self, error: duckdb.Error, stream: str) -> DeliveryError:
        text = " ".join(first_line(error).split())
        remedy = "this is DuckDB's own message"
        if "lock" in text.lower():
            text, remedy = "another process has the file open", "end it; DuckDB lets one process write a file"
        elif "constraint" in text.lower():
            text, remedy = "a constraint of the table rejects a row", "drop constraints that qbcd did not make"
        return DeliveryError(f"{self.label}: {text}", remedy=f"{remedy}; the batch stays pending", stream=stream)

    def type_of(self, travel: Travel, *, key_parts: int = 0) -> str:
        if travel.element is not None:
            return f"{self.type_of(travel.element)}[]"
        if travel.kind == "decimal":
            return f"DECIMAL({travel.precision},{travel.scale})"
        return _TYPES[travel.kind]

    def holds(self, travel: Travel, existing: str) -> bool:
        if travel.kind in ("decimal", "uint64"):
            return decimal_holds(travel, existing)
        return existing in (self.type_of(travel).lower(), *_WIDER.get(travel.kind, ()))
