"""Key ranges of MariaDB and MySQL against brute force: coverage, and use of the index."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from qbcd.catalog.source import Session
from qbcd.model import Column, KeyRange
from tests.support.maria_source import (
    KINDS,
    MARIA,
    connector_of,
    digest,
    key_of,
    named,
    probe,
    ranges_of,
    reading,
    text,
)
from tests.support.maria_values import ONLY_MARIADB, VALUES, literal
from tests.support.places import Place, new_place, server_of

CI = "varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"
ENUM = next(t for t in VALUES if t.startswith("enum('low'"))
MANY = next(t for t in VALUES if t.startswith("enum('e0'"))
SET = next(t for t in VALUES if t.startswith("set('m00'"))
SINGLE = [
    "tinyint",
    "int(10) unsigned zerofill",
    "bigint",
    "bigint unsigned",
    "decimal(65,30)",
    "decimal(12,2)",
    "float",
    "float(7,4)",
    "double",
    "bit(5)",
    "bit(64)",
    "year",
    "date",
    "time",
    "time(6)",
    "datetime",
    "datetime(6)",
    "timestamp(6) NULL",
    ENUM,
    MANY,
    SET,
    "char(5)",
    "varchar(80)",
    CI,
    "varchar(80) CHARACTER SET utf8mb3",
    "varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "varchar(20) CHARACTER SET latin1",
    "varchar(20) CHARACTER SET cp932",
    "varchar(20) CHARACTER SET gbk",
    "varchar(80) CHARACTER SET utf16",
    "char(9) CHARACTER SET utf16",
    "varchar(60) CHARACTER SET utf32",
    "varchar(300)",
    "binary(4)",
    "varbinary(20)",
    "uuid",
    "inet4",
    "inet6",
]
COMPOSITE = [
    ("int", CI),
    (CI, "int"),
    ("year", "datetime(6)", "varbinary(20)"),
    (ENUM, "date"),
    (SET, "time(6)", "tinyint"),
    ("varchar(20) CHARACTER SET latin1", "varchar(80) CHARACTER SET utf16"),
    ("decimal(65,30)", "bit(64)"),
    ("varchar(20) CHARACTER SET cp932", "bigint unsigned"),
    ("binary(4)", "double", "date"),
    ("float", "char(5)"),
    ("time", "varchar(80)"),
    ("timestamp(6) NULL", "bit(5)", "decimal(12,2)"),
    ("uuid", "inet6"),
]


@pytest.fixture(scope="module", params=KINDS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A database for all tests."""
    with new_place(server_of(request, request.param), request.param) as made:
        yield made


def filled(place: Place, name: str, sql_types: Sequence[str]) -> None:
    """Make a table whose key has these types, with combinations of the values of the corpus."""
    few = {1: 99, 2: 12, 3: 6}[len(sql_types)]
    names = [f"k{i}" for i in range(len(sql_types))]
    kinds = [f"{t.replace(' NULL', '')} NOT NULL" for t in sql_types]
    with place.connect() as conn:
        place.run(conn, "SET sql_mode = 'ALLOW_INVALID_DATES'")
        for column, kind, sql_type in zip(names, kinds, sql_types, strict=True):
            chosen = list(VALUES[sql_type])
            random.Random(7).shuffle(chosen)
            place.run(conn, f"CREATE TEMPORARY TABLE q{column} ({column} {kind} PRIMARY KEY)")
            place.run(conn, f"INSERT IGNORE INTO q{column} VALUES {', '.join(f'({literal(v)})' for v in chosen[:few])}")
        made = ", ".join(f"{column} {kind}" for column, kind in zip(names, kinds, strict=True))
        place.run(conn, f"CREATE TABLE {name} ({made}, PRIMARY KEY ({', '.join(names)}))")
        place.run(conn, f"INSERT INTO {name} SELECT {', '.join(names)} FROM {' JOIN '.join(f'q{n}' for n in names)}")


