"""Values of every MariaDB and MySQL type: close to each other, extreme or awkward.

`VALUES` maps the SQL of a type to inputs: texts, bytes, or SQL (`Sql`). Tests add NULL. All inputs of a type are
different values, except those in `EQUAL`.
"""

from __future__ import annotations

from collections.abc import Sequence


class Sql(str):
    """An input that is SQL."""


Input = str | bytes | Sql

_TEXTS = [
    "",
    " ",
    "  ",
    "a",
    "A",
    "a ",
    " a",
    "a\t",
    "null",
    "NULL",
    "N",
    "0",
    "-0",
    "1:",
    "1:a",
    "ä",
    "a\u0308",
    "Ä",
    "ß",
    "ss",
    "é\t",
    "line\nbreak",
    "line\r\nbreak",
    "it's",
    '"q"',
    "`q`",
    "\\",
    "\\N",
    "\\0",
    "\\'",
    "%",
    "%s",
    "%(a)s",
    "{",
    "{}",
    "{d '1'}",
    "?",
    ":a",
    ";--",
    "/*",
    ",",
    "a,b",
    "日本",
    "🙂",
    "👍🏽",
    "\u200b",
    "\x00",
    "a\x00",
    "\x01",
    "\x1a",
    "\x7f",
    "\xa0",
    "\u2028",
    "\u3000",
    "x" * 50,
]
_LONG = [*_TEXTS, "x" * 255, "x" * 256, "x" * 254 + "y", "ä" * 128, "🙂" * 60]
_BLOBS = [
    b"",
    b"\x00",
    b"\x00\x00",
    b"\x20",
    b"\x41",
    b"A ",
    b"a",
    b"N",
    b"0",
    b"\xff",
    b"\xff\xfe",
    b"'\\%",
    b"\n\r\x1a",
]
_MEGABYTE = [
    Sql("repeat(X'00FF', 524288)"),
    Sql("concat(repeat(X'00FF', 524287), X'00FE')"),
    Sql("concat(X'01', repeat(X'00FF', 524288))"),
]
_TEXT_MEGABYTE = [Sql("repeat('ab', 524288)"), Sql("concat(repeat('ab', 524287), 'aB')")]
_FLOATS = [
    "0",
    "-0",
    "1",
    "-1",
    "0.1",
    "0.3",
    "-0.3",
    "1e30",
    "1e-30",
    "1234.5",
    "3.4028234e38",
    "-3.4028234e38",
    "1.17549435e-38",
    "16777216",
    "16777218",
    "16777214",
    "0.10000001",
    "1e-45",
    "123456.78",
    "123456.79",
]
_DOUBLES = [
    "0",
    "-0",
    "1",
    "-1",
    "0.1",
    "0.30000000000000004",
    "0.3",
    "1e30",
    "1.7976931348623157e308",
    "-1.7976931348623157e308",
    "2.2250738585072014e-308",
    "-2.2250738585072014e-308",
    "5e-324",
    "1e-323",
    "-5e-324",
    "9007199254740993e3",
    "9007199254740992",
    "9007199254740994",
    "-1.2345678901234567e-300",
    "-1.2345678901234569e-300",
    "0.1000000000000000055e1",
    "1.0000000000000002",
    "123456.78",
]
_DATES = [
    "0000-00-00",
    "0000-00-01",
    "0000-01-01",
    "0001-01-01",
    "1000-01-01",
    "1582-10-10",
    "1970-01-01",
    "2021-02-29",
    "2021-02-31",
    "2021-02-00",
    "2021-00-15",
    "2021-00-00",
    "2024-02-29",
    "9999-12-31",
    "9999-02-31",
]
_CLOCKS = [
    "0000-00-00 00:00:00",
    "0000-00-00 01:02:03",
    "0001-01-01 00:00:00",
    "1969-12-31 23:59:59",
    "2021-02-31 23:59:59",
    "2024-03-10 02:30:00",
    "2024-11-03 01:30:00",
    "9999-12-31 23:59:59",
]
_STAMPS = [
    "0000-00-00 00:00:00",
    "1970-01-01 00:00:01",
    "2024-03-31 01:30:00",
    "2024-10-27 01:30:00",
    "2024-10-27 02:30:00",
    "2038-01-19 03:14:07",
]
_TIMES = [
    "00:00:00",
    "00:00:01",
    "-00:00:01",
    "12:34:56",
    "23:59:59",
    "24:00:00",
    "100:00:00",
    "-100:00:00",
    "838:59:59",
    "-838:59:59",
]
_JSON = [
    "{}",
    "[]",
    "[null]",
    "null",
    "0",
    "1",
    "1.5",
    '"a"',
    '""',
    '"A"',
    '{"a": 1}',
    '{"a": 1, "b": [1, "x é 🙂"]}',
    '{"a": "line\\nbreak \\" \\\\"}',
    "true",
    '"true"',
    "123456789012345678901234567890",
]
_CP932 = [
    "",
    "a",
    "A",
    "a ",
    "ソ",
    "表",
    "能",
    "\\",
    "ﾊ",
    "ハ",
    "は",
    "～",
    "㈱",
    "'",
    "日本",
]  # trail bytes that are backslashes
_LATIN = ["", "a", "A", "a ", "ä", "Ä", "a\u00a0", "ß", "ss", "ÿ", "€", "\x81", "\\", "'", "\x7f"]
_SMALL = [t for t in _TEXTS if (len(t) <= 5 and not t.endswith(" ")) or t == ""]
_ENUM = ",".join(f"'e{i}'" for i in range(100))
_SET = ",".join(f"'m{i:02}'" for i in range(63)) + ",'M''\"%'"


