"""SQL for dependencies of a relation `t` in a catalog query: other servers, parts of a view."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from qbcd.model import Table

# True if rows are read from another server, which has its own snapshots: through children or views.
REMOTE = """
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
SELECT FROM family WHERE kind = 'f'
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
