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


def test_a_replica_of_keys_takes_a_sixth_of_the_pages(place: Place, workspace: Path) -> None:
    """.9 N are saved in the paper, without headers of rows: PostgreSQL has 28 bytes of them."""
    names = [f"c{i}" for i in range(COLUMNS)]
    place.sql(f"CREATE TABLE t (id bigint PRIMARY KEY, {', '.join(f'{n} bigint' for n in names)})")
    place.sql(
        f"INSERT INTO t SELECT i, {', '.join(f'i + {i}' for i in range(COLUMNS))} FROM generate_series(1, {ROWS}) i"
    )
    tables = [
        {"name": name, "table": "public.t", "strategy": {"type": "mds", **more}, "baseline": "silent"}
        for name, more in (("all", {}), ("keys", KEYS))
    ]
    with opened(config(place.url, *tables), workspace) as project:
        pages = {}
        for name in ("all", "keys"):
            project.stream(name).prepare()
            named = f"relname LIKE 'replica_{name}_%' AND relkind = 'r'"
            ((pages[name],),) = place.sql(f"SELECT pg_relation_size(oid) / 8192 FROM pg_class WHERE {named}")
    assert pages["keys"] / pages["all"] < 0.165, pages


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
