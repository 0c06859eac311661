"""Columns as watermarks: classification and exactness of each connector, on its server."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest

from qbcd.catalog.source import Session
from qbcd.connectors import CONNECTORS
from qbcd.connectors.watermarks import SupportsSystemMarks, SupportsWatermarks
from qbcd.errors import UnsupportedPrimitive
from qbcd.model import StreamPlan
from tests.support.places import Place, over
from tests.support.watermark_cases import column_of, compiled, connector_of, plan_of, probed, rows, session

# By type: the watermark over it and its step.
CLOCKS = {
    "postgresql": {
        "timestamptz": ("zoned", timedelta(microseconds=1)),
        "timestamptz(3)": ("zoned", timedelta(milliseconds=1)),
        "timestamp": ("zoneless", timedelta(microseconds=1)),
        "timestamp(0)": ("zoneless", timedelta(seconds=1)),
        "timestamp(5)": ("zoneless", timedelta(microseconds=10)),
        "date": ("zoneless", timedelta(days=1)),
    },
    "family": {
        "timestamp(6) NULL": ("zoned", timedelta(microseconds=1)),
        "timestamp NULL": ("zoned", timedelta(seconds=1)),
        "datetime(6)": ("zoneless", timedelta(microseconds=1)),
        "datetime": ("zoneless", timedelta(seconds=1)),
        "datetime(3)": ("zoneless", timedelta(milliseconds=1)),
        "date": ("zoneless", timedelta(days=1)),
    },
}
COUNTERS = {
    "postgresql": ["smallint", "integer", "bigint", "numeric(12)", "numeric(38,0)"],
    "family": ["tinyint", "mediumint", "int", "int unsigned", "bigint unsigned", "decimal(30)"],
}
NEITHER = {
    "postgresql": ["text", "time", "numeric(9,2)", "numeric", "interval", "real", "boolean", "uuid", "timestamptz[]"],
    "family": ["varchar(30)", "time(3)", "decimal(9,2)", "year", "float", "bit(1)", "enum('a')"],
}
DAY = "2031-02-03"
UTC = {"postgresql": "SET TimeZone = 'UTC'", "family": "SET time_zone = '+00:00'"}


def family(place: Place) -> str:
    return "postgresql" if place.kind == "postgresql" else "family"


def made(place: Place, types: list[str]) -> list[str]:
    """Make table t with a column c0, c1, .. of each type; return their names."""
    columns = [f"c{i}" for i in range(len(types))]
    listed = "".join(f", {column} {sql_type}" for column, sql_type in zip(columns, types, strict=True))
    place.sql(f"CREATE TABLE t (k integer PRIMARY KEY{listed})")
    return columns


@over()
def test_types_that_are_watermarks(place: Place) -> None:
    clocks, counters, neither = CLOCKS[family(place)], COUNTERS[family(place)], NEITHER[family(place)]
    names = made(place, [*clocks, *counters, *neither])
    table, connector = probed(place), connector_of(place)
    columns = [column_of(table, name) for name in names]
    kinds = [connector.watermarks.mark_kind(column) for column in columns]
    assert kinds == [kind for kind, _ in clocks.values()] + ["counter"] * len(counters) + [""] * len(neither)
    steps = [
        connector.require(SupportsWatermarks).mark_unit(column) for column in columns[: len(clocks) + len(counters)]
    ]
    assert steps == [step for _, step in clocks.values()] + [timedelta(0)] * len(counters)


def texts(place: Place, plan: StreamPlan, reading: Session, name: str) -> dict[int, Any]:
    """Return by k the watermark text of each row's value."""
    read = compiled(place, plan, f"SELECT k, QBCD_MARK_TEXT('{name}', {name}) FROM {{t}}")
    return {int(k): text for k, text in rows(reading, read)}


def matching(place: Place, plan: StreamPlan, reading: Session, condition: str, watermark: str) -> set[int]:
    """Return k of the rows that satisfy a condition over ``name``: ``c0 >=`` and a watermark."""
    name = condition.split()[0]
    query = compiled(place, plan, f"SELECT k FROM {{t}} WHERE {condition} QBCD_MARK('{name}', :mark)", mark=watermark)
    return {int(row[0]) for row in rows(reading, query)}


