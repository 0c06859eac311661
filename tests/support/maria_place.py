"""MariaDB and MySQL as places for tests, through PyMySQL."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar
from urllib.parse import unquote_plus, urlsplit

import pymysql
from pymysql.constants import CLIENT, ER
from pymysql.converters import escape_string
from typing_extensions import override

from tests.support.places import Place, Row

# A test's own session ignores the server's settings, which tests make hostile.
_SETTINGS = (
    "sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES'",
    "time_zone = '+00:00'",
    "lock_wait_timeout = 60",
    "explicit_defaults_for_timestamp = ON",
    "collation_connection = utf8mb4_bin",
    "sql_select_limit = 18446744073709551615",
    "sql_big_selects = ON",
    "sql_safe_updates = OFF",
    "completion_type = 'NO_CHAIN'",
)
_BARE = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "year", "bit", "decimal", "float", "double"})


class FamilyPlace(Place):
    """A database of a server of this family; its user has all rights.

    Attributes:
        unlimited: Setting without a time limit for statements.
    """

    unlimited: ClassVar[str]

    commit = b"COMMIT"  # alone, or at the end of a text
    taken = (pymysql.err.IntegrityError,)
    barred = (pymysql.err.OperationalError,)
    impatient = "SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1"
    ddl_held = ("LOCK TABLES t WRITE", "UNLOCK TABLES")

    @property
    @override
    def schema(self) -> str:
        return self.name

    @property
    @override
    def own_schema(self) -> str:
        return f"{self.name}_qbcd"  # the family has no schemas, and tests share a server

    # -- databases ---------------------------------------------------------------------------------------------------
    @override
    def create(self) -> None:
        with self._server() as conn:
            self.run(conn, f"CREATE DATABASE {self.quote(self.name)} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")

    @override
    def drop(self) -> None:
        with self._server() as conn:
            mine = self._databases(conn)
            for number, database in self.run(conn, "SELECT id, db FROM information_schema.processlist"):
                if database in mine:
                    self._kill(conn, int(number))
            for database in mine:
                self.run(conn, f"DROP DATABASE {self.quote(database)}")

    def _kill(self, conn: Any, number: int) -> None:
        try:
            self.run(conn, f"KILL {number}")
        except pymysql.err.OperationalError as error:
            if error.args[0] != ER.NO_SUCH_THREAD:  # it has ended by itself
                raise

    @override
    def copy_to(self, database: str) -> Place:
        with self._server() as conn:
            for old in self._databases(conn):
                new = self.quote(old.replace(self.name, database))
                self.run(conn, f"CREATE DATABASE {new} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
                for table in map(self.quote, self._tables(conn, old)):
                    one = f"{self.quote(old)}.{table}"
                    self.run(conn, f"CREATE TABLE {new}.{table} LIKE {one}")
                    self.run(conn, f"INSERT INTO {new}.{table} SELECT * FROM {one}")
        return self.at(database)

    @override
    def take_over(self, other: Place) -> None:
        with self._server() as conn:
            for old in self._databases(conn):
                if other.name not in old:
                    for table in self._tables(conn, old):
                        self.run(conn, f"DROP TABLE {self.quote(old)}.{self.quote(table)}")
            for new in (name for name in self._databases(conn) if other.name in name):
                for table in map(self.quote, self._tables(conn, new)):
                    home = self.quote(new.replace(other.name, self.name))
                    self.run(conn, f"RENAME TABLE {self.quote(new)}.{table} TO {home}.{table}")
        other.drop()

    def _databases(self, conn: Any) -> list[str]:
        """Return every database whose name contains this one's; no other test uses such names."""
        rows = self.run(conn, "SELECT schema_name FROM information_schema.schemata ORDER BY 1")
        return [row[0] for row in rows if self.name in row[0]]

    def _tables(self, conn: Any, database: str) -> list[str]:
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s ORDER BY 1"
        return [row[0] for row in self.run(conn, query, [database])]

    # -- sessions ----------------------------------------------------------------------------------------------------
    def _server(self) -> Any:
        return self.at("").connect(autocommit=True)

    @contextmanager
    @override
    def connect(self, *, autocommit: bool = False) -> Iterator[Any]:
        parts = urlsplit(self.url)
        conn = pymysql.connect(
            host=parts.hostname,
            port=parts.port or 3306,
            user=unquote_plus(parts.username or ""),
            password=unquote_plus(parts.password or ""),
            database=self.name or None,
            charset="utf8mb4",
            autocommit=autocommit,
            client_flag=CLIENT.MULTI_STATEMENTS,
            connect_timeout=10,
            ssl_disabled=True,  # otherwise PyMySQL reads all certificates of the system for each connection
            init_command=f"SET {', '.join((*_SETTINGS, self.unlimited))}",
        )
        conn.query("SET SESSION TRANSACTION READ WRITE")
        try:
            yield conn
            if not autocommit:
                conn.commit()
        finally:
            if conn.open:
                conn.close()  # rolls back what was not committed

    @override
    def run(self, conn: Any, text: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> list[Row]:
        with conn.cursor() as cursor:
            cursor.execute(text, params)
            rows = list(cursor.fetchall()) if cursor.description else []
            while cursor.nextset():
                rows = list(cursor.fetchall()) if cursor.description else []
            return rows

    @override
    def someone_waits(self) -> bool:
        query = "SELECT 1 FROM information_schema.processlist WHERE db = %s AND state LIKE 'Waiting for table%%'"
        return bool(self.sql(query, [self.name]))

    # -- words -------------------------------------------------------------------------------------------------------
    @override
    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    @override
    def literal(self, sql_type: str, text: str | None) -> str:
        base = sql_type.split("(")[0].split()[0]
        if text is None:
            return "NULL"
        if base in _BARE:
            return text
        if "binary" in base or "blob" in base:
            return f"X'{text.removeprefix('0x')}'"
        if base in ("geometry", "point"):
            srid, _, shape = text.partition(";")
            return f"ST_GeomFromText('{shape}', {srid})"
        return f"'{escape_string(text)}'"

    @override
    def retype(self, table: str, column: str, sql_type: str) -> str:
        return f"ALTER TABLE {table} MODIFY {column} {sql_type}"

    # -- users -------------------------------------------------------------------------------------------------------
    @override
    def create_user(self, name: str, password: str = "") -> None:
        self.sql("CREATE USER %s@'%%' IDENTIFIED BY %s", [name, password])

    @override
    def drop_user(self, name: str) -> None:
        self.sql("DROP USER %s@'%%'", [name])

    @override
    def end_sessions(self, user: str) -> None:
        with self._server() as conn:
            query = "SELECT id FROM information_schema.processlist WHERE user = %s"
            for (number,) in self.run(conn, query, [user]):
                self._kill(conn, int(number))

    @override
    def grant(self, rights: str, on: str, user: str) -> None:
        self.sql(f"GRANT {rights} ON {self.quote(on)} TO {user}@'%'")

    @override
    def revoke(self, rights: str, on: str, user: str) -> None:
        self.sql(f"REVOKE {rights} ON {self.quote(on)} FROM {user}@'%'")

    @override
    def grant_own_schema(self, user: str) -> None:
        rights = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX"
        self.sql(f"GRANT {rights} ON {self.quote(self.own_schema)}.* TO {user}@'%'")

    # -- everything --------------------------------------------------------------------------------------------------
    @override
    def contents(self, passing: Collection[str]) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        with self.connect() as conn, conn.cursor(pymysql.cursors.DictCursor) as cursor:
            databases = self._databases(conn)
            for database in databases:
                for name in self._tables(conn, database):
                    rows: list[dict[str, Any]] = []
                    if database != self.own_schema or name not in passing:
                        cursor.execute(f"SELECT * FROM {self.quote(database)}.{self.quote(name)}")
                        rows = sorted(cursor.fetchall(), key=repr)
                    found[f"{database}.{name}"] = rows
            found["schemas"] = [{"name": name} for name in databases]
        return found


class MariaPlace(FamilyPlace):
    """A database of a MariaDB server."""

    kind = "mariadb"
    fixture = "mariadb"
    unlimited = "max_statement_time = 0"

    @override
    def numbers(self, last: int, first: int = 1) -> str:
        return f"(SELECT CAST(seq AS SIGNED) AS n FROM seq_{first}_to_{last}) AS numbers"


class MySQLPlace(FamilyPlace):
    """A database of a MySQL server."""

    kind = "mysql"
    fixture = "mysql"
    unlimited = "max_execution_time = 0"

    @override
    def spelt(self, sql_type: str) -> str:
        other = {"uuid": "char(36)", "utf8mb4_nopad_bin": "utf8mb4_0900_bin"}
        return re.sub(r"\w+", lambda word: other.get(word[0], word[0]), sql_type)

    @override
    def numbers(self, last: int, first: int = 1) -> str:
        items = f"concat('[0', repeat(',0', {last - first}), ']')"
        every = f"json_table({items}, '$[*]' COLUMNS (i FOR ORDINALITY)) AS every"
        return f"(SELECT CAST(i AS SIGNED) + {first - 1} AS n FROM {every}) AS numbers"
