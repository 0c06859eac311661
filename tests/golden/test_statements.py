"""Every statement of both strategies, for plans that need no server, against the files beside this one.

After a change that is meant: ``QBCD_UPDATE_GOLDEN=1 python -m pytest tests/golden``, then read the difference.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qbcd.connectors import connector_for
from qbcd.connectors.base import Connector
from qbcd.connectors.postgresql.types import make_column
from qbcd.model import KeyRange, Statement, StreamPlan, Table
from qbcd.sql import compile_sql, render
from qbcd.strategies.id_rcs import IdRcs
from qbcd.strategies.mds import Mds

HERE = Path(__file__).parent
PLANS: dict[str, Any] = json.loads((HERE / "plans.json").read_text("utf-8"))
CONNECTORS = {"postgresql": connector_for("postgresql://localhost/any")}
UPDATE = bool(os.environ.get("QBCD_UPDATE_GOLDEN"))
ABSENT = {
    "collation": None,
    "operators": None,
    "correlation": None,
    "element": None,
    "element_type": None,
    "element_kind": None,
}
# Bounds of a range for each base type: two canonical texts, with what is awkward in a literal.
BOUNDS = {
    "int8": ("10", "20"), "int4": ("-5", "7"), "text": ("it's", "10% \\ :x"), "citext": ("A", "b?"),
    "numeric": ("1.0", "NaN"),
    "float8": ("-0", "Infinity"), "uuid": ("00000000-0000-0000-0000-000000000001",
    "ffffffff-ffff-ffff-ffff-ffffffffffff"),
    "date": ("0044-03-15 BC", "infinity"),
}  # fmt: skip


def plan_of(name: str, strategy: str) -> StreamPlan:
    """The plan that `plans.json` describes, columns made by the connector as from its catalog."""
    described = PLANS[name]
    schema, table = described["table"]
    columns = []
    for field in described["columns"]:
        row = {
            "kind": "b", "modifier": -1, "nullable": True, "deterministic": True, "loose": False, "width": 8,
            **ABSENT,
            "storage_type": field["sql_type"], **field,
        }  # fmt: skip
        row["element_kind"] = "b" if row["element"] else None
        columns.append(make_column(row))
    key = [next(c for c in columns if c.name == k) for k in described["key"]]
    return StreamPlan(
        name, "shop", Table(schema, table, "table", tuple(columns), tuple(described["key"]), rows=1000, pages=100),
        tuple(key), tuple(c for c in columns if c not in key), described.get("where", ""), strategy,
    )  # fmt: skip


def ranges_of(plan: StreamPlan) -> list[KeyRange]:
    """Three ranges: open below, closed, open above."""
    low, high = (tuple(BOUNDS[c.base_type][i] for c in plan.key) for i in (0, 1))
    return [KeyRange(1, None, low), KeyRange(2, low, high), KeyRange(3, high, None)]


def statements(connector: Connector, name: str) -> Iterator[tuple[str, Statement]]:
    """(title, statement) of all that both strategies can run."""
    mds = Mds(connector, plan_of(name, "mds"), "qbcd")
    for i, ddl in enumerate(mds.ddl(), 1):
        yield f"mds: ddl {i}", Statement(ddl)
    for events in (False, True):
        for i, statement in enumerate(mds.baseline(5, 1, events=events), 1):
            yield f"mds: baseline, events={events}, {i}", statement
    yield "mds: key problems", mds.key_problems()
    yield "mds: changes", mds.changes(5, 2)
    yield "mds: counts", mds.counts(5, 2)
    yield "mds: values no type can hold", mds.untravelled(5, 2)
    yield "mds: keys of the batch", mds.differing_keys(5, 2)
    for i, statement in enumerate(mds.apply(5, 2), 1):
        yield f"mds: apply {i}", statement
    yield "mds: rows of the batch, by Spark", Statement(mds.rows(5, 2))
    plan = plan_of(name, "id_rcs")
    strategy = IdRcs(connector, plan)
    lone = [KeyRange(1, None, None)]
    yield "id_rcs: bounds", strategy.bounds(2000)
    yield "id_rcs: key problems", strategy.key_problems()
    yield "id_rcs: checksums", strategy.checksums(ranges_of(plan))
    yield "id_rcs: checksums of the one range", strategy.checksums(lone)
    yield "id_rcs: images", strategy.images(ranges_of(plan)[1:2], typed=False)
    typed = strategy.images(lone, typed=True)
    yield "id_rcs: images for typed sinks, as the JDBC driver takes them", Statement(connector.jdbc_query(typed.sql))
    probe = render("restriction_probe", table=plan.table)
    yield "restriction, for EXPLAIN", compile_sql(probe, connector, plan)


def script(connector: Connector, name: str) -> str:
    parts = []
    for title, statement in statements(connector, name):
        bound = "".join(f"\n--   {k} = {v!r}" for k, v in sorted(statement.params.items()))
        parts.append(f"-- {title}{bound}\n{statement.sql}\n")
    return "\n".join(parts)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("connector", CONNECTORS)
def test_statements_are_as_recorded(connector: str, name: str) -> None:
    path = HERE / connector / f"{name}.sql"
    made = script(CONNECTORS[connector], name)
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(made, "utf-8")
    assert made.split("\n") == path.read_text("utf-8").split("\n"), f"{path.name}: QBCD_UPDATE_GOLDEN=1 records it anew"


def test_no_file_is_left_over() -> None:
    assert {p.relative_to(HERE).as_posix() for p in HERE.rglob("*.sql")} == {
        f"{connector}/{name}.sql" for connector in CONNECTORS for name in PLANS
    }


@pytest.mark.parametrize("connector", CONNECTORS)
def test_the_restriction_is_the_users_own_text(connector: str) -> None:
    """Verbatim, but for percent signs that the driver wants doubled where values are bound."""
    where = PLANS["restricted"]["where"]
    seen = 0
    for title, statement in statements(CONNECTORS[connector], "restricted"):
        text = statement.sql.replace("%%", "%") if statement.params else statement.sql
        if "as the JDBC driver" in title:
            text = text.replace("??", "?")
        reads_source = re.search(r'"public"\."restricted"', text) is not None
        assert (f"(\n{where}\n)" in text) == reads_source, title
        seen += reads_source
    assert seen >= 10


def test_bound_values_are_those_of_the_batch() -> None:
    bound = [s.params for t, s in statements(CONNECTORS["postgresql"], "simple") if s.params]
    assert bound
    assert all(p in ({"epoch": 5, "batch_seq": 1}, {"epoch": 5, "batch_seq": 2}) for p in bound)
