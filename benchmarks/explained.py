"""What the server says about every statement of a real poll: EXPLAIN (ANALYZE, BUFFERS), and which blocks were touched.

`auto_explain` sends the plan of each statement, as it ran, to the client. Before each, the server's cache is emptied,
so that blocks *read* are distinct blocks, while blocks *asked for* (hit + read) count one that is needed again anew.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg2
from sqlalchemy import event
from sqlalchemy.engine import Engine

SETTINGS = {
    "session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": 0, "auto_explain.log_analyze": True,
    "auto_explain.log_buffers": True, "auto_explain.log_timing": False, "auto_explain.log_format": "json",
    "auto_explain.log_level": "notice",
}  # fmt: skip
_BLOCKS = ("Shared Hit Blocks", "Shared Read Blocks", "Temp Read Blocks", "Temp Written Blocks")
_TOUCHED = """
SELECT c.oid::regclass::text, count(*) FROM pg_buffercache b JOIN pg_class c ON c.relfilenode = b.relfilenode
WHERE b.relforknumber = 0 AND b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
GROUP BY 1
"""


@dataclass(frozen=True)
class Blocks:
    """Blocks of one statement or of one part of its plan."""

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
class Told:
    """One statement with its plan."""

    sql: str
    plan: dict[str, Any]
    touched: Mapping[str, int] = field(default_factory=dict)

    @property
    def relations(self) -> set[str]:
        """The tables that its plan reads or writes."""
        return {node["Relation Name"] for node in nodes(self.plan) if "Relation Name" in node}

    @property
    def blocks(self) -> Blocks:
        """Of the whole statement."""
        return Blocks.of(self.plan)

    @property
    def below(self) -> Blocks:
        """Of what a writing statement reads: its plan below the node that writes."""
        return sum((Blocks.of(child) for child in self.plan.get("Plans", [])), Blocks())

    def shape(self) -> str:
        """The plan's nodes in one line."""
        names = []
        for node in nodes(self.plan):
            of = node.get("Index Name") or node.get("Relation Name") or ""
            names.append(f"{node['Node Type']}{' ' + of if of else ''}")
        return " > ".join(names)


def nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A plan's nodes, from the top."""
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)


@contextmanager
def listening(url: str, *, cold: bool = True) -> Iterator[list[Told]]:
    """Fills the list with every statement that runs through SQLAlchemy on PostgreSQL in the block.

    Args:
        url: The database; a session of its own looks at the cache there.
        cold: Empty the cache before each statement.
    """
    told: list[Told] = []
    with closing(psycopg2.connect(url)) as own:
        own.autocommit = True
        look = own.cursor()
        look.execute("SET auto_explain.log_min_duration = -1")

        def before(conn: Any, cursor: Any, *rest: Any) -> None:
            if conn.dialect.name == "postgresql":
                cursor.connection.notices.clear()
                if cold:
                    look.execute("SELECT pg_buffercache_evict_all()")

        def after(conn: Any, cursor: Any, sql: str, *rest: Any) -> None:
            if conn.dialect.name != "postgresql":
                return
            plans = [_plan(n) for n in cursor.connection.notices if "plan:" in n]
            if plans and cold and sql.lstrip().startswith("INSERT"):
                look.execute(_TOUCHED)
                touched: Mapping[str, int] = Counter({name: int(n) for name, n in look.fetchall()})
            else:
                touched = {}
            told.extend(Told(sql, plan, touched) for plan in plans)

        event.listen(Engine, "before_cursor_execute", before)
        event.listen(Engine, "after_cursor_execute", after)
        try:
            yield told
        finally:
            event.remove(Engine, "before_cursor_execute", before)
            event.remove(Engine, "after_cursor_execute", after)


def _plan(notice: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(notice[notice.index("{") :])
    plan: dict[str, Any] = found["Plan"]
    return plan
