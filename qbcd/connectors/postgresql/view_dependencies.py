"""SQL for dependencies of a relation `t` in a catalog query: other servers, parts of a view."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from qbcd.connectors.facts import Part
from qbcd.connectors.postgresql.rows import rows_of
from qbcd.model import Table

# All relations that are read with `t`: partitions and children, and what a view reads.
_FAMILY = """
WITH RECURSIVE family(oid, kind) AS (
  SELECT t.oid, t.kind
  UNION
  SELECT c.oid, c.relkind::text FROM family f CROSS JOIN LATERAL (
    SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = f.oid
    UNION ALL
    SELECT d.refobjid FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
    WHERE f.kind = 'v' AND r.ev_class = f.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> f.oid
  ) AS b(oid) JOIN pg_class c ON c.oid = b.oid
)
"""
# True if rows are read from another server, which has its own snapshots.
REMOTE = f"{_FAMILY} SELECT FROM family WHERE kind = 'f'"
# The oid of each partition and child, with the transaction that attached it: a row of pg_inherits is never updated,
# except by the first half of DETACH CONCURRENTLY, from which on the partition is not read.
PARTS = f"""{_FAMILY}
SELECT jsonb_agg(DISTINCT i.inhrelid::text || '.' || i.xmin::text)
FROM family f JOIN pg_inherits i ON i.inhparent = f.oid WHERE NOT i.inhdetachpending
"""
# Relations with rows of their own among some oids and what is below them. A heap without pages has none. The sizes of
# other kinds of storage prove nothing.
FILLED = """
WITH RECURSIVE family(oid) AS (
  SELECT unnest(%(oids)s::oid[]) UNION SELECT i.inhrelid FROM family f JOIN pg_inherits i ON i.inhparent = f.oid
)
SELECT n.nspname AS schema, c.relname AS name, c.relkind = 'r' AND has_schema_privilege(n.oid, 'USAGE')
         AND has_table_privilege(c.oid, 'SELECT') AND NOT row_security_active(c.oid) AS readable
FROM family f JOIN pg_class c ON c.oid = f.oid JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_am a ON a.oid = c.relam
WHERE c.relkind <> 'p' AND (c.relkind <> 'r' OR a.amname <> 'heap' OR pg_relation_size(c.oid) > 0) ORDER BY c.oid
"""

# The definition of a view: its text, the texts of views in it, and the oids of their tables.
MADE = """
WITH RECURSIVE family(oid, kind) AS (
  SELECT t.oid, t.kind
  UNION
  SELECT c.oid, c.relkind::text FROM family f JOIN pg_rewrite r ON r.ev_class = f.oid
  JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
  JOIN pg_class c ON c.oid = d.refobjid WHERE f.kind = 'v' AND c.oid <> f.oid
), described AS (SELECT CASE WHEN kind = 'v' THEN pg_get_viewdef(oid) ELSE oid::text END AS text FROM family)
SELECT md5(string_agg(text, ';' ORDER BY text)) FROM described
"""

# How relations share rows with a table: `same` for the table, its parents and its parts; `through` for views. A
# function that returns rows may return any rows.
KIN = """
WITH RECURSIVE named(label, oid) AS (
  SELECT n.nspname || '.' || c.relname, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname || '.' || c.relname = ANY(%(labels)s) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
), own(oid) AS (
  SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE (n.nspname, c.relname) = (%(schema)s, %(name)s)
), up(oid) AS (
  SELECT oid FROM own UNION SELECT i.inhparent FROM up JOIN pg_inherits i ON i.inhrelid = up.oid
), down(oid) AS (
  SELECT oid FROM own UNION SELECT i.inhrelid FROM down JOIN pg_inherits i ON i.inhparent = down.oid
), behind(root, oid) AS (
  SELECT oid, oid FROM named UNION SELECT oid, oid FROM own
  UNION
  SELECT b.root, n.oid FROM behind b CROSS JOIN LATERAL (
    SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = b.oid
    UNION ALL
    SELECT d.refobjid FROM pg_class v JOIN pg_rewrite r ON r.ev_class = v.oid
    JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
    WHERE v.oid = b.oid AND v.relkind IN ('v', 'm') AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> v.oid
  ) AS n(oid)
)
SELECT n.label, CASE
  WHEN n.oid IN (SELECT oid FROM up UNION ALL SELECT oid FROM down) THEN 'same'
  WHEN EXISTS (SELECT FROM behind b WHERE b.root = n.oid AND b.oid IN (
    SELECT m.oid FROM behind m WHERE m.root IN (SELECT oid FROM own)))
  OR EXISTS (
    SELECT FROM behind b JOIN pg_class v ON v.oid = b.oid AND v.relkind IN ('v', 'm')
    JOIN pg_rewrite r ON r.ev_class = v.oid JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
    JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
    WHERE b.root = n.oid AND p.proretset) THEN 'through'
  ELSE '' END AS kin
FROM named n
"""


def kin(conn: Connection, table: Table, relations: Sequence[str]) -> dict[str, str]:
    """See :meth:`~qbcd.connectors.catalog.Catalog.kin`; a missing relation has no rows."""
    named = {"labels": list(relations), "schema": table.schema, "name": table.name}
    found = dict.fromkeys(relations, "")
    for label, how in conn.exec_driver_sql(KIN, named):
        found[label] = found[label] or how  # two relations may have the same label
    return found


def filled_parts(conn: Connection, table: Table, parts: Sequence[str]) -> list[Part]:
    """See :meth:`~qbcd.connectors.catalog.Catalog.filled_parts`.

    A part is the oid of a child, with a mark.
    """
    oids = sorted({int(part.partition(".")[0]) for part in parts})
    return [
        Part(f"{r['schema']}.{r['name']}", (r["schema"], r["name"]) if r["readable"] else None)
        for r in rows_of(conn, FILLED, {"oids": oids})
    ]
