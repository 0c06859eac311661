"""Change rows that Arrow reads are those of DuckDB's SQL, also of texts that do not fit their type."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from qbcd.errors import UnsupportedType
from qbcd.local.part_files import PartFile
from qbcd.model import BatchHeader, Travel
from qbcd.spark_source import executor
from qbcd.spark_source.change_rows import ReadColumns, arrow_schema, change_queries, staged_fields
from qbcd.spark_source.executor import FilePiece, NamedFile, Rows, read_rows

COLUMNS = (
    ("id", Travel("int64")),
    ("word", Travel("text")),
    ("truth", Travel("boolean")),
    ("ratio", Travel("float32")),
    ("raw", Travel("binary")),
    ("money", Travel("decimal", precision=6, scale=2)),
    ("whole", Travel("decimal", precision=9, scale=0)),
    ("day", Travel("date")),
    ("moment", Travel("timestamp")),
    ("instant", Travel("timestamptz")),
)
ODD_DAYS = ["0000-01-01", "0001-01-01", "9999-12-31", "infinity", "2026-02-30", "2026-1-1", "10000-01-01", "", " "]
WORST_DAYS = ["0000-01-01", "infinity", "2026-02-30"]
ODD_CLOCKS = ["T00:00:00", " 23:59:59.999999", "T12:30:00.5", "T23:59:60", "T24:00:00", "T12:30", "T12:30:00.1234567"]
ODD_NUMBERS = ["1.005", "1e2", " 1", "1 ", "1.", ".5", "+3", "NaN", "99999.5", "-0", "1_000", "٣", "", "0x1", "9" * 40]
ODD = {
    "decimal": ODD_NUMBERS,
    "date": [*ODD_DAYS, "2026-01-01T00:00:00"],
    "timestamp": [
        *(day + "T00:00:00" for day in WORST_DAYS),
        *(f"2026-01-01{clock}" for clock in [*ODD_CLOCKS, ""]),
        "2026-01-01T00:00:00Z",
    ],
    "timestamptz": [
        *(day + "T00:00:00Z" for day in WORST_DAYS),
        *(f"2026-01-01{clock}Z" for clock in [*ODD_CLOCKS, ""]),
        *(f"2026-01-01T00:00:00{zone}" for zone in ("", "+02:00", "z", " Z")),
    ],
}
DAYS, CLOCK = st.one_of(st.dates().map(str), st.sampled_from(ODD_DAYS)), st.sampled_from([*ODD_CLOCKS, ""])
ZONE = st.sampled_from(["Z", "Z", "Z", "", "+02:00", "z", " Z"])
NUMBERS = st.one_of(st.decimals("-9999.99", "9999.99", places=2).map(str), st.sampled_from(ODD_NUMBERS))
WIRE: dict[str, st.SearchStrategy[Any]] = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "text": st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5),
    "boolean": st.booleans(),
    "float32": st.floats(width=32, allow_nan=False),
    "binary": st.binary(max_size=3),
    "decimal": NUMBERS,
    "date": DAYS,
    "timestamp": st.tuples(DAYS, CLOCK, st.sampled_from(["", "", "", "Z"])).map("".join),
    "timestamptz": st.tuples(DAYS, CLOCK, ZONE).map("".join),
}


def header(before: bool, counts: dict[str, int]) -> BatchHeader:
    shared: dict[str, Any] = {"stream": "s", "epoch": 1, "seq": 7, "ts_ms": 0, "counts": counts, "sinks": ()}
    places: dict[str, Any] = {"fingerprint": "", "source": "", "table": "", "strategy": "", "consistency": "range"}
    return BatchHeader(**shared, **places, key=("id",), columns=COLUMNS, before=before)


def write(path: Path, events: list[dict[str, Any]], about: BatchHeader) -> None:
    """Write events as a batch's file."""
    types = {
        "BIGINT": pa.int64(),
        "BOOLEAN": pa.bool_(),
        "FLOAT": pa.float32(),
        "BLOB": pa.binary(),
        "VARCHAR": pa.string(),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in staged_fields(about)])
    rows = [{**event, "ordinal": number} for number, event in enumerate(events)]
    parquet.write_table(pa.Table.from_pylist(rows, schema), path)


def write_equal(path: Path, about: BatchHeader, rows: int, values: Mapping[str, str]) -> None:
    """Write equal events, with the values that are given as SQL."""
    fields = [f"CAST({values.get(name, 'NULL')} AS {kind}) AS {name}" for name, kind in staged_fields(about)]
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT {', '.join(fields)} FROM range({rows})) TO '{path}' (FORMAT PARQUET)")


