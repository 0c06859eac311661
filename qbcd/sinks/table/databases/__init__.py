"""The databases that a table sink can write to, by the name in a URL."""

from __future__ import annotations

from sqlalchemy.engine import URL

from qbcd.catalog.source import SessionOptions
from qbcd.errors import ConfigError
from qbcd.sinks.table.databases.base import TargetDatabase, TargetSession
from qbcd.sinks.table.databases.duckdb import DuckTarget
from qbcd.sinks.table.databases.mysql_family import FamilyTarget
from qbcd.sinks.table.databases.postgresql import PostgresTarget
from qbcd.sinks.table.databases.sqlite import SqliteTarget

LIMITS = SessionOptions(statement_timeout=3600)
TARGETS = ("duckdb", "mariadb", "mysql", "postgresql", "sqlite")

__all__ = ["TARGETS", "TargetDatabase", "TargetSession", "target_at"]


def target_at(
    url: URL, schema: str | None = None, limits: SessionOptions | None = None, owner: object = None
) -> TargetDatabase:
    """Return the database at a URL.

    Args:
        url: The URL, with the login.
        schema: The schema of target tables.
        limits: The limits of a server's statements and waits; default: those of a source.
        owner: The owner of the waits, for `qbcd.common.waits.shorten`.

    Raises:
        ConfigError: Table sinks cannot write to it.
    """
    name = url.get_backend_name()
    if name == "sqlite":
        if schema:
            raise ConfigError("SQLite has no schemas", remedy="remove `schema`")
        return SqliteTarget(url)
    if name == "duckdb":
        return DuckTarget(url, schema)
    if name == "postgresql":
        return PostgresTarget(url, schema, limits or LIMITS, owner)
    if name in ("mariadb", "mysql"):
        return FamilyTarget(url, schema, limits or LIMITS, owner)
    raise ConfigError(f"sinks cannot write to {name} yet", remedy=f"use one of {', '.join(TARGETS)}")
