"""New surrogate keys: one for each key, for ever, whatever is replayed and however many poll."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import ConfigError, QbcdError, Refused
from qbcd.state import ProjectState
from qbcd.state.allocated import allocate_keys, allocated_keys
from tests.integration.lookups.scene import events, looked_up, partners
from tests.support.places import Place, over
from tests.support.project import opened, poll

FIRST = 500_000
LOOKUP: dict[str, Any] = {"on": {"code": "code"}, "take": ["sk"], "missing": "allocate", "allocate_from": FIRST}
COLLATIONS = {"postgresql": "", "mariadb": " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"}


def filled(place: Place) -> None:
    collation = COLLATIONS.get(place.kind, COLLATIONS["mariadb"])
    place.sql(
        f"CREATE TABLE customer (sk integer PRIMARY KEY, code varchar(20){collation});"
        f"CREATE TABLE sales (id integer PRIMARY KEY, code varchar(20){collation});"
        "INSERT INTO customer VALUES (1, 'old')"
    )


@over(elsewhere=())
def test_a_key_has_one_number(place: Place, workspace: Path) -> None:
    """Also two events of one batch, later batches, and a key that the relation gets with its number."""
    filled(place)
    with opened(looked_up(place, LOOKUP), workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 'old'), (2, 'new'), (3, 'new'), (4, 'other'), (5, NULL)")
        poll(project)
        place.sql("INSERT INTO sales VALUES (6, 'other'), (7, 'third')")
        poll(project)
        place.sql(f"INSERT INTO customer VALUES ({FIRST}, 'new')")
        place.sql("INSERT INTO sales VALUES (8, 'new'), (9, 'fourth')")
        poll(project)
    found = {key: one and one["sk"] for key, one in partners(workspace).items()}
    assert (found[1], found[5]) == (1, None)
    assert found[2] == found[3] == found[8]
    assert found[4] == found[6]
    numbers = {found[i] for i in (2, 4, 7, 9)}
    assert numbers == set(range(FIRST, FIRST + 4))


@pytest.mark.campaign
@over()
def test_a_renamed_lookup_keeps_its_numbers(place: Place, workspace: Path) -> None:
    filled(place)
    data = looked_up(place, LOOKUP)
    with opened(data, workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 'new')")
        poll(project)
    data["lookups"] = {"client": data["lookups"]["customer"]}
    data["tables"][0]["enrich"] = ["client"]
    with opened(data, workspace) as project:
        place.sql("INSERT INTO sales VALUES (2, 'newer'), (3, 'new')")
        poll(project)
    found = {event["key"]["id"]: next(iter(event["lookup"].values()))["sk"] for event in events(workspace)}
    assert found == {1: FIRST, 2: FIRST + 1, 3: FIRST}  # a batch has its events in any order


def test_a_row_without_number_gets_one(place: Place, workspace: Path) -> None:
    place.sql(
        "CREATE TABLE customer (sk integer, code integer PRIMARY KEY); INSERT INTO customer VALUES (NULL, 1), (7, 2);"
        "CREATE TABLE sales (id integer PRIMARY KEY, code integer)"
    )
    with opened(looked_up(place, LOOKUP), workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 1), (2, 2), (3, 3)")
        poll(project)
    assert partners(workspace) == {1: {"sk": FIRST}, 2: {"sk": 7}, 3: {"sk": FIRST + 1}}


@pytest.mark.parametrize(
    ("first", "error", "message"),
    [(40_000, ConfigError, "smallint, which cannot have 40000"), (32_767, Refused, "no numbers are left up to 32767")],
)
def test_numbers_that_the_column_cannot_have(
    first: int, error: type[QbcdError], message: str, place: Place, workspace: Path
) -> None:
    place.sql("CREATE TABLE customer (sk smallint, code integer); CREATE TABLE sales (id int PRIMARY KEY, code int)")
    with opened(looked_up(place, LOOKUP | {"allocate_from": first}), workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 1), (2, 2)")
        with pytest.raises(error, match=message):
            poll(project)
    assert not events(workspace)


@pytest.mark.campaign
@over()
def test_numbers_are_larger_than_those_of_the_relation(place: Place, workspace: Path) -> None:
    filled(place)
    place.sql(f"INSERT INTO customer VALUES ({FIRST + 10}, 'theirs')")
    with opened(looked_up(place, LOOKUP), workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 'new')")
        poll(project)
    assert partners(workspace) == {1: {"sk": FIRST + 11}}


@pytest.mark.campaign
def test_another_number_in_the_relation_is_refused(place: Place, workspace: Path) -> None:
    filled(place)
    with opened(looked_up(place, LOOKUP), workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 'new')")
        poll(project)
        place.sql("INSERT INTO customer VALUES (7, 'new'); INSERT INTO sales VALUES (2, 'new')")
        with pytest.raises(Refused, match=rf'{{"code": "new"}} has surrogate key 7 in .*, and {FIRST} was allocated'):
            poll(project)
        assert len(events(workspace)) == 1
        place.sql(f"UPDATE customer SET sk = {FIRST} WHERE code = 'new'")
        poll(project)
    assert partners(workspace) == {1: {"sk": FIRST}, 2: {"sk": FIRST}}


def test_streams_that_poll_together_share_the_numbers(place: Place, workspace: Path) -> None:
    filled(place)
    place.sql("CREATE TABLE more (id integer PRIMARY KEY, code varchar(20))")
    data = looked_up(place, LOOKUP) | {"jobs": 2}
    data["tables"].append({**data["tables"][0], "name": "more", "table": "more"})
    with opened(data, workspace) as project:
        project.prepare()
        for table in ("sales", "more"):
            place.sql(f"INSERT INTO {table} SELECT i, 'key ' || i FROM generate_series(1, 200) AS i")
        project.run(once=True)
    rows = [(event["key"]["id"], event["lookup"]["customer"]["sk"]) for event in events(workspace)]
    assert len(rows) == 400
    assert len(set(rows)) == 200
    assert len({number for _, number in rows}) == 200


def test_many_processes_allocate_each_key_once(workspace: Path) -> None:
    """Eight connections allocate overlapping keys at the same time."""
    url = f"sqlite:///{workspace}/state.db"
    ProjectState(url).close()
    begin = threading.Barrier(8)

    def allocate(worker: int) -> dict[str, int]:
        with ProjectState(url) as state:
            begin.wait()
            found: dict[str, int] = {}
            for step in range(5):
                keys = [f"{(worker + i) % 12}-{step}" for i in range(6)]
                found |= allocate_keys(state, "customer", keys, FIRST)
            return found

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(allocate, range(8)))
    keys = {key for result in results for key in result}
    with ProjectState(url) as state:
        stored = allocated_keys(state, "customer", sorted(keys))
        assert allocated_keys(state, "another", sorted(keys)) == {}
    assert stored.keys() == keys
    assert len(set(stored.values())) == len(keys)
    assert all(stored[key] == number for result in results for key, number in result.items())
