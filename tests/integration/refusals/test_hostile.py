"""Hostile names and session settings: nothing in them is executed, and they make no event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import psycopg2
import pytest

import qbcd
from qbcd.demo.server import EmbeddedPostgres
from tests.support import connect
from tests.support.oracle import batches, copy_of
from tests.support.project import config
from tests.support.refusals import STRATEGIES, Place, new_place, new_role, polled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = [
    'x"; DROP TABLE public.canary; --',
    "o'clock",
    "%(epoch)s %s %%",
    "{{ 7 * 7 }} {% raw %}",
    "select",
    "ümläut Ж 数",
    "a.b",
    "b_a",
    "a b",
    "`tick` \\ $$ $1",
    ":epoch",
    "epoch",
    "line\nbreak",
    "K" * 63,
    "é" * 31,
    "QBCD_DIGEST()",
    "q",
]
KEY = ['k"; DROP TABLE public.canary; --', "ordinal"]
TABLE = ('s"; DROP TABLE public.canary; --', "t'; DROP TABLE public.canary; --")


@pytest.fixture(scope="module")
def place(server: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with new_place(server, tmp_path_factory.mktemp("hostile") / "project") as made:
        made.sql("CREATE TABLE canary (id int); INSERT INTO canary VALUES (1)")
        yield made


def quoted(place: Place, name: str) -> str:
    with connect(place.admin) as conn:
        return str(psycopg2.extensions.quote_ident(name, conn))


def test_hostile_names_are_names_and_nothing_else(place: Place, spark: SparkSession) -> None:
    table = ".".join(quoted(place, part) for part in TABLE)
    key, columns = ([quoted(place, n) for n in names] for names in (KEY, NAMES))
    made = ", ".join([f"{key[0]} text, {key[1]} int", *(f"{c} text" for c in columns)])
    values = ", ".join(["i"] * len(NAMES))
    place.sql(f"CREATE SCHEMA {quoted(place, TABLE[0])}; CREATE TABLE {table} ({made}, PRIMARY KEY ({', '.join(key)}))")
    fill = f"INSERT INTO {table} SELECT 'k''\" ' || i, i, {values} FROM generate_series(%s, %s) i"
    place.sql(fill, [1, 12])
    where = f"{columns[0]} IS NOT NULL AND {columns[2]} NOT LIKE '%(epoch)s;--'"
    tables = [{"name": s, "table": table, "strategy": s, "where": where} for s in STRATEGIES]
    with qbcd.Project.from_dict(config(place.admin, *tables), spark=spark, base_dir=place.folder) as project:
        copy = copy_of(place.admin, table, KEY)
        for stream in STRATEGIES:
            project.stream(stream).prepare()
            assert polled(project, stream) == []
        copy.take_baseline()
        place.sql(fill, [13, 14])
        place.sql(f"DELETE FROM {table} WHERE {key[1]} = 1; UPDATE {table} SET {columns[3]} = 'n' WHERE {key[1]} = 2")
        for stream in STRATEGIES:
            assert polled(project, stream) == [{"d": 1, "u": 1, "c": 2}]
            assert project.stream(stream).verify() == []
        found = [batches(place.folder / "out" / "changes", stream) for stream in STRATEGIES]
    update = next(event for event in found[1][0][1] if event["op"] == "u")
    assert list(update["after"]) == [*KEY, *NAMES]
    assert update["changed"] == [NAMES[3]]
    copy.replay(found[1])
    assert copy.differences() == []
    assert place.sql("SELECT * FROM canary") == [(1,)]


SETTINGS = [
    "DateStyle = 'SQL, DMY'",
    "TimeZone = 'Asia/Kathmandu'",
    "extra_float_digits = -15",
    "bytea_output = 'escape'",
    "IntervalStyle = 'sql_standard'",
    "search_path = evil, public",
    "statement_timeout = '1ms'",
    "row_security = on",
    "standard_conforming_strings = off",
    "transform_null_equals = on",
    "xmlbinary = 'hex'",
    "xmloption = document",
    "quote_all_identifiers = on",
    "client_encoding = 'LATIN1'",
    "default_transaction_read_only = on",
    "default_transaction_isolation = 'serializable'",
    "default_transaction_deferrable = on",
    "array_nulls = off",
    "lock_timeout = '1ms'",
    "idle_in_transaction_session_timeout = '1ms'",
    "escape_string_warning = off",
    "enable_seqscan = off",
    "enable_mergejoin = off",
    "enable_hashjoin = off",
    "backslash_quote = on",
    "synchronous_commit = off",
    "gin_fuzzy_search_limit = 1",
    "lc_monetary = 'C'",
    "timezone_abbreviations = 'India'",
]
VALUES = """
CREATE TABLE typed (id int PRIMARY KEY, f4 real, f8 double precision, ts timestamp, tz timestamptz, d date, t time,
  tt timetz, b bytea, i interval, n numeric, m money, a text[], fa float8[], tza timestamptz[], j jsonb, r tstzrange,
  s text, e daterange, bit varbit, ip inet);