# -- watermarks of clocks ----------------------------------------------------------------------------------------------
NEAR = ["11:59:59.999999", "12:00:00.000000", "12:00:00.000001", "12:00:00.500000", "12:00:01.000000"]
MARKS = [*NEAR, "00:00:00.000000", "00:00:00.000001", "23:59:59.999999"]


def moment(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    assert isinstance(value, date)
    return datetime(value.year, value.month, value.day)


@over(elsewhere=[])
def test_a_watermark_of_a_clock_is_exact_whatever_the_columns_precision(place: Place) -> None:
    """Rows are at or past a watermark exactly if their values are.

    The text of a value converts to the same value.
    """
    names = made(place, list(CLOCKS[family(place)]))
    zone = "+00" if place.kind == "postgresql" else ""
    for k, near in enumerate([*NEAR, "00:00:00.000000"]):
        values = ", ".join([f"'{DAY} {near}{zone}'"] * len(names))
        place.sql(f"{UTC[family(place)]}; INSERT INTO t VALUES ({k}, {values})")
    plan = plan_of(probed(place))
    with session(place) as reading:
        for name in names:
            stored = {int(k): moment(v) for k, v in rows(reading, f"SELECT k, {name} FROM {place.table('t')}")}
            written = texts(place, plan, reading, name)
            assert {k: datetime.fromisoformat(text) for k, text in written.items()} == stored, name
            assert {len(text) for text in written.values()} == {26}
            for text in [f"{DAY} {near}" for near in MARKS]:
                past = {k for k, value in stored.items() if value >= datetime.fromisoformat(text)}
                assert matching(place, plan, reading, f"{name} >=", text) == past, (name, text)
            for k, text in written.items():
                same = {j for j, value in stored.items() if value == stored[k]}
                assert matching(place, plan, reading, f"{name} =", text) == same


ZONE = {"postgresql": "SET TimeZone = 'Asia/Kathmandu'", "family": "SET time_zone = '+05:45'"}


@over(elsewhere=[])
def test_no_session_zone_moves_a_watermark(place: Place) -> None:
    zoned = "timestamptz" if place.kind == "postgresql" else "timestamp(6)"
    names = made(place, [zoned, "timestamp" if place.kind == "postgresql" else "datetime(6)"])
    zone = "+00" if place.kind == "postgresql" else ""
    place.sql(f"INSERT INTO t VALUES (1, '{DAY} 12:00:00.25{zone}', '{DAY} 12:00:00.25')")
    plan = plan_of(probed(place))
    for pinned in (True, False):
        with session(place) as reading:
            if not pinned:
                reading.run(ZONE[family(place)])
            for name in names:
                assert texts(place, plan, reading, name) == {1: f"{DAY} 12:00:00.250000"}
                found = matching(place, plan, reading, f"{name} =", f"{DAY} 12:00:00.250000")
                assert found == {1}, (name, pinned)


@over(elsewhere=[])
def test_values_outside_of_calendars_convert_to_texts_and_back(place: Place) -> None:
    """NULL too; and a purge by such a text finds its row."""
    if place.kind == "postgresql":
        types, odd = ["timestamptz", "timestamp", "date"], ["infinity", "-infinity", "0044-03-15 BC", "20000-01-01"]
    else:
        types, odd = ["datetime(6)", "date"], ["0000-00-00", "2031-02-30", "9999-12-31", "0001-01-01"]
    names = made(place, types)
    lines = ", ".join(f"({k}{len(types) * f', {value!r}'})" for k, value in enumerate(odd))
    place.sql(f"{UTC[family(place)]}; INSERT INTO t VALUES {lines}; INSERT INTO t (k) VALUES (9)")
    plan = plan_of(probed(place))
    with session(place) as reading:
        for name in names:
            written = texts(place, plan, reading, name)
            assert written.pop(9) is None
            assert len(written) == 4
            for k, text in written.items():
                assert matching(place, plan, reading, f"{name} =", text) == {k}, (name, text)


# -- watermarks of counters --------------------------------------------------------------------------------------------
@over(elsewhere=[])
def test_a_watermark_of_a_counter_is_exact_at_the_ends_of_its_type(place: Place) -> None:
    types = COUNTERS[family(place)]
    names = made(place, types)
    ends = {
        "smallint": 2**15 - 1,
        "integer": 2**31 - 1,
        "bigint": 2**63 - 1,
        "numeric(12)": 10**12 - 1,
        "numeric(38,0)": 10**38 - 1,
        "tinyint": 127,
        "mediumint": 2**23 - 1,
        "int": 2**31 - 1,
        "int unsigned": 2**32 - 1,
        "bigint unsigned": 2**64 - 1,
        "decimal(30)": 10**30 - 1,
    }
    for k in (0, 1):
        place.sql(f"INSERT INTO t VALUES ({k}, {', '.join(str(ends[t] - k) for t in types)})")
    place.sql("INSERT INTO t (k) VALUES (2)")
    plan = plan_of(probed(place))
    with session(place) as reading:
        for name, sql_type in zip(names, types, strict=True):
            read = compiled(place, plan, f"SELECT QBCD_MARK_TEXT('{name}', MAX({name})) AS x FROM {{t}}")
            text = str(reading.one(read).x)
            assert text == str(ends[sql_type])
            assert matching(place, plan, reading, f"{name} >=", text) == {0}
            assert matching(place, plan, reading, f"{name} >=", str(int(text) - 1)) == {0, 1}
            assert matching(place, plan, reading, f"{name} >", text) == set()
            assert texts(place, plan, reading, name) == {0: text, 1: str(int(text) - 1), 2: None}


@over(elsewhere=[])
def test_the_columns_index_answers_a_watermark(place: Place) -> None:
    types = [*CLOCKS[family(place)], *COUNTERS[family(place)]]
    names = made(place, types)
    for name in names:
        place.sql(f"CREATE INDEX i_{name} ON t ({name})")
    if place.kind == "postgresql":
        listed = ", ".join(
            "TIMESTAMP '2031-01-01' + g * interval '1 day'" if i < 6 else "mod(g, 30000)" for i in range(len(names))
        )
        place.sql(f"INSERT INTO t SELECT g, {listed} FROM generate_series(1, 20000) g; ANALYZE t")
    else:
        lines = ", ".join(
            f"({g}, {', '.join([repr(str(datetime(2031, 1, 1) + timedelta(hours=g)))] * 6)}"
            f"{f', {g % 120}' + f', {g}' * 5})"
            for g in range(3000)
        )
        place.sql(f"INSERT INTO t VALUES {lines}; ANALYZE TABLE t")
    plan = plan_of(probed(place))
    with session(place) as reading:
        for name in names:
            highest = reading.one(
                compiled(place, plan, f"SELECT QBCD_MARK_TEXT('{name}', MAX({name})) AS x FROM {{t}}")
            )
            one = compiled(place, plan, f"SELECT k FROM {{t}} WHERE {name} >= QBCD_MARK('{name}', :m)", m=highest.x)
            explained = reading.connection.exec_driver_sql(f"EXPLAIN {one.sql}", dict(one.params)).mappings().all()
            used = str([row.get("key", row.get("QUERY PLAN", row.get("EXPLAIN"))) for row in explained])
            assert f"i_{name}" in used, (name, explained)


@pytest.mark.parametrize("kind", sorted(set(CONNECTORS) - {"postgresql"}))
def test_versions_of_the_systems_own_are_refused_by_name(kind: str) -> None:
    made_by = CONNECTORS[kind]()
    for missing in (
        lambda: made_by.require(SupportsSystemMarks).system_mark(None),  # type: ignore[arg-type]
        lambda: made_by.require(SupportsSystemMarks).system_mark_problem(None, "1"),  # type: ignore[arg-type]
        lambda: made_by.require(SupportsSystemMarks).changed_since_mark(None),  # type: ignore[arg-type]
    ):
        with pytest.raises(UnsupportedPrimitive, match=made_by.name):
            missing()
