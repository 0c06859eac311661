"""Keys of MariaDB and MySQL: identity is equality in every collation, or the key is refused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from qbcd.catalog.source import Session
from qbcd.connectors.mysql_family import types
from tests.support.maria_source import (
    KINDS,
    MARIA,
    column,
    connector_of,
    key_of,
    load_values,
    named,
    probe,
    reading,
    text,
)
from tests.support.maria_texts import TEXTS
from tests.support.places import Place, new_place, server_of

COMMON = [
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci",
    "utf8mb4_bin",
    "utf8mb4_german2_ci",
    "utf8mb4_spanish2_ci",
    "utf8mb3_general_ci",
    "utf8mb3_unicode_ci",
    "latin1_swedish_ci",
    "latin1_german1_ci",
    "latin1_german2_ci",
    "latin1_bin",
    "latin2_czech_cs",
    "cp932_japanese_ci",
    "cp932_bin",
    "utf16_unicode_ci",
    "ucs2_general_ci",
    "utf32_bin",
    "binary",
]
OF_KIND = {
    "mariadb": [
        "utf8mb4_nopad_bin",
        "utf8mb4_general_nopad_ci",
        "utf8mb4_unicode_nopad_ci",
        "utf8mb4_uca1400_ai_ci",
        "utf8mb4_uca1400_as_cs",
        "utf8mb4_uca1400_as_ci",
        "utf8mb4_uca1400_ai_cs",
        "utf8mb4_uca1400_nopad_as_cs",
        "utf8mb4_uca1400_spanish_as_ci",
        "utf8mb4_uca1400_german2_nopad_as_ci",
        "utf16_uca1400_as_cs",
        "utf8mb4_thai_520_w2",
        "latin1_swedish_nopad_ci",
    ],
    "mysql": [
        "utf8mb4_0900_ai_ci",
        "utf8mb4_0900_as_cs",
        "utf8mb4_0900_as_ci",
        "utf8mb4_0900_bin",
        "utf8mb4_de_pb_0900_ai_ci",
        "utf8mb4_ja_0900_as_cs_ks",
        "gb18030_unicode_520_ci",
    ],
}
REFUSED = {
    "mariadb": [
        "big5_chinese_ci",
        "big5_chinese_nopad_ci",
        "cp1250_czech_cs",
        "tis620_thai_nopad_ci",
        "tis620_thai_ci",
        "utf8mb4_uca1400_nopad_ai_cs",
        "utf8mb3_uca1400_spanish_nopad_ai_cs",
    ],
    "mysql": ["big5_chinese_ci", "cp1250_czech_cs", "gb18030_chinese_ci", "tis620_thai_ci"],
}


@pytest.fixture(scope="module", params=KINDS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A database for all tests; table `texts` has the texts as Unicode."""
    with new_place(server_of(request, request.param), request.param) as made:
        made.sql("CREATE TABLE texts (id int PRIMARY KEY, v varchar(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)")
        made.insert("texts", list(enumerate(TEXTS)))
        yield made


def charset_of(place: Place) -> dict[str, str]:
    """Return the character set of each collation, by its full name."""
    if place.kind == "mariadb":
        source = "full_collation_name, character_set_name FROM information_schema.collation_character_set_applicability"
    else:
        source = "collation_name, character_set_name FROM information_schema.collations"
    return dict(place.sql(f"SELECT {source}"))


def collated(place: Place, collation: str, charset: str) -> None:
    """Make table `c` of the texts that exist in the character set."""
    sql_type = (
        "varbinary(764)" if collation == "binary" else f"varchar(191) CHARACTER SET {charset} COLLATE {collation}"
    )
    back = "v" if collation == "binary" else f"convert(convert(v USING {charset}) USING utf8mb4)"
    place.sql(
        f"DROP TABLE IF EXISTS c; SET sql_mode = ''; CREATE TABLE c (id int PRIMARY KEY, v {sql_type}); "
        f"INSERT IGNORE INTO c SELECT id, v FROM texts WHERE hex({back}) = hex(v)"
    )


def disagreements(session: Session, place: Place) -> list[tuple[str, str]]:
    """Return pairs of `c` for which equality of identities and of values differs."""
    v = column(probe(session, place, "c"), "v")
    identity = text(MARIA.expressions.key_identity([(v, named("t", "v"))]))
    rows = session.rows(f"SELECT t.id, {identity} AS identity FROM c AS t")
    assert None not in {r.identity for r in rows}
    groups: dict[Any, list[int]] = {}
    for r in rows:
        groups.setdefault(r.identity, []).append(r.id)
    found = {pair for group in groups.values() for pair in combinations(sorted(group), 2)}
    wanted = {tuple(r) for r in session.rows("SELECT a.id, b.id FROM c a JOIN c b ON a.v = b.v AND a.id < b.id")}
    assert wanted or len(rows) < 200 or "bin" in v.collation or v.base_type == "varbinary"
    return [(TEXTS[a], TEXTS[b]) for a, b in found ^ wanted]