INSERT INTO typed SELECT i, 1/3.0 + i, 1e-7/3 + i, '2021-03-04 05:06:07.123456', '2021-07-04 05:06:07.123456+02',
  '2021-03-04', '05:06:07.1', '05:06:07.1+05', E'\\\\x00ff27', '1 year -2 days 03:04:05.6', 100.50, 12.34,
  ARRAY['a', NULL, 'NULL'], ARRAY[1/3.0::float8, 'NaN'], ARRAY['2021-07-04 00:00+02'::timestamptz], '{"a": [1.10]}',
  '[2021-01-01 00:00+00,)', 'ümläut \\ ''', '[2021-01-01,2021-02-01)', '1010', '10.0.0.1/8'
FROM generate_series(1, 30) i;
-- what a wrong search_path would find first
CREATE SCHEMA evil; CREATE TABLE evil.typed AS SELECT * FROM public.typed WHERE id < 3;
CREATE FUNCTION evil.md5(text) RETURNS text LANGUAGE sql AS $$ SELECT random()::text $$;
CREATE FUNCTION evil.count(text) RETURNS bigint LANGUAGE sql AS $$ SELECT 7::bigint $$;
CREATE FUNCTION evil.eq(int, int) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$;
CREATE OPERATOR evil.= (LEFTARG = int, RIGHTARG = int, FUNCTION = evil.eq);
"""


@pytest.mark.campaign
def test_hostile_settings_of_the_role_make_no_event(place: Place, spark: SparkSession) -> None:
    place.sql(VALUES)
    with new_role(place) as role:
        place.sql(f"GRANT SELECT ON typed TO {role}; GRANT CREATE ON DATABASE {place.database} TO {role}")
        place.sql(f"GRANT USAGE ON SCHEMA evil TO {role}")
        tables = [{"name": f"typed_{s}", "table": "public.typed", "strategy": s} for s in STRATEGIES]
        written = config(place.url_as(role), *tables, state="sqlite:///typed.db", source={"schema": "qbcd_typed"})
        with qbcd.Project.from_dict(written, spark=spark, base_dir=place.folder) as project:
            names = [table["name"] for table in tables]
            for name in names:
                project.stream(name).prepare()
            for half in (SETTINGS[::2], SETTINGS[1::2], SETTINGS):
                place.sql(f"ALTER ROLE {role} RESET ALL")
                place.sql("; ".join(f"ALTER ROLE {role} SET {setting}" for setting in half))
                for name in names:
                    assert polled(project, name) == [], half
            # Spark's sessions have the same settings
            place.sql("UPDATE typed SET s = 'changed' WHERE id = 3")
            for name in names:
                assert polled(project, name) == [{"u": 1}]
                assert project.stream(name).verify() == []
            images = [
                [(event["before"], event["after"], event["changed"]) for _, found in batch for event in found]
                for batch in (batches(place.folder / "out" / "changes", name) for name in names)
            ]
            assert images[0] == images[1]
            assert images[0][0][2] == ["s"]
