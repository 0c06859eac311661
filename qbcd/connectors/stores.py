"""What a database must tell before qbcd can keep state in it: its clock, its lock waits, its durability.

A store is either the project's state database or the schema of a source in which a database site keeps its streams.
`qbcd.state` is written once, in SQLAlchemy Core, and asks here for the few things whose spelling or meaning differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Float, literal_column
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ColumnElement

from qbcd.errors import NotBuilt


@dataclass(frozen=True)
class StoreFacts:
    """How one database serves as a store.

    Attributes:
        drivername: SQLAlchemy's driver name, where a URL names none.
        is_file: The store is one local file.
        clock_sql: SQL of the store's own clock, seconds since 1970 UTC as a double, read anew by every statement.
        lock_wait_sql: Statement that limits lock waits of the transaction to ``{ms}`` milliseconds, or empty.
        ddl_lock_sql: Statement that lets one transaction at a time create tables, or empty where each write does.
        read_isolation: Isolation level in which all reads of a transaction see one state, None where each does.
        connect_args: Arguments of the driver's connect(): durability, time-outs.
        contention: SQLSTATEs, or starts of messages, that say "somebody else has it", not "it is broken".
        damage: Starts of messages that say that the file is no longer what was written.
    """

    drivername: str
    is_file: bool
    clock_sql: str
    lock_wait_sql: str
    ddl_lock_sql: str
    read_isolation: str | None
    connect_args: Mapping[str, Any] = field(default_factory=dict)
    contention: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()

    @property
    def clock(self) -> ColumnElement[float]:
        """The store's clock as an expression (seconds)."""
        return literal_column(self.clock_sql, Float())

    def is_contention(self, error: DBAPIError) -> bool:
        """Whether the statement failed because another session holds a lock or was faster."""
        return _says(error, self.contention)

    def is_damage(self, error: DBAPIError) -> bool:
        """Whether the store itself is damaged or is no such store at all."""
        return _says(error, self.damage)


def _says(error: DBAPIError, signs: tuple[str, ...]) -> bool:
    code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None) or ""
    return code in signs or str(error.orig).startswith(signs or ("\0",))


_STORES: dict[str, StoreFacts] = {
    "sqlite": StoreFacts(
        drivername="sqlite+pysqlite",
        is_file=True,
        clock_sql="((julianday('now') - 2440587.5) * 86400.0)",
        lock_wait_sql="",  # a write transaction holds the file; the driver's own time-out limits the wait
        ddl_lock_sql="",
        read_isolation=None,
        connect_args={"timeout": 30.0},
        contention=("database is locked", "database table is locked", "database schema is locked"),
        damage=(
            "file is not a database", "database disk image is malformed", "malformed database schema",
            "file is encrypted", "unsupported file format", "no such table", "no such column", "Could not decode",
        ),
    ),
    "postgresql": StoreFacts(
        drivername="postgresql+psycopg2",
        is_file=False,
        clock_sql="cast(extract(epoch from clock_timestamp()) as double precision)",
        lock_wait_sql="SET LOCAL lock_timeout = {ms}",
        ddl_lock_sql="SELECT pg_advisory_xact_lock(7166308215)",  # an arbitrary number that only qbcd uses
        read_isolation="REPEATABLE READ",
        connect_args={
            "connect_timeout": 10,
            "application_name": "qbcd/state",
            "options": "-c synchronous_commit=on -c lock_timeout=30s -c idle_in_transaction_session_timeout=0",
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 3,
        },
        contention=("55P03", "40001", "40P01"),
    ),
}  # fmt: skip


def store_facts(dialect: str) -> StoreFacts:
    """The facts of a store by SQLAlchemy's dialect name.

    Raises:
        NotBuilt: qbcd keeps no state in such a database yet.
    """
    facts = _STORES.get(dialect)
    if facts is None:
        raise NotBuilt(f"qbcd cannot keep state in {dialect!r} yet", remedy=f"use one of {', '.join(sorted(_STORES))}")
    return facts


def facts_of(conn: Connection) -> StoreFacts:
    """The facts of the store behind an open connection."""
    dialect: Dialect = conn.dialect
    return store_facts(dialect.name)
