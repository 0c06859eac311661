"""The row digest of MariaDB and MySQL: differing values, sums, and small packets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy.exc import DBAPIError

from qbcd.model import Column
from tests.support.maria_pairs import ROWS, pairs
from tests.support.maria_source import (
    KINDS,
    MARIA,
    connector_of,
    digest,
    load_values,
    named,
    packet,
    probe,
    reading,
    same,
    text,
    written,
)
from tests.support.maria_values import Input, Sql, literal
from tests.support.places import Place, must_own, new_place, server_of

# The event shows a change although its text is unchanged: the number of an enum's error value, and two codes of one
# character.
LOSSY = {("enum('','x')", Sql("'no such'")), ("varchar(40) CHARACTER SET cp932", Sql("_cp932 X'FA4A'"))}
# Numbers 0 to 99,999.
DIGITS = "(" + " UNION ALL ".join(f"SELECT {n} AS d" for n in range(10)) + ")"
NUMBERS = (
    "(SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n FROM "
    f"{DIGITS} a, {DIGITS} b, {DIGITS} c, {DIGITS} e, {DIGITS} f)"
)


@pytest.fixture(scope="module", params=KINDS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A database for all tests; each names its tables after itself."""
    with new_place(server_of(request, request.param), request.param) as made:
        yield made


def listed(*values: Input | None) -> str:
    return ", ".join("NULL" if v is None else literal(v) for v in values)


def test_there_are_many_pairs() -> None:
    for kind in ("mariadb", "mysql"):
        assert sum(map(len, pairs(kind).values())) + len(ROWS) >= 600


def test_pairs_of_values(place: Place) -> None:
    """Comparison, digest (alone, next to another column, of swapped columns) and replay."""
    cases = pairs(place.kind)
    with place.connect() as conn:
        place.run(conn, "SET sql_mode = 'ALLOW_INVALID_DATES'")
        for i, (sql_type, rows) in enumerate(cases.items()):
            made = ", ".join(f"({n}, {listed(one, two)}, 7)" for n, (one, two, _) in enumerate(rows))
            place.run(conn, f"CREATE TABLE p{i} (id int PRIMARY KEY, x {sql_type}, y {sql_type}, z int)")
            place.run(conn, f"INSERT INTO p{i} VALUES {made}")
    with reading(place) as session:
        for i, (sql_type, rows) in enumerate(cases.items()):
            _, x, y, z = probe(session, place, f"p{i}").columns
            swapped = text(connector_of(place).expressions.row_digest([(x, named("p", "y")), (y, named("p", "x"))]))
            found = session.rows(
                f"SELECT {text(MARIA.expressions.null_safe_distinct(x, named('p', 'x'), named('p', 'y')))} AS differs, "
                f"{digest('p', x)} <> {digest('p', y)} AS alone, {digest('p', x, z)} <> {digest('p', y, z)} AS first, "
                f"{digest('p', z, x)} <> {digest('p', z, y)} AS last, {digest('p', x, y)} <> {swapped} AS turned, "
                f"{text(MARIA.expressions.travel_form(y, named('p', 'y')))} AS wire FROM p{i} AS p ORDER BY id"
            )
            for (one, two, differ), r in zip(rows, found, strict=True):
                assert list(r)[:5] == [differ] * 5, (sql_type, one, two)
            check_replay(
                place,
                f"p{i}",
                x,
                [(differ, (sql_type, two) in LOSSY) for _, two, differ in rows],
                [written(y, r.wire) for r in found],
            )


def check_replay(place: Place, name: str, x: Column, expected: list[tuple[bool, bool]], wires: list[str]) -> None:
    """Check that replay of each pair gives the new value, and that it differs where expected."""
    with place.connect() as conn:
        rows = ", ".join(f"({n}, {wire})" for n, wire in enumerate(wires))
        place.run(conn, "SET sql_mode = 'ALLOW_INVALID_DATES'")
        place.run(conn, f"CREATE TEMPORARY TABLE back (id int PRIMARY KEY, x {connector_of(place).ddl.column_type(x)})")
        place.run(conn, f"INSERT INTO back VALUES {rows}")
        found = place.run(
            conn,
            f"SELECT {same(x, 'b.x', 'p.y')}, NOT ({same(x, 'b.x', 'p.x')}) FROM {name} p JOIN back b USING (id) "
            "ORDER BY id",
        )
    for (differ, lossy), (arrived, changed) in zip(expected, found, strict=True):
        assert lossy or (arrived, changed) == (1, differ), (name, x.sql_type)


