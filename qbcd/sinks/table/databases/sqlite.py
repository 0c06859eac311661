"""SQLite as a target: one file, and few types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from sqlalchemy import TableClause, create_engine, event
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.pool import NullPool

from qbcd.errors import DeliveryError
from qbcd.model import Travel
from qbcd.sinks.table.databases.base import refuse_not_finite
from qbcd.sinks.table.databases.engines import EngineDatabase
from qbcd.sinks.table.flat_rows import event_texts

LOCK_WAIT = 30.0  # seconds
_TYPES = {
    "boolean": "boolean",
    "int16": "integer",
    "int32": "integer",
    "int64": "integer",
    "float32": "real",
    "float64": "real",
    "binary": "blob",
}
# By words of SQLite's messages: its codes are not in Python 3.10.
_REMEDIES = {
    ("is locked",): "another process writes the file; the next poll tries again",
    ("is full",): "free space on the disk of the file",
    ("readonly", "unable to open"): "let the account of qbcd write the file and its folder",
    ("constraint failed",): "the table has rows or constraints that qbcd did not make; remove them",
    ("malformed", "not a database"): "the file is damaged; restore it, or remove it and send the rows by qbcd resend",
    ("disk I/O error",): "look for errors of the disk or its file system",
    ("no such", "has no column", "syntax error"): "the table was changed; undo that, or drop it and use qbcd resend",
}
_WHOLE = ("integer", "int", "bigint")


class SqliteTarget(EngineDatabase):
    """A file of SQLite. Decimals, dates and times are texts, since numbers of SQLite would round them."""

    sql_name = "sqlite"
    longest_name = 200
    joins_in_delete = False
    mark = "?"

    def __init__(self, url: URL) -> None:
        self.url, self.label = url, str(url.database)
        self.dialect = sqlite.dialect()

    def engine(self, stream: str) -> Engine:
        engine = create_engine(self.url, poolclass=NullPool, hide_parameters=True, connect_args={"timeout": LOCK_WAIT})

        def plain(connection: Any, _record: object) -> None:
            connection.isolation_level = None  # transactions begin where `begin` says, not where the driver guesses

        event.listen(engine, "connect", plain)
        return engine

    def prepare(self, connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA synchronous = EXTRA")

    def begin(self, connection: Connection, *, ddl: bool) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def explain(self, error: Exception, stream: str) -> Exception:
        text = " ".join(str(getattr(error, "orig", error)).split())
        known = [remedy for words, remedy in _REMEDIES.items() if any(one in text for one in words)]
        remedy = "; ".join([*known[:1], "the batch stays pending"])
        return DeliveryError(f"{self.label}: {text}", remedy=remedy, stream=stream)

    def types(self, connection: Connection, made: TableClause) -> list[tuple[str, str, bool]]:
        rows = connection.exec_driver_sql(f"PRAGMA table_xinfo({self.quoted(made.name)})").fetchall()
        return [(row[1], row[2].lower(), not row[3] or row[4] is not None) for row in rows]

    def type_of(self, travel: Travel, *, key_parts: int = 0) -> str:
        return _TYPES.get(travel.kind, "text")

    def holds(self, travel: Travel, existing: str) -> bool:
        mine = self.type_of(travel)
        return existing == mine or (mine == "integer" and existing in _WHOLE)

    def convert(self, travel: Travel, values: pa.Array) -> pa.Array:
        if travel.kind in ("float32", "float64"):
            refuse_not_finite(values, infinity=True)  # SQLite would store NaN as NULL
        if self.type_of(travel) == "text":
            return event_texts(values, travel)
        return values

    def instant(self, ms: int) -> str:
        return f"{super().instant(ms):%Y-%m-%dT%H:%M:%S.%f}Z"
