"""Streams that look for inserts and deletes alone: the replica holds keys, and takes little room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import Refused
from tests.support.oracle import batches
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

COLUMNS = 24  # of 8 bytes, next to the key: a row of 200 bytes, as in the paper
ROWS = 5000
KEYS: dict[str, Any] = {"events": ["insert", "delete"]}


@over(elsewhere=[])
def test_a_replica_of_keys_takes_what_headers_of_rows_allow(place: Place, workspace: Path) -> None:
    """.9 N are saved in the paper, without headers of rows.

    PostgreSQL has 28 bytes of them: 36 of 228 are the least for a key of 8 bytes, .155 of the pages of a large table.
    InnoDB has 18 bytes.
    """
    names, rows = [f"c{i}" for i in range(COLUMNS)], ROWS if place.kind == "postgresql" else 4 * ROWS
    place.sql(f"CREATE TABLE t (id bigint PRIMARY KEY, {', '.join(f'{n} bigint' for n in names)})")
    place.sql(f"INSERT INTO t SELECT n, {', '.join(f'n + {i}' for i in range(COLUMNS))} FROM {place.numbers(rows)}")
    tables = [
        {"name": name, "table": place.table("t"), "strategy": {"type": "mds", **more}, "baseline": "silent"}
        for name, more in (("all", {}), ("keys", KEYS))
    ]
    with opened(config(place.url, *tables), workspace) as project:
        pages = {}
        for name in ("all", "keys"):
            project.stream(name).prepare()
            pages[name] = pages_of(place, f"replica_{name}_")
    if place.kind == "postgresql":
        room = 8192 - 24
        assert pages["keys"] == -(-rows // (room // (28 + 8))), "nothing but the key is stored"
        assert pages["all"] == -(-rows // (room // (28 + 8 + 8 * COLUMNS)))
    assert pages["keys"] / pages["all"] < (0.165 if place.kind == "postgresql" else 0.15), pages


def pages_of(place: Place, start: str) -> int:
    """Return the pages with rows of qbcd's table whose name begins so."""
    if place.kind == "postgresql":
        found = f"relname LIKE '{start}%' AND relkind = 'r'"
        return int(place.sql(f"SELECT pg_relation_size(oid) / 8192 FROM pg_class WHERE {found}")[0][0])
    own = f"table_schema = '{place.own_schema}' AND table_name LIKE '{start}%'"
    ((name,),) = place.sql(f"SELECT table_name FROM information_schema.tables WHERE {own}")
    place.sql(f"ANALYZE TABLE {place.own_schema}.`{name}`")
    leaves = f"table_name = '{name}' AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages'"
    return int(place.sql(f"SELECT stat_value FROM mysql.innodb_index_stats WHERE {leaves}")[0][0])


@over("strategy", ["mds", pytest.param("id", marks=pytest.mark.campaign)])
def test_updates_are_no_events_and_inserts_have_their_values(strategy: str, place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v integer)")
    place.insert("t", [(i, i) for i in range(6)])
    table = {"name": "s", "table": place.table("t"), "strategy": {"type": strategy, **KEYS}, "baseline": "silent"}
    data = config(place.url, table)
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET v = -1 WHERE id < 3; DELETE FROM t WHERE id = 4; INSERT INTO t VALUES (9, 90)")
        poll(project, "s")
        ((_, events),) = batches(workspace / "out" / "changes", "s")
        assert [(e["op"], e["key"]["id"], e["before"], (e["after"] or {}).get("v")) for e in events] == [
            ("d", 4, None, None),
            ("c", 9, None, 90),
        ]
        assert project.stream("s").verify() == [], "keys are compared"
    mirror = {"type": "database", "url": f"duckdb:///{workspace}/target.duckdb", "mode": "mirror"}
    data = config(place.url, {**table, "name": "m", "baseline": "events"}, sinks={"target": mirror})
    with opened(data, workspace / "other") as project, pytest.raises(Refused, match="does not look for updates"):
        project.stream("m").prepare()
