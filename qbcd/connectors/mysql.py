"""MySQL 8.0 and newer: where it differs from MariaDB."""

from __future__ import annotations

from sqlalchemy.engine import Connection
from typing_extensions import override

from qbcd.connectors.base import JdbcDriver
from qbcd.connectors.mysql_family import MySQLFamily, partitions, plans
from qbcd.connectors.mysql_family.facts import MYSQL_DRIVER_CLASS, Spelling
from qbcd.connectors.mysql_family.rows import UNBOUND


class MySQL(MySQLFamily):
    """The connector of MySQL.

    Attributes:
        executed: (major, minor) of the version that the tests run.
    """

    name = "MySQL"
    other_drivers = (
        JdbcDriver(
            driver_class=MYSQL_DRIVER_CLASS,
            maven="com.mysql:mysql-connector-j:9.4.0",
            jar_names=("mysql-connector-j-*.jar",),
            debian="",
            safe_from=("8.0.33",),
            timeout_second=1000,
        ),
    )
    sqlalchemy_driver = "mysql+pymysql"
    spelling = Spelling(
        read_only="transaction_read_only",
        isolation="transaction_isolation",
        time_limit=("max_execution_time", 1000),
        # otherwise statistics are up to a day old
        extra=("information_schema_stats_expiry = 0",),
    )
    oldest = (8, 0)
    divides_json = False
    executed = (9, 7)  # by the tests
    no_pad = (
        "coalesce((SELECT c.pad_attribute = 'NO PAD' FROM information_schema.collations c "
        "WHERE c.collation_name = columns.collation_name), 0)"
    )
    # the text of an expression is cut at 22 characters, the text of a JSON number is not
    all_digits = "concat(json_extract(json_array({v} + 0e0), '$[0]'))"
    # the variable is deprecated; without it there is one format, which is ROW
    log_format = (
        "coalesce((SELECT variable_value FROM performance_schema.session_variables "
        "WHERE variable_name = 'binlog_format'), 'ROW')"
    )
    identity = "@@server_uuid"
    stored_parts = staticmethod(partitions.parts_by_pattern)
    plan_steps = staticmethod(plans.steps_by_json)
    position = "Innodb_redo_log_current_lsn"
    # Deprecated, but complete: the table of performance_schema is empty if that is switched off.
    running = (
        "SELECT max(time) * 1000000 AS age FROM information_schema.processlist "
        "WHERE command NOT IN ('Sleep', 'Daemon', 'Binlog Dump', 'Binlog Dump GTID') AND id <> connection_id()"
    )

    applying = (
        (
            "SELECT service_state = 'ON' AS value FROM performance_schema.replication_applier_status",
            "this server is a replica, which applies changes of another server",
        ),
        (
            "SELECT member_id <> '' AS value FROM performance_schema.replication_group_members",
            "this server is in a replication group, whose other members may write too",
        ),
        ("SELECT @@read_only AS value", "this server is read-only, as a replica is"),
    )

    @override
    def is_own(self, version: str) -> bool:
        return "mariadb" not in version.lower()

    @override
    def version_remark(self, release: tuple[int, int]) -> str:
        if release >= self.executed:
            return ""
        tested = ".".join(map(str, self.executed))
        return f"qbcd's tests run {tested}; this version is supported by its documentation and was not executed"

    @override
    def grants_of(self, conn: Connection) -> list[str]:
        roles = str(conn.exec_driver_sql("SELECT current_role()").scalar_one())
        using = "" if roles == "NONE" else f" USING {roles}"
        sql = f"SHOW GRANTS FOR CURRENT_USER(){using}"  # the host of a role may be a percent sign
        return [str(row[0]) for row in conn.exec_driver_sql(sql, execution_options=UNBOUND)]
