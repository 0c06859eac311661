"""The oracle of each database finds differing values, missing rows and wrong images."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.oracle import copy_of
from tests.support.places import Place, over

# Type in PostgreSQL and in the family, and two values that are close to each other.
NEAR: list[tuple[str, str, str, str]] = [
    ("text", "text", "a", "A"),
    ("text", "text", "a", "a "),
    ("text", "text", "", " "),
    ("varchar(9)", "varchar(9)", "ß", "ss"),
    ("varchar(9)", "varchar(9)", "ä", "a\u0308"),
    ("citext", "varchar(9)", "a", "A"),
    ("bytea", "blob", "00", "0000"),
    ("bytea", "varbinary(9)", "41", "4120"),
    ("bigint", "bigint unsigned", "9007199254740992", "9007199254740993"),
    ("numeric(38,10)", "decimal(38,10)", "1234567890123456789012345678.0000000001", "1234567890123456789012345678"),
    ("double precision", "double", "0.3", "0.30000000000000004"),
    ("real", "float", "16777216", "16777218"),
    ("timestamp", "datetime(6)", "2024-01-01 00:00:00.000001", "2024-01-01 00:00:00.000002"),
    ("timestamptz", "timestamp(6) NULL", "2024-01-01 00:00:00.000001", "2024-01-01 00:00:00.000002"),
    ("time", "time(6)", "00:00:00", "00:00:00.000001"),
    ("date", "date", "2024-02-29", "2024-03-01"),
    ("json", "json", "[1,2]", "[2,1]"),
    ("bit varying(9)", "bit(9)", "0", "1"),
    ("inet", "enum('10.0.0.1','10.0.0.1/8')", "10.0.0.1", "10.0.0.1/8"),
]


def stored(place: Place, sql_type: str, text: str) -> str:
    binary = sql_type in ("bytea", "blob", "varbinary(9)")
    return place.literal(sql_type, (r"\x" if sql_type == "bytea" else "0x") + text if binary else text)


@over()
def test_values_that_differ_are_distinguished(place: Place) -> None:
    if place.kind == "postgresql":
        place.sql("CREATE EXTENSION citext")
    kinds = [near[0] if place.kind == "postgresql" else near[1] for near in NEAR]
    place.sql(f"CREATE TABLE v (id integer PRIMARY KEY, {', '.join(f'c{i} {t}' for i, t in enumerate(kinds))})")
    for i, (kind, (_, _, one, _)) in enumerate(zip(kinds, NEAR, strict=True)):
        place.sql(f"INSERT INTO v (id, c{i}) VALUES ({2 * i}, {stored(place, kind, one)}), ({2 * i + 1}, NULL)")
    copy = copy_of(place.url, place.table("v"), ["id"])
    copy.take_baseline()
    assert copy.differences() == []
    for i, (kind, (_, _, one, other)) in enumerate(zip(kinds, NEAR, strict=True)):
        place.sql(f"UPDATE v SET c{i} = {stored(place, kind, other)} WHERE id = {2 * i}")
        assert [op for op, *_ in copy.differences()] == ["u"], (kind, one, other)
        place.sql(f"UPDATE v SET c{i} = NULL WHERE id = {2 * i}")
        assert [op for op, *_ in copy.differences()] == ["u"], (kind, one, None)
        place.sql(f"UPDATE v SET c{i} = {stored(place, kind, one)} WHERE id = {2 * i}")
        assert copy.differences() == []


def event(before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, Any]:
    return {"before": before, "after": after}


@over()
def test_rows_and_images_are_compared(place: Place) -> None:
    place.sql("CREATE TABLE v (id integer PRIMARY KEY, a varchar(9)); INSERT INTO v VALUES (1, 'x'), (2, 'y')")
    copy = copy_of(place.url, place.table("v"), ["id"])
    assert [op for op, *_ in copy.differences()] == ["c", "c"]
    first = [event(None, {"id": 1, "a": "x"}), event(None, {"id": 3, "a": "z"})]
    copy.replay([("1", first)])
    assert sorted(op for op, *_ in copy.differences()) == ["c", "d"]
    second = [event({"id": 3, "a": "z"}, None), event(None, {"id": 2, "a": "y"})]
    copy.replay([("1", first), ("2", second)])
    assert copy.differences() == []
    with pytest.raises(AssertionError, match="old image"):
        copy.replay([("1", first), ("2", second), ("3", [event({"id": 9, "a": "z"}, None)])])
    with pytest.raises(AssertionError, match="other columns than captured"):
        copy.replay([("1", []), ("2", []), ("3", []), ("4", [event(None, {"a": "x", "id": 7})])])
    with pytest.raises(place.taken):
        copy.replay([("1", []), ("2", []), ("3", []), ("4", []), ("5", [event(None, {"id": 1, "a": "x"})])])
