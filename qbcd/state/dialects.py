"""Facts about the databases in which qbcd keeps state: clock, lock waits, durability.

A store is either the project's state database or the schema of a source in which a database site keeps its streams.
`qbcd.state` is written once, in SQLAlchemy Core; the few differences in syntax or meaning are here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from psycopg2 import ProgrammingError
from psycopg2.extensions import make_dsn
from sqlalchemy import BigInteger, Float, Integer, String, Text, literal_column
from sqlalchemy.dialects.mysql import LONGTEXT
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ColumnElement

from qbcd.connectors.limited_drivers import run_with_next
from qbcd.errors import NotBuilt

# Types and options of qbcd's own tables. On MySQL and MariaDB, TEXT cannot be a key and ends at 64 KB. Engine,
# character set, row format and collation are set, since server defaults differ.
_FAMILY = ("mariadb", "mysql")
_SSL_OPTIONS = ("ssl_capath", "ssl_cipher", "ssl_check_hostname")  # SQLAlchemy combines them for the driver
KEY_TEXT = Text().with_variant(String(255), *_FAMILY)
LONG_TEXT = Text().with_variant(LONGTEXT(), *_FAMILY)
SECONDS = Float(53)
COUNTER = BigInteger().with_variant(Integer(), "sqlite")  # in SQLite only INTEGER auto-increments
_COLLATIONS = {"mariadb": "utf8mb4_nopad_bin", "mysql": "utf8mb4_bin"}  # `mysql:` may be either server
TABLE_OPTIONS: Mapping[str, Any] = {
    f"{name}_{option}": value
    for name, collation in _COLLATIONS.items()
    for option, value in (
        ("engine", "InnoDB"),
        ("default_charset", "utf8mb4"),
        ("collate", collation),
        ("row_format", "DYNAMIC"),
    )
}


@dataclass(frozen=True)
class StoreFacts:
    """The facts of one database as a store.

    Attributes:
        drivername: SQLAlchemy's driver name for a URL that names none.
        is_file: The store is one local file.
        clock_sql: SQL of the store's own clock, seconds since 1970 UTC as a double, read again by every statement.
        lock_wait_sql: Statement that limits the transaction's lock waits to ``{ms}`` milliseconds (``{s}`` is the same
            in whole seconds), or empty. It may remain in force after the transaction; `begin_sql` resets it.
        ddl_lock_sql: Statement that lets one transaction at a time create tables. Empty if each write does so, or if
            DDL commits implicitly.
        read_isolation: Isolation level in which all reads of a transaction see one state, None if every level does.
        write_isolation: Isolation level in which each statement sees everything committed before it, None if no other
            session can commit meanwhile.
        begin_sql: Statement with which every transaction on a state database begins, or empty.
        undurable_sql: SQL for the server setting by which a commit can be lost (docs/design/protocol.md#rule-5), or
            for an empty text if there is none; empty if no setting needs a check.
        lists_any_schema: The database reports no tables, and no error, for a schema that does not exist.
        needs_database: A URL must name the database, since a session can begin without one.
        connect_args: Arguments of the driver's connect(): durability, timeouts.
        knows_option: Returns True if the driver accepts an option of this name in a URL.
        contention: SQLSTATEs, error numbers, or prefixes of messages for "another session has it", not for "it is
            broken".
        damage: The same for errors that mean that the store's content was damaged.
        full: The same for a full disk.
    """

    drivername: str
    is_file: bool
    clock_sql: str
    lock_wait_sql: str
    ddl_lock_sql: str
    read_isolation: str | None
    write_isolation: str | None
    begin_sql: str = ""
    undurable_sql: str = ""
    lists_any_schema: bool = False
    needs_database: bool = False
    timeout: float = 90.0  # longer than every lock wait
    connect_args: Mapping[str, Any] = field(default_factory=dict)
    knows_option: Callable[[str], bool] = lambda name: True
    contention: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    full: tuple[str, ...] = ()

    @property
    def clock(self) -> ColumnElement[float]:
        """The store's clock as an expression (seconds)."""
        return literal_column(self.clock_sql, Float())

    def limit_lock_waits(self, conn: Connection, ms: int) -> None:
        """Limit the transaction's lock waits to `ms` milliseconds, rounded up if the store needs it."""
        if self.lock_wait_sql:
            run_with_next(conn, self.lock_wait_sql.format(ms=ms, s=-(-ms // 1000)))

    def is_contention(self, error: DBAPIError) -> bool:
        """Return True if the statement failed because another session holds a lock or was faster."""
        return _says(error, self.contention)

    def is_damage(self, error: DBAPIError) -> bool:
        """Return True if the store itself is damaged, or is no store of qbcd's at all."""
        return _says(error, self.damage)

    def is_full(self, error: DBAPIError) -> bool:
        """Return True if the store's disk is full."""
        return _says(error, self.full)


def _says(error: DBAPIError, signs: tuple[str, ...]) -> bool:
    return _code(error) in signs or str(error.orig).startswith(signs or ("\0",))


def _code(error: DBAPIError) -> str:
    """Return the driver's SQLSTATE or error number, or an empty string."""
    first = next(iter(getattr(error.orig, "args", ())), None)
    if isinstance(first, int):
        return str(first)
    return getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None) or ""


def _libpq_knows(name: str) -> bool:
    try:
        make_dsn(**{name: "1"})
    except ProgrammingError:
        return False
    return True


def _pymysql_knows(name: str) -> bool:
    import pymysql

    return name in signature(pymysql.connect).parameters or name in _SSL_OPTIONS


def _family(drivername: str) -> StoreFacts:
    return StoreFacts(
        drivername=drivername,
        is_file=False,
        # UTC, since local time repeats an hour each year
        clock_sql="(timestampdiff(microsecond, date'1970-01-01', utc_timestamp(6)) / 1e6)",
        lock_wait_sql="SET SESSION innodb_lock_wait_timeout = {s}",
        ddl_lock_sql="",
        read_isolation="REPEATABLE READ",
        write_isolation="READ COMMITTED",
        begin_sql="SET SESSION innodb_lock_wait_timeout = 30, lock_wait_timeout = 30",
        undurable_sql=(
            "SELECT if(@@innodb_flush_log_at_trx_commit = 1, '', "
            "concat('innodb_flush_log_at_trx_commit is ', @@innodb_flush_log_at_trx_commit))"
        ),
        needs_database=True,
        connect_args={
            "charset": "utf8mb4",
            # set on connect: SQLAlchemy queries a new session for its quoting rules at once
            "sql_mode": "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION",
            "connect_timeout": 10,
            "program_name": "qbcd/state",
        },
        knows_option=_pymysql_knows,
        contention=("1205", "1213", "1020", "1412"),  # lock wait, deadlock, row or table newer than the snapshot
        # no such table or column, damaged table, index or definition
        damage=("1146", "1054", "1033", "1034", "1194", "1195", "1712", "1932"),
        full=("1021", "1026", "1114"),
    )


_STORES: dict[str, StoreFacts] = {
    "sqlite": StoreFacts(
        drivername="sqlite+pysqlite",
        is_file=True,
        clock_sql="((julianday('now') - 2440587.5) * 86400.0)",
        lock_wait_sql="",  # a write transaction locks the file; the driver's own timeout limits the wait
        ddl_lock_sql="",
        read_isolation=None,
        write_isolation=None,
        timeout=30.0,
        contention=("database is locked", "database table is locked", "database schema is locked"),
        damage=(
            "file is not a database",
            "database disk image is malformed",
            "malformed database schema",
            "file is encrypted",
            "unsupported file format",
            "no such table",
            "no such column",
            "Could not decode",
        ),
        full=("database or disk is full",),
    ),
    "postgresql": StoreFacts(
        drivername="postgresql+psycopg2",
        is_file=False,
        clock_sql="cast(extract(epoch from clock_timestamp()) as double precision)",
        lock_wait_sql="SET LOCAL lock_timeout = {ms}",
        ddl_lock_sql="SELECT pg_advisory_xact_lock(7166308215)",  # an arbitrary number that only qbcd uses
        read_isolation="REPEATABLE READ",
        write_isolation="READ COMMITTED",
        lists_any_schema=True,
        connect_args={
            "connect_timeout": 10,
            "application_name": "qbcd/state",
            "options": "-c synchronous_commit=on -c lock_timeout=30s -c idle_in_transaction_session_timeout=0 "
            "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3",
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 3,
        },
        knows_option=_libpq_knows,
        contention=("55P03", "40001", "40P01"),
        full=("53100",),
    ),
    **{name: _family(f"{name}+pymysql") for name in _FAMILY},
}


def store_facts(dialect: str) -> StoreFacts:
    """Return the facts of a store by SQLAlchemy's dialect name.

    Raises:
        NotBuilt: qbcd keeps no state in such a database yet.
    """
    facts = _STORES.get(dialect)
    if facts is None:
        raise NotBuilt(f"qbcd cannot keep state in {dialect!r} yet", remedy=f"use one of {', '.join(sorted(_STORES))}")
    return facts


def keeps_state(conn: Connection) -> bool:
    """Return True if qbcd can keep tables of its own in the database of a connection."""
    return conn.dialect.name in _STORES


def facts_of(conn: Connection) -> StoreFacts:
    """Return the facts of the store behind an open connection."""
    dialect: Dialect = conn.dialect
    return store_facts(dialect.name)
