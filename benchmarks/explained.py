"""The server's EXPLAIN (ANALYZE, BUFFERS) of every statement of a real poll.

`auto_explain` sends the plan of each statement, as it ran, to the client. The server's cache is emptied before each
statement that finds changes. So blocks *read* are distinct blocks, while blocks *asked for* (hit + read) count a block
each time it is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg2
from sqlalchemy import event
from sqlalchemy.engine import Engine

SETTINGS = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": 0,
    "auto_explain.log_analyze": True,
    "auto_explain.log_buffers": True,
    "auto_explain.log_timing": False,
    "auto_explain.log_format": "json",
    "auto_explain.log_level": "notice",
}
_BLOCKS = ("Shared Hit Blocks", "Shared Read Blocks", "Temp Read Blocks", "Temp Written Blocks")


@dataclass(frozen=True)
class Blocks:
    """Blocks of one statement, or of one part of its plan."""

    asked: int = 0
    read: int = 0
    temp: int = 0

    def __add__(self, other: Blocks) -> Blocks:
        return Blocks(self.asked + other.asked, self.read + other.read, self.temp + other.temp)

    def __sub__(self, other: Blocks) -> Blocks:
        return Blocks(self.asked - other.asked, self.read - other.read, self.temp - other.temp)

    @staticmethod
    def of(node: Mapping[str, Any]) -> Blocks:
        hit, read, temp_read, temp_written = (int(node.get(name, 0)) for name in _BLOCKS)
        return Blocks(hit + read, read, temp_read + temp_written)


@dataclass
class Explained:
    """One statement with its plan."""

    sql: str
    plan: dict[str, Any]

    @property
    def relations(self) -> set[str]:
        """The tables that its plan reads or writes."""
        return {node["Relation Name"] for node in nodes(self.plan) if "Relation Name" in node}

    @property
    def blocks(self) -> Blocks:
        """Blocks of the whole statement."""
        return Blocks.of(self.plan)

    @property
    def below(self) -> Blocks:
        """Blocks that a writing statement reads: those of the plan below the node that writes."""
        return sum((Blocks.of(child) for child in self.plan.get("Plans", [])), Blocks())


def nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a plan's nodes, from the top."""
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)


@contextmanager
def listening(url: str, *, cold: bool = True) -> Iterator[list[Explained]]:
    """Collect every statement that runs through SQLAlchemy on PostgreSQL in the block.

    Args:
        url: The database; a separate session empties the cache there.
        cold: Empty the cache before each INSERT; those that find changes are INSERTs.
    """
    statements: list[Explained] = []
    with closing(psycopg2.connect(url)) as own:
        own.autocommit = True
        evict = own.cursor()
        evict.execute("SET auto_explain.log_min_duration = -1")

        def before(conn: Any, cursor: Any, sql: str, *rest: Any) -> None:
            if conn.dialect.name == "postgresql":
                cursor.connection.notices.clear()
                if cold and sql.lstrip().startswith("INSERT"):
                    evict.execute("SELECT pg_buffercache_evict_all()")

        def after(conn: Any, cursor: Any, sql: str, *rest: Any) -> None:
            if conn.dialect.name == "postgresql":
                statements.extend(Explained(sql, _plan(n)) for n in cursor.connection.notices if "plan:" in n)

        event.listen(Engine, "before_cursor_execute", before)
        event.listen(Engine, "after_cursor_execute", after)
        try:
            yield statements
        finally:
            event.remove(Engine, "before_cursor_execute", before)
            event.remove(Engine, "after_cursor_execute", after)


def _plan(notice: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(notice[notice.index("{") :])
    plan: dict[str, Any] = found["Plan"]
    return plan
