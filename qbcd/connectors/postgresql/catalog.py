"""The catalog of PostgreSQL 14 to 18: tables, the role, the server.

It reads only pg_catalog. The pins set the search path to pg_catalog alone; so names from format_type() and
quote_ident() have their schema where needed.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy.engine import Connection
from typing_extensions import override

from qbcd.connectors.catalog import Catalog
from qbcd.connectors.facts import Privileges
from qbcd.connectors.postgresql import sets, types, view_dependencies, widening
from qbcd.connectors.postgresql.rows import rows_of
from qbcd.connectors.postgresql.types import make_column
from qbcd.errors import Refused
from qbcd.model import ServerIdentity, Table

_SYSTEM, _PRIMARY = "qbcd_system", "qbcd_primary"  # in the facts about a session
LOCKABLE = frozenset({"table", "partitioned", "view"})
_KINDS = {"r": "table", "p": "partitioned", "v": "view", "m": "matview", "f": "foreign"}

# One row per column, as `types.make_column` reads it. `base` follows domains down; the first modifier on the way
# applies. From PostgreSQL 18 on, NOT NULL constraints may be unvalidated.
_TYPES = """
WITH RECURSIVE base(num, level, type, modifier) AS (
  {columns}
  UNION ALL
  SELECT b.num, b.level + 1, t.typbasetype, CASE WHEN b.modifier = -1 THEN t.typtypmod ELSE b.modifier END
  FROM base b JOIN pg_type t ON t.oid = b.type WHERE t.typtype = 'd'
), bottom AS (
  SELECT DISTINCT ON (num) num, type, modifier FROM base ORDER BY num, level DESC
), named AS (
  SELECT t.oid, t.typtype, t.typcollation, t.typelem,
         CASE WHEN n.nspname = 'pg_catalog' OR x.extname = 'citext' THEN t.typname::text
              ELSE quote_ident(n.nspname) || '.' || quote_ident(t.typname) END AS base_type,
         CASE WHEN x.extname = 'citext' THEN quote_ident(n.nspname) END AS operators,
         t.typcategory = 'A' AND t.typlen = -1 AND t.typname NOT IN ('oidvector', 'int2vector') AS is_array
  FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
  LEFT JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
  LEFT JOIN pg_extension x ON x.oid = d.refobjid AND x.extname = 'citext' AND t.typname = 'citext'
  WHERE t.oid IN (SELECT type FROM bottom)
     OR t.oid IN (SELECT e.typelem FROM pg_type e WHERE e.oid IN (SELECT type FROM bottom))
)"""
# The definitions of a collation and of a user's type, which can change under their names: labels of enums in order, and
# the attributes of composites, also of those within the type. Collations of the server change only with a version that
# `_SERVER` returns.
_MEANS = """CASE WHEN c.oid >= 16384 THEN to_jsonb(c) END AS collated,
       CASE WHEN b.type >= 16384 THEN (
         WITH RECURSIVE within(oid) AS (
           SELECT b.type
           UNION
           SELECT o.oid FROM within w JOIN pg_type p ON p.oid = w.oid CROSS JOIN LATERAL (
             SELECT p.typelem WHERE p.typelem <> 0
             UNION ALL SELECT p.typbasetype WHERE p.typtype = 'd'
             UNION ALL SELECT r.rngsubtype FROM pg_range r WHERE p.oid IN (r.rngtypid, r.rngmultitypid)
             UNION ALL SELECT a.atttypid FROM pg_attribute a
                       WHERE p.typtype = 'c' AND a.attrelid = p.typrelid AND a.attnum > 0 AND NOT a.attisdropped
           ) AS o(oid)
         )
         SELECT jsonb_agg(l.part ORDER BY p.typname, p.oid, l.place) FROM within w JOIN pg_type p ON p.oid = w.oid
         CROSS JOIN LATERAL (
           SELECT e.enumlabel::text, e.enumsortorder FROM pg_enum e WHERE e.enumtypid = p.oid
           UNION ALL
           SELECT p.typname || '('
                    || string_agg(a.attnum || ' ' || format_type(a.atttypid, NULL), ', ' ORDER BY a.attnum) || ')', 0
           FROM pg_attribute a WHERE p.typtype = 'c' AND a.attrelid = p.typrelid AND a.attnum > 0 AND NOT a.attisdropped
         ) AS l(part, place) WHERE l.part IS NOT NULL
       ) END AS labels"""
_OF_TABLE = _TYPES.format(
    columns="""SELECT a.attnum, 0, a.atttypid, a.atttypmod FROM pg_attribute a
  WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped"""
)
COLUMNS = f"""{_OF_TABLE}, stats AS (
  SELECT DISTINCT ON (s.attname) s.attname, s.avg_width, s.correlation FROM pg_stats s
  WHERE s.schemaname = t.schema AND s.tablename = t.name ORDER BY s.attname, s.inherited <> t.inherited
)
SELECT a.attnum AS place, a.attname AS name, a.attrelid || '.' || a.attnum AS number,
       format_type(a.atttypid, a.atttypmod) AS sql_type, y.base_type,
       format_type(b.type, b.modifier) AS storage_type, b.modifier, y.typtype::text AS kind, y.operators,
       NOT a.attnotnull OR t.loose OR EXISTS (
         SELECT FROM pg_constraint k WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND k.conkey[1] = a.attnum
           AND NOT k.convalidated) AS nullable,
       CASE WHEN a.attcollation NOT IN (0, y.typcollation)
            THEN quote_ident(cn.nspname) || '.' || quote_ident(c.collname) END AS collation,
       coalesce(c.collisdeterministic, TRUE) AS deterministic, {_MEANS},
       t.loose, s.avg_width AS width, s.correlation,
       CASE WHEN y.is_array THEN e.base_type END AS element,
       CASE WHEN y.is_array THEN format_type(e.oid, b.modifier) END AS element_type,
       CASE WHEN y.is_array THEN e.typtype::text END AS element_kind
