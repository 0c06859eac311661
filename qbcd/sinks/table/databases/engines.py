"""Sessions by SQLAlchemy's engines: PostgreSQL, MariaDB and MySQL, SQLite."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa
from sqlalchemy import TableClause, select
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.sql.base import Executable
from typing_extensions import override

from qbcd.sinks.table.constraints import Reference, TableConstraints, Violation
from qbcd.sinks.table.databases.base import Columns, ExistingTable, TargetDatabase, TargetSession

ROWS_AT_ONCE = 20_000  # of one call of the driver


class EngineSession(TargetSession):
    """A session on a target, by SQLAlchemy."""

    def __init__(self, connection: Connection, database: EngineDatabase) -> None:
        self.connection, self.database = connection, database

    @override
    def run(self, statement: Executable) -> int:
        return int(self.connection.execute(statement).rowcount)

    @override
    def run_ddl(self, sql: str) -> None:
        self.connection.exec_driver_sql(sql, execution_options={"no_parameters": True})

    @override
    def rows(self, statement: Executable) -> list[Any]:
        return list(self.connection.execute(statement).fetchall())

    @contextmanager
    @override
    def transaction(self, *, ddl: bool = False) -> Iterator[None]:
        try:
            self.database.begin(self.connection, ddl=ddl)
            yield
        except BaseException:
            with suppress(DBAPIError):  # of a session that has ended, whose first error says more
                self.connection.rollback()
            raise
        try:
            self.connection.commit()
        except BaseException:  # a constraint may be checked here; then SQLite's transaction goes on
            with suppress(Exception):
                self.connection.rollback()
                self.connection.connection.rollback()
            raise

    @override
    def load(self, made: TableClause, columns: Columns, pieces: Iterable[Sequence[pa.Array]]) -> None:
        names = ", ".join(self.database.quoted(name) for name, _ in columns)
        marks = ", ".join([self.database.mark] * len(columns))
        into = f"INSERT INTO {self.database.named(made)} ({names})"
        sql = f"{into.replace('%', '%%') if self.database.mark == '%s' else into} VALUES ({marks})"
        for piece in pieces:
            arrays = self.database.converted(columns, piece)
            for start in range(0, len(arrays[0]), ROWS_AT_ONCE):
                values = [array.slice(start, ROWS_AT_ONCE).to_pylist() for array in arrays]
                self.connection.exec_driver_sql(sql, list(zip(*values, strict=True)))

    @override
    def violation(self, error: Exception) -> Violation | None:
        return self.database.violation(error.orig) if isinstance(error, DBAPIError) else None

    @override
    def constraints(self, made: TableClause) -> TableConstraints:
        found = self.database.find(self.connection, made)
        if found is None:
            return TableConstraints()
        others = [tuple(sorted(names)) for names in found.keys if names != found.primary]
        return TableConstraints(
            columns=tuple(one.name for one in found.columns if not one.generated),
            nullable=frozenset(one.name for one in found.columns if not one.not_null),
            unique=tuple(dict.fromkeys([*others, *(names for names in found.partial_keys.values() if names)])),
            references=tuple(self.database.references(self.connection, made)),
            has_triggers=self.database.has_triggers(self.connection, made),
            always=frozenset(one.name for one in found.columns if one.always),
        )

    @override
    def describe(self, made: TableClause) -> ExistingTable | None:
        found = self.database.find(self.connection, made)
        if found is None or found.kind != "table" or found.unfit:
            return found
        return replace(found, has_rows=bool(self.rows(select(1).select_from(made).limit(1))))

    @override
    def refuse_unwritable(self, made: TableClause, rights: Sequence[str]) -> None:
        self.database.refuse_unwritable(self.connection, made, rights)


class EngineDatabase(TargetDatabase):
    """A database that SQLAlchemy reaches.

    Attributes:
        mark: The driver's placeholder of a value.
        session: The class of its sessions.
    """

    mark = "%s"
    session: Callable[[Connection, Any], EngineSession] = EngineSession

    @abstractmethod
    def engine(self, stream: str) -> Engine:
        """Return an engine without a pool."""

    @abstractmethod
    def explain(self, error: Exception, stream: str) -> Exception:
        """Return a `DeliveryError` for an error of the driver."""

    def prepare(self, connection: Connection) -> None:
        """Set up a new session."""

    def begin(self, connection: Connection, *, ddl: bool) -> None:
        """Begin a transaction in which the session will write."""

    @abstractmethod
    def find(self, connection: Connection, made: TableClause) -> ExistingTable | None:
        """Return what has the name of a table, without `has_rows`; None if nothing has it."""

    @abstractmethod
    def violation(self, error: BaseException | None) -> Violation | None:
        """Return the constraint that an error of the driver names; None for other errors."""

    @abstractmethod
    def references(self, connection: Connection, made: TableClause) -> Iterable[Reference]:
        """Return the foreign keys that refer to a table."""

    @abstractmethod
    def has_triggers(self, connection: Connection, made: TableClause) -> bool:
        """Return True if users have defined triggers on a table."""

    def refuse_unwritable(self, connection: Connection, made: TableClause, rights: Sequence[str]) -> None:
        """See :meth:`TargetSession.refuse_unwritable`."""

    @contextmanager
    @override
    def open(self, stream: str) -> Iterator[TargetSession]:
        engine = self.engine(stream)
        try:
            with engine.connect() as connection:
                self.prepare(connection)
                yield self.session(connection, self)
        except SQLAlchemyError as error:
            raise self.explain(error, stream) from error
        finally:
            engine.dispose()
