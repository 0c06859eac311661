"""MariaDB 10.6 and newer: where it differs from MySQL."""

from __future__ import annotations

from sqlalchemy.engine import Connection
from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.facts import Alike
from qbcd.connectors.mysql_family import (
    MySQLFamily,
    cursor_insert,
    dialect_gaps,
    functions,
    partitions,
    planner_rewrites,
    plans,
    session,
    types,
    views,
)
from qbcd.connectors.mysql_family.facts import Spelling
from qbcd.connectors.mysql_family.queries import FamilyQueries
from qbcd.connectors.queries import SupportsIncrementalQueries
from qbcd.model import Column


class MariaDB(MySQLFamily):
    """The connector of MariaDB."""

    name = "MariaDB"
    sqlalchemy_driver = "mariadb+pymysql"
    spelling = Spelling(
        read_only="tx_read_only",
        isolation="tx_isolation",
        time_limit=("max_statement_time", 1),
        extra=(
            "idle_transaction_timeout = 0",
            "idle_readonly_transaction_timeout = 0",
            "system_versioning_asof = DEFAULT",  # read the current rows of a system-versioned table
            "explicit_defaults_for_timestamp = ON",  # as newer servers: no timestamp column is updated by itself
        ),
    )
    oldest = (10, 6)
    no_pad = "(collation_name LIKE '%%nopad%%' OR collation_name LIKE '%%0900%%')"  # MySQL's names, since 11.4
    all_digits = "concat({v} + 0e0)"  # the text of a float has six digits, that of a double all
    log_format = "@@binlog_format"
    identity = "@@server_id"
    stored_parts = staticmethod(partitions.parts_by_conversion)
    plan_steps = staticmethod(plans.steps_by_table)
    position = "Innodb_lsn_current"
    running = (
        "SELECT max(time_ms * 1000) AS age FROM information_schema.processlist "
        "WHERE command NOT IN ('Sleep', 'Daemon', 'Binlog Dump') AND id <> connection_id()"
    )

    applying = (
        (
            "SHOW GLOBAL STATUS LIKE 'Slaves_running'",
            "this server is a replica, which applies changes of another server",
        ),
        ("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'", "this server is a Galera node, and other nodes write too"),
        ("SELECT @@read_only AS value", "this server is read-only, as a replica is"),
    )
    index_exists = "IF NOT EXISTS "

    def __init__(self) -> None:
        super().__init__()
        self.queries = MariaQueries(self)

    @override
    def is_own(self, version: str) -> bool:
        return "mariadb" in version.lower()

    @override
    def grants_of(self, conn: Connection) -> list[str]:
        return [str(row[0]) for row in conn.exec_driver_sql("SHOW GRANTS")]  # grants of active roles included


class MariaQueries(FamilyQueries, SupportsIncrementalQueries):
    """Queries of the user; variant delta can follow their changes."""

    plain_functions = functions.PLAIN
    written_again = functions.WRITTEN_AGAIN
    texts_alike = Alike.VARIED
    casts_arms = False  # CAST knows few types
    own_word = cursor_insert.WORD
    view_definition = staticmethod(views.view_definition)
    equality_class = staticmethod(types.equality_class)
    misread = staticmethod(dialect_gaps.misread)
    planned = staticmethod(planner_rewrites.planned)

    @override
    def exact_column(self, column: Column) -> Column:
        return column

    @override
    def steady_pins(self) -> tuple[str, ...]:
        spelling = self.facts.spelling
        return (f"SET {', '.join(session.pinned(spelling))}, {spelling.isolation} = 'REPEATABLE-READ'",)

    @override
    def insert_as_seen(self, insert: exp.Expression, *, pretty: bool) -> tuple[str, bool]:
        return cursor_insert.insert_as_seen(insert, pretty=pretty), True
