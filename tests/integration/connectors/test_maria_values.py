"""Values of every MariaDB and MySQL type: travel, digest and comparison.

Digest and comparison agree with the type's own equality.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url

from qbcd.catalog.source import Session
from qbcd.connectors.mysql_family import types
from qbcd.model import Column
from tests.support.maria_source import (
    KINDS,
    MARIA,
    column,
    connector_of,
    digest,
    load_values,
    named,
    probe,
    reading,
    same,
    source_of,
    text,
    written,
)
from tests.support.maria_values import EQUAL, ONLY_MARIADB, VALUES
from tests.support.places import Place, new_place, server_of

Values = tuple[Place, dict[str, str]]
# Settings of a session before the pins: by its user, by init_connect or by the server's configuration.
HOSTILE = (
    "sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE,NO_UNSIGNED_SUBTRACTION,"
    "NO_ZERO_DATE,NO_ZERO_IN_DATE,ONLY_FULL_GROUP_BY,REAL_AS_FLOAT'",
    "time_zone = '+13:00'",
    "lc_time_names = 'de_DE'",
    "default_week_format = 7",
    "div_precision_increment = 0",
    "group_concat_max_len = 4",
    "max_sort_length = 8",
    "sql_select_limit = 1",
    "sql_safe_updates = ON",
    "sql_auto_is_null = ON",
    "character_set_client = latin1",
    "character_set_results = cp850",
    "collation_connection = latin1_german2_ci",
)
ONLY_ON_MARIADB = ("old_mode = 'ZERO_DATE_TIME_CAST'", "sql_mode = concat(@@sql_mode, ',ORACLE,EMPTY_STRING_IS_NULL')")


@pytest.fixture(scope="module", params=KINDS)
def values(request: pytest.FixtureRequest) -> Iterator[Values]:
    """A database with one table per type, and the types' tables."""
    with new_place(server_of(request, request.param), request.param) as place:
        yield place, load_values(place)


def test_there_are_many_values() -> None:
    assert len(VALUES) >= 85
    assert sum(map(len, VALUES.values())) >= 1000
    assert set(VALUES) >= ONLY_MARIADB


# -- travel and back ---------------------------------------------------------------------------------------------------
def test_wire_values_come_back_as_the_very_same_value(values: Values) -> None:
    place, tables = values
    with reading(place) as session, place.connect() as conn:
        for sql_type, name in tables.items():
            x = column(probe(session, place, name), "x")
            assert types.type_problem(x) == ""
            over = MARIA.catalog.override_travel(x, "text")
            assert MARIA.expressions.fits_typed_sink(over, named("t", "x")) is None
            forms = [connector_of(place).expressions.travel_form(c, named("t", "x")) for c in (x, over)]
            forms.append(MARIA.expressions.canonical_text(x, named("t", "x")))
            changed_values = {
                form: missed(session, place, conn, name, x, form) for form in sorted(set(map(text, forms)))
            }
            assert not any(changed_values.values()), (sql_type, changed_values)


def missed(session: Session, place: Place, conn: Any, name: str, x: Column, form: str) -> list[Any]:
    """Insert wire values into a table of the column's storage type.

    Return the values that differ there.
    """
    wires = [(r.id, r.wire) for r in session.rows(f"SELECT t.id, {form} AS wire FROM {name} AS t ORDER BY t.id")]
    assert wires[0] == (0, None)
    mode = "ALLOW_INVALID_DATES" + ("" if x.base_type == "enum" else ",STRICT_ALL_TABLES")  # the error value
    rows = ", ".join(f"({number}, {written(x, wire)})" for number, wire in wires)
    made = f"CREATE TEMPORARY TABLE back (id int PRIMARY KEY, x {MARIA.ddl.column_type(x)})"
    place.run(conn, f"SET sql_mode = '{mode}'; {made}; INSERT INTO back VALUES {rows}")
    found = place.run(
        conn,
        f"SELECT b.id, left(hex(a.x), 80), left(hex(b.x), 80), {same(x, 'a.x', 'b.x')} "
        f"FROM {name} a JOIN back b USING (id)",
    )
    place.run(conn, "DROP TEMPORARY TABLE back")
    assert len(found) == len(wires)
    return [row for row in found if not row[-1]]


