"""Streams that capture only what their subscriptions need, next to streams that capture everything."""

from __future__ import annotations

import random
from pathlib import Path

from tests.faults.child import kill_at
from tests.integration.enrichment.scene import WHENS, made, matches, needs, subscribe, with_eu
from tests.support.places import Place, over, place_of
from tests.support.project import opened, poll

REGIONS = ["EU", "US", "Ä", "o'x"]


def a_condition(rng: random.Random) -> str:
    region = rng.choice(REGIONS).replace("'", "''")
    bound = rng.choice([
        f"region = '{region}'",
        f"region IN ('{region}', 'EU')",
        f"('{region}' = region AND amount < {rng.randint(1, 9)})",
    ])  # fmt: skip
    return f"{bound} AND {rng.choice(['id > 3', 'status <> region', 'NOT (amount = 2)', 'status IS NULL', 'TRUE'])}"


def change(place: Place, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 12)):
        key, region = rng.randint(1, 12), rng.choice([*REGIONS, "XX"]).replace("'", "''")
        place.sql(
            rng.choice(
                [
                    f"UPDATE orders SET region = '{region}' WHERE id = {key}",
                    f"UPDATE orders SET amount = {rng.randint(0, 9)} WHERE id <= {key}",
                    f"UPDATE orders SET status = region WHERE id = {key}",
                    f"DELETE FROM orders WHERE id = {key}",
                    f"DELETE FROM orders WHERE id = {key}; INSERT INTO orders VALUES ({key}, '{region}', NULL, 2)",
                ]
            )
        )


@over("strategy", ["mds", "id", "id_rcs", "tlcs"], elsewhere=["id_rcs"])
def test_matches_are_those_of_all_rows(strategy: str, place: Place, workspace: Path) -> None:
    rng = random.Random(f"{place.kind} {strategy}")
    data = made(place, strategy)
    place.sql("INSERT INTO orders VALUES (1, 'EU', NULL, 1), (2, 'US', 'EU', 2), (3, 'Ä', 'Ä', 3), (4, NULL, 'x', 4)")
    subscribe(place, *((f"first-{when}", "region = 'EU'", when) for when in WHENS))
    subscribe(place, ("seen", "region = 'EU'", "new", None, "region"), ("deletes", "region = 'EU'", "new", "d"))
    column = '"region"' if place.kind == "postgresql" else "`region`"
    with opened(data, workspace) as project:
        project.prepare()
        assert needs(project) == f"{column} IN ('EU')"
        total: set[tuple[str, int, str]] = set()
        for turn in range(12):
            new = {f"{turn}-{n}" for n in range(rng.randint(0, 2))}
            subscribe(place, *((one, a_condition(rng), rng.choice(WHENS)) for one in sorted(new)))
            if turn == 5:
                place.sql("DELETE FROM subscription WHERE id LIKE '%first-old'")
            change(place, rng)
            for folder in ("wide", "s"):
                for file in (workspace / "out/hooks" / folder).rglob("*.jsonl"):
                    file.unlink()
            poll(project)
            wide, near = matches(workspace, "wide"), matches(workspace, "s")
            assert near <= wide
            assert {name for _, name in wide - near} <= new, (turn, wide - near)
            total |= {("s", *one) for one in near}
        assert len(total) > (5 if strategy == "tlcs" else 15)  # it has no old values that conditions could meet
        assert "XX" not in needs(project)
        assert needs(project, "wide") == ""


@over()
def test_rows_that_enter_because_the_hull_grew_are_no_events(place: Place, workspace: Path) -> None:
    data = made(place, "mds")
    place.sql("INSERT INTO orders VALUES (1, 'EU', NULL, 1), (2, 'US', 'x', 2), (3, 'US', NULL, 3)")
    subscribe(place, ("eu", "region = 'EU'"))
    with opened(data, workspace) as project:
        project.prepare()
        subscribe(place, ("us", "region = 'US'", "new"), ("inside", "region = 'EU' AND id > 0", "either"))
        place.sql("UPDATE orders SET region = 'US' WHERE id = 1; INSERT INTO orders VALUES (4, 'EU', NULL, 4)")
        [outcome] = poll(project, "s")
        assert outcome.report is not None
        assert outcome.report.counts == {"c": 3, "u": 1}, "the rows enter, the old one stays"
        assert matches(workspace, "s") == {(1, "inside"), (4, "eu"), (4, "inside")}
        place.sql("UPDATE orders SET amount = 5 WHERE id = 2")
        poll(project, "s")
        assert matches(workspace, "s") == {(1, "inside"), (2, "us"), (4, "eu"), (4, "inside")}
        [outcome] = poll(project, "s")
        assert outcome.report is not None
        assert not outcome.report.counts
        assert not outcome.report.change


def test_growth_that_was_killed_is_no_event(database: str, workspace: Path) -> None:
    place = place_of(database)
    data = with_eu(place)
    with opened(data, workspace) as project:
        project.prepare("s")
    subscribe(place, ("us", "region = 'US'"))
    for point in ("before_commit", "after_commit", "enrichment_written", "after_enrichment"):
        kill_at(point, data, workspace, None)
    with opened(data, workspace) as project:
        poll(project, "s")
        assert not matches(workspace, "s")
        place.sql("UPDATE orders SET amount = 5")
        poll(project, "s")
    assert matches(workspace, "s") == {(1, "eu"), (2, "us")}


def test_a_set_is_asked_by_the_operator_of_the_source(database: str, workspace: Path) -> None:
    place = place_of(database)
    data = made(place, "mds")
    place.sql("ALTER TABLE orders ADD tags varchar(9)[]; INSERT INTO orders VALUES (1, 'EU', NULL, 1, '{a,b}')")
    place.sql("INSERT INTO orders VALUES (2, 'EU', NULL, 2, '{c}'), (3, 'EU', NULL, 3, NULL), (4, 'EU', NULL, 4, '{}')")
    subscribe(place, ("ab", "contains_all(tags, 'b', 'a')"), ("any", "contains_any(tags, 'it''s', 'd')", "enters"))
    with opened(data, workspace) as project:
        project.prepare()
        assert needs(project) == "\"tags\"::text[] && ARRAY['a', 'd', 'it''s']::text[]"
        place.sql("UPDATE orders SET amount = 9; UPDATE orders SET tags = '{\"it''s\",NULL}' WHERE id > 1")
        poll(project)
        subscribe(place, ("c", "contains_any(tags, 'c')"))
        place.sql("UPDATE orders SET tags = '{c}' WHERE id IN (1, 3)")
        poll(project)
        place.sql("UPDATE orders SET amount = 8")
        poll(project)
    assert matches(workspace, "s") == matches(workspace, "wide")
    assert (3, "c") in matches(workspace, "s")


def test_a_stream_that_is_no_longer_narrowed(database: str, workspace: Path) -> None:
    place = place_of(database)
    data = with_eu(place)
    with opened(data, workspace) as project:
        project.prepare("s")
    subscribe(place, ("us", "region = 'US'"))
    data["subscriptions"]["narrow"] = False
    with opened(data, workspace) as project:
        [outcome] = poll(project, "s")
        assert outcome.report is not None
        assert outcome.report.counts == {"c": 1}
        assert not matches(workspace, "s")
        assert needs(project) == ""
        place.sql("UPDATE orders SET amount = 5")
        poll(project, "s")
    assert matches(workspace, "s") == {(1, "eu"), (2, "us")}
