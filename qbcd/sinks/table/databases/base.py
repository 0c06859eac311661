"""A database that table sinks write to: its types, its bulk load, its transactions.

This is the small part that differs. Everything else, layouts and statements included, is shared.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
from sqlalchemy import Boolean, Select, TableClause, column, or_, select, table
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.elements import ColumnElement, quoted_name

from qbcd.connectors.facts import quoted
from qbcd.errors import DeliveryError
from qbcd.model import Travel
from qbcd.sinks.table.constraints import TableConstraints, Violation
from qbcd.sinks.table.layout import TargetColumn

Columns = Sequence[tuple[str, Travel]]
_NUMERIC = re.compile(r"(?:numeric|decimal)(?:\((\d+)(?:,\s*(\d+))?\))?")


@dataclass(frozen=True)
class ExistingTable:
    """A table that the target has.

    Attributes:
        types: Type of each column, as the database names it, in lower case.
        optional: The columns that an INSERT may leave out.
        keys: Column names of the primary key, then of each unique constraint or index.
        has_rows: It has a row.
    """

    types: dict[str, str]
    optional: frozenset[str]
    keys: tuple[frozenset[str], ...]
    has_rows: bool


class Misfit(Exception):
    """A value that a column of the target cannot hold; the text says which value."""


class TargetSession(ABC):
    """A session on a target."""

    @abstractmethod
    def run(self, statement: Executable) -> int:
        """Execute a statement; return the number of rows that it changed."""

    @abstractmethod
    def run_ddl(self, sql: str) -> None:
        """Execute a statement's text."""

    @abstractmethod
    def rows(self, statement: Executable) -> list[Any]:
        """Return the rows of a query."""

    @abstractmethod
    def transaction(self, *, ddl: bool = False) -> AbstractContextManager[None]:
        """A transaction for the block, in which an exception undoes everything; `ddl` lets one create at a time."""

    @abstractmethod
    def load(self, made: TableClause, columns: Columns, pieces: Iterable[Sequence[pa.Array]]) -> None:
        """Insert rows in bulk, piece by piece.

        Raises:
            DeliveryError: The table cannot hold a value; the error names the column.
        """

    @abstractmethod
    def violation(self, error: Exception) -> Violation | None:
        """Return the constraint that has rejected a row; None for other errors."""

    @abstractmethod
    def constraints(self, made: TableClause) -> TableConstraints:
        """Return the constraints of a table that exists."""

    @abstractmethod
    def describe(self, made: TableClause) -> ExistingTable | None:
        """Return the table that the target has, or None."""


