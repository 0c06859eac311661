"""Rows of a source through its control driver in a local database: the very values, in chunks, or an error in words."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from qbcd.connectors import sessions
from qbcd.connectors.mysql_family import text_columns
from qbcd.connectors.postgresql import copy
from qbcd.errors import LocalFailed, SourceError, UnsupportedType
from qbcd.local.database import LocalDatabase
from qbcd.local.source import SourceReads, fetch_rows
from qbcd.model import Statement
from tests.support.local_rows import STREAM, fetched, source, wire_rows
from tests.support.places import Place, over

TEXTS = [
    "",
    " a ",
    "NULL",
    '"q"',
    "it's",
    "a,b",
    "line\nbreak\r\n",
    "\\N\\.\\x41",
    "\t",
    "日本🙂",
    "%s%(a)s",
    "\\.",
    "t",
]
BYTES = [b"", b"\0\x01\xff", b"\\x41", b'"\n,', b"\xff" * 300]
DOUBLES = [0.1, -1.5e300, 5e-324, 1.7976931348623157e308, 9007199254740993.0]
FLOATS = ["0.1", "3.4028235e38", "1e-45", "16777217"]
# By the database: type, wire type, values as SQL, and as they must arrive.
Cases = list[tuple[str, str, list[str], list[Any]]]


def single(text: str) -> float:
    """Return the number of 32 bits that is nearest."""
    return float(struct.unpack("f", struct.pack("f", float(text)))[0])


def texts(values: list[str]) -> list[str]:
    return [f"'{value.replace(chr(39), chr(39) * 2)}'" for value in values]


POSTGRES: Cases = [
    ("boolean", "boolean", ["true", "false"], [True, False]),
    ("smallint", "smallint", ["-32768", "32767"], [-32768, 32767]),
    ("int", "int", ["-2147483648", "0"], [-2147483648, 0]),
    ("bigint", "bigint", ["-9223372036854775808", "9223372036854775807"], [-(2**63), 2**63 - 1]),
    ("real", "float", [f"'{f}'" for f in [*FLOATS, "NaN", "-Infinity"]], [*map(single, FLOATS), math.nan, -math.inf]),
    ("float8", "double", [*map(repr, DOUBLES), "'NaN'", "'Infinity'"], [*DOUBLES, math.nan, math.inf]),
    ("float8", "double", ["'-0'"], [-0.0]),
    ("numeric(12,2)", "string", ["1.5", "'NaN'"], ["1.50", "NaN"]),
    ("text", "string", texts(TEXTS), TEXTS),
    ("char(3)", "string", ["'a'"], ["a  "]),
    ("bytea", "binary", [f"'\\x{value.hex()}'" for value in BYTES], BYTES),
    ("timestamptz", "string", ["'2024-03-10 02:30:00.5+01'"], ["2024-03-10T01:30:00.500000Z"]),
    ("int[]", "string", ["'{1,NULL}'"], ["[1,null]"]),
]
MARIA: Cases = [
    ("tinyint(1)", "smallint", ["2", "-128"], [2, -128]),
    ("int unsigned", "bigint", ["4294967295", "0"], [4294967295, 0]),
    ("bigint unsigned", "decimal(20,0)", ["18446744073709551615", "0"], [Decimal(2**64 - 1), Decimal(0)]),
    ("bigint", "bigint", ["-9223372036854775808", "7"], [-(2**63), 7]),
    ("bit(9)", "bigint", ["b'101'", "b'111111111'"], [5, 511]),
    ("year", "smallint", ["2024"], [2024]),
    (
        "float",
        "float",
        ["0.1", "1e-45", "3.4028234e38", "16777217"],
        [*map(single, ["0.1", "1e-45", "3.4028234e38"]), 16777216.0],
    ),
    ("double", "double", [*map(repr, DOUBLES)], DOUBLES),
    ("decimal(12,2)", "string", ["1.5"], ["1.50"]),
    ("text", "string", [f"_utf8mb4 X'{value.encode().hex()}'" for value in [*TEXTS, "a\0b"]], [*TEXTS, "a\0b"]),
    ("varchar(9) CHARACTER SET latin1", "string", ["'ÄÿÉ'"], ["ÄÿÉ"]),
    ("char(3)", "string", ["'a '"], ["a"]),
    ("longblob", "binary", [f"X'{value.hex()}'" for value in BYTES], BYTES),
    ("longblob", "binary", ["repeat('x', 70000)"], [b"x" * 70000]),
    ("enum('a','b')", "string", ["'b'"], ["b"]),
    ("set('a','b')", "string", ["'a,b'", "''"], ["a,b", ""]),
    ("datetime(6)", "string", ["'2024-03-10 02:30:00.5'"], ["2024-03-10T02:30:00.500000"]),
    ("time", "string", ["'-838:59:59'"], ["-838:59:59.000000"]),
]
CASES: Mapping[str, Cases] = {"postgresql": POSTGRES, "mariadb": MARIA, "mysql": MARIA}


def same(one: Any, other: Any) -> bool:
    """Return True for the same value of the same type; NaN is itself, and -0 is not 0."""
    return type(one) is type(other) and (repr(one) == repr(other) if isinstance(one, float) else one == other)


def load(place: Place, cases: Cases) -> list[tuple[Any, ...]]:
    """Make table `t` with a column for each case and NULL in its last row; return the expected rows."""
    depth = max(len(expected) for *_, expected in cases) + 1
    place.sql(f"CREATE TABLE t (id int PRIMARY KEY, {', '.join(f'v{i} {case[0]}' for i, case in enumerate(cases))})")
    padded = [
        [[*part, *["NULL" if part is case[2] else None] * (depth - len(part))] for part in case[2:]] for case in cases
    ]
    rows = [[given[n] for given, _ in padded] for n in range(depth)]
    with place.connect() as conn:
        values = ", ".join(f"({n}, {', '.join(row)})" for n, row in enumerate(rows))
        place.run(conn, f"INSERT INTO t VALUES {values}")
    return [(n, *(expected[n] for _, expected in padded)) for n in range(depth)]


@over("way", ["fast", "in tiny pieces", "plain"])
def test_values_arrive_as_they_are(way: str, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "in tiny pieces":
        for module in (copy, text_columns):
            monkeypatch.setattr(module, "CHUNK_ROWS", 2)
        monkeypatch.setattr(text_columns, "BLOCK", 3)
    cases = CASES[place.kind]
    expected = load(place, cases)
    with source(place, plain=way == "plain") as shop:
        statement, fields = wire_rows(shop, place, "t")
        assert [kind for _, kind in fields[1:]] == [case[1] for case in cases]
        reads = [f"{statement} WHERE id < 3", f"{statement} WHERE id >= 3"]
        rows = sorted(fetched(shop, reads, fields, tmp_path, at_once=2))
    wrong = [(have, want) for h, w in zip(rows, expected, strict=True) for have, want in zip(h, w, strict=True)]
    assert [pair for pair in wrong if not same(*pair)] == []


# -- sessions ----------------------------------------------------------------------------------------------------------
ABOUT: Mapping[str, tuple[str, set[tuple[str, str]]]] = {  # name and settings of the session; what they must be
    "postgresql": (
        "current_setting('transaction_isolation'), current_setting('transaction_read_only') || ' ' || "
        "current_setting('TimeZone') || ' ' || current_setting('application_name')",
        {("read committed", "on UTC qbcd/orders")},
    ),
    "mariadb": ("@@tx_isolation, concat(@@tx_read_only + 0, ' ', @@time_zone)", {("READ-COMMITTED", "1 +00:00")}),
    "mysql": (
        "@@transaction_isolation, concat(@@transaction_read_only + 0, ' ', @@time_zone)",
        {("READ-COMMITTED", "1 +00:00")},
    ),
}
SESSION = {"postgresql": "pg_backend_pid()", "mariadb": "connection_id()", "mysql": "connection_id()"}


@over()
def test_sessions_are_read_only_pinned_and_at_most_so_many(place: Place, tmp_path: Path) -> None:
    about, expected = ABOUT[place.kind]
    level, rest = about.split(", ", 1)
    one = f"SELECT {SESSION[place.kind]} AS s, {level} AS a, {rest} AS b"
    with source(place) as shop:
        rows = fetched(shop, [one] * 5, [("s", "bigint"), ("a", "string"), ("b", "string")], tmp_path, at_once=2)
    assert len(rows) == 5
    assert len({s for s, *_ in rows}) <= 2
    assert {(a, b) for _, a, b in rows} == expected


@over()
def test_statements_with_parameters_and_without_rows(place: Place, tmp_path: Path) -> None:
    given = Statement("SELECT %(a)s AS a, '%%' AS p, 1 AS other", {"a": "it's 100 %\\"})
    none = "SELECT 'x' AS a, '%s' AS p FROM (SELECT 1 AS one) AS q WHERE one > 1 -- no row"
    fields = [("p", "string"), ("a", "string")]
    with source(place) as shop:
        assert fetched(shop, [given, none], fields, tmp_path) == [("%", "it's 100 %\\")]
        assert fetched(shop, [none], fields, tmp_path) == []
        assert fetched(shop, [], fields, tmp_path) == []


def test_readers_share_a_snapshot(place: Place, tmp_path: Path) -> None:
    place.sql("CREATE TABLE t (n int)")
    place.sql("INSERT INTO t VALUES (1)")
    with source(place) as shop, shop.read(STREAM) as session:
        name = shop.connector.require(sessions.SupportsSnapshots).export_snapshot(session.connection)
        place.sql("INSERT INTO t VALUES (2)")
        texts = ["SELECT n FROM public.t"] * 2
        assert fetched(shop, texts, [("n", "int")], tmp_path, at_once=2, snapshot=name) == [(1,), (1,)]
        assert sorted(fetched(shop, texts[:1], [("n", "int")], tmp_path)) == [(1,), (2,)]


# -- errors ------------------------------------------------------------------------------------------------------------
SLEEP = {"postgresql": "pg_sleep(60)", "mariadb": "sleep(60)", "mysql": "sleep(60)"}
SOON = 20.0  # seconds, on a busy machine; less than the sleep


def select(place: Place, value: str, most: int = 100_000) -> str:
    """Return a statement of one column `n` over the numbers from 1."""
    return f"SELECT {value} AS n FROM {place.numbers(most)}"


@over()
def test_an_error_amid_rows_ends_the_other_readers(place: Place, tmp_path: Path) -> None:
    failing = select(place, "9223372036854775707 + CASE WHEN n > 90000 THEN n ELSE 0 END")
    sleeping = f"SELECT 1 AS n FROM (SELECT {SLEEP[place.kind]} AS slept) AS q WHERE slept IS NOT NULL"
    began = time.monotonic()
    with source(place) as shop, pytest.raises(SourceError, match=r"source shop \(.*out of range") as failure:
        fetched(shop, [sleeping, failing], [("n", "bigint")], tmp_path, at_once=2)
    assert time.monotonic() - began < SOON
    assert failure.value.stream == STREAM


@over()
def test_a_value_that_does_not_fit_is_refused_without_its_text(place: Place, tmp_path: Path) -> None:
    with source(place) as shop:
        with pytest.raises(UnsupportedType, match="a value of n is no smallint") as refused:
            fetched(shop, [select(place, "76543 + n")], [("n", "smallint")], tmp_path)
        assert "7654" not in str(refused.value)
        assert fetched(shop, [select(place, "n", 2)], [("n", "smallint")], tmp_path) == [(1,), (2,)]


@over("encoding", ["SQL_ASCII"])
def test_a_text_without_a_unicode_form(encoding: str, place: Place, tmp_path: Path) -> None:
    words = "source shop .*: a text has no Unicode form: "
    if place.kind != "postgresql":
        with source(place) as shop, pytest.raises(UnsupportedType, match=words):
            fetched(shop, ["SELECT X'61ff62' AS t"], [("t", "string")], tmp_path)
        return
    other = place.at(f"{place.name}_e")
    place.sql(f"CREATE DATABASE {other.name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C' LOCALE_PROVIDER libc")
    try:
        with source(other) as shop, pytest.raises(UnsupportedType, match=words):
            fetched(shop, ["SELECT CAST(E'caf\\xe9' AS text) AS t"], [("t", "string")], tmp_path)
    finally:
        other.drop()


def test_a_database_without_room_ends_the_readers(place: Place, tmp_path: Path) -> None:
    database = LocalDatabase(20_000_000, tmp_path / "spill")
    database.connection.execute("SET max_temp_directory_size = '1MB'")
    long = select(place, "n || repeat(md5(CAST(n AS text)), 100)")
    began = time.monotonic()
    with (
        source(place) as shop,
        pytest.raises(LocalFailed, match=r"stream orders: DuckDB .*offload.*space of the workdir"),
    ):
        fetch_rows(database, SourceReads(shop, STREAM, [Statement(long)] * 2, at_once=2), [("n", "string")])
    database.close()
    assert time.monotonic() - began < SOON


# -- wide rows ---------------------------------------------------------------------------------------------------------
@over()
def test_rows_wider_than_a_chunk(place: Place, tmp_path: Path) -> None:
    """On MariaDB and MySQL such a row is several packets."""
    wide = (
        "repeat('x', CASE WHEN n = 2 THEN 9000000 ELSE n END) AS a, repeat('y', CASE WHEN n = 2 THEN 8000000 END) AS b"
    )
    with source(place) as shop:
        text = f"SELECT n, {wide} FROM {place.numbers(3)}"
        rows = fetched(shop, [text], [("n", "int"), ("a", "string"), ("b", "string")], tmp_path)
    expected = [(1, "x", None), (2, "x" * 9_000_000, "y" * 8_000_000), (3, "xxx", None)]
    assert [hash(row) for row in sorted(rows)] == [hash(row) for row in expected]  # no megabytes in a message
