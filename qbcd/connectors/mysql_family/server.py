"""The server: version, and settings and storage that a comparison in the source needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.engine import Connection

from qbcd.connectors.mysql_family.facts import FamilyFacts
from qbcd.connectors.mysql_family.rows import TABLE, Query, engines, place_of, rows_of_each
from qbcd.errors import ConfigError, Refused
from qbcd.model import Table

VERSION: Query = ("SELECT version() AS version", None)


def own_version(version: str, facts: FamilyFacts) -> str:
    """Return the server's version.

    Raises:
        ConfigError: The server is of the other family, or too old.
    """
    if not facts.is_own(version):
        raise ConfigError(
            f"the server's version is {version}, which is not {facts.name}",
            remedy="start the source's url with mariadb:// for MariaDB, with mysql:// for MySQL",
        )
    if release(version) < facts.oldest:
        raise ConfigError(
            f"{facts.name} {version} is older than {'.'.join(map(str, facts.oldest))}, the oldest supported version",
            remedy="upgrade the server",
        )
    return version


def release(version: str) -> tuple[int, int]:
    """Return (major, minor) of a version."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def check_in_source(
    conn: Connection, facts: FamilyFacts, stream: str, tables: Sequence[Table], own: Sequence[str]
) -> None:
    """Check that a comparison in the source can work with `tables` and qbcd's own ones.

    Args:
        stream: For errors.
        own: A schema and the names of qbcd's tables in it, which may not exist yet; or nothing.

    Raises:
        Refused: It cannot.
    """
    plain = [table for table in tables if table.kind != "view"]
    settings, *found = rows_of_each(conn, [_settings_query(facts, own), *((TABLE, place_of(one)) for one in plain)])
    _check_settings(settings[0], stream, own)
    for table, rows in zip(plain, found, strict=True):
        _check_engines({f"{table.schema}.{table.name}": str(row["engine"] or "") for row in rows}, stream)
    for table in tables:
        if table.kind == "view":
            _check_engines(engines(conn, table), stream)


def _check_engines(found: Mapping[str, str], stream: str) -> None:
    for name, engine in found.items():
        if not engine:
            raise Refused(
                f"the storage engine of {name} is hidden from the role; a comparison in the source needs InnoDB",
                stream=stream,
                remedy="grant the role SHOW VIEW on the view and SELECT on its tables, or use strategy id_rcs",
            )
        if engine.lower() != "innodb":
            raise Refused(
                f"{name} has storage engine {engine}; a comparison in the source needs InnoDB",
                stream=stream,
                remedy=f"ALTER TABLE {name} ENGINE = InnoDB, or use strategy id_rcs",
            )


_SETTINGS = """
SELECT @@log_bin AS log, {log_format} AS format, @@innodb_flush_log_at_trx_commit AS flush,
       @@lower_case_table_names AS folded"""
_OTHERS = """, (
SELECT min(concat(table_schema, '.', table_name, ' ', coalesce(engine, 'none'))) FROM information_schema.tables
WHERE table_schema = %(schema)s AND table_name IN %(names)s AND coalesce(engine, '') <> 'InnoDB') AS other"""


def _settings_query(facts: FamilyFacts, own: Sequence[str]) -> Query:
    tables = {"schema": own[0], "names": tuple(own[1:])} if own else None
    return _SETTINGS.format(log_format=facts.log_format) + (_OTHERS if own else ""), tables


def _check_settings(row: Mapping[str, Any], stream: str, own: Sequence[str]) -> None:
    """Check that the server keeps its commits, and can undo a refused step in qbcd's own tables.

    Raises:
        Refused: It does not.
    """
    if own and int(row["folded"]) == 1 and own[0] != own[0].lower():
        raise Refused(
            f"schema {own[0]} has capitals, but this server stores names in lower case (lower_case_table_names = 1)",
            stream=stream,
            remedy=f"write  schema: {own[0].lower()}  in the source",
        )
    if own and row["other"]:
        name, _, engine = str(row["other"]).rpartition(" ")
        raise Refused(
            f"qbcd's own table {name} has storage engine {engine}, which cannot undo a refused poll",
            stream=stream,
            remedy=f"ALTER TABLE {name} ENGINE = InnoDB",
        )
    if row["log"] and str(row["format"]).upper() == "STATEMENT":
        raise Refused(
            "the server logs statements (binlog_format = STATEMENT), and therefore refuses writes at READ COMMITTED",
            stream=stream,
            remedy="set binlog_format to ROW or MIXED, or use strategy id_rcs",
        )
    if int(row["flush"]) != 1:
        raise Refused(
            f"innodb_flush_log_at_trx_commit is {row['flush']}: the server may lose a commit whose changes were "
            "already delivered",
            stream=stream,
            remedy="set it to 1, or use strategy id_rcs",
        )
