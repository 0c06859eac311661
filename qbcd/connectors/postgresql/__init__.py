"""PostgreSQL 14 to 18: its facts, and a module for each collaborator."""

from __future__ import annotations

from qbcd.connectors.base import Connector
from qbcd.connectors.facts import JdbcDriver
from qbcd.connectors.postgresql import expressions, session
from qbcd.connectors.postgresql.access import PostgresAccess
from qbcd.connectors.postgresql.catalog import PostgresCatalog
from qbcd.connectors.postgresql.copy import PostgresCsvRows
from qbcd.connectors.postgresql.ddl import PostgresDdl
from qbcd.connectors.postgresql.encodings import PostgresEncodings
from qbcd.connectors.postgresql.errors import PostgresErrors
from qbcd.connectors.postgresql.leaves import PostgresLeaves
from qbcd.connectors.postgresql.pages import PostgresPages
from qbcd.connectors.postgresql.queries import PostgresQueries
from qbcd.connectors.postgresql.ranges import PostgresRanges
from qbcd.connectors.postgresql.scans import PostgresScans
from qbcd.connectors.postgresql.shared_digests import PostgresSharedDigests
from qbcd.connectors.postgresql.statistics import PostgresStatistics
from qbcd.connectors.postgresql.table_list import PostgresTableList
from qbcd.connectors.postgresql.watermarks import PostgresWatermarks


class PostgreSQL(Connector):
    """The connector of PostgreSQL."""

    name = "PostgreSQL"
    dialect = expressions.DIALECT
    driver = JdbcDriver(
        driver_class=session.DRIVER_CLASS,
        maven="org.postgresql:postgresql:42.7.7",
        jar_names=("postgresql-42.*.jar", "postgresql42.jar", "postgresql.jar", "postgresql-*.jar"),
        debian="libpostgresql-jdbc-java",
        # CVE-2024-1597 was fixed in these releases
        safe_from=("42.2.28", "42.3.9", "42.4.4", "42.5.5", "42.6.1", "42.7.2"),
        timeout_second=1,
    )
    sqlalchemy_driver = session.SQLALCHEMY_DRIVER
    jdbc_properties = session.JDBC_PROPERTIES
    encoder_version = 1
    identifier_limit = 63
    column_limit = 1600
    unqualified_names = False  # the pins set the search path to pg_catalog alone
    full_join = True
    random_key_types = frozenset({"uuid"})
    ranges_per_statement = 100_000

    def __init__(self) -> None:
        self.sessions = session.PostgresSessions(self)
        self.errors = PostgresErrors()
        self.catalog = PostgresCatalog(self)
        self.ddl = PostgresDdl(self)
        self.expressions = expressions.PostgresExpressions(self)
        self.ranges = PostgresRanges(self)
        self.watermarks = PostgresWatermarks(self)
        self.queries = PostgresQueries(self)
        self.abilities = (
            session.PostgresSnapshots(),
            PostgresCsvRows(),
            PostgresEncodings(),
            PostgresAccess(self),
            PostgresPages(self),
            PostgresScans(self),
            PostgresLeaves(self),
            PostgresSharedDigests(),
            PostgresStatistics(self),
            PostgresTableList(),
        )
