"""The catalog of MariaDB and MySQL: tables, the role, the server.

It reads only information_schema. Names are compared again in Python, since information_schema compares them without
case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from qbcd.connectors.catalog import Catalog
from qbcd.connectors.facts import Part, Privileges
from qbcd.connectors.mysql_family import server, sets, types, view_dependencies, widening
from qbcd.connectors.mysql_family.facts import FamilyFacts
from qbcd.connectors.mysql_family.grants import granted, granted_everywhere
from qbcd.connectors.mysql_family.rows import (
    COLUMNS,
    KINDS,
    TABLE,
    UNBOUND,
    Query,
    engines,
    place_of,
    role_of,
    rows_of,
    rows_of_each,
)
from qbcd.connectors.mysql_family.types import make_column
from qbcd.model import Column, ServerIdentity, Table

Rows: TypeAlias = Sequence[Mapping[str, Any]]

PAGE = 16384  # bytes of an InnoDB page, unless the server was built with another size
SYSTEM_SCHEMAS = ("information_schema", "performance_schema", "mysql", "sys")

_KEYS = """
SELECT index_name AS "index", column_name AS "column", sub_part AS prefix, nullable = 'YES' AS nullable
FROM information_schema.statistics
WHERE table_schema = %(schema)s AND table_name = %(name)s AND non_unique = 0 ORDER BY index_name, seq_in_index
"""

_NAMES = """
SELECT concat(table_schema, '.', table_name) FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') AND table_schema NOT IN %(system)s ORDER BY 1
"""


def _keys(found: Rows) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the primary key, and the other unique keys over whole values that are never NULL."""
    indexes: dict[str, list[Mapping[str, Any]]] = {}
    for row in found:
        indexes.setdefault(row["index"], []).append(row)
    usable = {
        name: tuple(str(r["column"]) for r in rows)
        for name, rows in indexes.items()
        if all(r["column"] and r["prefix"] is None and not r["nullable"] for r in rows)
    }
    primary = usable.pop("PRIMARY", ())
    return primary, tuple(usable.values())


def table_names(conn: Connection) -> list[str]:
    """Return qualified names of all readable tables and views."""
    return [str(r[0]) for r in conn.exec_driver_sql(_NAMES, {"system": SYSTEM_SCHEMAS})]


