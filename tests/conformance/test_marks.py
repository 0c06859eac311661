"""Columns as watermarks and delete flags: what each connector makes of them, judged by its server."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest

from qbcd.connectors import CONNECTORS
from qbcd.errors import UnsupportedPrimitive
from tests.support.marking import column_of, compiled, connector_of, plan_of, probed, session
from tests.support.places import Place, over

# Types, each with what a watermark over it is and its step.
CLOCKS = {
    "postgresql": {
        "timestamptz": ("zoned", timedelta(microseconds=1)), "timestamptz(3)": ("zoned", timedelta(milliseconds=1)),
        "timestamp": ("zoneless", timedelta(microseconds=1)), "timestamp(0)": ("zoneless", timedelta(seconds=1)),
        "timestamp(5)": ("zoneless", timedelta(microseconds=10)), "date": ("zoneless", timedelta(days=1)),
    },
    "family": {
        "timestamp(6) NULL": ("zoned", timedelta(microseconds=1)), "timestamp NULL": ("zoned", timedelta(seconds=1)),
        "datetime(6)": ("zoneless", timedelta(microseconds=1)), "datetime": ("zoneless", timedelta(seconds=1)),
        "datetime(3)": ("zoneless", timedelta(milliseconds=1)), "date": ("zoneless", timedelta(days=1)),
    },
}  # fmt: skip
COUNTERS = {
    "postgresql": ["smallint", "integer", "bigint", "numeric(12)", "numeric(38,0)"],
    "family": ["tinyint", "mediumint", "int", "int unsigned", "bigint unsigned", "decimal(30)"],
}
NEITHER = {
    "postgresql": ["text", "time", "numeric(9,2)", "numeric", "interval", "real", "boolean", "uuid", "timestamptz[]"],
    "family": ["varchar(30)", "time(3)", "decimal(9,2)", "year", "float", "bit(1)", "enum('a')"],
}
DAY = "2031-02-03"


def family(place: Place) -> str:
    return "postgresql" if place.kind == "postgresql" else "family"


def made(place: Place, types: list[str]) -> list[str]:
    """Table t with a column c0, c1 .. of each type; gives their names."""
    columns = [f"c{i}" for i in range(len(types))]
    listed = "".join(f", {column} {sql_type}" for column, sql_type in zip(columns, types, strict=True))
    place.sql(f"CREATE TABLE t (k integer PRIMARY KEY{listed})")
    return columns


@over()
def test_which_types_are_watermarks(place: Place) -> None:
    clocks, counters, neither = CLOCKS[family(place)], COUNTERS[family(place)], NEITHER[family(place)]
    names = made(place, [*clocks, *counters, *neither])
    table, connector = probed(place), connector_of(place)
    columns = [column_of(table, name) for name in names]
    kinds = [connector.mark_kind(column) for column in columns]
    assert kinds == [kind for kind, _ in clocks.values()] + ["counter"] * len(counters) + [""] * len(neither)
    steps = [connector.mark_unit(column) for column in columns[: len(clocks) + len(counters)]]
    assert steps == [step for _, step in clocks.values()] + [timedelta(0)] * len(counters)


# -- watermarks of clocks ----------------------------------------------------------------------------------------------
NEAR = ["11:59:59.999999", "12:00:00.000000", "12:00:00.000001", "12:00:00.500000", "12:00:01.000000"]
MARKS = [*NEAR, "00:00:00.000000", "00:00:00.000001", "23:59:59.999999"]


def moment(value: Any, kind: str) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    assert isinstance(value, date)
    return datetime(value.year, value.month, value.day)


@over()
def test_a_watermark_of_a_clock_is_exact_whatever_the_columns_precision(place: Place) -> None:
    """Rows are at or past a mark exactly where their stored values are, and the text of a value is the value again."""
    names = made(place, list(CLOCKS[family(place)]))
    for k, near in enumerate([*NEAR, "00:00:00.000000"]):
        zone = "+00" if place.kind == "postgresql" else ""
        values = ", ".join([f"'{DAY} {near}{zone}'"] * len(names))
        place.sql(f"SET sql_mode = 'STRICT_ALL_TABLES'; INSERT INTO t VALUES ({k}, {values})"
                  if family(place) == "family" else f"SET TimeZone = 'UTC'; INSERT INTO t VALUES ({k}, {values})")  # fmt: skip
    plan, connector = plan_of(probed(place)), connector_of(place)
    with session(place) as reading:
        for name in names:
            column = column_of(plan.table, name)
            stored = {r[0]: moment(r[1], name) for r in reading.rows(f"SELECT k, {name} FROM {place.table('t')}")}
            read = compiled(place, plan, f"SELECT k, QBCD_MARK_TEXT('{name}', {name}) FROM {{t}}")
            texts = {row[0]: row[1] for row in reading.rows(read)}
            assert {k: datetime.fromisoformat(text) for k, text in texts.items()} == stored, column.sql_type
            assert {len(text) for text in texts.values()} == {26}
            for text in [f"{DAY} {near}" for near in MARKS]:
                query = f"SELECT k FROM {{t}} WHERE {name} >= QBCD_MARK('{name}', :mark)"
                found = {row[0] for row in reading.rows(compiled(place, plan, query, mark=text))}
                at = datetime.fromisoformat(text)
                assert found == {k for k, value in stored.items() if value >= at}, (column.sql_type, text)
            for k, text in texts.items():
                query = f"SELECT k FROM {{t}} WHERE {name} = QBCD_MARK('{name}', :mark)"
                found = {row[0] for row in reading.rows(compiled(place, plan, query, mark=text))}
                assert found == {j for j, value in stored.items() if value == stored[k]}
            assert connector.mark_kind(column)


SESSION_ZONE = {"postgresql": "SET TimeZone = 'Asia/Kathmandu'", "family": "SET time_zone = '+05:45'"}


@over()
def test_no_session_zone_moves_a_watermark(place: Place) -> None:
    zoned = "timestamptz" if place.kind == "postgresql" else "timestamp(6)"
    names = made(place, [zoned, "timestamp" if place.kind == "postgresql" else "datetime(6)"])
    zone = "+00" if place.kind == "postgresql" else ""
    place.sql(f"INSERT INTO t VALUES (1, '{DAY} 12:00:00.25{zone}', '{DAY} 12:00:00.25')")
    plan = plan_of(probed(place))
    for pinned in (True, False):
        with session(place) as reading:
            if not pinned:
                reading.run(SESSION_ZONE[family(place)])
            for name in names:
                text = reading.one(compiled(place, plan, f"SELECT QBCD_MARK_TEXT('{name}', {name}) AS x FROM {{t}}")).x
                assert text == f"{DAY} 12:00:00.250000"
                query = f"SELECT k FROM {{t}} WHERE {name} = QBCD_MARK('{name}', :mark)"
                assert len(reading.rows(compiled(place, plan, query, mark=text))) == 1, (name, pinned)


@over()
def test_values_no_calendar_knows_are_texts_and_values_again(place: Place) -> None:
    """NULL too; and a purge by such a text finds its row."""
    if place.kind == "postgresql":
        names = made(place, ["timestamptz", "timestamp", "date"])
        odd = ["infinity", "-infinity", "0044-03-15 BC", "20000-01-01"]
        place.sql("SET TimeZone = 'UTC'; " + "; ".join(
            f"INSERT INTO t VALUES ({k}, '{v}', '{v}', '{v}')" for k, v in enumerate(odd)) + "; INSERT INTO t (k) VALUES (9)")  # fmt: skip
    else:
        names = made(place, ["datetime(6)", "date"])
        odd = ["0000-00-00", "2031-02-30", "9999-12-31", "0001-01-01"]
        place.sql("; ".join(f"INSERT INTO t VALUES ({k}, '{v}', '{v}')" for k, v in enumerate(odd))
                  + "; INSERT INTO t (k) VALUES (9)")  # fmt: skip
    plan = plan_of(probed(place))
    with session(place) as reading:
        for name in names:
            read = compiled(place, plan, f"SELECT k, QBCD_MARK_TEXT('{name}', {name}) FROM {{t}} ORDER BY k")
            texts = {row[0]: row[1] for row in reading.rows(read)}
            assert texts.pop(9) is None
            for k, text in texts.items():
                query = f"SELECT k FROM {{t}} WHERE {name} = QBCD_MARK('{name}', :mark)"
                assert [tuple(r) for r in reading.rows(compiled(place, plan, query, mark=text))] == [(k,)], (name, text)


# -- watermarks of counters --------------------------------------------------------------------------------------------
@over()
def test_a_watermark_of_a_counter_is_exact_at_the_ends_of_its_type(place: Place) -> None:
    types = COUNTERS[family(place)]
    names = made(place, types)
    ends = {
        "smallint": 2**15 - 1, "integer": 2**31 - 1, "bigint": 2**63 - 1, "numeric(12)": 10**12 - 1,
        "numeric(38,0)": 10**38 - 1, "tinyint": 127, "mediumint": 2**23 - 1, "int": 2**31 - 1, "int unsigned": 2**32 - 1,
        "bigint unsigned": 2**64 - 1, "decimal(30)": 10**30 - 1,
    }  # fmt: skip
    for k in (0, 1):
        place.sql(f"INSERT INTO t VALUES ({k}, {', '.join(str(ends[t] - k) for t in types)})")
    place.sql("INSERT INTO t (k) VALUES (2)")
    plan = plan_of(probed(place))
    with session(place) as reading:
        for name, sql_type in zip(names, types, strict=True):
            read = compiled(place, plan, f"SELECT QBCD_MARK_TEXT('{name}', MAX({name})) AS x FROM {{t}}")
            text = reading.one(read).x
            assert text == str(ends[sql_type])
            query = f"SELECT k FROM {{t}} WHERE {name} >= QBCD_MARK('{name}', :mark) ORDER BY k"
            assert [r[0] for r in reading.rows(compiled(place, plan, query, mark=text))] == [0]
            assert [r[0] for r in reading.rows(compiled(place, plan, query, mark=str(int(text) - 1)))] == [0, 1]
            assert reading.rows(compiled(place, plan, query.replace(">=", ">"), mark=text)) == []


@over()
def test_the_columns_index_answers_a_watermark(place: Place) -> None:
    types = [*CLOCKS[family(place)], *COUNTERS[family(place)]]
    names = made(place, types)
    for name in names:
        place.sql(f"CREATE INDEX i_{name} ON t ({name})")
    if place.kind == "postgresql":
        listed = ", ".join("TIMESTAMP '2031-01-01' + g * interval '1 day'" if i < 6 else "mod(g, 30000)"
                           for i in range(len(names)))  # fmt: skip
        place.sql(f"INSERT INTO t SELECT g, {listed} FROM generate_series(1, 20000) g; ANALYZE t")
    else:
        rows = ", ".join(f"({g}, {', '.join([repr(str(datetime(2031, 1, 1) + timedelta(hours=g)))] * 6)}"
                         f"{f', {g % 120}' + f', {g}' * 5})" for g in range(3000))  # fmt: skip
        place.sql(f"INSERT INTO t VALUES {rows}; ANALYZE TABLE t")
    plan = plan_of(probed(place))
    with session(place) as reading:
        for i, name in enumerate(names):
            clock = i < len(CLOCKS[family(place)])
            highest = reading.one(
                compiled(place, plan, f"SELECT QBCD_MARK_TEXT('{name}', MAX({name})) AS x FROM {{t}}")
            )
            one = compiled(place, plan, f"SELECT k FROM {{t}} WHERE {name} >= QBCD_MARK('{name}', :m)", m=highest.x)
            explained = reading.connection.exec_driver_sql(f"EXPLAIN {one.sql}", dict(one.params)).mappings().all()
            used = str([row.get("key", row.get("QUERY PLAN")) for row in explained])
            assert f"i_{name}" in used, (name, clock, explained)


# -- counters of the catalog's -----------------------------------------------------------------------------------------
def counters(place: Place, table: str = "t") -> dict[str, tuple[bool, str]]:
    described, connector = probed(place, table), connector_of(place)
    with session(place) as reading:
        found = {c.name: connector.counter_problem(reading.connection, described, c) for c in described.columns}
    return {name: (counter.vouched, counter.refused) for name, counter in found.items()}


SEQUENCES = """
CREATE SEQUENCE plain; CREATE SEQUENCE cached CACHE 20; CREATE SEQUENCE round CYCLE;
CREATE SEQUENCE "do""wn" INCREMENT -1;
"""


@over()
def test_what_vouches_for_a_counter(place: Place) -> None:
    if place.kind == "postgresql":
        place.sql(
            SEQUENCES
            + """
            CREATE TABLE t (k integer PRIMARY KEY, "de%f""ault" bigint DEFAULT nextval('plain'), identity bigint
              GENERATED ALWAYS AS IDENTITY, serial serial, same bigint DEFAULT nextval('plain'),
              bare bigint, computed bigint DEFAULT nextval('plain') % 10, constant bigint DEFAULT 7)"""
        )
        vouched = ['de%f"ault', "identity", "serial", "same"]
    else:
        place.sql("CREATE TABLE t (k bigint PRIMARY KEY AUTO_INCREMENT, bare bigint, constant bigint DEFAULT 7)")
        vouched = ["k"]
    found = counters(place)
    assert [name for name, (yes, _) in found.items() if yes] == vouched
    assert {why for _, why in found.values()} == {""}


@over()
def test_what_speaks_against_a_counter(place: Place) -> None:
    if place.kind == "mysql":
        pytest.skip("it has no sequences")
    place.sql(SEQUENCES.replace('"', "`").replace("``", "") if place.kind == "mariadb" else SEQUENCES)
    down = place.quote('do"wn' if place.kind == "postgresql" else "down")
    words = "nextval('{}')" if place.kind == "postgresql" else "nextval({})"
    place.sql(f"""CREATE TABLE t (k integer PRIMARY KEY, plain bigint DEFAULT {words.format("plain")},
      cached bigint DEFAULT {words.format("cached")}, round bigint DEFAULT {words.format("round")},
      down bigint DEFAULT {words.format(down)})""")
    found = counters(place)
    assert found["plain"] == (True, "")
    if place.kind == "postgresql":
        assert found["cached"] == (False, "sequence cached, which numbers column cached, caches 20 numbers a session, "
                                          "which then come late")  # fmt: skip
    else:
        assert found["cached"] == (True, "")  # all sessions take from what the server cached
    assert not found["round"][0]
    assert "begins again at its end" in found["round"][1]
    assert not found["down"][0]
    assert "counts down, by 1" in found["down"][1]


def test_a_partition_may_not_number_by_itself(place: Place) -> None:
    place.sql("""CREATE TABLE p (k integer, n bigint DEFAULT nextval('s0')) PARTITION BY LIST (k)""".join(
        ["CREATE SEQUENCE s0; CREATE SEQUENCE s1; ", "; CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)"]))  # fmt: skip
    assert counters(place, "p")["n"] == (True, "")
    place.sql("CREATE TABLE p2 (k integer, n bigint); ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2)")
    assert counters(place, "p")["n"] == (True, "")
    place.sql("ALTER TABLE p1 ALTER n SET DEFAULT nextval('s1')")
    assert counters(place, "p")["n"] == (False, "")
    place.sql("ALTER SEQUENCE s1 CACHE 5")
    assert "caches 5 numbers" in counters(place, "p")["n"][1]
    place.sql("CREATE VIEW v AS SELECT * FROM t0".replace("t0", "p2"))
    assert counters(place, "v")["n"] == (False, "")


# -- delete flags ------------------------------------------------------------------------------------------------------
FLAGS: dict[str, list[tuple[str, Any, list[str], list[str]]]] = {  # type, literal, says deleted, does not
    "postgresql": [
        ("boolean", True, ["true"], ["false"]), ("boolean", False, ["false"], ["true"]),
        ("smallint", 1, ["1"], ["0", "2"]), ("bigint", -1, ["-1"], ["1"]), ("numeric(3)", 2, ["2"], ["1"]),
        ("text", "T", ["T"], ["t", "", "T "]), ("varchar(3)", "it's", [], ["T"]), ("char(1)", "T", ["T"], ["F"]),
        ("char(3)", "T", ["T", "T  "], ["F"]), ('text COLLATE "C"', "T", ["T"], ["t"]),
        ("public.citext", "t", ["T", "t"], ["F"]), ("text", "%s\\", ["%s\\"], ["%%s\\"]),
    ],
    "family": [
        ("tinyint(1)", True, ["1", "2"], ["0"]), ("tinyint(1)", False, ["0"], ["1"]), ("bit(1)", True, ["1"], ["0"]),
        ("int", 1, ["1"], ["0", "2"]), ("decimal(3)", -2, ["-2"], ["2"]), ("char(1)", "T", ["T", "t"], ["F"]),
        ("varchar(9) COLLATE utf8mb4_bin", "T", ["T"], ["t"]), ("enum('T','F')", "T", ["T"], ["F"]),
        ("varchar(9) CHARACTER SET latin1", "ü", ["ü"], ["u "]), ("text", "%s\\'{0}", ["%s\\'{0}"], ["x"]),
    ],
}  # fmt: skip


@over()
def test_a_flag_says_deleted_by_its_literal_and_null_does_not(place: Place) -> None:
    if place.kind == "postgresql":
        place.sql("CREATE EXTENSION citext")
    cases = FLAGS[family(place)]
    for number, (sql_type, literal, yes, no) in enumerate(cases):
        place.sql(f"CREATE TABLE f{number} (k integer PRIMARY KEY, {place.quote('fl%a')} {sql_type})")
        longest = 3 if literal == "it's" else 99
        for k, text in enumerate([*yes, *no, None]):
            value: Any = None if text is None else text
            if value is not None and sql_type.startswith("bit"):
                value = int(value)
            place.sql(f"INSERT INTO f{number} VALUES (%s, %s)", [k, value])
        table, connector = probed(place, f"f{number}"), connector_of(place)
        column = column_of(table, "fl%a")
        if len(str(literal)) > longest:
            assert "cannot hold" in connector.flag_problem(column, literal)
            continue
        assert connector.flag_problem(column, literal) == ""
        plan = plan_of(table, deleted_value=literal)
        with session(place) as reading:
            query = "SELECT k, CASE WHEN QBCD_FLAGGED('fl%a', t.\"fl%a\") THEN 1 ELSE 0 END AS d, " \
                    "CASE WHEN NOT QBCD_FLAGGED('fl%a', \"fl%a\") THEN 0 ELSE 1 END AS e FROM {t} AS t"  # fmt: skip
            for params in ({}, {"one": 1}):
                said = compiled(place, plan, query + (" WHERE 1 = :one" if params else ""), **params)
                rows = {row[0]: (row[1], row[2]) for row in reading.rows(said)}
                assert rows == {k: (int(k < len(yes)),) * 2 for k in range(len(yes) + len(no) + 1)}, sql_type


WRONG: dict[str, list[tuple[str, Any, str]]] = {
    "postgresql": [
        ("boolean", "T", "true or false"), ("boolean", 1, "true or false"), ("integer", True, "whole number"),
        ("integer", "1", "whole number"), ("text", True, "says a text"), ("text", 1, "says a text"),
        ("date", True, "no type of a delete flag"), ("real", 1, "no type of a delete flag"),
        ("char(1)", "yes", "cannot hold 'yes'"), ("text", "a\0", "cannot hold"),
    ],
    "family": [
        ("int", True, "whole number"), ("tinyint(1)", "T", "whole number"), ("varchar(3)", 1, "says a text"),
        ("datetime", True, "no type of a delete flag"), ("char(1)", "yes", "cannot hold 'yes'"),
        ("double", 1, "no type of a delete flag"),
    ],
}  # fmt: skip


@over()
def test_a_flag_of_another_type_than_its_literal_is_refused(place: Place) -> None:
    cases = WRONG[family(place)]
    names = made(place, [sql_type for sql_type, _, _ in cases])
    table, connector = probed(place), connector_of(place)
    for name, (sql_type, literal, why) in zip(names, cases, strict=True):
        column = column_of(table, name)
        assert why in connector.flag_problem(column, literal), sql_type
        with pytest.raises(ValueError, match="delete flag"):
            compiled(place, plan_of(table, deleted_value=literal), f"SELECT QBCD_FLAGGED('{name}', {name}) FROM {{t}}")


@pytest.mark.parametrize("kind", sorted(set(CONNECTORS) - {"postgresql"}))
def test_versions_of_the_systems_own_are_refused_by_name(kind: str) -> None:
    made_by = CONNECTORS[kind]()
    for missing in (
        lambda: made_by.system_mark(None),  # type: ignore[arg-type]
        lambda: made_by.system_mark_problem(None, "1"),  # type: ignore[arg-type]
        lambda: made_by.changed_since_mark(None),  # type: ignore[arg-type]
    ):
        with pytest.raises(UnsupportedPrimitive, match=made_by.name):
            missing()
