"""The oracle of replay: events of the jsonl sink, put into a copy table through psycopg2, must give the source.

Nothing of qbcd computes here and Spark is not asked: a type that goes wrong on the way shows as a difference.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
from psycopg2 import sql as psql

Event = dict[str, Any]


@dataclass(frozen=True)
class ColumnOf:
    """A column of the source as the oracle needs it: name, full type, and whether equality needs its text."""

    name: str
    sql_type: str
    as_text: bool
    is_array: bool
    is_bytes: bool


def batches(folder: Path, stream: str) -> list[tuple[str, list[Event]]]:
    """(file name, events) of a stream's jsonl files, in delivery order."""
    files = sorted((folder / stream).glob("*.jsonl"), key=lambda p: tuple(map(int, p.stem.split("-"))))
    return [(f.name, [json.loads(line) for line in f.read_text("utf-8").splitlines()]) for f in files]


def events(folder: Path, stream: str) -> list[Event]:
    """All events of a stream, in delivery order."""
    return [event for _, found in batches(folder, stream) for event in found]


class Copy:
    """The old copy of a table in the same server, brought forward by events alone.

    Args:
        url: The database.
        table: Quoted name of the source table.
        key: Key columns.
        columns: Captured columns, key included.
        where: The stream's restriction.
    """

    def __init__(
        self, url: str, table: str, key: Sequence[str], columns: Sequence[str] | None = None, where: str = "true"
    ):
        self.url, self.table, self.key, self.where = url, table, list(key), where
        self.name = "oracle_copy_of_" + "".join(c for c in table if c.isalnum())[:30]
        with psycopg2.connect(url) as conn, conn.cursor() as cur:
            self.columns = self._columns(cur, columns)
            cur.execute(psql.SQL("CREATE SCHEMA IF NOT EXISTS oracle"))
            listed = psql.SQL(", ").join(psql.Identifier(c.name) for c in self.columns)
            cur.execute(psql.SQL("DROP TABLE IF EXISTS {}").format(self._copy))
            cur.execute(
                psql.SQL("CREATE TABLE {} AS SELECT {} FROM {} WHERE false").format(self._copy, listed, psql.SQL(table))
            )
            self._listed = listed
        self._seen = 0

    @property
    def _copy(self) -> psql.Composed:
        return psql.Composed([psql.Identifier("oracle", self.name)])

    def take_baseline(self) -> None:
        """Makes the copy equal to the source: what a consumer loads before a silent baseline's first batch."""
        with psycopg2.connect(self.url) as conn, conn.cursor() as cur:
            cur.execute(psql.SQL("DELETE FROM {}").format(self._copy))
            cur.execute(
                psql.SQL("INSERT INTO {} SELECT {} FROM {} WHERE {}").format(
                    self._copy, self._listed, psql.SQL(self.table), psql.SQL(self.where)
                )
            )

    def replay(self, found: Iterable[tuple[str, list[Event]]]) -> None:
        """Applies batches that were not applied before, each as a set: old images out, then new ones in."""
        fresh = list(found)[self._seen :]
        self._seen += len(fresh)
        with psycopg2.connect(self.url) as conn, conn.cursor() as cur:
            for name, batch in fresh:
                for event in batch:
                    if event["before"] is not None:
                        self._delete(cur, event["before"], name)
                for event in batch:
                    if event["after"] is not None:
                        self._insert(cur, event["after"])

    def differences(self) -> list[tuple[Any, ...]]:
        """Rows in which source and copy differ, typed; empty when replay equals the source."""
        on = psql.SQL(" AND ").join(psql.SQL("s.{k} = c.{k}").format(k=psql.Identifier(k)) for k in self.key)
        distinct = psql.SQL(" OR ").join(
            psql.SQL("s.{c}{t} IS DISTINCT FROM c.{c}{t}").format(
                c=psql.Identifier(c.name), t=psql.SQL("::text" if c.as_text else "")
            )
            for c in self.columns
        )
        query = psql.SQL(
            "SELECT s::text, c::text FROM (SELECT {l}, true AS here FROM {s} WHERE {w}) s "
            "FULL JOIN (SELECT *, true AS here FROM {c}) c ON {on} "
            "WHERE s.here IS NULL OR c.here IS NULL OR {d}"
        ).format(l=self._listed, s=psql.SQL(self.table), w=psql.SQL(self.where), c=self._copy, on=on, d=distinct)
        with psycopg2.connect(self.url) as conn, conn.cursor() as cur:
            cur.execute("SET extra_float_digits = 1")
            cur.execute(query)
            return cur.fetchall()

    def _columns(self, cur: Any, wanted: Sequence[str] | None) -> list[ColumnOf]:
        cur.execute(
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typelem <> 0 AND t.typlen = -1, "
            "(SELECT count(*) FROM pg_opclass o WHERE o.opcmethod = 403 AND o.opcintype = t.oid AND o.opcdefault), "
            "t.typtype, t.typcategory "
            "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = %s::regclass "
            "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
            (self.table,),
        )
        result = []
        for name, sql_type, is_array, ordered, kind, category in cur.fetchall():
            if wanted is None or name in wanted:
                comparable = ordered or kind == "e" or category == "S"
                as_text = (
                    not comparable or category == "A" or sql_type in ("json", "xml", "jsonb", "interval", "citext")
                )
                result.append(ColumnOf(name, sql_type, bool(as_text), bool(is_array), sql_type == "bytea"))
        return result

    def _delete(self, cur: Any, image: Event, batch: str) -> None:
        by_name = {c.name: c for c in self.columns}
        where = psql.SQL(" AND ").join(
            psql.SQL("{} = {}").format(psql.Identifier(k), self._value(by_name[k], image[k])) for k in self.key
        )
        cur.execute(psql.SQL("DELETE FROM {} WHERE {}").format(self._copy, where))
        assert cur.rowcount == 1, f"{batch}: an old image matched {cur.rowcount} rows: {image}"

    def _insert(self, cur: Any, image: Event) -> None:
        assert list(image) == [c.name for c in self._ordered(image)], list(image)
        values = psql.SQL(", ").join(self._value(c, image[c.name]) for c in self.columns)
        cur.execute(psql.SQL("INSERT INTO {} ({}) VALUES ({})").format(self._copy, self._listed, values))

    def _ordered(self, image: Event) -> list[ColumnOf]:
        by_name = {c.name: c for c in self.columns}
        return [by_name[name] for name in image]

    def _value(self, column: ColumnOf, value: Any) -> psql.Composed:
        """The JSON value as an SQL literal of the column's type."""
        if value is not None and column.is_bytes:
            value = psycopg2.Binary(base64.b64decode(value, validate=True))
        elif isinstance(value, list):
            value = _array_text(value, column.sql_type)
        elif isinstance(value, float):
            value = repr(value)
        elif isinstance(value, bool):
            value = "true" if value else "false"
        return psql.SQL("{}::{}").format(psql.Literal(value), psql.SQL(column.sql_type))


def _array_text(values: list[Any], sql_type: str) -> str:
    def item(value: Any) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            return repr(value)
        if sql_type == "bytea[]":
            value = "\\x" + base64.b64decode(value).hex()
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    return "{" + ",".join(item(v) for v in values) + "}"