class Ordered:
    """`rows` of a table as HEX of the key, in the server's order, and all bounds but the first."""

    def __init__(self, session: Session, key: list[Column], name: str) -> None:
        self.key, self.name = key, name
        names = ", ".join(f"t.{c.name}" for c in key)
        order = ", ".join(f"cast(t.{c.name} AS UNSIGNED)" if c.base_type == "set" else f"t.{c.name}" for c in key)
        texts = [text(MARIA.expressions.canonical_text(c, named("t", c.name))) for c in key]
        self.hexed = f"concat_ws(',', {', '.join(f'hex({value})' for value in texts)})"
        self.rows = [r.place for r in session.rows(f"SELECT {self.hexed} AS place FROM {name} t ORDER BY {order}")]
        statement = MARIA.ranges.range_bounds(f"(SELECT {names} FROM {name} t)", key, rows_per_range=1)
        self.bounds = [tuple(r) for r in session.rows(statement)]
        assert len(self.bounds) == len(self.rows) - 1 > 0
        assert len(set(self.rows)) == len(self.rows)

    def check(self, session: Session, place: Place, draw: random.Random, deleted: set[str]) -> int:
        """Check ranges between random rows; return their number.

        Some ranges are left out, and they are requested in any order.
        """
        cuts = sorted(draw.sample(range(1, len(self.rows)), min(len(self.rows) - 1, draw.randint(1, 9))))
        edges = [0, *cuts, len(self.rows)]
        bound = [None, *(self.bounds[c - 1] for c in cuts), None]
        every = [(KeyRange(i * 7 + 3, bound[i], bound[i + 1]), edges[i], edges[i + 1]) for i in range(len(edges) - 1)]
        requested = [e for e in every if draw.random() < 0.8] or every
        if draw.random() < 0.3:
            draw.shuffle(requested)
        wanted = sorted((r.range_id, p) for r, lo, hi in requested for p in self.rows[lo:hi] if p not in deleted)
        ranges = [r for r, _, _ in requested]
        relation = f"(SELECT {', '.join(c.name for c in self.key)} FROM {self.name} WHERE (TRUE))"
        found = session.rows(
            MARIA.ranges.per_range([f"{self.hexed} AS place"], relation, self.key, ranges, aggregate=False)
        )
        counted = session.rows(MARIA.ranges.per_range(["count(*) AS n"], relation, self.key, ranges, aggregate=True))
        assert sorted((r.range_id, r.place) for r in found) == wanted, (place.kind, self.key, ranges)
        assert {r.range_id: r.n for r in counted} == {
            r.range_id: sum(i == r.range_id for i, _ in wanted) for r in ranges
        }
        requested_in, lo, hi = draw.choice(every)
        keys = ", ".join(f"t.{c.name}" for c in self.key)
        inside = MARIA.ranges.per_range([keys], relation, self.key, [requested_in], aggregate=False)
        if not deleted:
            cut = session.rows(MARIA.ranges.range_bounds(f"({inside})", self.key, rows_per_range=2))
            assert [tuple(r) for r in cut] == [self.bounds[i - 1] for i in range(lo + 2, hi, 2)]
        return len(ranges)


def check_keys(place: Place, rounds: int) -> int:
    """Check random ranges over every kind of key, then again after half of the rows are deleted."""
    checked = 0
    draw = random.Random(f"{place.kind} {rounds}")
    for i, sql_types in enumerate([*[(t,) for t in SINGLE], *COMPOSITE]):
        if place.kind != "mariadb" and ONLY_MARIADB & set(sql_types):
            continue
        name = f"k{rounds}_{i}"
        filled(place, name, sql_types)
        with reading(place) as session:
            key = key_of(probe(session, place, name))
            assert [MARIA.catalog.key_problem(c) for c in key] == [""] * len(key)
            whole = Ordered(session, key, name)
            for _ in range(rounds):
                checked += whole.check(session, place, draw, set())
        place.sql(f"DELETE FROM {name} WHERE rand(3) < 0.5")
        with reading(place) as session:
            left = {r.place for r in session.rows(f"SELECT {whole.hexed} AS place FROM {name} t")}
            for _ in range(rounds):
                checked += whole.check(session, place, draw, set(whole.rows) - left)
    return checked