FROM pg_attribute a JOIN bottom b ON b.num = a.attnum JOIN named y ON y.oid = b.type
LEFT JOIN named e ON e.oid = y.typelem AND y.is_array
LEFT JOIN pg_collation c ON c.oid = a.attcollation LEFT JOIN pg_namespace cn ON cn.oid = c.collnamespace
LEFT JOIN stats s ON s.attname = a.attname
WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
"""

# The same for the result of a query, of whose columns only type, modifier and collation are known. A column of a
# collatable type without a collation comes from an expression with several collations: it cannot be compared.
RESULT = (
    _TYPES.format(
        columns="""SELECT r.num::int, 0, r.type, r.modifier
  FROM unnest(%(types)s::oid[], %(modifiers)s::int[]) WITH ORDINALITY AS r(type, modifier, num)"""
    )
    + f"""
SELECT a.name, format_type(a.type, CASE WHEN b.type = a.type THEN a.modifier ELSE -1 END) AS sql_type, y.base_type,
       format_type(b.type, b.modifier) AS storage_type, b.modifier, y.typtype::text AS kind, y.operators,
       TRUE AS nullable,
       CASE WHEN a.collated NOT IN (0, y.typcollation)
            THEN quote_ident(cn.nspname) || '.' || quote_ident(c.collname) END AS collation,
       coalesce(c.collisdeterministic, TRUE) AS deterministic, {_MEANS},
       y.typcollation <> 0 AND a.collated = 0 AS uncollated,
       TRUE AS loose, NULL AS width,
       CASE WHEN y.is_array THEN e.base_type END AS element,
       CASE WHEN y.is_array THEN format_type(e.oid, b.modifier) END AS element_type,
       CASE WHEN y.is_array THEN e.typtype::text END AS element_kind
FROM unnest(%(names)s::text[], %(types)s::oid[], %(modifiers)s::int[], %(collations)s::oid[])
     WITH ORDINALITY AS a(name, type, modifier, collated, num)
JOIN bottom b ON b.num = a.num JOIN named y ON y.oid = b.type
LEFT JOIN named e ON e.oid = y.typelem AND y.is_array
LEFT JOIN pg_collation c ON c.oid = a.collated LEFT JOIN pg_namespace cn ON cn.oid = c.collnamespace
ORDER BY a.num
"""
)

# An index proves a key only under the columns' own equality: their collation and the default operators of their types.
_KEYS = """
SELECT i.indexrelid AS place, i.indisprimary AS is_primary,
       array_agg(a.attname::text ORDER BY k.n) AS columns,
       bool_and(a.attnotnull AND (i.indisprimary OR o.opcdefault)
                AND i.indcollation[k.n - 1] IN (0, a.attcollation)) AS usable
FROM pg_index i
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(num, n)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num
JOIN pg_opclass o ON o.oid = i.indclass[k.n - 1]
WHERE i.indrelid = t.oid AND i.indisunique AND i.indisvalid AND NOT i.indisexclusion AND i.indpred IS NULL
  AND i.indexprs IS NULL AND k.n <= i.indnkeyatts AND (i.indimmediate OR i.indisprimary)
