"""A connector for DuckDB files: the least that qbcd needs to find changes by checksums of the source.

It has none of the abilities that a connector may have (docs/extending/add-a-connector.md). So `id_rcs` works, and what
needs more is refused. Types that are not in `_TRAVELS` cannot be captured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import duckdb
import sqlglot
from sqlalchemy.engine import URL, Connection
from sqlalchemy.engine.default import DefaultDialect
from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.base import Connector
from qbcd.connectors.catalog import Catalog
from qbcd.connectors.ddl import Ddl
from qbcd.connectors.error_templates import Errors, schema, unreachable
from qbcd.connectors.expressions import Expressions
from qbcd.connectors.facts import JdbcDriver
from qbcd.connectors.plain_ranges import PlainRanges
from qbcd.connectors.queries import Queries
from qbcd.connectors.sessions import Sessions
from qbcd.connectors.watermarks import Watermarks
from qbcd.model import Column, ServerIdentity, Table, Travel

# by DuckDB's name of a type: how its values travel
_TRAVELS = {
    "BOOLEAN": Travel("boolean"),
    "SMALLINT": Travel("int16"),
    "INTEGER": Travel("int32"),
    "BIGINT": Travel("int64"),
    "FLOAT": Travel("float32"),
    "DOUBLE": Travel("float64"),
    "VARCHAR": Travel("text"),
    "DATE": Travel("date"),
    "TIMESTAMP": Travel("timestamp"),
}
_TABLE = "SELECT table_type FROM information_schema.tables WHERE table_schema = ? AND table_name = ?"
_COLUMNS = """
SELECT column_name, data_type, is_nullable FROM information_schema.columns
WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position
"""
_KEY = """
SELECT UNNEST(constraint_column_names) FROM duckdb_constraints()
WHERE schema_name = ? AND table_name = ? AND constraint_type = 'PRIMARY KEY'
"""
_SIZE = "SELECT estimated_size FROM duckdb_tables() WHERE schema_name = ? AND table_name = ?"


def _sql(text: str, **parts: exp.Expression) -> exp.Expression:
    """Return a tree of DuckDB's SQL with parts put in for `:names`."""
    return cast("exp.Expression", exp.replace_placeholders(sqlglot.parse_one(text, dialect="duckdb"), **parts))


class DuckDBDialect(DefaultDialect):
    """DuckDB for SQLAlchemy, as far as qbcd needs it: plain statements in transactions."""

    name = driver = "duckdb"
    supports_statement_cache = True
    default_paramstyle = "qmark"
    default_isolation_level = "SERIALIZABLE"

    @classmethod
    @override
    def import_dbapi(cls) -> Any:
        """Return the driver."""
        return duckdb

    @override
    def initialize(self, connection: Connection) -> None:
        """Ask the server nothing."""

    @override
    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of ``duckdb.connect``."""
        return [url.database], {"read_only": True}

    @override
    def get_isolation_level_values(self, dbapi_connection: Any) -> Sequence[Any]:
        """Return the names that qbcd may request: all transactions see one state."""
        return ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]

    @override
    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """Return the one level that there is."""
        return "SERIALIZABLE"

    @override
    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        """Do nothing: there is one level."""

    @override
    def do_begin(self, dbapi_connection: Any) -> None:
        """Begin a transaction: its first statement fixes the state that it sees."""
        dbapi_connection.begin()

    @override
    def do_commit(self, dbapi_connection: Any) -> None:
        """Commit, if there is a transaction."""
        with suppress(duckdb.TransactionException):
            dbapi_connection.commit()

    @override
    def do_rollback(self, dbapi_connection: Any) -> None:
        """Roll back, if there is a transaction."""
        with suppress(duckdb.TransactionException):
            dbapi_connection.rollback()


class DuckDBSessions(Sessions):
    """Read-only sessions in this process."""

    @override
    def sqlalchemy_url(self, url: URL) -> URL:
        """Return the URL: the dialect above has the same name."""
        return url

    @override
    def connect_args(self, url: URL, *, stream: str, read_only: bool, statement_timeout: int = 0) -> dict[str, Any]:
        """Return no further arguments."""
        return {}

    @override
    def jdbc_url(
        self, url: URL, properties: Mapping[str, str] | None = None, *, stream: str = "", statement_timeout: int = 0
    ) -> str:
        """Return the URL for Spark."""
        return f"jdbc:duckdb:{Path(str(url.database)).absolute()};duckdb.read_only=true"


class DuckDBErrors(Errors):
    """Errors of the driver; it has no codes."""

    words = (("Catalog Error|Binder Error", schema), ("IO Error", unreachable))

    @override
    def read(self, error: BaseException) -> tuple[str, str]:
        """Return no code, and the first line, which has no value of a row."""
        return "", str(error).strip().splitlines()[0]


class DuckDBCatalog(Catalog):
    """Tables of the file."""

    @override
    def probe_tables(self, conn: Connection, names: Sequence[tuple[str, str]]) -> list[Table | None]:
        """Return each table, or None."""
        return [self._table(conn, schema or "main", name) for schema, name in names]

    def _table(self, conn: Connection, schema: str, name: str) -> Table | None:
        def ask(sql: str) -> list[Any]:
            return list(conn.exec_driver_sql(sql, (schema, name)))

        found = ask(_TABLE)
        if not found:
            return None
        columns = tuple(self._column(*row) for row in ask(_COLUMNS))
        kind, size = ("table" if found[0][0] == "BASE TABLE" else "view"), ask(_SIZE)
        key = tuple(row[0] for row in ask(_KEY))
        return Table(schema, name, kind, columns, key, rows=int(size[0][0]) if size else -1)

    @staticmethod
    def _column(name: str, sql_type: str, nullable: str) -> Column:
        travel = _TRAVELS.get(sql_type, Travel("text"))
        if sql_type.startswith("DECIMAL("):
            precision, scale = sql_type[8:-1].split(",")
            travel = Travel("decimal", int(precision), int(scale))
        return Column(name, sql_type, sql_type.partition("(")[0], nullable == "YES", "", "typed", travel)

    @override
    def type_problem(self, column: Column) -> str:
        """Return the reason why a type is not captured."""
        return "" if column.base_type in {*_TRAVELS, "DECIMAL"} else "this connector does not know the type"

    @override
    def key_problem(self, column: Column) -> str:
        """Return the reason why a float is no key."""
        return "floating point is no key" if column.travel.kind in ("float32", "float64") else ""

    @override
    def server_identity(self, conn: Connection) -> ServerIdentity:
        """Return the file's path as identity."""
        path = conn.exec_driver_sql("SELECT path FROM duckdb_databases() WHERE NOT internal").scalar_one()
        return ServerIdentity(product=f"DuckDB {duckdb.__version__}", identity=str(path), meaning="", position=0)


