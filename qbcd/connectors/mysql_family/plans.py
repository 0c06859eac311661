"""The server's plan of a statement, as EXPLAIN shows it.

No format serves both servers. MariaDB's JSON is not JSON: it escapes no quote and no backslash in names and conditions.
A plain EXPLAIN of MySQL 9 is a tree of text (`explain_format`), and its hypergraph optimizer refuses the table of older
versions. So MariaDB is asked for the table, and MySQL for JSON, of which it has version 1 and 2
(`explain_json_format_version`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Connection, RowMapping

from qbcd.connectors.mysql_family.rows import UNBOUND

# The words of the table and of version 1 for those of version 2.
_WORDS = {"table": "ALL", "index_scan": "index", "index_range_scan": "range", "index_lookup": "ref"}

LEAST = 0.005  # percent; the table of MariaDB rounds to two digits, and 0.00 is not nothing


@dataclass(frozen=True)
class PlanStep:
    """Reading one table.

    Attributes:
        table: Name of the table in the statement, its alias if it has one.
        access: Way to read it, in the words of the table.
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


def steps_by_table(conn: Connection, sql: str) -> list[PlanStep]:
    """Return the steps that read tables, as MariaDB plans them.

    There are none if it knows the result without reading.
    """
    rows = conn.exec_driver_sql(f"EXPLAIN EXTENDED {sql}", execution_options=UNBOUND).mappings()
    return [_step(row) for row in rows if _is_table(row["table"])]


def steps_by_json(conn: Connection, sql: str) -> list[PlanStep]:
    """Return the steps that read tables, as MySQL plans them.

    There are none if it knows the result without reading.
    """
    found = conn.exec_driver_sql(f"EXPLAIN FORMAT=JSON {sql}", execution_options=UNBOUND).scalar_one()
    return steps_of(json.loads(found))


def steps_of(made: Mapping[str, Any]) -> list[PlanStep]:
    """Return the steps of a plan of MySQL, in version 1 or 2."""
    found = _tree(made["query_plan"]) if "query_plan" in made else _blocks(made)
    return [step for step in found if _is_table(step.table)]


def _is_table(name: str | None) -> bool:
    """Return True for a table, False for the result of other steps."""
    return name is not None and not name.startswith("<")


def _step(row: RowMapping) -> PlanStep:
    """Return the step of a row of MariaDB's table."""
    access, filtered, _ = str(row["type"]).partition("|")  # `ref|filter`: a second index leaves rows out before a read
    index = "" if access == "index_merge" else str(row["key"] or "")  # of several indexes, as in JSON
    remarks = str(row["Extra"] or "").split("; ")
    return PlanStep(
        table=str(row["table"]),
        access=access,
        index=index.rpartition("|")[0] if filtered else index,
        covered=any(one == "Using index" or one.startswith("Using index for group-by") for one in remarks),
        rows=float(str(row["rows"] or 0).split()[0]) * max(float(row["filtered"] or 0), LEAST) / 100,
    )


def _blocks(node: Any) -> Iterator[PlanStep]:
    """Yield the steps of version 1."""
    if isinstance(node, dict):
        if "table_name" in node and "access_type" in node:
            yield PlanStep(
                table=str(node["table_name"]),
                access=str(node["access_type"]),
                index=str(node.get("key") or ""),
                covered=bool(node.get("using_index")),
                rows=float(node.get("rows_examined_per_scan") or 0) * float(node.get("filtered") or 100) / 100,
            )
        node = list(node.values())
    if isinstance(node, list):
        for below in node:
            yield from _blocks(below)


def _tree(node: Mapping[str, Any], fitting: float | None = None) -> Iterator[PlanStep]:
    """Yield the steps of version 2.

    Args:
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
