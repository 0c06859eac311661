"""The list of all tables of a PostgreSQL database."""

from __future__ import annotations

from sqlalchemy.engine import Connection
from typing_extensions import override

from qbcd.connectors.catalog import SupportsTableLists
from qbcd.connectors.facts import ListedTable
from qbcd.connectors.postgresql.rows import rows_of

# `root` follows partitions and children of inheritance up. With several parents, one of them is as good as the others.
_TABLES = """
WITH RECURSIVE up(oid, parent, level) AS (
  SELECT i.inhrelid, i.inhparent, 1 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE c.relkind IN ('r', 'p')
  UNION
  SELECT u.oid, i.inhparent, u.level + 1 FROM up u JOIN pg_inherits i ON i.inhrelid = u.parent
), root AS (
  SELECT DISTINCT ON (u.oid) u.oid, n.nspname AS schema, c.relname AS name
  FROM up u JOIN pg_class c ON c.oid = u.parent JOIN pg_namespace n ON n.oid = c.relnamespace
  ORDER BY u.oid, u.level DESC, n.nspname, c.relname
)
SELECT n.nspname AS schema, c.relname AS name, c.relispartition AS part, r.schema AS root_schema, r.name AS root_name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN root r ON r.oid = c.oid
WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
ORDER BY n.nspname, c.relname
"""


class PostgresTableList(SupportsTableLists):
    """The tables of all schemas, with partitions and children."""

    @override
    def list_tables(self, conn: Connection) -> list[ListedTable]:
        return [
            ListedTable(
                r["schema"],
                r["name"],
                None if r["root_name"] is None else (r["root_schema"], r["root_name"]),
                bool(r["part"]),
            )
            for r in rows_of(conn, _TABLES)
        ]
