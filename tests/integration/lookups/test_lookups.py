"""Lookups: the partner of each event, by every method, with the relation's own equality."""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.check import check_stream
from qbcd.common import hooks
from qbcd.errors import ConfigError, QbcdError, Refused
from qbcd.lookups import search
from qbcd.lookups.shared import WaitingSearch
from qbcd.status import latest_events
from tests.integration.lookups.scene import events, looked_up, partners
from tests.support import wait_until
from tests.support.maria_source import KINDS
from tests.support.places import Place, over
from tests.support.project import opened, poll

METHODS = [*(pytest.param(one, marks=pytest.mark.campaign) for one in ("broadcast", "index")), "mesh", "auto"]
CUSTOMERS = 5000  # several key ranges and lists of keys


def filled(place: Place) -> None:
    """Create relation and table; customer `no` n has key 1000 + n."""
    place.sql(
        "CREATE TABLE customer (sk bigint PRIMARY KEY, no integer, name varchar(40));"
        "CREATE TABLE sales (id integer PRIMARY KEY, customer_no bigint)"
    )
    rows = ", ".join(f"({1000 + i}, {i}, 'c{i}')" for i in range(CUSTOMERS))
    place.sql(f"INSERT INTO customer VALUES {rows}")


def values(rows: list[tuple[Any, ...]]) -> str:
    """Return the rows as VALUES of an INSERT."""
    shown = [
        ["NULL" if one is None else repr(one) if isinstance(one, str) else str(one) for one in row] for row in rows
    ]
    return "VALUES " + ", ".join(f"({', '.join(row)})" for row in shown)


@over("method", METHODS, elsewhere=["mesh"])
def test_every_method_finds_the_same_partners(method: str, place: Place, workspace: Path) -> None:
    filled(place)
    lookup = {"on": {"customer_no": "no"}, "take": ["sk", "name"], "method": method, "memory": 1 << 20}
    with opened(looked_up(place, lookup), workspace) as project:
        project.prepare()
        sales = [*((i, i * 3) for i in range(1800)), (9000, None), (9001, 2**40), (9002, -1)]
        place.sql(f"INSERT INTO sales {values(sales)}")
        poll(project)
    assert partners(workspace) == {
        i: {"sk": 1000 + v, "name": f"c{v}"} if v is not None and 0 <= v < CUSTOMERS else None for i, v in sales
    }


