"""The writers of a PostgreSQL table, its counters and indexes, and rights on it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.engine import Connection
from typing_extensions import override

from qbcd.connectors.catalog import SupportsIndexes, SupportsTableWrites
from qbcd.connectors.facts import Counter, Index
from qbcd.connectors.postgresql.rows import rows_of
from qbcd.model import Column, Table

# The table and all relations that are read with it: tables of a view, children and partitions.
_FAMILY = """
WITH RECURSIVE family(oid) AS (
  SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = %(schema)s AND c.relname = %(name)s
  UNION
  SELECT b.oid FROM family f CROSS JOIN LATERAL (
    SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = f.oid
    UNION ALL
    SELECT d.refobjid FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
    WHERE r.ev_class = f.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> f.oid
  ) AS b(oid)
)
"""
_MEMBERS = f"""{_FAMILY}
SELECT n.nspname AS schema, c.relname AS name, c.relkind::text AS kind,
       pg_relation_size(c.oid) / current_setting('block_size')::bigint AS pages, c.relallvisible AS visible
FROM family f JOIN pg_class c ON c.oid = f.oid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY c.oid
"""
# A subscription may name a partition, or a table above it.
_SUBSCRIBED = f"""{_FAMILY}, wider(oid) AS (
  SELECT oid FROM family UNION SELECT i.inhparent FROM pg_inherits i JOIN wider w ON w.oid = i.inhrelid
)
SELECT DISTINCT s.subname AS name FROM pg_subscription_rel r JOIN pg_subscription s ON s.oid = r.srsubid
WHERE r.srrelid IN (SELECT oid FROM wider) ORDER BY 1
"""
_ORIGINS = "SELECT roname AS name FROM pg_replication_origin WHERE roname !~ '^pg_[0-9]+' ORDER BY 1"
_WRITERS = f"""
SELECT pg_is_in_recovery() AS standby, ARRAY({_SUBSCRIBED})::text[] AS subscribed, ARRAY({_ORIGINS})::text[] AS origins,
       (SELECT jsonb_agg(to_jsonb(m)) FROM ({_MEMBERS}) AS m WHERE m.kind IN ('f', 'm')) AS elsewhere
"""

# The sequences of a column, and the text of its defaults: of the table first, then of relations that are read with it.
_COUNTERS = f"""{_FAMILY}
SELECT c.relname AS owner, c.relkind::text AS kind, a.attidentity::text <> '' AS is_identity,
       pg_get_expr(e.adbin, e.adrelid) AS made_by, s.seqrelid::bigint AS sequence,
       q.relname AS name, s.seqcache AS cache, s.seqcycle AS cycles, s.seqincrement AS step,
       CASE WHEN has_sequence_privilege(s.seqrelid, 'USAGE, SELECT') THEN pg_sequence_last_value(s.seqrelid) END
         AS reached
FROM family f JOIN pg_class c ON c.oid = f.oid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = %(column)s AND NOT a.attisdropped
LEFT JOIN pg_attrdef e ON e.adrelid = c.oid AND e.adnum = a.attnum
LEFT JOIN pg_depend d ON
  (d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid
   AND d.refobjsubid = a.attnum AND d.deptype = 'i' AND a.attidentity::text <> '')
  OR (d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid AND d.refclassid = 'pg_class'::regclass
      AND d.refobjid IN (SELECT seqrelid FROM pg_sequence))
LEFT JOIN pg_sequence s ON s.seqrelid = CASE WHEN d.classid = 'pg_class'::regclass THEN d.objid ELSE d.refobjid END
LEFT JOIN pg_class q ON q.oid = s.seqrelid
ORDER BY (n.nspname, c.relname) <> (%(schema)s, %(name)s), c.oid
"""
_NEXTVAL = re.compile(r"nextval\('(?:[^']|'')+'::regclass\)")

# An index is `ordered` if it compares its first column as the column itself does.
_INDEX = """
SELECT n.nspname AS schema, c.relname AS table, x.relname AS name, m.amname = 'btree' AND NOT EXISTS (
         SELECT FROM pg_opclass o LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
         WHERE o.oid = i.indclass[0]
           AND (NOT o.opcdefault OR i.indcollation[0] NOT IN (0, coalesce(a.attcollation, 0)))) AS ordered,
       i.indisunique AS is_unique, i.indpred IS NOT NULL AS partial,
       i.indnkeyatts AS keys,
       ARRAY(SELECT coalesce(a.attname::text, '') FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(num, n)
             LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num AND k.num <> 0
             ORDER BY k.n) AS columns
FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE i.indisvalid AND i.indisready AND
"""
_INDEXES = f"{_INDEX} n.nspname = %(schema)s AND c.relname = %(name)s ORDER BY i.indexrelid"
_INDEXES_OF_PARTS = f"{_FAMILY} {_INDEX} c.oid IN (SELECT oid FROM family) ORDER BY i.indexrelid"

_RIGHTS = """
SELECT current_user::text AS role, has_table_privilege(c.oid, 'DELETE') AS may_delete,
       ARRAY(SELECT u.name FROM unnest(%(columns)s::text[]) AS u(name) WHERE NOT EXISTS (
         SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = u.name AND NOT a.attisdropped
           AND has_column_privilege(c.oid, a.attnum, 'UPDATE'))) AS missing,
       pg_has_role(c.relowner, 'USAGE') AS owns, has_schema_privilege(n.oid, 'CREATE') AS creates,
       pg_relation_is_updatable(c.oid, FALSE) AS writable
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s AND c.relname = %(name)s
"""
_UPDATABLE, _DELETABLE = 4, 16  # bits of pg_relation_is_updatable
LACKS = ", which lacks a column"
HIDDEN_SHARE = 10  # if more than one page in 10 is not all-visible, an index scan reads the table too


def _named(table: Table) -> dict[str, Any]:
    return {"schema": table.schema, "name": table.name}


def not_only_writer(conn: Connection, table: Table) -> str:
    """See :meth:`~qbcd.connectors.watermarks.SupportsWatermarks.not_only_writer`."""
    found = rows_of(conn, _WRITERS, _named(table))[0]
    if found["standby"]:
        return "this server is a standby, to which only its primary writes"
    for member in found["elsewhere"] or ():
        if member["kind"] == "f":
            return f"{member['schema']}.{member['name']} is a foreign table, to which another server writes"
        return f"{member['schema']}.{member['name']} is a materialized view, whose rows are older than their timestamps"
    for name in found["subscribed"]:
        return f"subscription {name} writes changes of another server to {table.schema}.{table.name}"
    for name in found["origins"]:
        return f"replication origin {name} writes changes of another server"
    return ""


def counter_problem(conn: Connection, table: Table, column: Column) -> Counter:
    """See :meth:`~qbcd.connectors.watermarks.SupportsWatermarks.counter_problem`."""
    sequences: dict[int, int | None] = {}
    proven = table.kind in ("table", "partitioned")
    for row in rows_of(conn, _COUNTERS, {**_named(table), "column": column.name}):
        if row["kind"] not in ("r", "p"):
            proven = False
        if row["sequence"] is None:
            # A partition without a default gets its numbers through the parent table, or from the user.
            proven = proven and bool(sequences) and row["made_by"] is None
            continue
        for is_so, why in (
            (row["cache"] > 1, f"caches {row['cache']} numbers per session, which are then out of order"),
            (row["cycles"], "starts again after its last number"),
            (row["step"] < 0, f"counts down, by {-row['step']}"),
        ):
            if is_so:
                return Counter(False, f"sequence {row['name']}, which numbers column {column.name}, {why}")
        sequences[row["sequence"]] = row["reached"]
        proven = proven and (bool(row["is_identity"]) or _NEXTVAL.fullmatch(str(row["made_by"])) is not None)
    return Counter(
        proven and len(sequences) == 1, reached=next(iter(sequences.values())) if len(sequences) == 1 else None
    )


def _plan(conn: Connection, sql: str) -> Mapping[str, Any]:
    explained = f"EXPLAIN (FORMAT JSON, VERBOSE) {sql}"
    made = conn.exec_driver_sql(explained, execution_options={"no_parameters": True}).scalar_one()
    plan: Mapping[str, Any] = (json.loads(made) if isinstance(made, str) else made)[0]["Plan"]
    return plan


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)


def _spoiling(plan: Mapping[str, Any], family: set[tuple[str, str]]) -> dict[str, str]:
    """Return how each relation is read that is not read by an index alone."""
    found = {}
    for node in _nodes(plan):
        schema, name = str(node.get("Schema")), str(node.get("Relation Name"))
        if (schema, name) not in family or node["Node Type"] in ("Index Only Scan", "ModifyTable"):
            continue
        # Without a condition the planner uses the index only because scans of the table are switched off.
        by = f" by {node['Index Name']}{LACKS}" if node["Node Type"] == "Index Scan" and "Index Cond" in node else ""
        found[f"{schema}.{name}"] = f"{node['Node Type']} on {schema}.{name}{by}"
    return found


def _rights(conn: Connection, table: Table, columns: Sequence[str]) -> dict[str, Any]:
    found = rows_of(conn, _RIGHTS, {**_named(table), "columns": list(columns)})
    if not found:
        raise LookupError(f"{table.schema}.{table.name} no longer exists")
    return found[0]


def _index(row: Mapping[str, Any]) -> Index:
    columns, keys = tuple(row["columns"]), int(row["keys"])
    flags = bool(row["ordered"]), bool(row["is_unique"]), bool(row["partial"])
    return Index(row["name"], columns[:keys], columns[keys:], *flags)


def _shared(parts: Sequence[Sequence[Index]]) -> list[Index]:
    """Return the ordered indexes that every part has.

    Each has the columns by which all of them are ordered, and the others.
    """
    found = []
    for shared in (one for one in parts[0] if one.ordered and not one.partial) if parts else ():
        for others in parts[1:]:
            able = [_in_common(shared, one) for one in others if one.ordered and not one.partial]
            shared = max(able, key=lambda one: len(one.columns), default=replace(shared, columns=()))
        if shared.columns:
            found.append(replace(shared, unique=False))
    return found


def _in_common(one: Index, other: Index) -> Index:
    pairs = zip(one.columns, other.columns, strict=False)
    leading = tuple(name for name, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    held = {*other.columns, *other.included}
    rest = (name for name in (*one.columns, *one.included) if name in held and name not in leading)
    return replace(one, columns=leading, included=tuple(dict.fromkeys(rest)))


class PostgresAccess(SupportsTableWrites, SupportsIndexes):
    """Indexes, and the role's rights on a table."""

    @override
    def indexes(self, conn: Connection, table: Table) -> list[Index]:
        found = [_index(row) for row in rows_of(conn, _INDEXES, _named(table))]
        if not table.parts or table.kind not in ("table", "partitioned"):
            return found
        of_part: dict[tuple[str, str], list[Index]] = {
            (m["schema"], m["name"]): []
            for m in rows_of(conn, _MEMBERS, _named(table))
            if m["kind"] != "p" and (int(m["pages"] or 0) or (m["schema"], m["name"]) != (table.schema, table.name))
        }
        for row in rows_of(conn, _INDEXES_OF_PARTS, _named(table)):
            if (row["schema"], row["table"]) in of_part:
                of_part[row["schema"], row["table"]].append(_index(row))
        known = {(one.columns, one.included) for one in found}  # partitions have a part of each index of the table
        return [*found, *(one for one in _shared([*of_part.values()]) if (one.columns, one.included) not in known)]

    @override
    def create_index(self, name: str, table: Table, columns: Sequence[str], included: Sequence[str]) -> str:
        quote = self.facts.quote
        include = f" INCLUDE ({', '.join(map(quote, included))})" if included else ""
        keys, on = ", ".join(map(quote, columns)), self.facts.quoted_table(table)
        return f"CREATE INDEX IF NOT EXISTS {quote(name)} ON {on} USING btree ({keys}){include}"

    @override
    def index_only(self, conn: Connection, table: Table, sql: str) -> str:
        """See the base class.

        If the plan reads the table itself, it is made again with scans of whole tables switched off, in a savepoint:
        the planner reads a small table whole, whatever indexes it has.
        """
        members = rows_of(conn, _MEMBERS, _named(table))
        family = {(m["schema"], m["name"]) for m in members}
        spoiling = _spoiling(_plan(conn, sql), family)
        if spoiling:
            with conn.begin_nested() as savepoint:
                conn.exec_driver_sql("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
                forced = _spoiling(_plan(conn, sql), family)
                savepoint.rollback()
            for place, why in forced.items():
                return why if why.endswith(LACKS) else spoiling.get(place, why)
        stored = [m for m in members if m["kind"] in ("r", "m")]
        pages = sum(int(m["pages"]) for m in stored)
        hidden = sum(max(0, int(m["pages"]) - int(m["visible"])) for m in stored)
        return f"{hidden} of {pages} pages are not all-visible: VACUUM" if hidden * HIDDEN_SHARE > pages else ""

    @override
    def write_rights(self, conn: Connection, table: Table, *, update: Sequence[str] = (), delete: bool = False) -> str:
        row, place = _rights(conn, table, update), f"{table.schema}.{table.name}"
        lacking = []
        if table.kind not in ("table", "partitioned"):
            for wanted, bit, word in ((update, _UPDATABLE, "updated"), (delete, _DELETABLE, "deleted from")):
                if wanted and not int(row["writable"]) & bit:
                    lacking.append(f"{place} is a {table.kind} that cannot be {word}")
        if row["missing"]:
            lacking.append(f"role {row['role']} may not UPDATE {', '.join(row['missing'])} of {place}")
        if delete and not row["may_delete"]:
            lacking.append(f"role {row['role']} may not DELETE from {place}")
        return "; ".join(lacking)

    @override
    def index_right(self, conn: Connection, table: Table) -> str:
        if table.kind not in ("table", "partitioned", "matview"):
            return f"{table.schema}.{table.name} is a {table.kind}, which has no indexes of its own"
        row = _rights(conn, table, ())
        if not row["owns"]:
            return f"role {row['role']} does not own {table.schema}.{table.name}"
        return "" if row["creates"] else f"role {row['role']} may not CREATE in schema {table.schema}"