def read(piece: FilePiece, schema: pa.Schema) -> Counter[str] | str:
    try:
        found = [row for batch in read_rows(Rows("s", schema, (piece,))) for row in batch.to_pylist()]
    except UnsupportedType as error:
        return error.what
    return Counter(map(repr, found))


def piece_of(path: Path, about: BatchHeader) -> tuple[FilePiece, pa.Schema]:
    queries, images = change_queries(about, ReadColumns(COLUMNS))
    assert images
    named = NamedFile(str(path.parent), PartFile.of(path))
    made = FilePiece((named,), tuple(staged_fields(about)), queries, images, fixed=(7, 0))
    return made, arrow_schema(COLUMNS, changes=True)


def images_of(drawn: st.DataObject, side: str, columns: tuple[tuple[str, Travel], ...] = COLUMNS) -> dict[str, Any]:
    return {f"{side}_{i}": drawn.draw(st.one_of(st.none(), WIRE[travel.kind])) for i, (_, travel) in enumerate(columns)}


def readings(folder: Path, events: list[dict[str, Any]], before: bool) -> tuple[Counter[str] | str, ...]:
    """Return what SQL and what Arrow read: rows, or the message of a misfit."""
    about = header(before, dict(Counter(event["op"] for event in events)))
    write(folder / "local-0.parquet", events, about)
    piece, schema = piece_of(folder / "local-0.parquet", about)
    return read(replace(piece, images=()), schema), read(piece, schema)


SHOWN = ("decimal", "timestamptz")  # outside of a campaign


@pytest.mark.parametrize("kind", [pytest.param(one, marks=() if one in SHOWN else pytest.mark.campaign) for one in ODD])
def test_odd_texts_are_read_or_refused_alike(kind: str, tmp_path: Path) -> None:
    places = [i for i, (_, travel) in enumerate(COLUMNS) if travel.kind == kind]
    refused = 0
    for text in ODD[kind]:
        by_sql, by_arrow = readings(tmp_path, [{"op": "c", **{f"a_{i}": text for i in places}}], True)
        assert by_arrow == by_sql, text
        refused += isinstance(by_sql, str)
    assert 0 < refused < len(ODD[kind])


@pytest.mark.campaign
@given(drawn=st.data(), before=st.booleans(), wrong=st.sampled_from(range(4, len(COLUMNS))))
@settings(max_examples=200, deadline=None)
def test_arrow_and_sql_read_the_same_rows(drawn: st.DataObject, before: bool, wrong: int) -> None:
    """At most one column has odd texts, so that both readers name the same one."""
    plain = {f"{side}_{i}" for side in "ba" for i in range(5, len(COLUMNS)) if i != wrong}
    events = []
    for op in drawn.draw(st.lists(st.sampled_from("cudr"), min_size=1, max_size=6)):
        old = images_of(drawn, "b", COLUMNS if before else COLUMNS[:1]) if op == "d" or (op == "u" and before) else {}
        new = images_of(drawn, "a") if op != "d" else {}
        events.append({"op": op, **{k: None if k in plain else v for k, v in {**old, **new}.items()}})
    with tempfile.TemporaryDirectory() as folder:
        by_sql, by_arrow = readings(Path(folder), events, before)
    if isinstance(by_sql, str):
        assert isinstance(by_arrow, str)
        assert by_arrow.partition(":")[0] == by_sql.partition(":")[0]  # two misfits: either may come first
    else:
        assert by_arrow == by_sql


def test_arrow_reads_without_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = header(True, {"u": 5000})
    path = tmp_path / "local-0.parquet"
    moment = "'2026-01-01T00:00:00.000000Z'"
    write_equal(path, about, 5000, {"op": "'u'", "b_5": "'1.50'", "a_5": "'1.50'", "b_9": moment, "a_9": moment})
    monkeypatch.delattr(executor, "LocalDatabase")
    piece, schema = piece_of(path, about)
    found = pa.Table.from_batches(read_rows(Rows("s", schema, (piece,))), schema)
    assert found.num_rows == 10_000
    assert set(found.column("money").to_pylist()) == {Decimal("1.50")}


def test_a_long_text_that_repeats_stays_once_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = header(True, {"c": 2000})
    path = tmp_path / "local-0.parquet"
    write_equal(path, about, 2000, {"op": "'c'", "a_1": "repeat('y', 70000)"})
    assert parquet.read_metadata(path).row_group(0).total_byte_size < executor.PIECE_BYTES
    piece, schema = piece_of(path, about)
    sizes = [batch.nbytes for batch in read_rows(Rows("s", schema, (piece,)))]
    assert sum(sizes) > 2000 * 70_000
    assert max(sizes) < 2 * executor.PIECE_BYTES
