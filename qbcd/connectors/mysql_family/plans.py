"""The server's plan of a statement, as `EXPLAIN FORMAT=JSON` shows it.

Only this format exists on both servers, under every setting: a plain EXPLAIN of MySQL 9 is a tree of text
(`explain_format`), and its hypergraph optimizer refuses the table of older versions. There are three forms of it: that
of MariaDB, and those that MySQL calls version 1 and 2 (`explain_json_format_version`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Connection

from qbcd.connectors.mysql_family.rows import UNBOUND

# The words of the older forms for those of version 2 of MySQL.
_WORDS = {"table": "ALL", "index_scan": "index", "index_range_scan": "range", "index_lookup": "ref"}


@dataclass(frozen=True)
class PlanStep:
    """Reading one table.

    Attributes:
        table: Name of the table in the statement, its alias if it has one.
        access: Way to read it, in the words of the older forms.
        index: Name of the index that is read; empty without one.
        covered: The index is enough; no row of the table is read.
        rows: Rows that are found, as estimated.
    """

    table: str
    access: str
    index: str
    covered: bool
    rows: float

    @property
    def whole(self) -> bool:
        """All rows, or all entries of the index, are read."""
        return self.access in ("ALL", "index")


def plan_of(conn: Connection, sql: str) -> list[PlanStep]:
    """Return the steps that read tables; none if the server knows the result without reading."""
    made = json.loads(conn.exec_driver_sql(f"EXPLAIN FORMAT=JSON {sql}", execution_options=UNBOUND).scalar_one())
    found = _tree(made["query_plan"]) if "query_plan" in made else _blocks(made)
    return [step for step in found if not step.table.startswith("<")]  # results of other steps


def _blocks(node: Any) -> Iterator[PlanStep]:
    """Yield the steps of MariaDB, and of version 1 of MySQL."""
    if isinstance(node, dict):
        if "table_name" in node and "access_type" in node:
            rows = float(node.get("rows") or node.get("rows_examined_per_scan") or 0)
            yield PlanStep(
                table=str(node["table_name"]),
                access=str(node["access_type"]),
                index=str(node.get("key") or ""),
                covered=bool(node.get("using_index")),
                rows=rows * float(node.get("filtered") or 100) / 100,
            )
        node = list(node.values())
    if isinstance(node, list):
        for below in node:
            yield from _blocks(below)


def _tree(node: Mapping[str, Any], fitting: float | None = None) -> Iterator[PlanStep]:
    """Yield the steps of version 2 of MySQL.

    Args:
        node: An operation.
        fitting: Rows that a condition leaves of those of the operation, if there is one.
    """
    access = str(node.get("access_type", ""))
    if "table_name" in node:
        way = str(node.get("index_access_type") or access)
        yield PlanStep(
            table=str(node.get("alias") or node["table_name"]),
            access=_WORDS.get(way, way),
            index=str(node.get("index_name") or ""),
            covered=bool(node.get("covering")),
            rows=float(node.get("estimated_rows") or 0) if fitting is None else fitting,
        )
    left = float(node["estimated_rows"]) if access == "filter" and "estimated_rows" in node else None
    for number, below in enumerate(node.get("inputs") or ()):
        yield from _tree(below, left if number == 0 else None)