def test_pairs_of_rows(place: Place) -> None:
    """Rows whose values have equal concatenations, in columns of all lengths and charsets."""
    cases: dict[tuple[str, str], list[str]] = {}
    for sql_types, one, two in ROWS:
        rows = cases.setdefault(sql_types, [])
        rows += [f"({len(rows)}, {listed(*one)})", f"({len(rows) + 1}, {listed(*two)})"]
    with place.connect() as conn:
        for i, (sql_types, rows) in enumerate(cases.items()):
            place.run(conn, f"CREATE TABLE r{i} (id int PRIMARY KEY, a {sql_types[0]}, b {sql_types[1]})")
            place.run(conn, f"INSERT INTO r{i} VALUES {', '.join(rows)}")
    with reading(place) as session:
        for i, (sql_types, rows) in enumerate(cases.items()):
            _, a, b = probe(session, place, f"r{i}").columns
            found = session.rows(
                f"SELECT p.id, {digest('p', a, b)} = {digest('q', a, b)} AS same, "
                f"{digest('p', b, a)} = {digest('q', b, a)} AS turned "
                f"FROM r{i} p JOIN r{i} q ON q.id = p.id + 1 WHERE p.id % 2 = 0 ORDER BY 1"
            )
            assert [list(r) for r in found] == [[n, 0, 0] for n in range(0, len(rows), 2)], sql_types


# -- under SUM -------------------------------------------------------------------------------------------------------
def test_rows_that_swap_a_value_change_the_sum(place: Place) -> None:
    """Two rows of each type exchange their values.

    The sum of digests must change; a sum of linear hashes would not.
    """
    swaps = 0
    with new_place(place, place.kind) as full:
        tables = load_values(full)
        with reading(full) as session:
            for sql_type, name in tables.items():
                key, x = probe(session, full, name).columns

                def of(row: str, value: str, key: Column = key, x: Column = x) -> str:
                    return text(
                        connector_of(full).expressions.row_digest([(key, named(row, "id")), (x, named(value, "x"))])
                    )

                rows = session.rows(
                    f"SELECT count(*) AS n, sum({of('a', 'a')} + 0.0 + {of('b', 'b')} = {of('a', 'b')} + 0.0 + "
                    f"{of('b', 'a')}) AS missed FROM {name} AS a JOIN {name} AS b ON b.id > a.id AND "
                    f"{text(MARIA.expressions.null_safe_distinct(x, named('a', 'x'), named('b', 'x')))}"
                )
                assert rows[0].missed == 0, sql_type
                swaps += rows[0].n
    assert swaps > 14_000


def test_a_hundred_thousand_random_swaps_and_rotations_are_seen(place: Place) -> None:
    place.sql("CREATE TABLE swaps (id int PRIMARY KEY, a int, b varchar(9), c double)")
    place.sql(
        f"INSERT INTO swaps SELECT n, floor(rand(7) * 1000), elt(1 + n % 3, 'x', '', NULL), n % 2 FROM {NUMBERS} q"
    )
    with reading(place) as session:
        key, a, b, c = probe(session, place, "swaps").columns

        def of(row: str, value: str) -> str:
            parts = [(key, named(row, "id")), (a, named(value, "a")), (b, named(row, "b")), (c, named(row, "c"))]
            return text(connector_of(place).expressions.row_digest(parts)) + " + 0.0"

        def total(values: str) -> str:
            return " + ".join(map(of, "xyz", values))

        found = session.one(
            f"SELECT count(*) AS n, sum({total('xyz')} = {total('yxz')}) AS swapped, "
            f"sum({total('xyz')} = {total('yzx')}) AS turned FROM swaps AS x "
            "JOIN swaps AS y ON y.id = mod(x.id + 33333, 100000) JOIN swaps AS z ON z.id = mod(x.id + 71234, 100000) "
            "WHERE x.a <> y.a AND y.a <> z.a AND z.a <> x.a"
        )
    assert found.n > 99_000
    assert (found.swapped, found.turned) == (0, 0)


