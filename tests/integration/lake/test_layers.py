"""Rows of a lake replica from a segment and the batches on it, by each way of merging them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.model import KeyRange, RowSelection
from qbcd.ranges import leaves
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.spark.rows import SparkRows
from tests.support.engines import spark_engine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BASE = [(1, b"a", 10, "old"), (1, b"b", 20, "old"), (1, b"c", 30, "old"), (1, b"f", 40, "old"), (2, b"d", 50, "old")]
# op, range, key, digest, new value, batch: deleted and back, changed twice, inserted and deleted, changed once.
LATER = [
    ("u", 1, b"a", 11, "first", 1),
    ("d", 1, b"b", None, None, 1),
    ("c", 1, b"e", 60, "new", 1),
    ("u", 1, b"f", 41, "newer", 2),
    ("u", 1, b"a", 12, "second", 2),
    ("c", 1, b"b", 21, "back", 3),
    ("d", 1, b"e", None, None, 3),
    ("u", 2, b"d", 51, "elsewhere", 3),
]
EVERY = RowSelection(leaves.EVERY, 4, 0)


def expected(last: int) -> dict[bytes, str]:
    """Return the values of range 1 after all batches up to `last`, computed row by row."""
    rows = {key: value for range_id, key, _, value in BASE if range_id == 1}
    for op, range_id, key, _, value, batch in LATER:
        if range_id == 1 and batch <= last:
            rows.pop(key, None)
            if op != "d":
                rows[key] = str(value)
    return rows


def literal(value: Any) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return "NULL" if value is None else repr(value)


def frame(spark: SparkSession, rows: Sequence[tuple[Any, ...]], names: str) -> DataFrame:
    listed = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    return spark.sql(f"SELECT * FROM VALUES {listed} AS t({names})")


@pytest.mark.parametrize(
    ("way", "last"),
    [
        ("one task", 1),
        ("one task", 3),
        ("leaves", 3),
        pytest.param("many tasks", 3, marks=pytest.mark.campaign),
        pytest.param("leaves of many tasks", 3, marks=pytest.mark.campaign),
    ],
)
def test_the_latest_version_of_each_row_counts(
    way: str, last: int, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way.endswith("many tasks"):
        monkeypatch.setattr(algebra, "FEW_ROWS", 0)
    in_leaves = way.startswith("leaves")
    asked = [KeyRange(1, None, ("x",), rows=4, only=EVERY if in_leaves else None)]
    base = frame(spark, [row for row in BASE if in_leaves or row[0] == 1], "range_id, key_id, digest, c0")
    later = frame(spark, [row for row in LATER if row[5] <= last], "op, range_id, key_id, digest, a_0, batch_seq")
    on_top = algebra.Layers(SparkRows.of(later), len(LATER), one=last == 1)
    engine = spark_engine(spark)
    merged = algebra.merged(engine, SparkRows.of(base), on_top, asked)
    assert {bytes(key): value for _, key, _, value in engine.run(merged)} == expected(last)
