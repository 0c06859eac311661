"""Values at the ends of their types come back as they are, or their stream is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.jdbc_histories import History
from tests.support.jdbc_places import JdbcPlace
from tests.support.oracle import events

REFUSED = "refused"
LONG = "x" * 10_000
# by database: (type, literal, the value in an event)
COMMON: tuple[tuple[str, str, Any], ...] = (
    ("BIGINT", "9223372036854775807", 2**63 - 1),
    ("BIGINT", "-9223372036854775808", -(2**63)),
    ("INTEGER", "-2147483648", -(2**31)),
    ("INTEGER", "2147483647", 2**31 - 1),
    ("DECIMAL(18,0)", "-999999999999999999", "-999999999999999999"),
    ("DECIMAL(18,18)", "0.999999999999999999", "0.999999999999999999"),
    ("DECIMAL(18,18)", "-0.000000000000000001", "-0.000000000000000001"),
    ("DECIMAL(9,2)", "0", "0.00"),
    ("SMALLINT", "-32768", -32768),
    ("VARCHAR(20)", "''", ""),
    ("VARCHAR(20)", "NULL", None),
    ("VARCHAR(20)", "' a '", " a "),
    ("VARCHAR(20)", "'日本ß😀'", "日本ß😀"),
    ("VARCHAR(20)", "'e\u0301\u200f\ufeff'", "e\u0301\u200f\ufeff"),  # combining, right to left, zero width
    ("VARCHAR(20)", "'a\nb\tc'", "a\nb\tc"),
    ("DOUBLE PRECISION", "1.7976931348623157E308", 1.7976931348623157e308),
    ("DOUBLE PRECISION", "0.1", 0.1),
    ("DOUBLE PRECISION", "-1.7976931348623157E308", -1.7976931348623157e308),
    ("DOUBLE PRECISION", "2.2250738585072014E-308", 2.2250738585072014e-308),
    ("DOUBLE PRECISION", "0.30000000000000004E0", 0.30000000000000004),
    ("DATE", "DATE '0001-01-01'", REFUSED),
    ("DATE", "DATE '1582-10-15'", "1582-10-15"),
    ("DATE", "DATE '9999-12-31'", "9999-12-31"),
    ("TIMESTAMP(6)", "TIMESTAMP '2024-03-31 02:30:00.123456'", "2024-03-31T02:30:00.123456"),
    ("TIMESTAMP(6)", "TIMESTAMP '1500-02-28 23:59:59.999999'", REFUSED),
    ("BOOLEAN", "TRUE", True),
    ("BOOLEAN", "NULL", None),
)
DERBY = tuple(
    (
        kind.replace("TIMESTAMP(6)", "TIMESTAMP"),
        text.replace("TIMESTAMP '", "TIMESTAMP('").replace("DATE '", "DATE('"),
        v,
    )
    for kind, text, v in COMMON
)
FIREBIRD: tuple[tuple[str, str, Any], ...] = (
    *((k, t, v) for k, t, v in COMMON if k not in ("TIMESTAMP(6)", "BIGINT")),
    ("BIGINT", "9223372036854775807", 2**63 - 1),
    ("BIGINT", "-9223372036854775807 - 1", -(2**63)),
    ("FLOAT", "0.1", 0.1),
    ("FLOAT", "3.4028234E38", 3.4028235e38),
    ("VARCHAR(10) CHARACTER SET OCTETS", "x''", ""),
    ("BLOB SUB_TYPE TEXT", "''", ""),
    ("DATE", "DATE '9999-12-31'", "9999-12-31"),
    ("NUMERIC(4,2)", "327.67", "327.67"),
    ("DECIMAL(9,3)", "-2147483.648", "-2147483.648"),
    ("NUMERIC(18,4)", "922337203685477.5807", "922337203685477.5807"),
    ("CHAR(3)", "'a'", "a  "),
    ("CHAR(3)", "'ß😀'", "ß😀 "),
    ("VARCHAR(10) CHARACTER SET OCTETS", "x'00ff'", "AP8="),
    ("BLOB SUB_TYPE BINARY", "x'00ff'", "AP8="),
    ("BLOB SUB_TYPE TEXT", f"'{LONG}ß😀'", f"{LONG}ß😀"),
    ("TIME", "TIME '23:59:59.9999'", "23:59:59.9999"),
    ("TIMESTAMP", "TIMESTAMP '2024-03-31 02:30:00.1234'", "2024-03-31T02:30:00.123400"),
    ("TIMESTAMP", "TIMESTAMP '9999-12-31 23:59:59.9999'", "9999-12-31T23:59:59.999900"),
    ("TIMESTAMP", "TIMESTAMP '1500-02-28 23:59:59'", REFUSED),
)
VALUES: dict[str, tuple[tuple[str, str, Any], ...]] = {
    "h2": (
        *COMMON,
        ("DECIMAL(38,10)", "9999999999999999999999999999.9999999999", "9999999999999999999999999999.9999999999"),
        (
            "DECIMAL(60,10)",
            "12345678901234567890123456789012345678901234567890.0123456789",
            "12345678901234567890123456789012345678901234567890.0123456789",
        ),
        ("REAL", "0.1", 0.1),
        ("REAL", "3.4028235E38", 3.4028235e38),
        ("DOUBLE PRECISION", "'NaN'", "NaN"),
        ("DOUBLE PRECISION", "'-Infinity'", "-Infinity"),
        ("DOUBLE PRECISION", "4.9E-324", 5e-324),
        ("VARBINARY(10)", "X''", ""),
        ("VARBINARY(10)", "X'00ff'", "AP8="),
        ("BLOB", "X'00ff'", "AP8="),
        ("CLOB", f"'{LONG}'", LONG),
        ("CLOB", "''", ""),
        ("VARCHAR(20)", "U&'a\\0000b'", "a\x00b"),
        ("DECIMAL(38,0)", f"-{'9' * 38}", f"-{'9' * 38}"),
        ("DECIMAL(38,38)", f"0.{'9' * 38}", f"0.{'9' * 38}"),
        ("DECFLOAT(34)", "1.5", "1.5"),
        ("INTEGER ARRAY", "ARRAY[1, NULL]", "[1, null]"),
        ("CHARACTER VARYING(9) ARRAY", "ARRAY['a, b']", REFUSED),
        ("ROW(x VARCHAR(9), y INTEGER)", "ROW('a', 1)", REFUSED),
        ("INTERVAL YEAR", "INTERVAL '3' YEAR", "INTERVAL '3' YEAR"),
        ("TIMESTAMP(6)", "TIMESTAMP '9999-12-31 23:59:59.999999'", "9999-12-31T23:59:59.999999"),
        ("TIMESTAMP(6)", "TIMESTAMP '1582-10-15 00:00:00.000001'", "1582-10-15T00:00:00.000001"),
        ("TIME(6)", "TIME '23:59:59.999999'", "23:59:59.999999"),
        ("TIMESTAMP(9)", "TIMESTAMP '2024-01-01 00:00:00.123456789'", "2024-01-01 00:00:00.123456789"),
        (
            "TIMESTAMP(6) WITH TIME ZONE",
            "TIMESTAMP WITH TIME ZONE '2024-01-01 00:00:00.5+05:30'",
            "2024-01-01 00:00:00.5+05:30",
        ),
        ("UUID", "'8f14e45f-ceea-467f-a8f5-3d1b1b1b1b1b'", "8f14e45f-ceea-467f-a8f5-3d1b1b1b1b1b"),
        ("TINYINT", "-128", -128),
        ("CHAR(3)", "'a'", "a  "),
    ),
    "hsqldb": (
        *COMMON,
        ("DECIMAL(38,10)", "9999999999999999999999999999.9999999999", "9999999999999999999999999999.9999999999"),
        ("VARBINARY(10)", "X'00ff'", "AP8="),
        ("VARBINARY(10)", "X''", ""),
        ("BLOB", "X'00ff'", "AP8="),
        ("CLOB", f"'{LONG}'", LONG),
        ("DECIMAL(38,38)", f"0.{'9' * 38}", f"0.{'9' * 38}"),
        ("DECIMAL(60,10)", f"{'9' * 50}.0123456789", f"{'9' * 50}.0123456789"),
        ("TIMESTAMP(6)", "TIMESTAMP '9999-12-31 23:59:59.999999'", "9999-12-31T23:59:59.999999"),
        ("CHAR(3)", "'a'", "a  "),
        ("TIME", "TIME '23:59:59'", "23:59:59"),
        ("TIMESTAMP(9)", "TIMESTAMP '2024-01-01 00:00:00.123456789'", "2024-01-01 00:00:00.123456789"),
        (
            "TIMESTAMP(6) WITH TIME ZONE",
            "TIMESTAMP '2024-01-01 00:00:00.500000+5:30'",
            "2024-01-01 00:00:00.500000+5:30",
        ),
        ("TINYINT", "-128", -128),
    ),
    "derby": (
        *((k, f"{t})" if "('" in t else t, v) for k, t, v in DERBY if "TIMESTAMP" not in k),
        ("DECIMAL(31,31)", f"0.{'9' * 31}", f"0.{'9' * 31}"),
        ("VARCHAR(10) FOR BIT DATA", "X''", ""),
        ("CHAR(3)", "'a'", "a  "),
        ("REAL", "-3.402E38", -3.402e38),
        ("DECIMAL(31,10)", "999999999999999999999.9999999999", "999999999999999999999.9999999999"),
        ("REAL", "0.1", 0.1),
        ("VARCHAR(10) FOR BIT DATA", "X'00ff'", "AP8="),
        ("BLOB", "CAST(X'00ff' AS BLOB)", "AP8="),
        ("CLOB", f"'{LONG}'", LONG),
        ("TIME", "TIME('23:59:59')", "23:59:59"),
        ("TIMESTAMP", "TIMESTAMP('2024-01-01 00:00:00.123456789')", "2024-01-01 00:00:00.123456789"),
        ("XML", "NULL", REFUSED),
    ),
    "sqlite": (
        ("INTEGER", "9223372036854775807", 2**63 - 1),
        ("INTEGER", "-9223372036854775808", -(2**63)),
        ("INTEGER", "'x'", REFUSED),
        ("INTEGER", "1.5", REFUSED),
        ("TEXT", "''", ""),
        ("TEXT", "NULL", None),
        ("TEXT", "'日本ß😀'", "日本ß😀"),
        ("TEXT", "X'00ff'", REFUSED),
        ("REAL", "1.7976931348623157E308", 1.7976931348623157e308),
        ("REAL", "0.1", 0.1),
        ("REAL", "9e999", "Infinity"),
        ("REAL", "-0.0", 0.0),
        ("REAL", "4.9E-324", 5e-324),
        ("REAL", "1", 1.0),  # a column of this affinity makes it a float
        ("TEXT", "'a' || char(10) || 'e' || char(769)", "a\ne\u0301"),
        ("BLOB", "X''", ""),
        ("NUMERIC", "1e300", "1.0e+300"),
        ("NUMERIC", "'text'", "text"),
        ("DATETIME", "'2024-01-01 00:00:00.5+05:30'", "2024-01-01 00:00:00.5+05:30"),
        ("BLOB", "X'00ff'", "AP8="),
        ("BLOB", "'text'", REFUSED),
        ("NUMERIC", "0.1", "0.1"),
        ("NUMERIC", "0.10000000000000002", "0.10000000000000002"),
        ("NUMERIC", "0.3333333333333333", "0.33333333333333332"),
        ("NUMERIC", "0.33333333333333337", "0.33333333333333337"),
        ("NUMERIC", "9223372036854775807", "9223372036854775807"),
        ("DATE", "'2024-02-30'", "2024-02-30"),
        ("TIMESTAMP", "1711850000", "1711850000"),
        ("BOOLEAN", "1", "1"),
    ),
    "duckdb": (
        *(
            (k.replace("TIMESTAMP(6)", "TIMESTAMP"), t, t.split("'")[1] if "'0001" in t or "TIME" in k else v)
            for k, t, v in COMMON
        ),
        ("HUGEINT", "170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
        ("UBIGINT", "18446744073709551615", "18446744073709551615"),
        ("UINTEGER", "4294967295", 4294967295),
        ("DECIMAL(38,10)", "9999999999999999999999999999.9999999999", "9999999999999999999999999999.9999999999"),
        ("FLOAT", "0.1", 0.1),
        ("FLOAT", "'-inf'", "-Infinity"),
        ("DECIMAL(38,38)", f"'0.{'9' * 38}'", f"0.{'9' * 38}"),
        ("DECIMAL(4,2)", "-0.05", "-0.05"),
        ("HUGEINT", "-170141183460469231731687303715884105728", "-170141183460469231731687303715884105728"),
        ("UHUGEINT", "340282366920938463463374607431768211455", "340282366920938463463374607431768211455"),
        ("TINYINT", "-128", -128),
        ("UTINYINT", "255", 255),
        ("BLOB", "''::BLOB", ""),
        ("TIMESTAMP", "'294247-01-10 04:00:54.775806'", "294247-01-10 04:00:54.775806"),
        ("TIMESTAMPTZ", "'2024-07-01 12:00:00+05:30'", "2024-07-01 06:30:00+00"),
        ("VARCHAR", "'a' || chr(0) || 'b'", "a\x00b"),
        ("DOUBLE", "5e-324", 5e-324),
        ("DOUBLE", "'nan'", "NaN"),
        ("DOUBLE", "'-inf'", "-Infinity"),
        ("BLOB", "'\\x00\\xff'::BLOB", "00FF"),
        ("DATE", "'infinity'", "infinity"),
        ("TIME", "'23:59:59.999999'", "23:59:59.999999"),
        ("TIMESTAMP_NS", "'2024-01-01 00:00:00.123456789'", "2024-01-01 00:00:00.123456789"),
        ("TIMESTAMP_S", "'290308-12-21 19:59:59'", "290308-12-21 19:59:59"),
        ("TIMESTAMP_MS", "'infinity'", "infinity"),
        ("BIT", "'0101'", "0101"),
        ("TIMESTAMPTZ", "'2024-01-01 00:00:00.5+00'", "2024-01-01 00:00:00.5+00"),
        ("UUID", "'8f14e45f-ceea-467f-a8f5-3d1b1b1b1b1b'", "8f14e45f-ceea-467f-a8f5-3d1b1b1b1b1b"),
        ("INTEGER[]", "[1, NULL]", "[1, NULL]"),
        ("INTERVAL", "INTERVAL 3 MONTH", "3 months"),
    ),
}


VALUES |= {
    "firebird3": tuple(one for one in FIREBIRD if "E-308" not in one[1]),  # its parser takes no such literal
    "firebird4": (
        *FIREBIRD,
        ("INT128", "170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
        ("NUMERIC(38,10)", "9999999999999999999999999999.9999999999", "9999999999999999999999999999.9999999999"),
        ("DECFLOAT(34)", "1.234567890123456789012345678901234E+100", "1.234567890123456789012345678901234E+100"),
        ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP '2024-01-01 00:00:00.5 +05:30'", "2024-01-01 00:00:00.5000 +05:30"),
        ("TIME WITH TIME ZONE", "TIME '23:59:59.5 +05:30'", "23:59:59.5000 +05:30"),
    ),
}


@pytest.mark.campaign
@pytest.mark.parametrize("name", sorted(VALUES))
def test_values_come_back_or_are_refused(new_place: Callable[[str], JdbcPlace], tmp_path: Path, name: str) -> None:
    """All columns of one database in one stream; those that are expected to be refused alone."""
    place = new_place(name)
    columns = list(enumerate(VALUES[name]))
    fine = [(i, one) for i, one in columns if one[2] != REFUSED]
    places = [fine, *([pair] for pair in columns if pair[1][2] == REFUSED)]
    wrong = []
    for number, chosen in enumerate(places):
        table = place.quoted(f"T{number}")
        key = "INTEGER" if name == "sqlite" else "BIGINT"
        made = ", ".join(f"{place.quoted(f'v{i}')} {kind}" for i, (kind, _, _) in chosen)
        place.execute(
            f"CREATE TABLE {table} ({place.quoted('id')} {key} NOT NULL PRIMARY KEY, {made})",
            f"INSERT INTO {table} VALUES (1, {', '.join(text for _, (_, text, _) in chosen)})",
        )
        stream = f"t{number}"
        history = History.settings_of(place, tmp_path, f"T{number}", stream)
        with History.opened(place, tmp_path / stream, history) as project:
            [prepared] = project.prepare()
            if prepared.error is None:
                project.run(once=True)
        if prepared.error is not None:
            assert chosen is not fine, prepared.error
            assert prepared.error.remedy or any(word in str(prepared.error) for word in ("overflow", "XML"))
            continue
        if chosen is not fine:
            wrong.append(f"{chosen[0][1]} was not refused")
            continue
        [event] = events(tmp_path / stream / "out", stream)
        for i, (kind, text, expected) in chosen:
            if event["after"][f"v{i}"] != expected:
                wrong.append(f"{kind} {text[:40]}: {event['after'][f'v{i}']!r:.80} and not {expected!r:.80}")
    assert not wrong, "\n".join(wrong)


# by database that adds up its digests: types whose values it does not digest
UNDIGESTED: dict[str, tuple[str, ...]] = {
    "h2": ("BLOB", "CLOB"),
    "duckdb": (),
    "firebird4": ("BLOB", "FLOAT", "DOUBLE"),
}


@pytest.mark.campaign
@pytest.mark.parametrize("name", UNDIGESTED)
def test_each_changed_value_changes_the_digest(
    new_place: Callable[[str], JdbcPlace], tmp_path: Path, name: str
) -> None:
    """A row of all values that can be digested; each in turn becomes NULL, and the database's sums show it."""
    place = new_place(name)
    columns = [
        (i, kind, text)
        for i, (kind, text, expected) in enumerate(VALUES[name])
        if expected not in (REFUSED, None) and not kind.startswith(UNDIGESTED[name])
    ]
    made = ", ".join(f"{place.quoted(f'v{i}')} {kind}" for i, kind, _ in columns)
    place.execute(
        f"CREATE TABLE {place.quoted('T')} ({place.quoted('id')} BIGINT NOT NULL PRIMARY KEY, {made})",
        f"INSERT INTO {place.quoted('T')} VALUES (1, {', '.join(text for _, _, text in columns)})",
    )
    settings = History.settings_of(place, tmp_path, "T", "t")
    settings["sources"]["shop"]["jdbc"] = {"checksums": "source"}
    settings["tables"][0]["guards"] = {"max_delete_fraction": 1.0}
    with History.opened(place, tmp_path / "t", settings) as project:
        [prepared] = project.prepare()
        assert prepared.error is None
        project.run(once=True)
        [outcome] = project.run(once=True).outcomes
        assert outcome.report is not None
        assert outcome.report.cost.rows_shipped == 0, project.stream("t").strategy
        before = len(events(tmp_path / "t" / "out", "t"))
        for i, _, _ in columns:
            place.execute(f"UPDATE {place.quoted('T')} SET {place.quoted(f'v{i}')} = NULL")
            project.run(once=True)
        found = [event["changed"] for event in events(tmp_path / "t" / "out", "t")[before:]]
    assert found == [[f"v{i}"] for i, _, _ in columns]


@pytest.mark.campaign
def test_the_text_of_a_column_is_not_cut(new_place: Callable[[str], JdbcPlace], tmp_path: Path) -> None:
    """Derby cuts numbers and texts to the length of a CHAR, and no error says so."""
    place, digits = new_place("derby"), "9" * 31
    place.execute(
        "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, V VARCHAR(300), N DECIMAL(31,0), D DATE)",
        f"INSERT INTO T VALUES (1, '{'x' * 299}', -{digits}, DATE('0001-01-01'))",
    )
    settings = History.settings_of(place, tmp_path, "T", "t", types=dict.fromkeys("VND", "text"))
    with History.opened(place, tmp_path / "t", settings) as project:
        [prepared] = project.prepare()
        assert prepared.error is None
        place.execute("UPDATE T SET V = V || 'y', N = N + 1")
        project.run(once=True)
    values = [[event["after"][name] for name in "VND"] for event in events(tmp_path / "t" / "out", "t")]
    assert values == [["x" * 299, f"-{digits}", "0001-01-01"], ["x" * 299 + "y", f"-{digits[:-1]}8", "0001-01-01"]]