def test_random_ranges_over_every_kind_of_key(place: Place) -> None:
    assert check_keys(place, 2) >= 500


@pytest.mark.campaign
def test_ten_thousand_random_ranges(place: Place) -> None:
    assert check_keys(place, 30) >= 10_000


def test_rows_beyond_the_bounds_and_empty_ranges(place: Place) -> None:
    place.sql("CREATE TABLE few (k int PRIMARY KEY); INSERT INTO few VALUES (-2147483648), (5), (15), (2147483647)")
    every = ranges_of([("0",), ("10",), ("11",), ("12",)])
    with reading(place) as session:
        key = key_of(probe(session, place, "few"))
        counted = session.rows(
            MARIA.ranges.per_range(["count(*) AS n", "sum(t.k) AS s"], "few", key, every, aggregate=True)
        )
        lone = session.rows(MARIA.ranges.per_range(["count(*) AS n"], "few", key, ranges_of([]), aggregate=True))
        one = session.rows(MARIA.ranges.per_range(["t.k AS k"], "few", key, every[1:2], aggregate=False))
        none = session.rows(MARIA.ranges.per_range(["t.k AS k"], "few", key, every[2:4], aggregate=False))
        nothing = session.rows(MARIA.ranges.range_bounds("(SELECT k FROM few WHERE FALSE)", key, rows_per_range=1))
    assert sorted((r.range_id, r.n, r.s) for r in counted) == [
        (10, 1, -2147483648),
        (11, 1, 5),
        (12, 0, None),
        (13, 0, None),
        (14, 2, 2147483662),
    ]
    assert [(r.range_id, r.n) for r in lone] == [(10, 4)]
    assert [(r.range_id, r.k) for r in one] == [(11, 5)]
    assert none == nothing == []


def test_ranges_that_make_no_sense_are_refused(place: Place) -> None:
    place.sql("CREATE TABLE plain (k int PRIMARY KEY, b varbinary(9) NOT NULL, d double NOT NULL)")
    with reading(place) as session:
        k, b, d = probe(session, place, "plain").columns
    with pytest.raises(ValueError, match="no ranges"):
        MARIA.ranges.per_range(["count(*)"], "t", [k], [], aggregate=True)
    with pytest.raises(ValueError, match="twice"):
        MARIA.ranges.per_range(
            ["count(*)"], "t", [k], [KeyRange(1, None, None), KeyRange(1, None, None)], aggregate=True
        )
    with pytest.raises(ValueError, match="bound of 2 values"):
        MARIA.ranges.per_range(["count(*)"], "t", [k], [KeyRange(1, ("1", "2"), None)], aggregate=True)
    with pytest.raises(ValueError, match="one row"):
        MARIA.ranges.range_bounds("t", [k], rows_per_range=0)
    for column, wrong in (
        (k, "1 OR 1=1"),
        (k, ""),
        (k, "1\n"),
        (b, "0x4"),
        (b, "41"),
        (d, "1e"),
        (d, "nan"),
        (k, "１"),
    ):
        with pytest.raises(ValueError, match="no bound of key column"):
            MARIA.ranges.bound(column, wrong)


def test_bounds_of_characters_with_two_codes(place: Place) -> None:
    """Both are one character in Unicode: a bound in Unicode would put both into one range."""
    place.sql("CREATE TABLE codes (k varchar(9) CHARACTER SET cp932 COLLATE cp932_bin PRIMARY KEY)")
    place.sql("INSERT INTO codes VALUES (_cp932 X'8754'), (_cp932 X'FA4A'), (_cp932 X'FA4B')")
    with reading(place) as session:
        key = key_of(probe(session, place, "codes"))
        bounds = [tuple(r) for r in session.rows(MARIA.ranges.range_bounds("codes", key, rows_per_range=1))]
        statement = MARIA.ranges.per_range(["count(*) AS n"], "codes", key, ranges_of(bounds), aggregate=True)
        assert [(r.range_id, r.n) for r in session.rows(statement)] == [(10, 1), (11, 1), (12, 1)]


