"""SQLite as a target: one file, and few types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlalchemy import TableClause, create_engine, event
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.pool import NullPool
from sqlalchemy.sql.elements import ColumnElement
from typing_extensions import override

from qbcd.errors import DeliveryError
from qbcd.model import Travel
from qbcd.sinks.table.constraints import Reference, Violation, ViolationKind
from qbcd.sinks.table.databases.base import (
    ExistingColumn,
    ExistingTable,
    TargetDatabase,
    TargetSession,
    ascii_lower,
    scratch_beside,
)
from qbcd.sinks.table.databases.engines import EngineDatabase
from qbcd.sinks.table.flat_rows import event_texts

LOCK_WAIT = 30.0  # seconds
_TYPES = {
    "boolean": "boolean",
    "int16": "integer",
    "int32": "integer",
    "int64": "integer",
    "float32": "real",
    "float64": "real",
    "binary": "blob",
}
_OBJECT = "SELECT name, type, sql FROM main.sqlite_master WHERE name = ? COLLATE NOCASE AND type <> 'trigger'"
_COLUMNS = (
    """SELECT name, lower(type), "notnull", dflt_value IS NOT NULL, hidden, pk FROM pragma_table_xinfo(?, 'main')"""
)
_PRIMARY = "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE pk > 0 ORDER BY pk"
_INDEXES = """SELECT name, partial FROM pragma_index_list(?, 'main') WHERE "unique" ORDER BY name"""
_INDEXED = "SELECT name FROM pragma_index_xinfo(?, 'main') WHERE key ORDER BY seqno"
_GENERATED = (2, 3)
_FOLDS = "nocase or rtrim"
# By words of SQLite's messages: its codes are not in Python 3.10.
_REMEDIES = {
    ("is locked",): "another process writes the file; the next poll tries again",
    ("is full",): "free space on the disk of the file",
    ("readonly", "unable to open"): "let the account of qbcd write the file and its folder",
    ("constraint failed",): "the table has rows or constraints that qbcd did not make; remove them",
    ("malformed", "not a database"): "the file is damaged; restore it, or remove it and send the rows by qbcd resend",
    ("disk I/O error",): "look for errors of the disk or its file system",
    ("no such", "has no column", "syntax error"): "the table was changed; undo that, or drop it and use qbcd resend",
}
_WHOLE = ("integer", "int", "bigint")
_VIOLATIONS: dict[str, ViolationKind] = {
    "UNIQUE": "unique",
    "FOREIGN KEY": "foreign key",
    "NOT NULL": "not null",
    "CHECK": "check",
}
_VIOLATED = re.compile(r"^(?P<kind>[A-Z ]+) constraint failed(?:: (?P<name>.*))?$")


class SqliteTarget(EngineDatabase):
    """A file of SQLite as a target.

    Decimals, dates and times are texts, since numbers of SQLite would round them.
    """

    product, sql_name = "SQLite", "sqlite"
    longest_name = 200
    joins_in_delete = False
    keys_stage = True
    mark = "?"
    defer_sql = "PRAGMA defer_foreign_keys = ON"

    def __init__(self, url: URL) -> None:
        self.url, self.label = url, str(url.database)
        self.dialect = sqlite.dialect()

    @override
    def engine(self, stream: str) -> Engine:
        engine = create_engine(
            self.url,
            poolclass=NullPool,
            hide_parameters=True,
            connect_args={"timeout": LOCK_WAIT},
            enable_from_linting=False,  # the rows of a result of one row have no key to join by
        )

        def plain(connection: Any, _record: object) -> None:
            connection.isolation_level = None  # transactions begin where `begin` says, not where the driver guesses

        event.listen(engine, "connect", plain)
        return engine

    @override
    def prepare(self, connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA synchronous = EXTRA")

    @override
    def begin(self, connection: Connection, *, ddl: bool) -> None:
        # SQLite ignores foreign keys by default; a table that is rebuilt must not be deleted from by them
        connection.exec_driver_sql(f"PRAGMA foreign_keys = {'OFF' if ddl else 'ON'}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    @override
    def explain(self, error: Exception, stream: str) -> Exception:
        text = " ".join(str(getattr(error, "orig", error)).split())
        known = [remedy for words, remedy in _REMEDIES.items() if any(one in text for one in words)]
        remedy = "; ".join([*known[:1], "the batch stays pending"])
        return DeliveryError(f"{self.label}: {text}", remedy=remedy, stream=stream)

    @property
    @override
    def identity(self) -> str:
        return str(Path(self.label).resolve())

    @override
    def name_problem(self, name: str, *, of_column: bool) -> str:
        reserved = not of_column and name.lower().startswith("sqlite_")
        return "begins with sqlite_, which is reserved" if reserved else ""

    @override
    def folded(self, name: str) -> str:
        return ascii_lower(name)

    @contextmanager
    @override
    def proving(self) -> Iterator[TargetDatabase]:
        with scratch_beside(Path(self.label)) as path:
            if path is None:
                yield self
                return
            made = SqliteTarget(self.url.set(database=str(path)))
            made.label = self.label
            yield made

    @override
    def find(self, connection: Connection, made: TableClause) -> ExistingTable | None:
        rows = connection.exec_driver_sql(_OBJECT, (made.name,)).fetchall()
        if not rows:
            return None
        name, kind, sql = rows[0]
        if kind != "table" or str(sql).upper().startswith("CREATE VIRTUAL"):
            return ExistingTable((), kind="virtual table" if kind == "table" else kind)
        columns = connection.exec_driver_sql(_COLUMNS, (name,)).fetchall()
        folding = self._folding(connection, name, [row[0] for row in columns])
        primary, keys, partial = self._keys(connection, name)
        return ExistingTable(
            tuple(
                ExistingColumn(
                    column,
                    f"{declared} collate {_FOLDS}" if column in folding else declared,
                    optional=not not_null or has_default or hidden in _GENERATED,
                    not_null=bool(not_null),
                    generated=hidden in _GENERATED,
                    numbered=bool(pk) and declared == "integer" and sum(row[5] > 0 for row in columns) == 1,
                )
                for column, declared, not_null, has_default, hidden, pk in columns
            ),
            keys=keys,
            primary=primary,
            partial_keys=partial,
        )

    def _folding(self, connection: Connection, name: str, columns: Sequence[str]) -> set[str]:
        """Return the columns that compare texts without case, or without spaces at their end."""
        probed = ", ".join(f"{self.quoted(column)} AS x{i}" for i, column in enumerate(columns))
        letters = ", ".join(["'a'"] * len(columns))
        tests = ", ".join(f"x{i} IN ('A', 'a ')" for i in range(len(columns)))
        sql = f"SELECT {tests} FROM (SELECT {probed} FROM main.{self.quoted(name)} WHERE 0 UNION ALL SELECT {letters})"
        row = connection.exec_driver_sql(sql).fetchone()
        assert row is not None
        return {column for column, folds in zip(columns, row, strict=True) if folds}

    def _keys(
        self, connection: Connection, name: str
    ) -> tuple[frozenset[str], tuple[frozenset[str], ...], dict[str, tuple[str, ...]]]:
        """Return the primary key, the unique keys, and the columns of other unique indexes.

        The unique keys are all that hold for all rows.
        """
        primary = frozenset(row[0] for row in connection.exec_driver_sql(_PRIMARY, (name,)).fetchall())
        whole, partial = [primary] if primary else [], {}
        for index, is_partial in connection.exec_driver_sql(_INDEXES, (name,)).fetchall():
            names = [row[0] for row in connection.exec_driver_sql(_INDEXED, (index,)).fetchall()]
            if is_partial or None in names:
                partial[index] = tuple(one for one in names if one is not None)
            else:
                whole.append(frozenset(names))
        return primary, tuple(dict.fromkeys(whole)), partial

    @override
    def violation(self, error: BaseException | None) -> Violation | None:
        found = _VIOLATED.match(str(error))
        kind = _VIOLATIONS.get(found["kind"]) if found else None
        return Violation(kind, found["name"] or "") if found and kind else None

    @override
    def references(self, connection: Connection, made: TableClause) -> Iterable[Reference]:
        tables = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars().all()
        for table in tables:
            rows = connection.exec_driver_sql(f"PRAGMA foreign_key_list({self.quoted(table)})").fetchall()
            mine = sorted((row for row in rows if row[2].lower() == made.name.lower()), key=lambda row: row[:2])
            for (_, action), parts in groupby(mine, lambda row: (row[0], row[6])):
                columns = [(row[3], row[4] or row[3]) for row in parts]
                pairs = tuple(one for one, _ in columns), tuple(other for _, other in columns)
                yield Reference("", None, table, *pairs, refuses=action in ("NO ACTION", "RESTRICT"))

    @override
    def has_triggers(self, connection: Connection, made: TableClause) -> bool:
        sql = "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND lower(tbl_name) = lower(?)"
        return bool(connection.exec_driver_sql(sql, (made.name,)).scalar())

    @override
    def differs(self, old: ColumnElement[Any], new: ColumnElement[Any], travel: Travel) -> ColumnElement[bool]:
        exact = old.collate("BINARY") if self.type_of(travel) == "text" else old  # a column may ignore case
        return super().differs(exact, new, travel)

    @override
    def type_of(self, travel: Travel, *, key_parts: int = 0) -> str:
        return _TYPES.get(travel.kind, "text")

    @override
    def holds(self, travel: Travel, existing: str) -> bool:
        mine = self.type_of(travel)
        return existing == mine or (mine == "integer" and existing in _WHOLE)

    @override
    def retype(
        self, session: TargetSession, made: TableClause, found: ExistingTable, wider: Mapping[str, Travel]
    ) -> list[str]:
        """Return none: a type is a preference of the column, and there is no statement to change it."""
        return []

    @override
    def convert(self, travel: Travel, values: pa.Array) -> pa.Array:
        if self.type_of(travel) == "text":
            return event_texts(values, travel)
        return values

    @override
    def instant(self, ms: int) -> str:
        return f"{super().instant(ms):%Y-%m-%dT%H:%M:%S.%f}Z"
