"""Batches of differences, in the form that `base.event_schema` describes."""

from __future__ import annotations

import pyarrow as pa

from qbcd.snapshots.base import event_schema
from qbcd.snapshots.chunks import Chunk, DumpLayout


def events(layout: DumpLayout, op: str, old: Chunk | None, new: Chunk | None) -> pa.RecordBatch:
    """Return one event for each row: `d` of old rows, `c` of new ones, `u` of pairs."""
    side = new if new is not None else old
    assert side is not None
    schema = event_schema(layout.schema, layout.keys)
    count = len(side)
    digest = old.digested().content if old is not None else None
    columns = [
        pa.repeat(pa.scalar(op), count),
        side.key_columns(),
        _rows(old, schema.field("before").type, count),
        _rows(new, schema.field("after").type, count),
        digest.fixed() if digest is not None else pa.nulls(count, pa.binary(16)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _rows(side: Chunk | None, kind: pa.DataType, count: int) -> pa.Array:
    if side is None or not side.whole:
        return pa.nulls(count, kind)
    return pa.StructArray.from_arrays(side.body.columns, fields=list(side.layout.schema))
