"""The plan of the statement by which an ATDI poll finds changes, in all forms of MySQL's EXPLAIN.

The statement is that of a real poll of 1 % changed rows, taken from its connection.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from benchmarks.requests import COUNTER, FLAG, MORE, STAMPED
from qbcd.api import Project
from qbcd.connectors.mysql_family.plans import steps_of

DATABASES = ("mysql",)
FORMS = {
    "tree": ("explain_format = TREE", "EXPLAIN"),
    "JSON version 1": ("explain_json_format_version = 1", "EXPLAIN FORMAT=JSON"),
    "JSON version 2": ("explain_json_format_version = 2", "EXPLAIN FORMAT=JSON"),
    "JSON, hypergraph optimizer": ("optimizer_switch = 'hypergraph_optimizer=on'", "EXPLAIN FORMAT=JSON"),
}


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Poll once, then explain the statement under each setting."""
    place.create(options.rows)
    place.run(MORE)
    stream = {"source": "shop", "table": "bench.orders", "name": "atdi", "baseline": "silent", "columns": ["quantity"]}
    strategy = {"type": "atdi", **STAMPED, **FLAG}
    config = {"version": 1, "sources": {"shop": {"url": place.url}}, "tables": [{**stream, "strategy": strategy}]}
    with Project.from_dict(config, base_dir=folder) as project:
        project.stream("atdi").prepare()
        place.run(f"UPDATE bench.orders SET quantity = quantity + 1 WHERE id > {options.rows - options.rows // 100}")
        place.run("DO sleep(1)")
        sql, params = _finding(project)
    table = Table(("form", "step", "rows"), place.version())
    for form, (setting, words) in FORMS.items():
        with closing(place.connect()) as conn, conn.cursor() as cursor:
            cursor.execute(f"SET {setting}")
            cursor.execute(f"{words} {sql}", params)
            found = str(cursor.fetchone()[0])
        steps = _of_tree(found) if form == "tree" else _of_json(found)
        table.rows += [(form if number == 0 else "", *step) for number, step in enumerate(steps)]
    table.rows.append(("requests of pages when it runs", "", f"{_requests(place, sql, params):,}"))
    return table


def _finding(project: Project) -> tuple[str, Any]:
    """Poll; return the SELECT that finds the changes, with its parameters."""
    ran: list[tuple[str, Any]] = []

    def seen(conn: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        ran.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", seen)
    try:
        [outcome] = project.run(["atdi"], once=True).outcomes
    finally:
        event.remove(Engine, "before_cursor_execute", seen)
    if outcome.error is not None:
        raise outcome.error
    [(sql, params)] = [one for one in ran if one[0].startswith("INSERT") and "`orders`" in one[0]]
    return sql[sql.index("SELECT") :], params


def _of_tree(text: str) -> Iterator[tuple[str, str]]:
    """Yield each read of a table, in the server's words, and the rows of its estimate."""
    for line in text.splitlines():
        if " on " in line and " using " in line:
            yield line.partition("-> ")[2].partition(" over ")[0].partition(" (")[0], _rows(line)


def _rows(line: str) -> str:
    return line.rpartition("rows=")[2].partition(")")[0]


def _of_json(text: str) -> Iterator[tuple[str, str]]:
    """Yield each read of a table as qbcd reads it."""
    for step in steps_of(json.loads(text)):
        covered = ", covered" if step.covered else ""
        yield f"{step.access} on {step.table} by {step.index}{covered}", f"{step.rows:g}"


def _requests(place: Place, sql: str, params: Any) -> int:
    """Run the statement; return how often the server asked for a page."""
    with closing(place.connect()) as conn, conn.cursor() as cursor:
        counted = []
        for statement, given in ((COUNTER, None), (sql, params), (COUNTER, None)):
            cursor.execute(statement, given)
            counted.append(cursor.fetchall())
    return int(counted[2][0][1]) - int(counted[0][0][1])
