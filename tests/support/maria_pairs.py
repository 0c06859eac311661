"""Pairs of values and of rows that a careless digest or comparison confuses."""

from __future__ import annotations

from itertools import pairwise

from tests.support.maria_values import Input, Sql, _shape

Pair = tuple[str, Input | None, Input | None]
UTF = "CHARACTER SET utf8mb4 COLLATE"


def _all(sql_type: str, *pairs: tuple[Input | None, Input | None]) -> list[Pair]:
    return [(sql_type, one, two) for one, two in pairs]


def _around(sql_type: str, *values: Input) -> list[Pair]:
    """Return pairs of each value with the next one, and with NULL."""
    return [(sql_type, a, b) for a, b in pairwise(values)] + [(sql_type, v, None) for v in values]


_NUMBERS = [
    *_around("tinyint", "-128", "-1", "0", "1", "127"),
    *_around("tinyint unsigned", "0", "127", "128", "255"),
    *_around("tinyint(1)", "0", "1", "2", "-128"),
    *_around("smallint unsigned", "0", "1", "32768", "65535"),
    *_around("mediumint unsigned zerofill", "0", "10", "100", "16777215"),
    *_around("int", "-2147483648", "-1", "0", "2147483647"),
    *_around("int unsigned", "0", "10", "100", "4294967295"),
    *_around(
        "bigint",
        "-9223372036854775808",
        "-9223372036854775807",
        "-4294967296",
        "0",
        "4294967296",
        "9007199254740992",
        "9007199254740993",
        "9223372036854775806",
        "9223372036854775807",
    ),
    *_around(
        "bigint unsigned",
        "0",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551614",
        "18446744073709551615",
    ),
    *_around(
        "decimal(65,30)",
        "-0." + "0" * 29 + "1",
        "0",
        "0." + "0" * 29 + "1",
        "1",
        "1." + "0" * 29 + "1",
        "9" * 35 + "." + "9" * 29 + "8",
        "9" * 35 + "." + "9" * 30,
        "-" + "9" * 35 + "." + "9" * 30,
    ),
    *_around("decimal(12,2)", "-0.01", "0", "0.01", "0.10", "1", "10", "100.50", "-100.50"),
    *_around(
        "float",
        "0.1",
        "0.10000001",
        "16777214",
        "16777215",
        "16777216",
        "16777218",
        "1e-45",
        "3e-45",
        "3.4028233e38",
        "3.4028235e38",
    ),
    *_around("float(7,4)", "0.1", "0.1001", "999.9998", "999.9999"),
    *_around(
        "double",
        "0.3",
        "0.30000000000000004",
        "1",
        "1.0000000000000002",
        "5e-324",
        "1e-323",
        "9007199254740991",
        "9007199254740992",
        "9007199254740994",
        "-2.2250738585072014e-308",
        "-2.2250738585072009e-308",
        "-1.2345678901234567e-300",
        "-1.2345678901234569e-300",
        "1.7976931348623155e308",
        "1.7976931348623157e308",
    ),
    *_around("bit(1)", Sql("b'0'"), Sql("b'1'")),
    *_around("bit(9)", Sql("b'0'"), Sql("b'1'"), Sql("b'100110000'"), Sql("b'111111111'")),
    *_around("bit(64)", Sql("0"), Sql("9223372036854775807"), Sql("9223372036854775808"), Sql("18446744073709551615")),
    *_around("year", "0000", "1901", "2000", "2155"),
]
_TIMES = [
    *_around("date", "0000-00-00", "0000-00-01", "0001-01-01", "2021-02-28", "2021-02-31", "2021-03-03", "9999-12-31"),
    *_around("time", "-838:59:59", "-00:00:01", "00:00:00", "00:00:01", "24:00:00", "100:00:00", "838:59:59"),
    *_around("time(6)", "-00:00:00.000001", "00:00:00.000000", "00:00:00.000001", "838:59:58.999999", "838:59:59"),
    *_around("datetime", "0000-00-00 00:00:00", "2024-01-01 00:00:00", "2024-01-01 00:00:01"),
    *_around("datetime(3)", "2024-01-01 00:00:00", "2024-01-01 00:00:00.001", "2024-01-01 00:00:00.010"),
    *_around(
        "datetime(6)",
        "0000-00-00 00:00:00",
        "2024-01-01 00:00:00",
        "2024-01-01 00:00:00.000001",
        "2024-01-01 00:00:00.100000",
        "9999-12-31 23:59:59.999999",
    ),
    *_around(
        "timestamp(6) NULL",
        "0000-00-00 00:00:00",
        "1970-01-01 00:00:01",
        "2024-10-27 00:30:00",
        "2024-10-27 01:30:00",
        "2024-10-27 01:30:00.000001",
        "2038-01-19 03:14:07.999999",
    ),
]
_TEXTS = [
    pair
    for sql_type in (
        f"varchar(40) {UTF} utf8mb4_general_ci",
        f"varchar(40) {UTF} utf8mb4_unicode_ci",
        "varchar(300)",
        "text",
        "varchar(40) CHARACTER SET utf16",
        "varchar(40) CHARACTER SET latin1",
    )
    for pair in _all(
        sql_type,
        (None, ""),
        (None, "N"),
        (None, "0"),
        (None, "NULL"),
        ("", "N"),
        ("", "0"),
        ("", " "),
        ("a", "A"),
        ("a", "ä"),
        ("a", "a "),
        ("a", "a\t"),
        ("a", "a\x00"),
        ("a", " a"),
        ("ss", "ß"),
        ("a", "1:a"),
        ("0:", ""),
        (" ", "\xa0"),
        ("e3b0c442", "E3B0C442"),
    )
]
_STRINGS = [
    *_all(f"char(5) {UTF} utf8mb4_general_ci", (None, ""), (None, "N"), ("", "N"), ("a", "A"), ("a", "ä"), ("a", "b")),
    *_all(f"varchar(40) {UTF} utf8mb4_bin", ("a", "a "), ("a", "A"), ("", " "), ("é", "e\u0301"), ("🙂", "🙃")),
    *_all(
        "varchar(40) CHARACTER SET cp932",
        ("\\", "表"),
        ("ソ", "ゾ"),
        ("ﾊ", "ハ"),
        (Sql("_cp932 X'8754'"), Sql("_cp932 X'FA4A'")),
    ),  # two codes of one character
    *_all(
        "longtext",
        (None, ""),
        (None, "N"),
        ("", "N"),
        ("a", "A"),
        ("a", "a "),
        (Sql("repeat('a', 1048576)"), Sql("concat(repeat('a', 1048575), 'A')")),
        (Sql("repeat('a', 1048576)"), Sql("repeat('a', 1048577)")),
    ),
    *_all("binary(4)", (None, b""), (b"", b" "), (b"a", b"a "), (b"a", b"A"), (None, b"N")),
    *_all(
        "varbinary(40)",
        (None, b""),
        (None, b"N"),
        (b"", b"\x00"),
        (b"\x00", b"\x00\x00"),
        (b"a", b"a\x00"),
        (b"a", b"a "),
        (b"a", b"A"),
        (b"a", b"1:a"),
        (b"0", b"\x30\x20"),
    ),
    *_all("blob", (None, b""), (None, b"N"), (b"", b"\x00"), (b"a", b"a "), (b"a", b"A"), (b"N", b"n")),
    *_all(
        "longblob",
        (Sql("repeat(X'00', 1048576)"), Sql("repeat(X'00', 1048577)")),
        (Sql("repeat(X'00', 1048576)"), Sql("concat(repeat(X'00', 1048575), X'01')")),
    ),
    *_all(
        "json",
        (None, "null"),
        (None, '"N"'),
        ("[]", "{}"),
        ("[1,2]", "[2,1]"),
        ("1", '"1"'),
        ('"a"', '"A"'),
        ('"a"', '"a "'),
        ("true", '"true"'),
        ('{"a":1}', '{"a":2}'),
        ('{"a":1}', '{"A":1}'),
    ),
    *_all(
        "enum('b','a','1','N')",
        (None, "b"),
        ("b", "a"),
        (Sql("1"), "1"),
        (None, "N"),
        ("b", Sql("''")),
        (None, Sql("''")),
    ),
    *_all("enum('','x')", (Sql("1"), Sql("'no such'")), (None, Sql("1")), (None, Sql("'no such'"))),
    *_all("set('a','b','c','N')", (None, ""), (None, "N"), ("a", "b"), ("a", "a,b"), ("", "a")),
    *_all(
        "geometry",
        (_shape("POINT(1 2)"), _shape("POINT(2 1)")),
        (None, _shape("POINT(1 2)")),
        (_shape("POINT(1 2)"), _shape("POINT(1 2)", 4326)),
        (_shape("POINT(0 0)"), _shape("MULTIPOINT(0 0)")),
    ),
]
DIFFERENT = [*_NUMBERS, *_TIMES, *_TEXTS, *_STRINGS]
DIFFERENT_ON_MARIADB = [
    *_all(
        "uuid",
        (None, "00000000-0000-0000-0000-000000000000"),
        ("6ccd780c-baba-1026-9564-5b8c656024db", "6ccd780c-baba-1026-9564-5b8c656024dc"),
        ("6ccd780c-baba-1026-9564-5b8c656024db", "6ccd780c-baba-4026-9564-5b8c656024db"),
    ),
    *_all("inet4", (None, "0.0.0.0"), ("10.0.0.1", "10.0.0.2"), ("1.0.0.10", "10.0.0.1")),
    *_all("inet6", (None, "::"), ("::10.0.0.1", "::ffff:10.0.0.1"), ("::1", "::2"), ("::", "::1")),
    *_all(f"varchar(40) {UTF} utf8mb4_nopad_bin", ("a", "a "), ("a", "A"), (None, "")),
    *_all("text COMPRESSED", ("a", "a "), ("a", "A"), (None, ""), (None, "N")),
    *_all("json", ('{"a":1}', '{"a": 1}'), ('{"a":1,"b":2}', '{"b":2,"a":1}'), ("1", "1.0"), ("1.0", "1.00")),
]
SAME: list[Pair] = [
    *_all("float", ("0.0", "-0.0"), ("0.1", "0.100000001490116"), ("16777217", "16777216"), (None, None)),
    *_all("float(7,4)", ("0", "-0"), ("0.00001", "0"), ("0.1", "0.10001")),
    *_all("double", ("0.0", "-0.0"), ("0.1", "0.1000000000000000055"), ("9007199254740993", "9007199254740992")),
    *_all("decimal(12,2)", ("0", "-0.00"), ("1", "1.00"), ("1", "0001.0"), ("-0.001", "0")),
    *_all("decimal(65,30)", ("1", "1.0"), ("0", "-0")),
    *_all("int(8) zerofill", ("42", "00000042")),
    *_all("bigint", ("1", "01"), ("-0", "0")),
    *_all("year", ("70", "1970"), ("2000", "00")),
    *_all("bit(8)", (Sql("b'101'"), Sql("b'00000101'"))),
    *_all("char(5)", ("a", "a "), ("", "     "), ("ab", "ab  ")),
    *_all("binary(4)", (b"a", b"a\x00\x00\x00")),
    *_all("time(3)", ("00:00:01", "00:00:01.000"), ("1", "00:00:01"), ("-00:00:00", "00:00:00")),
    *_all("datetime(3)", ("2024-01-01", "2024-01-01 00:00:00.000"), ("24-01-01", "2024-01-01")),
    *_all("enum('b','a')", (Sql("1"), "b"), ("B", "b")),
    *_all("set('a','b')", ("a,b", "b,a"), ("a,a", "a")),
]
SAME_ON_MARIADB = [
    *_all("inet6", ("::ffff:10.0.0.1", "::ffff:a00:1"), ("0:0:0:0:0:0:0:1", "::1"), ("2001:DB8::1", "2001:db8::1")),
    *_all("uuid", ("6ccd780cbaba102695645b8c656024db", "6CCD780C-BABA-1026-9564-5B8C656024DB")),
]
_SPLITS: list[tuple[tuple[str | None, ...], tuple[str | None, ...]]] = [
    (("a", "bc"), ("ab", "c")),
    (("", "abc"), ("abc", "")),
    (("a,b", "c"), ("a", "b,c")),
    ((None, "a"), ("a", None)),
    ((None, ""), ("", None)),
    (("N", ""), (None, "N")),
    (("N", None), (None, "N")),
    (("1:a", ""), ("", "1:a")),
    (("a", "b"), ("b", "a")),
    (("a1:b", ""), ("a", "b")),
    (("0", "1:0"), ("01:", "0")),
    (("a", None), ("aN", "")),
    (("2:ab", "c"), ("2", ":abc")),
    ((None, None), ("N", "N")),
    (("x", "0:"), ("x0:", "")),
    (("ä", "a"), ("a", "ä")),
    (("äb", "c"), ("ä", "bc")),
    (("a:", "b"), ("a", ":b")),
    (("a,", "b"), ("a", ",b")),
]
_TEXT_COLUMNS = [
    ("varchar(40)", "varchar(40)"),
    ("varchar(40)", "text"),
    ("text", "varchar(40)"),
    ("text", "longtext"),
    ("char(9)", "varchar(40)"),
    ("varchar(40) CHARACTER SET latin1", "varchar(40)"),
    ("varchar(40) CHARACTER SET latin1", "varchar(40) CHARACTER SET utf16"),
    ("varchar(40)", "varchar(40) CHARACTER SET ucs2"),
]
# (types, row, row): all differ.
ROWS: list[tuple[tuple[str, str], tuple[Input | None, ...], tuple[Input | None, ...]]] = [
    *[(columns, one, two) for columns in _TEXT_COLUMNS for one, two in _SPLITS],
    (("varbinary(9)", "varbinary(9)"), (b"1:a", b""), (b"", b"1:a")),
    (("varbinary(9)", "varchar(9)"), (b"N", None), (None, "N")),
    (("int", "int"), ("1", "23"), ("12", "3")),
    (("int", "int"), (None, "0"), ("0", None)),
    (("int", "varchar(9)"), ("1", "a"), ("11", ":a")),
    (("int", "varchar(9)"), ("12", ""), ("1", "2")),
    (("varchar(9)", "int"), ("a1", "2"), ("a", "12")),
    (("varchar(9)", "int"), ("", "5"), ("5", "0")),
    (("decimal(9,1)", "decimal(9,1)"), ("1.1", "0.1"), ("1.0", "1.1")),
    (("date", "date"), ("2024-01-01", None), (None, "2024-01-01")),
    (("datetime(6)", "time(6)"), ("2024-01-01 01:00:00", "00:00:00"), ("2024-01-01 00:00:00", "01:00:00")),
    (("bit(9)", "bit(9)"), (Sql("1"), Sql("10")), (Sql("11"), Sql("0"))),
    (("enum('1','12')", "set('2','3')"), (Sql("1"), Sql("2")), (Sql("2"), Sql("1"))),
    (("double", "double"), ("1", "2.5"), ("12", "0.5")),
    (("double", "double"), ("0.5", "1"), ("1", "0.5")),
    (("blob", "blob"), (b"a", b"b"), (b"b", b"a")),
    (("blob", "blob"), (None, b""), (b"", None)),
    (("json", "json"), ("1", None), (None, "1")),
]


def pairs(kind: str) -> dict[str, list[tuple[Input | None, Input | None, bool]]]:
    """Return by type: one value, another, and True if they differ."""
    found: dict[str, list[tuple[Input | None, Input | None, bool]]] = {}
    listed = [(p, True) for p in DIFFERENT] + [(p, False) for p in SAME]
    if kind == "mariadb":
        listed += [(p, True) for p in DIFFERENT_ON_MARIADB] + [(p, False) for p in SAME_ON_MARIADB]
    for (sql_type, one, two), differ in listed:
        found.setdefault(sql_type, []).append((one, two, differ))
    return found
