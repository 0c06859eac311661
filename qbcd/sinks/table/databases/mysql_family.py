"""MariaDB and MySQL as targets.

Rows are written by INSERTs of many rows, since servers seldom allow LOCAL INFILE.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Any

import pyarrow as pa
from sqlalchemy import TableClause
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from qbcd.catalog.source import SessionOptions
from qbcd.connectors.dialects import loaded
from qbcd.connectors.mysql_family.facts import FamilyFacts
from qbcd.connectors.mysql_family.grants import granted, granted_everywhere
from qbcd.errors import DeliveryError
from qbcd.model import Travel
from qbcd.sinks.table.constraints import Reference, Violation, ViolationKind
from qbcd.sinks.table.databases.base import (
    Columns,
    ExistingColumn,
    ExistingTable,
    TableProblem,
    TargetSession,
    decimal_holds,
)
from qbcd.sinks.table.databases.engines import EngineSession
from qbcd.sinks.table.databases.servers import ServerTarget
from qbcd.sinks.table.flat_rows import event_texts

KEY_BYTES = 3072  # of an index of InnoDB
LONGEST_SCALE = 30
LAST_LETTER = 0xFFFF  # of identifiers
COLLATIONS = {"mariadb": "utf8mb4_nopad_bin", "mysql": "utf8mb4_0900_bin"}  # blanks at the end count
_TYPES = {
    "boolean": "tinyint(1)",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint64": "bigint unsigned",
    "float32": "float",
    "float64": "double",
    "binary": "longblob",
    "date": "date",
    "timestamp": "datetime(6)",
    "timestamptz": "datetime(6)",
}
_WIDER = {
    "boolean": ("tinyint", "smallint", "int", "bigint"),
    "int16": ("int", "bigint", "mediumint"),
    "int32": ("bigint",),
    "float32": ("double",),
}
_OBJECT = """
SELECT t.table_type, t.engine, coalesce(e.transactions, '') FROM information_schema.tables t
LEFT JOIN information_schema.engines e ON e.engine = t.engine
WHERE t.table_schema = coalesce(%s, database()) AND t.table_name = %s
"""
_COLUMNS = """
SELECT column_name, column_type, collation_name, is_nullable, coalesce(generation_expression, '') <> '',
       column_default IS NOT NULL, extra LIKE '%%auto_increment%%'
