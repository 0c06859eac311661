"""Rows of either engine of the lake wing, made by hand and read back as dictionaries."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from qbcd.local.columns import TYPES
from qbcd.local.database import LocalDatabase
from qbcd.model import Column, StreamPlan, Table, Travel
from qbcd.model.wire import Fields
from qbcd.sites.lake.engines.base import Engine
from qbcd.sites.lake.engines.local.engine import LocalEngine
from qbcd.sites.lake.engines.spark.rows import SparkRows
from qbcd.sites.lake.replica.schema import batch_fields, ddl, row_fields
from tests.support.engines import spark_engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]

KEYS = (b"", b"\x00", b"\x00\x01", b"\x01", b"a", b"ab", b"\x7f", b"\x80", b"\xff", b"\xff\x00")
DIGESTS = (-(2**63), -1, 0, 7, 2**63 - 1)
RANGES = (1, 2, 300)
KINDS = ("int64", "text", "decimal", "float64", "binary", "uint64", "boolean", "int16", "float32")
VALUES: Mapping[str, Sequence[Any]] = {
    "int64": (None, 0, -(2**63), 2**63 - 1),
    "text": (None, "", "a", "A", "é", "e\u0301", "a\x00b", 'q"\\\n', "1.0", "NULL"),
    "decimal": (None, "1", "1.0", "1.00", "10", "100", "0", "0.0", "1.50"),
    "float64": (None, 0.0, -0.0, float("nan"), float("inf"), float("-inf"), 0.1, 1e300, 1e20, 1e-5),
    "binary": (None, b"", b"\x00", b"\xff\x00", b"\\x00"),
    "uint64": (None, 0, 2**64 - 1),
    "boolean": (None, True, False),
    "int16": (None, -(2**15), 2**15 - 1),
    "float32": (None, 0.0, -0.0, float("nan"), 0.5),
}


def plan_of(kinds: Sequence[str] = KINDS, *, keys: int = 1, counted: bool = False, typed: bool = True) -> StreamPlan:
    """Return a plan with columns of these kinds; zeros of decimals are loose."""
    comparison = "typed" if typed else "bytes"
    columns = tuple(
        Column(f"x{i}", kind, kind, True, "", comparison, Travel(kind), facts=_facts(kind))  # type: ignore[arg-type]
        for i, kind in enumerate(kinds)
    )
    table = Table("public", "t", "table", columns, ())
    return StreamPlan("s", "shop", table, columns[:keys], columns[keys:], "", "id_rcs", counted=counted)


def _facts(kind: str) -> tuple[tuple[str, str], ...]:
    return (("zeros", "loose"),) if kind == "decimal" else ()


def fields_of(plan: StreamPlan, *extra: tuple[str, str]) -> Fields:
    """Return the fields of a row of stage or replica."""
    return row_fields(plan, extra=extra)


def events_of(plan: StreamPlan) -> Fields:
    """Return the fields of a batch."""
    return batch_fields(plan)


def draw(rnd: random.Random, plan: StreamPlan, *, alike: Sequence[Row] = (), **extra: Sequence[Any]) -> list[Row]:
    """Return rows of different keys, some of them as in `alike`.

    Args:
        rnd: The generator.
        plan: The captured columns.
        alike: Rows of the other side.
        extra: Values of further columns.
    """
    rows = []
    for key in rnd.sample(KEYS, rnd.randint(0, len(KEYS))):
        values = {f"c{i}": rnd.choice(VALUES[c.travel.kind]) for i, c in enumerate(plan.captured)}
        row = {"range_id": rnd.choice(RANGES), "key_id": key, "digest": rnd.choice((*DIGESTS, None)), **values}
        same = next((one for one in alike if one["key_id"] == key), None)
        if same and rnd.random() < 0.7:  # of which some differ in one value, in a digest or in a range
            row = {**row, **same}
            other = rnd.choice([None, "range_id", "digest", *values])
            if other:
                pool = {"range_id": RANGES, "digest": DIGESTS}.get(other)
                row[other] = rnd.choice(pool or VALUES[plan.captured[int(other[1:])].travel.kind])
        rows.append({**row, **{name: rnd.choice(pool) for name, pool in extra.items()}})
    return rows


@dataclass(frozen=True)
class Hand:
    """An engine with rows made by hand."""

    engine: Engine
    spark: SparkSession | None = None

    @classmethod
    def local(cls, folder: Path) -> Hand:
        """Return a local engine that spills into a folder."""
        return cls(LocalEngine(LocalDatabase(256_000_000, folder / "spill")))

    @classmethod
    def of_spark(cls, spark: SparkSession) -> Hand:
        """Return the Spark engine."""
        return cls(spark_engine(spark), spark)

    def rows(self, fields: Fields, rows: Sequence[Row]) -> Any:
        """Return rows of the engine."""
        if self.spark is not None:
            exact = [
                [Decimal(v) if k[:3] == "dec" and v is not None else v for v, k in _typed(r, fields)] for r in rows
            ]
            return SparkRows.of(self.spark.createDataFrame(exact, ddl(fields)))
        return self.engine.table(pa.table({n: pa.array([row[n] for row in rows], TYPES[k]) for n, k in fields}))

    def read(self, rows: Any) -> list[Row]:
        """Return the rows with their values in one form for both engines."""
        return [dict(zip(rows.columns, map(plain, row), strict=True)) for row in self.engine.run(rows)]


def _typed(row: Row, fields: Fields) -> list[tuple[Any, str]]:
    return [(row[name], kind) for name, kind in fields]


def plain(value: Any) -> Any:
    """Return a value that is equal only to itself: NaN is equal, -0.0 differs from 0.0."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Decimal):
        return int(value)
    return bytes(value) if isinstance(value, bytearray) else value


def in_order(rows: Sequence[Row], *names: str) -> list[tuple[Any, ...]]:
    """Return values of rows in an order that depends on nothing but them."""
    return sorted((tuple(plain(row[name]) for name in names) for row in rows), key=repr)
