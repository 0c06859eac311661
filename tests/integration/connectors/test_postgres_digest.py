"""The row digest of PostgreSQL: differing values, sums, and distribution."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from qbcd.model import Column
from tests.support import sql
from tests.support.pg_source import PG, digest, load_values, named, probe, reading, text
from tests.support.pg_values import VALUES

# (type, one value, another value) that are equal for PostgreSQL's own hash functions or for a concatenation.
ALIKE = [
    ("double precision", None, "0"),
    ("double precision", "0.0", "NaN"),
    ("double precision", "NaN", "Infinity"),
    ("double precision", "Infinity", "-Infinity"),
    ("double precision", None, "NaN"),
    ("real", None, "0"),
    ("real", "0", "NaN"),
    ("numeric", "100.50", "-100.50"),
    ("numeric", None, "NaN"),
    ("numeric", "NaN", "Infinity"),
    ("numeric", "Infinity", "-Infinity"),
    ("numeric", None, "0"),
    ("numeric(12,2)", "100.50", "-100.50"),
    ("numeric(12,2)", None, "NaN"),
    ("bigint", "-1", "4294967295"),
    ("bigint", "1", "4294967296"),
    ("bigint", None, "0"),
    ("bigint", "0", "-4294967297"),
    ("timestamp", "2024-01-01 00:00:00", "2024-01-01 01:11:34.967296"),
    ("timestamptz", "2024-01-01 00:00:00+00", "2024-01-01 01:11:34.967296+00"),
    ("time", "00:00:00", "01:11:34.967296"),
    ("jsonb", None, "{}"),
    ("jsonb", "{}", "[]"),
    ("jsonb", "[null]", "null"),
    ("int[]", "{1,2}", "{{1,2}}"),
    ("int[]", "{1,2}", "[0:1]={1,2}"),
    ("int[]", None, "{}"),
    ("text[]", "{NULL}", '{"NULL"}'),
    ("text", None, ""),
    ("text", None, "null"),
    ("text", "", "null"),
    ("bytea", None, "\\x"),
    ("bytea", "\\x00", "\\x"),
    ("boolean", None, "false"),
    ("integer", None, "0"),
    ("date", None, "2000-01-01"),
    ("interval", "1 day", "24 hours"),
    ("citext", "a", "A"),
    ("timetz", "00:00:00+00", "01:00:00+01"),
    ("inet", "10.0.0.1/8", "10.0.0.0/8"),
    ("oid", None, "0"),
]


@pytest.mark.parametrize(("sql_type", "one", "two"), ALIKE)
def test_values_that_look_alike(database: str, sql_type: str, one: str | None, two: str | None) -> None:
    sql(database, "CREATE EXTENSION citext")
    sql(database, f"CREATE TABLE p (id int, x {sql_type}, y {sql_type}, z int)")
    sql(database, "INSERT INTO p VALUES (1, %s, %s, 7)", [one, two])
    with reading(database) as session:
        x, y, z = (column(probe(session, "p").column(n)) for n in ("x", "y", "z"))
        swapped = text(PG.expressions.row_digest([(x, named("p", "y")), (y, named("p", "x"))]))
        found = session.one(
            f"SELECT {digest('p', x)} <> {digest('p', y)} AS alone, "
            f"{digest('p', x, z)} <> {digest('p', y, z)} AS first, {digest('p', z, x)} <> {digest('p', z, y)} AS last, "
            f"{digest('p', x, y)} <> {swapped} AS columns_swapped, "
            f"{text(PG.expressions.null_safe_distinct(x, named('p', 'x'), named('p', 'y')))} AS differs FROM public.p"
        )
    assert list(found) == [True] * 5


def column(found: Column | None) -> Column:
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("a", "bc"), ("ab", "c")),
        (("", "abc"), ("abc", "")),
        (("a,b", "c"), ("a", "b,c")),
        ((None, "a"), ("a", None)),
        ((None, ""), ("", None)),
        (("null", ""), (None, "null")),
        (("(a", "b)"), ("(a,b)", "")),
        (('"', '"'), ('""', "")),
    ],
)
def test_texts_of_two_columns(database: str, one: tuple[str | None, ...], two: tuple[str | None, ...]) -> None:
    sql(database, "CREATE TABLE p (a text, b text)")
    sql(database, "INSERT INTO p VALUES (%s, %s), (%s, %s)", [*one, *two])
    with reading(database) as session:
        a, b = (column(probe(session, "p").column(n)) for n in ("a", "b"))
        assert session.one(f"SELECT count(DISTINCT {digest('p', a, b)}) AS n FROM public.p").n == 2


def test_rows_that_swap_a_value_change_the_sum(database: str) -> None:
    """Two rows of each type exchange their values.

    The sum of digests must change; a sum of linear hashes would not.
    """
    tables = load_values(database)
    swaps = 0
    with reading(database) as session:
        for sql_type, name in tables.items():
            key, x = (column(probe(session, name).column(n)) for n in ("id", "x"))

            def of(row: str, value: str, key: Column = key, x: Column = x) -> str:
                return text(PG.expressions.row_digest([(key, named(row, "id")), (x, named(value, "x"))]))

            rows = session.rows(
                f"SELECT {of('a', 'a')}::numeric + {of('b', 'b')} <> {of('a', 'b')}::numeric + {of('b', 'a')} AS seen "
                f"FROM public.{name} AS a JOIN public.{name} AS b ON b.id > a.id "
                f"AND {text(PG.expressions.null_safe_distinct(x, named('a', 'x'), named('b', 'x')))}"
            )
            assert all(r.seen for r in rows), sql_type
            assert rows, sql_type
            swaps += len(rows)
    assert len(tables) == len(VALUES)
    assert swaps > 2000


# New values of rows x, y and z: the row from which each takes its a and its b.
MOVES = {
    "two rows swap a value": ("ya xb", "xa yb", "za zb"),
    "three rows rotate a value": ("ya xb", "za yb", "xa zb"),
    "two rows swap all values": ("ya yb", "xa xb", "za zb"),
    "three rows rotate all values": ("ya yb", "za zb", "xa xb"),
    "each row swaps its columns": ("xb xa", "yb ya", "zb za"),
    "one value goes round both columns of two rows": ("xb ya", "yb xa", "za zb"),
}


def test_a_hundred_thousand_random_swaps_and_rotations_are_seen(database: str) -> None:
    sql(
        database,
        "CREATE TABLE r AS SELECT g AS id, hashint8(g * 7) % 1000 AS a, hashint8(g * 11) % 999 AS b "
        "FROM generate_series(1, 100000::bigint) g",
    )
    with reading(database) as session:
        key, a, b = (column(probe(session, "r").column(n)) for n in ("id", "a", "b"))

        def of(row: str, values: str) -> str:
            first, second = values.split()
            parts = [(key, named(row, "id")), (a, named(*first)), (b, named(*second))]
            return text(PG.expressions.row_digest(parts)) + "::numeric"

        def total(moved: Sequence[str]) -> str:
            return " + ".join(of(row, values) for row, values in zip("xyz", moved, strict=True))

        old = total(("xa xb", "ya yb", "za zb"))
        missed = ", ".join(
            f"count(*) FILTER (WHERE {old} = {total(moved)}) AS m{i}" for i, moved in enumerate(MOVES.values())
        )
        found = session.one(
            f"SELECT count(*) AS n, {missed} FROM public.r AS x "
            "JOIN public.r AS y ON y.id = 1 + mod(x.id + 33332, 100000) "
            "JOIN public.r AS z ON z.id = 1 + mod(x.id + 71234, 100000) "
            "WHERE x.a <> y.a AND y.a <> z.a AND z.a <> x.a AND x.b <> y.b AND x.a <> x.b AND x.b <> y.a"
        )
    assert found.n > 98_000
    assert dict(zip(MOVES, found[1:], strict=True)) == dict.fromkeys(MOVES, 0)


def test_a_million_rows_have_a_million_digests(database: str) -> None:
    """All digests differ; their halves collide as often as 32 random bits (116 of a million)."""
    sql(
        database,
        "CREATE TABLE m AS SELECT g AS id, (g % 1000)::int AS qty, "
        "(g % 100000 / 100.0)::numeric(12,2) AS price, "
        "timestamptz '2024-01-01 00:00+00' + g * interval '1 second' AS at, g * 1.5::float8 AS d "
        "FROM generate_series(1, 1000000::bigint) g",
    )
    with reading(database) as session:
        columns = probe(session, "m").columns
        session.run("SET LOCAL work_mem = '256MB'")
        found = session.one(
            "SELECT count(DISTINCT h) AS whole, count(DISTINCT h >> 32) AS high, "
            "count(DISTINCT h & 4294967295) AS low, count(h) AS n "
            f"FROM (SELECT {digest('m', *columns)} AS h FROM public.m) AS q"
        )
    assert (found.whole, found.n) == (1_000_000, 1_000_000)
    assert 999_820 < found.high < 999_940
    assert 999_820 < found.low < 999_940


def test_the_widest_table_has_a_digest_that_sees_every_column(database: str) -> None:
    sql(database, f"CREATE TABLE w ({', '.join(f'c{i} int' for i in range(1600))})")
    sql(database, "INSERT INTO w (c0) VALUES (1)")
    sql(database, "INSERT INTO w (c1599) VALUES (1), (NULL)")  # rows that differ in the last column alone
    with reading(database) as session:
        columns = probe(session, "w").columns
        wide = text(PG.expressions.row_digest([(c, named("w", c.name)) for c in (*columns, *columns[:800])]))
        found = session.one(
            f"SELECT count(DISTINCT {digest('w', *columns)}) AS n, count(DISTINCT {wide}) AS m FROM public.w"
        )
    assert list(found) == [3, 3]


def test_one_column_and_nulls_have_a_digest(database: str) -> None:
    sql(database, "CREATE TABLE n (a text, b jsonb)")
    sql(database, "INSERT INTO n VALUES (NULL, NULL)")
    with reading(database) as session:
        columns = probe(session, "n").columns
        found = session.one(
            f"SELECT {digest('n', columns[0])} IS NULL AS x, {digest('n', *columns)} IS NULL AS y FROM public.n"
        )
    assert list(found) == [False, False]
