"""Which server it is, and what of its settings and storage a comparison in the source needs."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.engine import Connection

from qbcd.connectors.mysql_family import catalog
from qbcd.errors import ConfigError, Refused
from qbcd.model import ServerIdentity, Table


def own_version(conn: Connection, name: str, oldest: tuple[int, int], is_own: Callable[[str], bool]) -> str:
    """What the server calls itself, where it is one that the connector takes.

    Args:
        conn: A session.
        name: Of the connector.
        oldest: (major, minor) of the oldest server that it takes.
        is_own: Whether a server that calls itself so is of the connector.

    Raises:
        ConfigError: It is of the other family, or too old.
    """
    version = str(conn.exec_driver_sql("SELECT version()").scalar_one())
    if not is_own(version):
        raise ConfigError(
            f"the server calls itself {version}, which is no {name}",
            remedy="begin the source's url with mariadb:// for MariaDB, with mysql:// for MySQL",
        )
    if _release(version) < oldest:
        raise ConfigError(
            f"{name} {version} is older than {'.'.join(map(str, oldest))}, the oldest that qbcd takes",
            remedy="upgrade the server",
        )
    return version


def server_identity(conn: Connection, name: str, version: str, *, identity: str, position: str) -> ServerIdentity:
    """Server and database; version as meaning, since collations are built in; the redo log's position.

    Args:
        conn: A session.
        name: Of the connector.
        version: What `own_version` gave.
        identity: SQL of what names the server, beside its database.
        position: Name of the status variable with the redo log's position.
    """
    sql = f"SELECT {identity} AS server, database() AS name, @@lower_case_table_names AS f"
    row, release = catalog.rows_of(conn, sql)[0], _release(version)
    status = catalog.rows_of(conn, f"SHOW GLOBAL STATUS LIKE '{position}'")
    return ServerIdentity(
        product=f"{name} {version}",
        identity=f"{row['server']}/{row['name']}",
        meaning=f"{'.'.join(map(str, release))};{row['f']}",
        position=int(status[0]["value"]) if status else 0,
    )


def _release(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def check_in_source(conn: Connection, table: Table, stream: str) -> None:
    """See :meth:`~qbcd.connectors.base.Connector.check_in_source`."""
    for name, engine in catalog.engines(conn, table).items():
        if not engine:
            raise Refused(
                f"{name} does not show its storage engine; a comparison in the source needs InnoDB", stream=stream,
                remedy="grant the role SHOW VIEW and SELECT on what the view reads, or use strategy id_rcs",
            )  # fmt: skip
        if engine.lower() != "innodb":
            raise Refused(
                f"{name} is stored by engine {engine}; a comparison in the source needs InnoDB", stream=stream,
                remedy=f"ALTER TABLE {name} ENGINE = InnoDB, or use strategy id_rcs",
            )  # fmt: skip
    names = "@@log_bin AS log, @@binlog_format AS format, @@innodb_flush_log_at_trx_commit AS flush"
    row = catalog.rows_of(conn, f"SELECT {names}")[0]
    if row["log"] and str(row["format"]).upper() == "STATEMENT":
        raise Refused(
            "the server writes its binary log by statements (binlog_format = STATEMENT), which it refuses to do at "
            "READ COMMITTED", stream=stream, remedy="set binlog_format to ROW or MIXED, or use strategy id_rcs",
        )  # fmt: skip
    if int(row["flush"]) != 1:
        raise Refused(
            f"innodb_flush_log_at_trx_commit is {row['flush']}: the server may lose a commit whose changes were "
            "delivered already", stream=stream, remedy="set it to 1, or use strategy id_rcs",
        )  # fmt: skip
