"""A database that table sinks write to: its types, its bulk load, its transactions.

This is the small part that differs. Everything else, layouts and statements included, is shared.
"""

from __future__ import annotations

import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
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
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_NUMERIC = re.compile(r"(?:numeric|decimal)(?:\((\d+)(?:,\s*(\d+))?\))?")


@dataclass(frozen=True)
class ExistingColumn:
    """A column of a table that the target has.

    Attributes:
        kind: Its type, as the database names it, in lower case.
        optional: An INSERT may leave it out.
        not_null: It cannot be NULL.
        generated: The database computes its values.
        numbered: An INSERT that leaves it out gets a new number.
        always: It is GENERATED ALWAYS AS IDENTITY.
    """

    name: str
    kind: str
    optional: bool
    not_null: bool = False
    generated: bool = False
    numbered: bool = False
    always: bool = False


@dataclass(frozen=True)
class TableProblem:
    """A reason why batches cannot be applied to a table, and the remedy.

    The reason is the text that follows the table's name in a message.

    Both may have the placeholder ``{table}``, the table's name as SQL.
    """

    what: str
    remedy: str


@dataclass(frozen=True)
class ExistingTable:
    """A table that the target has.

    Attributes:
        columns: All columns that statements can name.
        keys: Column names of each unique constraint or index that holds for all rows, the primary key first.
        has_rows: It has a row.
        kind: The kind of another object of that name, such as ``view``.
        primary: Column names of the primary key.
        partial_keys: Unique indexes of expressions or of some rows, and exclusion constraints: what each is, and its
            columns as far as they are known.
        unfit: Why batches cannot be applied to it, by the database.
    """

    columns: tuple[ExistingColumn, ...]
    keys: tuple[frozenset[str], ...] = ()
    has_rows: bool = False
    kind: str = "table"
    primary: frozenset[str] = frozenset()
    partial_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unfit: tuple[TableProblem, ...] = ()

    @property
    def types(self) -> dict[str, str]:
        """Type of each column."""
        return {one.name: one.kind for one in self.columns}

    @property
    def optional(self) -> frozenset[str]:
        """The columns that an INSERT may leave out."""
        return frozenset(one.name for one in self.columns if one.optional)


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
        """Run the block in a transaction; an exception undoes everything.

        `ddl` lets one create at a time.
        """

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

    @abstractmethod
    def refuse_unwritable(self, made: TableClause, rights: Sequence[str]) -> None:
        """Refuse a server, a schema or a user that cannot write to a table.

        These are a server that accepts no writes, a schema that does not exist, and a user without rights on the table.
        Rights that an attempt shows as well need not be checked. A table that does not exist needs CREATE, too.

        Args:
            rights: Words of GRANT, or ``ALTER`` for a change of the table.

        Raises:
            DeliveryError: Batches cannot be written.
        """


