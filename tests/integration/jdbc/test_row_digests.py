"""The digest that Spark computes of rows that travel: its bytes on a corpus, exact sums, and a refused other one."""

from __future__ import annotations

import itertools
import struct
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.errors import EnvironmentMissing
from qbcd.spark import row_digests
from tests.support.xxh64 import row_digest, wide_digest, xxh64

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORPUS: dict[str, list[Any]] = {
    "boolean": [True, False],
    "smallint": [0, -1, 32767, -32768],
    "int": [0, -1, 2**31 - 1, -(2**31)],
    "bigint": [0, -1, 2**63 - 1, -(2**63)],
    "float": [0.5, -1.25, 2.0**100],
    "double": [0.1, -1e300, 5e-324],
    "string": ["", "a", "ab", "ba", "ß日本😀", "x" * 31, "x" * 32, "x" * 100, "\x00", " a"],
    "binary": [b"", b"\x00", b"\x00\x00", bytes(range(256))],
    "date": [date(1582, 10, 15), date(1970, 1, 1), date(9999, 12, 31)],
    "timestamp_ntz": [datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(9999, 12, 31)],
    "decimal(12,2)": [Decimal("0.00"), Decimal("-0.01"), Decimal("9999999999.99")],
    "decimal(38,1)": [Decimal("0.0"), Decimal("-0.1"), Decimal("9" * 37 + ".9"), Decimal("-1" + "0" * 36 + ".0")],
}


def bytes_of(kind: str, value: Any) -> bytes | None:
    """Return the bytes of a value that enter the digest."""
    if value is None:
        return None
    if kind.startswith("decimal"):
        size = int(kind.partition("(")[2].partition(",")[0])
        unscaled = int(str(value).replace(".", ""))
        if size <= 18:
            return struct.pack("<q", unscaled)
        length = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
        return unscaled.to_bytes(length, "big", signed=True)
    packed = {"boolean": "<i", "smallint": "<i", "int": "<i", "bigint": "<q", "float": "<f", "double": "<d"}
    if kind in packed:
        return struct.pack(packed[kind], value)
    if kind == "date":
        return struct.pack("<i", (value - date(1970, 1, 1)).days)
    if kind == "timestamp_ntz":
        return struct.pack("<q", (value - datetime(1970, 1, 1)) // timedelta(microseconds=1))
    return value.encode() if isinstance(value, str) else value


def test_the_reference_is_xxh64() -> None:
    assert xxh64(b"", 0) == 0xEF46DB3751D8E999
    assert xxh64(b"abc", 0) == 0x44BC2CF5AD770999
    assert xxh64(b"Call me Ishmael. Some years ago--never mind how long precisely-", 0) == 0x02A2E85470D6FD96


def test_digests_of_a_corpus_have_the_specified_bytes(spark: SparkSession) -> None:
    row_digests.check_digests(spark)
    kinds = list(CORPUS)
    most = max(map(len, CORPUS.values()))
    rows = [tuple((None, *CORPUS[kind])[i % (len(CORPUS[kind]) + 1)] for kind in kinds) for i in range(most + 2)]
    rows += [(None,) * len(kinds), *((*row[:1], None, *row[2:]) for row in rows)]
    schema = ", ".join(f"c{i} {kind}" for i, kind in enumerate(kinds))
    frame = spark.createDataFrame(rows, schema)
    contents = [[bytes_of(kind, v) for kind, v in zip(kinds, row, strict=True)] for row in rows]
    size = row_digests.bytes_of(frame.dtypes)
    for wide, specified in ((False, row_digest), (True, wide_digest)):
        digest = row_digests.digest_of(frame.columns, wide=wide)
        expected = [specified(content) for content in contents]
        assert [int(found) for (found,) in frame.selectExpr(digest).collect()] == expected

        digested, group = frame.selectExpr("*", f"{digest} AS d"), "CASE WHEN c2 < 0 THEN 1 ELSE 2 END"
        for one_reader in (True, False):
            found = row_digests.group_sums(digested, group, ("c1 IS NULL",), size, wide=wide, one_reader=one_reader)
            assert sum(one[1] for one in found) == len(rows)
            assert sum(one[2] for one in found) == sum(expected)
            assert {one[0] for one in found} == {1, 2}
            assert sum(one[4] for one in found) == sum(row[1] is None for row in rows)
            long = sum(len(v.encode() if isinstance(v, str) else v) for row in rows for v in row[6:8] if v is not None)
            assert sum(one[3] for one in found) == long + len(rows) * (1 + 2 + 4 + 8 + 4 + 8 + 4 + 8 + 16 + 16)


def test_values_that_move_between_columns_change_the_digest() -> None:
    values = [None, b"", b"a", b"b", b"ab"]
    pairs = [[one, other] for one, other in itertools.product(values, values)]
    assert len({row_digest(pair) for pair in pairs}) == len(pairs)


def test_another_hash_is_refused(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_digests, "PROVEN", 1)
    with pytest.raises(EnvironmentMissing, match="another xxhash64"):
        row_digests.check_digests(spark)
