"""What of a server's settings and storage a comparison in the source needs."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from qbcd.connectors.mysql_family import catalog
from qbcd.errors import Refused
from qbcd.model import Table


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