class FamilyCatalog(Catalog):
    """The catalog of MariaDB and MySQL."""

    facts: FamilyFacts
    table_names = staticmethod(table_names)
    kin = staticmethod(view_dependencies.kin)
    type_problem = staticmethod(types.type_problem)
    widened = staticmethod(widening.widened)
    key_problem = staticmethod(types.key_problem)

    @override
    def set_problem(self, column: Column, separator: str) -> str:
        if not self.facts.divides_json:
            return f"{self.facts.name} refuses statements that sort the elements of JSON"
        return sets.set_problem(column, separator)

    @override
    def probe_tables(self, conn: Connection, names: Sequence[tuple[str, str]]) -> list[Table | None]:
        own = conn.exec_driver_sql("SELECT database()").scalar_one() if any(not schema for schema, _ in names) else ""
        named = [(schema or own, name) for schema, name in names]
        found = rows_of_each(conn, [query for one in named for query in self._queries(*one)])
        return [self._table(conn, one, found[3 * i : 3 * i + 3]) for i, one in enumerate(named)]

    @override
    def probe_with_server(
        self, conn: Connection, schema: str, name: str
    ) -> tuple[Table | None, Callable[[], ServerIdentity]]:
        *found, version, identity, position = self._with_server(conn, self._queries(schema, name))
        return self._table(conn, (schema, name), found), partial(self._identity, version, identity, position)

    def _queries(self, schema: str, name: str) -> list[Query]:
        """Return the queries about a table, its columns and its keys."""
        where = {"schema": schema, "name": name}
        return [(sql, where) for sql in (TABLE, COLUMNS.format(no_pad=self.facts.no_pad), _KEYS)]

    def _table(self, conn: Connection, name: tuple[str, str], answers: Sequence[Rows]) -> Table | None:
        rows, described, keys = answers
        found = [r for r in rows if r["folded"] or (r["schema"], r["name"]) == name]
        if not found or found[0]["kind"] not in KINDS:
            return None
        row = found[0]
        columns = tuple(make_column({**r, "all_digits": self.facts.all_digits}) for r in described)
        primary, unique = _keys(keys) if row["kind"] != "VIEW" else ((), ())
        size, width = int(row["bytes"] or 0), int(row["width"] or 0)
        partitioned = "partitioned" in str(row["options"]).lower()
        return Table(
            schema=row["schema"],
            name=row["name"],
            kind="partitioned" if partitioned else KINDS[row["kind"]],
            columns=columns,
            primary_key=primary,
            unique_keys=unique,
            rows=-1 if row["row_count"] is None else int(row["row_count"]),
            pages=-(-size // PAGE),
            row_width=width,
            # InnoDB stores rows in the order of the primary key; the order of other columns is unknown
            key_correlation=1.0 if primary else None,
            made=str(row["made"] or ""),
            parts=self._parts(conn, row) if partitioned else (),
        )

    def _parts(self, conn: Connection, row: Mapping[str, Any]) -> tuple[str, ...] | None:
        """Return id and name of each partition; None if the role may not see them."""
        if not granted_everywhere(self.facts.grants_of(conn), "PROCESS"):
            return None
        found = self.facts.stored_parts(conn, {"schema": row["schema"], "name": row["name"]})
        return tuple(sorted(f"{number}.{name}" for number, name in found))

    @override
    def filled_parts(self, conn: Connection, table: Table, parts: Sequence[str]) -> list[Part]:
        found, quote = [], self.facts.quote
        for name in (part.partition(".")[2] for part in parts):
            only = f" PARTITION ({quote(name)})" if name else ""
            sql = f"SELECT 1 FROM {self.facts.quoted_table(table)}{only} LIMIT 1"
            if conn.exec_driver_sql(sql, execution_options=UNBOUND).first():
                label = f"PARTITION ({name})" if name else "partition"
                found.append(Part(f"{table.schema}.{table.name} {label}"))
        return found

    @override
    def other_relation(self, conn: Connection, schema: str, name: str) -> tuple[str, str]:
        where = {"schema": schema or conn.exec_driver_sql("SELECT database()").scalar_one(), "name": name}
        kinds = {str(r["kind"]) for r in rows_of(conn, TABLE, where)}
        return ("a sequence" if "SEQUENCE" in kinds else ""), ""

    @override
    def privileges(self, conn: Connection, table: Table, columns: Sequence[str], schema: str) -> Privileges:
        grants = self.facts.grants_of(conn)
        rows = rows_of(conn, COLUMNS.format(no_pad="0"), place_of(table))
        readable = {r["name"] for r in rows if "select" in str(r["privileges"]).lower().split(",")}
        missing = tuple(c for c in columns if c not in readable)
        own = all(granted(grants, r, schema) for r in ("CREATE", "DROP", "SELECT", "INSERT", "UPDATE", "DELETE"))
        # The catalog hides columns that the role may not read, so that they look missing.
        whole = granted(grants, "SELECT", table.schema, table.name)
        return Privileges(not missing, missing, own, own, role_of(conn), lock=whole)

    @override
    def server_identity(self, conn: Connection) -> ServerIdentity:
        """Return the identity: server and database, version, and the position of the redo log.

        The version is the meaning, since collations are built into the server.

        Raises:
            ConfigError: The server is of the other family, or too old.
        """
        return self._identity(*self._with_server(conn, []))

    def _with_server(self, conn: Connection, queries: Sequence[Query]) -> list[list[dict[str, Any]]]:
        """Return the rows of `queries`, and of those of the server: version, identity, position."""
        facts = self.facts
        own = [
            f"SELECT {facts.identity} AS server, database() AS name, @@lower_case_table_names AS f",
            f"SHOW GLOBAL STATUS LIKE '{facts.position}'",
        ]
        try:
            return rows_of_each(conn, [*queries, server.VERSION, *((sql, None) for sql in own)])
        except DBAPIError as error:
            if not error.connection_invalidated:  # a server of the other family does not know all of it
                server.own_version(str(conn.exec_driver_sql(server.VERSION[0]).scalar_one()), facts)
            raise

    def _identity(self, versions: Rows, identities: Rows, status: Rows) -> ServerIdentity:
        version, facts = server.own_version(str(versions[0]["version"]), self.facts), self.facts
        row, release = identities[0], server.release(version)
        return ServerIdentity(
            product=f"{facts.name} {version}",
            identity=f"{row['server']}/{row['name']}",
            meaning=f"{'.'.join(map(str, release))};{row['f']}",
            position=int(status[0]["value"]) if status else 0,
            remark=facts.version_remark(release),
        )

    @override
    def may_share(self, server: str, other: str) -> bool:
        # A session in any database of a server reaches the same tables.
        return server.rpartition("/")[0] == other.rpartition("/")[0]

    @override
    def clock_ms(self, conn: Connection) -> int:
        return int(conn.exec_driver_sql("SELECT floor(unix_timestamp(sysdate(6)) * 1000)").scalar_one())

    @override
    def separate_states(self, conn: Connection, table: Table) -> str:
        for name, engine in engines(conn, table).items():
            if engine.lower() != "innodb":
                return f"{name} has storage engine {engine or '(hidden)'}, which has no transactions"
        return ""

    @override
    def check_in_source(self, conn: Connection, table: Table, *, stream: str, own: Sequence[str] = ()) -> None:
        tables = tuple(dict.fromkeys(table.bases)) if table.query else (table,)
        server.check_in_source(conn, self.facts, stream, tables, own)