def _shape(text: str, srid: int = 0) -> Sql:
    return Sql(f"ST_GeomFromText('{text}', {srid})")


def _ends(bits: int, unsigned: bool = False) -> list[Input]:
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return [str(n) for n in dict.fromkeys([0, 1, 7, low, low + 1, high, high - 1, high // 2 + 1])]


VALUES: dict[str, Sequence[Input]] = {
    "tinyint": _ends(8),
    "tinyint unsigned": _ends(8, True),
    "tinyint(1)": ["0", "1", "2", "-1", "127", "-128"],
    "tinyint(3) unsigned zerofill": ["0", "1", "10", "255"],
    "smallint": _ends(16),
    "smallint unsigned": _ends(16, True),
    "mediumint": _ends(24),
    "mediumint(8) unsigned zerofill": _ends(24, True),
    "int": _ends(32),
    "int unsigned": _ends(32, True),
    "int(10) unsigned zerofill": ["0", "42", "4294967295"],
    "bigint": [*_ends(64), "4294967296", "9007199254740993"],
    "bigint unsigned": _ends(64, True),
    "bigint(20) unsigned zerofill": ["0", "42", "18446744073709551615"],
    "decimal(65,30)": [
        "0",
        "1",
        "-1",
        "0." + "0" * 29 + "1",
        "-0." + "0" * 29 + "1",
        "9" * 35 + "." + "9" * 30,
        "-" + "9" * 35 + "." + "9" * 30,
        "9" * 35 + "." + "9" * 29 + "8",
    ],
    "decimal(38,10)": ["0", "1", "-1", "1234567890123456789012345678.0123456789", "0.0000000001", "-0.0000000001"],
    "decimal(39,0)": ["0", "9" * 39, "-" + "9" * 39],
    "decimal(12,2)": ["0", "0.01", "-0.01", "1", "10", "100", "100.50", "-100.50", "9999999999.99"],
    "decimal(10,0) unsigned zerofill": ["0", "5", "9999999999"],
    "float": _FLOATS,
    "float unsigned": ["0", "0.1", "3.4028234e38"],
    "float(7,4)": ["0", "-0", "0.0001", "-0.0001", "999.9999", "999.9998", "-999.9999", "0.1", "0.1001"],
    "double": _DOUBLES,
    "double(20,10)": ["0", "0.0000000001", "-0.0000000001", "1234567890.123", "9999999999", "0.1"],
    "bit(1)": [Sql("b'0'"), Sql("b'1'")],
    "bit(5)": [Sql("b'0'"), Sql("b'1'"), Sql("b'11111'"), Sql("b'10000'")],
    "bit(8)": [Sql("0"), Sql("48"), Sql("78"), Sql("255")],
    "bit(63)": [Sql("0"), Sql("9223372036854775807"), Sql("9223372036854775806")],
    "bit(64)": [
        Sql("0"),
        Sql("1"),
        Sql("9223372036854775808"),
        Sql("18446744073709551614"),
        Sql("18446744073709551615"),
    ],
    "year": ["0000", "1901", "1970", "2000", "2155"],
    "date": _DATES,
    "time": _TIMES,
    "time(3)": [*_TIMES[:5], "00:00:00.001", "-00:00:00.001", "838:59:59.000"],
    "time(6)": [*_TIMES, "00:00:00.000001", "-00:00:00.000001", "00:00:00.1", "23:59:59.999999", "-838:59:58.999999"],
    "datetime": _CLOCKS,
    "datetime(3)": [*_CLOCKS, "2024-01-01 00:00:00.123", "2024-01-01 00:00:00.124"],
    "datetime(6)": [
        *_CLOCKS,
        "2024-01-01 00:00:00.000001",
        "2024-01-01 00:00:00.000002",
        "0000-00-00 00:00:00.000001",
        "9999-12-31 23:59:59.999999",
    ],
    "timestamp NULL": _STAMPS,
    "timestamp(6) NULL": [
        *_STAMPS,
        "1970-01-01 00:00:01.000001",
        "2024-03-31 01:30:00.000001",
        "2038-01-19 03:14:07.999999",
    ],
    "enum('low','a','x,y','it''s','1','Ü','\\\\n','/* c */')": [
        "low",
        "a",
        "x,y",
        "it's",
        "Ü",
        "\\n",
        "/* c */",
        Sql("5"),
        "nothing",
    ],
    "enum('2','1','0')": [Sql("1"), Sql("2"), Sql("3")],
    f"enum({_ENUM})": ["e0", "e1", "e9", "e10", "e63", "e64", "e98", "e99"],
    "set('x','y','z')": ["", "x", "y", "x,y", "x,y,z", "z"],
    f"set({_SET})": ["", "m00", "m62", "M'\"%", "m00,m01", Sql("18446744073709551615"), Sql("9223372036854775809")],
    "json": _JSON,
    "char(5)": [*_SMALL, "a b", "🙂🙂🙂🙂🙂"],
    "char(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin": ["", "a", "A", "a b", "ä"],
    "char(255)": ["", "a", "ä" * 255, "🙂" * 255],
    "varchar(80)": _TEXTS,
    "varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin": _TEXTS,
    "varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci": _TEXTS,
    "varchar(80) CHARACTER SET utf8mb3": [t for t in _TEXTS if max(t, default="") <= "\uffff"],
    "varchar(20) CHARACTER SET latin1": _LATIN,
    "char(9) CHARACTER SET latin1 COLLATE latin1_german2_ci": ["", "a", "A", "ä", "ae", "ß", "ss"],
    "varchar(20) CHARACTER SET ascii": ["", "a", "A", "a ", "\\", "'", "\x00", "\x7f"],
    "varchar(20) CHARACTER SET cp932": _CP932,
    "varchar(20) CHARACTER SET gbk": ["", "a", "縗", "\\", "'", "中"],
    "varchar(80) CHARACTER SET utf16": _TEXTS,
    "varchar(60) CHARACTER SET utf32": _TEXTS,
    "varchar(60) CHARACTER SET ucs2": [t for t in _TEXTS if max(t, default="") <= "\uffff"],
    "char(9) CHARACTER SET utf16": ["", "a", "ab", "N", "5:", "🙂"],
    "varchar(300)": _LONG,
    "varchar(300) CHARACTER SET utf16": _LONG,
    "tinytext": [*_TEXTS, "x" * 255],
    "text": _LONG,
    "text CHARACTER SET latin1": _LATIN,
    "mediumtext": [*_LONG[-5:], "", "N", "0", "x" * 70_000],
    "longtext": ["", "N", "0", "1:", "a", "A", "a ", *_TEXT_MEGABYTE],
    "binary(4)": [b"", b"\x20", b"a", b"A", b"a ", b"ab", b"N", b"\xff\xff\xff\xff", b"\x00\x00\x00\x01"],
    "binary(255)": [b"", b"a", b"\xff" * 255],
    "varbinary(20)": _BLOBS,
    "varbinary(300)": [*_BLOBS, b"\x0a" * 255, b"\x0a" * 256, b"\x0a" * 300],
    "tinyblob": _BLOBS,
    "blob": [*_BLOBS, b"\xde\xad" * 4000],
    "mediumblob": [b"", b"\x00", b"\x00\x00", b"\x27" * 70_000],
    "longblob": [b"", b"\x00", b"N", *_MEGABYTE],
    "uuid": [
        "00000000-0000-0000-0000-000000000000",
        "00000000-0000-0000-0000-000000000001",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "6ccd780c-baba-1026-9564-5b8c656024db",
        "6ccd780c-baba-4026-9564-5b8c656024db",
    ],
    "inet4": ["0.0.0.0", "10.0.0.1", "10.0.0.2", "255.255.255.255"],
    "inet6": [
        "::",
        "::1",
        "::10.0.0.1",
        "::ffff:10.0.0.1",
        "2001:db8::ff00:42:8329",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    ],
    "geometry": [
        _shape("POINT(1 2)"),
        _shape("POINT(1 2)", 4326),
        _shape("POINT(2 1)"),
        _shape("LINESTRING(1 2, 3 4)"),
        _shape("POINT(1 2.0000000000000004)"),
    ],
    "point": [_shape("POINT(0 0)"), _shape("POINT(0.1 0.3)"), _shape("POINT(0.1 0.3)", 4326)],
    "linestring": [_shape("LINESTRING(0 0, 1 1)"), _shape("LINESTRING(1 1, 0 0)")],
    "polygon": [_shape("POLYGON((0 0, 4 0, 4 4, 0 0))"), _shape("POLYGON((0 0, 4 0, 4 5, 0 0))")],
    "multipoint": [_shape("MULTIPOINT(0 0, 1 1)"), _shape("MULTIPOINT(1 1, 0 0)")],
    "multilinestring": [_shape("MULTILINESTRING((0 0, 1 1))"), _shape("MULTILINESTRING((0 0, 1 1), (1 1, 2 2))")],
    "multipolygon": [_shape("MULTIPOLYGON(((0 0, 4 0, 4 4, 0 0)))"), _shape("MULTIPOLYGON(((0 0, 4 0, 4 5, 0 0)))")],
    "geometrycollection": [
        _shape("GEOMETRYCOLLECTION(POINT(1 2))"),
        _shape("GEOMETRYCOLLECTION(POINT(1 2), POINT(1 2))"),
    ],
    "varchar(40) COMPRESSED": ["", "a", "A", "a ", "N", "x" * 40],
    "longblob COMPRESSED": [b"", b"\x00", b"a" * 5000, b"a" * 5001],
    "text COMPRESSED": ["", "a", "A", "a ", "b" * 5000],
    "int INVISIBLE": ["0", "1", "-1"],
    "varchar(20) INVISIBLE": ["", "a", "A"],
}
ONLY_MARIADB = {"uuid", "inet4", "inet6", "varchar(40) COMPRESSED", "longblob COMPRESSED", "text COMPRESSED"}
# Inputs that a type itself treats as equal.
EQUAL: dict[str, set[frozenset[str]]] = {
    "float": {frozenset({"0", "-0"})},
    "float(7,4)": {frozenset({"0", "-0"})},
    "double": {frozenset({"0", "-0"}), frozenset({"1", "0.1000000000000000055e1"})},
}


def values_of(kind: str) -> dict[str, list[str]]:
    """Return SQL literals of the values, by type, of all types that a server of this kind has."""
    return {
        sql_type: [literal(value) for value in values]
        for sql_type, values in VALUES.items()
        if kind == "mariadb" or sql_type not in ONLY_MARIADB
    }


def literal(value: Input) -> str:
    """Return an input as SQL."""
    if isinstance(value, Sql):
        return value
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return f"_utf8mb4 X'{value.encode().hex()}'"