def test_sums_are_whole_numbers_in_any_order(place: Place) -> None:
    place.sql("CREATE TABLE sums (id int PRIMARY KEY, a int, KEY (a))")
    place.sql(f"INSERT INTO sums SELECT n, n * 7919 % 99991 FROM {NUMBERS} q WHERE n < 50000")
    with reading(place) as session:
        h = digest("s", *probe(session, place, "sums").columns)
        each = [r.h for r in session.rows(f"SELECT {h} AS h FROM sums s")]
        totals = [
            session.one(
                f"SELECT sum({h}) AS total FROM (SELECT * FROM sums {index} ORDER BY {order} LIMIT 99999) s"
            ).total
            for index, order in (("FORCE INDEX (PRIMARY)", "id"), ("FORCE INDEX (a)", "a"), ("", "id DESC"))
        ]
    assert all(type(h) is int and -(2**63) <= h < 2**63 for h in each)
    assert [str(t) for t in totals] == [str(sum(each))] * 3
    assert min(each) < -(2**62)
    assert max(each) > 2**62


@pytest.mark.campaign
def test_a_million_rows_have_a_million_digests(place: Place) -> None:
    """All digests differ; their halves collide as often as 32 random bits (116 of a million)."""
    place.sql("CREATE TABLE m (id bigint PRIMARY KEY, qty int, price decimal(12,2), at datetime, d double)")
    place.sql(
        "INSERT INTO m SELECT n + 100000 * d.d, n % 1000, n % 100000 / 100, '2024-01-01' + INTERVAL n SECOND, n * 1.5 "
        f"FROM {NUMBERS} q, {DIGITS} d"
    )
    with reading(place) as session:
        columns = probe(session, place, "m").columns
        found = session.one(
            "SELECT count(DISTINCT h) AS whole, count(DISTINCT h >> 32) AS high, "
            "count(DISTINCT h & 4294967295) AS low, count(h) AS n "
            f"FROM (SELECT {digest('m', *columns)} AS h FROM m) AS q"
        )
    assert (found.whole, found.n) == (1_000_000, 1_000_000)
    assert 999_820 < found.high < 999_940
    assert 999_820 < found.low < 999_940


# -- large rows ------------------------------------------------------------------------------------------------------
def test_the_widest_table_has_a_digest_that_sees_every_column(place: Place) -> None:
    limit = connector_of(place).column_limit
    place.sql(f"CREATE TABLE w ({', '.join(f'c{i} int' for i in range(limit))})")
    place.sql(f"INSERT INTO w (c0) VALUES (1); INSERT INTO w (c{limit - 1}) VALUES (1); INSERT INTO w () VALUES ()")
    with reading(place) as session:
        columns = probe(session, place, "w").columns
        assert len(columns) == limit
        found = session.one(f"SELECT count(DISTINCT {digest('w', *columns)}) AS n FROM w")
    assert found.n == 3


