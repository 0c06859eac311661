"""DuckDB as a target, through its own API: it reads Arrow as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlalchemy import TableClause, func, select, table
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import URL
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.elements import ColumnElement, quoted_name
from typing_extensions import override

from qbcd.errors import DeliveryError
from qbcd.local.errors import first_line
from qbcd.model import Travel
from qbcd.sinks.table.constraints import Reference, TableConstraints, Violation, ViolationKind
from qbcd.sinks.table.databases.base import (
    Columns,
    ExistingColumn,
    ExistingTable,
    TargetDatabase,
    TargetSession,
    ascii_lower,
    decimal_holds,
    scratch_beside,
)

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
_OBJECT = """
SELECT table_name, lower(sql) FROM duckdb_tables()
WHERE database_name = current_database() AND schema_name = ? AND lower(table_name) = lower(?)
"""
_VIEW = """
SELECT 1 FROM duckdb_views()
WHERE database_name = current_database() AND schema_name = ? AND lower(view_name) = lower(?)
"""
_SCHEMA = """
SELECT 1 FROM information_schema.schemata WHERE catalog_name = current_database() AND schema_name = ?
"""
_UNIQUE_KEYS = """
SELECT constraint_column_names FROM duckdb_constraints() WHERE database_name = current_database()
AND schema_name = ? AND table_name = ? AND constraint_type IN ('PRIMARY KEY', 'UNIQUE') ORDER BY constraint_type
"""
_UNIQUE_INDEXES = """
SELECT sql, CAST(expressions AS VARCHAR[]) FROM duckdb_indexes()
WHERE database_name = current_database() AND schema_name = ? AND table_name = ? AND is_unique ORDER BY index_name
"""
_WIDER = {
    "int16": ("integer", "bigint", "hugeint"),
    "int32": ("bigint", "hugeint"),
    "int64": ("hugeint",),
    "float32": ("double",),
}
_COLUMNS = """
SELECT column_name, lower(data_type), is_nullable, {generated}, column_default FROM duckdb_columns()
WHERE database_name = current_database() AND schema_name = ? AND table_name = ? ORDER BY column_index
"""
_KEYS = """
SELECT constraint_type, constraint_column_names FROM duckdb_constraints()
WHERE database_name = current_database() AND schema_name = ? AND table_name = ?
AND constraint_type IN ('UNIQUE', 'FOREIGN KEY')
"""
_INDEXES = """
SELECT is_unique, expressions FROM duckdb_indexes()
WHERE database_name = current_database() AND schema_name = ? AND table_name = ?
"""
_REFERENCES = """
SELECT constraint_name, schema_name, table_name, constraint_column_names, referenced_column_names
FROM duckdb_constraints()
WHERE database_name = current_database() AND schema_name = ? AND referenced_table = ?
AND constraint_type = 'FOREIGN KEY'
"""
_NESTED = ("struct", "map", "union")
_VIOLATIONS: dict[str, ViolationKind] = {
    "foreign key": "foreign key",
    "duplicate key": "unique",
    "unique constraint": "unique",
    "primary key": "unique",
    "not null": "not null",
    "check constraint": "check",
}


def _words(expressions: str) -> frozenset[str]:
    """Return the names in the expressions of an index."""
    return frozenset(quoted or plain for quoted, plain in re.findall(r'"([^"]+)"|(\w+)', expressions))


class DuckSession(TargetSession):
    """A connection of DuckDB."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, database: DuckTarget) -> None:
        self.connection, self.database = connection, database

    @override
    def run(self, statement: Executable) -> int:
        found = self._execute(statement).fetchone()
        return int(found[0]) if found else 0

    @override
    def run_ddl(self, sql: str) -> None:
        self.connection.execute(sql)

    @override
    def rows(self, statement: Executable) -> list[Any]:
        return self._execute(statement).fetchall()

    def _execute(self, statement: Executable) -> duckdb.DuckDBPyConnection:
        compiled = statement.compile(  # type: ignore[attr-defined]
            dialect=self.database.dialect, compile_kwargs={"render_postcompile": True}
        )
        values = [compiled.params[name] for name in compiled.positiontup]
        return self.connection.execute(str(compiled), values)

    @contextmanager
    @override
    def transaction(self, *, ddl: bool = False) -> Iterator[None]:
        self.connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")  # one that fails has rolled back

    @override
    def load(self, made: TableClause, columns: Columns, pieces: Iterable[Sequence[pa.Array]]) -> None:
        names = [self.database.quoted(name) for name, _ in columns]
        sql = f"INSERT INTO {self.database.named(made)} ({', '.join(names)}) SELECT * FROM {_INCOMING}"
        for piece in pieces:
            arrays = self.database.converted(columns, piece)
            rows = pa.Table.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))])
            self.connection.register(_INCOMING, rows)
            self.connection.execute(sql)
            self.connection.unregister(_INCOMING)  # after an error the transaction would refuse it

    @override
    def violation(self, error: Exception) -> Violation | None:
        if not isinstance(error, (duckdb.ConstraintException, duckdb.TransactionException)):
            return None
        text = str(error)
        kind = next((kind for mark, kind in _VIOLATIONS.items() if mark in text.lower()), None)
        return None if kind is None else Violation(kind)

    @override
    def constraints(self, made: TableClause) -> TableConstraints:
        found = self.connection.execute(_OBJECT, [made.schema or "main", made.name]).fetchone()
        place = [made.schema or "main", found[0] if found else made.name]
        columns = self._columns(made, place)
        keys = [(kind, tuple(names)) for kind, names in self.connection.execute(_KEYS, place).fetchall()]
        indexes = [(one, _words(text)) for one, text in self.connection.execute(_INDEXES, place).fetchall()]
        names = [name for name, *_ in columns]
        indexed = [(one, tuple(name for name in names if name in words)) for one, words in indexes]
        unique = [key for kind, key in keys if kind == "UNIQUE"] + [key for is_unique, key in indexed if is_unique]
        moving = {name for _, key in (*keys, *indexed) for name in key}
        moving |= {name for name, kind, *_ in columns if kind.endswith("]") or kind.startswith(_NESTED)}
        references = self.connection.execute(_REFERENCES, place).fetchall()
        return TableConstraints(
            columns=tuple(name for name, _, _, is_generated, _ in columns if not is_generated),
            nullable=frozenset(name for name, _, is_nullable, *_ in columns if is_nullable),
            unique=tuple(key for key in unique if key),
            references=tuple(Reference(n, s, t, tuple(own), tuple(other)) for n, s, t, own, other in references),
            moving=frozenset(moving),
        )

    def _columns(self, made: TableClause, place: list[str]) -> list[tuple[Any, ...]]:
        """Return name, type, nullable, generated and default of each column.

        DuckDB before 2.0 does not list generated columns, but refuses to plan an INSERT into one.
        """
        known = {name for name, *_ in self.connection.execute("DESCRIBE FROM duckdb_columns()").fetchall()}
        if "is_generated" in known:
            return self.connection.execute(_COLUMNS.format(generated="is_generated"), place).fetchall()
        listed = self.connection.execute(_COLUMNS.format(generated="false"), place).fetchall()
        return [
            (name, kind, nullable, default is not None and self._is_generated(made, name), default)
            for name, kind, nullable, _, default in listed
        ]

    def _is_generated(self, made: TableClause, column: str) -> bool:
        insert = f"INSERT INTO {self.database.named(made)} ({self.database.quoted(column)}) VALUES (NULL)"
        try:
            self.connection.execute(f"EXPLAIN {insert}")
        except duckdb.BinderException as error:
            if "generated column" in str(error):
                return True
            raise
        return False

    def has_extras(self, made: TableClause) -> bool:
        """Return True if a table has an index, a default, or a further constraint.

        Further ones are all except NOT NULL and its primary key.
        """
        place = [made.schema or "main", made.name]
        return any(
            self.connection.execute(
                f"SELECT 1 FROM {view} WHERE database_name = current_database() AND schema_name = ? "
                f"AND table_name = ? AND {condition} LIMIT 1",
                place,
            ).fetchall()
            for view, condition in (
                ("duckdb_indexes()", "TRUE"),
                ("duckdb_columns()", "column_default IS NOT NULL"),
                ("duckdb_constraints()", "constraint_type NOT IN ('PRIMARY KEY', 'NOT NULL')"),
            )
        )

    @override
    def describe(self, made: TableClause) -> ExistingTable | None:
        place = [made.schema or "main", made.name]
        found = self.connection.execute(_OBJECT, place).fetchone()
        if found is None:
            return ExistingTable((), kind="view") if self.connection.execute(_VIEW, place).fetchall() else None
        place = [place[0], found[0]]
        columns = self._columns(made, place)
        keys = [(frozenset(names), "") for (names,) in self.connection.execute(_UNIQUE_KEYS, place).fetchall()]
        keys += [_of_index(*row) for row in self.connection.execute(_UNIQUE_INDEXES, place).fetchall()]
        texts = [name for name, kind, *_ in columns if kind == "varchar" and "collate" in str(found[1])]
        folding = self._folding(made, texts) if texts else set()
        return ExistingTable(
            tuple(
                ExistingColumn(
                    name,
                    f"{kind} collate nocase or noaccent" if name in folding else kind,
                    optional=is_nullable or default is not None or generated,
                    not_null=not is_nullable,
                    generated=generated,
                    numbered=str(default).startswith("nextval("),
                )
                for name, kind, is_nullable, generated, default in columns
            ),
            keys=tuple(dict.fromkeys(names for names, text in keys if not text)),
            partial_keys={text: () for _, text in keys if text},
            has_rows=bool(self.rows(select(1).select_from(made).limit(1))),
        )

    def _folding(self, made: TableClause, columns: Sequence[str]) -> set[str]:
        """Return the columns that compare texts without case or accents."""
        probed = ", ".join(f"{self.database.quoted(name)} AS x{i}" for i, name in enumerate(columns))
        letters = ", ".join(["'é'"] * len(columns))
        tests = ", ".join(f"x{i} IN ('É', 'e')" for i in range(len(columns)))
        table = self.database.named(made)
        sql = f"SELECT {tests} FROM (SELECT {probed} FROM {table} WHERE false UNION ALL SELECT {letters})"
        row = self.connection.execute(sql).fetchone()
        assert row is not None
        return {name for name, folds in zip(columns, row, strict=True) if folds}

    @override
    def refuse_unwritable(self, made: TableClause, rights: Sequence[str]) -> None:
        schema = self.database.schema
        if schema and not self.connection.execute(_SCHEMA, [schema]).fetchall():
            remedy = f"CREATE SCHEMA {self.database.quoted(schema)}, or name another `schema` for the sink"
            raise DeliveryError(f"{self.database.label}: schema {schema} does not exist", remedy=remedy)


