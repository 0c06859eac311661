"""MariaDB 10.6 and newer: where it differs from MySQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy.engine import Connection
from sqlglot import ErrorLevel, exp

from qbcd.connectors.mysql_family import MySQLFamily, functions
from qbcd.connectors.mysql_family.session import Spelling
from qbcd.model import Column


class MariaDB(MySQLFamily):
    """The connector of MariaDB; see :class:`~qbcd.connectors.base.Connector` for each method."""

    name = "MariaDB"
    sqlalchemy_driver = "mariadb+pymysql"
    spelling = Spelling(
        read_only="tx_read_only",
        isolation="tx_isolation",
        time_limit=("max_statement_time", 1),
        extra=(
            "idle_transaction_timeout = 0",
            "idle_readonly_transaction_timeout = 0",
            "explicit_defaults_for_timestamp = ON",  # as newer servers have it: a time-stamp is no clock of its own
        ),
    )
    oldest = (10, 6)
    no_pad = "collation_name LIKE '%%nopad%%'"
    all_digits = "concat({v} + 0e0)"  # a float's own text has six digits, a double's all
    identity = "@@server_id"
    position = "Innodb_lsn_current"
    running = (
        "SELECT max(time_ms * 1000) AS age FROM information_schema.processlist "
        "WHERE command NOT IN ('Sleep', 'Daemon', 'Binlog Dump') AND id <> connection_id()"
    )

    applying = (
        ("SHOW GLOBAL STATUS LIKE 'Slaves_running'", "this server is a replica, which writes what its master wrote"),
        ("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'", "this server is a node of a Galera cluster, whose nodes all write"),
        ("SELECT @@read_only AS value", "this server is read-only, as a replica is"),
    )
    index_exists = "IF NOT EXISTS "
    steady_writes = True
    locks_what_it_reads = True
    plain_functions = functions.PLAIN
    written_again = functions.WRITTEN_AGAIN

    def steady_pins(self) -> tuple[str, ...]:
        return (f"{self.session_pins()[0]}, {self.spelling.isolation} = 'REPEATABLE-READ'",)

    def steady_insert(self, insert: exp.Insert, *, pretty: bool) -> str:
        """A loop over a cursor: under REPEATABLE READ an INSERT .. SELECT locks what it reads, and reads what is new.

        A cursor's query does neither. The values are those of the query, in its types, and never leave the server.
        """
        read, into = insert.expression.copy(), insert.this.sql(dialect=self.dialect)
        first: Any = read
        while not isinstance(first, exp.Select):  # an arm of a set operation names the columns of all
            first = first.this
        names = [f"qbcd_{n}" for n in range(len(first.expressions))]
        told = zip(first.expressions, names, strict=True)
        first.set("expressions", [exp.alias_(item.unalias(), name) for item, name in told])
        values = ", ".join(f"qbcd_row.{name}" for name in names)
        return (
            "BEGIN NOT ATOMIC\nDECLARE qbcd_rows BIGINT DEFAULT 0;\nFOR qbcd_row IN (\n"
            f"{read.sql(dialect=self.dialect, unsupported_level=ErrorLevel.RAISE, pretty=pretty)}\n) DO\n"
            f"INSERT INTO {into} VALUES ({values});\nSET qbcd_rows = qbcd_rows + 1;\nEND FOR;\n"
            "SELECT qbcd_rows;\nEND"
        )

    def exact_column(self, column: Column) -> Column:
        return column  # scale and sign of zero are the column's: this server keeps no -0

    def is_own(self, version: str) -> bool:
        return "mariadb" in version.lower()

    def grants_of(self, conn: Connection) -> list[str]:
        return [str(row[0]) for row in conn.exec_driver_sql("SHOW GRANTS")]  # those of active roles among them