@pytest.mark.parametrize(
    ("sql_type", "fitting", "wires"),
    [
        (
            "date",
            {
                "0000-00-00": False,
                "0000-01-01": False,
                "0001-01-01": True,
                "2021-02-29": False,
                "2021-02-31": False,
                "2021-02-00": False,
                "2021-00-15": False,
                "2024-02-29": True,
                "1582-10-10": True,
                "9999-12-31": True,
                "9999-02-31": False,
            },
            {"0000-00-00": "0000-00-00", "2021-02-31": "2021-02-31", "1000-01-01": "1000-01-01"},
        ),
        (
            "datetime(3)",
            {"0000-00-00 01:02:03": False, "2021-02-31 23:59:59": False, "9999-12-31 23:59:59": True},
            {
                "2024-01-01 00:00:00.123": "2024-01-01T00:00:00.123000",
                "2021-02-31 23:59:59": "2021-02-31 23:59:59.000",
                "0000-00-00 00:00:00": "0000-00-00 00:00:00.000",
            },
        ),
        (
            "timestamp(6) NULL",
            {"0000-00-00 00:00:00": False, "1970-01-01 00:00:01": True},
            {
                "2038-01-19 03:14:07.999999": "2038-01-19T03:14:07.999999Z",
                "2024-10-27 01:30:00": "2024-10-27T01:30:00.000000Z",
                "0000-00-00 00:00:00": "0000-00-00 00:00:00.000000",
            },
        ),
        ("time", {}, {"-838:59:59": "-838:59:59.000000", "00:00:01": "00:00:01.000000"}),
        ("bigint unsigned", {}, {"18446744073709551615": Decimal(18446744073709551615)}),
        ("bit(64)", {}, {"18446744073709551615": Decimal(18446744073709551615), "1": Decimal(1)}),
        ("bit(5)", {}, {"b'11111'": 31}),
        ("tinyint(1)", {}, {"2": 2, "-128": -128}),
        ("year", {}, {"0000": 0, "2155": 2155}),
        ("int(10) unsigned zerofill", {}, {"42": 42}),
        ("float", {}, {"0.1": 0.10000000149011612, "123456.79": 123456.7890625, "-0": 0.0}),
        ("float(7,4)", {}, {"999.9999": 999.9998779296875}),
        ("double", {}, {"-1.7976931348623157e308": -1.7976931348623157e308, "5e-324": 5e-324}),
        ("decimal(65,30)", {}, {"1": "1." + "0" * 30}),
        ("decimal(12,2)", {}, {"-0.01": "-0.01"}),
        ("char(5)", {}, {"a": "a", "": ""}),
        ("binary(4)", {}, {"b'a'": b"a\0\0\0"}),
        ("varchar(20) CHARACTER SET cp932", {}, {"\u8868": "\u8868", "\uff8a": "\uff8a"}),
        ("set('x','y','z')", {}, {"x,y": "x,y", "": ""}),
        (
            "enum('low','a','x,y','it''s','1','Ü','\\\\n','/* c */')",
            {},
            {"nothing": "", "5": "1", "/* c */": "/* c */"},
        ),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_wire_form(values: Values, sql_type: str, fitting: dict[str, bool], wires: dict[str, Any]) -> None:
    place, tables = values
    with reading(place) as session:
        x = column(probe(session, place, tables[sql_type]), "x")
        form, fits = (
            MARIA.expressions.travel_form(x, named("t", "x")),
            MARIA.expressions.fits_typed_sink(x, named("t", "x")),
        )
        held = text(fits) if fits is not None else "TRUE"
        rows = session.rows(f"SELECT {text(form)} AS wire, {held} AS held FROM {tables[sql_type]} AS t ORDER BY t.id")
    given = dict(zip([None, *(v if isinstance(v, str) else repr(v) for v in VALUES[sql_type])], rows, strict=True))
    assert given[None].held == 1
    assert given[None].wire is None
    assert {value: bool(given[value].held) for value in fitting} == fitting
    assert {value: given[value].wire for value in wires} == wires


def test_copies_in_tables_of_our_own_are_the_same_values(values: Values) -> None:
    """A replica and an outbox store every value unchanged in a strict session.

    Zero dates and error values are among them.
    """
    place, tables = values
    connector, source = connector_of(place), source_of(place)
    for sql_type, name in tables.items():
        with source.write("orders") as session:
            x = column(probe(session, place, name), "x")
            columns = [("id", "int"), ("x", connector.ddl.column_type(x)), ("image", connector.ddl.image_type(x))]
            session.run(connector.ddl.create_table(f"copy_{name}", columns, ["id"]))
            session.run(f"INSERT INTO copy_{name} SELECT id, x, x FROM {name}")
            copied = column(probe(session, place, f"copy_{name}"), "x")
            distinct = text(connector.expressions.null_safe_distinct(x, named("t", "x"), named("c", "x")))
            image = text(connector.expressions.null_safe_distinct(x, named("t", "x"), named("c", "image")))
            hashed = f"{digest('t', x)} <> {digest('c', copied)}"
            found = session.rows(
                f"SELECT t.id FROM {name} t JOIN copy_{name} c ON c.id = t.id WHERE {distinct} OR {image} OR {hashed} "
                f"OR NOT ({same(x, 't.x', 'c.x')}) OR NOT ({same(x, 't.x', 'c.image')})"
            )
            assert found == [], sql_type
            assert (copied.sql_type, copied.collation, copied.facts) == (x.sql_type, x.collation, x.facts), sql_type
    source.close()


def test_generated_and_invisible_columns(values: Values) -> None:
    place, _ = values
    place.sql("""
        CREATE TABLE made (id int PRIMARY KEY, a int, seen int GENERATED ALWAYS AS (a * 2) VIRTUAL,
          kept varchar(30) GENERATED ALWAYS AS (concat('n', a)) STORED, hidden decimal(9,2) INVISIBLE DEFAULT 1);
        INSERT INTO made (id, a) VALUES (1, 5), (2, NULL)
        """)

    def read_rows(*names: str) -> list[Any]:
        with reading(place) as session:
            table = probe(session, place, "made")
            columns = [column(table, n) for n in names]
            wires = ", ".join(text(MARIA.expressions.travel_form(c, named("t", c.name))) for c in columns)
            return [list(r) for r in session.rows(f"SELECT {digest('t', *columns)}, {wires} FROM made t ORDER BY id")]

    names = ["seen", "kept", "hidden"]
    before = read_rows(*names)
    assert [r[1:] for r in before] == [[10, "n5", "1.00"], [None, None, "1.00"]]
    for change, changed in (("a = 6", "seen"), ("a = 7", "kept"), ("hidden = 1.01", "hidden")):
        old = read_rows(changed)
        place.sql(f"UPDATE made SET {change} WHERE id = 1")
        new = read_rows(changed)
        assert new[0][0] != old[0][0], changed
        assert new[1] == old[1]
    with reading(place) as session:
        assert [c.name for c in probe(session, place, "made").columns] == ["id", "a", *names]


# -- equality ---------------------------------------------------------------------------------------------------------
def test_digest_and_comparison_distinguish_exactly_the_values(values: Values) -> None:
    """Two inputs of a type are one value only if `EQUAL` says so; NULL equals none."""
    place, tables = values
    pairs = 0
    with reading(place) as session:
        for sql_type, name in tables.items():
            x = column(probe(session, place, name), "x")
            inputs = [None, *map(str, VALUES[sql_type])]
            distinct = text(MARIA.expressions.null_safe_distinct(x, named("a", "x"), named("b", "x")))
            rows = session.rows(
                f"SELECT a.id AS one, b.id AS two, {distinct} AS found, {digest('a', x)} <> {digest('b', x)} AS hashed "
                f"FROM {name} AS a JOIN {name} AS b ON a.id <= b.id"
            )
            assert len(rows) == len(inputs) * (len(inputs) + 1) // 2
            for r in rows:
                equal = frozenset({inputs[r.one], inputs[r.two]}) in EQUAL.get(sql_type, set())
                wanted = int(r.one != r.two and not equal)
                assert (r.found, r.hashed) == (wanted, wanted), (sql_type, inputs[r.one], inputs[r.two])
            pairs += len(rows)
    assert pairs >= 15_000


def test_a_row_of_all_types_has_one_digest_by_every_read(values: Values) -> None:
    """From the table, a copy of another format, a materialized view, and behind an outer join."""
    place, tables = values
    shown = {t: n for t, n in tables.items() if not t.startswith(("long", "medium")) and "INVISIBLE" not in t}
    names = ", ".join(shown.values())
    made = ", ".join(f"{n} {t}" for t, n in shown.items())
    one = ", ".join(f"(SELECT x FROM {n} WHERE id = 1)" for n in shown.values())
    place.sql("DROP TABLE IF EXISTS wide, wide2; DROP VIEW IF EXISTS seen")
    place.sql(f"CREATE TABLE wide (k int PRIMARY KEY, {made}); INSERT INTO wide (k, {names}) SELECT 1, {one}")
    place.sql(f"CREATE TABLE wide2 (k int PRIMARY KEY, {made}) ENGINE = MyISAM")
    place.sql(f"INSERT INTO wide2 (k, {names}) SELECT k, {names} FROM wide")
    place.sql(f"CREATE ALGORITHM = TEMPTABLE VIEW seen AS SELECT k, {names} FROM wide")
    with reading(place) as session:
        columns = probe(session, place, "wide").columns
        shown_by_view = probe(session, place, "seen").columns
        assert [(c.sql_type, c.travel, c.comparison, c.facts) for c in shown_by_view] == [
            (c.sql_type, c.travel, c.comparison, c.facts) for c in columns
        ]
        whole = digest("t", *columns)
        found = {
            session.one(f"SELECT {whole} AS h FROM {relation} AS t {more}").h
            for relation in ("wide", "wide2", "seen", "(SELECT * FROM seen LIMIT 5)", "(SELECT DISTINCT * FROM wide)")
            for more in ("", "LEFT JOIN v0 ON v0.id = t.k", "ORDER BY t.k DESC")
        }
        late = session.one(f"SELECT {whole} AS h FROM v0 LEFT JOIN seen AS t ON t.k = v0.id WHERE v0.id = 1").h
    assert found == {late}
    assert len(columns) == len(shown) + 1


# -- settings ----------------------------------------------------------------------------------------------------------
def test_settings_of_a_session_change_nothing(values: Values) -> None:
    place, tables = values
    hostile = [*(ONLY_ON_MARIADB if place.kind == "mariadb" else ()), *HOSTILE]
    ours, theirs = everything(place, tables, []), everything(place, tables, hostile)
    for sql_type in tables:
        assert theirs[sql_type] == ours[sql_type], sql_type
    assert len(ours) == len(tables)


def everything(place: Place, tables: dict[str, str], settings: list[str]) -> dict[str, Any]:
    """Return all results of the primitives in a session that was pinned after other settings."""
    connector, url = connector_of(place), make_url(place.url)
    arguments = connector.sessions.connect_args(url, stream="s", read_only=True)
    engine = create_engine(connector.sessions.sqlalchemy_url(url), connect_args=arguments)
    found = {}
    with engine.connect() as connection:
        session = Session(connection)
        for setting in settings:
            session.run(f"SET SESSION {setting}")
        session.run("; ".join(connector.sessions.pins()))
        awkward = MARIA.ranges.bound(column(probe(session, place, tables["text"]), "x"), "a\\'\"b\\\\ü🙂%s")
        assert session.one(f"SELECT {text(awkward)}")[0] == "a\\'\"b\\\\ü🙂%s"
        for sql_type, name in tables.items():
            x = column(probe(session, place, name), "x")
            held = MARIA.expressions.fits_typed_sink(x, named("t", "x"))
            forms = [
                MARIA.expressions.row_digest([(x, named("t", "x"))]),
                MARIA.expressions.canonical_text(x, named("t", "x")),
                MARIA.expressions.travel_form(x, named("t", "x")),
                *([held] if held else []),
            ]
            if not MARIA.catalog.key_problem(x):
                forms.append(MARIA.expressions.key_identity([(x, named("t", "x"))]))
            rows = session.rows(f"SELECT {', '.join(map(text, forms))} FROM {name} AS t ORDER BY t.id")
            found[sql_type] = [x, rows]
    engine.dispose()
    return found
