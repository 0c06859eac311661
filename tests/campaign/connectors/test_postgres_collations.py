"""Collations of ICU: keys in their order, and collations that equate different bytes.

The embedded server has no ICU, so these tests run in the campaign, on Debian's server or that of `QBCD_TEST_ICU_URL`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from qbcd.connectors.postgresql import types
from tests.conftest import GivenServer
from tests.integration.connectors.test_postgres_ranges import check_cover, key_of, ranges_of
from tests.support import sql
from tests.support.pg_source import PG, digest, named, probe, reading, text

pytestmark = pytest.mark.campaign

COLLATIONS = """
CREATE COLLATION english (provider = icu, locale = 'en-US');
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION noaccent (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
"""
WORDS = [
    "a",
    "A",
    "b",
    "B",
    "z",
    "Z",
    "-",
    "_",
    " ",
    "é",
    "e",
    "É",
    "ß",
    "ss",
    "SS",
    ".",
    "a-b",
    "ab",
    "a b",
    "ÿ",
    "zz",
    "1",
    "10",
    "2",
]


@pytest.fixture
def collated(server_url: str) -> Iterator[str]:
    """A new database with collations."""
    name = f"t_{uuid.uuid4().hex}"
    sql(server_url, f"CREATE DATABASE {name}")
    url = f"{server_url.rsplit('/', 1)[0]}/{name}"
    sql(url, COLLATIONS)
    yield url
    sql(server_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def server_url(icu: GivenServer) -> str:
    """URL of a superuser's database on a server with ICU."""
    return icu.url


@pytest.mark.parametrize(
    "key",
    [
        "k text COLLATE english",
        "k varchar(9) COLLATE nocase",
        "k text COLLATE noaccent",
        "k char(4) COLLATE nocase",
        "k text COLLATE english, n int",
        "n int, k text COLLATE nocase",
    ],
)
def test_ranges_follow_the_columns_collation(collated: str, key: str) -> None:
    names = ", ".join(part.strip().split(" ")[0] for part in key.split(","))
    sql(collated, f"CREATE TABLE t ({key}, PRIMARY KEY ({names}))")
    for i, word in enumerate(WORDS):
        values = ", ".join("%s" if n == "k" else str(i % 3) for n in names.split(", "))
        sql(collated, f"INSERT INTO t VALUES ({values}) ON CONFLICT DO NOTHING", [word])
    for rows_per_range in (1, 4):
        check_cover(collated, "t", rows_per_range)


@pytest.mark.parametrize("kind", ["text", "varchar(9)", "char(4)"])
@pytest.mark.parametrize("collation", ["english", "nocase", "noaccent"])
def test_identity_and_digest_under_a_collation(collated: str, kind: str, collation: str) -> None:
    sql(collated, f"CREATE TABLE t (id int PRIMARY KEY, x {kind} COLLATE {collation})")
    for i, word in enumerate(WORDS):
        sql(collated, "INSERT INTO t VALUES (%s, %s)", [i, word])
    with reading(collated) as session:
        x = probe(session, "t").column("x")
        assert x is not None
        assert x.collation == f"public.{collation}"
        assert types.is_nondeterministic(x) == (collation != "english")
        assert x.comparison == ("typed" if kind != "char(4)" and collation == "english" else "bytes")
        one, two = (text(PG.expressions.key_identity([(x, named(t, "x"))])) for t in ("a", "b"))
        hash_of_one, hash_of_two = (text(PG.expressions.key_hash([(x, named(t, "x"))])) for t in ("a", "b"))
        differs = text(PG.expressions.null_safe_distinct(x, named("a", "x"), named("b", "x")))
        rows = session.rows(
            f"SELECT {hash_of_one} = {hash_of_two} AS together, {one} = {two} AS same, a.x = b.x AS equal, "
            f"{differs} AS differs, a.id <> b.id AS other, "
            f"{digest('a', x)} <> {digest('b', x)} AS hashed FROM public.t AS a CROSS JOIN public.t AS b"
        )
    assert all(r.same == r.together == r.equal for r in rows)
    assert all(r.differs == r.hashed == r.other for r in rows)
    assert any(r.equal and r.other for r in rows) == (collation != "english")


def test_the_index_of_a_collated_key_is_used(collated: str) -> None:
    sql(collated, "CREATE TABLE t (k text COLLATE english PRIMARY KEY)")
    sql(collated, "INSERT INTO t SELECT md5(g::text) FROM generate_series(1, 50000) g")
    sql(collated, "VACUUM ANALYZE t")
    with reading(collated) as session:
        key = key_of(probe(session, "t"))
        bounds = [tuple(r) for r in session.rows(PG.ranges.range_bounds("public.t", key, rows_per_range=500))]
        statement = PG.ranges.per_range(["count(*) AS n"], "public.t", key, ranges_of(bounds), aggregate=True)
        plan = "\n".join(r[0] for r in session.rows(f"EXPLAIN {statement}"))
        assert sum(r.n for r in session.rows(statement)) == 50_000
    assert "Seq Scan" not in plan
