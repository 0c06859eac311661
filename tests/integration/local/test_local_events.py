"""Events made in this process: lines byte for byte as Spark wrote them, typed values and their schema.

`tests/integration/sinks/test_events.py` compares the golden lines with Spark in the campaign.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from qbcd.errors import LocalFailed, UnsupportedType
from qbcd.local.arrow import LocalRows, event_schema, events_of, lines_of, unfit_column
from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query
from qbcd.model import BatchHeader, Travel
from tests.support.event_cases import KINDS, UNTYPED, cases, golden, named, side_by_side
from tests.support.local_batches import local_rows
from tests.support.staged_rows import header_of


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDatabase]:
    made = LocalDatabase(1 << 28, tmp_path_factory.mktemp("spill"))
    yield made
    made.close()


def lines(rows: LocalRows, header: BatchHeader, part: range) -> list[str]:
    return [line for piece in lines_of(rows, header, part) for line in piece]


@pytest.mark.parametrize("name", sorted(cases()))
def test_lines_are_those_of_spark(database: LocalDatabase, name: str) -> None:
    header, rows = cases()[name]
    assert lines(local_rows(database, header, rows[::-1]), header, range(len(rows))) == golden()[name]


def test_floats_have_the_digits_of_java(database: LocalDatabase) -> None:
    """Those whose text in DuckDB is not the shortest, or in older versions of Java."""
    doubles = {5e-324: "4.9E-324", 1e-323: "9.9E-324", 1e22: "1.0E22", 1e23: "1.0E23", 2e-322: "2.0E-322"}
    floats = {1.401298464324817e-45: "1.4E-45", 128.953125: "128.95312", 15125440512.0: "1.512544E10", 1e-38: "1.0E-38"}
    for kind, known in ((Travel("float64"), doubles), (Travel("float32"), floats)):
        header = header_of([("k", Travel("int64")), ("v", kind)])
        rows = [("c", None, None, i, None, None, None, i, value) for i, value in enumerate(known)]
        found = lines(local_rows(database, header, rows), header, range(len(rows)))
        for line, (value, text) in zip(found, known.items(), strict=True):
            assert f'"v":{text}}}' in line, value


def plain(value: Any) -> Any:
    """Return a value of Spark's as Arrow has it."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return bytes(value) if isinstance(value, bytearray) else value


def test_typed_value_of_each_kind(database: LocalDatabase) -> None:
    header, rows = side_by_side([case[0] for case in KINDS], [case[1] for case in KINDS])
    found = events_of(local_rows(database, header, rows), header, range(len(rows))).read_all()
    images = found.column("after").to_pylist()
    for i, (kind, _, _, held) in enumerate(KINDS):
        assert [image[f"v{i}"] for image in images][: len(held)] == plain(held), kind
        assert all(image[f"v{i}"] is None for image in images[len(held) :]), kind
    assert unfit_column(local_rows(database, header, rows), header) is None


def test_typed_events_have_all_fields(database: LocalDatabase) -> None:
    for name, (header, rows) in cases().items():
        if name not in ("kinds", "odd header") and "names" not in name:
            found = events_of(local_rows(database, header, rows), header, range(len(rows))).read_all().to_pylist()
            expected = [json.loads(line) for line in golden()[name]]
            for event in expected:  # a key without columns has no type in Parquet
                event["key"] = event["key"] or None
            assert found == expected, name


def test_names_that_differ_only_in_case(database: LocalDatabase) -> None:
    (header, rows), images = named(arrays=True)
    found = events_of(local_rows(database, header, rows), header, range(len(rows))).read_all()
    assert found.column("after").to_pylist() == images


def test_schema(database: LocalDatabase) -> None:
    header = header_of(
        [("k", Travel("int64")), ("t", Travel("timestamptz")), ("d", Travel("array", element=KINDS[4][0]))]
    )
    image = pa.struct(
        [
            ("k", pa.int64()),
            ("t", pa.timestamp("us", tz="UTC")),
            ("d", pa.list_(pa.field("element", pa.decimal128(38, 10)))),
        ]
    )
    schema = event_schema(header)
    assert schema.field("after").type == image
    assert schema.field("key").type == pa.struct([("k", pa.int64())])
    assert event_schema(replace(header, key=())).field("key").type == pa.string()


