"""The server: its version, and settings and storage that a comparison in the source needs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from qbcd.connectors.mysql_family.facts import FamilyFacts
from qbcd.connectors.mysql_family.rows import engines, rows_of
from qbcd.errors import ConfigError, Refused
from qbcd.model import Table


def own_version(conn: Connection, facts: FamilyFacts) -> str:
    """Return the server's version, if the connector takes the server.

    Raises:
        ConfigError: It is of the other family, or too old.
    """
    version = str(conn.exec_driver_sql("SELECT version()").scalar_one())
    if not facts.is_own(version):
        raise ConfigError(
            f"the server calls itself {version}, which is no {facts.name}",
            remedy="begin the source's url with mariadb:// for MariaDB, with mysql:// for MySQL",
        )
    if release(version) < facts.oldest:
        raise ConfigError(
            f"{facts.name} {version} is older than {'.'.join(map(str, facts.oldest))}, the oldest that qbcd takes",
            remedy="upgrade the server",
        )
    return version


def release(version: str) -> tuple[int, int]:
    """Return (major, minor) of a version."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def check_engine(conn: Connection, table: Table, stream: str) -> None:
    """Check that a table of the user's, or each that a view reads, can be compared in one transaction.

    Raises:
        Refused: It cannot.
    """
    for name, engine in engines(conn, table).items():
        if not engine:
            raise Refused(
                f"{name} does not show its storage engine; a comparison in the source needs InnoDB",
                stream=stream,
                remedy="grant the role SHOW VIEW and SELECT on what the view reads, or use strategy id_rcs",
            )
        if engine.lower() != "innodb":
            raise Refused(
                f"{name} is stored by engine {engine}; a comparison in the source needs InnoDB",
                stream=stream,
                remedy=f"ALTER TABLE {name} ENGINE = InnoDB, or use strategy id_rcs",
            )


_SETTINGS = """
SELECT @@log_bin AS log, @@binlog_format AS format, @@innodb_flush_log_at_trx_commit AS flush,
       @@lower_case_table_names AS folded"""
_OTHERS = """, (
SELECT min(concat(table_schema, '.', table_name, ' ', coalesce(engine, 'none'))) FROM information_schema.tables
WHERE table_schema = %(schema)s AND table_name IN %(names)s AND coalesce(engine, '') <> 'InnoDB') AS other"""


def check_settings(conn: Connection, stream: str, own: Sequence[str]) -> None:
    """Check that the server keeps its commits, and stores qbcd's own tables so that a refused step is undone in them.

    Args:
        conn: A session.
        stream: For whom.
        own: A schema and names of tables in it, as far as they are there; or nothing.

    Raises:
        Refused: It does not.
    """
    asked = {"schema": own[0], "names": tuple(own[1:])} if own else None
    row = rows_of(conn, _SETTINGS + (_OTHERS if own else ""), asked)[0]
    if own and int(row["folded"]) == 1 and own[0] != own[0].lower():
        raise Refused(
            f"schema {own[0]} has capitals, and this server keeps names in lower case (lower_case_table_names = 1)",
            stream=stream,
            remedy=f"write  schema: {own[0].lower()}  in the source",
        )
    if own and row["other"]:
        name, _, engine = str(row["other"]).rpartition(" ")
        raise Refused(
            f"qbcd's own table {name} is stored by engine {engine}, in which a refused poll cannot be undone",
            stream=stream,
            remedy=f"ALTER TABLE {name} ENGINE = InnoDB",
        )
    if row["log"] and str(row["format"]).upper() == "STATEMENT":
        raise Refused(
            "the server writes its binary log by statements (binlog_format = STATEMENT), which it refuses to do at "
            "READ COMMITTED",
            stream=stream,
            remedy="set binlog_format to ROW or MIXED, or use strategy id_rcs",
        )
    if int(row["flush"]) != 1:
        raise Refused(
            f"innodb_flush_log_at_trx_commit is {row['flush']}: the server may lose a commit whose changes were "
            "delivered already",
            stream=stream,
            remedy="set it to 1, or use strategy id_rcs",
        )
