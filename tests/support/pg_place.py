"""PostgreSQL as a place for tests, through psycopg2."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg2
from psycopg2.extensions import connection
from typing_extensions import override

from tests.support.places import Place, Row

_TABLES = """
SELECT n.nspname, c.relname, c.relkind::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1, 2
"""


class PostgresPlace(Place):
    """A PostgreSQL database; its user is a superuser."""

    kind = "postgresql"
    fixture = "server"
    schema = "public"
    own_schema = "qbcd"
    commit = b"COMMIT\x00"
    taken = (psycopg2.errors.UniqueViolation,)
    barred = (psycopg2.errors.LockNotAvailable,)
    impatient = "SET lock_timeout = '200ms'"
    ddl_held = ("BEGIN", "COMMIT")

    # -- databases ---------------------------------------------------------------------------------------------------
    @override
    def create(self) -> None:
        self._at_server(f"CREATE DATABASE {self.name}")

    @override
    def drop(self) -> None:
        self._at_server(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")

    @override
    def copy_to(self, database: str) -> Place:
        self._at_server(f"CREATE DATABASE {database} TEMPLATE {self.name}")
        return self.at(database)

    @override
    def take_over(self, other: Place) -> None:
        self.drop()
        self._at_server(f"ALTER DATABASE {other.name} RENAME TO {self.name}")

    def _at_server(self, statement: str) -> None:
        with self.at("postgres").connect(autocommit=True) as conn, conn.cursor() as cursor:
            cursor.execute(statement)

    # -- sessions ----------------------------------------------------------------------------------------------------
    @contextmanager
    @override
    def connect(self, *, autocommit: bool = False) -> Iterator[connection]:
        conn = psycopg2.connect(self.url, connect_timeout=10)
        try:
            conn.autocommit = autocommit
            yield conn
            if not autocommit:
                conn.commit()
        finally:
            conn.close()  # rolls back what was not committed

    @override
    def sql(self, text: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> list[Row]:
        with self.connect(autocommit=True) as conn:  # VACUUM fails in a transaction of several statements
            return self.run(conn, text, params)

    @override
    def run(self, conn: Any, text: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> list[Row]:
        with conn.cursor() as cursor:
            cursor.execute(text, params)
            return cursor.fetchall() if cursor.description else []

    @override
    def someone_waits(self) -> bool:
        return bool(self.sql("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'relation'"))

    # -- words -------------------------------------------------------------------------------------------------------
    @override
    def quote(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    @override
    def literal(self, sql_type: str, text: str | None) -> str:
        value = "NULL" if text is None else "'" + text.replace("'", "''") + "'"
        return f"{value}::{sql_type.split(' COLLATE')[0]}"

    @override
    def drop_primary_key(self, table: str) -> None:
        self.sql(f"ALTER TABLE {table} DROP CONSTRAINT {table.rpartition('.')[2]}_pkey")

    @override
    def numbers(self, last: int, first: int = 1) -> str:
        return f"generate_series({first}, {last}) AS numbers (n)"

    @override
    def retype(self, table: str, column: str, sql_type: str) -> str:
        return f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {sql_type}"

    # -- users -------------------------------------------------------------------------------------------------------
    @override
    def create_user(self, name: str, password: str = "") -> None:
        self.sql(f"CREATE ROLE {name} LOGIN" + (" PASSWORD %s" if password else ""), [password] if password else None)

    @override
    def drop_user(self, name: str) -> None:
        self.sql(f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}")

    @override
    def end_sessions(self, user: str) -> None:
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [user])

    @override
    def grant(self, rights: str, on: str, user: str) -> None:
        self.sql(f"GRANT {rights} ON {on} TO {user}")

    @override
    def revoke(self, rights: str, on: str, user: str) -> None:
        self.sql(f"REVOKE {rights} ON {on} FROM {user}")

    @override
    def grant_own_schema(self, user: str) -> None:
        self.sql(f"GRANT CREATE ON DATABASE {self.name} TO {user}")

    # -- everything --------------------------------------------------------------------------------------------------
    @override
    def contents(self, passing: Collection[str]) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        with self.connect() as conn:
            for schema, name, kind in self.run(conn, _TABLES):
                rows: list[Row] = []
                if kind == "r" and not (schema.startswith("qbcd") and name in passing):
                    table = f"{self.quote(schema)}.{self.quote(name)}"
                    rows = self.run(conn, f"SELECT to_jsonb(t) FROM ONLY {table} t ORDER BY t::text")
                found[f"{schema}.{name}"] = [{"relkind": kind}, *(row[0] for row in rows)]
            schemas = self.run(conn, "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1")
            found["schemas"] = [{"name": name} for (name,) in schemas]
        return found
