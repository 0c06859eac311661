"""Staged rows made by hand, for tests of events and sinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from qbcd.model import BatchHeader, Travel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WIRE = {
    "boolean": "boolean",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint64": "decimal(20,0)",
    "float32": "float",
    "float64": "double",
    "binary": "binary",
}


def header_of(
    columns: Sequence[tuple[str, Travel]],
    *,
    key: Sequence[str] = (),
    stream: str = "orders",
    epoch: int = 5,
    seq: int = 1,
    fingerprint: str = "f1",
    counts: dict[str, int] | None = None,
) -> BatchHeader:
    """Return a header over `columns`; the key is the first column unless named."""
    return BatchHeader(
        stream=stream,
        epoch=epoch,
        seq=seq,
        ts_ms=1_700_000_000_123,
        counts=counts or {},
        sinks=("changes",),
        fingerprint=fingerprint,
        source="shop",
        table="public.t",
        strategy="mds",
        consistency="snapshot",
        key=tuple(key) or (columns[0][0],),
        columns=tuple(columns),
    )


def staged_rows(spark: SparkSession, header: BatchHeader, rows: Sequence[Sequence[Any]]) -> DataFrame:
    """Return a DataFrame of staged rows in wire form.

    Its columns are op, reason, pair_id, ordinal, changed, b_0.., a_0...
    """
    wire = [_WIRE.get(travel.kind, "string") for _, travel in header.columns]
    images = [f"{side}_{i} {kind}" for side in "ba" for i, kind in enumerate(wire)]
    fixed = "op string, reason string, pair_id string, ordinal bigint, changed string"
    return spark.createDataFrame([tuple(row) for row in rows], f"{fixed}, {', '.join(images)}")