def test_long_keys_are_ordered_by_all_of_their_characters(place: Place) -> None:
    """Sorting compares only max_sort_length bytes, 1,024 unless qbcd's session sets it."""
    place.sql("CREATE TABLE long_keys (k varchar(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci PRIMARY KEY)")
    keys = [f"{'x' * 760}{i:04}" for i in range(3000)]
    shuffled = list(keys)
    random.Random(5).shuffle(shuffled)
    place.insert("long_keys", [(k,) for k in shuffled])
    with reading(place) as session:
        key = key_of(probe(session, place, "long_keys"))
        found = session.rows(MARIA.ranges.range_bounds("(SELECT k FROM long_keys)", key, rows_per_range=100))
    assert [r.k0 for r in found] == keys[100::100]


# -- the index -------------------------------------------------------------------------------------------------------
_N = "(a.d + 10 * b.d + 100 * c.d + 1000 * (e.d % 5))"
# Key columns and expressions that make 5,000 different keys of n.
INDEXED = {
    "bigint": ("k bigint", "n"),
    "uint64": ("k bigint unsigned", "18446744073709551615 - n"),
    "decimal": ("k decimal(65,30)", "n / 7"),
    "double": ("k double", "n / 7"),
    "float": ("k float", "n / 8"),
    "bit": ("k bit(64)", "9223372036854775808 + n"),
    "date": ("k date", "'2000-01-01' + INTERVAL n DAY"),
    "datetime": ("k datetime(6)", "'2000-01-01' + INTERVAL n * 1000001 MICROSECOND"),
    "timestamp": ("k timestamp", "'2000-01-01' + INTERVAL n HOUR"),
    "time": ("k time(3)", "sec_to_time(n * 100.001 - 250000)"),
    "varchar": ("k varchar(30)", "concat('ü''%\\\\', lpad(n, 9, '🙂'))"),
    "utf8mb3": ("k varchar(30) CHARACTER SET utf8mb3", "concat('ü', n)"),
    "latin1": ("k varchar(30) CHARACTER SET latin1", "concat('ü', n)"),
    "cp932": ("k varchar(30) CHARACTER SET cp932", "concat('表', n)"),
    "utf16": ("k char(30) CHARACTER SET utf16", "concat('🙂', n)"),
    "binary": ("k binary(16)", "unhex(left(sha2(n, 256), 32))"),
    "uuid": ("k uuid", "concat(lpad(hex(n), 8, 0), '-0000-4000-8000-', lpad(hex(n), 12, 0))"),
    "inet6": ("k inet6", "concat('2001:db8::', lower(hex(n)))"),
    "two": ("k int, l varchar(20)", "floor(n / 100), concat('ä', n)"),
    "three": (
        "k varchar(9), l date, m int",
        "concat('a', floor(n / 900)), '2000-01-01' + INTERVAL floor(n / 90) DAY, n",
    ),
    "year": ("k year, l int", "1990 + floor(n / 100), n"),
    "enum": ("k enum('z','b','a','q','p'), l int", "1 + n % 5, n"),
    "behind": ("k int, l enum('z','b'), m int", "floor(n / 50), 1 + n % 2, n"),
    "unsigned": ("k tinyint unsigned, l smallint, m bigint", "n % 3, floor(n / 100), -n"),
}


def handlers(session: Session) -> int:
    """Return the number of rows that the session has read by an index or by a scan."""
    rows = [tuple(r) for r in session.rows("SHOW SESSION STATUS LIKE 'Handler_read%'")]
    read = {str(name).lower(): int(number) for name, number in rows}
    return sum(read[f"handler_read_{how}"] for how in ("next", "prev", "rnd_next", "first", "last"))


