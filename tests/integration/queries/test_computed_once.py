"""Variant checksum of captured queries: a poll computes the query once, not once for each range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import wait_until
from tests.support.oracle import events
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

GROUPS, RANGE = 120, 4


def _configured(place: Place, **options: Any) -> dict[str, Any]:
    query = f"SELECT t.g, COUNT(*) AS n FROM {place.table('t')} AS t GROUP BY t.g"
    strategy = {"type": "vbd", "variant": "checksum", "rows_per_range": RANGE, **options}
    return config(place.url, {"name": "q", "query": query, "strategy": strategy})


@pytest.fixture
def grouped(place: Place) -> Place:
    """A place with the table that the query groups by an integer."""
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, g integer NOT NULL)")
    values = ", ".join(f"({i}, {i % GROUPS})" for i in range(2 * GROUPS))
    place.sql(f"INSERT INTO t VALUES {values}")
    return place


@over()
def test_ranges_are_of_the_hash_also_if_the_key_is_an_integer(grouped: Place, workspace: Path) -> None:
    with opened(_configured(grouped), workspace) as project:
        project.stream("q").prepare()
        assert project.stream("q").plan().option("buckets") == "hash"
        grouped.sql("DELETE FROM t WHERE id = 7")
        poll(project, "q")
    assert [event["after"]["n"] for event in events(workspace / "out/changes", "q")] == [1]


@pytest.mark.parametrize(("options", "scans"), [({}, range(1, 3)), ({"buckets": "key"}, range(GROUPS // RANGE, 999))])
def test_a_poll_computes_the_query_once(options: dict[str, Any], scans: range, grouped: Place, workspace: Path) -> None:
    """Count the sequential scans by a poll without changes: one by ranges of the hash, one for each range of keys.

    PostgreSQL counts them by table; the statements are the same everywhere.
    """
    with opened(_configured(grouped, **options), workspace) as project:
        project.stream("q").prepare()
    before = _scans(grouped)
    with opened(_configured(grouped, **options), workspace) as project:
        poll(project, "q")
    assert _scans(grouped) - before in scans


def _scans(place: Place) -> int:
    """Return the sequential scans of the table so far, after the sessions that ran them have ended and counted."""
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    wait_until(lambda: place.sql(others) == [(0,)], what="the end of all sessions")
    ((found,),) = place.sql("SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 't'")
    return int(found)