class TargetDatabase(ABC):
    """A kind of database, at one place.

    Attributes:
        label: Its place, for messages.
        product: The name of the database, for messages.
        longest_name: Most units of a table's or column's name, of which :meth:`name_length` counts them.
        undoes_ddl: A transaction that is rolled back undoes the creation of tables too.
        joins_in_delete: A DELETE can join another table.
        checks_each_row: Foreign keys are checked for each row, not at the end of a statement.
        keys_stage: A search for staged rows by their key needs an index.
        stage_key: Definition of a column that is the key of staged rows without one, since servers can refuse tables
            without a key.
        defer_sql: Statement that lets constraints which can wait be checked at the commit; empty without one.
        foreign_key_limit: More to say if a foreign key rejects a batch.
        exchange_remedy: The means by which rows can exchange unique values, for messages.
        schema: The schema of target tables, None for the database's default.
        dialect: SQLAlchemy's, for statements.
        sql_name: The dialect by its name in sqlglot, for identifiers.
        table_suffix: What follows the columns of CREATE TABLE.
    """

    label: str
    product: str
    dialect: Dialect
    sql_name: str
    table_suffix: str = ""
    longest_name: int
    unit: str = "characters"
    undoes_ddl: bool = True
    joins_in_delete: bool = True
    checks_each_row: bool = False
    keys_stage: bool = False
    stage_key: str = ""
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

    @property
    @abstractmethod
    def identity(self) -> str:
        """The place of its tables, equal for two sinks that write to one place."""

    def name_length(self, name: str) -> int:
        """Return the length of a name, in units of `longest_name`."""
        return len(name)

    def name_problem(self, name: str, *, of_column: bool) -> str:
        """Return why the database takes no table or column of this name; usually empty.

        The name's length is not judged here.
        """
        return ""

    def folded(self, name: str) -> str:
        """Return a name such that two columns have equal ones if the database takes them for one."""
        return name

    def folded_table(self, name: str) -> str:
        """Return the same for the name of a table."""
        return self.folded(name)

    def limit_of(self, travel: Travel, existing: str) -> int | None:
        """Return the most characters or bytes of a column whose type limits them.

        Return None for a column without a limit.
        """
        return None

    @contextmanager
    def proving(self) -> Iterator[TargetDatabase]:
        """Yield the database for an attempt.

        It is this one, or an empty one in place of a file that does not exist yet.
        """
        yield self

    @abstractmethod
    def type_of(self, travel: Travel, *, key_parts: int = 0) -> str:
        """Return the type of a column.

        Args:
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
        """Return the SELECT of an INSERT that sets every column.

        It also sets columns that the table numbers itself.
        """
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
        kind = "TEMPORARY TABLE" if temporary else "TABLE"
        return f"CREATE {kind} {self.named(made)} ({', '.join(self._definitions(columns))}){self.table_suffix}"

    def create_stage(self, made: TableClause, columns: Sequence[TargetColumn]) -> str:
        """Return CREATE TEMPORARY TABLE for staged rows."""
        keyed = not self.stage_key or any(one.in_key for one in columns)
        parts = [*([] if keyed else [self.stage_key]), *self._definitions(columns)]
        return f"CREATE TEMPORARY TABLE {self.named(made)} ({', '.join(parts)}){self.table_suffix}"

    def _definitions(self, columns: Sequence[TargetColumn]) -> list[str]:
        """Return the definitions of columns, and of the primary key if some are in it."""
        key = [one.name for one in columns if one.in_key]
        parts = [
            f"{self.quoted(one.name)} {self.type_of(one.travel, key_parts=len(key) if one.in_key else 0)}"
            f"{' NOT NULL' if one.required else ''}"
            for one in columns
        ]
        return [*parts, *([f"PRIMARY KEY ({', '.join(map(self.quoted, key))})"] if key else [])]

    def add_column(self, made: TableClause, one: TargetColumn) -> str:
        """Return ALTER TABLE that adds a column, NULL in the rows that are there."""
        return f"ALTER TABLE {self.named(made)} ADD COLUMN {self.quoted(one.name)} {self.type_of(one.travel)}"

    def retype(
        self, session: TargetSession, made: TableClause, found: ExistingTable, wider: Mapping[str, Travel]
    ) -> list[str]:
        """Return the statements that give columns of a table wider types, without another change.

        Args:
            wider: Names of columns, as the table has them, with the form of their values; at least one.

        Returns:
            The statements; none if the database has no statement for it.
        """
        parts = (f"ALTER COLUMN {self.quoted(name)} TYPE {self.type_of(travel)}" for name, travel in wider.items())
        return [f"ALTER TABLE {self.named(made)} {', '.join(parts)}"]

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


def ascii_lower(name: str) -> str:
    """Return a name with its letters A to Z in lower case, as file databases compare names."""
    return name.translate(_LOWER)


@contextmanager
def scratch_beside(path: Path) -> Iterator[Path | None]:
    """A path in a new folder next to `path`, which is removed; None if `path` exists already.

    Raises:
        DeliveryError: The folder of `path` is missing, or cannot be written.
    """
    if path.exists():
        yield None
        return
    try:
        folder = tempfile.TemporaryDirectory(prefix=".qbcd-check-", dir=path.parent)
    except OSError as error:
        raise DeliveryError(
            f"{path} cannot be created: {error.strerror}: {path.parent}",
            remedy="create the folder, or check its owner, rights and free space",
        ) from error
    with folder as name:
        yield Path(name) / path.name


def decimal_size(existing: str) -> tuple[int, int] | None:
    """Return precision and scale of a type ``numeric(p,s)``; None for others."""
    found = _NUMERIC.fullmatch(existing)
    return (int(found[1]), int(found[2] or 0)) if found and found[1] else None


def decimal_holds(travel: Travel, existing: str, unlimited: str = "") -> bool:
    """Return True if ``numeric(p,s)`` holds all values of a decimal or an unsigned integer.

    Args:
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
