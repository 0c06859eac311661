"""The list of all tables of a MariaDB or MySQL server."""

from __future__ import annotations

from sqlalchemy.engine import Connection
from typing_extensions import override

from qbcd.connectors.catalog import SupportsTableLists
from qbcd.connectors.facts import ListedTable
from qbcd.connectors.mysql_family.catalog import SYSTEM_SCHEMAS
from qbcd.connectors.mysql_family.rows import rows_of

_TABLES = """
SELECT table_schema AS "schema", table_name AS name FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND table_schema NOT IN %(system)s
ORDER BY table_schema, table_name
"""


class FamilyTableList(SupportsTableLists):
    """The tables of all databases; a partitioned table is one."""

    @override
    def list_tables(self, conn: Connection) -> list[ListedTable]:
        return [ListedTable(r["schema"], r["name"]) for r in rows_of(conn, _TABLES, {"system": SYSTEM_SCHEMAS})]
