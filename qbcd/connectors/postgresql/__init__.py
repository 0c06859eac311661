"""PostgreSQL 14 to 18: facts here, primitives in the modules beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy.engine import URL, Connection
from sqlglot import exp

from qbcd.connectors.base import Connector
from qbcd.connectors.facts import Alike, Counter, HighWater, Index, JdbcDriver, Privileges
from qbcd.connectors.postgresql import (
    access,
    catalog,
    ddl,
    errors,
    expressions,
    functions,
    highwater,
    leaves,
    pages,
    session,
    statements,
    types,
    view_dependencies,
    volatility,
    watermark_columns,
)
from qbcd.connectors.postgresql import query_columns as result_columns
from qbcd.errors import QbcdError, UnsupportedPrimitive
from qbcd.model import Column, KeyRange, ServerIdentity, Table


class PostgreSQL(pages.Pages, leaves.Leaves, Connector):
    """The connector of PostgreSQL; see :class:`~qbcd.connectors.base.Connector` for each method."""

    name = "PostgreSQL"
    dialect = expressions.DIALECT
    driver = JdbcDriver(
        driver_class=session.DRIVER_CLASS,
        maven="org.postgresql:postgresql:42.7.7",
        jar_names=("postgresql-42.*.jar", "postgresql42.jar", "postgresql.jar", "postgresql-*.jar"),
        debian="libpostgresql-jdbc-java",
        # CVE-2024-1597 was mended in each of these lines
        safe_from=("42.2.28", "42.3.9", "42.4.4", "42.5.5", "42.6.1", "42.7.2"),
    )
    sqlalchemy_driver = session.SQLALCHEMY_DRIVER
    encoder_version = 1
    identifier_limit = 63
    column_limit = 1600
    session_reset_sql = "DISCARD ALL"
    unqualified_names = False  # the pins leave the database's own catalog alone on the search path
    exports_snapshots = True
    full_join = True
    random_key_types = frozenset({"uuid"})
    bucket_words = statements.BUCKETS
    ranges_per_statement = 100_000
    jdbc_properties = session.JDBC_PROPERTIES

    def sqlalchemy_url(self, url: URL) -> URL:
        return session.sqlalchemy_url(url)

    def connect_args(self, url: URL, *, stream: str, read_only: bool, statement_timeout: int = 0) -> dict[str, Any]:
        return session.connect_args(stream=stream, read_only=read_only, statement_timeout=statement_timeout)

    def engine_options(self, *, read_only: bool) -> dict[str, Any]:
        return session.engine_options(read_only=read_only)

    def session_pins(self) -> tuple[str, ...]:
        return session.PINS

    query_trial = "try it in a session whose search_path is pg_catalog alone: names of the user's own need their schema"
    steady_writes = True
    moments, nondeterministic_calls, misread = (
        volatility.MOMENTS,
        staticmethod(volatility.chance),
        staticmethod(functions.misread),
    )
    is_write_rejected = staticmethod(errors.denies)
    plain_functions = functions.PLAIN
    written_again = functions.WRITTEN_AGAIN

    def exact_column(self, column: Column) -> Column:
        return types.exact_column(column)

    def equality_class(self, column: Column) -> Alike:
        return types.alike(column)

    def steady_pins(self) -> tuple[str, ...]:
        return (*session.PINS, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")

    def refresh_statistics(self, table: str) -> str:
        return f"ANALYZE {table}"

    def snapshot_pins(self, snapshot: str) -> tuple[str, ...]:
        return session.snapshot_pins(snapshot)

    def jdbc_url(
        self, url: URL, properties: Mapping[str, str] | None = None, *, stream: str = "", statement_timeout: int = 0
    ) -> str:
        return session.jdbc_url(url, properties or {}, stream=stream, statement_timeout=statement_timeout)

    def jdbc_query(self, sql: str) -> str:
        return session.jdbc_query(sql)

    def explain_error(self, error: BaseException, *, stream: str, source: str) -> QbcdError:
        return errors.explain_error(error, stream=stream, source=source)

    def probe_tables(self, conn: Connection, names: Sequence[tuple[str, str]]) -> list[Table | None]:
        return catalog.probe_tables(conn, names)

    def query_columns(self, conn: Connection, query: str) -> list[Column]:
        return result_columns.query_columns(conn, query)

    def table_names(self, conn: Connection) -> list[str]:
        return catalog.table_names(conn)

    def privileges(self, conn: Connection, table: Table, columns: Sequence[str], schema: str) -> Privileges:
        return catalog.privileges(conn, table, columns, schema)

    def server_identity(self, conn: Connection) -> ServerIdentity:
        return catalog.server_identity(conn)

    def view_definition(self, conn: Connection, view: Table) -> str:
        return catalog.view_definition(conn, view)

    def lock_against_rewrite(self, table: Table) -> str | None:
        tables = table.bases if table.query else (table,)
        named = dict.fromkeys(self._named(one) for one in tables if one.kind in catalog.LOCKABLE)
        return f"LOCK TABLE {', '.join(named)} IN ACCESS SHARE MODE" if named else None

    def _named(self, table: Table) -> str:
        return f"{self.quote(table.schema)}.{self.quote(table.name)}"

    def export_snapshot(self, conn: Connection) -> str:
        return str(conn.exec_driver_sql("SELECT pg_export_snapshot()").scalar_one())

    def check_in_source(self, conn: Connection, table: Table, *, stream: str, own: Sequence[str] = ()) -> None:
        access.refuse_standby(conn, stream)

    def clock_ms(self, conn: Connection) -> int:
        sql = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
        return int(conn.exec_driver_sql(sql).scalar_one())

    def high_water(self, conn: Connection) -> HighWater:
        return highwater.high_water(conn)

    def sees_sessions(self, conn: Connection) -> bool:
        return highwater.sees_sessions(conn)

    def sessions_grant(self, role: str) -> str:
        return f"GRANT {highwater.RIGHT} TO {self.grantee(role)}"

    def not_only_writer(self, conn: Connection, table: Table) -> str:
        return access.not_only_writer(conn, table)

    def mark_kind(self, column: Column) -> str:
        return watermark_columns.mark_kind(column)

    def mark_unit(self, column: Column) -> timedelta:
        return watermark_columns.mark_unit(column)

    def mark(self, column: Column, text: exp.Expression) -> exp.Expression:
        return watermark_columns.mark(column, text)

    def mark_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        return watermark_columns.mark_text(column, value)

    def counter_problem(self, conn: Connection, table: Table, column: Column) -> Counter:
        return access.counter_problem(conn, table, column)

    def system_mark(self, conn: Connection) -> str:
        return watermark_columns.system_mark(conn)

    def system_mark_problem(self, conn: Connection, mark: str, table: Table | None = None) -> str:
        return watermark_columns.system_mark_problem(conn, mark, table)

    def changed_since_mark(self, mark: exp.Expression, alias: str = "") -> exp.Expression:
        return watermark_columns.changed_since_mark(mark, alias)

    def flag_form(self, column: Column, value: exp.Expression, literal: bool | int | str) -> exp.Expression:
        return watermark_columns.flag_form(column, value, literal)

    def flag_problem(self, column: Column, literal: bool | int | str) -> str:
        return watermark_columns.flag_problem(column, literal)

    def kin(self, conn: Connection, table: Table, relations: Sequence[str]) -> dict[str, str]:
        return view_dependencies.kin(conn, table, relations)

    def indexes(self, conn: Connection, table: Table) -> list[Index]:
        return access.indexes(conn, table)

    def create_index(self, name: str, table: Table, columns: Sequence[str], included: Sequence[str]) -> str:
        quoted, beside = [self.quote(c) for c in columns], [self.quote(c) for c in included]
        return ddl.create_index(self.quote(name), self._named(table), quoted, beside)

    def index_only(self, conn: Connection, table: Table, sql: str) -> str:
        return access.index_only(conn, table, sql)

    def write_rights(self, conn: Connection, table: Table, *, update: Sequence[str] = (), delete: bool = False) -> str:
        return access.write_rights(conn, table, update, delete)

    def missing_column(self, table: Table, name: str, kind: str) -> str:
        return watermark_columns.missing_column(
            f"{self.quote(table.schema)}.{self.quote(table.name)}", self.quote(name), kind
        )

    def volatile_calls(self, conn: Connection, words: Sequence[str]) -> list[str]:
        return volatility.unsteady(conn, words)

    def index_right(self, conn: Connection, table: Table) -> str:
        return access.index_right(conn, table)

    def type_problem(self, column: Column) -> str:
        return types.type_problem(column)

    def key_problem(self, column: Column) -> str:
        return types.key_problem(column)

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

    def key_equal(self, column: Column, left: exp.Expression, right: exp.Expression) -> exp.Expression:
        return expressions.key_equal(column, left, right)

    def canonical_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        return expressions.canonical_text(column, value)

    def travel_form(self, column: Column, value: exp.Expression) -> exp.Expression:
        return expressions.travel_form(column, value)

    def fits_typed_sink(self, column: Column, value: exp.Expression) -> exp.Expression | None:
        return expressions.travels(column, value)

    def bound(self, column: Column, text: str) -> exp.Expression:
        return statements.bound(column, text)

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

    def page_bounds(self, table: Table, key: Sequence[Column], where: str, *, pages_per_range: int) -> str:
        if table.kind not in ("table", "partitioned", "matview"):
            raise UnsupportedPrimitive(self.name, f"page_bounds of a {table.kind}")
        names = [self.quote(c.name) for c in key]
        return statements.page_bounds(self._named(table), key, names, where, pages_per_range=pages_per_range)

    def page_count(self, table: Table) -> str:
        return pages.page_count(self._named(table))

    def key_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        return expressions.canonical_text(column, value)

    def of_keys(
        self,
        select: Sequence[str],
        relation: str,
        key: Sequence[Column],
        keys: Sequence[Sequence[str]],
        ids: Sequence[int] = (),
    ) -> str:
        return statements.of_keys(select, relation, key, keys, [self.quote(c.name) for c in key], ids)

    def key_between(self, key: Sequence[Column], alias: str, within: KeyRange) -> str:
        columns = [f"{alias}.{self.quote(c.name)}" if alias else self.quote(c.name) for c in key]
        return statements.key_between(key, columns, within)

    def grants(self, schema: str, role: str) -> list[str]:
        own, to = self.quote(schema), self.grantee(role)
        return [
            f"GRANT USAGE, CREATE ON SCHEMA {own} TO {to}",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {own} TO {to}",
        ]

    def create_table(
        self, name: str, columns: Sequence[tuple[str, str]], primary_key: Sequence[str], *, written_over: bool = False
    ) -> str:
        quoted = [(self.quote(column), sql_type) for column, sql_type in columns]
        return ddl.create_table(name, quoted, [self.quote(c) for c in primary_key], written_over=written_over)