class TargetDatabase(ABC):
    """A kind of database, at one place.

    Attributes:
        label: Its place, for messages.
        longest_name: Most characters of a table's or column's name.
        joins_in_delete: A DELETE can join another table.
        checks_each_row: Foreign keys are checked for each row, not at the end of a statement.
        keys_stage: A search for staged rows by their key needs an index.
        defer_sql: Statement that lets constraints which can wait be checked at the commit; empty without one.
        foreign_key_limit: More to say if a foreign key rejects a batch.
        exchange_remedy: The means by which rows can exchange unique values, for messages.
        schema: The schema of target tables, None for the database's default.
        dialect: SQLAlchemy's, for statements.
        sql_name: The dialect by its name in sqlglot, for identifiers.
        table_suffix: What follows the columns of CREATE TABLE.
    """

    label: str
    dialect: Dialect
    sql_name: str
    table_suffix: str = ""
    longest_name: int
    joins_in_delete: bool = True
    checks_each_row: bool = False
    keys_stage: bool = False
    defer_sql: str = ""
    foreign_key_limit: str = ""
    exchange_remedy: str = "a column that accepts NULL in the constraint"
    schema: str | None = None

    @abstractmethod
    def open(self, stream: str) -> AbstractContextManager[TargetSession]:
        """Open a session for the block.

        Raises:
            DeliveryError: The target cannot be reached, or refuses; the message has no secret.
        """

    @abstractmethod
    def type_of(self, travel: Travel, *, key_parts: int = 0) -> str:
        """Return the type of a column.

        Args:
            travel: The form of its values.
            key_parts: The number of columns in the table's key if this is one of them, else 0.
        """

    @abstractmethod
    def holds(self, travel: Travel, existing: str) -> bool:
        """Return True if a column of type `existing` holds every value exactly."""

    def convert(self, travel: Travel, values: pa.Array) -> pa.Array:
        """Return values in the form that `TargetSession.load` takes.

        Raises:
            Misfit: The target cannot hold one of them.
        """
        return values

    def instant(self, ms: int) -> datetime | str:
        """Return milliseconds since 1970 UTC as a value of a column for ``timestamptz``."""
        return datetime.fromtimestamp(ms / 1000, timezone.utc).replace(microsecond=ms % 1000 * 1000)

    def differs(self, old: ColumnElement[Any], new: ColumnElement[Any], travel: Travel) -> ColumnElement[bool]:
        """Return the condition that two values are not the same; NULL is the same as NULL.

        It may be true for equal values, as for 0.0, which a database does not distinguish from -0.0.
        """
        changed = old.is_distinct_from(new)
        return or_(changed, old == 0) if travel.kind in ("float32", "float64") else changed

    def selected_for_insert(self, columns: Sequence[ColumnElement[Any]]) -> Select[Any]:
        """Return the SELECT of an INSERT that sets every column, also those that the table numbers itself."""
        return select(*columns)

    def table(self, name: str, columns: Sequence[tuple[str, Travel | None]], *, temporary: bool = False) -> TableClause:
        """Return a table for SQLAlchemy Core; a temporary one belongs to its session."""
        # always in quotes: reserved words differ, and some databases fold letters
        made: list[Any] = [
            column(quoted_name(n, True), Boolean() if travel and travel.kind == "boolean" else None)
            for n, travel in columns
        ]
        schema = None if temporary or self.schema is None else quoted_name(self.schema, True)
        return table(quoted_name(name, True), *made, schema=schema)

    def create(self, made: TableClause, columns: Sequence[TargetColumn], *, temporary: bool = False) -> str:
        """Return CREATE TABLE, with a primary key if columns are in it."""
        key = [one.name for one in columns if one.in_key]
        parts = [
            f"{self.quoted(one.name)} {self.type_of(one.travel, key_parts=len(key) if one.in_key else 0)}"
            f"{' NOT NULL' if one.required else ''}"
            for one in columns
        ]
        parts += [f"PRIMARY KEY ({', '.join(map(self.quoted, key))})"] if key else []
        kind = "TEMPORARY TABLE" if temporary else "TABLE"
        return f"CREATE {kind} {self.named(made)} ({', '.join(parts)}){self.table_suffix}"

    def add_column(self, made: TableClause, one: TargetColumn) -> str:
        """Return ALTER TABLE that adds a column, NULL in the rows that are there."""
        return f"ALTER TABLE {self.named(made)} ADD COLUMN {self.quoted(one.name)} {self.type_of(one.travel)}"

    def named(self, made: TableClause) -> str:
        """Return a table's name as SQL."""
        return ".".join(self.quoted(part) for part in (made.schema, made.name) if part)

    def quoted(self, name: str) -> str:
        """Return an identifier as SQL."""
        return quoted(name, self.sql_name)

    def converted(self, columns: Columns, piece: Sequence[pa.Array]) -> list[pa.Array]:
        """Return the arrays of one piece, converted.

        Raises:
            DeliveryError: The target cannot hold a value.
        """
        made = []
        for (name, travel), values in zip(columns, piece, strict=True):
            try:
                made.append(self.convert(travel, values))
            except Misfit as error:
                raise DeliveryError(
                    f"column {name} of the target cannot hold {error}",
                    remedy=f"exclude column {name}; or types: {{{name}: text}}, then qbcd reset and prepare",
                ) from error
        return made


def decimal_size(existing: str) -> tuple[int, int] | None:
    """Return precision and scale of a type ``numeric(p,s)``; None for others."""
    found = _NUMERIC.fullmatch(existing)
    return (int(found[1]), int(found[2] or 0)) if found and found[1] else None


def decimal_holds(travel: Travel, existing: str, unlimited: str = "") -> bool:
    """Return True if ``numeric(p,s)`` holds all values of a decimal or an unsigned integer.

    Args:
        travel: The form of the values.
        existing: The type.
        unlimited: The name of a type without limits, if the database has one.
    """
    precision, scale = (20, 0) if travel.kind == "uint64" else (travel.precision, travel.scale)
    if existing == unlimited:
        return True
    found = decimal_size(existing)
    if found is None:
        return False
    there, places = found
    return places >= scale and there - places >= precision - scale
