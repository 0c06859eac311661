"""Changes that weak digests miss, one per row, and equal values with other texts.

Every pair of rows is a range of its own, so a change that the digests or their sum hide would never be found.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import sql
from tests.support.oracle import batches, copy_of, events, net
from tests.support.pg_pool import MORE_SETUP, NOT_NULL, VALUES_OF
from tests.support.pg_source import digest, probe, reading
from tests.support.places import Place
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMS = ("mds", "id_rcs")
TABLE = {
    "f8": "double precision",
    "f4": "real",
    "num": "numeric",
    "fixed": "numeric(12,2)",
    "i8": "bigint",
    "i4": "integer",
    "i2": "smallint",
    "ts": "timestamp",
    "tz": "timestamptz",
    "tm": "time",
    "d": "date",
    "doc": "jsonb",
    "js": "json",
    "arr": "integer[]",
    "a": "text",
    "b": "text",
    "raw": "bytea",
    "yes": "boolean",
    "ci": "citext",
    "pad": "character(5)",
    "span": "interval",
    "texts": "text[]",
    "net": "inet",
    "pair": "pair",
    "bits": "bit varying(9)",
}
# Column, old and new value; or several columns at once.
CHANGES: list[tuple[dict[str, str | None], dict[str, str | None]]] = [
    ({column: old}, {column: new})
    for column, old, new in [
        ("f8", None, "0"),
        ("f8", "0.0", "NaN"),
        ("f8", None, "NaN"),
        ("f8", "1", "1.0000000000000002"),
        ("f8", "NaN", "Infinity"),
        ("f4", None, "0"),
        ("f4", "0", "NaN"),
        ("f4", "16777216", "16777218"),
        ("num", "100.50", "-100.50"),
        ("num", None, "NaN"),
        ("num", None, "0"),
        ("num", "1", "10000"),
        ("num", "NaN", "Infinity"),
        ("num", "1e-20", "2e-20"),
        ("num", "1", "100000000"),
        ("fixed", "100.50", "-100.50"),
        ("fixed", None, "NaN"),
        ("i8", "-1", "4294967295"),
        ("i8", "1", "4294967296"),
        ("i8", None, "0"),
        ("i8", "0", "-1"),
        ("i8", "1", "4294967297"),
        ("i4", "-1", "1"),
        ("i4", None, "0"),
        ("i4", "0", "65536"),
        ("i2", None, "0"),
        ("i2", "-1", "1"),
        ("ts", "2024-01-01 00:00:00", "2024-01-01 01:11:34.967296"),
        ("ts", "infinity", "-infinity"),
        ("ts", None, "2000-01-01"),
        ("tz", "2024-01-01 00:00:00+00", "2024-01-01 01:11:34.967296+00"),
        ("tz", "1969-12-31 22:48:25.032704+00", "1970-01-01+00"),
        ("tm", "00:00:00", "01:11:34.967296"),
        ("tm", "00:00:00", "24:00:00"),
        ("d", None, "2000-01-01"),
        ("d", "infinity", None),
        ("doc", None, "{}"),
        ("doc", "{}", "[]"),
        ("doc", "[null]", "null"),
        ("doc", None, "null"),
        ("doc", "1.0", "1.00"),
        ("js", None, "null"),
        ("js", '{"a":1}', '{"a": 1}'),
        ("js", "{}", "[]"),
        ("arr", "{1,2}", "{{1,2}}"),
        ("arr", None, "{}"),
        ("arr", "{}", "{NULL}"),
        ("arr", "{1,2}", "[0:1]={1,2}"),
        ("arr", "{12}", "{1,2}"),
        ("texts", "{NULL}", '{"NULL"}'),
        ("texts", '{"a,b"}', "{a,b}"),
        ("texts", '{""}', "{}"),
        ("a", None, ""),
        ("a", None, "null"),
        ("a", "", "null"),
        ("a", "NULL", None),
        ("a", "", " "),
        ("a", "a", "a "),
        ("a", "a", "A"),
        ("a", "ä", "a\u0308"),
        ("a", "\\N", None),
        ("a", "0", None),
        ("raw", None, "\\x"),
        ("raw", "\\x00", "\\x0000"),
        ("raw", "\\x", "\\x00"),
        ("yes", None, "false"),
        ("yes", "false", "true"),
        ("ci", "a", "A"),
        ("ci", None, ""),
        ("pad", None, ""),
        ("span", "1 day", "24:00:00"),
        ("span", "1 mon", "30 days"),
        ("span", None, "0"),
        ("net", "10.0.0.0/8", "10.0.0.0/9"),
        ("pair", "(,)", None),
        ("pair", "(1,)", '(1,"")'),
        ("bits", "0", "00"),
        ("bits", None, ""),
    ]
] + [
    ({"a": "a", "b": "bc"}, {"a": "ab", "b": "c"}),
    ({"a": "x", "b": None}, {"a": None, "b": "x"}),
    ({"a": "", "b": None}, {"a": None, "b": ""}),
    ({"i4": "1", "i2": "2"}, {"i4": "2", "i2": "1"}),
    ({"i8": "0", "f8": None}, {"i8": None, "f8": "0"}),
    ({"f8": "0", "f4": None, "num": "0"}, {"f8": None, "f4": "0", "num": None}),
]
SILENT: list[tuple[str, str, str]] = [
    ("num", "1.0", "1.00"),
    ("num", "0", "0.000"),
    ("f8", "0.0", "-0.0"),
    ("f4", "0.0", "-0.0"),
    ("f8", "-0.0", "0.0"),
    ("a", "same", "same"),
    ("doc", '{"a": 1, "b": 2}', '{"b": 2,   "a": 1}'),
    ("net", "10.0.0.1", "10.0.0.1/32"),
    ("arr", "{1,NULL}", "{1,NULL}"),
    ("num", "NaN", "NaN"),
    ("tz", "2024-01-01 00:00:00+00", "2024-01-01 02:00:00+02"),
]


def streams(table: str, **more: Any) -> list[dict[str, Any]]:
    """Return both strategies over a table whose rows 2k and 2k+1 are a range of id_rcs."""
    both: list[Any] = ["mds", {"type": "id_rcs", "rows_per_range": 2}]
    return [
        {"name": n, "table": table, "strategy": s, "baseline": "silent", **more}
        for n, s in zip(STREAMS, both, strict=True)
    ]


def changed_by_row(out: Path, stream: str, ids: str = "id") -> dict[int, list[tuple[str, list[str]]]]:
    """Return (op, changed) of the events of each id."""
    found: dict[int, list[tuple[str, list[str]]]] = {}
    for event in events(out, stream):
        found.setdefault(event["key"][ids], []).append((event["op"], event["changed"]))
    return found


def test_every_change_is_found_and_no_other(database: str, workspace: Path, spark: SparkSession) -> None:
    sql(database, MORE_SETUP)
    columns = ", ".join(f"{n} {t}" for n, t in TABLE.items())
    sql(database, f"CREATE TABLE w (id int PRIMARY KEY, {columns})")
    for i, (old, _) in enumerate(CHANGES):
        put(database, 2 * i, old)
        put(database, 2 * i + 1, {})
    quiet = 2 * len(CHANGES)
    for i, (column, old_value, _) in enumerate(SILENT):
        put(database, quiet + 2 * i, {column: old_value})
        put(database, quiet + 2 * i + 1, {})
    out = workspace / "out/changes"
    with opened(config(database, *streams("public.w")), workspace, spark) as project:
        copies = [copy_of(database, "public.w", ["id"], name=name) for name in STREAMS]
        for name, copy in zip(STREAMS, copies, strict=True):
            project.stream(name).prepare()
            copy.take_baseline()
        # First the values that are no change: nothing may be found or fetched.
        for i, (column, _, new_value) in enumerate(SILENT):
            update(database, quiet + 2 * i, {column: new_value})
        sql(database, "UPDATE w SET a = a, i8 = i8, doc = doc")
        for outcome in poll(project, *STREAMS):
            assert outcome.report is not None
            assert outcome.report.header is None, outcome.stream
            assert (outcome.report.cost.dirty, outcome.report.cost.rows_shipped) == (0, 0), outcome.stream
        for i, (_, new) in enumerate(CHANGES):
            update(database, 2 * i, new)
        poll(project, *STREAMS)
    wanted = {2 * i: [("u", [c for c in TABLE if c in new])] for i, (_, new) in enumerate(CHANGES)}
    for name, copy in zip(STREAMS, copies, strict=True):
        assert changed_by_row(out, name) == wanted, name
        copy.replay(batches(out, name))
        assert copy.differences() == []
    assert net(events(out, "mds")) == net(events(out, "id_rcs"))


def put(url: str, row: int, values: dict[str, str | None]) -> None:
    names = "".join(f", {n}" for n in values)
    places = "".join(f", %s::{TABLE[n]}" for n in values)
    sql(url, f"INSERT INTO w (id{names}) VALUES (%s{places})", [row, *values.values()])


def update(url: str, row: int, values: dict[str, str | None]) -> None:
    sets = ", ".join(f"{n} = %s::{TABLE[n]}" for n in values)
    sql(url, f"UPDATE w SET {sets} WHERE id = %s", [*values.values(), row])


@pytest.mark.campaign
def test_swaps_in_every_type_are_found(database: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    """Rows 2i and 2i+1 swap their values of column i twice: two values, and a value with NULL."""
    sql(database, MORE_SETUP)
    kinds = list(VALUES_OF)
    columns = ", ".join(f"c{i} {t}{' DEFAULT 0' if t == 'needed' else ''}" for i, t in enumerate(kinds))
    needed = {f"c{kinds.index(t)}": value for t, value in (("needed", "7"), ('"Needed.text"', "x"))}
    sql(database, f"CREATE TABLE s (id int PRIMARY KEY, {columns})")
    pairs: list[tuple[int, str | None, str | None]] = []
    with place.connect() as conn:
        for i, sql_type in enumerate(kinds):
            one, two = distinct_values(place, conn, sql_type)
            pairs.append((i, one, two))
            if sql_type not in NOT_NULL:
                pairs.append((i, one, None))
        for n, (i, *values) in enumerate(pairs):
            for row, value in enumerate(values):
                names = {**needed, f"c{i}": value}
                places = ", ".join(f"%s::{kinds[int(c[1:])].split(' COLLATE')[0]}" for c in names)
                statement = f"INSERT INTO s (id, {', '.join(names)}) VALUES (%s, {places})"
                place.run(conn, statement, [2 * n + row, *names.values()])
    out = workspace / "out/changes"
    with opened(config(database, *streams("public.s")), workspace, spark) as project:
        copies = [copy_of(database, "public.s", ["id"], name=name) for name in STREAMS]
        for name, copy in zip(STREAMS, copies, strict=True):
            project.stream(name).prepare()
            copy.take_baseline()
        with place.connect() as conn:
            for n, (i, *_) in enumerate(pairs):
                c, two = f"c{i}", "IN (%s, %s)"
                swap = f"UPDATE s a SET {c} = b.{c} FROM s b WHERE a.id {two} AND b.id {two} AND a.id <> b.id"
                place.run(conn, swap, [2 * n, 2 * n + 1] * 2)
        poll(project, *STREAMS)
    wanted = {2 * n + row: [("u", [f"c{i}"])] for n, (i, *_) in enumerate(pairs) for row in (0, 1)}
    for name, copy in zip(STREAMS, copies, strict=True):
        assert changed_by_row(out, name) == wanted, name
        copy.replay(batches(out, name))
        assert copy.differences() == []
    assert net(events(out, "mds")) == net(events(out, "id_rcs"))


def distinct_values(place: Place, conn: Any, sql_type: str) -> tuple[str, str]:
    """Return two values of a type that differ by their text, the closest ones in the pool."""
    base = sql_type.split(" COLLATE")[0]
    for one, two in zip(VALUES_OF[sql_type], VALUES_OF[sql_type][1:], strict=False):
        query = f"SELECT ROW(%s::{base})::record *<> ROW(%s::{base})::record"
        equal = base in ("numeric", "real", "double precision")
        if equal:
            query = f"SELECT %s::{base} IS DISTINCT FROM %s::{base}"
        if place.run(conn, query, [one, two])[0][0]:
            return one, two
    raise AssertionError(f"the pool has one value of {sql_type} only")


@pytest.mark.campaign
@pytest.mark.parametrize(
    "columns", ["f8, num", "i8, ts, doc", *(pytest.param(c, marks=pytest.mark.campaign) for c in ("i8", "i8, b"))]
)
def test_a_million_rows_have_a_million_digests(database: str, columns: str) -> None:
    """Columns with values that the source's own hashes confuse.

    2^64 digests collide in one of 37 million runs.
    """
    made = {
        "i8": "g * 4294967297",
        "b": "'text ' || (g % 7)",
        "f8": "(g % 1000)::float8 / 7",
        "num": "(g / 1000)::numeric / 16",
        "ts": "timestamp '2024-01-01' + (g % 1000) * interval '4294.967296 s'",
        "doc": "to_jsonb(g % 3)",
    }
    listed = columns.split(", ")
    sql(database, f"CREATE TABLE m ({', '.join(f'{c} {TABLE[c]}' for c in listed)})")
    sql(
        database,
        f"INSERT INTO m SELECT {', '.join(made[c] for c in listed)} FROM generate_series(1::bigint, 1000000) g",
    )
    with reading(database) as session:
        table = probe(session, "m")
        expression = digest("t", *(table.columns[: len(listed)]))
        counted = session.one(
            f"SELECT count(*) AS n, count(DISTINCT d) AS different, count(DISTINCT d >> 32) AS high "
            f"FROM (SELECT {expression} AS d FROM m AS t) AS q".replace("FROM m ", "FROM public.m ")
        )
    assert (counted.n, counted.different) == (1_000_000, 1_000_000)
    assert counted.high > 999_000  # the upper half alone is mixed too
