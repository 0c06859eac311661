"""The connector that MariaDB and MySQL share; each states the rest in a file of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar

from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import DBAPIError
from sqlglot import exp

from qbcd.connectors.base import Connector
from qbcd.connectors.facts import Counter, HighWater, Index, JdbcDriver, Privileges
from qbcd.connectors.mysql_family import (
    access,
    catalog,
    errors,
    expressions,
    highwater,
    server,
    session,
    statements,
    types,
    view_dependencies,
    volatility,
    watermark_columns,
)
from qbcd.connectors.mysql_family import query_columns as result_columns
from qbcd.errors import QbcdError, UnsupportedPrimitive
from qbcd.model import Column, KeyRange, ServerIdentity, Table


class MySQLFamily(Connector):
    """Facts and primitives of both servers; see :class:`~qbcd.connectors.base.Connector` for each method.

    Attributes:
        spelling: Session variables whose names differ.
        oldest: (major, minor) of the oldest server that is taken.
        no_pad: SQL that tells whether ``collation_name`` of information_schema.columns tells trailing spaces apart.
        all_digits: SQL template of a floating point number's text that reads back as it is, -0 as 0.
        identity: SQL of what names the server, beside its database.
        position: Name of the status variable with the redo log's position, which never falls on one server.
        running: SQL of the age in microseconds of the oldest statement that another session runs.
        applying: Queries for `value`, by which the server writes what another one wrote before, and what that means.
        index_exists: What CREATE INDEX says so as to leave an index of that name as it is.
    """

    dialect = expressions.DIALECT
    driver = JdbcDriver(
        driver_class=session.DRIVER_CLASS,
        maven="org.mariadb.jdbc:mariadb-java-client:3.5.6",
        jar_names=("mariadb-java-client-3.*.jar", "mariadb-java-client-2.7.*.jar", "mariadb-java-client*.jar"),
        debian="libmariadb-java",
        safe_from=("2.7.6", "3.0.3"),
    )
    encoder_version = 1
    identifier_limit = 64
    column_limit = 1017  # of an InnoDB table
    exports_snapshots = False
    hides_tables = True
    full_join = False
    random_key_types = frozenset({"uuid"})
    bucket_words, nondeterministic_calls = statements.BUCKETS, staticmethod(volatility.chance)
    is_write_rejected = staticmethod(errors.denies)
    ranges_per_statement = 200
    jdbc_properties = session.JDBC_PROPERTIES
    spelling: ClassVar[session.Spelling]
    oldest: ClassVar[tuple[int, int]]
    no_pad: ClassVar[str]
    all_digits: ClassVar[str]
    identity: ClassVar[str]
    position: ClassVar[str]
    running: ClassVar[str]
    applying: ClassVar[tuple[tuple[str, str], ...]]
    index_exists: ClassVar[str] = ""

    @abstractmethod
    def is_own(self, version: str) -> bool:
        """Whether a server that calls itself `version` is of this connector."""

    @abstractmethod
    def grants_of(self, conn: Connection) -> list[str]:
        """The text of everything granted to the session's role and its active roles."""

    def quote(self, name: str) -> str:
        if name.endswith(" "):
            raise ValueError(f"{name!r} ends with a space, which no identifier of {self.name} can")
        if name and len(name) <= self.identifier_limit and "\x00" not in name:
            return f"`{name.replace('`', '``')}`"
        raise ValueError(f"{name!r} cannot be an identifier of {self.name}")

    # -- connections -------------------------------------------------------------------------------------------------
    def sqlalchemy_url(self, url: URL) -> URL:
        return session.sqlalchemy_url(url, self.sqlalchemy_driver)

    def connect_args(self, url: URL, *, stream: str, read_only: bool, statement_timeout: int = 0) -> dict[str, Any]:
        return session.connect_args(
            url, self.spelling, stream=stream, read_only=read_only, statement_timeout=statement_timeout
        )

    def engine_options(self, *, read_only: bool) -> dict[str, Any]:
        return {"pool_reset_on_return": None}  # a session ends with its transaction, which is undone then

    def session_pins(self) -> tuple[str, ...]:
        return session.pins(self.spelling)

    def jdbc_url(
        self, url: URL, properties: Mapping[str, str] | None = None, *, stream: str = "", statement_timeout: int = 0
    ) -> str:
        return session.jdbc_url(
            url, self.spelling, self.driver.driver_class, properties or {}, statement_timeout=statement_timeout
        )

    def explain_error(self, error: BaseException, *, stream: str, source: str) -> QbcdError:
        return errors.explain_error(error, stream=stream, source=source)

    def is_statement_error(self, error: DBAPIError) -> bool:
        return errors.is_of_text(error)

    # -- catalog -----------------------------------------------------------------------------------------------------
    def probe_tables(self, conn: Connection, names: Sequence[tuple[str, str]]) -> list[Table | None]:
        return [catalog.probe_table(conn, *name, self.no_pad, self.all_digits) for name in names]

    def query_columns(self, conn: Connection, query: str) -> list[Column]:
        return result_columns.query_columns(conn, query, self.no_pad, self.all_digits)

    def table_names(self, conn: Connection) -> list[str]:
        return catalog.table_names(conn)

    def privileges(self, conn: Connection, table: Table, columns: Sequence[str], schema: str) -> Privileges:
        return catalog.privileges(conn, table, columns, schema, self.grants_of(conn))

    def server_identity(self, conn: Connection) -> ServerIdentity:
        version = server.own_version(conn, self.name, self.oldest, self.is_own)
        return server.server_identity(conn, self.name, version, identity=self.identity, position=self.position)

    def lock_against_rewrite(self, table: Table) -> str | None:
        # To have read a table keeps its definition until the transaction ends.
        tables = table.bases if table.query else (table,)
        named = dict.fromkeys(f"(SELECT 1 FROM {self._named(one)} LIMIT 0)" for one in tables)
        return " UNION ALL ".join(named)[1:-1] if len(named) == 1 else " UNION ALL ".join(named) or None

    def _named(self, table: Table) -> str:
        return f"{self.quote(table.schema)}.{self.quote(table.name)}"

    def check_in_source(self, conn: Connection, table: Table, *, stream: str, own: Sequence[str] = ()) -> None:
        server.check_settings(conn, stream, own)
        for one in dict.fromkeys(table.bases) if table.query else (table,):
            server.check_engine(conn, one, stream)

    def clock_ms(self, conn: Connection) -> int:
        return int(conn.exec_driver_sql("SELECT floor(unix_timestamp(sysdate(6)) * 1000)").scalar_one())

    def high_water(self, conn: Connection) -> HighWater:
        return highwater.high_water(conn, self.running)

    def sees_sessions(self, conn: Connection) -> bool:
        return catalog.granted_everywhere(self.grants_of(conn), highwater.RIGHT)

    def sessions_grant(self, role: str) -> str:
        return f"GRANT {highwater.RIGHT} ON *.* TO {self.grantee(role)}"

    def not_only_writer(self, conn: Connection, table: Table) -> str:
        return access.not_only_writer(conn, table, self.applying)

    def counter_problem(self, conn: Connection, table: Table, column: Column) -> Counter:
        return access.counter_problem(conn, table, column)

    def kin(self, conn: Connection, table: Table, relations: Sequence[str]) -> dict[str, str]:
        return view_dependencies.kin(conn, table, relations)

    def may_share(self, server: str, other: str) -> bool:
        # A table is reached from each of a server's databases.
        return server.rpartition("/")[0] == other.rpartition("/")[0]

    def indexes(self, conn: Connection, table: Table) -> list[Index]:
        return access.indexes(conn, table)

    def index_only(self, conn: Connection, table: Table, sql: str) -> str:
        return access.index_only(conn, table, sql, self._named(table))

    def write_rights(self, conn: Connection, table: Table, *, update: Sequence[str] = (), delete: bool = False) -> str:
        return access.write_rights(conn, table, update, delete, self.grants_of(conn))

    def index_right(self, conn: Connection, table: Table) -> str:
        return access.index_right(conn, table, self.grants_of(conn))

    def type_problem(self, column: Column) -> str:
        return types.type_problem(column)

    def key_problem(self, column: Column) -> str:
        return types.key_problem(column)

    # -- column primitives -------------------------------------------------------------------------------------------
    def comparison_form(self, column: Column, value: exp.Expression) -> exp.Expression:
        return expressions.comparison_form(column, value)

    def null_safe_distinct(self, column: Column, left: exp.Expression, right: exp.Expression) -> exp.Expression:
        return expressions.null_safe_distinct(column, left, right)

    def row_digest(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        return expressions.row_digest(columns)

    def key_identity(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        return expressions.key_identity(columns)

    def key_hash(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        return expressions.key_hash(columns)

    def canonical_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        return expressions.canonical_text(column, value)

    def travel_form(self, column: Column, value: exp.Expression) -> exp.Expression:
        return expressions.travel_form(column, value)

    def fits_typed_sink(self, column: Column, value: exp.Expression) -> exp.Expression | None:
        return expressions.travels(column, value)

    def bound(self, column: Column, text: str) -> exp.Expression:
        return statements.bound(column, text)

    def mark_kind(self, column: Column) -> str:
        return watermark_columns.mark_kind(column)

    def mark_unit(self, column: Column) -> timedelta:
        return watermark_columns.mark_unit(column)

    def mark(self, column: Column, text: exp.Expression) -> exp.Expression:
        return watermark_columns.mark(column, text)

    def mark_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        return watermark_columns.mark_text(column, value)

    def flag_form(self, column: Column, value: exp.Expression, literal: bool | int | str) -> exp.Expression:
        return watermark_columns.flag_form(column, value, literal)

    def missing_column(self, table: Table, name: str, kind: str) -> str:
        return watermark_columns.missing_column(self._named(table), self.quote(name), kind)

    def volatile_calls(self, conn: Connection, words: Sequence[str]) -> list[str]:
        return volatility.unsteady(conn, words)

    def flag_problem(self, column: Column, literal: bool | int | str) -> str:
        return watermark_columns.flag_problem(column, literal)

    # -- statements --------------------------------------------------------------------------------------------------
    def image_type(self, column: Column) -> str:
        """Texts and bytes leave the row, of which a page holds two, where that makes it shorter."""
        if int(column.fact("octets") or 0) <= types.POINTER or column.base_type not in (
            *types.STRINGS,
            *types.BINARIES,
        ):
            return self.column_type(column)
        if column.base_type in types.BINARIES:
            return "longblob"
        return f"longtext CHARACTER SET {column.fact('charset')} COLLATE {column.collation}"

    def statement_form(self, tree: exp.Expression) -> exp.Expression:
        return statements.statement_form(tree)

    def per_range(
        self,
        select: Sequence[str],
        relation: str,
        key: Sequence[Column],
        ranges: Sequence[KeyRange],
        *,
        aggregate: bool,
    ) -> str:
        names = [self.quote(c.name) for c in key]
        return statements.per_range(select, relation, key, ranges, names, aggregate=aggregate)

    def range_bounds(self, relation: str, key: Sequence[Column], *, rows_per_range: int) -> str:
        names = [self.quote(c.name) for c in key]
        return statements.range_bounds(relation, key, names, rows_per_range=rows_per_range)

    def key_between(self, key: Sequence[Column], alias: str, within: KeyRange) -> str:
        columns = [f"{alias}.{self.quote(c.name)}" if alias else self.quote(c.name) for c in key]
        return statements.key_between(key, columns, within)

    def create_index(self, name: str, table: Table, columns: Sequence[str], included: Sequence[str]) -> str:
        """An index over all of them: these servers have no columns that are only included."""
        listed = [table.column(c) for c in dict.fromkeys([*columns, *included])]
        problem = types.index_problem([c for c in listed if c is not None])
        if problem:
            raise UnsupportedPrimitive(self.name, f"index over {problem}")
        keys = ", ".join(self.quote(c.name) for c in listed if c is not None)
        return f"CREATE INDEX {self.index_exists}{self.quote(name)} ON {self._named(table)} ({keys})"

    def grantee(self, role: str) -> str:
        user, _, host = role.rpartition("@")
        return "@".join("'" + part.replace("'", "''") + "'" for part in (user, host))

    def grants(self, schema: str, role: str) -> list[str]:
        pattern = self.quote(schema).replace("_", "\\_").replace("%", "\\%")  # of databases, as GRANT reads it
        return [f"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX ON {pattern}.* TO {self.grantee(role)}"]

    def create_table(
        self, name: str, columns: Sequence[tuple[str, str]], primary_key: Sequence[str], *, written_over: bool = False
    ) -> str:
        quoted = [(self.quote(column), sql_type) for column, sql_type in columns]
        return statements.create_table(name, quoted, [self.quote(column) for column in primary_key])
