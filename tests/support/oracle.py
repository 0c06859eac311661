"""The oracle of replay: events of the jsonl sink, put into a copy table through psycopg2, must give the source.

Nothing of qbcd computes here and Spark is not asked: a type that goes wrong on the way shows as a difference. Rows are
compared by their stored bytes, and by the type's own equality only where that is what "unchanged" means and the bytes
may differ: numerics without a fixed scale, and floats (0 and -0, NaNs).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
from psycopg2 import sql as psql

Event = dict[str, Any]
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


@dataclass(frozen=True)
class ColumnOf:
    """A column of the source as the oracle needs it: name, full type, and the type below all domains."""

    name: str
    sql_type: str
    base_type: str


def batches(folder: Path, stream: str) -> list[tuple[str, list[Event]]]:
    """(file name, events) of a stream's jsonl files, in delivery order."""
    files = sorted((folder / stream).glob("*.jsonl"), key=lambda p: tuple(map(int, p.stem.split("-"))))
    return [(f.name, [json.loads(line) for line in f.read_text("utf-8").split("\n") if line]) for f in files]


def events(folder: Path, stream: str) -> list[Event]:
    """All events of a stream, in delivery order."""
    return [event for _, found in batches(folder, stream) for event in found]


def net(found: Iterable[Event]) -> list[str]:
    """What changed, without who saw it and when: comparable between strategies, one text an event, sorted.

    Texts, since Python calls 0.0 and -0.0, and 1 and True, the same.
    """
    fields = ("op", "key", "before", "after", "changed", "reason")
    return sorted(json.dumps({f: event[f] for f in fields}, ensure_ascii=False) for event in found)