GROUP BY i.indexrelid, i.indisprimary
"""

# Partitions of a table and children of an inheritance parent are read with it. A table that was never analyzed has no
# size in the catalog; its file has one.
_SIZE = """
WITH RECURSIVE family(oid) AS (
  SELECT t.oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN family f ON i.inhparent = f.oid
)
SELECT CASE WHEN bool_and(c.reltuples >= 0) THEN sum(c.reltuples)::bigint ELSE -1 END AS rows,
       coalesce(sum(CASE WHEN c.reltuples < 0 AND c.relkind <> 'f'
                         THEN pg_relation_size(c.oid) / current_setting('block_size')::bigint ELSE c.relpages END), 0
       )::bigint AS pages
FROM family f JOIN pg_class c ON c.oid = f.oid WHERE c.relkind IN ('r', 'm', 'f')
"""

_END = "\nFROM t\n"
# Everything about several tables, by one statement. `loose`: NOT NULL and unique indexes of a parent do not apply to
# every child of plain inheritance, and those of views and foreign tables are not enforced here.
_TABLES = f"""
WITH w AS MATERIALIZED (
  SELECT c.oid, n.nspname AS schema, c.relname AS name, c.relkind::text AS kind,
         c.relrowsecurity AND row_security_active(c.oid) AS row_security,
         EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid) AND c.relkind = 'r' AS has_children,
         c.relkind = 'r' AND EXISTS (SELECT FROM pg_am a WHERE a.oid = c.relam AND a.amname = 'heap') AS heap
  FROM unnest(%(schemas)s::text[], %(names)s::text[]) AS w(schema, name)
  JOIN pg_namespace n ON n.nspname = w.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
), t AS MATERIALIZED (
  SELECT w.*, w.kind = 'p' OR w.has_children AS inherited, w.kind NOT IN ('r', 'p', 'm') OR w.has_children AS loose
  FROM w
)
SELECT t.schema, t.name, t.kind, t.row_security, t.heap AND NOT t.has_children AS paged,
       (SELECT jsonb_agg(to_jsonb(c) ORDER BY c.place) FROM ({COLUMNS}) AS c) AS columns,
       (SELECT jsonb_agg(to_jsonb(k) ORDER BY k.is_primary DESC, k.place) FROM ({_KEYS}) AS k
        WHERE NOT t.loose) AS keys,
       (SELECT to_jsonb(s) FROM ({_SIZE}) AS s) AS size, EXISTS ({view_dependencies.REMOTE}) AS remote,
       ({view_dependencies.PARTS}) AS parts,
       CASE WHEN t.kind = 'v' THEN ({view_dependencies.MADE}) ELSE '' END AS made{_END}"""

# The functions that `_TABLES` calls lock the table that they look at.
_LOCKED = """
SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
               WHERE d.datname = current_database() AND l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock')
"""

_NAMES = """
SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
  AND n.nspname !~ '^pg_(temp|toast_temp)_' AND has_schema_privilege(n.oid, 'USAGE')
  AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
ORDER BY 1
"""

_OTHERS = {"i": "an index", "I": "an index", "S": "a sequence", "c": "a composite type"}
_OTHER = """
SELECT c.relkind::text AS kind, o.nspname || '.' || t.relname AS table
FROM unnest(%(schemas)s::text[]) WITH ORDINALITY AS w(schema, place)
JOIN pg_namespace n ON n.nspname = w.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = %(name)s
LEFT JOIN pg_index i ON i.indexrelid = c.oid
LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
  AND d.deptype IN ('a', 'i') AND c.relkind = 'S'
LEFT JOIN pg_class t ON t.oid = coalesce(i.indrelid, d.refobjid)
LEFT JOIN pg_namespace o ON o.oid = t.relnamespace
ORDER BY w.place LIMIT 1
"""

_RIGHTS = """
SELECT current_user::text AS role, has_database_privilege(current_database(), 'CREATE') AS create_schema,
       coalesce((SELECT has_schema_privilege(n.oid, 'CREATE')
                        AND has_schema_privilege(n.oid, 'USAGE')
                 FROM pg_namespace n WHERE n.nspname = %(own)s), FALSE) AS own_schema,
       has_schema_privilege(n.oid, 'USAGE') AS visible, has_table_privilege(c.oid, 'SELECT') AS whole,
       ARRAY(SELECT a.attname::text FROM pg_attribute a
             WHERE a.attrelid = c.oid AND a.attname = ANY(%(columns)s) AND a.attnum > 0 AND NOT a.attisdropped
               AND NOT has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY a.attnum) AS missing
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s AND c.relname = %(name)s
"""

# Permissive policies that apply to the role and show every row, unless a restrictive one may hide some.
_OPEN_POLICIES = """
WITH applying AS (
  SELECT p.polname AS name, p.polpermissive AS permissive, pg_get_expr(p.polqual, p.polrelid) = 'true' AS open
  FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = %(schema)s AND c.relname = %(name)s AND p.polcmd IN ('*', 'r')
    AND EXISTS (SELECT FROM unnest(p.polroles) AS r(oid) WHERE r.oid = 0 OR pg_has_role(r.oid, 'USAGE'))
)
SELECT name FROM applying WHERE permissive AND open
  AND NOT EXISTS (SELECT FROM applying a WHERE NOT a.permissive AND a.open IS NOT TRUE) ORDER BY name
