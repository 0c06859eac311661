"""Statistics of MariaDB and MySQL.

They come from information_schema, from InnoDB's own tables where the role may read them, and from EXPLAIN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from qbcd.connectors.facts import Collaborator
from qbcd.connectors.mysql_family.access import FamilyAccess
from qbcd.connectors.mysql_family.facts import FamilyFacts
from qbcd.connectors.mysql_family.rows import place_of, rows_of
from qbcd.connectors.statistics import (
    IndexSize,
    LogCapture,
    PlannedScan,
    StorageLayout,
    SupportsStatistics,
    TableStatistics,
)
from qbcd.model import Statement, Table

_TABLE = """
SELECT @@innodb_page_size AS page_bytes, table_rows AS row_count, data_length AS bytes, auto_increment AS next,
       unix_timestamp(now(6)) AS clock
FROM information_schema.tables WHERE table_schema = %(schema)s AND table_name = %(name)s
"""
_WRITES = """
SELECT sum(count_insert + count_update + count_delete) AS written, sum(count_insert) AS inserted
FROM performance_schema.table_io_waits_summary_by_table
WHERE object_schema = %(schema)s AND object_name = %(name)s
"""
_INDEX_PAGES = """
SELECT index_name AS name, sum(stat_value) AS pages FROM mysql.innodb_index_stats
WHERE database_name = %(schema)s AND substring_index(table_name, '#', 1) = %(name)s AND stat_name = 'size'
GROUP BY index_name
"""
# Rows and pages when the table was last analyzed. `table_rows` moves with each write; `data_length` does not.
_ANALYZED = """
SELECT sum(n_rows) AS row_count, sum(clustered_index_size) AS pages FROM mysql.innodb_table_stats
WHERE database_name = %(schema)s AND substring_index(table_name, '#', 1) = %(name)s
"""
_UPTIME = "SHOW GLOBAL STATUS LIKE 'Uptime'"
_LOG = "SELECT @@global.log_bin AS kept, {log_format} AS format"


class FamilyStatistics(Collaborator, SupportsStatistics):
    """Statistics of both servers; their sizes are estimates that the server renews by itself."""

    facts: FamilyFacts
    # InnoDB: a header of 5 bytes, transaction and roll pointer of 13, about 2 of NULLs, lengths and directory. A load
    # leaves a sixteenth of each page free.
    layout = StorageLayout(
        page=136, row=20, fill=15 / 16, index_page=136, entry=7, index_fill=15 / 16, align=1, keyed=True
    )

    @override
    def table_statistics(self, conn: Connection, table: Table) -> TableStatistics:
        found = rows_of(conn, _TABLE, place_of(table))
        row = found[0] if found and table.kind != "view" else {}
        page = int(row.get("page_bytes") or 16384)
        rows, size, following = row.get("row_count"), row.get("bytes"), row.get("next")
        writes = _readable(conn, _WRITES, place_of(table))
        counted = writes[0] if writes and writes[0]["written"] is not None else None
        clock = float(row.get("clock") or 0.0)
        analyzed = _readable(conn, _ANALYZED, place_of(table)) if rows is not None else []
        then = analyzed[0]["row_count"] if analyzed else None
        return TableStatistics(
            page,
            known_pages=None if size is None else -(-int(size) // page),
            known_rows=None if rows is None else int(rows if then is None else then),
            counted_rows=None if rows is None or then is None else int(rows),
            written=None if counted is None else int(counted["written"]),
            inserted=None if counted is None else int(counted["inserted"]),
            clock=clock,
            counters_since=None if counted is None else clock - float(rows_of(conn, _UPTIME)[0]["value"]),
            highest_number=None if following is None else int(following) - 1,
        )

    @override
    def index_sizes(self, conn: Connection, table: Table) -> list[IndexSize]:
        pages = {str(row["name"]): int(row["pages"]) for row in _readable(conn, _INDEX_PAGES, place_of(table))}
        found = FamilyAccess(self.facts).indexes(conn, table)
        return [IndexSize(one, pages.get(one.name), is_table=one.name == "PRIMARY") for one in found]

    @override
    def planned_scan(self, conn: Connection, table: Table, statement: Statement) -> PlannedScan:
        steps = self.facts.plan_steps(conn, statement.sql)
        rows = sum(step.rows for step in steps)
        indexes = tuple(dict.fromkeys(step.index for step in steps if step.index))
        if not steps:  # the condition is never true, or the key is a constant
            return PlannedScan(rows=1.0, whole_share=0.0)
        if any(step.whole for step in steps):
            return PlannedScan(rows=rows)
        return PlannedScan(rows, indexes, 1.0 if indexes == ("PRIMARY",) else None, whole_share=0.0)

    @override
    def column_correlation(self, conn: Connection, table: Table, column: str) -> float | None:
        return 1.0 if table.primary_key[:1] == (column,) else None

    @override
    def log_capture(self, conn: Connection) -> LogCapture:
        row = rows_of(conn, _LOG.format(log_format=self.facts.log_format))[0]
        if not int(row["kept"]):
            return LogCapture(False, "log_bin is off, and log capture needs log_bin and binlog_format = ROW")
        ready = str(row["format"]).upper() == "ROW"
        return LogCapture(ready, f"binlog_format is {row['format']}" + ("" if ready else ", and log capture needs ROW"))


def _readable(conn: Connection, sql: str, named: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table that the role may not be allowed to read.

    There are none if it is not allowed, or if there is no such table.
    """
    try:
        return rows_of(conn, sql, named)
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        return []