class DuckDBExpressions(Expressions):
    """Texts of values, and hashes of these texts."""

    @override
    def canonical_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        """Return the text of a value; equal numbers have one text, so there is no sign of zero."""
        if column.travel.kind in ("float32", "float64"):
            return _sql("CAST(CASE WHEN :v = 0 THEN 0 ELSE :v END AS VARCHAR)", v=value)
        return _sql("CAST(:v AS VARCHAR)", v=value)

    @override
    def travel_form(self, column: Column, value: exp.Expression) -> exp.Expression:
        """Return the value in wire form."""
        if column.travel.kind == "timestamp":
            return _sql("STRFTIME(:v, '%Y-%m-%dT%H:%M:%S.%f')", v=value)
        return self.canonical_text(column, value) if column.travel.kind in ("decimal", "date") else value.copy()

    @override
    def row_digest(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        """Return the first half of the MD5 of all texts with their lengths."""
        return self._hash(self._content(columns))

    @override
    def key_identity(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        """Return the bytes of all texts with their lengths."""
        return _sql("ENCODE(:v)", v=self._content(columns))

    @override
    def key_hash(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        """Return the first half of the MD5 of the identity."""
        return self._hash(self._content(columns))

    def _content(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        parts = [
            _sql("COALESCE(STRLEN(:v) || ':' || :v, '-')", v=self.canonical_text(column, value))
            for column, value in columns
        ]
        found = parts[0]
        for part in parts[1:]:
            found = _sql(":a || :b", a=found, b=part)
        return found

    @staticmethod
    def _hash(text: exp.Expression) -> exp.Expression:
        return _sql("CAST(CAST(md5_number_upper(:v) AS HUGEINT) - 9223372036854775808 AS BIGINT)", v=text)


def _literal(column: Column, text: str) -> exp.Expression:
    """Return a bound of a range as a literal."""
    return exp.cast(exp.Literal.string(text), column.sql_type, dialect="duckdb")


def _bucket(value: str, depth: int) -> str:
    return f"CAST((CAST({value} AS HUGEINT) + 9223372036854775808) // {1 << (64 - depth)} AS BIGINT)"


class DuckDB(Connector):
    """DuckDB."""

    name = "DuckDB"
    dialect = "duckdb"
    driver = JdbcDriver("org.duckdb.DuckDBDriver", "org.duckdb:duckdb_jdbc:2.0.0.1", ("duckdb_jdbc-*.jar",), "")
    sqlalchemy_driver = "duckdb"
    jdbc_properties = frozenset()
    encoder_version = 1
    identifier_limit = 200
    column_limit = 1000
    full_join = True
    ranges_per_statement = 100

    def __init__(self) -> None:
        self.sessions = DuckDBSessions(self)
        self.errors = DuckDBErrors()
        self.catalog = DuckDBCatalog(self)
        self.ddl = Ddl(self)
        self.expressions = DuckDBExpressions(self)
        self.ranges = PlainRanges(self, self.expressions.canonical_text, _literal, _bucket)
        self.watermarks = Watermarks(self)
        self.queries = Queries(self)