"""

# The version of the root ICU collation changes with each ICU; that of C library collations changes with the library.
_SERVER = """
SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
       d.oid::bigint AS database, d.datname AS name, to_jsonb(d) AS described,
       has_function_privilege('pg_control_system()', 'EXECUTE') AS may_identify,
       {version} AS collation_version, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS position,
       (SELECT string_agg(v.version, ',' ORDER BY v.version) FROM (
          SELECT DISTINCT c.collprovider::text || pg_collation_actual_version(c.oid) AS version FROM pg_collation c
          WHERE c.oid >= 16384 OR c.collname IN ('und-x-icu', 'en_US.utf8', 'en_US', 'de_DE.utf8')) v) AS collations
FROM pg_database d WHERE d.datname = current_database()
"""
_VERSION = "pg_database_collation_actual_version(d.oid)"


def probe_tables(conn: Connection, names: Sequence[tuple[str, str]]) -> list[Table | None]:
    """Return each table, or None if there is none of that name.

    A name without a schema is searched on the role's search path.
    """
    path = default_schemas(conn) if any(not schema for schema, _ in names) else []
    wanted = [[(place, name) for place in ([schema] if schema else path)] for schema, name in names]
    every = [*dict.fromkeys(candidate for candidates in wanted for candidate in candidates)]
    there = {"schemas": [schema for schema, _ in every], "names": [name for _, name in every]}
    found = {(r["schema"], r["name"]): _table(r) for r in rows_of(conn, _TABLES, there)}
    return [next((found[one] for one in candidates if one in found), None) for candidates in wanted]


def default_schemas(conn: Connection) -> list[str]:
    """Return the search path with which sessions of this role start."""
    row = rows_of(
        conn, "SELECT reset_val AS path, current_user::text AS role FROM pg_settings WHERE name = 'search_path'"
    )[0]
    parts = next(csv.reader([row["path"]], skipinitialspace=True), [])
    return [row["role"] if p == "$user" else p for p in (part.strip() for part in parts) if p]


def table_names(conn: Connection) -> list[str]:
    """Return qualified names of all readable tables and views."""
    return [str(r[0]) for r in conn.exec_driver_sql(_NAMES)]


def privileges(conn: Connection, table: Table, columns: Sequence[str], schema: str) -> Privileges:
    """Return the role's rights on `columns` of `table` and on `schema`."""
    found = rows_of(
        conn, _RIGHTS, {"own": schema, "schema": table.schema, "name": table.name, "columns": list(columns)}
    )
    if not found:
        raise LookupError(f"{table.schema}.{table.name} no longer exists")
    r = found[0]
    missing = tuple(r["missing"])
    select = bool(r["visible"]) and (bool(r["whole"]) or not missing)
    return Privileges(
        select,
        missing,
        bool(r["create_schema"]),
        bool(r["own_schema"]),
        r["role"],
        # LOCK TABLE needs the right on the whole table, not on columns
        schema_usage=bool(r["visible"]),
        lock=bool(r["whole"]) or table.kind not in LOCKABLE,
    )


def server_identity(conn: Connection) -> ServerIdentity:
    """Return the identity: cluster and database, versions, and the next transaction id.

    The meaning consists of the major version and the collation versions; the position is the next transaction id.
    """
    return _identity(conn, rows_of(conn, _server_query(conn))[0])


def _server_query(conn: Connection) -> str:
    # the session's own: SQLAlchemy's value is from an earlier session
    has_version = conn.connection.server_version >= 150000
    return _SERVER.format(version=_VERSION if has_version else "''")