def test_a_range_costs_what_it_holds(place: Place) -> None:
    """A read of one or three ranges of many reads at most three times their rows."""
    for i, (name, (columns, values)) in enumerate(INDEXED.items()):
        if place.kind != "mariadb" and name in ONLY_MARIADB:
            continue
        names = [part.split(" ")[0] for part in columns.split(", ")]
        digits = "(" + " UNION ALL ".join(f"SELECT {d} AS d" for d in range(10)) + ")"
        place.sql(
            f"CREATE TABLE i{i} ({columns}, filler char(50), PRIMARY KEY ({', '.join(names)})); INSERT INTO i{i} "
            f"SELECT {values}, 'x' FROM (SELECT {_N} AS n FROM {digits} a, {digits} b, {digits} c, "
            f"(SELECT d FROM {digits} q WHERE d < 5) e) q"
        )
        place.sql(f"ANALYZE TABLE i{i}")
        with reading(place) as session:
            key = key_of(probe(session, place, f"i{i}"))
            relation = f"(SELECT {', '.join(names)}, length(filler) AS n FROM i{i} WHERE (filler IS NOT NULL))"
            bounds = [tuple(r) for r in session.rows(MARIA.ranges.range_bounds(relation, key, rows_per_range=100))]
            every = ranges_of(bounds)
            assert len(every) == 50
            for requested in (every[20:21], every[:1], every[-1:], every[30:33]):
                for aggregate, select in ((True, ["count(*) AS n", "sum(t.n) AS s"]), (False, ["t.n AS n"])):
                    statement = MARIA.ranges.per_range(select, relation, key, requested, aggregate=aggregate)
                    before = handlers(session)
                    rows = session.rows(statement)
                    # the aggregates read a range once from the index and once more from the derived table
                    cost = handlers(session) - before
                    assert (sum(r.n for r in rows) if aggregate else len(rows)) == 100 * len(requested), name
                    assert cost <= 3 * 100 * len(requested) + 100, (name, aggregate, requested, cost)


def test_a_name_that_begins_with_a_space_is_no_alias(place: Place) -> None:
    place.sql("CREATE TABLE spaced (`  e` enum('z', 'a', 'm') PRIMARY KEY)")
    place.sql("INSERT INTO spaced VALUES ('z'), ('a'), ('m')")
    with reading(place) as session:
        key = list(probe(session, place, "spaced").columns)
        found = session.rows(MARIA.ranges.range_bounds("(SELECT `  e` FROM spaced)", key, rows_per_range=1))
        assert [r.k0 for r in found] == ["2", "3"]


def test_two_hundred_ranges_of_a_wide_table_fit_a_packet_of_one_megabyte(place: Place) -> None:
    columns = ", ".join(f"c{i} varchar(5)" for i in range(250))
    place.sql(f"CREATE TABLE wide (k varchar(60), l int, {columns}, PRIMARY KEY (k, l))")
    place.sql("INSERT INTO wide (k, l) VALUES " + ", ".join(f"('ключ {n}', {n})" for n in range(52)))
    with reading(place) as session:
        every = probe(session, place, "wide").columns
        key = list(every[:2])
        relation = f"(SELECT k, l, {digest('wide', *every)} AS h FROM wide WHERE (\nTRUE\n))"
        rows = [
            tuple(r) for r in session.rows(MARIA.ranges.range_bounds("(SELECT k, l FROM wide)", key, rows_per_range=1))
        ]
        assert len(rows) == 51
        many = [KeyRange(i, rows[i % 50], rows[i % 50 + 1]) for i in range(connector_of(place).ranges_per_statement)]
        for aggregate in (True, False):
            select = ["count(*) AS n", "sum(t.h) AS s"] if aggregate else ["t.h AS h"]
            statement = MARIA.ranges.per_range(select, relation, key, many, aggregate=aggregate)
            assert len(statement.encode()) < 1024 * 1024 * 0.5
            assert len(session.rows(statement)) == 200
