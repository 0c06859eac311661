"""The demo's data: complete, with keys, ordered by key, and changed by a day in a known way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from qbcd.demo import flights
from qbcd.demo.flights import TableChanges
from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import EnvironmentMissing
from tests.support import connect, sql

KEYS = {"flights": "time_hour, carrier, flight", "planes": "tailnum", "weather": "origin, time_hour"}
Rows = dict[tuple[Any, ...], tuple[Any, ...]]


@pytest.fixture(scope="module")
def loaded(server: EmbeddedPostgres) -> Iterator[tuple[str, dict[str, int]]]:
    sql(server.url, "CREATE DATABASE demo_data")
    url = server.url_of("demo_data")
    with connect(url) as conn:
        rows = flights.load(conn)
    yield url, rows
    sql(server.url, "DROP DATABASE demo_data WITH (FORCE)")


def test_all_rows_are_there(loaded: tuple[str, dict[str, int]]) -> None:
    url, rows = loaded
    assert rows == {"flights": 336776, "planes": 3322, "airlines": 16, "airports": 1458, "weather": 26115}
    assert {table: sql(url, f"SELECT count(*) FROM {table}")[0][0] for table in rows} == rows


def test_types_and_nulls(loaded: tuple[str, dict[str, int]]) -> None:
    url, _ = loaded
    cancelled = sql(url, "SELECT count(*) - count(dep_time), count(*) - count(tailnum) FROM flights")
    assert cancelled == [(8255, 2512)]
    first = sql(
        url,
        "SELECT time_hour::text, dep_time, dep_delay, tailnum, dest, distance FROM flights"
        " WHERE carrier = 'UA' AND flight = 1545 AND month = 1 AND day = 1",
    )
    assert first == [("2013-01-01 10:00:00+00", 517, 2, "N14228", "IAH", 1400)]
    assert sql(url, "SELECT count(*) FROM airports WHERE tzone IS NULL OR name = ''") == [(3,)]


def test_keys_are_primary_and_rows_follow_them(loaded: tuple[str, dict[str, int]]) -> None:
    url, rows = loaded
    keyed = sql(url, "SELECT tablename FROM pg_indexes WHERE schemaname = 'public' AND indexname LIKE '%_pkey'")
    assert {name for (name,) in keyed} == set(rows)
    follows = sql(url, "SELECT correlation FROM pg_stats WHERE tablename = 'flights' AND attname = 'time_hour'")
    assert follows[0][0] == pytest.approx(1.0)


@pytest.mark.campaign
def test_two_days_change_what_they_say(loaded: tuple[str, dict[str, int]]) -> None:
    url, rows = loaded
    before = {table: contents(url, table) for table in KEYS}
    for expected in (
        {"flights": TableChanges(760, 719, 62), "planes": TableChanges(1, 1, 1), "airlines": TableChanges(0, 1, 1)},
        {"flights": TableChanges(760, 714, 0), "planes": TableChanges(1, 1, 1), "airlines": TableChanges(0, 1, 1)},
    ):
        with connect(url) as conn:
            applied = flights.apply_day(conn)
        after = {table: contents(url, table) for table in KEYS}
        assert {table: difference(before[table], after[table]) for table in KEYS} == {t: applied[t] for t in KEYS}
        assert applied == {table: expected.get(table, TableChanges()) for table in rows}
        before = after


def test_missing_data_names_the_remedy(monkeypatch: pytest.MonkeyPatch, database: str) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with connect(database) as conn, pytest.raises(EnvironmentMissing, match=r"qbcd\[demo\]"):
        flights.load(conn)
    assert sql(database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(0,)]


def contents(url: str, table: str) -> Rows:
    key = KEYS[table]
    width = key.count(",") + 1
    return {row[:width]: row[width:] for row in sql(url, f"SELECT {key}, t::text FROM {table} t")}


def difference(old: Rows, new: Rows) -> TableChanges:
    changed = sum(old[key] != new[key] for key in old.keys() & new.keys())
    return TableChanges(len(new.keys() - old.keys()), changed, len(old.keys() - new.keys()))