def _identity(conn: Connection, r: Mapping[str, Any]) -> ServerIdentity:
    system = conn.info.get(_SYSTEM, "unknown")  # a session ends before its server can be another one
    if r["may_identify"] and _SYSTEM not in conn.info:
        system = rows_of(conn, "SELECT system_identifier::text AS id FROM pg_control_system()")[0]["id"]
        conn.info[_SYSTEM] = system
    described = r["described"]
    locale = described.get("datlocale") or described.get("daticulocale") or described["datcollate"]
    default = f"{described.get('datlocprovider', 'c')}:{locale}:{r['collation_version'] or ''}"
    return ServerIdentity(
        product=f"PostgreSQL {r['version']}",
        identity=f"{system}/{r['database']}",
        meaning=f"{r['major']};{default};{r['collations'] or ''}",
        position=int(r["position"]),
    )


def probe_with_server(conn: Connection, schema: str, name: str) -> tuple[Table | None, Callable[[], ServerIdentity]]:
    """Return a table and the identity of the server, by one statement if there is such a table."""
    both = f"{_TABLES.removesuffix(_END)}, (SELECT to_jsonb(s) FROM ({_server_query(conn)}) AS s) AS server{_END}"
    found = rows_of(conn, both, {"schemas": [schema], "names": [name]})
    if not found:
        return None, partial(server_identity, conn)
    return _table(found[0]), partial(_identity, conn, found[0]["server"])


def _table(row: Mapping[str, Any]) -> Table:
    described, size = row["columns"] or [], row["size"]
    columns, follows = tuple(map(make_column, described)), {r["name"]: r["correlation"] for r in described}
    keys = [k for k in row["keys"] or [] if k["usable"]]
    primary = next((tuple(k["columns"]) for k in keys if k["is_primary"]), ())
    nullable = {c.name for c in columns if c.nullable}
    unique = tuple(tuple(k["columns"]) for k in keys if not k["is_primary"] and not nullable & set(k["columns"]))
    return Table(
        schema=row["schema"],
        name=row["name"],
        kind=_KINDS[row["kind"]],
        columns=columns,
        primary_key=primary,
        unique_keys=unique,
        rows=-1 if size["rows"] is None else int(size["rows"]),
        pages=int(size["pages"]),
        row_width=sum(c.width for c in columns) if all(c.width for c in columns) else 0,
        key_correlation=follows[key[0]] if (key := primary or (unique[0] if unique else ())) else None,
        row_security=bool(row["row_security"]),
        numbers=tuple(r["number"] for r in described),
        remote=bool(row["remote"]),
        made=row["made"],
        parts=tuple(sorted(row["parts"] or ())),
        paged=bool(row["paged"]),
    )


class PostgresCatalog(Catalog):
    """The catalog of PostgreSQL."""

    probe_tables = staticmethod(probe_tables)
    probe_with_server = staticmethod(probe_with_server)
    table_names = staticmethod(table_names)
    privileges = staticmethod(privileges)
    server_identity = staticmethod(server_identity)
    kin = staticmethod(view_dependencies.kin)
    filled_parts = staticmethod(view_dependencies.filled_parts)
    type_problem = staticmethod(types.type_problem)
    widened = staticmethod(widening.widened)
    key_problem = staticmethod(types.key_problem)
    set_problem = staticmethod(sets.set_problem)

    @override
    def has_locked_tables(self, conn: Connection) -> bool:
        return bool(conn.exec_driver_sql(_LOCKED).scalar_one())

    @override
    def other_relation(self, conn: Connection, schema: str, name: str) -> tuple[str, str]:
        schemas = [schema] if schema else default_schemas(conn)
        found = [r for r in rows_of(conn, _OTHER, {"schemas": schemas, "name": name}) if r["kind"] in _OTHERS]
        return (_OTHERS[found[0]["kind"]], str(found[0]["table"] or "")) if found else ("", "")

    @override
    def open_policies(self, conn: Connection, table: Table) -> list[str]:
        named = {"schema": table.schema, "name": table.name}
        return [str(r["name"]) for r in rows_of(conn, _OPEN_POLICIES, named)]

    @override
    def clock_ms(self, conn: Connection) -> int:
        sql = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
        return int(conn.exec_driver_sql(sql).scalar_one())

    @override
    def check_in_source(self, conn: Connection, table: Table, *, stream: str, own: Sequence[str] = ()) -> None:
        """Refuse a standby."""
        self.check_accepts_writes(conn, stream=stream)

    @override
    def check_accepts_writes(self, conn: Connection, *, stream: str) -> None:
        if _PRIMARY in conn.info:  # a primary becomes a standby by a restart, which ends its sessions
            return
        conn.info[_PRIMARY] = True
        if conn.exec_driver_sql("SELECT pg_is_in_recovery()").scalar_one():
            del conn.info[_PRIMARY]
            raise Refused(
                "the source is a standby, which accepts no writes",
                stream=stream,
                remedy="poll the primary, or use a strategy that only reads, such as id_rcs",
            )