def test_identity_is_equality_under_collations(place: Place) -> None:
    charsets = {**charset_of(place), "binary": "binary"}
    assert len(TEXTS) >= 240
    for collation in (*COMMON, *OF_KIND[place.kind]):
        collated(place, collation, charsets[collation])
        with reading(place) as session:
            assert MARIA.catalog.key_problem(column(probe(session, place, "c"), "v")) == "", collation
            assert disagreements(session, place) == [], collation


@pytest.mark.campaign
def test_identity_is_equality_under_every_collation_of_the_server(place: Place) -> None:
    """Refused collations disagree on at least one of the two servers; all others agree."""
    checked = refused = 0
    for collation, charset in sorted(charset_of(place).items()):
        if charset == "binary":
            continue
        collated(place, collation, charset)
        with reading(place) as session:
            problem = MARIA.catalog.key_problem(column(probe(session, place, "c"), "v"))
            try:
                differ = disagreements(session, place)
            except Exception as error:  # noqa: BLE001 -- a form that the server does not know
                assert problem, (collation, error)
                differ = [("", "")]
        assert bool(differ) == bool(problem) or (place.kind, collation) == ("mariadb", "tis620_thai_ci"), (
            collation,
            differ[:3],
        )
        checked += 1
        refused += bool(problem)
    assert checked >= 200
    assert refused >= 3


def test_collations_without_an_identity_are_refused_by_name(place: Place) -> None:
    charsets = charset_of(place)
    for collation in REFUSED[place.kind]:
        collated(place, collation, charsets[collation])
        with reading(place) as session:
            v = column(probe(session, place, "c"), "v")
            assert collation in MARIA.catalog.key_problem(v)
            assert MARIA.catalog.type_problem(v) == ""


def test_identity_is_equality_for_every_type(place: Place) -> None:
    """Two identities are equal exactly if the values are, alone and with another column."""
    checked = 0
    with new_place(place, place.kind) as full:
        tables = load_values(full)
        with reading(full) as session:
            for sql_type, name in tables.items():
                x = column(probe(session, full, name), "x")
                if MARIA.catalog.key_problem(x):
                    continue
                connector = connector_of(full)
                one, two = (text(connector.expressions.key_identity([(x, named(t, "x"))])) for t in ("a", "b"))
                pair, back = (
                    text(connector.expressions.key_identity([(x, named(s, "x")), (x, named(t, "x"))]))
                    for s, t in ("ab", "ba")
                )
                equal = text(connector.expressions.key_equal(x, named("a", "x"), named("b", "x")))
                rows = session.rows(
                    f"SELECT a.id AS i, b.id AS j, {one} = {two} AS same, {equal} AS joined, "
                    f"{pair} = {back} AS turned, {one} AS identity "
                    f"FROM {name} AS a JOIN {name} AS b ON a.id > 0 AND b.id > 0"
                )
                assert [(r.i, r.j) for r in rows if len({r.same, r.joined, r.turned}) > 1] == [], sql_type
                assert all(isinstance(r.identity, bytes) for r in rows)
                checked += 1
    assert checked >= 60


def test_types_that_cannot_be_keys_say_why(place: Place) -> None:
    kinds = ["json", "text", "tinytext", "longtext", "blob", "tinyblob", "longblob", "geometry", "point"]
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(kinds))
    place.sql(f"CREATE TABLE no_keys (id int PRIMARY KEY, {columns})")
    with reading(place) as session:
        for x in probe(session, place, "no_keys").columns[1:]:
            assert x.sql_type in MARIA.catalog.key_problem(x)
            assert MARIA.catalog.type_problem(x) == ""


def test_identity_of_a_key_of_several_columns_is_one_to_one(place: Place) -> None:
    place.sql(
        "CREATE TABLE several (a varchar(20) CHARACTER SET latin1 COLLATE latin1_bin, b varbinary(20), n int, "
        "c varchar(9) CHARACTER SET utf16, PRIMARY KEY (a, b, n, c)); "
        "INSERT INTO several VALUES ('a', 'bc', 1, ''), ('ab', 'c', 1, ''), ('', 'abc', 1, ''), ('abc', '', 1, ''), "
        "('abc', '', 11, ''), ('abc', '1', 1, ''), ('abc', '', 1, '1'), ('1:a', '', 1, ''), ('', '1:a', 1, '')"
    )
    with reading(place) as session:
        key = key_of(probe(session, place, "several"))
        identity = text(MARIA.expressions.key_identity([(c, named("t", c.name)) for c in key]))
        assert session.one(f"SELECT count(DISTINCT {identity}) AS n FROM several AS t").n == 9


def test_identity_of_a_text_has_one_length(place: Place) -> None:
    collated(place, "utf8mb4_unicode_ci", "utf8mb4")
    with reading(place) as session:
        v = column(probe(session, place, "c"), "v")
        assert not types.pads_levels(v)
        identity = text(MARIA.expressions.key_identity([(v, named("t", "v"))]))
        found = session.one(f"SELECT min(length({identity})) AS low, max(length({identity})) AS high FROM c AS t")
    assert list(found) == [16, 16]