FROM information_schema.columns
WHERE table_schema = coalesce(%s, database()) AND table_name = %s ORDER BY ordinal_position
"""
_KEYS = """
SELECT index_name, column_name, sub_part FROM information_schema.statistics
WHERE table_schema = coalesce(%s, database()) AND table_name = %s AND non_unique = 0
ORDER BY index_name <> 'PRIMARY', index_name, seq_in_index
"""
_READ_ONLY = "SELECT @@global.read_only, @@global.innodb_read_only, coalesce(%s, database())"
_WRITES_ANYWAY = ("READ_ONLY ADMIN", "READ ONLY ADMIN", "CONNECTION_ADMIN", "SUPER")  # on a read-only server
_TABLES = ("BASE TABLE", "SYSTEM VERSIONED")
_OF_INNODB = ("db_row_id", "db_trx_id", "db_roll_ptr", "fts_doc_id")  # its own columns
_VIOLATIONS: dict[int, ViolationKind] = {
    1062: "unique",
    1586: "unique",
    1451: "foreign key",
    1452: "foreign key",
    1216: "foreign key",  # the two without rights on the other table
    1217: "foreign key",
    1048: "not null",
    1364: "not null",
    4025: "check",
    3819: "check",
}
_NAMED = {
    "unique": re.compile(r"for key '(?:.*\.)?(?P<name>[^']+)'"),
    "foreign key": re.compile(r"`(?P<table>(?:[^`]|``)+)`, CONSTRAINT `(?P<name>(?:[^`]|``)+)`"),
    "not null": re.compile(r"^(?:Column|Field) '(?P<name>[^']+)'"),
    "check": re.compile(r"(?:CONSTRAINT|constraint) [`'](?P<name>[^`']+)[`']"),
}
_REFERENCES = """
SELECT constraint_name, table_schema, table_name, column_name, referenced_column_name
FROM information_schema.key_column_usage
WHERE referenced_table_schema = coalesce(%s, database()) AND referenced_table_name = %s
ORDER BY table_schema, table_name, constraint_name, ordinal_position
"""
_TRIGGERS = """
SELECT count(*) FROM information_schema.triggers
WHERE event_object_schema = coalesce(%s, database()) AND event_object_table = %s
"""


class FamilySession(EngineSession):
    """A session on MariaDB or MySQL."""

    @override
    def load(self, made: TableClause, columns: Columns, pieces: Iterable[Sequence[pa.Array]]) -> None:
        """See the base class. The server ends the session if a statement is too long for it."""
        driver: Any = self.connection.connection.driver_connection
        last: list[Sequence[pa.Array]] = []

        def remembered() -> Iterator[Sequence[pa.Array]]:
            for piece in pieces:
                last[:] = [piece]
                yield piece

        try:
            super().load(made, columns, remembered())
        except DBAPIError as error:
            if error.connection_invalidated and last:
                values = [one.to_pylist() for one in self.database.converted(columns, last[0])]
                self._refuse_long(driver, zip(*values, strict=True))
            raise

    def _refuse_long(self, driver: Any, rows: Iterable[Sequence[Any]]) -> None:
        """Refuse a row that is longer than a packet of the server, which says nothing of it.

        Raises:
            DeliveryError: There is one.
        """
        size = max(len(driver.escape(row, driver.encoders).encode(driver.encoding, "surrogateescape")) for row in rows)
        with self.database.open("") as other:
            assert isinstance(other, EngineSession)
            longest = int(other.connection.exec_driver_sql("SELECT @@max_allowed_packet").scalar_one())
        if size > longest:
            raise DeliveryError(
                f"{self.database.label}: a row has {size:,} bytes as SQL, and max_allowed_packet of the server is "
                f"{longest:,}",
                remedy="raise max_allowed_packet of the server, or exclude the long column; the batch stays pending",
            )


class FamilyTarget(ServerTarget):
    """A database of MariaDB or MySQL; `schema` is another database on the server."""

    sql_name = loaded("mysql")
    longest_name = 64
    undoes_ddl = False
    checks_each_row = True
    keys_stage = True
    stage_key = "`qbcd_row` bigint AUTO_INCREMENT PRIMARY KEY"
    session = FamilySession
    own_number = "SELECT connection_id()"
    at_work = "SELECT command <> 'Sleep' FROM information_schema.processlist WHERE id = %s"
    misfits = (("Data too long for column|Incorrect string value", "a value does not fit its column"),)

    def __init__(self, url: URL, schema: str | None, limits: SessionOptions, owner: object = None) -> None:
        super().__init__(url, schema, limits, owner)
        self.product = self.connector.name
        self._collation = COLLATIONS[url.get_backend_name()]
        self.table_suffix = (
            f" ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = {self._collation} ROW_FORMAT = DYNAMIC"
        )

    @property
    @override
    def identity(self) -> str:
        return f"{self.url.host}:{self.url.port or 3306}/{self.schema or self.url.database}"

    @override
    def name_problem(self, name: str, *, of_column: bool) -> str:
        if foreign := next((letter for letter in name if ord(letter) > LAST_LETTER), ""):
            return f"has the letter {foreign}, and names may have letters of at most three bytes"
        if name.endswith(" "):
            return "ends with a space, which names may not"
        return "is a name of InnoDB's own columns" if of_column and name.lower() in _OF_INNODB else ""

    @override
    def folded(self, name: str) -> str:
        return "".join(low if len(low := letter.lower()) == 1 else letter for letter in name)

    @override
    def folded_table(self, name: str) -> str:
        return self.folded(name) if self._folds_tables else name

    @cached_property
    def _folds_tables(self) -> bool:
        """Return True if the server compares names of tables without case."""
        with self.open("") as session:
            assert isinstance(session, EngineSession)
            row = session.connection.exec_driver_sql("SELECT @@lower_case_table_names").fetchone()
        return row is not None and int(row[0]) > 0

    @override
    def find(self, connection: Connection, made: TableClause) -> ExistingTable | None:
        place = (made.schema, made.name)
        row = connection.exec_driver_sql(_OBJECT, place).fetchone()
        if row is None:
            return None
        kind, engine, transactions = (str(one) for one in row)
        if kind not in _TABLES:
            return ExistingTable((), kind=kind.lower())
        keys: dict[str, list[tuple[str | None, int | None]]] = {}
        for index, name, part in connection.exec_driver_sql(_KEYS, place).fetchall():
            keys.setdefault(index, []).append((name, part))
        whole = {index: all(name and part is None for name, part in parts) for index, parts in keys.items()}
        unsafe = TableProblem(
            f"is of engine {engine}, which has no transactions: a batch could be applied in part",
            "ALTER TABLE {table} ENGINE = InnoDB",
        )
        return ExistingTable(
            tuple(_column(column) for column in connection.exec_driver_sql(_COLUMNS, place).fetchall()),
            keys=tuple(dict.fromkeys(frozenset(str(n) for n, _ in keys[index]) for index in keys if whole[index])),
            primary=frozenset(str(name) for name, _ in keys.get("PRIMARY", ())),
            partial_keys={index: tuple(n for n, _ in keys[index] if n) for index in keys if not whole[index]},
            unfit=() if transactions == "YES" else (unsafe,),
        )

    @override
    def refuse_unwritable(self, connection: Connection, made: TableClause, rights: Sequence[str]) -> None:
        assert isinstance(self.connector, FamilyFacts)
        grants = self.connector.grants_of(connection)
        row = connection.exec_driver_sql(_READ_ONLY, (made.schema,)).fetchone()
        assert row is not None
        exempt = any(granted_everywhere(grants, right) for right in _WRITES_ANYWAY)
        if row[1] or (row[0] and not exempt):
            what = f"{self.label} is read-only, probably a replica"
            raise DeliveryError(what, remedy="name its primary in the sink's url")
        if connection.exec_driver_sql(_OBJECT, (made.schema, made.name)).fetchone() is None:
            rights = ("CREATE", *rights)
        elif "ALTER" not in rights:
            rights = ()  # an attempt shows the others
        database = str(row[2])
        lacking = [right for right in rights if not granted(grants, right, database, made.name)]
        if not granted(grants, "CREATE TEMPORARY TABLES", database):
            lacking.append("CREATE TEMPORARY TABLES")
        if lacking:
            named = f"{', '.join(lacking)} ON {self.quoted(database)}.*"
            raise DeliveryError(
                f"{self.label}: the user lacks {', '.join(lacking)} for table {made.name}",
                remedy=f"GRANT {named} TO the account that SELECT CURRENT_USER() returns",
            )

    @override
    def violation(self, error: BaseException | None) -> Violation | None:
        code, text = (*getattr(error, "args", ()), None, None)[:2]
        kind = _VIOLATIONS.get(code) if isinstance(code, int) else None
        if kind is None:
            return None
        found = named.search(str(text)) if (named := _NAMED.get(kind)) else None
        parts = found.groupdict() if found else {}
        return Violation(kind, parts.get("name", ""), parts.get("table", ""))

    @override
    def references(self, connection: Connection, made: TableClause) -> Iterable[Reference]:
        rows = connection.exec_driver_sql(_REFERENCES, (made.schema, made.name)).fetchall()
        for (schema, table, name), parts in groupby(rows, lambda row: (row[1], row[2], row[0])):
            columns = [(row[3], row[4]) for row in parts]
            yield Reference(name, schema, table, tuple(one for one, _ in columns), tuple(other for _, other in columns))

    @override
    def has_triggers(self, connection: Connection, made: TableClause) -> bool:
        return bool(connection.exec_driver_sql(_TRIGGERS, (made.schema, made.name)).scalar())

    @override
    def type_of(self, travel: Travel, *, key_parts: int = 0) -> str:
        if travel.kind == "decimal" and travel.scale <= LONGEST_SCALE:
            return f"decimal({travel.precision},{travel.scale})"
        if key_parts and travel.kind == "binary":
            return f"varbinary({KEY_BYTES // key_parts - 16})"
        if kind := _TYPES.get(travel.kind):
            return kind
        return f"varchar({(KEY_BYTES // key_parts - 16) // 4})" if key_parts else "longtext"

    @override
    def retype(
        self, session: TargetSession, made: TableClause, found: ExistingTable, wider: Mapping[str, Travel]
    ) -> list[str]:
        """MODIFY takes a whole definition, so it repeats what the column has after its type."""
        assert isinstance(session, EngineSession)
        (row,) = session.connection.exec_driver_sql(
            f"SHOW CREATE TABLE {self.named(made)}", execution_options={"no_parameters": True}
        ).fetchall()
        parts = []
        for name, travel in wider.items():
            before = f"  {self.quoted(name)} {found.types[name]}"
            rest = next(line for line in str(row[1]).split("\n") if line.startswith(before))[len(before) :]
            parts.append(f"MODIFY COLUMN {self.quoted(name)} {self.type_of(travel)}{rest.removesuffix(',')}")
        return [f"ALTER TABLE {self.named(made)} {', '.join(parts)}"]

    @override
    def holds(self, travel: Travel, existing: str) -> bool:
        kind, _, collation = existing.partition(" collate ")
        if self.type_of(travel) == "longtext":
            return bool(re.fullmatch(r"longtext|varchar\(\d+\)", kind)) and collation == self._collation
        if travel.kind in ("decimal", "uint64") and decimal_holds(travel, kind):
            return True
        kind = re.sub(r"^(tinyint|smallint|mediumint|int|bigint)\(\d+\)", r"\1", kind)
        mine = re.sub(r"\(1\)$", "", self.type_of(travel))
        if travel.kind == "binary":
            return bool(re.fullmatch(r"longblob|varbinary\(\d+\)", kind))
        return kind in (mine, *_WIDER.get(travel.kind, ()))

    @override
    def limit_of(self, travel: Travel, existing: str) -> int | None:
        found = re.match(r"var(?:char|binary)\((\d+)\)", existing)
        return int(found[1]) if found else None

    @override
    def convert(self, travel: Travel, values: pa.Array) -> pa.Array:
        if self.type_of(travel) == "longtext" and travel.kind not in ("text", "time"):
            return event_texts(values, travel)
        if travel.kind == "timestamptz":
            return values.cast(pa.timestamp("us"))  # UTC
        return values

    @override
    def instant(self, ms: int) -> datetime:
        found = super().instant(ms)
        assert isinstance(found, datetime)
        return found.replace(tzinfo=None)


def _column(row: Sequence[Any]) -> ExistingColumn:
    name, kind, collation, nullable, generated, default, numbered = row
    text = str(kind).lower()
    return ExistingColumn(
        name,
        f"{text} collate {collation}" if collation else text,
        optional=nullable == "YES" or bool(generated or default or numbered),
        not_null=nullable != "YES",
        generated=bool(generated),
        numbered=bool(numbered),
    )
