"""Readers of dumps: values, refusals with file and line, and the order of a series."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from qbcd.config import config_from_dict
from qbcd.config.files import FileFormat, FilesConfig
from qbcd.errors import ConfigError, DumpRefused
from qbcd.files.content import DumpPlace
from qbcd.files.formats import open_dump
from qbcd.files.series import DumpFile, DumpSeries, TakenDumps
from qbcd.files.values import BadValue, values_of

FIELDS = [
    {"name": "id", "at": [1, 4], "type": "integer"},
    {"name": "name", "at": [5, 8]},
    {"name": "sum", "at": [9, 12], "type": "decimal(5,2)"},
]
FIXED = {"type": "fixed", "fields": FIELDS}
EBCDIC = {**FIXED, "record": 12, "encoding": "cp037"}
TEXT: dict[str, Any] = {
    "delimiter": "\t", "quote": "none", "escape": "\\", "header": False, "names": ["id", "name"]
}  # fmt: skip
IDS = {"types": {"id": "integer"}}
PACKED = gzip.compress(b"id,name\n" + b"1,x\n" * 9000)
ZSTD = pa.Codec("zstd").compress(b"id,name\n" + b"1,x\n" * 9000, asbytes=True)


def parquet_bytes(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


TWO = parquet_bytes(pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", None]}))


def rows_of(folder: Path, name: str, content: bytes, form: Mapping[str, Any]) -> list[dict[str, Any]]:
    (folder / name).write_bytes(content)
    reader = open_dump(DumpPlace(folder / name, name), FileFormat.model_validate(dict(form)))
    return [row for batch in reader.batches(reader.schema.names) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("name", "content", "form", "expected"),
    [
        ("a.csv", b'id,name\n1,x\n\n+2,\n3,""\n', IDS, [(1, "x"), (2, None), (3, "")]),
        ("crlf.csv", b"\xef\xbb\xbfid,name\r\n1,x\r\n", IDS, [(1, "x")]),
        ("latin.csv", b"id;name\n1;Zo\xeb\n", {**IDS, "delimiter": ";", "encoding": "latin-1"}, [(1, "Zoë")]),
        ("lines.csv", b'id,name\n1,"a\nb""c"\n', IDS, [(1, 'a\nb"c')]),
        ("bare.csv", b'1,5" pipe\n2,NA\n', {"header": False, "names": ["id", "name"], "quote": "none", "null": "NA"},
         [("1", '5" pipe'), ("2", None)]),
        ("stray.csv", b'id,name\n1,5" disk\n2,x"y"z\n3,"q""q"\n', {}, [("1", '5" disk'), ("2", 'x"y"z'), ("3", 'q"q')]),
        ("spark.csv", b'id,name\n1,"3\\" disk"\n2,a\\b\n3,"a\\\\b,c"\n4,"a\nb\\\\nc"\n5,""\n', {"escape": "\\"},
         [("1", '3" disk'), ("2", "a\\b"), ("3", "a\\b,c"), ("4", "a\nb\\nc"), ("5", "")]),
        ("path.csv", b'id,name\n1,"C:\\dir, x\\"\n2,"a\\"\n', {"escape": "none"},
         [("1", "C:\\dir, x\\"), ("2", "a\\")]),
        ("one.csv", b'id,name\n1,"C:\\dir, x\\"\n', {}, [("1", "C:\\dir, x\\")]),  # \d proves that it is no escape
        ("copy.txt", b"1\ta\\tb\\\\N\n2\t\\N\n3\t\n4\t\"q\n", TEXT,
         [("1", "a\tb\\N"), ("2", None), ("3", ""), ("4", '"q')]),
        ("out.txt", b"1\ta\\\tb\r\\\nc\\0\n2\t\\N\n", TEXT, [("1", "a\tb\r\nc\0"), ("2", None)]),
        ("hive.txt", b"1\x01a,b\n2\x01\\N\n",
         {"delimiter": "\x01", "quote": "none", "null": "\\N", "header": False, "names": ["id", "name"]},
         [("1", "a,b"), ("2", None)]),
        ("excel.csv", b"\xef\xbb\xbfid;name\r\n1;x,y\r\n", {"delimiter": ";"}, [("1", "x,y")]),
        ("mac.csv", b'id,name\r1,x\r2,"a\rb"\r', {}, [("1", "x"), ("2", "a\rb")]),
        ("wide.csv", b"id,name\n1," + b"x" * 4_194_300 + b"\n2,y\n", {}, [("1", "x" * 4_194_300), ("2", "y")]),
        ("numbers.jsonl", b'{"v":[12345678901234567890.25,1e400,{"b":0.10000000000000001,"a":-0}]}\n', {},
         [('[12345678901234567890.25,1e400,{"a":-0,"b":0.10000000000000001}]',)]),
        ("nested.jsonl", b'{"id":{"a":1,"a":2},"v":1}\n', {}, [('{"a":2}', "1")]),
        ("one.jsonl", b'{"id":1}', {}, [("1",)]),
        ("row.csv", b"1,x", {"header": False, "names": ["id", "name"], "final_newline": False}, [("1", "x")]),
        ("open.csv", b"id,name\n1,x\n2,y", {"final_newline": False}, [("1", "x"), ("2", "y")]),
        ("t.tsv", b"id\tname\n1\tx\n", {}, [("1", "x")]),
        ("none.csv", b"id,name\n", {}, []),
        ("a.jsonl", b'{"id":1,"name":1.50}\n\n{"id":2,"more":{"b":[1],"a":true}}\n', IDS,
         [(1, "1.50", None), (2, None, '{"a":true,"b":[1]}')]),
        ("part-0.json", b'{"id":1}\n', {}, [("1",)]),
        ("a.parquet", TWO, {}, [(1, "a"), (2, None)]),
        ("a.txt", b"0001abcd1.50\n   2x       rest\n", FIXED, [(1, "abcd", "1.50"), (2, "x", None)]),
        ("mac.txt", b"0001abcd1.50\r   2x       rest\r", FIXED, [(1, "abcd", "1.50"), (2, "x", None)]),
        ("crlf.txt", b"0001abcd1.50\r\n" * 2, FIXED, [(1, "abcd", "1.50")] * 2),
        ("nel.txt", "0001abcd1.50\x850002\xe9       \n".encode("cp037"), {**FIXED, "encoding": "cp037"},
         [(1, "abcd", "1.50"), (2, "é", None)]),
        ("nel.csv", "id,name\x851,x\x85".encode("cp500"), {"encoding": "cp500"}, [("1", "x")]),
        ("last.txt", b"0001abcd1.50 rest", {**FIXED, "final_newline": False}, [(1, "abcd", "1.50")]),
        ("a.dat", "0001abcd1.50   2\xe9       ".encode("cp037"), EBCDIC,
         [(1, "abcd", "1.50"), (2, "é", None)]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_rows_of_a_file(
    tmp_path: Path, name: str, content: bytes, form: dict[str, Any], expected: list[tuple[Any, ...]]
) -> None:
    assert [tuple(row.values()) for row in rows_of(tmp_path, name, content, form)] == expected


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zst"])
def test_compressed_files(tmp_path: Path, name: str) -> None:
    assert len(rows_of(tmp_path, name, PACKED if name.endswith("gz") else ZSTD, {})) == 9000


VALUES = [
    ("integer", ["+1", "1.0", None], [1, 1, None]),
    ("uint64", ["18446744073709551615"], [18446744073709551615]),
    ("decimal(5,2)", ["1", "-0.0", "+1.5", "01.50", ".5", "1E-2", "1.500"],
     ["1.00", "0.00", "1.50", "1.50", "0.50", "0.01", "1.50"]),
    ("double", ["1.6777216e+07", "inf", "-Infinity", ".5", "-0.0e9", "4.9E-324", None],
     [16777216.0, float("inf"), float("-inf"), 0.5, 0.0, 5e-324, None]),
    ("float32", ["0.1", "1.6777216e+07"], [float(np.float32("0.1")), 16777216.0]),
    ("time", ["08:59", "08:59:59", "08:59:59.5", "-838:59:59", "24:00:00"],
     ["08:59:00.000000", "08:59:59.000000", "08:59:59.500000", "-838:59:59.000000", "24:00:00.000000"]),
    ("timestamp", ["2024-02-29", "2024-02-29T01:02", "2024-02-29 01:02:03.5"],
     ["2024-02-29T00:00:00.000000", "2024-02-29T01:02:00.000000", "2024-02-29T01:02:03.500000"]),
    ("timestamptz", ["2024-03-31 01:30:00+00", "2024-03-31 01:30:00+0530", "1900-01-01 00:00:00-00:17:30",
                     "2024-03-31T01:30:00.500 UTC"],
     ["2024-03-31T01:30:00.000000Z", "2024-03-30T20:00:00.000000Z", "1900-01-01T00:17:30.000000Z",
      "2024-03-31T01:30:00.500000Z"]),
    ("binary", ["\\x00ff", "\\x", "[00 FF]", "0x00", "\\x00\\xFFab"],
     [b"\x00\xff", b"", b"\x00\xff", b"\x00", b"\x00\xffab"]),
    ("hex", ["00ff", "0x00FF"], [b"\x00\xff"] * 2),
    ("base64", ["AP8=", "base64:type253:AP8=", "\\x00ff"], [b"\x00\xff"] * 3),
    ("blob", ["a\\x00b"], [b"a\x00b"]),
]  # fmt: skip
SPECIAL = [
    ("decimal(5,2)", ["NaN", "1"], ["NaN", "1.00"]),
    ("date", ["infinity", "0044-03-15 BC", "2021-02-31", "10000-01-01"], None),
    ("timestamp", ["-infinity", "10000-01-01T00:00:00", "0000-00-00 00:00:00"],
     ["-infinity", "10000-01-01 00:00:00", "0000-00-00 00:00:00"]),
    ("timestamptz", ["10000-01-01 05:30:00+05:30", "0044-03-15 17:53:28+05:53:28 BC", "10000-01-01 05:29:59.5+05:30",
                     "2024-03-31 01:30:00"],
     ["10000-01-01 00:00:00+00", "0044-03-15 12:00:00+00 BC", "9999-12-31T23:59:59.500000Z",
      "2024-03-31T01:30:00.000000Z"]),
    ("integer", ["t", "false", "1"], [1, 0, 1]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "texts", "expected"), VALUES, ids=[one[0] for one in VALUES])
def test_values_of_texts(kind: str, texts: list[str | None], expected: list[Any]) -> None:
    for special in (False, True):
        assert values_of(pa.array(texts, pa.string()), kind, special=special).to_pylist() == expected


@pytest.mark.parametrize(("kind", "texts", "expected"), SPECIAL, ids=[one[0] for one in SPECIAL])
def test_special_values_are_for_comparisons(kind: str, texts: list[str], expected: list[Any] | None) -> None:
    assert values_of(pa.array(texts), kind, special=True).to_pylist() == (expected or texts)
    with pytest.raises(BadValue):
        values_of(pa.array(texts), kind)


@pytest.mark.parametrize("text", ["1e400", "-1e400", "+1e400", "1e-400", "-0.001e-350"])
@pytest.mark.parametrize("kind", ["double", "float32"])
def test_numbers_out_of_range_are_refused(kind: str, text: str) -> None:
    for special in (False, True):
        with pytest.raises(BadValue) as caught:
            values_of(pa.array(["0", "inf", None, text, "1"]), kind, special=special)
        assert caught.value.row == 3


@pytest.mark.parametrize("text", ["1e39", "3.5e38", "-1e39", "1e-60"])
def test_numbers_out_of_range_of_32_bits(text: str) -> None:
    assert values_of(pa.array([text]), "double").to_pylist() == [float(text)]
    with pytest.raises(BadValue):
        values_of(pa.array([text]), "float32")


REFUSED: list[tuple[str, bytes, dict[str, Any], str]] = [
    ("cut.csv", b"id,name\n1,x\n2,y", {}, "cut.csv, line 3: the last line has no line end: the file is truncated"),
    ("cr.csv", b"id,name\r1,x\r2,y", {}, "cr.csv, line 3: the last line has no line end: the file is truncated"),
    ("row.csv", b"1,abc", {"header": False, "names": ["id", "name"]}, "row.csv, line 1: the last line has no line end"),
    ("head.csv", b"id,name", {}, "head.csv, line 1: the last line has no line end"),
    ("cut.txt", b"0001abcd1.50\r   2x       ", FIXED, "cut.txt, line 2: the last line has no line end"),
    ("nel.txt", "0001abcd1.50\x85   2x       ".encode("cp037"), {**FIXED, "encoding": "cp037"}, "nel.txt, line 2: the"),
    ("none.txt", b"0001abcd1.50" * 9, FIXED, "none.txt: has no line end in 108 characters, and the last field"),
    (
        "none.dat",
        "0001abcd1.50".encode("cp037") * 9,
        {**FIXED, "encoding": "cp037", "final_newline": False},
        "none.dat: has no line end in 108 characters",
    ),
    ("cut.csv.gz", PACKED[:-20], {}, "cut.csv.gz: its gzip data ends early: the file is truncated, or still written"),
    ("cut.csv.zst", ZSTD[:-5], {}, "cut.csv.zst: its zstd data ends early: the file is truncated, or still written"),
    ("bad.csv.gz", b"xx" + PACKED, {}, "bad.csv.gz: its gzip data is damaged"),
    ("cut.parquet", TWO[:-6], {}, "cut.parquet: has no Parquet footer: the file is truncated, still written"),
    ("name.parquet", TWO.replace(b"name", b"n\xbame"), {}, "name.parquet: has no Parquet footer"),
    ("cut.jsonl", b'{"id":1}\n{"id":2\n', {}, "cut.jsonl, line 2: is no JSON object"),
    ("cut.dat", "0001abcd1.50   2".encode("cp037"), EBCDIC, "cut.dat: ends within record 2, after 4 of 12 bytes"),
    ("quote.csv", b'id,name\n1,"x\n2,y\n', {}, "quote.csv, line 2: a quoted value that begins"),
    ("after.csv", b'id,name\n1,"x"y\n', {}, "after.csv, line 2: has text after a closing quote"),
    ("spark.csv", b'id,name\n1,"3\\" disk"\n', {}, "spark.csv, line 2: has a backslash in quotes"),
    ("pair.csv", b'id,name\n1,x\n2,"a\\\\b, c"\n', {}, "pair.csv, line 3: has a backslash in quotes"),
    ("null.csv", b"id,name\n1,\\N\n", {}, "null.csv, line 2: has \\N without quotes, which Hive, MariaDB, MySQL and"),
    (
        "long.csv",
        b"id\n1\n" + b"2" * 3_000_000 + b"\n",
        {"longest_row": "2MB"},
        "long.csv, line 3: a row is longer than 2 MB",
    ),
    (
        "long.jsonl",
        b'{"id":1}\n{"id":"%b"}\n' % (b"2" * 3_000_000),
        {"longest_row": "2MB"},
        "long.jsonl, line 2: a row is longer than 2 MB",
    ),
    ("again.jsonl", b'{"id":1}\n{"id":1,"v":2,"id":3}\n', {}, "again.jsonl, line 2: has 'id' several times"),
    ("half.jsonl", b'{"id":1}\n{"id":"\\ud800"}\n', {}, "half.jsonl, line 2: column id has half of a surrogate pair"),
    ("deep.jsonl", b'{"id":1}\n{"id":%b1%b}\n' % (b"[" * 900, b"]" * 900), {}, "deep.jsonl, line 2: has values in too"),
    ("array.jsonl", b'[{"id":1},{"id":2}]\n', {}, "array.jsonl, line 1: is no JSON object"),
    ("pandas.json", b'{"id":{"0":1},"v":{"0":2}}', {}, "pandas.json, line 1: is one object whose values are columns"),
    ("few.csv", b"id,name\n1,x\n2\n", {}, "few.csv, line 3: has 1 values where the header has 2"),
    ("far.csv", b"id,name\n" + b"1,%b\n" % (b"x" * 500) * 10_000 + b"2\n", {}, "far.csv, line 10,002: has 1 values"),
    ("type.csv", b'id,name\n1,"a\nb"\n\n2x,y\n', IDS, "type.csv, line 5: column id has '2x', which is not an integer"),
    ("big.csv", b"id\n9223372036854775808\n", IDS, "big.csv, line 2: column id has '9223372036854775808', which"),
    ("scale.csv", b"id\n1.005\n", {"types": {"id": "decimal(5,2)"}}, "scale.csv, line 2: column id has '1.005'"),
    ("day.csv", b"id\n2023-02-29\n", {"types": {"id": "date"}}, "day.csv, line 2: column id has '2023-02-29'"),
    ("code.csv", b"id,name\n1,\xff\n", {}, "code.csv, line 2: is not utf-8 text"),
    ("code.txt", b"id,name\n1,\x81\n", {"encoding": "cp1252"}, "code.txt, line 2: is not cp1252 text"),
    ("twice.csv", b"id,id\n1,2\n", {}, "twice.csv, line 1: column 'id' occurs twice in the header"),
    ("names.csv", b"id,name\n", {"names": ["id", "name"]}, "names.csv: by its name it is csv, and `names` is for"),
    ("key.parquet", TWO, {"delimiter": ";"}, "key.parquet: by its name it is parquet, and `delimiter` is for csv, not"),
    ("empty.csv", b"", {}, "empty.csv, line 1: is empty: it has no header"),
    ("much.csv", b"id\n1\n1e400\n", {"types": {"id": "double"}}, "much.csv, line 3: column id has '1e400'"),
    ("no.csv", b"id\n1\n", {"types": {"ident": "integer"}}, "no.csv, line 1: there is no column 'ident'"),
    ("name.jsonl", b'{"id":1}\n' * 1001 + b'{"id":1,"x":2}\n', {}, "name.jsonl, line 1,002: has 'x', which is no"),
    ("type.jsonl", b'{"id":1}\n\n{"id":"x"}\n', IDS, "type.jsonl, line 3: column id has 'x', which is not an integer"),
    ("short.txt", b"0001abcd1.50\n   2x\n", FIXED, "short.txt, line 2: has 5 characters, and the last field ends at"),
    ("type.dat", "0001abcd1.50   y        ".encode("cp037"), EBCDIC, "type.dat: row 2: column id has 'y', which is"),
    ("mark.csv", "id\n1\n".encode("utf-16-le"), {"encoding": "utf-16"}, "mark.csv, line 1: is not utf-16 text"),
    ("what.bin", b"x", {}, "what.bin: its name does not say its format"),
]


@pytest.mark.parametrize(("name", "content", "form", "message"), REFUSED, ids=[one[0] for one in REFUSED])
def test_a_wrong_file_is_refused_with_its_line(
    tmp_path: Path, name: str, content: bytes, form: dict[str, Any], message: str
) -> None:
    with pytest.raises(DumpRefused) as caught:
        rows_of(tmp_path, name, content, form)
    assert caught.value.what.startswith(message)
    assert caught.value.remedy


def test_files_of_one_comparison_have_one_format(tmp_path: Path) -> None:
    form = FileFormat.model_validate({"delimiter": ";", "names": ["id", "name"]})
    for name, content in (("a.parquet", TWO), ("a.jsonl", b'{"id":1}\n')):
        (tmp_path / name).write_bytes(content)
        assert open_dump(DumpPlace(tmp_path / name, name, once=True), form).schema.names == ["id", "name"]
    (tmp_path / "a.csv").write_bytes(b"id;name\n1;x\n")
    with pytest.raises(DumpRefused, match="`names` is for files without a header") as caught:
        open_dump(DumpPlace(tmp_path / "a.csv", "a.csv", once=True), form)
    assert caught.value.remedy.endswith("in --format")


def put(folder: Path, name: str, modified: float = 1000.0, content: bytes = b"id\n1\n") -> Path:
    path = folder / name
    path.write_bytes(content)
    os.utime(path, (modified, modified))
    return path


def taken_of(series: DumpSeries, *names: str) -> TakenDumps:
    taken: TakenDumps | None = None
    for one in series.present():
        if one.name in names:
            taken = series.with_taken(taken, one, ["id"])
    assert taken is not None
    return TakenDumps.from_entry(taken.as_entry(), series.config.folder)


def names(found: tuple[list[DumpFile], list[str]]) -> list[str]:
    return [one.name for one in found[0]]


def series_of(folder: Path, **options: Any) -> DumpSeries:
    return DumpSeries(FilesConfig(files=str(folder / "d-*"), **options))


def test_new_dumps_come_in_order_and_once(tmp_path: Path) -> None:
    for name, modified in (("d-2.csv", 5.0), ("d-1.csv", 9.0), ("d-3.csv", 7.0), ("other", 1.0)):
        put(tmp_path, name, modified)
    assert names(series_of(tmp_path).after(None)) == ["d-1.csv", "d-2.csv", "d-3.csv"]
    by_time = series_of(tmp_path, order="modified")
    assert names(by_time.after(None)) == ["d-2.csv", "d-3.csv", "d-1.csv"]
    assert names(by_time.after(taken_of(by_time, "d-2.csv", "d-3.csv"))) == ["d-1.csv"]
    taken = taken_of(by_time, "d-1.csv", "d-2.csv", "d-3.csv")
    put(tmp_path, "d-1.csv", 10.0)  # replaced by a newer one
    assert names(by_time.after(taken)) == ["d-1.csv"]
    (tmp_path / "d-2.csv").unlink()  # forgotten, since nothing else would bound the list
    assert set(by_time.with_taken(taken, by_time.present()[0], ["id"]).files) == {"d-1.csv", "d-3.csv"}


def test_numbers_in_names_are_numbers(tmp_path: Path) -> None:
    for modified, name in enumerate(("d-8.csv", "d-9.csv", "d-10.csv", "d-10-2.csv", "d-10-11.csv"), 1):
        put(tmp_path, name, modified)
    in_time = ["d-8.csv", "d-9.csv", "d-10-2.csv", "d-10-11.csv", "d-10.csv"]
    assert names(series_of(tmp_path).after(None)) == in_time
    as_text = ["d-10-11.csv", "d-10-2.csv", "d-10.csv", "d-8.csv", "d-9.csv"]
    text = series_of(tmp_path, order="text")
    assert names(text.after(None)) == as_text
    # what a version that compared text has taken is not read again, and later numbers are not late
    known = TakenDumps.from_entry(without_identity(taken_of(text, *as_text)), tmp_path)
    assert names(series_of(tmp_path).after(known)) == ["d-9.csv"], "once again: its inode was not stored"
    series = series_of(tmp_path)
    taken = taken_of(text, *as_text)
    assert series.after(taken) == ([], [])
    assert "d-10.csv follows d-9.csv by name, but was taken before it" in series.doubts(taken)[1]
    put(tmp_path, "d-11.csv", 9.0)
    assert names(series.after(taken)) == ["d-11.csv"]
    with pytest.raises(DumpRefused, match=r"d-11.csv is new, but by its name it is older than d-9\.csv"):
        text.after(taken)


def without_identity(taken: TakenDumps) -> dict[str, Any]:
    """Return the entry of a version that stored neither inode nor ctime."""
    entry = taken.as_entry()
    del entry["identity"]
    return entry


@pytest.mark.parametrize(
    ("order", "remark"),
    [
        ("name", ": they are taken by name (`order: name`); if that is wrong, write order: modified"),
        ("text", ": they are taken by name (`order: text`); if that is wrong, write order: modified"),
        ("modified", ": they are taken by time (`order: modified`); if that is wrong, write order: name"),
    ],
)
def test_names_and_times_that_contradict_each_other(tmp_path: Path, order: str, remark: str) -> None:
    for name, modified in (("d-1.csv", 5.0), ("d-2.csv", 4.0), ("d-3.csv", 4.0), ("d-x.csv", 1.0)):
        put(tmp_path, name, modified)
    more = " (as 1 more)" if order != "modified" else ""
    by_name = f"by name d-1.csv is before d-2.csv, by time of modification after it{more}"
    assert series_of(tmp_path, order=order).doubts(None) == [by_name + remark]
    put(tmp_path, "d-1.csv", 3.0)
    (tmp_path / "d-x.csv").unlink()
    assert series_of(tmp_path, order=order).doubts(None) == []


def replaced(path: Path, content: bytes) -> None:
    """Replace a file by another one of its size and time."""
    modified = path.stat().st_mtime_ns
    other = path.with_name("new")
    other.write_bytes(content)
    os.utime(other, ns=(modified, modified))
    other.rename(path)


def test_a_file_of_equal_size_and_time_is_another_one(tmp_path: Path) -> None:
    path = put(tmp_path, "d-1.csv")
    put(tmp_path, "d-2.csv")
    series = series_of(tmp_path)
    taken = taken_of(series, "d-1.csv", "d-2.csv")
    assert series.after(taken) == ([], [])
    replaced(path, b"id\n2\n")  # an earlier file: its rows are older than the replica
    assert series.after(taken) == ([], [])
    [_, last] = series.present()
    replaced(tmp_path / "d-2.csv", b"id\n2\n")
    assert names(series.after(taken)) == ["d-2.csv"]
    with pytest.raises(DumpRefused, match="was changed or removed while it was read"):
        last.check_unchanged()
    taken = taken_of(series, "d-1.csv", "d-2.csv")
    (tmp_path / "d-2.csv").chmod(0o600)  # ctime alone
    assert names(series.after(taken)) == ["d-2.csv"]
    marked = series_of(tmp_path, complete="{file}.done")
    assert marked.after(taken) == ([], []), "the marker of a file that was taken may be removed"


@pytest.mark.parametrize(("order", "by"), [("name", "name"), ("modified", "time of modification")])
def test_a_late_dump_is_refused(tmp_path: Path, order: str, by: str) -> None:
    put(tmp_path, "d-3.csv", 9.0)
    series = series_of(tmp_path, order=order)
    taken = taken_of(series, "d-3.csv")
    put(tmp_path, "d-2.csv", 5.0)
    with pytest.raises(DumpRefused, match=rf"d-2.csv is new, but by its {by} it is older than d-3.csv"):
        series.after(taken)


def test_an_incomplete_dump_and_all_later_ones_wait(tmp_path: Path) -> None:
    put(tmp_path, "d-1.csv", 100.0)
    put(tmp_path, "d-2.csv", 100.0)
    quiet = series_of(tmp_path, quiet=60)
    assert quiet.after(None, now=159.0)[1] == [
        "d-1.csv may still be written: it was changed less than 60 s ago (`quiet`); wait 1 s more; 1 later file waits"
    ]
    assert names(quiet.after(None, now=161.0)) == ["d-1.csv", "d-2.csv"]
    marked = series_of(tmp_path, complete="{file}.done")
    put(tmp_path, "d-2.csv.done", 100.0)
    found = marked.after(None)
    assert found == ([], [
        "d-1.csv is not complete: its marker d-1.csv.done does not exist yet; wait for it; 1 later file waits"
    ])  # fmt: skip
    put(tmp_path, "d-1.csv.done", 99.0)
    assert "it was changed after its marker d-1.csv.done" in marked.after(None)[1][0]
    put(tmp_path, "d-1.csv.done", 101.0)
    assert names(marked.after(None)) == ["d-1.csv", "d-2.csv"]


def test_a_dump_that_is_written_while_it_is_read_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "d-1.csv")
    [one] = series_of(tmp_path).present()
    one.check_unchanged()
    put(tmp_path, "d-1.csv", content=b"id\n1\n2\n")
    with pytest.raises(DumpRefused, match="was changed or removed while it was read"):
        one.check_unchanged()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any folder")
def test_a_folder_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for name in ("in/a/d-1.csv", "in/b/d-2.csv", "in/c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    several = DumpSeries(FilesConfig(files=f"{tmp_path}/in/*/d-*.csv"))
    one, alone = (DumpSeries(FilesConfig(files=f"{tmp_path}/in/b/{name}.csv")) for name in ("d-*", "d-2"))
    assert [d.name for d in several.present()] == ["a/d-1.csv", "b/d-2.csv"]
    assert [d.name for d in (*one.present(), *alone.present())] == ["d-2.csv", "d-2.csv"]
    folder = tmp_path / "in/b"
    folder.chmod(0o111)
    assert alone.present(), "it is not listed"
    for series in (several, one):
        with pytest.raises(DumpRefused, match="in/b cannot be read: Permission denied"):
            series.present()
    folder.chmod(0o444)
    for series in (several, one, alone):
        with pytest.raises(DumpRefused, match=r"in/b(/d-2\.csv)? cannot be read: Permission denied"):
            series.present()
    folder.chmod(0o755)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    for pattern in ("in/d-*.csv", "in/d-1.csv", "in/*/d-1.csv"):
        with pytest.raises(DumpRefused, match="in cannot be read: No such file or directory") as caught:
            DumpSeries(FilesConfig(files=f"{tmp_path}/{pattern}")).present()
        assert caught.value.remedy
    (tmp_path / "in").mkdir()
    assert DumpSeries(FilesConfig(files=f"{tmp_path}/in/*/d-1.csv")).present() == []


@pytest.mark.parametrize(("pattern", "found"), [("in/d*.csv", 2), ("../[[]1] a*b?/in/d?.csv", 1), ("in/d[[]x].csv", 1)])
def test_the_folder_of_the_configuration_has_no_wildcards(tmp_path: Path, pattern: str, found: int) -> None:
    folder = tmp_path / "[1] a*b?"
    (folder / "in").mkdir(parents=True)
    for name in ("d1.csv", "d[x].csv"):
        put(folder / "in", name)
        put(folder / "in", f"{name}.done")
    source = {"files": pattern, "complete": "{file}.done"}
    series = DumpSeries(FilesConfig.model_validate(source, context={"base_dir": folder}))
    assert series.config.folder == (tmp_path if pattern.startswith("..") else folder / "in")
    assert len(series.after(None)[0]) == found


PARTNER: dict[str, Any] = {"files": "in/d-*.csv", "format": {"type": "csv"}}
TABLE: dict[str, Any] = {"name": "d", "source": "partner", "key": ["id"], "strategy": "dump"}


@pytest.mark.parametrize(
    ("source", "table", "message"),
    [
        ({}, {}, ""),
        ({"complete": "x.done"}, {}, "sources.partner.complete: `complete` names no file for each dump"),
        ({"ordr": "name"}, {}, 'sources.partner.ordr: unknown key "ordr" (did you mean "order"?)'),
        ({"format": {"type": "xml"}}, {}, "sources.partner.format.type: this value is not known here"),
        ({"format": {"type": "parquet", "delimiter": ";"}}, {}, "format.delimiter: `delimiter` is for csv, not for"),
        ({"format": {"delimeter": ";"}}, {}, 'format.delimeter: unknown key "delimeter" (did you mean "delimiter"?)'),
        ({"format": {"type": "fixed"}}, {}, "sources.partner.format: `fields` is missing"),
        ({"format": {"type": "fixed", "fields": [{"name": "a", "at": [5, 1]}]}}, {}, "these are no positions"),
        ({"format": {"types": {"id": "int"}}}, {}, 'format.types.id: "int" is not a type of values in files'),
        ({"format": {"encoding": "klingon"}}, {}, 'format.encoding: there is no encoding "klingon"'),
        ({"url": "postgresql://h/d"}, {}, 'sources.partner.url: unknown key "url"'),
        ({}, {"key": None}, "tables[0].key: files prove no key"),
        ({}, {"key": "none"}, "tables[0].key: strategy dump identifies rows by their keys"),
        ({}, {"table": "public.d"}, "tables[0].table: strategy dump reads files, which the source names"),
        ({}, {"where": "x > 1"}, "tables[0].where: `where` is a condition for a database"),
        ({}, {"types": {"id": "text"}}, "tables[0].types: `types` is for columns of a database"),
        (
            {},
            {"strategy": {"type": "dump", "method": "ph", "memory": "64MB"}},
            "strategy.memory: method ph needs 128MB",
        ),
        ({}, {"new_columns": "add"}, "tables[0].new_columns: `new_columns` is for tables of a database"),
        ({}, {"strategy": "mds"}, "tables[0].strategy: strategy mds queries a database, and source partner has files"),
        ({}, {"strategy": {"type": "dump", "method": "magic"}}, "tables[0].strategy.method: this value is not known"),
        ({}, {"strategy": {"type": "dump", "method": "ph", "replica": "digest"}}, "method ph compares rows"),
        ({}, {"source": "shop"}, "tables[0].strategy: strategy dump reads files, and source shop is a database"),
    ],
)
def test_configuration_of_files(source: dict[str, Any], table: dict[str, Any], message: str) -> None:
    written = {key: value for key, value in {**TABLE, **table}.items() if value is not None}
    data = {
        "version": 1,
        "sources": {"partner": {**PARTNER, **source}, "shop": {"url": "postgresql://localhost/shop"}},
        "tables": [written],
    }
    if not message:
        assert config_from_dict(data).dumps["partner"].format.type == "csv"
        return
    with pytest.raises(ConfigError) as caught:
        config_from_dict(data)
    assert message in str(caught.value)
