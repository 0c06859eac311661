"""What stands behind a relation `t` of a catalog query, as SQL in it: other servers, and what a view is made of."""

from __future__ import annotations

# Whether rows are read from another server, which has snapshots of its own: through children, and views.
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

# What a view stands for: its text and that of views in it, and the very tables that these read.
MADE = """
WITH RECURSIVE family(oid, kind) AS (
  SELECT t.oid, t.kind
  UNION
  SELECT c.oid, c.relkind::text FROM family f JOIN pg_rewrite r ON r.ev_class = f.oid
  JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
  JOIN pg_class c ON c.oid = d.refobjid WHERE f.kind = 'v' AND c.oid <> f.oid
), told AS (SELECT CASE WHEN kind = 'v' THEN pg_get_viewdef(oid) ELSE oid::text END AS text FROM family)
SELECT md5(string_agg(text, ';' ORDER BY text)) FROM told
"""
