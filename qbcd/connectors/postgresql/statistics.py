"""Statistics of PostgreSQL: sizes of files, pg_class, pg_stat_all_tables, and EXPLAIN."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy.engine import Connection
from typing_extensions import override

from qbcd.connectors.facts import Collaborator
from qbcd.connectors.postgresql.access import PostgresAccess
from qbcd.connectors.postgresql.rows import rows_of
from qbcd.connectors.statistics import IndexSize, LogCapture, PlannedScan, SupportsStatistics, TableStatistics
from qbcd.model import Statement, Table

_FAMILY = """
WITH RECURSIVE family(oid) AS (
  SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = %(schema)s AND c.relname = %(name)s
  UNION SELECT i.inhrelid FROM pg_inherits i JOIN family f ON i.inhparent = f.oid
)
"""
# A table that was never analyzed has reltuples -1; a file has its size anyway.
_TABLE = f"""{_FAMILY}
SELECT current_setting('block_size')::int AS page_bytes, count(*) FILTER (WHERE c.relkind IN ('r', 'm')) AS stored,
       sum(pg_relation_size(c.oid)) AS bytes, bool_and(c.reltuples >= 0) AS analyzed,
       sum(c.reltuples)::bigint AS rows, sum(c.relpages)::bigint AS pages,
       sum(s.n_dead_tup)::bigint AS dead, sum(s.n_tup_ins)::bigint AS inserted,
       sum(s.n_tup_ins + s.n_tup_upd + s.n_tup_del)::bigint AS written,
       extract(epoch FROM clock_timestamp())::float8 AS clock,
       (SELECT extract(epoch FROM coalesce(d.stats_reset, pg_postmaster_start_time()))::float8
        FROM pg_stat_database d WHERE d.datname = current_database()) AS since
FROM family f JOIN pg_class c ON c.oid = f.oid LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
WHERE c.relkind IN ('r', 'm')
"""
_INDEX_PAGES = f"""{_FAMILY}
SELECT x.relname AS name, pg_relation_size(x.oid) / current_setting('block_size')::bigint AS pages
FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid IN (SELECT oid FROM family)
"""
_CORRELATION = """
SELECT s.correlation FROM pg_stats s
WHERE s.schemaname = %(schema)s AND s.tablename = %(name)s AND s.attname = %(column)s ORDER BY s.inherited LIMIT 1
"""
_LOG = "SELECT current_setting('wal_level') AS level, pg_is_in_recovery() AS standby"


class PostgresStatistics(Collaborator, SupportsStatistics):
    """Statistics of PostgreSQL."""

    @override
    def table_statistics(self, conn: Connection, table: Table) -> TableStatistics:
        row = rows_of(conn, _TABLE, {"schema": table.schema, "name": table.name})[0]
        page = int(row["page_bytes"])
        if not row["stored"]:
            return TableStatistics(page)
        analyzed = bool(row["analyzed"])
        return TableStatistics(
            page,
            pages=int(row["bytes"]) // page,
            known_pages=int(row["pages"]) if analyzed else None,
            known_rows=int(row["rows"]) if analyzed else None,
            dead=_whole(row["dead"]),
            written=_whole(row["written"]),
            inserted=_whole(row["inserted"]),
            clock=float(row["clock"]),
            counters_since=None if row["since"] is None else float(row["since"]),
        )

    @override
    def index_sizes(self, conn: Connection, table: Table) -> list[IndexSize]:
        rows = rows_of(conn, _INDEX_PAGES, {"schema": table.schema, "name": table.name})
        pages = {str(row["name"]): int(row["pages"]) for row in rows}
        found = PostgresAccess(self.facts).indexes(conn, table)
        return [IndexSize(one, pages.get(one.name) or None) for one in found]  # an index of partitions has no pages

    @override
    def planned_scan(self, conn: Connection, table: Table, statement: Statement) -> PlannedScan:
        sql = f"EXPLAIN (FORMAT JSON, VERBOSE) {statement.sql}"
        made = conn.exec_driver_sql(sql, execution_options={"no_parameters": True}).scalar_one()
        plan = (json.loads(made) if isinstance(made, str) else made)[0]["Plan"]
        nodes = list(_nodes(plan))
        indexes = tuple(dict.fromkeys(str(node["Index Name"]) for node in nodes if "Index Name" in node))
        whole = [node for node in nodes if node["Node Type"] in ("Seq Scan", "Foreign Scan")]
        first = self._first_column(conn, table, indexes)
        return PlannedScan(
            rows=float(plan["Plan Rows"]),
            indexes=indexes,
            correlation=self.column_correlation(conn, table, first) if first else None,
            whole_share=self._share(conn, table, whole) if whole else 0.0,
        )

    def _first_column(self, conn: Connection, table: Table, indexes: tuple[str, ...]) -> str:
        found = [one for one in PostgresAccess(self.facts).indexes(conn, table) if one.name in indexes]
        return found[0].columns[0] if found and found[0].columns else ""

    def _share(self, conn: Connection, table: Table, whole: list[Mapping[str, Any]]) -> float:
        """Return the share of the table's pages in the relations that are read whole."""
        sql = f"""{_FAMILY}
SELECT n.nspname AS schema, c.relname AS name, pg_relation_size(c.oid) AS bytes
FROM family f JOIN pg_class c ON c.oid = f.oid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm')"""
        rows = rows_of(conn, sql, {"schema": table.schema, "name": table.name})
        sizes = {(row["schema"], row["name"]): int(row["bytes"]) for row in rows}
        read = {(str(node.get("Schema")), str(node.get("Relation Name"))) for node in whole}
        total = sum(sizes.values())
        return sum(size for place, size in sizes.items() if place in read) / total if total else 1.0

    @override
    def column_correlation(self, conn: Connection, table: Table, column: str) -> float | None:
        rows = rows_of(conn, _CORRELATION, {"schema": table.schema, "name": table.name, "column": column})
        return float(rows[0]["correlation"]) if rows and rows[0]["correlation"] is not None else None

    @override
    def log_capture(self, conn: Connection) -> LogCapture:
        row = rows_of(conn, _LOG)[0]
        if row["level"] == "logical":
            return LogCapture(True, "wal_level is logical")
        return LogCapture(False, f"wal_level is {row['level']}, and logical decoding needs wal_level = logical")


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)
