"""MariaDB and MySQL as targets: rows come by INSERTs of many rows, since servers seldom allow LOCAL INFILE."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from itertools import groupby

import pyarrow as pa
from sqlalchemy import TableClause
from sqlalchemy.engine import URL, Connection

from qbcd.catalog.source import SessionOptions
from qbcd.model import Travel
from qbcd.sinks.table.constraints import Reference, Violation, ViolationKind
from qbcd.sinks.table.databases.base import decimal_holds
from qbcd.sinks.table.databases.servers import ServerTarget
from qbcd.sinks.table.flat_rows import event_texts

KEY_BYTES = 3072  # of an index of InnoDB
LONGEST_SCALE = 30
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
_COLUMNS = """
SELECT column_name, column_type, is_nullable = 'YES' OR column_default IS NOT NULL OR extra <> '', collation_name
FROM information_schema.columns
WHERE table_schema = coalesce(%s, database()) AND table_name = %s ORDER BY ordinal_position
"""
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


class FamilyTarget(ServerTarget):
    """A database of MariaDB or MySQL; `schema` is another database on the server."""

    sql_name = "mysql"
    longest_name = 64
    checks_each_row = True
    keys_stage = True
    own_number = "SELECT connection_id()"
    at_work = "SELECT command <> 'Sleep' FROM information_schema.processlist WHERE id = %s"
    misfits = (("Data too long for column|Incorrect string value", "a value does not fit its column"),)

    def __init__(self, url: URL, schema: str | None, limits: SessionOptions, owner: object = None) -> None:
        super().__init__(url, schema, limits, owner)
        self._collation = COLLATIONS[url.get_backend_name()]
        self.table_suffix = (
            f" ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = {self._collation} ROW_FORMAT = DYNAMIC"
        )

    def types(self, connection: Connection, made: TableClause) -> list[tuple[str, str, bool]]:
        rows = connection.exec_driver_sql(_COLUMNS, (made.schema, made.name)).fetchall()
        return [(row[0], _with_collation(str(row[1]).lower(), row[3]), bool(row[2])) for row in rows]

    def violation(self, error: BaseException | None) -> Violation | None:
        code, text = (*getattr(error, "args", ()), None, None)[:2]
        kind = _VIOLATIONS.get(code) if isinstance(code, int) else None
        if kind is None:
            return None
        found = named.search(str(text)) if (named := _NAMED.get(kind)) else None
        parts = found.groupdict() if found else {}
        return Violation(kind, parts.get("name", ""), parts.get("table", ""))

    def references(self, connection: Connection, made: TableClause) -> Iterable[Reference]:
        rows = connection.exec_driver_sql(_REFERENCES, (made.schema, made.name)).fetchall()
        for (schema, table, name), parts in groupby(rows, lambda row: (row[1], row[2], row[0])):
            columns = [(row[3], row[4]) for row in parts]
            yield Reference(name, schema, table, tuple(one for one, _ in columns), tuple(other for _, other in columns))

    def has_triggers(self, connection: Connection, made: TableClause) -> bool:
        return bool(connection.exec_driver_sql(_TRIGGERS, (made.schema, made.name)).scalar())

    def type_of(self, travel: Travel, *, key_parts: int = 0) -> str:
        if travel.kind == "decimal" and travel.scale <= LONGEST_SCALE:
            return f"decimal({travel.precision},{travel.scale})"
        if key_parts and travel.kind == "binary":
            return f"varbinary({KEY_BYTES // key_parts - 16})"
        if kind := _TYPES.get(travel.kind):
            return kind
        return f"varchar({(KEY_BYTES // key_parts - 16) // 4})" if key_parts else "longtext"

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

    def convert(self, travel: Travel, values: pa.Array) -> pa.Array:
        if self.type_of(travel) == "longtext" and travel.kind not in ("text", "time"):
            return event_texts(values, travel)
        if travel.kind == "timestamptz":
            return values.cast(pa.timestamp("us"))  # UTC
        return values

    def instant(self, ms: int) -> datetime:
        found = super().instant(ms)
        assert isinstance(found, datetime)
        return found.replace(tzinfo=None)


def _with_collation(kind: str, collation: str | None) -> str:
    return f"{kind} collate {collation}" if collation else kind
