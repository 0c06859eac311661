"""Key ranges of PostgreSQL: bounds, coverage, use of the index, and identity as equality."""

from __future__ import annotations

import pytest

from qbcd.model import Column, KeyRange, Table
from tests.support import sql
from tests.support.pg_source import PG, load_values, named, probe, reading, text
from tests.support.pg_values import SETUP

KEYS = {
    "bigint": "k bigint",
    "counter": "k counter",
    "text": "k text",
    "c": 'k text COLLATE "C"',
    "posix": 'k text COLLATE "POSIX"',
    "citext": "k citext",
    "char": "k char(5)",
    "bpchar": "k bpchar",
    "qchar": 'k "char"',
    "name": "k name",
    "varchar": "k varchar(20)",
    "numeric": "k numeric",
    "cents": "k cents",
    "float8": "k float8",
    "float4": "k float4",
    "date": "k date",
    "time": "k time",
    "timetz": "k timetz",
    "timestamp": "k timestamp",
    "timestamptz": "k timestamptz",
    "uuid": "k uuid",
    "bytea": "k bytea",
    "inet": "k inet",
    "enum": 'k "Mo""od"',
    "boolean": "k boolean",
    "money": "k money",
    "macaddr": "k macaddr",
    "bit": "k bit(4)",
    "lsn": "k pg_lsn",
    "xid8": "k xid8",
    "oid": "k oid",
}
_TYPE_OF = {
    "c": 'text COLLATE "C"',
    "posix": "text",
    "char": "character(5)",
    "qchar": '"char"',
    "varchar": "varchar(20)",
    "float8": "double precision",
    "float4": "real",
    "enum": '"Mo""od"',
    "bit": "bit(4)",
    "lsn": "pg_lsn",
}


def ranges_of(bounds: list[tuple[str, ...]]) -> list[KeyRange]:
    return [KeyRange(i + 10, lo, hi) for i, (lo, hi) in enumerate(zip([None, *bounds], [*bounds, None], strict=True))]


def key_of(table: Table) -> list[Column]:
    found = [table.column(name) for name in table.primary_key]
    assert all(found)
    return [c for c in found if c is not None]