def staged(database: LocalDatabase, kind: Travel, *values: Any) -> tuple[LocalRows, BatchHeader]:
    header = header_of([("k", Travel("int64")), ("v", kind)], counts={"c": len(values)})
    rows: Sequence[Any] = [("c", None, None, i, None, None, None, i, value) for i, value in enumerate(values)]
    return local_rows(database, header, rows), header


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Travel("date"), "infinity"),
        (Travel("date"), "2021-02-30"),
        (Travel("timestamp"), "0044-03-15T00:00:00 BC"),
        (Travel("timestamptz"), "infinity"),
        (Travel("decimal", 4, 2), "123.45"),
        (Travel("array", element=Travel("int64")), '"{{1},{2}}"'),
        (Travel("array", element=Travel("int64")), "[1,"),
        (Travel("array", element=Travel("int64")), "[1.5]"),
        (Travel("array", element=Travel("int16")), "[1,70000]"),
        (Travel("array", element=Travel("date")), '["infinity"]'),
    ],
)
def test_a_value_that_does_not_fit_never_becomes_null(database: LocalDatabase, kind: Travel, value: str) -> None:
    rows, header = staged(database, kind, None, value)
    with pytest.raises(UnsupportedType, match=r"^stream orders: column v: not a value of type .*types: \{v: text\}"):
        events_of(rows, header, range(2)).read_all()
    assert unfit_column(rows, header) == "v"


def test_values_that_only_json_holds(database: LocalDatabase) -> None:
    for kind, wire, _ in UNTYPED:
        rows, header = staged(database, kind, *wire)
        assert unfit_column(rows, header) == "v"


def test_a_part_of_a_batch(database: LocalDatabase) -> None:
    rows, header = staged(
        database, Travel("float32"), *[struct.unpack("f", struct.pack("f", i / 7))[0] for i in range(9)]
    )
    whole = lines(rows, header, range(9))
    assert lines(rows, header, range(3, 5)) == whole[3:5]
    assert lines(rows, header, range(0)) == []
    found = events_of(rows, header, range(7, 20)).read_all().column("event_id").to_pylist()
    assert found == ["orders:5:1:7", "orders:5:1:8"]


def test_two_readers_at_once(database: LocalDatabase) -> None:
    rows, header = staged(database, Travel("text"), *["x"] * 5000)
    first, second = lines_of(rows, header, range(5000)), lines_of(rows, header, range(5000))
    assert next(first) == next(second)
    assert sum(len(piece) for piece in (*first, *second)) == 2 * (5000 - 2048)


def test_wide_rows_are_read_in_smaller_pieces(tmp_path: Path) -> None:
    """Rows of 300 KB in a database that has memory for some hundred of them."""
    small = LocalDatabase(40 << 20, tmp_path)
    header = header_of([("k", Travel("int64")), ("v", Travel("text"))], counts={"c": 150})
    fields = "'c' AS op, NULL::VARCHAR AS reason, NULL::VARCHAR AS pair_id, i AS ordinal, NULL::VARCHAR AS changed"
    values = "NULL::BIGINT AS b_0, NULL::VARCHAR AS b_1, i AS a_0, repeat('x', 300000) AS a_1"
    columns = ("op", "reason", "pair_id", "ordinal", "changed", "b_0", "b_1", "a_0", "a_1")
    rows = LocalRows(small, Query(f"SELECT {fields}, {values} FROM range(150) AS t(i)", columns))
    numbers = [json.loads(line)["after"]["k"] for piece in lines_of(rows, header, range(150)) for line in piece]
    assert numbers == list(range(150))
    with pytest.raises(duckdb.OutOfMemoryException):
        small.connection.execute(f"SELECT list(a_1) FROM ({rows.query.sql})").fetchall()
    small.close()


def test_a_row_that_does_not_fit_is_one_message(tmp_path: Path) -> None:
    small = LocalDatabase(8 << 20, tmp_path)
    header = header_of([("k", Travel("text"))], counts={"c": 1})
    sql = "SELECT 'c' AS op, NULL AS reason, NULL AS pair_id, 0 AS ordinal, NULL::text AS changed, NULL::text AS b_0"
    columns = ("op", "reason", "pair_id", "ordinal", "changed", "b_0", "a_0")
    rows = LocalRows(small, Query(f"{sql}, repeat('x', 20000000) AS a_0 FROM range(1)", columns))
    with pytest.raises(LocalFailed, match=r"^stream orders: DuckDB ran out of memory.*local_memory"):
        lines(rows, header, range(1))
    small.close()
