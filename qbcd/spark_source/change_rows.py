"""SQL of change rows in the words of Spark and Delta, over the staged rows of a batch.

An insert, or a row of a baseline, is one row `insert`; a delete is one row `delete` with the old values; an update is
`update_preimage` and `update_postimage`. A batch without old values has no preimages, and its deletes have the key
alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from qbcd.event_sql.duckdb import DUCKDB
from qbcd.local.arrow import event_schema
from qbcd.local.query import duckdb_sql, duckdb_type
from qbcd.model import BatchHeader, Travel
from qbcd.model.wire import Fields
from qbcd.sites.event_schema import event_fields
from qbcd.spark_source.executor import STAGED
from qbcd.spark_source.images import ChangeImage

CHANGE, VERSION, TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"
ADDED = (CHANGE, VERSION, TIMESTAMP)
INSERT, PREIMAGE, POSTIMAGE, DELETE = "insert", "update_preimage", "update_postimage", "delete"
_OLD = f"CASE op WHEN 'u' THEN '{PREIMAGE}' ELSE '{DELETE}' END"
_NEW = f"CASE op WHEN 'u' THEN '{POSTIMAGE}' ELSE '{INSERT}' END"
Columns = Sequence[tuple[str, Travel]]


def arrow_types(columns: Columns) -> list[pa.DataType]:
    """Return the Arrow type of each column's values."""
    image = event_schema(_header_of(columns)).field("after").type
    return [image.field(i).type for i in range(len(columns))]


def arrow_schema(columns: Columns, *, changes: bool) -> pa.Schema:
    """Return the schema of the rows of a read."""
    names = [name for name, _ in columns]
    fields = [pa.field(name, kind) for name, kind in zip(names, arrow_types(columns), strict=True)]
    fields += [pa.field(CHANGE, pa.string())] if changes else []
    fields.append(pa.field(VERSION, pa.int64()))
    fields += [pa.field(TIMESTAMP, pa.timestamp("us", tz="UTC"))] if changes else []
    return pa.schema(fields)


def _header_of(columns: Columns) -> BatchHeader:
    shared: dict[str, Any] = {"stream": "", "epoch": 0, "seq": 0, "ts_ms": 0, "counts": {}, "sinks": ()}
    return BatchHeader(
        **shared, fingerprint="", source="", table="", strategy="", consistency="range", key=(), columns=tuple(columns)
    )


def change_count(header: BatchHeader) -> int:
    """Return the number of change rows of a batch."""
    return header.size + (header.counts.get("u", 0) if header.before else 0)


@dataclass(frozen=True)
class Condition:
    """A condition of the query on one column; rows that do not meet it may be left out.

    Attributes:
        column: Name of the column.
        sql: DuckDB's SQL after the column's value: ``>= 5``.
    """

    column: str
    sql: str


def staged_fields(header: BatchHeader) -> list[tuple[str, str]]:
    """Return name and DuckDB type of the columns of a batch's files that events need."""
    fields: Fields = event_fields([travel for _, travel in header.columns])
    return [(name, duckdb_type(kind)) for name, kind in fields]


def change_queries(
    header: BatchHeader, columns: Columns, conditions: Sequence[Condition] = ()
) -> tuple[tuple[str, ...], tuple[ChangeImage, ...]]:
    """Return the SELECTs of a batch's change rows, and what Arrow reads instead of each.

    There are no images for Arrow if there are conditions, or values that only SQL can convert.

    Args:
        columns: The columns to read; those that the batch does not have are NULL.
        conditions: Conditions that rows must satisfy.
    """
    places = {name: i for i, (name, _) in enumerate(header.columns)}
    queries, images = list[str](), list[ChangeImage]()
    of_op = [one for one in conditions if one.column == CHANGE]
    for side, kind in (("b", _OLD), ("a", _NEW)):
        if side == "b" and not (set(header.counts) & {"d", "u"} if header.before else "d" in header.counts):
            continue
        if side == "a" and not set(header.counts) - {"d"}:
            continue
        ops = ("op IN ('u', 'd')" if header.before else "op = 'd'") if side == "b" else "op <> 'd'"
        known = places if side == "a" or header.before else {name: places[name] for name in header.key}
        values = _values(header, columns, known, side)
        tests = [ops, *(f"({kind}) {one.sql}" for one in of_op)]
        for one in conditions:
            if one.column != CHANGE:
                value = f"{side}_{known[one.column]}" if one.column in known else "NULL"
                tests.append(f"({value} {one.sql})")
        selected = ", ".join([*values, f"{kind} AS change"])
        queries.append(f"SELECT {selected} FROM {STAGED} WHERE {' AND '.join(tests)}")
        images.append(_image(header, columns, known, side))
    needs_sql = conditions or any(travel.element is not None for name, travel in columns)
    return tuple(queries), () if needs_sql else tuple(images)


def _image(header: BatchHeader, columns: Columns, known: Mapping[str, int], side: str) -> ChangeImage:
    """Return what the query of one side reads."""
    named = tuple(f"{side}_{known[name]}" if name in known else "" for name, _ in columns)
    if side == "a":
        return ChangeImage((("u", POSTIMAGE), ("d", None)), INSERT, named)
    return ChangeImage((("u", PREIMAGE if header.before else None), ("d", DELETE)), None, named)


def _values(header: BatchHeader, columns: Columns, known: Mapping[str, int], side: str) -> list[str]:
    """Return the SQL of each column's value; NULL if the batch does not have it."""
    travels, found = dict(header.columns), []
    for i, (name, _) in enumerate(columns):
        value = "NULL"
        if name in known:
            value = duckdb_sql(DUCKDB.typed_value(travels[name], f"{side}_{known[name]}", name))
        found.append(f"{value} AS v_{i}")
    return found