def _of_index(sql: str, expressions: Sequence[str]) -> tuple[frozenset[str], str]:
    """Return the columns of a unique index, or its text if it is of an expression."""
    names = [_plain_name(one) for one in expressions]
    return (frozenset(), sql) if "" in names else (frozenset(names), "")


def _plain_name(expression: str) -> str:
    """Return the name of a column, or an empty text for another expression."""
    text = expression.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    return text if text.isidentifier() else ""


class DuckTarget(TargetDatabase):
    """A file of DuckDB; one process at a time has it open."""

    product, sql_name = "DuckDB", "duckdb"
    foreign_key_limit = (
        "; DuckDB cannot change lists or indexed columns of a row to which a foreign key refers, nor take a row "
        "together with the one that it refers to"
    )
    longest_name = 200

    def __init__(self, url: URL, schema: str | None) -> None:
        self._url, self.path, self.schema = url, Path(str(url.database)), schema
        self.label = str(self.path)
        self.dialect = postgresql.dialect(paramstyle="qmark")  # type: ignore[no-untyped-call]

    @property
    @override
    def identity(self) -> str:
        return f"{self.path.resolve()}/{self.schema or 'main'}"

    @override
    def folded(self, name: str) -> str:
        return ascii_lower(name)

    @contextmanager
    @override
    def proving(self) -> Iterator[TargetDatabase]:
        with scratch_beside(self.path) as path:
            if path is None:
                yield self
                return
            made = DuckTarget(self._url.set(database=str(path)), self.schema)
            made.label = self.label
            yield made

    @contextmanager
    @override
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

    @override
    def differs(self, old: ColumnElement[Any], new: ColumnElement[Any], travel: Travel) -> ColumnElement[bool]:
        if travel.kind in ("text", "time"):
            return func.encode(old).is_distinct_from(func.encode(new))  # a column may ignore case
        return super().differs(old, new, travel)

    @override
    def type_of(self, travel: Travel, *, key_parts: int = 0) -> str:
        if travel.element is not None:
            return f"{self.type_of(travel.element)}[]"
        if travel.kind == "decimal":
            return f"DECIMAL({travel.precision},{travel.scale})"
        return _TYPES[travel.kind]

    @override
    def retype(
        self, session: TargetSession, made: TableClause, found: ExistingTable, wider: Mapping[str, Travel]
    ) -> list[str]:
        """A table whose key column gets wider is made again, since DuckDB cannot alter it.

        That would lose indexes, defaults and other constraints, so a table with any is left as it is.
        """
        assert isinstance(session, DuckSession)
        key = [name for name in found.types if any(name in one for one in found.keys)]
        if not any(name in key for name in wider) or session.has_extras(made):
            name = self.named(made)
            return [
                f"ALTER TABLE {name} ALTER COLUMN {self.quoted(column)} TYPE {self.type_of(travel)}"
                for column, travel in wider.items()
            ]
        again = table(quoted_name(f"{made.name}_qbcd", True), schema=made.schema)
        columns = [
            f"{self.quoted(name)} {self.type_of(wider[name]) if name in wider else kind}"
            f"{'' if name in found.optional else ' NOT NULL'}"
            for name, kind in found.types.items()
        ]
        columns.append(f"PRIMARY KEY ({', '.join(map(self.quoted, key))})")
        return [
            f"CREATE TABLE {self.named(again)} ({', '.join(columns)})",
            f"INSERT INTO {self.named(again)} SELECT * FROM {self.named(made)}",
            f"DROP TABLE {self.named(made)}",
            f"ALTER TABLE {self.named(again)} RENAME TO {self.quoted(made.name)}",
        ]

    @override
    def holds(self, travel: Travel, existing: str) -> bool:
        if travel.kind in ("decimal", "uint64"):
            return decimal_holds(travel, existing)
        return existing in (self.type_of(travel).lower(), *_WIDER.get(travel.kind, ()))
