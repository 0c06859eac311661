"""Queries over views on MariaDB.

A view is replaced by its definition if the meaning is the same.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from qbcd.api import parts_of
from qbcd.errors import QbcdError, Refused, SchemaChanged
from qbcd.planning import plan_of
from tests.integration.queries.test_incremental_cases import found
from tests.integration.queries.test_incremental_maria import TABLES, stream
from tests.support.places import Place
from tests.support.project import config, opened
from tests.support.query_streams import replica_differs

pytestmark = pytest.mark.parametrize("database", ["mariadb"], indirect=True)
VIEWS = """
CREATE VIEW big AS
  SELECT id, customer, region, amount FROM orders WHERE region <> 'north' AND amount > 5 ORDER BY amount;
CREATE VIEW many (order_id, n, quantity) AS SELECT order_id, COUNT(*), SUM(quantity) FROM more
  WHERE order_id IS NOT NULL GROUP BY order_id HAVING COUNT(*) > 0;
CREATE VIEW each_one AS SELECT b.id, b.region, COALESCE(m.quantity, 0) AS quantity
  FROM big b LEFT JOIN many m ON m.order_id = b.id JOIN orders o ON o.id = b.id
  WHERE NOT EXISTS (SELECT 1 FROM more x WHERE x.order_id = o.id AND x.quantity > 50)
"""
QUERIES = {  # with their keys
    "plain": ("SELECT v.id, v.region FROM {big} AS v", ()),
    "deep": (
        "SELECT e.region, COUNT(*) AS n, SUM(e.quantity) AS q FROM {each_one} AS e GROUP BY e.region",
        ("region",),
    ),
    "joined": ("SELECT b.id, m.n FROM {big} AS b JOIN {many} AS m ON m.order_id = b.id", ()),
}
CHANGES = (
    "UPDATE orders SET region = 'north' WHERE id = 1; UPDATE more SET order_id = 3 WHERE id IN (1, 2)",
    "UPDATE more SET quantity = 99 WHERE id = 4; DELETE FROM more WHERE id = 3",
    "INSERT INTO orders (id, customer, region, amount) VALUES (9, 1, 'west', 70);"
    "UPDATE orders SET amount = 1 WHERE id = 2",
    "INSERT INTO more (id, order_id, quantity) VALUES (20, 9, 4), (21, 9, 5); DELETE FROM orders WHERE id = 3",
)


def queries(place: Place) -> dict[str, str]:
    """Return the queries over the place's views."""
    views = {name: place.table(name) for name in ("big", "many", "each_one")}
    return {name: query.format(**views) for name, (query, _) in QUERIES.items()}


@pytest.mark.campaign
@pytest.mark.parametrize("stamped", [pytest.param((), marks=pytest.mark.campaign), ("orders", "more")])
def test_views_over_views_are_followed(stamped: tuple[str, ...], place: Place, workspace: Path) -> None:
    place.sql(f"{TABLES}; {VIEWS}")
    captured = queries(place)
    reads = {"plain": ("orders",)}
    streams = [
        stream(place, q, *QUERIES[n][1], stamped=tuple(t for t in stamped if t in reads.get(n, stamped))) | {"name": n}
        for n, q in captured.items()
    ]
    moved = dict.fromkeys(captured, 0)
    with opened(config(place.url, *streams), workspace) as project:
        for name in captured:
            plan, _ = plan_of(parts_of(project).open_stream(name), None)
            assert plan.key_is_proven or name == "deep", name
            project.stream(name).prepare()
        for change in CHANGES:
            place.sql(change)
            for name, query in captured.items():
                moved[name] += sum(found(project, name).values())
                assert not replica_differs(place, name, query), (name, change)
        assert all(moved.values()), moved
        place.sql("CREATE OR REPLACE VIEW big AS SELECT id, customer, region, amount FROM orders WHERE amount > 6")
        for name in captured:
            with pytest.raises(SchemaChanged, match="which the query reads, has another definition now"):
                found(project, name)


HIDDEN = "a view whose definition cannot be read"
REFUSED = {
    "a text of its own": ("SELECT id, CASE WHEN amount > 9 THEN 'A' ELSE 'a' END AS k FROM orders", HIDDEN),
    "a text that it makes": ("SELECT id, CONCAT(id, '-', amount) AS k FROM orders", HIDDEN),
    "texts compared with each other": ("SELECT id, 1 AS k FROM orders WHERE 'a' = 'A'", HIDDEN),
    "a text that is said to be bytes": ("SELECT id, 1 AS k FROM orders WHERE region = _binary'west'", HIDDEN),
    "characters that the catalog loses": ("SELECT id, 1 AS k FROM orders WHERE region <> '\U0001f600'", HIDDEN),
    "the time": ("SELECT id, amount AS k FROM orders WHERE at < sysdate()", HIDDEN),
    "some rows only": ("SELECT id, amount AS k FROM orders ORDER BY id LIMIT 2", "keeps some rows only (LIMIT)"),
    "a comparison of a comparison": (
        "SELECT id, amount AS k FROM orders WHERE (id = 1) = (amount = 10)",
        "write brackets",
    ),
}


def test_views_that_are_not_followed(place: Place, workspace: Path) -> None:
    place.sql(TABLES)
    for number, (case, (definition, reason)) in enumerate(REFUSED.items()):
        place.sql(f"CREATE OR REPLACE VIEW v AS {definition}")
        one = stream(place, f"SELECT v.id, v.k FROM {place.table('v')} AS v", "id")
        with opened(config(place.url, one), workspace / str(number)) as project:
            with pytest.raises(QbcdError) as caught:
                project.stream("q").prepare()
            assert reason in caught.value.what, (case, caught.value.what)


def test_a_right_to_definitions_comes_and_goes(place: Place, workspace: Path) -> None:
    """Check that variant checksum polls the same with and without the right to see views.

    It compares the result of the query and needs no definition.
    """
    place.sql(f"{TABLES}; {VIEWS}")
    with place.user() as role:
        place.grant("SELECT", "big", role)
        one = stream(place, queries(place)["plain"], "id") | {"strategy": {"type": "vbd", "variant": "checksum"}}
        data = config(place.url, one)
        data["sources"]["shop"]["url"] = place.url_as(role)
        with opened(data, workspace) as project:
            project.stream("q").prepare()
            assert not found(project)
            place.grant("SHOW VIEW", "big", role)
            place.sql("UPDATE orders SET region = 'south' WHERE id = 1")
            assert found(project) == {"u": 1}
            place.grant("SELECT", "orders", role)
            place.sql("UPDATE orders SET region = 'far' WHERE id = 1")
            assert found(project) == {"u": 1}
            place.revoke("SHOW VIEW", "big", role)
            assert not found(project)


def test_a_role_that_may_not_see_the_definition(place: Place, workspace: Path) -> None:
    """It may read the view, but not its definition."""
    place.sql(f"{TABLES}; {VIEWS}")
    with place.user() as role:
        for name in ("big", "orders"):
            place.grant("SELECT", name, role)
        place.sql(f"GRANT ALL ON {place.own_schema}.* TO {role}")
        data = config(place.url, stream(place, queries(place)["plain"], "id"))
        data["sources"]["shop"]["url"] = place.url_as(role)
        with opened(data, workspace) as project, pytest.raises(Refused, match=HIDDEN):
            project.stream("q").prepare()
        place.sql(f"GRANT SHOW VIEW ON {place.table('big')} TO {role}")
        with opened(data, workspace / "sees") as project:
            project.stream("q").prepare()
