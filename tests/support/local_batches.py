"""Staged rows made by hand in a local database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from qbcd.local.arrow import LocalRows
from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query
from qbcd.model import BatchHeader
from qbcd.model.wire import wire_type

_ARROW = {
    "boolean": pa.bool_(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "decimal(20,0)": pa.decimal128(20, 0),
    "float": pa.float32(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "string": pa.string(),
}


def local_rows(database: LocalDatabase, header: BatchHeader, rows: Sequence[Sequence[Any]]) -> LocalRows:
    """Return staged rows in wire form: op, reason, pair_id, ordinal, changed, b_0.., a_0..."""
    images = [(f"{side}_{i}", wire_type(travel)) for side in "ba" for i, (_, travel) in enumerate(header.columns)]
    text = [(name, "string") for name in ("op", "reason", "pair_id")]
    fields = [*text, ("ordinal", "bigint"), ("changed", "string"), *images]
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [() for _ in fields]

    arrays = [
        pa.array([bytes(v) if isinstance(v, bytearray) else v for v in column], _ARROW[kind])
        for column, (_, kind) in zip(columns, fields, strict=True)
    ]
    table = pa.table(arrays, names=[name for name, _ in fields])
    name = database.new_name()
    database.connection.register("hand_made", table)
    database.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM hand_made")
    database.connection.unregister("hand_made")
    return LocalRows(database, Query(f"SELECT * FROM {name}", tuple(name for name, _ in fields)))
