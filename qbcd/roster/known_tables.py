"""The record of tables that patterns match: captured ones, and reported ones.

Its table is created when it is first written: projects without patterns, and of older versions, have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import MetaData, delete, insert, inspect, select

from qbcd.state.bootstrap import create_missing
from qbcd.state.database import StateDatabase
from qbcd.state.tables import PREFIX, make_table, seconds, text

TableState = Literal["captured", "reported", "gone"]

METADATA = MetaData()
KNOWN_TABLE = make_table(
    METADATA,
    PREFIX + "known_table",
    text("stream", key=True),
    text("source"),
    text("table_schema"),
    text("table_name"),
    text("state"),
    seconds("at"),
)


@dataclass(frozen=True)
class KnownTable:
    """A table that a pattern matched.

    Attributes:
        state: ``captured``; ``reported``, if it is new and was reported; ``gone``, if it was captured, was dropped, and
            that was reported.
    """

    stream: str
    source: str
    schema: str
    name: str
    state: TableState


class KnownTables:
    """The record of a project, in its state database."""

    def __init__(self, database: StateDatabase) -> None:
        self._database = database

    def read(self) -> list[KnownTable]:
        """Return all tables, ordered by stream."""
        with self._database.read() as conn:
            if not inspect(conn).has_table(KNOWN_TABLE.name):
                return []
            rows = conn.execute(select(KNOWN_TABLE).order_by(KNOWN_TABLE.c.stream)).all()
        return [KnownTable(r.stream, r.source, r.table_schema, r.table_name, r.state) for r in rows]

    def put(self, tables: Sequence[KnownTable]) -> None:
        """Record `tables`, in place of what is known about their streams."""
        if not tables:
            return
        with self._database.write() as conn:
            create_missing(conn, [KNOWN_TABLE])
            conn.execute(delete(KNOWN_TABLE).where(KNOWN_TABLE.c.stream.in_([table.stream for table in tables])))
            values = [
                {
                    "stream": table.stream,
                    "source": table.source,
                    "table_schema": table.schema,
                    "table_name": table.name,
                    "state": table.state,
                }
                for table in tables
            ]
            for row in values:
                conn.execute(insert(KNOWN_TABLE).values(**row, at=self._database.facts.clock))

    def forget(self, streams: Sequence[str]) -> None:
        """Forget the tables of `streams`."""
        with self._database.write() as conn:
            if inspect(conn).has_table(KNOWN_TABLE.name):
                conn.execute(delete(KNOWN_TABLE).where(KNOWN_TABLE.c.stream.in_(list(streams))))
