"""Types, keys of every key type and restrictions of random tables of MariaDB and MySQL.

Input texts are those of `FamilyPlace.literal`: bytes as ``0x..``, bits as numbers, shapes as ``SRID;WKT``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from tests.support.drawn_tables import ODD_NAMES, Chance, Pool
from tests.support.places import Place

_TEXTS = [
    "",
    " ",
    "a",
    "A",
    "a ",
    " a",
    "null",
    "NULL",
    "ä",
    "a\u0308",
    "ß",
    "é\t",
    "line\nbreak",
    "it's",
    '"q"',
    "\\",
    "\\N",
    "0x41",
    "%",
    "%s",
    "%(a)s",
    "{}",
    ",",
    "日本",
    "🙂",
    "\u200b",
    "\x00",
    "\x1a",
    "\u2028",
    "0",
    "N",
    "1:a",
]
_WESTERN = ["", "a", "A", "a ", "ä", "Ä", "a\xa0", "ÿ", "it's", "\\"]
_FLOATS = ["0", "1", "-1", "0.1", "0.3", "1e30", "1e-30", "123456.78", "16777216"]
_DAYS = ["2024-02-29", "2024-03-01", "1970-01-01", "0001-01-01", "9999-12-31", "0000-00-00", "2024-02-31", "2024-00-10"]
_STAMPS = ["1970-01-01 00:00:01", "2024-03-31 02:30:00", "2038-01-19 03:14:07", "0000-00-00 00:00:00"]
_JSON = ["{}", "[]", "null", "0", "1.0", "1.00", '"a"', '{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a":"\\u00e9🙂"}']

_NUMBERS: dict[str, list[str]] = {
    "tinyint": ["0", "1", "-128", "127"],
    "tinyint(1)": ["0", "1", "7"],
    "tinyint unsigned": ["0", "255"],
    "smallint": ["0", "-32768", "32767"],
    "smallint unsigned": ["0", "65535"],
    "mediumint": ["0", "-8388608", "8388607"],
    "mediumint unsigned": ["0", "16777215"],
    "integer": ["0", "1", "-1", "2147483647", "-2147483648"],
    "integer unsigned": ["0", "4294967295"],
    "int(6) zerofill": ["0", "42"],
    "bigint": ["0", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993"],
    "bigint unsigned": ["0", "9223372036854775808", "18446744073709551615", "9007199254740993"],
    "decimal(12,2)": ["0", "0.01", "-0.01", "100.50", "9999999999.99"],
    "decimal(38,10)": ["0", "1", "1234567890123456789012345678.0123456789", "0.0000000001"],
    "decimal(65,30)": ["0", "1.5", "9" * 35 + "." + "9" * 30, "-0.000000000000000000000000000001"],
    "float": [*_FLOATS, "3.402823466e38", "1.17549435e-38"],
    "double": [*_FLOATS, "1.7976931348623157e308", "5e-324", "9007199254740993", "0.30000000000000004"],
    "bit(1)": ["0", "1"],
    "bit(9)": ["0", "1", "511", "44"],
    "bit(64)": ["0", "1", "9223372036854775808", "18446744073709551615"],
    "year": ["0", "1901", "2155", "2024"],
}
_TIMES: dict[str, list[str]] = {
    "date": _DAYS,
    "datetime": [f"{day} 12:34:56" for day in _DAYS],
    "datetime(3)": ["2024-01-01 00:00:00.123", "2024-01-01 00:00:00.124", "0000-00-00 00:00:00"],
    "datetime(6)": [*(f"{day} 23:59:59.999999" for day in _DAYS), "2024-01-01 00:00:00.000001"],
    "timestamp": _STAMPS,
    "timestamp(6)": [*_STAMPS, "2024-01-01 00:00:00.000001", "2024-01-01 00:00:00.000002"],
    "time": ["00:00:00", "-00:00:01", "838:59:59", "-838:59:59", "24:00:00"],
    "time(6)": ["00:00:00.000001", "-00:00:00.000001", "838:59:59.000000", "24:00:00", "12:00:00.1"],
}
_STRINGS: dict[str, list[str]] = {
    "char(5)": ["", "a", "A", "ä", "a b", "abcde", "🙂", "null"],
    "varchar(20)": [*_TEXTS, "x" * 20],
    "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin": _TEXTS,
    "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci": _TEXTS,
    "varchar(20) CHARACTER SET latin1 COLLATE latin1_german2_ci": _WESTERN,
    "tinytext": [t for t in _TEXTS if len(t) < 50],
    "text": [*_TEXTS, "x" * 3000],
    "mediumtext CHARACTER SET latin1": _WESTERN,
    "longtext": _TEXTS,
    "binary(4)": ["0x", "0x00", "0x41", "0xdeadbeef", "0x41202020"],
    "varbinary(9)": ["0x", "0x00", "0x0000", "0x41", "0xff", "0x4120"],
    "tinyblob": ["0x", "0x00"],
    "blob": ["0x", "0x00ff", "0x5c27", "0x" + "0a" * 300],
    "longblob": ["0x", "0xe29883"],
    "enum('sad','ok','so ''happy''','Ünïcode','1','')": ["sad", "ok", "so 'happy'", "Ünïcode", "1", ""],
    "set('a','b','c d','é','k','f','g','h','i')": ["", "a", "a,b", "a,b,c d,é", "a,i"],
    "json": _JSON,
    "point": ["0;POINT(1 2)", "0;POINT(2 1)", "4326;POINT(1 2)"],
    "geometry": ["0;POINT(1 2)", "0;LINESTRING(0 0,1 1)", "0;POLYGON((0 0,1 0,1 1,0 0))"],
    "integer NOT NULL": ["0", "1", "-1"],
    "varchar(12) NOT NULL": ["", "a", "null", "Ä"],
}
# Missing in MySQL.
_MORE: dict[str, list[str]] = {
    "uuid": [
        "00000000-0000-0000-0000-000000000000",
        "00000000-0000-0000-0000-000000000001",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ],
    "inet4": ["0.0.0.0", "10.0.0.1", "255.255.255.255"],
    "inet6": ["::", "::1", "::ffff:10.0.0.1", "2001:db8::1"],
    "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci": _TEXTS,
}
WIDE_KEYS = [
    "integer",
    "bigint",
    "bigint unsigned",
    "smallint",
    "mediumint",
    "varchar(20)",
    "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci",
    "varchar(20) CHARACTER SET latin1 COLLATE latin1_german2_ci",
    "char(5)",
    "decimal(12,2)",
    "decimal(65,30)",
    "double",
    "float",
    "date",
    "datetime",
    "datetime(6)",
    "timestamp(6)",
    "time(6)",
    "binary(4)",
    "varbinary(9)",
    "bit(64)",
    "integer NOT NULL",
]
NARROW_KEYS = [
    "tinyint",
    "tinyint(1)",
    "int(6) zerofill",
    "bit(1)",
    "bit(9)",
    "year",
    "time",
    "datetime(3)",
    "enum('sad','ok','so ''happy''','Ünïcode','1','')",
    "set('a','b','c d','é','k','f','g','h','i')",
]
_TEXT_CONDITIONS = [
    "{c} LIKE '%a%' OR {c} NOT LIKE '\\\\%_%'",
    "{c} <> ':epoch' AND {c} <> '%(epoch)s' OR {c} = 'a:b'",
    "coalesce({c}, '?') <> \"a;b\" AND {c} NOT REGEXP '^x{{2,}}'",
    "{c} IN ('', 'null', 'a''b', 'a\\'b') OR {c} > 'b;--'",
    "char_length({c}) % 2 = 0",
    "concat({c}, '%') LIKE '%a%' OR binary {c} < 'b'",
]
CONDITIONS = {
    "varchar": _TEXT_CONDITIONS,
    "text": _TEXT_CONDITIONS,
    "integer": [
        "{c} % 3 <> 0",
        "{c} LIKE '%1%' OR {c} <= 0",
        "{c} BETWEEN -5 AND 1000000",
        "NOT {c} = 0",
        "{c} div 2",
        "CASE WHEN {c} > 0 THEN {c} * 2 > 5 ELSE true END",
    ],
    "tinyint": ["{c}", "NOT {c}", "{c} IS NOT TRUE", "{c} <=> NULL"],
    "json": ["json_extract({c}, '$.a') IS NULL OR {c} <> '[]'", "json_length({c}) > 0"],
    "datetime": ["{c} > '2000-01-01 00:00:00'", "extract(year FROM {c}) <> 1969", "{c} IS NOT NULL"],
    "date": ["{c} >= DATE '1970-01-01'", "{c} <> '9999-12-31'"],
    "double": ["{c} <> 0.1e0", "{c} > -1.5e0"],
    "decimal": ["{c} <> 0 AND {c} IS NOT NULL"],
    "enum": ["{c} > 'ok' OR {c} IS NULL", "{c} + 0 < 3"],
    "unsigned": ["{c} > 1 OR {c} <= 0", "{c} MOD 2"],
    "set": ["find_in_set('a', {c})"],
    "bit": ["{c} + 0 < 44 OR {c} IS NULL"],
}


def base(sql_type: str) -> str:
    """Return the first word of a type, or more if several types share that word."""
    special = {"int(6) zerofill": "number", "tinyint unsigned": "number", "bit(64)": "unsigned"}
    for word in ("unsigned", "latin1"):
        if word in sql_type:
            return special.get(sql_type, word)
    return special.get(sql_type, re.split(r"[( ]", sql_type)[0])


def formula(rng: Random, base: str) -> str | None:
    """Return a random value, or None if the type has no formula."""
    chance = Chance.of(rng, years=(1, 1969, 2023, 2024))
    word, n, clock, day = chance.word, chance.number, chance.clock, chance.day
    others = {
        "integer": str(n),
        "bigint": str(n),
        "smallint": str(n),
        "mediumint": str(n),
        "unsigned": str(abs(n)),
        "decimal": f"{n}.{rng.choice([0, 5, 25, 50])}",
        "float": f"{n}.5",
        "double": f"{n}.25",
        "varchar": word,
        "char": word.strip(" "),
        "text": word,
        "longtext": word,
        "latin1": "".join(c for c in word if c.encode("cp1252", "ignore")),
        "date": day,
        "datetime": f"{day} {clock[:8]}",
        "time": clock,
        "timestamp": f"{max(1971, int(day[:4]))}{day[4:]} {clock}",
        "binary": f"0x{abs(n):04x}",
        "varbinary": f"0x{word.encode()[:9].hex()}",
        "uuid": str(_uuid(n)),
        "inet4": f"10.0.0.{abs(n) % 256}",
        "json": f'{{"a": {n}}}',
    }
    return others.get(base)


def _uuid(n: int) -> str:
    digits = f"{abs(n):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def set_up(place: Place) -> str:
    """Make a database for the tables; return its name."""
    schema = f"S ch.ema %s {place.name}"
    place.sql(f"CREATE DATABASE {place.quote(schema)} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
    return schema


MYSQL_POOL = Pool(
    values=_NUMBERS | _TIMES | _STRINGS,
    not_null=frozenset({"integer NOT NULL", "varchar(12) NOT NULL"}),
    wide_keys=WIDE_KEYS,
    narrow_keys=NARROW_KEYS,
    base=base,
    conditions=CONDITIONS,
    formula=formula,
    set_up=set_up,
    # a name cannot end with a blank, and names that differ only in case are the same name
    names=[name for name in ODD_NAMES if name == name.rstrip() and name != "X"],
)
_MARIA_VALUES = {**MYSQL_POOL.values, "time(6)": [*_TIMES["time(6)"], "838:59:59.999999"], **_MORE}
MARIA_POOL = replace(MYSQL_POOL, values=_MARIA_VALUES, wide_keys=[*WIDE_KEYS, *_MORE])
