"""`qbcd diff` of drawn tables with all types, of two databases and of two kinds, against complete reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from qbcd.comparison import by_ranges
from tests.integration.files.test_diff_tables import KEYS, both, make
from tests.support.drawn_tables import DrawnTable, draw_tables
from tests.support.histories import History
from tests.support.places import Place, configured, new_place, over, server_of

pytestmark = pytest.mark.campaign

TABLES = 6
ROWS = 60
SHORT = "name varchar(20), amount decimal(10, 2), at date"


@pytest.fixture(autouse=True)
def small_ranges(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.setattr(by_ranges, "FINE", 3)
    monkeypatch.setattr(by_ranges, "GROUP", 4)


def copied(table: DrawnTable) -> str:
    """Make a copy of the table as it is now; return its name as configuration has it."""
    place, name = table.place, f"{table.name.split()[0]}_copy"
    target, quoted = f"{place.quote(table.schema)}.{name}", table.quoted
    like = f"(LIKE {quoted} INCLUDING ALL)" if place.kind == "postgresql" else f"LIKE {quoted}"
    place.sql(f"CREATE TABLE {target} {like}")
    place.sql(f"INSERT INTO {target} SELECT * FROM {quoted}")
    return configured(table.schema, name)


@over("seed", range(4))
def test_drawn_histories(place: Place, seed: int) -> None:
    rng = Random(seed)
    used: Counter[str] = Counter()
    for table in draw_tables(rng, place, TABLES):
        history = History(rng, table)
        history.fill(ROWS)
        old = copied(table)
        for steps in (0, 2, 60):
            history.act(steps)
            urls = [f"{place.url}#{one}" for one in (old, configured(table.schema, table.name))]
            found = both(
                urls if rng.random() < 0.5 else urls[::-1], key=table.key, columns=rng.choice([[], table.pertinent])
            )
            used[found.ranges.kind if found.ranges else found.complete_because] += 1
            used["differ" if found else "equal"] += 1
    assert used["key"] + used["hash"] >= 2 * TABLES, used
    assert used["differ"] >= TABLES, used


@over("change", ["none", "one", "many"])
@pytest.mark.parametrize("key", list(KEYS))
def test_two_databases_of_one_server(place: Place, key: str, change: str) -> None:
    old = make(place, KEYS[key], "item")
    with copy_of(place) as other:
        new = other.table("item")
        if change != "none":
            where = "= 'n11'" if change == "one" else "LIKE '%1'"
            other.sql(f"UPDATE {new} SET amount = 7 WHERE name {where}")
        found = both([f"{place.url}#{old}", f"{other.url}#{new}"], key=KEYS[key].argument or ())
    assert found.ranges is not None, found.complete_because
    is_other_order = key in ("text", "no index") or key == "uuid"
    assert found.ranges.kind == ("hash" if is_other_order else "key")
    assert bool(found.ranges.dirty) == (change != "none")


@contextmanager
def copy_of(place: Place) -> Iterator[Place]:
    other = place.copy_to(f"{place.name}_b"[:60])
    try:
        yield other
    finally:
        other.drop()


def test_databases_of_two_kinds_are_read_completely(request: pytest.FixtureRequest) -> None:
    with (
        new_place(server_of(request, "postgresql"), "postgresql") as first,
        new_place(server_of(request, "mariadb"), "mariadb") as second,
    ):
        old, new = (make(place, KEYS["number"], "item", values=SHORT) for place in (first, second))
        second.sql(f"UPDATE {new} SET amount = 7 WHERE id = 11")
        found = both([f"{first.url}#{old}", f"{second.url}#{new}"])
        assert found.ranges is None
        assert found.complete_because == "PostgreSQL and MariaDB compute different digests of equal rows"
        assert found.counts == {"u": 1}


def test_equal_bytes_in_other_encodings_are_other_texts(request: pytest.FixtureRequest) -> None:
    with new_place(server_of(request, "postgresql"), "postgresql") as first:
        name = f"{first.name}_l"[:60]
        first.sql("CREATE TABLE item (id integer PRIMARY KEY, name text); INSERT INTO item VALUES (1, 'é')")
        second = first.at(name)
        with first.connect(autocommit=True) as conn:
            first.run(conn, f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
        try:
            second.sql("CREATE TABLE item (id integer PRIMARY KEY, name text); INSERT INTO item VALUES (1, 'Ã©')")
            found = both([f"{first.url}#public.item", f"{second.url}#public.item"])
        finally:
            second.drop()
        assert (found.ranges, found.counts) == (None, {"u": 1})
        assert found.complete_because == "the databases have different encodings: UTF8 and LATIN1"


@over()
def test_digests_of_numbers_that_mean_something_else(place: Place) -> None:
    first = place.kind == "postgresql"
    old, new = place.table("old"), place.table("new")
    types, values = (("regclass",) * 2, ("pg_class",) * 2) if first else (("enum('a', 'b')", "enum('b', 'a')"), "ab")
    for table, sql_type, value in zip((old, new), types, values, strict=True):
        place.sql(f"CREATE TABLE {table} (id integer PRIMARY KEY, v {sql_type})")
        place.sql(f"INSERT INTO {table} VALUES (1, '{value}')")
    found = both([f"{place.url}#{old}", f"{place.url}#{new}"])
    assert (found.ranges, found.counts) == (None, {} if first else {"u": 1})
    assert "column v" in found.complete_because
