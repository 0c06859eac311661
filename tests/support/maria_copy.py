"""The oracle's copy on MariaDB and MySQL.

Images are inserted as literals of the column's type. Old images go into a temporary table first, so that the server
compares their keys as it compares those of the source. Rows are compared by the bytes of their values' texts; floats as
numbers, because 0 and -0 are equal.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Sequence
from typing import Any

from pymysql.converters import escape_string
from typing_extensions import override

from tests.support.oracle import ColumnOf, Copy, Event

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_TEXTS = ("char", "text")
_BYTES = ("binary", "blob")
_SHAPES = ("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon")
_ZONED = "timestamp"


class MariaCopy(Copy):
    """A copy next to the source table, in the same database."""

    @property
    @override
    def _copy(self) -> str:
        return f"{self.place.quote(self.place.name)}.{self.name}"

    @override
    def _catalog(self, conn: Any) -> list[ColumnOf]:
        rows = self.place.run(conn, f"SHOW COLUMNS FROM {self.table}")
        return [ColumnOf(row[0], row[1], re.split(r"[( ]", row[1])[0]) for row in rows]

    @override
    def _make(self, conn: Any, unique: Sequence[Sequence[str]]) -> None:
        self.place.run(conn, f"DROP TABLE IF EXISTS {self._copy}")
        self.place.run(conn, f"CREATE TABLE {self._copy} AS SELECT {self.listed} FROM {self.table} WHERE false")
        for columns in unique:
            names = ", ".join(map(self.place.quote, columns))
            self.place.run(conn, f"ALTER TABLE {self._copy} ADD UNIQUE INDEX ({names})")

    @override
    def _remove(self, conn: Any, images: Sequence[Event], batch: str) -> None:
        if not images:
            return
        self.place.run(conn, f"CREATE TEMPORARY TABLE qbcd_old LIKE {self._copy}")
        self._put(conn, "qbcd_old", images)
        on = " AND ".join(f"c.{k} = o.{k}" for k in map(self.place.quote, self.key))
        with conn.cursor() as cursor:
            deleted = cursor.execute(f"DELETE c FROM {self._copy} c JOIN qbcd_old o ON {on}")
        assert deleted == len(images), f"{batch}: {len(images)} old images matched {deleted} rows: {images}"
        self.place.run(conn, "DROP TEMPORARY TABLE qbcd_old")

    @override
    def _add(self, conn: Any, images: Sequence[Event]) -> None:
        self._put(conn, self._copy, images)

    def _put(self, conn: Any, table: str, images: Sequence[Event]) -> None:
        for image in images:
            values = ", ".join(self._value(c, image[c.name]) for c in self.columns)
            self.place.run(conn, f"INSERT INTO {table} ({self.listed}) VALUES ({values})")

    @override
    def _comparison(self) -> str:
        on = " AND ".join(f"s.{k} = c.{k}" for k in map(self.place.quote, self.key))
        distinct = " OR ".join(self._distinct(c) for c in self.columns)
        source = f"(SELECT {self.listed}, 1 AS qbcd_here FROM {self.table}\nWHERE (\n{self.where}\n)) s"
        copy = f"(SELECT {self.listed}, 1 AS qbcd_here FROM {self._copy}) c"
        return (
            f"SELECT IF(c.qbcd_here IS NULL, 'c', 'u'), {self._row('s')}, {self._row('c')} "
            f"FROM {source} LEFT JOIN {copy} ON {on} WHERE c.qbcd_here IS NULL OR {distinct} "
            f"UNION ALL SELECT 'd', NULL, {self._row('c')} FROM {copy} LEFT JOIN {source} ON {on} "
            f"WHERE s.qbcd_here IS NULL"
        )

    def _row(self, alias: str) -> str:
        return f"concat_ws(', ', {', '.join(self._text(alias, c) for c in self.columns)})"

    def _text(self, alias: str, column: ColumnOf) -> str:
        """Return SQL of the value as readable text; NULL is a text too."""
        value = f"{alias}.{self.place.quote(column.name)}"
        hidden = self._is(column, *_BYTES, *_SHAPES, "bit")
        text = f"hex({value})" if hidden else f"quote(cast({value} AS CHAR))"
        return f"ifnull({text}, 'NULL')"

    def _distinct(self, column: ColumnOf) -> str:
        one, other = (f"{alias}.{self.place.quote(column.name)}" for alias in "sc")
        if column.base_type in ("float", "double"):
            return f"NOT ({one} <=> {other})"
        if self._is(column, *_BYTES, *_TEXTS, *_SHAPES):
            return f"NOT (hex({one}) <=> hex({other}))"
        same = f"hex(cast({one} AS CHAR)) <=> hex(cast({other} AS CHAR))"
        if column.base_type in ("enum", "set", "bit"):  # numbers to the server; several may have the same text
            same = f"{one} + 0 <=> {other} + 0"
        return f"NOT ({same})"

    def _is(self, column: ColumnOf, *parts: str) -> bool:
        return any(part in column.base_type for part in parts)

    def _value(self, column: ColumnOf, value: Any) -> str:
        """Return the JSON value as an SQL literal of the column's type."""
        if value is None:
            return "NULL"
        if column.name in self.texts:
            return self._from_text(column, str(value))
        if self._is(column, *_BYTES):
            return f"X'{base64.b64decode(value, validate=True).hex()}'"
        if column.base_type == "float":  # the server refuses the shortest text of the largest float
            return repr(struct.unpack("f", struct.pack("f", value))[0])
        if isinstance(value, (int, float)):
            return repr(value)
        return self._from_text(column, value)

    def _from_text(self, column: ColumnOf, text: str) -> str:
        """Return the database's own text as a literal.

        Numbers are not written as strings, because the server would round those.
        """
        if self._is(column, *_BYTES):
            return f"X'{text.removeprefix('0x')}'"
        if self._is(column, *_SHAPES):
            return f"X'{text}'"
        if column.base_type in ("decimal", "bit", "year") or "int" in column.base_type:
            assert _NUMBER.fullmatch(text), f"{column.name} {column.sql_type}: {text!r} is no number"
            return text
        return f"'{escape_string(text.removesuffix('Z') if column.base_type == _ZONED else text)}'"