@pytest.mark.parametrize("pushed", [pytest.param(True, marks=pytest.mark.campaign), False])
def test_reads_of_several_ranges_and_cycles(
    pushed: bool, place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source gets the keys, or sends all rows; 64 KB are 5 ranges, and less than all keys."""
    monkeypatch.setattr(search.Search, "_is_pushed", lambda self, count: pushed)
    filled(place)
    lookup = {"on": {"customer_no": "no"}, "take": ["sk"], "method": "mesh", "memory": 64 << 10}
    with opened(looked_up(place, lookup), workspace) as project:
        project.prepare()
        sales = [(i, i * 3) for i in range(1800)]
        place.sql(f"INSERT INTO sales {values(sales)}")
        poll(project)
    assert partners(workspace) == {i: {"sk": 1000 + no} if no < CUSTOMERS else None for i, no in sales}


@pytest.mark.campaign
@over()
def test_all_readers_have_the_stored_partner(place: Place, workspace: Path) -> None:
    """A dimension that changes later does not change batches that were found before."""
    filled(place)
    with opened(looked_up(place, {"on": {"customer_no": "no"}, "take": ["name"]}), workspace) as project:
        stream = project.stream("sales")
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 7), (2, 8)")
        poll(project)
        place.sql("UPDATE customer SET name = 'new' WHERE no = 7; UPDATE sales SET customer_no = 7 WHERE id = 2")
        poll(project)
        place.sql("DELETE FROM sales WHERE id = 1")
        poll(project)
        shown = [
            json.loads(line) for _, some in latest_events(parts_of(project).stream_to_read("sales"), 9) for line in some
        ]
        batches = [row["lookup"] for batch in stream.poll() for row in batch.rows()]
    found = events(workspace)
    names = [(event["op"], event["lookup"]["customer"]["name"]) for event in found]
    assert sorted(names[:2]) == [("c", "c7"), ("c", "c8")]  # the inserts of a batch have no order
    assert names[2:] == [("u", "new"), ("d", "new")]
    assert shown == found
    assert all(json.loads(one)["customer"]["name"] in ("c7", "c8", "new") for one in batches)


@over(elsewhere=())
def test_two_partners_are_refused_until_one_is_left(place: Place, workspace: Path) -> None:
    filled(place)
    place.sql("INSERT INTO customer VALUES (99999, 7, 'twin')")
    with opened(looked_up(place, {"on": {"customer_no": "no"}, "take": ["sk"]}), workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 6), (2, 7)")
        with pytest.raises(Refused, match=r"lookup customer: 2 rows of .*customer have no = 7"):
            poll(project)
        assert not events(workspace)
        place.sql("DELETE FROM customer WHERE sk = 99999")
        poll(project)
    assert partners(workspace) == {1: {"sk": 1006}, 2: {"sk": 1007}}


@over(elsewhere=())
def test_keys_of_several_columns_and_types(place: Place, workspace: Path) -> None:
    """Equal numbers match whatever their scale; NULL in any part never matches; `where` restricts the relation."""
    collation = ' COLLATE "C"' if place.kind == "postgresql" else " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    place.sql(
        f"CREATE TABLE customer (sk integer PRIMARY KEY, region varchar(9){collation}, rate numeric(12, 4), day date,"
        " live integer);"
        f"CREATE TABLE sales (id integer PRIMARY KEY, region varchar(20){collation}, rate numeric(10, 2), day date)"
    )
    day = "2026-11-28"
    place.sql(
        "INSERT INTO customer "
        + values(
            [
                (1, "EU", "1.5000", day, 1),
                (2, "eu", "1.5000", day, 1),
                (3, "EU", "1.5050", day, 1),
                (4, "EU", "2", day, 1),
                (5, "EU", "2", day, 0),
                (6, None, "3", day, 1),
            ]
        )
    )
    on = {"region": "region", "rate": "rate", "day": "day"}
    for method in ("index", "mesh"):
        lookup = {"on": on, "take": ["sk"], "where": "live = 1", "method": method}
        folder = workspace / method
        with opened(looked_up(place, lookup, strategy="id_rcs"), folder) as project:
            project.prepare()
            rows = [
                (1, "EU", "1.5", day),
                (2, "eu", "1.5", day),
                (3, "EU", "1.51", day),
                (4, "EU", "2.00", day),
                (5, None, "3", day),
                (6, "Eu", "1.5", day),
            ]
            place.sql(f"INSERT INTO sales {values(rows)}")
            poll(project)
        found = {key: one and one["sk"] for key, one in partners(folder).items()}
        assert found == {1: 1, 2: 2, 3: None, 4: 4, 5: None, 6: None}, method
        place.sql("DELETE FROM sales")


@pytest.mark.parametrize("method", [pytest.param("index", marks=pytest.mark.campaign), "mesh"])
def test_values_that_the_relation_cannot_have(method: str, place: Place, workspace: Path) -> None:
    """A text that shows no UUID, and infinite dates, have no partner, by any method."""
    known = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    place.sql(
        "CREATE TABLE customer (sk integer PRIMARY KEY, code uuid, day date);"
        f"INSERT INTO customer VALUES (1, '{known}', '2026-11-28'), (2, '{known}', 'infinity');"
        "CREATE TABLE sales (id integer PRIMARY KEY, code text, day date)"
    )
    lookup = {"on": {"code": "code", "day": "day"}, "take": ["sk"], "method": method}
    with opened(looked_up(place, lookup), workspace) as project:
        project.prepare()
        rows = [(1, known.upper(), "2026-11-28"), (2, known, "infinity"), (3, "none", "2026-11-28")]
        place.sql(f"INSERT INTO sales {values(rows)}")
        poll(project)
    assert partners(workspace) == {1: {"sk": 1}, 2: None, 3: None}


@pytest.mark.parametrize(
    ("charset", "lacking"),
    [
        ("utf8mb3", "😀"),
        pytest.param("latin1", "表😀", marks=pytest.mark.campaign),
        pytest.param("ascii", "é€\x81表😀", marks=pytest.mark.campaign),
        pytest.param("utf8mb4", "", marks=pytest.mark.campaign),
    ],
)
@pytest.mark.parametrize("database", KINDS, indirect=True)
def test_texts_that_a_character_set_lacks_have_no_partner(
    charset: str, lacking: str, place: Place, workspace: Path
) -> None:
    """The others of the list do, and those with NUL too."""
    place.sql(
        f"CREATE TABLE customer (code varchar(9) CHARACTER SET {charset} COLLATE {charset}_bin PRIMARY KEY);"
        "CREATE TABLE sales (id integer PRIMARY KEY, code varchar(9) COLLATE utf8mb4_bin)"
    )
    texts = ["a", "é", "€", "\x81", "表", "😀", "x\0y"]
    known = [text for text in texts if text not in lacking]
    place.insert("customer", [(text,) for text in known])
    lookup = {"on": {"code": "code"}, "take": ["code"]}
    with opened(looked_up(place, lookup, strategy="id_rcs", engine="local"), workspace) as project:
        project.prepare()
        place.insert("sales", list(enumerate(texts)))
        poll(project)
    found = [one and one["code"] for one in partners(workspace).values()]
    assert found == [text if text in known else None for text in texts]


@pytest.mark.campaign
def test_streams_share_a_scan(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two streams that come while one searches are one search; a key with two partners refuses its own stream only."""
    filled(place)
    place.sql("INSERT INTO customer VALUES (99999, 7, 'twin')")
    names, reads = ["sales", "more", "third"], list[int]()
    data = looked_up(place, {"on": {"customer_no": "no"}, "take": ["sk"], "method": "mesh"}, key=["id"]) | {"jobs": 3}
    for name in names[1:]:
        place.sql(f"CREATE TABLE {name} (id integer PRIMARY KEY, customer_no bigint)")
        data["tables"].append({**data["tables"][0], "name": name, "table": name})
    with opened(data, workspace) as project:
        project.prepare()
        for number, name in enumerate(names):
            keys = [3 + number, 5, 9000] + ([7] if name == "third" else [])
            place.sql(f"INSERT INTO {name} {values([(i, key) for i, key in enumerate(keys)])}")
        shared = parts_of(project).enriching._searches

        def met() -> None:
            reads.append(1)
            if len(reads) == 1:
                wait_until(lambda: sum(len(one.waiting) for one in shared._relations.values()) == 2)

        hooks.register("mid_lookup", met)
        try:
            outcomes = project.run(once=True).outcomes
        finally:
            hooks.register("mid_lookup", None)
    assert len(reads) == 2
    assert [one.stream for one in outcomes if one.error is not None] == ["third"]
    found = {
        (one["event_id"].partition(":")[0], one["key"]["id"]): one["lookup"]["customer"] for one in events(workspace)
    }
    wanted = {(name, i): key for n, name in enumerate(names[:2]) for i, key in enumerate([3 + n, 5, 9000])}
    assert found == {one: {"sk": 1000 + key} if key < CUSTOMERS else None for one, key in wanted.items()}


def test_an_enum_is_no_key(place: Place, workspace: Path) -> None:
    place.sql(
        "CREATE TYPE mood AS ENUM ('a'); CREATE TABLE customer (sk integer PRIMARY KEY, code mood);"
        "CREATE TABLE sales (id integer PRIMARY KEY, code text)"
    )
    with opened(looked_up(place, {"on": {"code": "code"}, "take": ["sk"]}), workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 'b')")
        with pytest.raises(ConfigError, match="cannot have all"):
            poll(project)


@pytest.mark.parametrize(("method", "statements"), [pytest.param("auto", 3, marks=pytest.mark.campaign), ("mesh", 1)])
def test_a_search_reads_no_more_than_it_needs(
    method: str, statements: int, place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`auto` measures nothing ahead; keys that fit into the memory are sent by one read."""
    filled(place)
    place.sql("CREATE UNIQUE INDEX customer_no ON customer (no); ANALYZE customer")
    run, reports = search.Search.run_with, list[search.SearchReport]()

    def noted(self: search.Search, others: Sequence[WaitingSearch]) -> search.SearchReport:
        reports.append(run(self, others))
        return reports[-1]

    monkeypatch.setattr(search.Search, "run_with", noted)
    lookup = {"on": {"customer_no": "no"}, "take": ["sk"], "method": method, "memory": 1 << 20}
    with opened(looked_up(place, lookup), workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales SELECT i, i FROM generate_series(1, 2100) AS i")
        poll(project)
    [report] = reports
    assert (report.statements, report.rows, report.found) == (statements, 2100, 2100)


@over("compared", ["folding", "other"], without={"postgresql": ["folding"]})  # the embedded server has no ICU
def test_keys_that_cannot_be_compared_are_refused(compared: str, place: Place, workspace: Path) -> None:
    folding = "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    column = folding if compared == "folding" else "integer"
    place.sql(
        f"CREATE TABLE customer (sk integer PRIMARY KEY, code {column});"
        "CREATE TABLE sales (id integer PRIMARY KEY, code varchar(20))"
    )
    with opened(looked_up(place, {"on": {"code": "code"}, "take": ["sk"]}), workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1, 'a')")
        message = (
            "treats different texts as equal" if compared == "folding" else "is never compared with one of type int32"
        )
        with pytest.raises(ConfigError, match=message):
            poll(project)


@pytest.mark.campaign
@over()
def test_padded_texts_are_equal_as_in_the_database(place: Place, workspace: Path) -> None:
    collation = "" if place.kind == "postgresql" else " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    place.sql(
        f"CREATE TABLE customer (sk integer PRIMARY KEY, code char(6){collation});"
        f"CREATE TABLE sales (id integer PRIMARY KEY, code varchar(20){collation})"
    )
    place.sql("INSERT INTO customer VALUES (1, 'ab'), (2, 'abc ')")
    for method in ("index", "broadcast"):
        folder = workspace / method
        lookup = {"on": {"code": "code"}, "take": ["sk"], "method": method}
        with opened(looked_up(place, lookup, strategy="id_rcs"), folder) as project:
            project.prepare()
            place.sql("INSERT INTO sales VALUES (1, 'ab'), (2, 'ab  '), (3, 'abc'), (4, 'AB'), (5, ' ab')")
            poll(project)
        assert {key: one and one["sk"] for key, one in partners(folder).items()} == {1: 1, 2: 1, 3: 2, 4: None, 5: None}
        place.sql("DELETE FROM sales")


@over(elsewhere=())
def test_every_type_of_a_taken_value_is_as_in_events(place: Place, workspace: Path) -> None:
    place.sql(
        "CREATE TABLE customer (id integer PRIMARY KEY, rate numeric(8, 3), f double precision, t varchar(20), d date,"
        " n integer); INSERT INTO customer VALUES (1, 1.5, 0.1, 'a\"ü', '2026-02-28', NULL);"
        "CREATE TABLE sales (id integer PRIMARY KEY)"
    )
    take = ["rate", "f", "t", "d", "n"]
    with opened(looked_up(place, {"on": {"id": "id"}, "take": take}), workspace) as project:
        project.prepare()
        place.sql("INSERT INTO sales VALUES (1)")
        poll(project)
    [found] = partners(workspace).values()
    assert found == {"rate": "1.500", "f": 0.1, "t": 'a"ü', "d": "2026-02-28", "n": None}
    assert list(found) == take
    assert Decimal(found["rate"]) == Decimal("1.5")


@over(elsewhere=())
def test_check_shows_what_a_lookup_reads(place: Place, workspace: Path) -> None:
    filled(place)
    with opened(looked_up(place, {"on": {"customer_no": "no"}, "take": ["sk"]}), workspace) as project:
        parts = parts_of(project)
        found = check_stream(parts.open_stream("sales"))
        [one] = [finding for finding in found if finding.subject == "lookup customer"]
        assert one.level == "ok"
        assert "reads no, sk of " in one.message
        assert "no index begins with no" in one.message
    with opened(looked_up(place, {"on": {"nobody": "no"}, "take": ["sk"]}), workspace) as project:
        found = check_stream(parts_of(project).open_stream("sales"))
        [one] = [finding for finding in found if finding.level == "error"]
        assert "events have no column 'nobody'" in one.message


@pytest.mark.parametrize(
    ("lookup", "error", "message"),
    [
        ({"missing": "allocate"}, ConfigError, "needs `allocate_from`"),
        ({"missing": "allocate", "allocate_from": 1, "take": ["sk", "name"]}, ConfigError, "needs one column"),
        ({"allocate_from": 5}, ConfigError, "belongs to `missing: allocate`"),
        ({"source": "none"}, ConfigError, "there is no source"),
        ({"on": {}}, ConfigError, "on"),
        ({"on": {"a": "b", "c": "b"}}, ConfigError, "named twice"),
        ({"method": "hash"}, ConfigError, "method"),
    ],
)
def test_configurations_that_are_refused(
    lookup: dict[str, Any], error: type[QbcdError], message: str, workspace: Path
) -> None:
    data: dict[str, Any] = {
        "version": 1,
        "sources": {"shop": {"url": "postgresql://reader@localhost/shop"}},
        "tables": [{"source": "shop", "table": "public.t", "strategy": "mds", "enrich": ["customer"]}],
        "lookups": {"customer": {"source": "shop", "table": "c", "on": {"a": "b"}, "take": ["sk"], **lookup}},
    }
    with pytest.raises(error, match=message):
        qbcd.Project.from_dict(data, base_dir=workspace)


def test_a_restriction_with_a_mistake_is_refused_with_its_place(place: Place, workspace: Path) -> None:
    """The source judges it, and the remedy is about the lookup, not about the stream."""
    place.sql("CREATE TABLE customer (sk integer PRIMARY KEY, no integer, live integer)")
    place.sql("CREATE TABLE sales (id integer PRIMARY KEY, customer_no integer)")
    for where, remedy in (("lve = 1", 'did you mean "live"'), ("live + 1", "write one boolean expression")):
        lookup = {"on": {"customer_no": "no"}, "take": ["sk"], "where": where}
        with opened(looked_up(place, lookup), workspace) as project:
            stream = parts_of(project).open_stream("sales")
            [found] = [one for one in check_stream(stream) if one.error]
        assert "the restriction is refused" in found.message
        assert remedy in str(found.error)
        assert "reset" not in str(found.error)


def test_an_unknown_lookup_is_refused_with_its_place(workspace: Path) -> None:
    data: dict[str, Any] = {
        "version": 1,
        "sources": {"shop": {"url": "postgresql://reader@localhost/shop"}},
        "tables": [{"source": "shop", "table": "public.t", "strategy": "mds", "enrich": ["custommer"]}],
        "lookups": {"customer": {"source": "shop", "table": "c", "on": {"a": "b"}, "take": ["sk"], "missing": None}},
    }
    with pytest.raises(ConfigError, match=r"tables\[0\].enrich\[0\].*there is no lookup") as caught:
        qbcd.Project.from_dict(data, base_dir=workspace)
    assert 'did you mean "customer"?' in str(caught.value)


@over(elsewhere=[])
def test_logs_in_databases_have_the_partners(place: Place, workspace: Path) -> None:
    """The column comes with the lookup, also into a table that is there already."""
    place.sql("CREATE TABLE customer (sk integer, no integer); CREATE TABLE sales (id integer PRIMARY KEY, no integer)")
    place.sql("INSERT INTO customer VALUES (7, 1)")
    written = looked_up(place, {"on": {"no": "no"}, "take": ["sk"]})
    written["sinks"] = {
        name: {"type": "database", "url": f"sqlite:///{name}.db", "table": "log", "mode": "log", "envelope": name}
        for name in ("qbcd", "debezium", "changes")
    }
    written["defaults"]["sinks"] = list(written["sinks"])
    plain = copy.deepcopy(written)
    del plain["tables"][0]["enrich"]
    for data, row in ((plain, (1, 1)), (written, (2, 1)), (written, (3, 9)), (plain, (4, 1))):
        with opened(data, workspace) as project:
            project.prepare()
            place.sql(f"INSERT INTO sales VALUES {row}")
            poll(project)
    for name in written["sinks"]:
        with closing(sqlite3.connect(workspace / f"{name}.db")) as log:
            found = [one for (one,) in log.execute("SELECT qbcd_lookup FROM log ORDER BY rowid")]
        assert found == [None, '{"customer":{"sk":7}}', '{"customer":null}', None], name
