"""Conditions matched against the batches of a real stream, as docs/how-to/match-conditions.md shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

import qbcd
from tests.support import sql
from tests.support.project import config, opened

LATE = qbcd.Subscription("late", "status = 'late' AND region = 'EU'", when="enters", columns=("status",))
BIG = qbcd.Subscription("big", "amount >= 1000", ops=("c", "u"))
TAGGED = qbcd.Subscription("tagged", "contains_all(tags, 'gift', 'fragile')", when="either")


@pytest.mark.parametrize("strategy", ["id_rcs", "mds"])
def test_matches_of_batches(strategy: str, database: str, workspace: Path) -> None:
    sql(
        database,
        "CREATE TABLE orders (id integer PRIMARY KEY, status text, region text, amount numeric(12,2), tags text[]);"
        "INSERT INTO orders VALUES (1, 'new', 'EU', 5, '{}'), (2, 'new', 'US', 5, '{gift,fragile}')",
    )
    data = config(database, {"name": "orders", "table": "public.orders", "strategy": strategy})
    with opened(data, workspace) as project:
        handle = project.stream("orders")
        handle.prepare()
        list(handle.poll())
        sql(
            database,
            "UPDATE orders SET status = 'late'; INSERT INTO orders VALUES (3, 'late', 'EU', 1000, '{gift}');"
            "DELETE FROM orders WHERE id = 2",
        )
        found = []
        for batch in handle.poll():
            events = batch.arrow().read_all()
            with qbcd.Matcher(events.schema) as matcher:
                assert matcher.add([LATE, BIG, TAGGED]) == {}
                for match in matcher.match(events).to_pylist():
                    found.append((match["id"], events.column("key")[match["position"]].as_py()["id"]))
    assert sorted(found) == [("big", 3), ("late", 1), ("late", 3), ("tagged", 2)]