class Copy:
    """The old copy of a table in the same server, brought forward by events alone.

    Args:
        url: The database.
        table: Quoted name of the source table.
        key: Key columns.
        columns: Captured columns, in the order in which they travel after the key; key columns may stand among them or
            not. Default: all, in table order.
        where: The stream's restriction.
        name: Of the copy; by default made from the table's.
        unique: Columns that are unique, each by itself, at every moment of a replay.
    """

    def __init__(
        self, url: str, table: str, key: Sequence[str], columns: Sequence[str] | None = None, where: str = "true",
        name: str = "", unique: Sequence[str] = (),
    ):  # fmt: skip
        self.url, self.table, self.key, self.where = url, table, list(key), where or "true"
        self.name = "copy_" + hashlib.sha256(f"{table} {name}".encode()).hexdigest()[:20]
        with psycopg2.connect(url) as conn, conn.cursor() as cur:
            cur.execute(_COLUMNS, (table, table))
            found = {row[0]: ColumnOf(*row) for row in cur.fetchall()}
            wanted = list(found) if columns is None else columns
            self.columns = [found[n] for n in [*key, *(n for n in wanted if n not in key)]]
            self._listed = psql.SQL(", ").join(psql.Identifier(c.name) for c in self.columns)
            cur.execute(psql.SQL("CREATE SCHEMA IF NOT EXISTS oracle"))
            cur.execute(psql.SQL("DROP TABLE IF EXISTS {}").format(self._copy))
            cur.execute(
                psql.SQL("CREATE TABLE {} AS SELECT {} FROM {} WHERE false").format(
                    self._copy, self._listed, psql.SQL(table)
                )
            )
            for columns_of in (self.key, *([u] for u in unique)):
                names = psql.SQL(", ").join(psql.Identifier(k) for k in columns_of)
                cur.execute(psql.SQL("CREATE UNIQUE INDEX ON {} ({})").format(self._copy, names))
        self._seen = 0

    @property
    def _copy(self) -> psql.Composed:
        return psql.Composed([psql.Identifier("oracle", self.name)])

    def take_baseline(self) -> None:
        """Makes the copy equal to the source: what a consumer loads before a silent baseline's first batch."""
        with psycopg2.connect(self.url) as conn, conn.cursor() as cur:
            cur.execute(psql.SQL("DELETE FROM {}").format(self._copy))
            cur.execute(
                psql.SQL("INSERT INTO {} SELECT {} FROM {} WHERE (\n{}\n)").format(
                    self._copy, self._listed, psql.SQL(self.table), psql.SQL(self.where)
                )
            )

    def replay(self, found: Iterable[tuple[str, list[Event]]]) -> list[Event]:
        """Applies batches that were not applied before, each as a set: old images out, then new ones in.

        Returns:
            The events of those batches.
        """
        fresh = list(found)[self._seen :]
        self._seen += len(fresh)
        with psycopg2.connect(self.url) as conn, conn.cursor() as cur:
            for name, batch in fresh:
                for event in batch:
                    if event["before"] is not None:
                        self._delete(cur, event["before"], name)
                for event in batch:
                    if event["after"] is not None:
                        self._insert(cur, event["after"], name)
        return [event for _, batch in fresh for event in batch]

    def differences(self) -> list[tuple[str, str | None, str | None]]:
        """(op, row of the source, row of the copy) where they differ; empty when replay equals the source.

        The op is what a poll would have to find: ``c``, ``u`` or ``d``.
        """
        on = psql.SQL(" AND ").join(psql.SQL("s.{k} = c.{k}").format(k=psql.Identifier(k)) for k in self.key)
        distinct = psql.SQL(" OR ").join(self._distinct(c) for c in self.columns)
        query = psql.SQL(
            "SELECT CASE WHEN c.qbcd_here IS NULL THEN 'c' WHEN s.qbcd_here IS NULL THEN 'd' ELSE 'u' END, "
            "s::text, c::text FROM (SELECT {l}, true AS qbcd_here FROM {s} WHERE (\n{w}\n)) s "
            "FULL JOIN (SELECT *, true AS qbcd_here FROM {c}) c ON {on} "
            "WHERE s.qbcd_here IS NULL OR c.qbcd_here IS NULL OR {d}"
        ).format(l=self._listed, s=psql.SQL(self.table), w=psql.SQL(self.where), c=self._copy, on=on, d=distinct)
        with psycopg2.connect(self.url) as conn, conn.cursor() as cur:
            cur.execute(query)
            return cur.fetchall()

    def _distinct(self, column: ColumnOf) -> psql.Composed:
        same = (
            "s.{c} IS DISTINCT FROM c.{c}"
            if column.base_type in _BY_EQUALITY
            else "ROW(s.{c})::record *<> ROW(c.{c})::record"
        )
        return psql.SQL(same).format(c=psql.Identifier(column.name))

    def _delete(self, cur: Any, image: Event, batch: str) -> None:
        by_name = {c.name: c for c in self.columns}
        where = psql.SQL(" AND ").join(
            psql.SQL("{} = {}").format(psql.Identifier(k), self._value(by_name[k], image[k])) for k in self.key
        )
        cur.execute(psql.SQL("DELETE FROM {} WHERE {}").format(self._copy, where))
        assert cur.rowcount == 1, f"{batch}: an old image matched {cur.rowcount} rows: {image}"

    def _insert(self, cur: Any, image: Event, batch: str) -> None:
        assert list(image) == [c.name for c in self.columns], f"{batch}: other columns than captured: {list(image)}"
        values = psql.SQL(", ").join(self._value(c, image[c.name]) for c in self.columns)
        cur.execute(psql.SQL("INSERT INTO {} ({}) VALUES ({})").format(self._copy, self._listed, values))

    def _value(self, column: ColumnOf, value: Any) -> psql.Composed:
        """The JSON value as an SQL literal of the column's type."""
        if value is not None and column.base_type == "bytea":
            value = psycopg2.Binary(base64.b64decode(value, validate=True))
        elif isinstance(value, list):
            value = _array_text(value, column.base_type)
        elif isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, (int, float)):
            value = repr(value)  # a quoted literal: -32768::smallint is the minus of a number out of range
        return psql.SQL("{}::{}").format(psql.Literal(value), psql.SQL(column.sql_type))


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