def check_cover(database: str, name: str, rows_per_range: int) -> None:
    """Check that ranges partition the rows in the server's order, by each way to count."""
    with reading(database) as session:
        key = key_of(probe(session, name))
        assert [PG.catalog.key_problem(c) for c in key] == [""] * len(key)
        names = ", ".join(PG.quote(c.name) for c in key)
        relation = f"(SELECT {names}, ctid AS place FROM public.{PG.quote(name)})"
        bounds = [tuple(r) for r in session.rows(PG.ranges.range_bounds(relation, key, rows_per_range=rows_per_range))]
        every = ranges_of(bounds)
        order = [r.place for r in session.rows(f"SELECT place FROM {relation} AS t ORDER BY {names}")]
        assert len(bounds) == (len(order) - 1) // rows_per_range
        found = session.rows(PG.ranges.per_range(["t.place AS place"], relation, key, every, aggregate=False))
        counted = session.rows(PG.ranges.per_range(["count(*) AS n"], relation, key, every, aggregate=True))
    wanted = [(10 + i // rows_per_range, place) for i, place in enumerate(order)]
    assert sorted((r.range_id, r.place) for r in found) == sorted(wanted)
    assert {r.range_id: r.n for r in counted} == {r.range_id: sum(i == r.range_id for i, _ in wanted) for r in every}


@pytest.fixture
def keyed(database: str) -> str:
    load_values(database)
    return database


def test_every_key_type(keyed: str) -> None:
    for name, definition in KEYS.items():
        sql_type = _TYPE_OF.get(name, definition.split(" ", 1)[1])
        source = next(iter(load_names(keyed, sql_type)))
        distinct = f"SELECT DISTINCT ON (x) x FROM {source} WHERE x IS NOT NULL"
        sql(keyed, f"CREATE TABLE k_{name} ({definition} PRIMARY KEY); INSERT INTO k_{name} {distinct}")
        for rows_per_range in (1, 3, 1000):
            check_cover(keyed, f"k_{name}", rows_per_range)


def load_names(url: str, sql_type: str) -> list[str]:
    from tests.support.pg_values import VALUES

    return [f"v{i}" for i, t in enumerate(VALUES) if t == sql_type]


def test_composite_keys(database: str) -> None:
    sql(database, SETUP)
    for i, key in enumerate(
        [
            "a int, b text",
            "a text, b int",
            "a timestamptz, b text, c int",
            "a citext, b int",
            "a int, b citext, c text",
            'a text COLLATE "C", b text',
            "a numeric, b float8",
            '"a""; drop table x; --" int, "ü %s" text',
        ]
    ):
        names = [part.rsplit(" COLLATE", 1)[0].rsplit(" ", 1)[0].strip() for part in key.split(", ")]
        kinds = [part.rsplit(" COLLATE", 1)[0].rsplit(" ", 1)[1] for part in key.split(", ")]
        made = {
            "int": "(g / 7)",
            "text": "chr(33 + (g * 31) % 90) || g % 5",
            "citext": "chr(65 + g % 26) || g % 11",
            "numeric": "g / 8.0",
            "timestamptz": "to_timestamp(g / 9)",
            "float8": "(g % 13) * 1.5",
        }
        columns = ", ".join(names)
        values = ", ".join(made[k] for k in kinds)
        sql(database, f"CREATE TABLE c{i} ({key}, PRIMARY KEY ({columns}))")
        sql(database, f"INSERT INTO c{i} SELECT {values} FROM generate_series(1, 300) g ON CONFLICT DO NOTHING")
        for rows_per_range in (1, 17):
            check_cover(database, f"c{i}", rows_per_range)


def test_rows_beyond_the_bounds_and_empty_ranges(database: str) -> None:
    sql(database, "CREATE TABLE t (k int PRIMARY KEY); INSERT INTO t VALUES (-2147483648), (5), (15), (2147483647)")
    every = ranges_of([("0",), ("10",), ("11",), ("12",)])
    with reading(database) as session:
        key = key_of(probe(session, "t"))
        counted = session.rows(
            PG.ranges.per_range(["count(*) AS n", "sum(t.k) AS s"], "public.t", key, every, aggregate=True)
        )
        lone = session.rows(PG.ranges.per_range(["count(*) AS n"], "public.t", key, ranges_of([]), aggregate=True))
        one = session.rows(PG.ranges.per_range(["t.k AS k"], "public.t", key, every[1:2], aggregate=False))
    assert sorted((r.range_id, r.n, r.s) for r in counted) == [
        (10, 1, -2147483648),
        (11, 1, 5),
        (12, 0, None),
        (13, 0, None),
        (14, 2, 2147483662),
    ]
    assert [(r.range_id, r.n) for r in lone] == [(10, 4)]
    assert [(r.range_id, r.k) for r in one] == [(11, 5)]


def test_ranges_that_make_no_sense_are_refused(database: str) -> None:
    sql(database, "CREATE TABLE t (k int PRIMARY KEY)")
    with reading(database) as session:
        key = key_of(probe(session, "t"))
    with pytest.raises(ValueError, match="no ranges"):
        PG.ranges.per_range(["count(*)"], "t", key, [], aggregate=True)
    with pytest.raises(ValueError, match="twice"):
        PG.ranges.per_range(["count(*)"], "t", key, [KeyRange(1, None, None), KeyRange(1, None, None)], aggregate=True)
    with pytest.raises(ValueError, match="bound of 2 values"):
        PG.ranges.per_range(["count(*)"], "t", key, [KeyRange(1, ("1", "2"), None)], aggregate=True)
    with pytest.raises(ValueError, match="one row"):
        PG.ranges.range_bounds("t", key, rows_per_range=0)
    with pytest.raises(ValueError, match="NUL"):
        PG.ranges.bound(key[0], "a\x00b")


@pytest.mark.parametrize("key", ["id", "a, b"])
def test_many_ranges_use_the_index_and_spark_predicates_prune(database: str, key: str) -> None:
    sql(
        database,
        "CREATE TABLE big AS SELECT g AS id, g / 100 AS a, 'b' || g % 100 AS b, repeat('x', 60) AS f "
        "FROM generate_series(1, 200000) g",
    )
    sql(database, f"ALTER TABLE big ADD PRIMARY KEY ({key})")
    sql(database, "VACUUM ANALYZE big")
    with reading(database) as session:
        session.run("SET LOCAL max_parallel_workers_per_gather = 0")
        columns = key_of(probe(session, "big"))
        relation = f"(SELECT {key}, length(f) AS n FROM public.big WHERE (f IS NOT NULL))"
        bounds = [tuple(r) for r in session.rows(PG.ranges.range_bounds(relation, columns, rows_per_range=400))]
        every = ranges_of(bounds)
        assert len(every) == 500
        statement = PG.ranges.per_range(["count(*) AS n", "sum(t.n) AS s"], relation, columns, every, aggregate=True)
        assert sum(r.n for r in session.rows(statement)) == 200_000
        plan = "\n".join(r[0] for r in session.rows(f"EXPLAIN {statement}"))
        rows = PG.ranges.per_range(["t.n AS n"], relation, columns, every, aggregate=False)
        pruned = f"SELECT * FROM ({rows}\n) AS q WHERE range_id >= 100 AND range_id < 103"
        found = session.rows(f"EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, BUFFERS) {pruned}")
        assert len(session.rows(pruned)) == 1200
    assert "Seq Scan" not in plan
    assert "Index Cond" in plan
    pages = next(line for line in (r[0] for r in found) if "Buffers" in line)
    assert sum(int(n.split("=")[1]) for n in pages.split() if n.startswith(("hit=", "read="))) < 100


def test_aggregates_that_share_a_column_compute_it_once(database: str) -> None:
    sql(database, "CREATE TABLE t (k int PRIMARY KEY)")
    with reading(database) as session:
        key = key_of(probe(session, "t"))
        relation = "(SELECT k, hashint4extended(k, 1) AS h FROM public.t)"
        every = ranges_of([("10",), ("20",)])
        statement = PG.ranges.per_range(["count(t.h) AS n", "sum(t.h) AS s"], relation, key, every, aggregate=True)
        plan = "\n".join(r[0] for r in session.rows(f"EXPLAIN (VERBOSE, COSTS OFF) {statement}"))
    # EXPLAIN puts values that a node takes from below into brackets
    assert "count((hashint4extended(" in plan
    assert "count(hashint4extended(" not in plan


def test_identity_is_the_columns_own_equality(database: str) -> None:
    """For every key type, two identities are equal exactly if the type's values are."""
    tables = load_values(database)
    checked = 0
    with reading(database) as session:
        for sql_type, name in tables.items():
            x = probe(session, name).column("x")
            assert x is not None
            if PG.catalog.key_problem(x):
                continue
            one, two = (text(PG.expressions.key_identity([(x, named(t, "x"))])) for t in ("a", "b"))
            equal = text(PG.expressions.key_equal(x, named("a", "x"), named("b", "x")))
            own = "a.x = b.x" if sql_type != "citext" else "a.x OPERATOR(public.=) b.x"
            pair = text(PG.expressions.key_identity([(x, named("a", "x")), (x, named("b", "x"))]))
            back = text(PG.expressions.key_identity([(x, named("b", "x")), (x, named("a", "x"))]))
            rows = session.rows(
                f"SELECT {one} = {two} AS same, {own} AS equal, {equal} AS joined, {pair} = {back} AS turned, "
                f"pg_typeof({one})::text AS kind, pg_typeof({pair})::text AS pair_kind "
                f"FROM public.{name} AS a JOIN public.{name} AS b ON a.id > 0 AND b.id > 0"
            )
            assert all((r.same, r.joined, r.turned) == (r.equal,) * 3 for r in rows), sql_type
            assert {(r.kind, r.pair_kind) for r in rows} == {("bytea", "bytea")}
            checked += 1
    assert checked >= 30


def test_types_that_cannot_be_keys_say_why(database: str) -> None:
    tables = load_values(database, ["json", "jsonb", "point", "integer[]", "pair", "int4range", "interval", "regclass"])
    with reading(database) as session:
        for sql_type, name in tables.items():
            x = probe(session, name).column("x")
            assert x is not None
            assert x.sql_type in PG.catalog.key_problem(x), sql_type


def test_composite_identity_is_one_to_one(database: str) -> None:
    sql(database, "CREATE TABLE t (a text, b text, PRIMARY KEY (a, b))")
    sql(database, "INSERT INTO t VALUES ('a', 'bc'), ('ab', 'c'), ('', 'abc'), ('abc', ''), ('a,b', 'c'), ('a', 'b,c')")
    with reading(database) as session:
        key = key_of(probe(session, "t"))
        identity = text(PG.expressions.key_identity([(c, named("t", c.name)) for c in key]))
        assert session.one(f"SELECT count(DISTINCT {identity}) AS n FROM public.t").n == 6
