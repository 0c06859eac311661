"""MariaDB 10.6 and newer: where it differs from MySQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection
from sqlglot import exp

from qbcd.connectors.facts import Alike
from qbcd.connectors.mysql_family import (
    MySQLFamily,
    cursor_insert,
    dialect_gaps,
    functions,
    planner_rewrites,
    types,
    views,
)
from qbcd.connectors.mysql_family.session import Spelling
from qbcd.model import Column, Table


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
            "system_versioning_asof = DEFAULT",  # a table with versions is read as it is now
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
    own_word = cursor_insert.WORD
    plain_functions = functions.PLAIN
    written_again = functions.WRITTEN_AGAIN
    texts_alike = Alike.VARIED
    casts_arms = False  # CAST knows few types

    def is_own(self, version: str) -> bool:
        return "mariadb" in version.lower()

    def grants_of(self, conn: Connection) -> list[str]:
        return [str(row[0]) for row in conn.exec_driver_sql("SHOW GRANTS")]  # those of active roles among them

    def exact_column(self, column: Column) -> Column:
        return column

    def equality_class(self, column: Column) -> Alike:
        return types.alike(column)

    def view_definition(self, conn: Connection, view: Table) -> str:
        return views.view_definition(conn, view)

    def steady_pins(self) -> tuple[str, ...]:
        return (f"{'; '.join(self.session_pins())}, {self.spelling.isolation} = 'REPEATABLE-READ'",)

    def misread(self, text: str, tables: Sequence[Table]) -> str:
        return dialect_gaps.misread(text, tables)

    def planned(self, query: exp.Query, *, first: bool = False) -> exp.Query:
        return planner_rewrites.planned(query, first=first)

    def insert_as_seen(self, insert: exp.Expression, *, pretty: bool) -> tuple[str, bool]:
        return cursor_insert.insert_as_seen(insert, pretty=pretty), True
