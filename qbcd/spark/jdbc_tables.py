"""Metadata of a database that a JDBC driver alone reaches, read by the Java that runs Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from qbcd.catalog.jdbc import JdbcSource
from qbcd.errors import EnvironmentMissing, Refused
from qbcd.spark.jdbc import explained

T = TypeVar("T")
_TABLES = ("TABLE", "BASE TABLE")  # drivers' names of tables that are neither views nor temporary
_OF_SYSTEMS = frozenset(("INFORMATION_SCHEMA", "SYS", "SYSTEM", "SYSIBM", "SYSTOOLS", "PG_CATALOG"))
_NULLABLE_NEVER = 0  # java.sql.ResultSetMetaData.columnNoNulls


@dataclass(frozen=True)
class ResultColumn:
    """A column of a query's result, as the driver describes it.

    Attributes:
        code: Number of its type in java.sql.Types.
        type_name: The database's name of its type.
    """

    name: str
    code: int
    type_name: str
    precision: int
    scale: int
    signed: bool
    nullable: bool


class JdbcSession:
    """A read-only connection of the driver, with a few questions.

    Args:
        connection: A `java.sql.Connection`.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def columns(self, select: str) -> list[ResultColumn]:
        """Return the columns of a SELECT's result; no row is read."""
        statement = self._connection.createStatement()
        try:
            found = statement.executeQuery(select).getMetaData()
            return [
                ResultColumn(
                    str(found.getColumnLabel(i)),
                    int(found.getColumnType(i)),
                    str(found.getColumnTypeName(i)),
                    int(found.getPrecision(i)),
                    int(found.getScale(i)),
                    bool(found.isSigned(i)),
                    int(found.isNullable(i)) != _NULLABLE_NEVER,
                )
                for i in range(1, int(found.getColumnCount()) + 1)
            ]
        finally:
            statement.close()

    def primary_key(self, schema: str, table: str) -> tuple[str, ...]:
        """Return the names of a table's primary key, in order; empty if the driver shows none.

        Databases that find a quoted name in any case may have it in another one. Without `schema` the table is in the
        current one: tables of other schemas have keys of their own.
        """
        schema = schema or self._current_schema()
        with suppress(Exception):  # many accounts may not read the catalog: then the configuration names the key
            if found := self._primary_key(schema, table):
                return found
            names = [(s, t) for s, t in self.tables()[0] if schema.lower() in ("", s.lower())]
            alike = [(s, t) for s, t in names if t.lower() == table.lower()]
            if len(alike) == 1 and alike[0][1] != table:
                return self._primary_key(*alike[0])
        return ()

    def _primary_key(self, schema: str, table: str) -> tuple[str, ...]:
        catalog, _, bare = schema.rpartition(".")
        catalog = catalog or str(self._connection.getCatalog() or "")
        found = self._connection.getMetaData().getPrimaryKeys(catalog or None, bare or None, table)
        try:
            named: list[tuple[int, str, str]] = []
            while found.next():
                place = (int(found.getShort("KEY_SEQ")), str(found.getString("COLUMN_NAME")))
                named.append((*place, str(found.getString("TABLE_SCHEM"))))
        finally:
            found.close()
        return tuple(name for _, name, _ in sorted(named)) if len({s for _, _, s in named}) == 1 else ()

    def tables(self) -> tuple[list[tuple[str, str]], str]:
        """Return schema and name of each table in the current catalog, and the current schema.

        Views, temporary tables and those of the system are none. A database without schemas has empty ones.
        """
        catalog = self._connection.getCatalog() or None
        found, listed = self._connection.getMetaData().getTables(catalog, None, "%", None), set[tuple[str, str]]()
        try:
            while found.next():
                schema, name = str(found.getString("TABLE_SCHEM") or ""), str(found.getString("TABLE_NAME"))
                if str(found.getString("TABLE_TYPE")) in _TABLES and schema.upper() not in _OF_SYSTEMS:
                    listed.add((schema.rstrip(), name))
        finally:
            found.close()
        return sorted(listed), self._current_schema()

    def _current_schema(self) -> str:
        with suppress(Exception):  # older drivers do not know it
            return str(self._connection.getSchema() or "")
        return ""

    def texts(self, select: str) -> list[tuple[str | None, ...]]:
        """Return the texts of the values of a small result."""
        statement = self._connection.createStatement()
        try:
            found = statement.executeQuery(select)
            width = int(found.getMetaData().getColumnCount())
            rows: list[tuple[str | None, ...]] = []
            while found.next():
                rows.append(tuple(found.getString(i) for i in range(1, width + 1)))
            return rows
        finally:
            statement.close()

    def product(self) -> str:
        """Return name and version of the database."""
        found = self._connection.getMetaData()
        return f"{found.getDatabaseProductName()} {str(found.getDatabaseProductVersion()).splitlines()[0]}"


@contextmanager
def open_session(jvm: Any, source: JdbcSource) -> Iterator[JdbcSession]:
    """A connection of the source's driver for the block.

    The driver's class is loaded by its name from the profile. The driver manager, which asks every driver on the class
    path, is not used.

    Args:
        jvm: The classes of a Java, as `SparkProvider.java` returns them.

    Raises:
        EnvironmentMissing: Java cannot load the driver's class.
        Refused: The driver does not take the URL.
    """
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    name = source.profile.driver.driver_class
    try:
        driver = jvm.java.lang.Class.forName(name, True, loader).newInstance()
    except Exception as error:
        raise EnvironmentMissing(
            f"this process's Java cannot load the JDBC driver {name}",
            remedy="write `driver_jar` under `jdbc` of the source, or pass a session that has the driver in spark.jars",
        ) from error
    properties = jvm.java.util.Properties()
    for key, value in source.login.properties.items():
        properties.setProperty(key, value)
    connection = driver.connect(source.login.url, properties)
    if connection is None:
        raise Refused(f"{name} does not take the url of source {source.name}", remedy="correct `url` or `dialect`")
    try:
        with suppress(Exception):  # a driver may not know it, and then the login's rights must do
            connection.setReadOnly(True)
        for text in source.profile.session:
            statement = connection.createStatement()
            statement.execute(text)
            statement.close()
        yield JdbcSession(connection)
    finally:
        connection.close()


def asked(jvm: Any, source: JdbcSource, stream: str, ask: Callable[[JdbcSession], T]) -> T:
    """Return the answer of `ask` in a session of its own.

    Raises:
        QbcdError: An error of the driver, as qbcd's message.
    """

    def work() -> T:
        with open_session(jvm, source) as session:
            return ask(session)

    return explained(work, lambda error: source.explain(error, stream))


def reads_nothing(select: str) -> str:
    """Return the query of no row with the columns of `select`."""
    return f"SELECT * FROM (\n{select}\n) q WHERE 1 = 0"


def names_of(columns: Sequence[ResultColumn]) -> list[str]:
    """Return the names of columns."""
    return [column.name for column in columns]
