"""The oracle's copy on PostgreSQL.

Rows are compared by their stored bytes. The type's own equality is used only where it decides that a row is unchanged
although the bytes may differ: numerics without a fixed scale, and floats (0 and -0, NaNs).
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from tests.support.oracle import ColumnOf, Copy, Event

_BY_EQUALITY = frozenset({"numeric", "real", "double precision"})
_COLUMNS = """
WITH RECURSIVE base(num, oid, type) AS (
  SELECT a.attnum, t.oid, t FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL SELECT b.num, t.oid, t FROM base b JOIN pg_type t ON t.oid = (b.type).typbasetype
)
SELECT a.attname, format_type(a.atttypid, a.atttypmod), format_type(b.oid, NULL)
FROM pg_attribute a JOIN base b ON b.num = a.attnum
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped AND (b.type).typtype <> 'd' ORDER BY a.attnum
"""


class PostgresCopy(Copy):
    """A copy in schema `oracle` of the source's own database."""

    @property
    @override
    def _copy(self) -> str:
        return f"oracle.{self.name}"

    @override
    def _catalog(self, conn: Any) -> list[ColumnOf]:
        return [ColumnOf(*row) for row in self.place.run(conn, _COLUMNS, (self.table, self.table))]

    @override
    def _make(self, conn: Any, unique: Sequence[Sequence[str]]) -> None:
        self.place.run(conn, f"CREATE SCHEMA IF NOT EXISTS oracle; DROP TABLE IF EXISTS {self._copy}")
        self.place.run(conn, f"CREATE TABLE {self._copy} AS SELECT {self.listed} FROM {self.table} WHERE false")
        for columns in unique:
            names = ", ".join(map(self.place.quote, columns))
            self.place.run(conn, f"CREATE UNIQUE INDEX ON {self._copy} ({names})")

    @override
    def _remove(self, conn: Any, images: Sequence[Event], batch: str) -> None:
        by_name = {c.name: c for c in self.columns}
        for image in images:
            where = " AND ".join(f"{self.place.quote(k)} = {self._value(by_name[k], image[k])}" for k in self.key)
            deleted = self.place.run(conn, f"DELETE FROM {self._copy} WHERE {where} RETURNING 1")
            assert len(deleted) == 1, f"{batch}: an old image matched {len(deleted)} rows: {image}"

    @override
    def _add(self, conn: Any, images: Sequence[Event]) -> None:
        for image in images:
            values = ", ".join(self._value(c, image[c.name]) for c in self.columns)
            self.place.run(conn, f"INSERT INTO {self._copy} ({self.listed}) VALUES ({values})")

    @override
    def _comparison(self) -> str:
        on = " AND ".join(f"s.{k} = c.{k}" for k in map(self.place.quote, self.key))
        distinct = " OR ".join(self._distinct(c) for c in self.columns)
        return (
            "SELECT CASE WHEN c.qbcd_here IS NULL THEN 'c' WHEN s.qbcd_here IS NULL THEN 'd' ELSE 'u' END, "
            f"s::text, c::text FROM (SELECT {self.listed}, true AS qbcd_here FROM {self.table}\n"
            f"WHERE (\n{self.where}\n)) s FULL JOIN (SELECT *, true AS qbcd_here FROM {self._copy}) c ON {on} "
            f"WHERE s.qbcd_here IS NULL OR c.qbcd_here IS NULL OR {distinct}"
        )

    def _distinct(self, column: ColumnOf) -> str:
        name = self.place.quote(column.name)
        if column.base_type in _BY_EQUALITY:
            return f"s.{name} IS DISTINCT FROM c.{name}"
        return f"ROW(s.{name})::record *<> ROW(c.{name})::record"

    def _value(self, column: ColumnOf, value: Any) -> str:
        """Return the JSON value as an SQL literal of the column's type.

        It is quoted, because -32768::smallint is out of range.
        """
        if value is not None and column.base_type == "bytea" and column.name not in self.texts:
            value = "\\x" + base64.b64decode(value, validate=True).hex()
        elif isinstance(value, list):
            value = _array_text(value, column.base_type)
        elif isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, (int, float)):
            value = repr(value)
        return self.place.literal(column.sql_type, value)


def _array_text(values: list[Any], base_type: str) -> str:
    def item(value: Any) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            return repr(value)
        if base_type == "bytea[]":
            value = "\\x" + base64.b64decode(value, validate=True).hex()
        text = str(value).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{text}"'

    return "{" + ",".join(item(v) for v in values) + "}"
