"""The databases that a table sink can write to, by the name in a URL."""

from __future__ import annotations

from sqlalchemy.engine import URL

from qbcd.errors import ConfigError
from qbcd.sinks.table.databases.base import TargetDatabase, TargetSession
from qbcd.sinks.table.databases.duckdb import DuckTarget
from qbcd.sinks.table.databases.mysql_family import FamilyTarget
from qbcd.sinks.table.databases.postgresql import PostgresTarget
from qbcd.sinks.table.databases.sqlite import SqliteTarget

TARGETS = ("duckdb", "mariadb", "mysql", "postgresql", "sqlite")

__all__ = ["TARGETS", "TargetDatabase", "TargetSession", "target_at"]


def target_at(url: URL, schema: str | None = None) -> TargetDatabase:
    """Return the database at a URL.

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
        return PostgresTarget(url, schema)
    if name in ("mariadb", "mysql"):
        return FamilyTarget(url, schema)
    raise ConfigError(f"sinks cannot write to {name} yet", remedy=f"use one of {', '.join(TARGETS)}")