def test_values_above_max_allowed_packet(place: Place) -> None:
    """Three megabytes with a packet of one.

    Digests, comparisons and events are the same as without the limit.
    """
    must_own(place)
    kinds = ["longblob", "longtext", "longtext CHARACTER SET utf16", "json", "mediumtext", "text", "varchar(300)"]
    if place.kind == "mysql":
        kinds[3] = "longtext"  # MySQL writes no JSON as a text that is longer than a packet; see the next test
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(kinds))
    place.sql(f"CREATE TABLE large (id int PRIMARY KEY, {columns})")
    for row, tail in ((1, "x"), (2, "x"), (3, "X")):
        value = f"concat(repeat('ab', 1500000), '{tail}')"
        json = f"concat('\"', repeat('ab', 1500000), '{tail}\"')"
        place.sql(f"INSERT INTO large VALUES ({row}, {value}, {value}, {value}, {json}, {value}, '{tail}', '{tail}')")

    def digests_and_images() -> tuple[list[list[int]], list[list[str]]]:
        with reading(place) as session:
            every = probe(session, place, "large").columns[1:]
            forms = [digest("t", *every), *(digest("t", c) for c in every)]
            forms += [
                text(MARIA.expressions.null_safe_distinct(c, named("t", c.name), named("o", c.name))) for c in every
            ]
            joined = "FROM large AS t JOIN large AS o ON o.id = 1 ORDER BY t.id"
            digests = [list(r) for r in session.rows(f"SELECT {', '.join(forms)} {joined}")]
            forms = [text(MARIA.expressions.travel_form(c, named("t", c.name))) for c in every]
            images = session.rows(f"SELECT {', '.join(forms)} FROM large AS t ORDER BY t.id")
            return digests, [[v if isinstance(v, str) else v.decode() for v in r] for r in images]

    wanted, images = digests_and_images()
    with packet(place, 1024 * 1024):
        found, again = digests_and_images()
    assert found == wanted
    assert again == images
    assert None not in wanted[0]
    assert wanted[0] == wanted[1]
    assert all(a != b for a, b in zip(wanted[0][:8], wanted[2][:8], strict=True))
    assert [row[8:] for row in wanted] == [[0] * 7, [0] * 7, [1] * 7]
    assert images[2][1] == images[2][0] == "ab" * 1_500_000 + "X"


def test_values_larger_than_a_packet_stop_the_statement(place: Place) -> None:
    """The text of a geometry or a blob is longer than its bytes.

    If it exceeds a packet, nothing is sent.
    """
    must_own(place)
    place.sql("CREATE TABLE shapes (id int PRIMARY KEY, g linestring, b longblob, j json)")
    path = f"SELECT group_concat(concat(n, ' ', n) ORDER BY n) FROM {NUMBERS} q"
    place.sql(
        f"SET group_concat_max_len = 100000000; INSERT INTO shapes SELECT 1, ST_GeomFromText(concat('LINESTRING(', "
        f"({path}), ')')), repeat('x', 900000), concat('\"', repeat('x', 1500000), '\"')"
    )
    with packet(place, 1024 * 1024), reading(place) as session:
        key, g, b, j = probe(session, place, "shapes").columns
        assert session.one(f"SELECT {digest('s', key, g, b)} AS h FROM shapes s").h is not None
        cut = [MARIA.expressions.canonical_text(b, named("s", "b"))]
        shape = MARIA.expressions.travel_form(g, named("s", "g"))
        if place.kind == "mysql":  # hexadecimal digits have no limit there, the text of JSON has one
            cut.append(MARIA.expressions.travel_form(j, named("s", "j")))
            assert session.one(f"SELECT {text(shape)} = hex(g) AND length(hex(g)) > 1048576 AS x FROM shapes s").x == 1
        else:
            cut.append(shape)
        for form in cut:
            assert session.rows(f"SELECT {text(form)} FROM shapes s WHERE id = 0") == []
            with pytest.raises(DBAPIError, match="max_allowed_packet"):
                session.rows(f"SELECT {text(form)} FROM shapes s")


def test_a_row_that_no_packet_holds_has_no_digest_and_no_silence(place: Place) -> None:
    """The count of digests then differs from that of rows, which stops the poll."""
    must_own(place)
    columns = ", ".join(f"c{i} varchar(63)" for i in range(200))
    place.sql(f"CREATE TABLE broad (id int PRIMARY KEY, {columns}) ENGINE = MyISAM")  # InnoDB's rows are shorter
    full = ", repeat('🙂', 60)" * 200
    place.sql(f"INSERT INTO broad VALUES (1{full}), (2{', NULL' * 200})")
    with packet(place, 16 * 1024), reading(place) as session:
        h = digest("b", *probe(session, place, "broad").columns)
        found = session.one(f"SELECT count(*) AS n, count(h) AS digests FROM (SELECT {h} AS h FROM broad b) q")
    assert list(found) == [2, 1]
